"""Code in the dataset: no command may run it in any process.

The datasets have a module for every name that can be imported here, so any import from the working folder finds one.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from security.attacks import GUARD, Attack, Outcome
from support import LONG_LINE, REPOSITORY, wet_file, wet_record

import corpusfmt

_CODE = 'import os\nopen({marker!r}, "a").write(__name__ + "\\n")\nraise SystemExit("code of the dataset runs")\n'
# More than this, and workers are started where there are two processors.
_LARGE = 17 * 1024 * 1024
_PACKAGES = ("concurrent", "importlib", "multiprocessing", "numpy", "rich")
#: A folder that the user has on the path, with an engine of their own.
_OWN = Path(__file__).parent / "engines"

Make = Callable[[Path], None]


def _importable() -> set[str]:
    installed = {name for name in packages_distributions() if name.isidentifier()}
    return installed | sys.stdlib_module_names | {"__main__", "corpusfmt", "sitecustomize", "usercustomize"}


@cache
def _loaded_before(kind: str) -> frozenset[str]:
    """Return what Python loads before the first line of ours: started with `-m`, or with the installed script."""
    show = "import sys\nprint(sorted(sys.modules))\n"
    with TemporaryDirectory() as folder:
        module = Path(folder) / "probe" / "__init__.py"
        module.parent.mkdir()
        module.write_text(show if kind == "module" else "", "utf-8")
        module.with_name("__main__.py").touch()
        script = Path(folder) / "script.py"
        script.write_text(f"import re\n{show}", "utf-8")
        command = [sys.executable, "-m", "probe"] if kind == "module" else [sys.executable, str(script)]
        printed = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    return frozenset(name.partition(".")[0] for name in ast.literal_eval(printed.decode()))


def _code(folder: Path, *, besides: Iterable[str] = ()) -> None:
    """Put code into the dataset: a module or package of every name, and a distribution with entry points."""
    data = folder / "data"
    code = _CODE.format(marker=str(folder / "executed"))
    for name in _importable() - set(besides):
        module = data / name / "__init__.py" if name in _PACKAGES else data / f"{name}.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text(code, "utf-8")
    plugin = data / "plugin-1.0.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", "utf-8")
    groups = ("rdf.plugins.parser", "rdf.plugins.serializer", "rdf.plugins.store", "fsspec.specs", "pydantic")
    entries = "".join(f"[{group}]\nhttp = plugin:Plugin\nfile = plugin:Plugin\n" for group in groups)
    (plugin / "entry_points.txt").write_text(entries, "utf-8")
    (data / "plugin.py").write_text(code, "utf-8")


def _documents(folder: Path, size: int = 0) -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    row = b'{"id":"%d","text":"All human beings are born free.","source":"s"}\n'
    for part in range(2):
        rows = b"".join(row % number for number in range(part * 1000, part * 1000 + 1000))
        incompressible = b'{"id":"big-%d","text":"%s","source":"s"}\n' % (part, b"x" * (size // 2))
        (documents / f"{part}.jsonl.gz").write_bytes(gzip.compress(rows + incompressible, compresslevel=0))


def _dolma(folder: Path) -> None:
    _code(folder)
    _documents(folder)


def _large_dolma(folder: Path) -> None:
    _code(folder)
    _documents(folder, _LARGE)


def _dolma_besides(kind: str) -> Make:
    """Make a dataset without what Python itself would have taken from it by now; that includes our own package."""

    def make(folder: Path) -> None:
        _code(folder, besides=_loaded_before(kind) | {"corpusfmt", "sitecustomize", "usercustomize"})
        _documents(folder)

    return make


def _wet(folder: Path) -> None:
    _code(folder)
    for part in range(2):
        records = [wet_record(part * 100 + number, f"{LONG_LINE}\n" * 5) for number in range(10)]
        wet_file(folder / "data" / f"{part}.warc.wet.gz", records)


def _croissant(folder: Path) -> None:
    """Make a description whose values are cut by a pattern, for which a helper process is started."""
    _code(folder)
    data = folder / "data"
    table = b"name\nAda 1\nGrace 2\n"
    (data / "people.csv").write_bytes(table)
    file = {"contentUrl": "people.csv", "sha256": hashlib.sha256(table).hexdigest()}
    source = {"fileObject": {"@id": "people"}, "extract": {"column": "name"}, "transform": {"regex": "([A-Z][a-z]+)"}}
    context = json.loads((REPOSITORY / "schemas/croissant/1.0/context.jsonld").read_text("utf-8"))
    description = {
        **context,
        "@type": "sc:Dataset",
        "name": "people",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": [{**file, "@type": "cr:FileObject", "@id": "people", "encodingFormat": "text/csv"}],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "all",
                "field": [{"@type": "cr:Field", "@id": "all/name", "dataType": "sc:Text", "source": source}],
            }
        ],
    }
    (data / "croissant.json").write_text(json.dumps(description), "utf-8")


def _saved_report(folder: Path) -> None:
    _dolma(folder)
    report = corpusfmt.render(corpusfmt.validate(folder / "data"), "json")
    (folder / "data" / "run.json").write_text(report, "utf-8")


def _succeeds(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text


def _prints(text: str) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        _succeeds(outcome)
        assert text in outcome.text, outcome.text

    return promise


def _attack(name: str, make: Make, *command: str, promise: Callable[[Outcome], None] = _succeeds) -> Attack:
    return Attack(f"code-{name}", make, command, promise, cwd="data", fresh=True)


def _with_path(name: str, path: str, *options: str) -> Attack:
    return Attack(
        f"code-python-path-{name}",
        _dolma_besides("script"),
        ("validate", ".", *options),
        _succeeds,
        cwd="data",
        environment={"PYTHONPATH": path},
        fresh=True,
    )


def _library(name: str, call: str, before: str = "") -> Attack:
    """Call the library where the path begins with the working folder, as it does in a notebook and after `-c`."""
    program = f"""
