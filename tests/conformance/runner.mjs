// Judges the metadata of the suite's Croissant descriptions by croissant/tables.json, and compares with what the cases expect:
// `node runner.mjs [FOLDER]`. The rules are usable outside Python: this needs Node 20, and no packages.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { parsed, plain } from "./places.mjs";

const ROOT = join(process.argv[2] ?? import.meta.dirname, "croissant");
const TABLES = JSON.parse(readFileSync(join(ROOT, "tables.json"), "utf8"));
const RULES = `CRO117 CRO118 CRO123 CRO205 CRO206 CRO207 CRO208 CRO209 CRO210 CRO211 CRO212 CRO213 CRO214 CRO215 CRO216
  CRO217 CRO218 CRO219 CRO220 CRO301 CRO302 CRO306 CRO308 CRO309 CRO315 CRO401 CRO402 CRO403 CRO811`.split(/\s+/);
const local = (name) => name.slice(name.indexOf(":") + 1);

// JSON-LD: nodes have their values by short name; `meant` has the Croissant terms that @vocab turned into others.
const FALLEN = new Map(TABLES.croissant.map((name) => [`sc:${local(name)}`, name]));
const NAMESPACES = Object.keys(TABLES.namespaces).sort((one, other) => other.length - one.length);

function contextOf(given, above) {
  if (Array.isArray(given)) return given.reduce((context, each) => contextOf(each, context), above);
  if (typeof given === "string") return contextOf(TABLES.contexts[given.match(/1\.[01]|schema\.org/)[0]], above);
  const isTerm = (term) => typeof term === "object" && term?.["@id"] !== undefined;
  const defined = ([name, term]) => [name, isTerm(term) ? { ...term, "@id": asMeant(name, term["@id"]) } : { "@id": asMeant(name, term) }];
  return given && { ...above, ...Object.fromEntries(Object.entries(given).map(defined)) };
}

function asMeant(name, iri) {
  const right = TABLES.prefixes[name === "@vocab" ? (TABLES.namespaces[`${iri}/`] ?? TABLES.namespaces[`${iri}#`]) : name];
  return right && /:\/\/|^[^:]*\//.test(iri) && !TABLES.namespaces[iri] ? right : iri;
}

function iriOf(name, context, seen = []) {
  const [prefix, rest, term, vocab] = [name.split(":")[0], local(name), context?.[name], context?.["@vocab"]?.["@id"]];
  if (name.startsWith("@")) return name;
  if (term && !seen.includes(name)) return term["@id"] && iriOf(term["@id"], context, [...seen, name]);
  if (prefix === name) return vocab === undefined ? null : vocab + name;
  return context?.[prefix] && !rest.startsWith("//") ? iriOf(prefix, context, seen) + rest : name;
}

function short(iri) {
  const namespace = NAMESPACES.find((each) => iri.startsWith(each) && /^[^/]+$/.test(iri.slice(each.length)));
  return namespace ? `${TABLES.namespaces[namespace]}:${iri.slice(namespace.length)}` : iri;
}

function nodeOf({ line, members = {} }, above, every) {
  const node = { line, id: null, types: [], values: new Map(), lines: {}, dropped: [], graph: [] };
  const context = members["@context"] ? contextOf(plain(members["@context"]), above) : above;
  every.push(node);
  for (const [key, value] of Object.entries(members)) {
    const [iri, name] = [iriOf(key, context), short(iriOf(key, context) ?? "")];
    if (iri === "@id" && value.type === "str") node.id = iriOf(value.value, { ...context, "@vocab": { "@id": "" } });
    if (iri === "@graph") node.graph = value.items.map((each) => nodeOf(each, context, every));
    if (iri === "@type") node.types = [plain(value)].flat().map((each) => short(iriOf(each, context) ?? ""));
    if (!iri?.includes(":") && !iri?.startsWith("@")) node.dropped.push(key);
    node.lines[name] ??= value.line;
    const found = name.includes(":") ? valuesOf(value, context?.[key] ?? {}, context, every) : [];
    if (found.length || (name.includes(":") && value.items)) node.values.set(name, [...(node.values.get(name) ?? []), ...found]);
  }
  const given = [...node.values].filter(([, found]) => found.length);
  node.meant = new Map([...given.map(([name, found]) => [FALLEN.get(name) ?? name, found]), ...given]);
  return node;
}

function valuesOf(tree, term, context, every) {
  const { items, members = {}, line } = tree;
  const list = items ?? (members["@list"] ?? members["@set"])?.items;
  const idOf = { "@vocab": context, "@id": { ...context, "@vocab": { "@id": "" } } }[tree.type === "str" && term["@type"]];
  const literal = (each, language) => ({ ...each, line, literal: true, language });
  if (term["@type"] === "@json") return [literal(tree)];
  if (list) return list.flatMap((each) => valuesOf(each, term, context, every));
  if (term["@container"] === "@language" && tree.members) return Object.entries(members).map(([name, each]) => literal(each, name));
  if (members["@value"]) return [literal(members["@value"], plain(tree)["@language"])];
  if (idOf || tree.members) return [Object.assign(nodeOf(tree, context, every), idOf && { id: iriOf(tree.value, idOf) })];
  return tree.value === null ? [] : [literal(tree)];
}
const isReference = (value) => !value.literal && value.id !== null && !value.types.length && !value.values.size;

