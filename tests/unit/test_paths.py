"""One kind of listing for local folders and for the stores that fsspec serves."""

from __future__ import annotations

import errno
import os
import pickle
import socket
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec import AbstractFileSystem
from support import run_cli, tree

import corpusfmt
from corpusfmt.io.paths import Entry, OutsideRoot, entry_of, folder_at, is_url, matching, printable, refuse_remote, walk
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
    for folder, place in ((tmp_path, "closed"), (tmp_path / "closed", ".")):
        done = run_cli("validate", folder, "--no-cache")
        assert done.stdout.startswith(f"{place}: GEN001 error unreadable: cannot be read: Permission denied\n".encode())
        assert done.returncode == 3


def test_a_missing_path_is_wrong_usage(tmp_path: Path) -> None:
    for url in (str(tmp_path / "missing"), "memory://missing"):
        with pytest.raises(UsageError, match="does not exist"):
            entry_of(url)


@pytest.mark.parametrize(
    "text", ["s3://b/x", "file:///x", "zip://a.csv::s3://b/x.zip", "simplecache::http://h/x", "git+ssh://h"]
)
def test_urls(text: str) -> None:
    assert is_url(text)


@pytest.mark.parametrize(
    "text", ["x", "/x://y", "a/s3://b", "sub/link::x://y.csv", "C://x", "s3:/b", "://", "::s3://b", "1s://"]
)
def test_paths_that_are_no_urls(text: str) -> None:
    assert not is_url(text)


def test_what_is_below_a_local_folder_is_local_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.filesystem("memory").pipe_file("/local/y", b"remote")
    (tmp_path / "memory:/local").mkdir(parents=True)
    (tmp_path / "memory:/local/y").write_bytes(b"local")
    monkeypatch.chdir(tmp_path)
    for folder in (folder_at("."), folder_at(""), entry_of(str(tmp_path))):
        found = folder.child("memory://local/y")
        assert found is not None
        assert found.path.endswith("memory:/local/y")
        with found.open() as file:
            assert file.read() == b"local"
    assert [entry.is_remote for entry in walk(entry_of("."))] == [False] * 3
    assert [entry.is_remote for entry in matching("memory:/*/y")] == [False]
    with entry_of("memory://local/y").open() as file:
        assert file.read() == b"remote"


class Closed(AbstractFileSystem):  # type: ignore[misc]
    """A store that nobody is let into."""

    protocol = "closed"

    def __init__(self, **options: object) -> None:
        raise RuntimeError("no key")


def test_a_store_that_cannot_be_reached_says_so_in_its_own_words() -> None:
    fsspec.register_implementation("closed", Closed, clobber=True)
    with pytest.raises(UsageError, match=r"^cannot read closed://x: RuntimeError: no key$"):
        entry_of("closed://x")
    with pytest.raises(OSError, match=r"^RuntimeError: no key$") as raised:
        entry_of("closed://x", begun=True)
    assert raised.value.errno == errno.EIO


