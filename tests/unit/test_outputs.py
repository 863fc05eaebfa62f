"""Outputs in stores: atomic puts, claims, and which URLs are refused. `tests/remote` does the same with real requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support import LONG_LINE, corpus, run_cli, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.outputs import StorePath, place_of
from corpusfmt.io.publish import output_at, publish
from corpusfmt.model import Incomplete, UsageError


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    folder = tmp_path / "wet"
    for number in range(2):
        text = "".join(f"{LONG_LINE} {number + line}\n" for line in range(3))
        wet_file(folder / f"{number}.warc.wet.gz", [wet_record(number, text)])
    return folder


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    """An empty store, and an empty working folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    store = fsspec.filesystem("memory")
    store.store.clear()
    yield store
    store.store.clear()


def objects(store: MemoryFileSystem, prefix: str) -> dict[str, bytes]:
    return {name.removeprefix(f"{prefix}/"): store.cat_file(name) for name in store.find(prefix)}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("foo://bucket/x", "expected a local path or a URL that begins with s3://, gs:// or hf://"),
        ("https://host/x", "expected a local path or a URL"),
        ("simplecache::memory://x", "expected a local path or a URL"),
        ("memory://a/zip::x", "expected a local path or a URL"),
        ("memory://", "expected the name of a bucket"),
        ("memory:///", "expected the name of a bucket"),
        ("s3://key:secret@bucket/x", "is a URL with credentials: remove them and set AWS_PROFILE"),
        ("gs://bucket/x", r"run `pip install 'corpusfmt\[gs\]'`"),
    ],
)
def test_what_is_not_written_to(url: str, said: str, tmp_path: Path, memory: MemoryFileSystem) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        place_of(url, "the output")
    assert "secret" not in str(raised.value)
    for call in (corpusfmt.build, corpusfmt.convert):
        options: Any = {"to": "dolma"} if call is corpusfmt.convert else {}
        with pytest.raises(UsageError, match=said):
            call(tmp_path, url, **options)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("out", Path("out")),
        ("./s3:/out", Path("s3:/out")),
        ("C:/out", Path("C:/out")),
        ("file:///a/b", Path("/a/b")),
        (Path("file:///a/b"), Path("/a/b")),
        (Path("memory://a/b"), StorePath("memory://a/b")),
        ("memory://a/b/", StorePath("memory://a/b")),
    ],
)
def test_where_an_output_goes(path: str | Path, expected: Path | StorePath) -> None:
    assert place_of(path, "the output") == expected


def test_nothing_half_written_is_visible(memory: MemoryFileSystem, tmp_path: Path) -> None:
    with pytest.raises(TypeError), publish(StorePath("memory://a/b")) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    with publish(StorePath("memory://a/b"), aside=tmp_path / "aside") as file:
        file.write(b"whole")
        assert objects(memory, "/a") == {}
    assert objects(memory, "/a") == {"b": b"whole"}
    assert [path.name for path in (tmp_path / "aside").iterdir()] == ["published"]


def test_only_one_can_create_an_object(memory: MemoryFileSystem) -> None:
    place = StorePath("memory://claims/one")
    assert place.create(b"mine")
    assert place.create(b"mine")
    assert not place.create(b"another's")
    assert (place.size(), place.read_bytes()) == (4, b"mine")
    place.remove()
    place.remove()
    assert place.size() is None