function topsOf(text, every) {
  try {
    return [parsed(text)].flatMap((tree) => tree.items ?? tree).map((each) => nodeOf(each, {}, every));
  } catch {
    return []; // not JSON, or a context that cannot be processed
  }
}

function isDate(text, orInterval = false) {
  const sides = orInterval ? text.split("/").map((side) => side.trim()) : [];
  if (sides.length === 2) return sides.some((side) => isDate(side)) && sides.every((side) => /^(\.\.|P(?=.)(\d+[YMWD])*(T(\d+[HMS])+)?)?$/.test(side) || isDate(side));
  const form = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ]\d\d(?::?\d\d){0,2}(?:[.,]\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?$/;
  const day = text.match(form)?.slice(1).join("-");
  return day ? new Date(`${day}Z`).toJSON()?.startsWith(day) : /^\d{4}(-(0[1-9]|1[0-2]))?$/.test(text);
}

function isFormed(value, { form, kinds }) {
  const isEmpty = !value.literal && value.id === null && !value.types.length && !value.values.size && !value.dropped.length;
  const text = value.literal ? value.value : kinds.length === 1 ? value.id : null;
  if (typeof text !== "string" && !(form === "version" && value.literal)) return !(form === "license" && isEmpty);
  return kinds.some((kind) => TABLES.forms[form].patterns[kind] && RegExp(`^(?:${TABLES.forms[form].patterns[kind]})$`, "u").test(text));
}