import os, sys, concurrent.futures.process, multiprocessing.forkserver, multiprocessing.spawn, multiprocessing.popen_forkserver, multiprocessing.popen_spawn_posix, corpusfmt
{before}
corpusfmt.validate(".", jobs=1)
os.chdir(sys.argv[1])
path, environment = list(sys.path), dict(os.environ)
assert path[0] == ""
print({call}.verdict)
assert (sys.path, dict(os.environ)) == (path, environment)
"""
    command = (sys.executable, "-c", program, "{data}")
    environment = {"PYTHONPATH": f"{GUARD}:{_OWN}"}
    return Attack(
        f"code-library-{name}", _library_data, command, _prints("valid"), "elsewhere", environment, program=True
    )


def _library_data(folder: Path) -> None:
    """Make the dataset, and a small one elsewhere, whose validation imports what this process itself needs."""
    _dolma(folder)
    elsewhere = folder / "elsewhere" / "documents"
    elsewhere.mkdir(parents=True)
    (elsewhere / "0.jsonl.gz").write_bytes((folder / "data" / "documents" / "0.jsonl.gz").read_bytes())


_MODULE = (sys.executable, "-m", "corpusfmt")
_THREAD = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"

ATTACKS = [
    _attack("1-worker", _large_dolma, "validate", ".", "--jobs", "1"),
    _attack("2-workers", _large_dolma, "validate", ".", "--jobs", "2"),
    _attack("default-workers", _large_dolma, "validate", "."),
    _attack("repeated-keys", _dolma, "validate", ".", "--jobs", "2", "--report", "html={out}"),
    Attack(
        "code-spawned", _dolma, ("validate", ".", "--engine", "py:security_engines:spawned", "--jobs", "2"), _succeeds,
        cwd="data", environment={"PYTHONPATH": f"{GUARD}:{_OWN}"}, fresh=True,
    ),
    _attack("convert-1", _dolma, "convert", ".", "{out}", "--to", "dolma", "--jobs", "1"),
    _attack("convert-2", _dolma, "convert", ".", "{out}", "--to", "dolma", "--jobs", "2"),
    _attack("describe-1", _dolma, "describe", ".", "-o", "{out}"),
    _attack("describe-2", _large_dolma, "describe", ".", "-o", "{out}"),
    _attack("build-1", _wet, "build", ".", "--output", "{out}", "--jobs", "1"),
    _attack("build-2", _wet, "build", ".", "--output", "{out}", "--jobs", "2"),
    _attack("croissant-data", _croissant, "validate", "croissant.json", "--data", "--jobs", "2"),
    _attack("records", _croissant, "records", "croissant.json", "--record-set", "all", promise=_prints("da")),
    _attack("detect", _dolma, "detect", ".", promise=_prints("dolma")),
    _attack("render", _saved_report, "report", "render", "run.json", "--output-format", "html", promise=_prints("<html")),
    _with_path("empty-first", f":{GUARD}", "--jobs", "1"),
    _with_path("empty-first-workers", f":{GUARD}", "--jobs", "2"),
    _with_path("empty-last", f"{GUARD}:", "--jobs", "2"),
    _with_path("dot", f".:{GUARD}", "--jobs", "2"),
    _with_path("relative", f"../data:{GUARD}", "--jobs", "2"),
    _with_path("own-engine", f":{GUARD}:{_OWN}", "--jobs", "2", "--engine", "py:security_engines:spawned"),
    *(
        Attack(
            f"code-module-{jobs}", _dolma_besides("module"), (*_MODULE, "validate", ".", "--jobs", jobs), _succeeds,
            cwd="data", program=True,
        )
        for jobs in ("1", "2")
    ),
    _library("forked", 'corpusfmt.validate(".", jobs=2)'),
    _library("fork-server", 'corpusfmt.validate(".", jobs=2)', _THREAD),
    _library("spawned", 'corpusfmt.validate(".", jobs=2, engine="py:security_engines:spawned")'),
]  # fmt: skip
