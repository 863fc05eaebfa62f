"""Put the page that validates in the browser into a built site: `python -m website.inbrowser RUNTIME SITE`.

RUNTIME has the package pyodide, unpacked, and wheels for WebAssembly; `--wheels` prints the requirements of these, from the lock of
what users install. The page takes all of it from the site.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import zipfile
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import corpusfmt
from corpusfmt.formats import formats
from corpusfmt.profiles import profile_names, shipped_profile
from corpusfmt.report import render
from corpusfmt.wording import markup
from website.pages import REPOSITORY

_HERE = Path(__file__).parent / "browser"
#: What checks of one file import. isal has no wheel for WebAssembly; zstd is in the standard library there.
_WHEELS = (
    "cachetools",
    "frozendict",
    "msgspec",
    "publicsuffixlist",
    "pyld",
    "pyparsing",
    "python-jsonpath",
    "rdflib",
    "xxhash",
)
#: Descriptions that are checked before the memory is copied, so that the page has what checks need.
_SAMPLES = tuple(
    REPOSITORY / "tests/fixtures/croissant" / name / "input.json"
    for name in ("1.1/invalid/annotation-a-string", "1.0/invalid/array-shape-in-1-0", "1.0/invalid/date-impossible")
)


def requirements() -> str:
    """Return the part of the lock for users that is about the wheels of the page."""
    locked = (REPOSITORY / "locks/run.txt").read_text("utf-8")
    each = re.split(r"^(?=[a-z])", locked, flags=re.MULTILINE)
    return "".join(part for part in each if part.partition("==")[0] in _WHEELS)


def main(runtime: Path, site: Path) -> None:
    """Write the page into the folder `validate` of a site."""
    folder = site / "validate"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pyodide = runtime / "package"
    with TemporaryDirectory() as packages:
        _unpack(runtime, Path(packages))
        subprocess.run(["node", _HERE / "prepare.mjs", pyodide.absolute(), packages, folder, *_SAMPLES], check=True)
    _compress(folder / "program.bin", (pyodide / "pyodide.asm.wasm").read_bytes())
    _compress(folder / "worker.bin", _worker(pyodide).encode())
    for name in ("page.css", "page.js"):
        shutil.copy(_HERE / name, folder)
    page = (_HERE / "index.html").read_text("utf-8")
    example = escape((_HERE / "example.json").read_text("utf-8"))
    values = {"policy": _policy(), "profiles": _profiles(), "formats": _formats(), "example": example}
    for name, value in values.items():
        page = page.replace(f"{{{name}}}", value)
    (folder / "index.html").write_text(page, "utf-8")


def _unpack(runtime: Path, folder: Path) -> None:
    """Write what the page imports: the wheels, corpusfmt without kernels and recipes, and the page's own module."""
    for wheel in runtime.glob("wheels/*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if ".dist-info/" not in name])
    package = REPOSITORY / "src/corpusfmt"
    shutil.copytree(
        package,
        folder / package.name,
        ignore=lambda _, names: [each for each in names if "." in each and not each.endswith(".py")],
    )
    shutil.copytree(REPOSITORY / "schemas", folder / package.name / "_data/schemas")
    shutil.copy(_HERE / "checking.py", folder)


def _worker(pyodide: Path) -> str:
    """Return one script of the modules of Pyodide and of the worker, which then requests none."""
    program = (pyodide / "pyodide.asm.mjs").read_text("utf-8")
    loader = (pyodide / "pyodide.mjs").read_text("utf-8")
    starting, working = ((_HERE / name).read_text("utf-8") for name in ("python.mjs", "worker.js"))
    program, programs = re.subn(r"\bexport default (\w+);", r"const createPyodideModule = \1;", program)
    loader, loaders = re.subn(r"\bexport\{(\w+) as loadPyodide,.*", r"return \1;", loader)
    if (programs, loaders) != (1, 1):
        raise ValueError("the modules of Pyodide export other things than they did")
    return f"{program}\nconst loadPyodide = (() => {{{loader}\n}})();\n{starting.replace('export ', '')}\n{working}"


def _compress(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


def _policy() -> str:
    """Return the policy of the page. Reports are shown in it, and so under it: it allows their script and style, by digest."""
    report = render(corpusfmt.validate(_SAMPLES[0]), "html")
    own = {tag: re.findall(f"<{tag}>(.*?)</{tag}>", report, re.DOTALL) for tag in ("script", "style")}
    digests = {tag: " ".join(f"'sha256-{_digest(text)}'" for text in texts) for tag, texts in own.items()}
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'wasm-unsafe-eval' {digests['script']}",
            f"style-src 'self' {digests['style']}",
            "connect-src 'self'",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _profiles() -> str:
    summaries = {name: shipped_profile(name).summary for name in profile_names()}
    return "".join(
        f'<option value="{name}" title="{markup(summary)}">{name}</option>' for name, summary in summaries.items()
    )


def _formats() -> str:
    return "".join(f"<option>{name}</option>" for name in ("auto", *sorted(formats())))


if __name__ == "__main__":
    if sys.argv[1:] == ["--wheels"]:
        print(requirements(), end="")
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
