"""One kind of listing for local folders and for the stores that fsspec serves."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import fsspec
import pytest
from support import tree

import corpusfmt
from corpusfmt.io.paths import entry_of, printable, walk
from corpusfmt.model import UsageError


def test_a_folder_is_listed_in_order_with_all_that_is_odd(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").write_bytes(b"12345")
    (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c").symlink_to(tmp_path)
    (tmp_path / os.fsdecode(b"d\xff")).touch()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "e"))
        found = [(entry.path, entry.kind, entry.size) for entry in walk(entry_of(str(tmp_path)))]
    assert found == [
        ("a", "other", 0),
        ("b", "directory", 0),
        ("b/file", "file", 5),
        ("c", "directory", 0),
        ("d\\xff", "file", 0),
        ("e", "other", 0),
    ]
    assert [entry.name for entry in walk(entry_of(str(tmp_path / "b")))] == ["file"]
    assert printable("ä") == "ä"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert [entry.kind for entry in walk(entry_of(str(tmp_path)))] == ["directory", "unreadable"]


def test_a_missing_path_is_wrong_usage(tmp_path: Path) -> None:
    for url in (str(tmp_path / "missing"), "memory://missing"):
        with pytest.raises(UsageError, match="no such path"):
            entry_of(url)


def test_a_remote_corpus_validates_as_a_local_one(oscar_corpus: Path, dolma_corpus: Path) -> None:
    store = fsspec.filesystem("memory")
    for local in (oscar_corpus, dolma_corpus):
        for name, data in tree(local).items():
            store.pipe_file(f"/{local.name}/{name}", data)
        url = f"memory://{local.name}"
        assert entry_of(url).kind == "directory"
        here, there = corpusfmt.validate(local), corpusfmt.validate(url)
        assert (there.verdict.value, there.by_path, there.coverage) == ("valid", here.by_path, here.coverage)
    with entry_of("memory://oscar/en/en_sha256.txt").open() as file:
        assert file.read() == (oscar_corpus / "en/en_sha256.txt").read_bytes()
