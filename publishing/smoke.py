"""Install each wheel on the Pythons given, without a compiler, and compare what it does with the pure one: `make try-release`."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from setup import KERNELS

PROJECT = Path(__file__).parents[1]
CORPORA = ("dolma/1.0/invalid/metadata-string-zst", "oscar/1.0/invalid/metadata-in-1.0", "croissant/1.0/valid/files")
LOADED = "import corpusfmt.{}._native".format("._native, corpusfmt.".join(KERNELS))


def main(folder: Path, pythons: list[str]) -> None:
    """Print a line for each Python and wheel that installs there; what goes wrong ends the program."""
    for python in pythons:
        told = {}
        for kind in ("none-any", "manylinux"):
            (wheel,) = folder.glob(f"*-{kind}*{'' if kind == 'none-any' else os.uname().machine}.whl")
            with tempfile.TemporaryDirectory() as scratch:
                told[kind] = tried(Path(scratch), python, wheel, compiled=kind == "manylinux")
            print(f"{wheel.name} on {python}: {len(told[kind])} reports")
        assert told["none-any"] == told["manylinux"], f"the wheels disagree on {python}"


def tried(scratch: Path, python: str, wheel: Path, *, compiled: bool) -> list[str]:
    """Return the reports of a wheel that was installed where there is no compiler."""
    environment = {**os.environ, "PATH": "/nonexistent", "CC": "false", "CXX": "false"}
    subprocess.run([python, "-m", "venv", scratch / "venv"], check=True)
    own = scratch / "venv/bin/python"
    install = (own, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--only-binary", ":all:", wheel)
    subprocess.run(install, env=environment, check=True)
    if compiled:
        subprocess.run([own, "-W", "error", "-c", LOADED], cwd=scratch, check=True)
    reports = []
    for corpus in CORPORA:
        command = (own, "-m", "corpusfmt", "validate", "input", "--output-format", "json")
        done = subprocess.run(
            command,
            cwd=PROJECT / "tests/fixtures" / corpus,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        reports.append(re.sub(r'"(started|finished)": "[^"]*"', "", done.stdout))
    return reports


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
