"""A download against its manifest: what to fetch again, also from stores, and where an interrupted run goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support import run_cli, tree

import corpusfmt
from corpusfmt.engine.progress import Progress
from corpusfmt.model import UsageError

FILES = {f"documents/{number}.jsonl": f'{{"id":"{number}","text":"t","source":"s"}}\n'.encode() for number in range(6)}


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("release") / "corpus"
    for path, data in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    corpusfmt.seal(root)
    return root


@pytest.fixture
def release(sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(sealed, tmp_path / "corpus")
    return tmp_path / "corpus"


def damage(root: Path) -> None:
    """Change a release in one way for each of its first files."""
    files = [root / path for path in FILES]
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-1])
    files[2].write_bytes(files[2].read_bytes().replace(b"t", b"T"))
    files[3].rename(files[3].with_name("x.jsonl"))
    (root / "documents/more.jsonl").write_bytes(b"{}\n")


DAMAGED = {
    ("MAN201", "documents/0.jsonl"),
    ("MAN205", "documents/1.jsonl"),
    ("MAN204", "documents/2.jsonl"),
    ("MAN206", "documents/x.jsonl"),
    ("MAN203", "documents/more.jsonl"),
}
FETCH = ["documents/0.jsonl", "documents/1.jsonl", "documents/2.jsonl"]


def found(report: corpusfmt.Report) -> set[tuple[str, str]]:
    return {(each.code, each.location.path) for each in report.findings}


def test_what_to_do_about_a_damaged_release(release: Path) -> None:
    whole = corpusfmt.verify(release)
    assert (whole.verdict.value, whole.findings, whole.coverage.shards_seen) == ("valid", [], 6)
    assert (whole.results["fetch"], whole.results["remove"], whole.results["rename"]) == ([], [], {})
    damage(release)
    for jobs in (1, 2, 5):
        report = corpusfmt.verify(release, jobs=jobs)
        assert found(report) == DAMAGED
        assert report.results["fetch"] == FETCH
        assert report.results["remove"] == ["documents/more.jsonl"]
        assert report.results["rename"] == {"documents/x.jsonl": "documents/3.jsonl"}


def test_a_quick_look_sees_names_and_sizes_alone(release: Path) -> None:
    damage(release)
    report = corpusfmt.verify(release, quick=True)
    assert report.results["fetch"] == ["documents/0.jsonl", "documents/1.jsonl", "documents/3.jsonl"]
    assert (report.coverage.sampled, report.coverage.bytes) == (True, 0)
    shutil.rmtree(release)


def test_the_command_lists_what_to_download_again(release: Path) -> None:
    damage(release)
    done = run_cli("verify", release)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode().endswith("Download again (3):\n" + "".join(f"  {path}\n" for path in FETCH))
    written = json.loads(run_cli("verify", release, "--output-format", "json").stdout)
    assert written["results"]["fetch"] == FETCH


def test_a_manifest_from_elsewhere_is_believed_instead(release: Path, sealed: Path) -> None:
    damage(release)
    corpusfmt.seal(release)
    assert corpusfmt.verify(release).findings == []
    assert found(corpusfmt.verify(release, manifest=sealed / "MANIFEST.json")) == DAMAGED
    (release / "MANIFEST.json").unlink()
    with pytest.raises(UsageError, match=r"no MANIFEST.json in .*: name one with `manifest`"):
        corpusfmt.verify(release)


class _Interrupted(Exception):
    pass


def test_an_interrupted_run_goes_on_where_it_was(release: Path, tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.shards == 3:
            raise _Interrupted

    with pytest.raises(_Interrupted):
        corpusfmt.verify(release, jobs=1, progress=interrupt)
    (kept,) = (tmp_path / "cache/corpusfmt/verify").iterdir()
    known = [json.loads(line)["path"] for line in kept.read_bytes().split(b"\n")[:-1]]
    assert 2 <= len(known) < 6
    kept.write_bytes(kept.read_bytes() + b'{"path": "docu')
    changed = release / known[0]
    changed.write_bytes(changed.read_bytes().replace(b"t", b"T"))
    report = corpusfmt.verify(release, jobs=1)
    assert found(report) == {("MAN204", known[0])}
    assert report.results["resumed"] == len(known) - 1
    assert not kept.exists()
    assert "resumed" not in corpusfmt.verify(release).results


def test_what_leads_out_of_a_release_is_not_read(release: Path, tmp_path: Path) -> None:
    path = release / "documents/0.jsonl"
    (tmp_path / "outside").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "outside")
    done = run_cli("verify", release)
    assert done.returncode == 3
    assert b"documents/0.jsonl: GEN002" in done.stdout


class _Web(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no type information
    """A store that lists nothing, as most web servers."""

    protocol = "web"
    store: dict[str, Any] = {}  # noqa: RUF012 - as in the class above
    pseudo_dirs: list[str] = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("web://")))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        raise NotImplementedError

    def find(self, path: str, *_: Any, **options: Any) -> Any:
        raise NotImplementedError


@pytest.fixture(params=["memory", "web"])
def store(request: pytest.FixtureRequest, release: Path) -> Iterator[tuple[str, Any]]:
    fsspec.register_implementation("web", _Web, clobber=True)
    filesystem = MemoryFileSystem() if request.param == "memory" else _Web()
    filesystem.store.clear()
    for path, data in tree(release).items():
        filesystem.pipe_file(f"/release/{path}", data)
    yield request.param, filesystem
    filesystem.store.clear()


def test_a_release_in_a_store(store: tuple[str, Any]) -> None:
    name, filesystem = store
    assert corpusfmt.verify(f"{name}://release").findings == []
    assert corpusfmt.verify(f"{name}://release", quick=True).findings == []
    filesystem.store.pop("/release/documents/0.jsonl")
    filesystem.pipe_file("/release/documents/1.jsonl", b"{}\n")
    filesystem.pipe_file("/release/documents/more.jsonl", b"{}\n")
    report = corpusfmt.verify(f"{name}://release")
    added = {("MAN203", "documents/more.jsonl")} if name == "memory" else set()
    assert found(report) == {("MAN201", "documents/0.jsonl"), ("MAN205", "documents/1.jsonl")} | added
    assert ("MAN203" in report.coverage.rules_not_run) == (name == "web")
    assert report.results["fetch"] == ["documents/0.jsonl", "documents/1.jsonl"]


@pytest.mark.parametrize("name", ["README.md", "SHA256SUMS", "documents/a.md5"])
def test_a_record_that_cannot_be_read_is_a_finding(name: str, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.jsonl").write_text('{"id": "1", "text": "x", "source": "s"}\n')
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"
    (tmp_path / name).write_text(pointer)
    done = run_cli("validate", tmp_path, "--output-format", "concise")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode().startswith(f"{name}: GEN105 error pointer-file: ")
