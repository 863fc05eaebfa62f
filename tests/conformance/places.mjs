// JSON with places: each value becomes an object with its line and type, and its `members`, its `items` or its `value`.

export function parsed(text) {
  let line = 1;
  const typeOf = (token) => ({ '"': "str", t: "bool", f: "bool", n: "NoneType" })[token[0]] ?? (/[.eE]/.test(token) ? "float" : "int");
  const placed = text.replace(/\n|"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]|[^\s{}[\],:"]+/g, (token, colon) => {
    const at = `{"line":${line}`;
    line += token.split("\n").length - 1;
    if (colon || token === "\n") return token;
    const brackets = { "{": `${at},"type":"dict","members":{`, "}": "}}", "[": `${at},"type":"list","items":[`, "]": "]}" };
    return brackets[token] ?? `${at},"type":"${typeOf(token)}","token":${JSON.stringify(token)},"value":${token}}`;
  });
  return JSON.parse(placed);
}

// Returns a value as JSON.parse does.
export function plain({ items, members, value }) {
  return members ? Object.fromEntries(Object.entries(members).map(([key, each]) => [key, plain(each)])) : (items?.map(plain) ?? value);
}
