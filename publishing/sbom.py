"""Write bills of materials (CycloneDX, JSON) of what a user installs: corpusfmt alone, and with `[build]`."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
LOCKS = PROJECT / "locks"
WRITTEN = {"run": "corpusfmt.cdx.json", "build": "corpusfmt-build.cdx.json"}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for lock, name in WRITTEN.items():
        with tempfile.TemporaryDirectory() as scratch:
            installed = Path(scratch) / "installed"
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(installed)], check=True)
            python = next(
                path for path in (installed / "bin/python", installed / "Scripts/python.exe") if path.exists()
            )
            pip: list[str | Path] = [
                sys.executable,
                "-m",
                "pip",
                "--disable-pip-version-check",
                "--quiet",
                "--python",
                python,
            ]
            install = (*pip, "install", "--no-compile")
            subprocess.run([*install, "--require-hashes", "-r", LOCKS / f"{lock}.txt"], check=True)
            pure = {**os.environ, "CORPUSFMT_PURE": "1"}  # kernels are no components
            subprocess.run([*install, "--no-deps", "--no-build-isolation", PROJECT], env=pure, check=True)
            version = _version(python)
            # It builds the package; nobody who installs it has it.
            subprocess.run([*pip, "uninstall", "--yes", "setuptools"], check=True)
            _describe(python, folder / name, version)


def _describe(python: Path, target: Path, version: str) -> None:
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--pyproject",
        PROJECT / "pyproject.toml",
        "--output-reproducible",
    ]
    subprocess.run([*command, "--output-file", target, python], check=True)
    bill = json.loads(target.read_text("utf-8"))
    bill["metadata"]["component"]["version"] = version  # not in the project file
    target.write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(f"{target}: {len(bill['components'])} components")


def _version(python: Path) -> str:
    printed = subprocess.run([python, "-m", "corpusfmt", "--version"], check=True, capture_output=True, text=True)
    return printed.stdout.split()[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
