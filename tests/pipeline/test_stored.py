"""A state in a store: one object for each task, from which another process goes on."""

from __future__ import annotations

import uuid
from pathlib import Path

import fsspec
import pytest
from support import LONG_LINE, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.stored import StoredState
from corpusfmt.io.containers import ContainerWriter
from corpusfmt.io.outputs import StorePath


@pytest.fixture
def store() -> str:
    return f"memory://{uuid.uuid4().hex}"


def objects(url: str) -> dict[str, bytes]:
    """Return what is below a prefix."""
    place = StorePath(url)
    return {path: (place / path).read_bytes() for path in place.paths()}


def test_another_process_goes_on_with_what_is_in_the_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        wet_file(tmp_path / "wet" / f"{number}.warc.wet", [wet_record(number, f"{LONG_LINE} {number}\n")])
    out, state, log = f"{store}/out", f"{store}/state", tmp_path / "log.jsonl"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with monkeypatch.context() as patched:
        patched.setattr("corpusfmt.pipeline.run.packaged", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            corpusfmt.build(tmp_path / "wet", out, state=state)
    assert list(temporary.iterdir()) == []
    kept = [path for path in objects(state) if path.startswith("tasks/process/")]
    assert len(kept) == 4
    damaged = fsspec.filesystem("memory").store
    (path,) = (each for each in damaged if each.endswith(kept[0]))
    damaged[path].seek(5)
    damaged[path].write(b"\xff")
    corpusfmt.build(tmp_path / "wet", out, state=state, log=log)
    assert b'"stage":"process","tasks":4,"resumed":3' in log.read_bytes()
    assert objects(state) == {}
    corpusfmt.build(tmp_path / "wet", tmp_path / "alone")
    assert objects(out) == tree(tmp_path / "alone")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", ["../outside", "/outside", "process/../../outside", "a//b"])
def test_an_object_writes_nothing_elsewhere(name: str, store: str, tmp_path: Path) -> None:
    state = StoredState(StorePath(store), tmp_path / "inner" / "state", "run")
    state.folder.mkdir(parents=True)
    with (tmp_path / "packed").open("wb") as file:
        packed = ContainerWriter(file)
        packed.add(name, b"x")
        packed.finish()
    place = StorePath(store) / "tasks" / "process" / "task"
    place.put(tmp_path / "packed")
    state.fetch_all()
    assert not place.is_file()
    assert tree(tmp_path / "inner") == {}