function foundIn(text, profile) {
  const [found, every, seen, named] = [[], [], new Set(), new Map()];
  const datasets = topsOf(text, every).flatMap((node) => [node, ...node.graph]).filter((node) => node.types.includes("sc:Dataset"));
  for (const node of every) if (node.id !== null && !isReference(node) && !named.has(node.id)) named.set(node.id, node);
  const resolve = (value) => (value.literal ? null : isReference(value) ? named.get(value.id) : value);
  const claims = datasets.flatMap((node) => node.values.get("dct:conformsTo") ?? []).map((each) => `${each.value ?? each.id}`);
  const versions = claims.flatMap((claim) => claim.match(/(?<=mlcommons\.org\/croissant\/?v?)\d\.\d/)?.[0] ?? []).sort();
  const classes = TABLES.classes[versions.at(-1) ?? (/"https?:\/\/mlcommons\.org\/schema\/"/.test(text) ? "0.8" : "1.0")] ?? {};
  const report = (rule, line) => RULES.includes(rule) && found.push(`${rule} ${line}`);
  const isSource = (node) => ["fileObject", "fileSet", "recordSet", "field"].some((name) => node.meant.has(`cr:${name}`));
  const isMember = (row) => ["CRO301", "CRO401", "CRO402"].includes(row.mistyped);
  function visit(node, kind, isParent = false) {
    if (seen.has(node) || !classes[kind]) return;
    seen.add(node);
    judge(node, kind);
    if (node.id === null && TABLES.named.includes(kind) && !isParent) report("CRO123", node.line);
    if (kind === "cr:DataSource" ? isSource(node) : /Extract|Transform/.test(kind))
      if (node.types.length && !node.types.includes(kind)) report("CRO214", node.lines["@type"]);
    for (const row of Object.values(classes[kind]))
      for (const value of node.meant.get(row.name) ?? []) {
        const below = isMember(row) ? resolve(value) : value.literal || isReference(value) ? null : value;
        if (!below || (row.name === "cr:containedIn" && !isSource(below) && !below.types.includes("cr:DataSource"))) continue;
        for (const each of row.kinds.filter((each) => (isMember(row) ? below.types.includes(each) : !each.includes(":"))))
          visit(below, isMember(row) ? each : `cr:${each}`, row.name === "cr:parentField");
      }
  }

  function judge(node, kind) {
    const all = (name) => node.meant.get(name) ?? [];
    const isWanted = ({ name }) => TABLES.profiles[profile]?.includes(`${local(kind)} ${name}`);
    const lacks = (row) => !all(row.name).length && !node.dropped.includes(local(row.name)) && !isWanted(row);
    const isOfGit = all("sc:encodingFormat").some((each) => each.value === "git+https");
    for (const row of Object.values(classes[kind])) {
      if (row.missing && lacks(row)) report(row.missing, node.line);
      if (!row.many) judgeCount(all(row.name), row, node.lines[row.name] ?? node.lines[`sc:${local(row.name)}`]);
      for (const value of all(row.name)) {
        if (!fits(value, row)) report(row.mistyped, (isMember(row) && resolve(value)?.line) || value.line);
        if (row.requirement === "required" && `${row.kinds}` === "Text" && value.value?.trim?.() === "") report(row.missing, value.line);
        if (row.form && !isFormed(value, row) && !(isOfGit && value.value === TABLES.noDigest)) report(TABLES.forms[row.form].rule, value.line);
        if (kind === "sc:Dataset" && `${row.kinds}` === "Date" && value.type === "str")
          if (!isDate(value.value, row.name.startsWith("rai:"))) report("CRO217", value.line);
      }
    }
    if (Object.values(classes[kind]).some((row) => row.requirement === "recommended" && lacks(row))) report("CRO212", node.line);
    const [shape] = all("cr:isArray").some(({ value }) => value) ? [] : all("cr:arrayShape");
    if (shape && isFormed(shape, classes[kind]["cr:arrayShape"])) report("CRO214", shape.line);
    if (/^(cr|geocr):|Dataset$/.test(kind)) for (const name of node.values.keys()) judgeName(kind, name, node.lines[name]);
  }

  function judgeCount(values, row, line) {
    const counted = values.filter((each) => row.name !== "dct:conformsTo" || !/croissant[/-](rai|geo)/i.test(each.value ?? each.id));
    const identities = counted.map((each) => (each.literal ? `${each.token} ${each.language}` : isReference(each) ? each.id : each));
    const languages = new Set(counted.map((each) => each.language).filter(Boolean));
    if (languages.size < counted.length && new Set(identities).size > 1) report("CRO213", line);
  }

  function fits(value, { kinds }) {
    const written = value.literal ? value.value : isReference(value) ? value.id : "written";
    if (kinds.includes("IRI") && !/^[^\s<>"{}|\\^`\x00-\x20]+$/.test(written ?? "")) return false;
    if (value.literal) return kinds.some((kind) => TABLES.kinds[kind]?.includes(value.type));
    const node = resolve(value);
    const isA = (...names) => node.types.some((each) => names.includes(each));
    return kinds.some((kind) => {
      if (!kind.includes(":")) return kind === "URL" ? value.id !== null : ["Extract", "Transform", "JSON"].includes(kind);
      if (!node || isA(kind, ...(TABLES.subclasses[kind] ?? []))) return true;
      if (kind === "sc:CreativeWork") return !isA("sc:Person", "sc:Organization");
      return /^(geocr|odrl|prov):/.test(kind) && !isA(...TABLES.classesOfOthers);
    });
  }

  function judgeName(kind, name, line) {
    const known = { sc: [...FALLEN.keys(), "sc:conformsTo"], cr: Object.keys(TABLES.domains), ...TABLES.vocabularies }[name.split(":")[0]];
    const isOfSchemaOrg = /^sc:[a-z]/.test(name) && TABLES["schema.org"].includes(local(name));
    if (known && !isOfSchemaOrg && !known.includes(name)) report("CRO117", line);
    const isOfFiles = TABLES.files.includes(name) && kind.startsWith("cr:");
    if (isOfFiles ? !classes[kind][name] : !(TABLES.domains[name] ?? [kind]).includes(kind)) report("CRO118", line);
  }
  for (const node of datasets) visit(node, "sc:Dataset");
  for (const node of every.filter(({ values, id }) => values.size || id === null))
    for (const kind of node.types) if (classes[kind] && !TABLES.own.includes(kind)) judge(node, kind);
  return found;
}

function inputOf(folder) {
  const input = readdirSync(folder, { recursive: true }).find((name) => /^input(\.|\/(croissant|metadata)\.json$)/.test(name)) ?? "";
  const text = input && readFileSync(join(folder, input), "utf8");
  const [, page, script] = text.match(/^([^]*?<script type="application\/ld\+json">)([^]*?)<\/script>/) ?? [];
  return [input.replace("input/", ""), script ? page.replace(/./g, "") + script : text];
}

const cases = readdirSync(ROOT, { recursive: true }).filter((path) => path.endsWith("/expected.json"));
const wrong = cases.sort().flatMap((path) => {
  const { findings, arguments: given } = JSON.parse(readFileSync(join(ROOT, path), "utf8"));
  const [name, text] = inputOf(join(ROOT, dirname(path)));
  const shown = ({ rule, line, path }) => (RULES.includes(rule) ? [`${rule} ${path === name ? line : path}`] : []);
  const expected = findings.flatMap(shown).sort().join(", ");
  const found = foundIn(text, given.profile).sort().join(", ");
  return found === expected ? [] : [`${dirname(path)}: ${found || "nothing"}, expected ${expected || "nothing"}`];
});
console.log([...wrong, `${RULES.join(" ")}: ${cases.length} cases, ${wrong.length} otherwise than expected`].join("\n"));
process.exitCode = wrong.length ? 1 : 0;
