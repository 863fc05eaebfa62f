// The page: settings, the editor, files. Checks run in a worker, so that nothing here waits for them.
const WAIT_MS = 150; // after the last key
const MOST_EDITED_BYTES = 1_000_000; // a larger file is checked and not shown in the editor
const MOST_BYTES = 100 * 2 ** 20;
const SAVES = ["fixes", "fixed", "html", "json"];
const MOST_LISTED = 200; // findings; the report has all
const REASONS = [
  [/^RangeError|MemoryError|out of memory|[Ss]tack/, "the file needs more memory or deeper calls than a browser gives; use the command line"],
  [/NotFoundError|NotReadableError|could not be read/, "the file changed or is gone; open it again"],
];
const at = (id) => document.getElementById(id);
const form = at("settings"), text = at("text"), status = at("status"), progress = at("progress"), stop = at("stop"), frame = at("report");

const state = (name) => { document.body.dataset.state = name; };
const say = (words) => { status.value = words; };
let resources, source, worker, ready = false, fault = ""; // fault: why nothing can be checked
let subject = null; // the file or the text that was given last
let coming = false, running = null, waiting = null, result = null; // coming: a file is being read, or a key was just pressed

// Settings travel in the fragment of a link, which no browser sends anywhere; data never does.
const fields = ["profile", "format"];
function takeSettings() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of fields) form[name].selectedIndex = Math.max(0, [...form[name].options].findIndex((each) => each.value === given.get(name)));
}
const settings = () => Object.fromEntries(fields.map((name) => [name, form[name].value]));
const fragment = () => new URLSearchParams(Object.entries(settings()).filter(([name]) => form[name].selectedIndex)).toString();

async function load() {
  const fetched = async (name) => {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer;
  };
  const unpacked = async (name, type) =>
    new Response((await fetched(name)).body.pipeThrough(new DecompressionStream("gzip")), {headers: {"Content-Type": type}});
  const content = async (name) => (await fetched(name)).arrayBuffer();
  const program = async () => WebAssembly.compileStreaming(unpacked("program.bin", "application/wasm"));
  const script = async () => (await unpacked("worker.bin", "text/javascript")).blob();
  const loaded = await Promise.all([script(), program(), content("memory.bin"), content("files.bin")]);
  [source, ...resources] = loaded;
  // From here on neither this page nor the worker, which inherits its policy, can connect to anything or load anything.
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = document.querySelector("meta[http-equiv]").content.replaceAll("'self'", "");
  document.head.append(policy);
  start();
}

function start() {
  ready = false;
  state("loading");
  const address = URL.createObjectURL(source);
  worker = new Worker(address, {type: "module"});
  URL.revokeObjectURL(address);
  worker.onmessage = ({data}) => heard[data.kind](data);
  worker.onerror = (event) => { event.preventDefault(); failed(event.message); };
  worker.postMessage({kind: "load", resources});
}

const heard = {
  ready() {
    ready = true;
    if (!waiting && status.value === "Loading…") say("Ready.");
    next();
  },
  progress({share}) { progress.hidden = false; progress.value = share; },
  done(answer) {
    const asked = running;
    running = null;
    settle();
    // The verdict on an older state would only flicker.
    if (asked.subject === subject && waiting?.task !== "check") ({check: showReport, fix: showFixed, preview: showFixes})[asked.task](answer, asked);
    next();
  },
  failed({reason}) { failed(reason); },
};

function settle() { progress.hidden = stop.hidden = true; progress.value = 0; }

// The worker may be in any state: a new one takes its place, and the page goes on.
function failed(reason) {
  worker?.terminate();
  settle();
  const asked = running;
  running = null;
  if (!ready) {
    fault = `The checks could not be loaded (${reason}). Reload the page, or install corpusfmt and run \`corpusfmt validate\`.`;
    return next();
  }
  if (asked) {
    hideReport();
    const why = REASONS.find(([pattern]) => pattern.test(reason))?.[1] ?? "this is a bug of corpusfmt";
    say(`Not checked: ${why} (${reason})`);
  }
  start();
}

function ask(task) {
  coming = false;
  if (task === "check") for (const id of SAVES) at(id).disabled = true;
  waiting = {task, subject, ...settings()};
  next();
}

// One check at a time; of those that wait, only the last counts.
function next() {
  if (fault) { state("failed"); return say(fault); }
  if (!ready || running) return;
  if (!waiting) return state(coming ? "checking" : "ready");
  state("checking");
  running = waiting;
  waiting = null;
  say("Checking…");
  stop.hidden = false;
  worker.postMessage({kind: running.task === "check" ? "check" : "fix", ...running});
}

function hideReport() {
  result = null;
  frame.hidden = at("found").hidden = at("diff").hidden = true;
  for (const id of SAVES) at(id).disabled = true;
}

function showReport(answer) {
  hideReport();
  say(answer.summary);
  if (!answer.html) return;
  result = answer;
  frame.hidden = false;
  // Links of the report open next to it.
  frame.srcdoc = answer.html.replace("</title>", '</title><base target="_blank">');
  for (const id of ["html", "json"]) at(id).disabled = false;
  at("fixes").disabled = at("fixed").disabled = !answer.offersFixes;
  const {findings} = JSON.parse(answer.json), worst = ({severity}) => ["error", "warning", "info"].indexOf(severity);
  findings.sort((a, b) => worst(a) - worst(b) || (a.location.line ?? 0) - (b.location.line ?? 0));
  at("found").hidden = !findings.length;
  at("found").querySelector("ol").replaceChildren(...findings.slice(0, MOST_LISTED).map(listed));
}

