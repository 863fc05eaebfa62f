"""Run a command in this process twice, and say what the second time counted: `counted.py CONTROL WORDS...`.

In WORDS, OUT is a new folder each time. CONTROL is `-`, or the program that turns on the counting of instructions.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_SYNCS = 0


def _counting(function: Callable[[int], None]) -> Callable[[int], None]:
    def call(descriptor: int) -> None:
        global _SYNCS  # noqa: PLW0603
        _SYNCS += 1
        function(descriptor)

    return call


def _transferred() -> dict[str, int]:
    """Return the bytes that this process has read and written, files and pipes alike."""
    try:
        lines = Path("/proc/self/io").read_text("ascii").splitlines()
    except OSError:
        return {}
    found = dict(line.split(": ") for line in lines)
    return {"read": int(found["rchar"]), "written": int(found["wchar"])}


def _run(words: list[str], number: int) -> None:
    """Run the command as a user would, with a cache and outputs of its own."""
    os.environ["XDG_CACHE_HOME"] = f"cache-{number}"
    sys.argv = ["corpusfmt", *(word.replace("OUT", f"out-{number}") for word in words)]
    from corpusfmt.cli import main

    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                errors.flush()
                os.write(2, errors.buffer.getvalue())
                raise


@contextlib.contextmanager
def _instrumented(control: str) -> Iterator[None]:
    def switch(state: str) -> None:
        if control != "-":
            subprocess.run([control, "-i", state, str(os.getpid())], stdout=subprocess.DEVNULL, check=True)

    switch("on")
    try:
        yield
    finally:
        switch("off")


def _modules() -> dict[str, Any]:
    """Return how many modules are loaded, those of this package, and which packages they are of."""
    own = sorted(name for name in sys.modules if name.partition(".")[0] == "corpusfmt")
    tops = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
    foreign = sorted(name for name in tops - sys.stdlib_module_names - {"corpusfmt"} if not name.startswith("_"))
    return {"modules": len(sys.modules), "own modules": len(own), "packages": foreign}


def main() -> None:
    """Count, and print what was counted."""
    control, *words = sys.argv[1:]
    before = set(sys.modules)
    os.fsync, os.fdatasync = _counting(os.fsync), _counting(os.fdatasync)  # type: ignore[assignment]
    _run(words, 1)
    found = _modules()
    found["modules"] -= len(before)
    syncs, transferred = _SYNCS, _transferred()
    # When the collector runs depends on the length of paths.
    gc.collect()
    gc.disable()
    with _instrumented(control):
        _run(words, 2)
    found["fsyncs"] = _SYNCS - syncs
    found |= {name: amount - transferred[name] for name, amount in _transferred().items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
