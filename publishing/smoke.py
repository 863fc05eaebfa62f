"""Install what pip takes on the Pythons given, without a compiler, and compare it with the pure wheel: `make try-release`."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from setup import KERNELS

PROJECT = Path(__file__).parents[1]
CORPORA = ("dolma/1.0/invalid/metadata-string-zst", "oscar/1.0/invalid/metadata-in-1.0", "croissant/1.0/valid/files")
#: A free-threaded Python takes the pure wheel.
LOADED = "import sysconfig\nif not sysconfig.get_config_var('Py_GIL_DISABLED'): import corpusfmt.{}._native".format(
    "._native, corpusfmt.".join(KERNELS)
)
BARE = {**os.environ, "PATH": "/nonexistent", "CC": "false", "CXX": "false"}


def main(folder: Path, pythons: list[str]) -> None:
    """Print a line for each Python and the wheel that is for it; what goes wrong ends the program."""
    (pure,) = folder.glob("*-none-any.whl")
    for python in pythons:
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([python, "-m", "venv", scratch], check=True)
            pip = (f"{scratch}/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check")
            own = ("download", "--no-index", "--no-deps", "--find-links", folder, "--dest", scratch, "corpusfmt")
            subprocess.run([*pip, *own], check=True)
            (wheel,) = Path(scratch).glob("*.whl")
            subprocess.run([*pip, "install", "--only-binary", ":all:", wheel], env=BARE, check=True)
            subprocess.run([pip[0], "-W", "error", "-c", LOADED], cwd=scratch, check=True)
            told = reports(pip[0])
            subprocess.run([*pip, "install", "--no-deps", "--force-reinstall", pure], env=BARE, check=True)
            assert told == reports(pip[0]), f"the wheels disagree on {python}"
        print(f"{wheel.name} on {python}: {len(told)} reports, equal to those of the pure wheel")


def reports(python: str) -> list[str]:
    """Return what `validate` says without a compiler; a process that dies ends the program, with its signal."""
    command = (python, "-m", "corpusfmt", "validate", "input", "--output-format", "json")
    told = []
    for corpus in CORPORA:
        where = PROJECT / "tests/fixtures" / corpus
        done = subprocess.run(command, cwd=where, env=BARE, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1):
            raise subprocess.CalledProcessError(done.returncode, command)
        told.append(re.sub(r'"(started|finished)": "[^"]*"', "", done.stdout))
    return told


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