function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

// What stands in backticks is code.
const marked = (words) => words.split(/`([^`]+)`/).map((part, at) => (at % 2 ? element("code", "", part) : part));

// A finding that leads to its place in the editor.
function listed({rule, severity, message, hint, location: {path, line, column}}) {
  const place = line ? `${line}:${column ?? 1}` : path, help = hint ? [element("small", "", "help: ", ...marked(hint))] : [];
  const button = element("button", severity, `${place} `, element("b", "", rule), " ", ...marked(message), ...help);
  button.type = "button";
  button.addEventListener("click", () => jump(line ?? 1, column ?? 1));
  return element("li", "", button);
}

function jump(line, column) {
  const before = text.value.split("\n", line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const [content] = text.value.slice(before).split("\n", 1);
  const start = before + [...content].slice(0, column - 1).join("").length;
  text.focus();
  text.setSelectionRange(start, before + content.length);
  text.scrollTop = (line - 4) * parseFloat(getComputedStyle(text).lineHeight);
  at("editor").scrollIntoView({block: "nearest"});
}

function number() {
  const count = text.value.split("\n").length, {length} = at("lines").textContent.split("\n");
  if (count !== length) at("lines").textContent = Array.from({length: count}, (_, line) => line + 1).join("\n");
  at("lines").scrollTop = text.scrollTop;
}

// What is shown is applied to the editor, if the editor has the file, and else downloaded.
let proposed = null;
function showFixes(answer) {
  say(answer.summary);
  proposed = answer.content;
  at("diff").hidden = !answer.content;
  const names = {"+": "ins", "-": "del"};
  const rows = (answer.diff ?? "").split("\n").slice(2).map((line) => element(names[line[0]] ?? "span", "", `${line}\n`));
  at("diff").querySelector("pre").replaceChildren(...rows);
}

function edit(content) {
  text.value = content;
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
  text.dispatchEvent(new Event("input"));
}

function showFixed(answer, asked) {
  say(answer.summary);
  if (answer.content) save(answer.content, asked.subject.name, "application/octet-stream");
}

function save(content, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function open(file) {
  if (!file) return;
  soon();
  if (file.size > MOST_BYTES) {
    return forget(`${file.name} is larger than 100 MB: install corpusfmt and run \`corpusfmt validate\`.`);
  }
  const opened = subject = {name: file.name, file};
  text.value = "";
  number();
  const isEdited = file.size <= MOST_EDITED_BYTES;
  try {
    const content = await file.slice(0, isEdited ? file.size : 1).arrayBuffer();
    if (subject !== opened) return;
    if (isEdited) text.value = editable(content);
    number();
  } catch (error) {
    if (subject === opened) forget(`${file.name} cannot be read: it may be a folder, or gone (${error.name}).`);
    return;
  }
  ask("check");
}

// Nothing if an editor would change it: bytes that are no text, NUL, other line endings.
function editable(content) {
  try {
    const decoded = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(content);
    return /[\r\0]/.test(decoded) ? "" : decoded;
  } catch { return ""; }
}

let typing = 0;
// Something new comes: nothing that was typed before is checked any more.
function soon() {
  clearTimeout(typing);
  coming = true;
  if (ready) state("checking");
}

function forget(words) {
  waiting = subject = null;
  coming = false;
  hideReport();
  say(words);
  next();
}

text.addEventListener("scroll", number);
text.addEventListener("input", () => {
  number();
  soon();
  typing = setTimeout(() => {
    const name = subject && !/\.(gz|zst|bz2|xz)$/.test(subject.name) ? subject.name : "croissant.json";
    subject = {name, text: text.value};
    if (text.value) return ask("check");
    forget("Ready.");
  }, WAIT_MS);
});
// A file that was changed elsewhere can be opened again.
at("file").addEventListener("click", (event) => { event.target.value = ""; });
at("file").addEventListener("change", (event) => open(event.target.files[0]));
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", () => { history.replaceState(null, "", `#${fragment()}`); if (subject) ask("check"); });
addEventListener("hashchange", () => { takeSettings(); if (subject) ask("check"); });
at("neurips").addEventListener("click", () => {
  form.profile.value = "neurips-2026";
  form.format.value = "auto";
  form.dispatchEvent(new Event("change"));
  if (!subject) say("Profile NeurIPS: now open, drop or paste a description.");
});
at("link").addEventListener("click", async () => {
  const link = `${location.origin}${location.pathname}#${fragment()}`;
  try { await navigator.clipboard.writeText(link); say("The link was copied: it has the settings and no data."); } catch { say(link); }
});
stop.addEventListener("click", () => {
  worker.terminate();
  running = null;
  settle();
  forget("Stopped.");
  start();
});
at("fixed").addEventListener("click", () => ask("fix"));
at("fixes").addEventListener("click", () => ask("preview"));
at("apply").addEventListener("click", () => {
  if (text.value) edit(new TextDecoder().decode(proposed));
  else save(proposed, subject.name, "application/octet-stream");
});
at("dismiss").addEventListener("click", () => { at("diff").hidden = true; });
at("example").addEventListener("click", () => { subject = null; edit(at("sample").content.textContent); });
at("html").addEventListener("click", () => save(result.html, "report.html", "text/html"));
at("json").addEventListener("click", () => save(result.json, "report.json", "application/json"));
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  open(event.dataTransfer.files[0]);
});

takeSettings();
load().catch((error) => failed(String(error)));
