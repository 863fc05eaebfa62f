// Python in a worker. It gets all it needs from the page and requests nothing: the site puts `startPython`, `loadPyodide` and
// `createPyodideModule` before it.
const FOLDER = "/given", TOLD_EVERY_MS = 100;
let python, checking;

const tasks = {
  async load({resources: [program, ...packed]}) {
    const [memory, archive] = await Promise.all(packed.map(unpacked));
    const given = filesOf(archive);
    // What Pyodide asks for is here already.
    WebAssembly.instantiateStreaming = async (response, imports) => ({module: program, instance: await WebAssembly.instantiate(program, imports)});
    globalThis.fetch = async (address) => new Response(given[new URL(address).pathname]);
    const base = "https://none.invalid";
    python = await startPython({
      loadPyodide, createPyodideModule, files: given, locate: (path) => base + path, memory: new Uint8Array(memory),
      indexURL: `${base}/`,
    });
    // The working folder will have the given file, which is data and no module.
    python.runPython("import sys; sys.path.remove('')");
    python.FS.mkdirTree(FOLDER);
    checking = python.pyimport("checking");
    postMessage({kind: "ready"});
  },
  check(asked) { answer(checking.checked(asked.name, asked.profile, asked.format, told())); },
  fix(asked) { answer(checking.fixed(asked.name, asked.profile, asked.format)); },
};

function unpacked(content) {
  return new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// The files of an archive of `prepare.mjs`: a length, an index of that length, contents.
function filesOf(archive) {
  const length = new DataView(archive).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(new Uint8Array(archive, 4, length)));
  return Object.fromEntries(Object.entries(index).map(([path, [start, end]]) => [path, new Uint8Array(archive, 4 + length + start, end - start)]));
}

function answer(made) {
  const values = made.toJs({dict_converter: Object.fromEntries});
  made.destroy();
  postMessage({kind: "done", ...values});
}

function told() {
  let last = 0;
  return (share) => {
    const now = performance.now();
    if (now - last > TOLD_EVERY_MS) { last = now; postMessage({kind: "progress", share}); }
  };
}

// A file is read from where it is, block by block; text is written to a file in memory.
function withSubject({subject: {name, file, text}}, use) {
  const {FS} = python;
  // One level, no name that means a folder.
  const local = name.replaceAll("/", "_").replace(/^\.{1,2}$/, "_") || "_";
  if (file) FS.mount(FS.filesystems.WORKERFS, {blobs: [{name: local, data: file}]}, FOLDER);
  else FS.mount(FS.filesystems.MEMFS, {}, FOLDER), FS.writeFile(`${FOLDER}/${local}`, text);
  FS.chdir(FOLDER);
  try { return use(local); } finally { FS.chdir("/"); FS.unmount(FOLDER); }
}

onmessage = async ({data}) => {
  try {
    if (data.kind === "load") await tasks.load(data);
    else withSubject(data, (name) => tasks[data.kind]({...data, name}));
  } catch (error) {
    postMessage({kind: "failed", reason: String(error).trim().split("\n").at(-1)});
  }
};
