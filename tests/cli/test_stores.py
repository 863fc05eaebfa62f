"""A store that does not answer: its own words, status 3, and never an internal error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import gzipped

# A store whose library raises what no file system does, at once or only once a file is read.
STORE = """
import sys, fsspec
from fsspec.implementations.memory import MemoryFileSystem

class EndpointConnectionError(Exception):
    pass

def fail(*_, **__):
    raise EndpointConnectionError("Could not connect to the endpoint")

class Down(MemoryFileSystem):
    protocol = "down"
    isdir = isfile = find = glob = info = open = fail

class Breaking(MemoryFileSystem):
    protocol = "breaking"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("breaking://"))

    def open(self, *arguments, **options):
        file = super().open(*arguments, **options)
        file.read = file.readinto = fail
        return file

for store in (Down, Breaking):
    fsspec.register_implementation(store.protocol, store)
data = open(sys.argv.pop(1), "rb").read()
MemoryFileSystem().pipe_file("/d/documents/0.jsonl.gz", data)
MemoryFileSystem().pipe_file("/o/af/af.txt.gz", data)
MemoryFileSystem().pipe_file("/c/croissant.json", b"{}")
from corpusfmt.cli import main
main()
"""
SAID = b"EndpointConnectionError: Could not connect to the endpoint"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(gzipped(b'{"id": "1", "text": "x", "source": "s"}\n'))
    return path


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", STORE, str(data), *arguments]
    environment = os.environ | {"CORPUSFMT_STORE_RETRIES": "0"}
    return subprocess.run(command, capture_output=True, check=False, cwd=data.parent, env=environment)


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "down://d"),
        ("validate", "down://d", "--format", "dolma"),
        ("validate", "down://d/*.gz"),
        ("detect", "down://d"),
        ("convert", "down://d", "out", "--to", "dolma"),
        ("describe", "down://d"),
        ("records", "down://c/croissant.json"),
        ("build", "down://w/a.warc.wet.gz", "-o", "out"),
    ],
    ids=" ".join,
)
def test_a_store_that_is_down(arguments: tuple[str, ...], data: Path) -> None:
    done = run(data, *arguments)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"error: ")
    assert SAID in done.stderr.split(b"\n")[0]
    assert b"internal error" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "breaking://d", "--format", "dolma"),
        ("validate", "breaking://o", "--format", "oscar-1.0"),
        ("validate", "breaking://o", "--format", "oscar-1.1"),
        ("validate", "breaking://c/croissant.json", "--format", "croissant"),
        ("convert", "breaking://d", "out", "--to", "dolma", "--format", "dolma"),
        ("convert", "breaking://o", "out", "--to", "dolma", "--format", "oscar-1.0"),
        ("describe", "breaking://o"),
        ("records", "breaking://c/croissant.json"),
    ],
    ids=" ".join,
)
def test_a_store_that_breaks_off(arguments: tuple[str, ...], data: Path) -> None:
    done = run(data, *arguments)
    said = done.stdout + done.stderr
    assert SAID in said
    assert b"internal error" not in said
    assert b"GEN000" not in said
    assert done.returncode in {1, 3}
