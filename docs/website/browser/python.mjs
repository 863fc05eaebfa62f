// Python with given files, for the worker of the page and for node, which prepares it. Both load the same libraries in the same order,
// before anything else: then these have the same places in memory, and the worker goes on from what node had there.
// As much as the deepest recursions in C take of their own stack when JavaScript's, a megabyte in a worker, is nearly full.
const STACK = 2 ** 17;

export async function startPython({loadPyodide, createPyodideModule, files, locate, memory, ...options}) {
  const started = async (settings) => {
    const located = settings.locateFile;
    settings.locateFile = (name) => name in files ? locate(name) : located(name);
    settings.dynamicLibraries = Object.keys(files).filter((path) => path.endsWith(".so")).sort();
    settings.preRun.push(({FS, PATH}) => {
      for (const [path, content] of Object.entries(files)) {
        FS.mkdirTree(PATH.dirname(path));
        FS.writeFile(path, content, {canOwn: true});
      }
    });
    const module = await createPyodideModule(settings);
    if (memory) module.growMemory(memory.byteLength);
    return module;
  };
  const python = await loadPyodide({
    createPyodideModule: started, _loadSnapshot: memory, env: {HOME: "/home/pyodide", TZ: "UTC"},
    stdout: () => {}, stderr: () => {}, ...options,
  });
  // A browser has less stack than Python thinks: with this, too deep a recursion is an error in Python, and not the end of it.
  const {_module: module} = python;
  if (memory) module._PyUnstable_ThreadState_SetStackProtection(module._PyThreadState_Get(), module._emscripten_stack_get_base() - STACK, STACK);
  return python;
}