def test_a_corpus_in_a_store_is_that_of_a_folder(wet: Path, memory: MemoryFileSystem, tmp_path: Path) -> None:
    corpusfmt.build(wet, tmp_path / "local")
    corpusfmt.build(wet, "memory://store/corpus", jobs=None)
    assert objects(memory, "/store/corpus") == corpus(tmp_path / "local")
    assert corpusfmt.build(wet, "memory://store/corpus").results["finished"]
    corpusfmt.convert(tmp_path / "local", tmp_path / "dolma", to="dolma")
    corpusfmt.convert("memory://store/corpus", "memory://store/dolma", to="dolma", jobs=None)
    assert objects(memory, "/store/dolma") == corpus(tmp_path / "dolma")
    assert corpusfmt.convert("memory://store/corpus", "memory://store/dolma", to="dolma").results["finished"]
    with pytest.raises(UsageError, match="contain each other"):
        corpusfmt.convert("memory://store/corpus", "memory://store/corpus/dolma", to="dolma")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_run_that_a_store_ended_goes_on(
    after: int, wet: Path, memory: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpusfmt.build(wet, tmp_path / "local", recipe="dolma")
    left = iter(range(after))
    put = MemoryFileSystem.pipe_file

    def fail_later(store: MemoryFileSystem, path: str, data: bytes, **options: Any) -> None:
        if "/.corpusfmt" not in path and next(left, None) is None:
            raise PermissionError("Access Denied")
        put(store, path, data, **options)

    with monkeypatch.context() as patched:
        patched.setattr(MemoryFileSystem, "pipe_file", fail_later)
        with pytest.raises(
            OSError, match=r"cannot write memory://store/corpus/.*: Access Denied; ask for the right to"
        ):
            corpusfmt.build(wet, "memory://store/corpus", recipe="dolma", state=tmp_path / "state")
    assert ".corpusfmt/run" in objects(memory, "/store/corpus")
    corpusfmt.build(wet, "memory://store/corpus", recipe="dolma", state=tmp_path / "state")
    assert objects(memory, "/store/corpus") == corpus(tmp_path / "local")
    assert not (tmp_path / "state").exists()


def test_a_place_belongs_to_one_run(memory: MemoryFileSystem, tmp_path: Path) -> None:
    place = StorePath("memory://store/corpus")
    one, other = (Workplace.at(place, "build", tmp_path / name) for name in ("one", "other"))
    with one.claimed():
        pass
    with pytest.raises(UsageError, match=f"belongs to a run whose state is in {one.state}"), other.claimed():
        pass
    assert not other.state.exists()
    with one.claimed():
        one.give_up()
    assert objects(memory, "/store") == {}
    memory.pipe_file("/store/corpus/.corpusfmt/probe", b"")
    with one.claimed():
        one.give_up()
    assert objects(memory, "/store") == {}
    for name in (".corpusfmt/probe", "another"):
        memory.pipe_file(f"/store/corpus/{name}", b"")
    with pytest.raises(UsageError, match="is not empty"), one.claimed():
        pass
    with (
        pytest.raises(UsageError, match="is an object"),
        Workplace.at(place / "another", "", tmp_path / "one").claimed(),
    ):
        pass


@pytest.mark.parametrize("damaged", ["state", "store"])
def test_a_claim_that_is_damaged(memory: MemoryFileSystem, tmp_path: Path, damaged: str) -> None:
    work = Workplace.at(StorePath("memory://store/corpus"), "build", tmp_path / "state")
    with work.claimed():
        pass
    name = "/store/corpus/.corpusfmt/run"
    if damaged == "state":
        (work.state / "claim").write_bytes(b"\xff{")
    else:
        memory.pipe_file(name, b"[]")
    with (
        pytest.raises(UsageError, match=r"is damaged: remove memory://store/corpus/.corpusfmt/run, then"),
        work.claimed(),
    ):
        pass
    memory.rm_file(name)
    with work.claimed():
        work.release()
    assert objects(memory, "/store") == {}


def _refused(*_: object, **__: object) -> None:
    raise PermissionError("Access Denied")


@pytest.mark.parametrize(
    "write",
    [
        lambda wet: corpusfmt.build(wet, "memory://store/corpus"),
        lambda wet: corpusfmt.convert(wet, "memory://store/corpus", to="dolma"),
        lambda _: output_at("memory://store/report.json", "--report"),
    ],
)
def test_a_store_without_permission(
    write: Callable[[Path], object],
    wet: Path,
    memory: MemoryFileSystem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpusfmt.build(wet, tmp_path / "local")
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", _refused)
    with pytest.raises(UsageError, match=r"^cannot write below memory://store.*: Access Denied; ask for the right to"):
        write(tmp_path / "local" if "convert" in str(write.__code__.co_names) else wet)
    assert (objects(memory, "/"), list(Path().iterdir())) == ({}, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jobs": 2}, "is in the memory of this process"),
        ({"engine": "processes"}, "is in the memory of this process"),
        ({"state": "memory://state", "jobs": 2}, "is in the memory of this process"),
    ],
)
def test_what_a_store_cannot_serve(options: dict[str, Any], said: str, wet: Path, memory: MemoryFileSystem) -> None:
    with pytest.raises(UsageError, match=said):
        corpusfmt.build(wet, "memory://store/corpus", **options)
    assert objects(memory, "/") == {}


def test_a_state_in_a_store_is_resumed_and_leaves_nothing(
    wet: Path, memory: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpusfmt.build(wet, tmp_path / "local")

    def killed(_: object) -> None:
        raise Incomplete("killed")

    monkeypatch.setattr("corpusfmt.pipeline.stages.package", killed)
    with pytest.raises(Incomplete):
        corpusfmt.build(wet, "memory://store/corpus", state="memory://store/state")
    monkeypatch.undo()
    left = objects(memory, "/store/state")
    assert {"run", "claim"} < left.keys()
    assert any(path.startswith("tasks/process/") for path in left)
    with pytest.raises(UsageError, match="contains an unfinished run of another destination, or other inputs"):
        corpusfmt.build(wet, "memory://store/other", state="memory://store/state")
    report = corpusfmt.build(wet, "memory://store/corpus", state="memory://store/state")
    assert report.results["resumed"]["read"] == 0
    assert objects(memory, "/store/corpus") == corpus(tmp_path / "local")
    assert objects(memory, "/store/state") == {}
    for place in ("memory://store/corpus", "memory://store", "memory://store/corpus/state"):
        with pytest.raises(UsageError, match="expected a prefix of its own"):
            corpusfmt.build(wet, "memory://store/corpus", state=place)


def test_the_state_of_a_local_run_is_in_its_folder(wet: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`state` is for outputs in a store"):
        corpusfmt.build(wet, tmp_path / "out", state=tmp_path / "state")


def test_bad_records_need_a_place_next_to_the_output(wet: Path, memory: MemoryFileSystem, tmp_path: Path) -> None:
    corpusfmt.build(wet, tmp_path / "local")
    with pytest.raises(UsageError, match="nothing can be written next to memory://store"):
        corpusfmt.convert(tmp_path / "local", "memory://store", to="dolma", on_bad_record="quarantine")


def test_bad_records_are_next_to_the_output(memory: MemoryFileSystem, tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "x", "source": "s"}, {"id": 2, "text": "x", "source": "s"}]
    (tmp_path / "d/documents").mkdir(parents=True)
    (tmp_path / "d/documents/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for out in (str(tmp_path / "out"), "memory://store/out"):
        corpusfmt.convert(tmp_path / "d", out, to="dolma", on_bad_record="quarantine")
    assert objects(memory, "/store/out-quarantine") == corpus(tmp_path / "out-quarantine")
    assert objects(memory, "/store/out") == corpus(tmp_path / "out")


def test_a_description_in_a_store(wet: Path, memory: MemoryFileSystem, tmp_path: Path) -> None:
    """The paths of a description are relative to its folder, there as here."""
    corpusfmt.build(wet, tmp_path / "release/corpus")
    for path, data in corpus(tmp_path / "release").items():
        memory.pipe_file(f"/release/{path}", data)
    expected = corpusfmt.describe(tmp_path / "release/corpus", base=tmp_path / "release", name="x")
    assert corpusfmt.describe("memory://release/corpus", base="memory://release", name="x") == expected
    assert corpusfmt.describe("memory://release/corpus", base=tmp_path, name="x") != expected


def test_the_state_is_named_for_the_destination(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = f"corpus-{hashlib.sha256(b'memory://a/corpus').hexdigest()[:8]}.corpusfmt"
    assert Workplace.at(StorePath("memory://a/corpus"), "").state == Path.cwd() / expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "small", "--report", "json=nosuch://b/x"),
        ("compare", "small", "small", "--report", "json=nosuch://b/x"),
        ("report", "render", "small", "-o", "nosuch://b/x"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_refuse_a_report_to_another_scheme(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run_cli(*arguments, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert b"expected a local path or a URL that begins with s3://, gs:// or hf://" in done.stderr
