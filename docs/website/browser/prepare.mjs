// Run by node when the site is built: `node prepare.mjs PYODIDE TREE FOLDER DESCRIPTION...` starts Python with the packages in TREE, has
// it check descriptions, and writes into FOLDER what a worker goes on from: its memory, and the files of the packages.
import {readdirSync, readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {pathToFileURL} from "node:url";
import {gzipSync} from "node:zlib";
import {startPython} from "./python.mjs";

const [pyodide, tree, folder, ...descriptions] = process.argv.slice(2);
const {loadPyodide} = await import(pathToFileURL(join(pyodide, "pyodide.mjs")));
const {default: createPyodideModule} = await import(pathToFileURL(join(pyodide, "pyodide.asm.mjs")));

const PACKAGES = "/lib/python3.14/site-packages";
const COMPILED = `
import compileall, pathlib, py_compile
assert compileall.compile_dir("${PACKAGES}", quiet=2, legacy=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
[str(path) for path in pathlib.Path("${PACKAGES}").rglob("*") if path.is_file() and path.suffix != ".py"]
`;

const LOADED = `
import sys
[path for path in (getattr(module, "__file__", None) for module in list(sys.modules.values())) if path and path.endswith(".pyc")]
`;

const names = readdirSync(tree, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile());
const sources = Object.fromEntries(names.map((entry) => {
  const path = join(entry.parentPath ?? entry.path, entry.name);
  return [path.replace(tree, PACKAGES), new Uint8Array(readFileSync(path))];
}));
const started = (files, options) => startPython({
  loadPyodide, createPyodideModule, files, locate: (path) => path.replace(PACKAGES, tree), indexURL: `${pyodide}/`, ...options,
});

// Modules without their sources: they are smaller, and what is imported later need not be compiled.
const compiling = await started(sources, {});
const files = Object.fromEntries(compiling.runPython(COMPILED).toJs().sort().map((path) => [path, compiling.FS.readFile(path)]));

const python = await started(files, {_makeSnapshot: true});
python.pyimport("checking").warm_up(...descriptions.map((path) => readFileSync(path, "utf8")));
const memory = python.makeMemorySnapshot();

// A module that is in the memory is read no more.
for (const path of python.runPython(LOADED).toJs()) delete files[path];
files["/python_stdlib.zip"] = readFileSync(join(pyodide, "python_stdlib.zip"));
// Without the packages that Pyodide offers elsewhere.
const lock = JSON.parse(readFileSync(join(pyodide, "pyodide-lock.json")));
files["/pyodide-lock.json"] = Buffer.from(JSON.stringify({...lock, packages: {}}));
let at = 0;
const index = Object.fromEntries(Object.entries(files).map(([path, content]) => [path, [at, at += content.length]]));
const head = Buffer.from(JSON.stringify(index));
const length = Buffer.alloc(4);
length.writeUInt32LE(head.length);
writeFileSync(join(folder, "files.bin"), gzipSync(Buffer.concat([length, head, ...Object.values(files)]), {level: 9}));
writeFileSync(join(folder, "memory.bin"), gzipSync(memory, {level: 9}));
process.exit();