def test_names_in_a_store_do_not_chain_urls(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    name = f"x::file://{tmp_path}/secret"
    fsspec.filesystem("memory").pipe_file(f"/chained/{name}", b"remote")
    folder = entry_of("memory://chained")
    listed = [entry for entry in walk(folder) if "::" in entry.path]
    for entry in (folder.child(name), folder.unseen(name), *listed, *matching("memory://chained/*")):
        assert entry is not None
        assert entry.is_barred
        with pytest.raises(OSError, match="several URLs"):
            entry.open()
    assert len(listed) > 1


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


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder `in` with links of all kinds, and one beside it with what they lead to."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_bytes(b"secret")
    folder = tmp_path / "in"
    (folder / "real").mkdir(parents=True)
    (folder / "real/file").write_bytes(b"12345")
    for name, target in (
        ("again", "real"),
        ("chain", "file-out"),
        ("dangling", "nowhere"),
        ("file-in", "real/file"),
        ("file-out", "../out/secret"),
        ("folder-out", "../out"),
        ("kernel", "/proc/self/environ"),
    ):
        (folder / name).symlink_to(target)
    return folder


def kinds(entries: Iterator[Entry]) -> dict[str, str]:
    return {entry.path: entry.kind for entry in entries}


def test_what_leads_outside_is_listed_as_such_and_never_opened(linked: Path) -> None:
    assert kinds(walk(entry_of(str(linked)))) == {
        "again": "directory",
        "again/file": "file",
        "chain": "outside",
        "dangling": "other",
        "file-in": "file",
        "file-out": "outside",
        "folder-out": "outside",
        "kernel": "outside",
        "real": "directory",
    }
    for entry in walk(entry_of(str(linked))):
        if entry.kind == "outside":
            with pytest.raises(OutsideRoot, match="a link to") as raised:
                entry.open()
            assert (raised.value.errno, raised.value.filename) == (errno.EPERM, entry.url)
    barred = [entry for entry in walk(entry_of(str(linked))) if entry.is_barred]
    assert {entry.size for entry in barred} == {0}
    links = {entry.path: entry.reason for entry in barred}
    assert links["file-out"] == "a link to `../out/secret`, outside the named folder"
    assert links["dangling"] == "a link to `nowhere`, which does not exist"


def test_links_are_followed_where_that_is_asked_for_but_to_the_kernel(linked: Path) -> None:
    found = {entry.path: entry for entry in walk(entry_of(str(linked), follow_links=True))}
    with found["chain"].open() as file:
        assert file.read() == b"secret"
    assert found["folder-out/secret"].kind == "file"
    kernel = found["kernel"]
    assert (kernel.kind, kernel.reason, kernel.size) == ("other", "in /proc, which is never read", 0)


def test_a_link_that_takes_the_place_of_a_file_is_not_opened(linked: Path) -> None:
    found = {entry.path: entry for entry in walk(entry_of(str(linked)))}
    for target, error in (("../out/secret", OutsideRoot), ("real", OSError)):
        (linked / "file-in").unlink()
        (linked / "file-in").symlink_to(target)
        with pytest.raises(error):
            found["file-in"].open()
    (linked / "file-in").unlink()
    os.mkfifo(linked / "file-in")
    with pytest.raises(OSError, match="not a regular file"):
        found["file-in"].open()


def test_a_child_is_below_its_folder_or_the_link_that_leads_away(linked: Path) -> None:
    folder = entry_of(str(linked))
    found = {
        name: (child.path, child.kind) if (child := replace_root(folder).child(name)) else None
        for name in (
            "real/file",
            "again/file",
            "folder-out/secret",
            "../out/secret",
            str(linked / "real"),
            "none",
            "real/x",
        )
    }
    assert found == {
        "real/file": ("real/file", "file"),
        "again/file": ("again/file", "file"),
        "folder-out/secret": ("folder-out", "outside"),
        "../out/secret": ("../out/secret", "outside"),
        str(linked / "real"): (str(linked / "real"), "directory"),
        "none": None,
        "real/x": None,
    }
    too_long = folder.child("x/" * 3000)
    assert too_long is not None
    assert (too_long.kind, too_long.reason) == ("other", "File name too long")


def replace_root(folder: Entry) -> Entry:
    """Return a folder whose content has paths that begin there."""
    return Entry("", folder.url, folder.kind, root=folder.root)


def test_the_named_root(linked: Path) -> None:
    (linked.parent / "link").symlink_to("in")
    assert entry_of(str(linked.parent / "link")).root == entry_of(str(linked)).root
    assert entry_of(str(linked / "real/file")).root.real == os.path.realpath(linked / "real")
    assert entry_of(str(linked / "file-out")).kind == "outside"
    assert entry_of(str(linked / "file-in")).kind == "file"
    assert (entry_of(str(linked)).kind, entry_of(str(linked)).reason) == ("directory", "")
    assert entry_of(f"file://{linked}/real/file").size == 5
    for path in ("/proc/self/environ", "/dev/null", "/sys"):
        assert (entry_of(path).kind, entry_of(path, follow_links=True).kind) == ("other", "other")
    assert pickle.loads(pickle.dumps(entry_of(str(linked)))) == entry_of(str(linked))


def test_patterns_do_not_lead_outside(linked: Path) -> None:
    # Whether a folder is behind a link that leads outside is not looked at.
    links = dict.fromkeys(("chain", "file-out", "folder-out", "kernel"), "outside")
    assert kinds(iter(matching(str(linked / "*/*")))) == {"file": "file", **links}
    assert kinds(iter(matching(str(linked / "**/file")))) == {"file": "file", **links}
    assert [entry.kind for entry in matching(str(linked / "file-*"))] == ["file", "outside"]
    assert {entry.path for entry in matching(str(linked / "*/s*"), follow_links=True)} == {"secret"}
    (linked / "x*").touch()
    assert [entry.path for entry in matching(str(linked / "x*"))] == ["x*"]
    with pytest.raises(UsageError) as raised:
        matching(str(linked / "*.gz"))
    assert str(raised.value) == f"no path matches {linked / '*.gz'}"


def test_patterns_pass_over_hidden_names(tmp_path: Path) -> None:
    for name in (".hidden/a", ".a", "b/a", "b/.a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [Path(entry.url) for entry in matching(str(tmp_path / "**/*a"))] == [tmp_path / "b/a"]
    assert [entry.path for entry in matching(str(tmp_path / ".*"))] == [".a", ".hidden"]


def test_each_folder_is_walked_once(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}/a").symlink_to(f"../{(number + 1) % 40:02}")
        (tmp_path / f"{number:02}/b").symlink_to(f"../{(number + 1) % 40:02}")
    assert len(list(walk(entry_of(str(tmp_path))))) == 40 * 3


def test_a_folder_that_is_also_hidden_is_seen_in_the_open(tmp_path: Path) -> None:
    (tmp_path / ".store").mkdir()
    (tmp_path / ".store/file").touch()
    (tmp_path / "shown").symlink_to(".store")
    assert [entry.path for entry in walk(entry_of(str(tmp_path)))] == [".store", ".store/file", "shown", "shown/file"]


def test_a_tree_deeper_than_paths_can_be_is_one_finding(tmp_path: Path) -> None:
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(3000):
            Path("d").mkdir()
            os.chdir("d")
        found = list(walk(entry_of(str(tmp_path))))
        for _ in range(3000):
            os.chdir("..")
            Path("d").rmdir()
    finally:
        os.chdir(here)
    assert [entry.kind for entry in found[:-1]] == ["directory"] * (len(found) - 1)
    assert (found[-1].kind, found[-1].reason) == ("unreadable", "File name too long")


@pytest.mark.parametrize(
    "path", ["s3://b/x", "nosuch://x", Path("gs://b"), "https://h/x", "simplecache::s3://b", "file:///x"]
)
def test_nothing_is_written_to_a_url(path: str | Path) -> None:
    with pytest.raises(UsageError, match="expected a local path"):
        refuse_remote(path, "the output")


@pytest.mark.parametrize("path", ["out", "./s3:/out", "C:/out", "/a:b/c"])
def test_local_outputs(path: str) -> None:
    refuse_remote(path, "the output")
