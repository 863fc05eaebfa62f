"""Pin everything that the project installs, with hashes: one file for each way to install it.

Each file holds for every supported Python and platform, and what builds the package is in it, too.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
COMPILE = (
    *(
        sys.executable,
        "-m",
        "uv",
        "--directory",
        str(HERE.parent),
        "pip",
        "compile",
        "--quiet",
        "--upgrade",
        "--universal",
    ),
    # pip 23 looks for the newest release of a package that another asks for with extras, unless the pin has them, too:
    # `also_plain` adds the pin for those who ask without.
    *("--generate-hashes", "--no-strip-extras", "--no-annotate", "--custom-compile-command", "make lock"),
)
#: Name of the lock, what it is made from. The next three get the versions of the first.
LOCKS = {
    "dev": ("pyproject.toml", "--extra", "dev"),
    "build": ("pyproject.toml", "--extra", "build"),
    "run": ("pyproject.toml",),
    "release": ("--group", "release"),
    "mlcroissant": ("--group", "mlcroissant"),
    "hub": ("--group", "hub"),
    "browser": ("--group", "browser"),
    "peers": ("--group", "peers"),
    "compared": ("--group", "compared"),
    "hosts": ("--group", "hosts"),
    "docs": ("--group", "docs"),
    "ray": ("pyproject.toml", "--extra", "build", "--extra", "ray", "--extra", "s3"),
    "gs": ("pyproject.toml", "--extra", "build", "--extra", "gs", "--group", "gs"),
}


def main() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))
    backend = "\n".join(project["build-system"]["requires"]).encode()
    for name, sources in LOCKS.items():
        agreeing = () if name in ("dev", "mlcroissant", "hub", "compared") else ("--constraint", "locks/dev.txt")
        command = (*COMPILE, "--python-version", "3.11", *sources, "-", *agreeing, "--output-file", f"locks/{name}.txt")
        subprocess.run(command, input=backend, stdout=subprocess.DEVNULL, check=True)
        lock = HERE / f"{name}.txt"
        lock.write_text(also_plain(lock.read_text("utf-8")), "utf-8")


def also_plain(lock: str) -> str:
    """Return a lock with a second pin, without extras, after each that has some."""
    return re.sub(r"^([\w.-]+)\[[\w,.-]+\](==.*\n(?: +--hash.*\n)+)", r"\g<0>\1\2", lock, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
