"""Shared by tests: running the command line, and corpora of a few documents."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
import served
from _pytest.mark import ParameterSet

from corpusfmt.model import Finding, Report

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "DEEP",
    "FIXTURES",
    "LONG_LINE",
    "REPOSITORY",
    "SAMPLE",
    "corpus",
    "every",
    "gzipped",
    "of_data",
    "run_cli",
    "scan_without_kernel",
    "tarred",
    "tree",
    "unmeasured",
    "warc_record",
    "wet_file",
    "wet_record",
    "zipped",
    "zstd",
]

FIXTURES = Path(__file__).parent / "fixtures"
REPOSITORY = Path(__file__).parents[1]
SAMPLE = REPOSITORY / "pipeline" / "sample"

LONG_LINE = (
    "All human beings are born free and equal in dignity and rights; they are endowed with reason and conscience."
)


#: `make deep` runs what `make test` leaves out.
DEEP = "CORPUSFMT_DEEP" in os.environ

T = TypeVar("T")


def every(step: int, cases: Iterable[T]) -> list[T | ParameterSet]:
    """Return cases for `parametrize`, of which `make test` takes the first and every so many after it, `make deep` all."""
    return [pytest.param(case, marks=pytest.mark.deep) if n % step else case for n, case in enumerate(cases)]


def run_cli(
    *arguments: str | Path,
    stdin: bytes = b"",
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    fresh: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run `corpusfmt` as a user does, in a process of its own; a `fresh` one is started, others are forked."""
    words = list(map(str, arguments))
    if fresh or options or len(stdin) > served.MOST_STDIN or not served.AVAILABLE:
        command = [sys.executable, "-m", "corpusfmt", *words]
        return subprocess.run(
            command, input=stdin, capture_output=True, check=False, timeout=300, cwd=cwd, env=env, **options
        )
    environment = os.environ if env is None else env
    ended = server_of(environment).run(words, environment, cwd or Path.cwd(), stdin, 300)
    return subprocess.CompletedProcess(words, ended.status, ended.stdout, ended.stderr)


_SERVERS: dict[frozenset[tuple[str, str]], served.Server] = {}


class Inline(Executor):
    """Runs a task in `submit`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def server_of(environment: Mapping[str, str]) -> served.Server:
    """Return the server for processes with the same variables that Python reads when it starts."""
    key = frozenset((name, value) for name, value in environment.items() if name.startswith(("PYTHON", "LANG", "LC_")))
    if key not in _SERVERS:
        _SERVERS[key] = served.Server(environment)
    return _SERVERS[key]


def unmeasured() -> dict[str, str]:
    """Return the environment for a process with limits, which measuring coverage would exceed."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def of_data(report: Report) -> list[Finding]:
    """Return the findings about a corpus and not its description, of which only the author knows what is missing."""
    return [each for each in report.findings if not each.location.path.endswith("croissant.json")]


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive, the same on every day and system."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            archive.writestr(info, data, method)
    return sink.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    """Return a tar archive."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below a folder by its relative path."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def corpus(root: Path) -> dict[str, bytes]:
    """Return the files under final names: all but what a run keeps to go on from."""
    return {path: data for path, data in tree(root).items() if ".corpusfmt" not in path.split("/")}


def warc_record(kind: str, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return one WARC record as Common Crawl frames it."""
    lines = [("WARC-Type", kind), *headers, ("Content-Length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + body + b"\r\n\r\n"


def wet_record(number: int, text: str | bytes, **headers: str) -> bytes:
    """Return a conversion record whose id and address are made of a number."""
    known = {
        "WARC-Target-URI": f"http://site-{number}.example/",
        "WARC-Date": "2018-11-12T17:28:45Z",
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        "Content-Type": "text/plain",
    } | headers
    return warc_record("conversion", text.encode() if isinstance(text, str) else text, list(known.items()))


def wet_file(path: Path, records: Sequence[bytes]) -> Path:
    """Write a WET file, one gzip member a record, a warcinfo first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    info = warc_record("warcinfo", b"software: test\r\n", [("Content-Type", "application/warc-fields")])
    path.write_bytes(b"".join(gzipped(record) for record in (info, *records)))
    return path


class Page(HTMLParser):
    """The texts of a page by the names of the elements that they are in, and its tags; every element has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.within: list[str] = []
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.within == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "input"}:
            self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.within.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts["/".join(self.within)].append(data)


def scan_without_kernel() -> ModuleType:
    """Return `corpusfmt.io.scan` as it is where the kernel is not built."""
    spec = importlib.util.find_spec("corpusfmt.io.scan")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "corpusfmt.io._native", None)
        spec.loader.exec_module(module)
    return module
