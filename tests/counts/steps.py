"""Commands whose counts are pinned, and the pins: `python -m counts.steps` writes them again, with --instructions these too."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support import LONG_LINE, REPOSITORY, SAMPLE, wet_file, wet_record

HERE = Path(__file__).parent
PINS = HERE / "pins.json"
MEMORY = Path("/dev/shm")
TOLERANCE = 0.03
#: Functions of Python and of the C library that allocate memory.
ALLOCATE = frozenset({"_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc", "malloc", "calloc", "realloc"})
#: What a small count may differ by: a header, paths of another length, other folders that Python searches for modules.
LEAST = {"read": 600, "written": 600, "instructions": 1_000_000, "allocations": 8_000}
#: Counted alike everywhere; the others only where the pins were written, since they depend on Python and the kernels.
PORTABLE = frozenset({"fsyncs", "packages", "read", "written"})

# In their order: what one writes is what others read.
STEPS = {
    "version": "--version",
    "help": "--help",
    "build": f"build {SAMPLE} -o OUT --jobs 1",
    "validate OSCAR": "validate OSCAR --jobs 1",
    "convert OSCAR to Dolma": "convert OSCAR OUT --to dolma --jobs 1",
    "validate Dolma": "validate DOLMA --jobs 1",
    "validate Dolma for the Hub": "validate DOLMA --profile hub --jobs 1",
    "convert Dolma to OSCAR": "convert DOLMA OUT --to oscar --jobs 1",
    "validate a description": "validate OSCAR/croissant.json",
    "stats": "stats OSCAR --jobs 1",
    "verify": "verify OSCAR --jobs 1",
    "describe": "describe OSCAR -o OUT.json",
    "build 50 tiny inputs": "build TINY -o OUT --jobs 1",  # one fsync each
}
_TINY = 50
_MADE = {"OSCAR": "build", "DOLMA": "convert OSCAR to Dolma"}


def environment(folder: Path) -> str:
    """Name what the counts of commands in a folder depend on that is not in the repository."""
    files = "files in memory" if folder.is_relative_to(MEMORY) else "files on a disk"
    kernels = "with kernels" if find_spec("corpusfmt.pipeline._native") else "without kernels"
    return f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}, {sysconfig.get_platform()}, {kernels}, {files}"


@contextmanager
def new_folder() -> Iterator[Path]:
    """Make a folder whose path is as long as in other runs: files of a run contain it."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def tiny_inputs(folder: Path) -> Path:
    """Write WET files of one line each; every second line repeats an earlier one."""
    for number in range(_TINY):
        wet_file(folder / "tiny" / f"{number:02}.warc.wet.gz", [wet_record(number, f"{LONG_LINE} {number // 2}\n")])
    return folder / "tiny"


def counted(name: str, folder: Path, *, instructions: bool = False) -> dict[str, Any]:
    """Count one command in its folder, beside those of the commands that made what it reads."""
    own = folder / name.replace(" ", "-")
    own.mkdir()
    words = [word.replace("TINY", str(tiny_inputs(own))) for word in STEPS[name].split()]
    for made, step in _MADE.items():
        words = [word.replace(made, str(folder / step.replace(" ", "-") / "out-2")) for word in words]
    command, control = [sys.executable], "-"
    if instructions:
        control = "callgrind_control"
        command = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--callgrind-out-file=counted",
            *command,
        ]
    # Byte code is there for all, and sets are in the same order each time.
    variables = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "", "COLUMNS": "80", "HOME": str(own)}
    done = subprocess.run(
        [*command, HERE / "counted.py", control, *words],
        cwd=own,
        env=variables,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, f"{name}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if instructions:
        return _of_callgrind((own / "counted").read_text("utf-8"))
    return found


def _of_callgrind(text: str) -> dict[str, Any]:
    """Return the instructions in a profile, and the calls of what allocates memory."""
    totals = re.findall(r"^(?:summary|totals): ([0-9]+)", text, re.MULTILINE)
    named = dict(re.findall(r"^c?fn=(\([0-9]+\)) (.+)", text, re.MULTILINE))
    calls = re.findall(r"^cfn=(\([0-9]+\)).*\ncalls=([0-9]+)", text, re.MULTILINE)
    allocations = sum(int(number) for function, number in calls if named[function] in ALLOCATE)
    return {"instructions": int(totals[-1]), "allocations": allocations}


def counts(folder: Path, *, instructions: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Count all commands, those that others need first."""
    first = list(_MADE.values())
    for name in first:
        yield name, counted(name, folder, instructions=instructions)
    others = [name for name in STEPS if name not in first]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1) as pool:
        yield from zip(
            others, pool.map(lambda name: counted(name, folder, instructions=instructions), others), strict=True
        )


def differing(pinned: dict[str, Any], found: dict[str, Any], *, everywhere: bool) -> Iterator[str]:
    """Yield the counts that are not as pinned."""
    for kind, wanted in pinned.items():
        if kind not in found or (everywhere and kind not in PORTABLE):
            continue
        given = found[kind]
        if kind == "packages":
            if more := sorted(set(given) - set(wanted)):
                yield f"imports {', '.join(more)}, too"
            elif not everywhere and (less := sorted(set(wanted) - set(given))):
                yield f"no longer imports {', '.join(less)}: run `make counts`"
        elif abs(given - wanted) > max(TOLERANCE * wanted, LEAST.get(kind, 0)):
            yield f"{kind}: {given:,}, pinned {wanted:,} ({given / max(wanted, 1) - 1:+.1%})"


def main() -> None:
    """Write the pins."""
    pins = json.loads(PINS.read_bytes()) if PINS.exists() else {}
    for kind in ("counts", *(["instructions"] if shutil.which("valgrind") else [])):
        with new_folder() as folder:
            found = dict(counts(folder, instructions=kind == "instructions"))
            pins[kind] = {"environment": environment(folder), "commands": {name: found[name] for name in STEPS}}
        PINS.write_text(f"{json.dumps(pins, indent=1)}\n", "utf-8")
        print(f"wrote {kind} into {PINS.relative_to(REPOSITORY)}", flush=True)
    if not shutil.which("valgrind"):
        print("instructions are not counted: there is no valgrind (Debian: apt-get install valgrind)")


if __name__ == "__main__":
    main()
