"""Links, special files and odd trees: nothing outside of the named folder is opened, nothing waits, nothing is walked twice."""

from __future__ import annotations

import json
import os
import socket
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import xxhash
from croissant.documents import document
from security.attacks import Attack, Outcome
from support import LONG_LINE, gzipped, wet_file, wet_record

_SECRET = "ghp_AAAABBBB"
_ROW = '{"id":"%s","text":"All human beings are born free.","source":"s"}\n'
_FOLDERS = 24
#: `make attacks` tries 100,000: a disk takes much longer to make and remove so many than corpusfmt to walk them.
_NESTED = int(os.environ.get("CORPUSFMT_NESTED", "3000"))

_Make = Callable[[Path], None]


def _row(name: str) -> bytes:
    return (_ROW % name).encode()


# --- promises ---


def _kept_out(outcome: Outcome) -> None:
    assert outcome.status == 3, outcome.text
    assert "GEN002" in outcome.text
    assert "--follow-links" in outcome.text
    assert _SECRET.encode() not in outcome.output()
    assert not outcome.guarded


def _reported(*expected: str) -> Callable[[Outcome], None]:
    """Promise a JSON report with these rules, of which GEN002 names each link once."""

    def promise(outcome: Outcome) -> None:
        _kept_out(outcome)
        found = [finding for finding in outcome.report["findings"] if finding["rule"] == "GEN002"]
        assert [finding["location"]["path"] for finding in found] == list(expected)
        assert outcome.report["verdict"] == "incomplete"

    return promise


def _followed(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text
    assert "GEN002" not in outcome.text


def _shows_what_is_outside(outcome: Outcome) -> None:
    _followed(outcome)
    assert _SECRET.encode() in outcome.output()


def _never_read(outcome: Outcome) -> None:
    assert outcome.status == 3, outcome.text
    assert "GEN001" in outcome.text


def _missing(outcome: Outcome) -> None:
    assert outcome.status == 1, outcome.text
    assert "CRO601" in outcome.rules


def _is_valid(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text
    assert outcome.cpu < 20


def _refused(outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.text
    outside = outcome.folder / "outside"
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"kept": b"as it was"}


def _no_folder_of_a_scheme(outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.text
    assert "expected a local path" in outcome.text
    assert sorted(path.name for path in outcome.folder.iterdir() if ":" in path.name) == []


# --- datasets ---


def _croissant(folder: Path, *distribution: Mapping[str, object], source: Mapping[str, object]) -> None:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"r/{name}",
            "name": name,
            "description": name,
            "dataType": "sc:Text",
            "source": {**source, "extract": {"column": name}},
        }
        for name in ("id", "text")
    ]
    records = {"@type": "cr:RecordSet", "@id": "r", "name": "r", "description": "r", "field": fields}
    whole = document(description="d", isLiveDataset=True, distribution=list(distribution), recordSet=[records])
    (folder / "data/croissant.json").write_text(json.dumps(whole), "utf-8")


def _file_object(path: str, **more: object) -> dict[str, object]:
    head = {"@type": "cr:FileObject", "@id": "f", "name": "f", "contentUrl": path, "encodingFormat": "text/csv"}
    return {**head, "sha256": "0" * 64, **more}


def _table(folder: Path) -> Path:
    path = folder / "outside/secret.csv"
    path.write_text(f"id,text\n{_SECRET},{_SECRET}\n", "utf-8")
    return path


def _describes_a_link(target: str) -> _Make:
    def make(folder: Path) -> None:
        _table(folder)
        (folder / "data/d.csv").symlink_to(target.format(folder=folder))
        _croissant(folder, _file_object("d.csv", sha256=None), source={"fileObject": {"@id": "f"}})

    return make


_relative_link = _describes_a_link("../outside/secret.csv")
_absolute_link = _describes_a_link("{folder}/outside/secret.csv")


def _link_of_a_link(folder: Path) -> None:
    _relative_link(folder)
    (folder / "data/d.csv").rename(folder / "data/e.csv")
    (folder / "data/d.csv").symlink_to("e.csv")


def _folder_that_is_a_link(folder: Path) -> None:
    _table(folder)
    (folder / "data/sub").symlink_to("../outside")
    _croissant(folder, _file_object("sub/secret.csv", sha256=None), source={"fileObject": {"@id": "f"}})


def _file_set(folder: Path) -> None:
    _table(folder)
    (folder / "data/sub").symlink_to("../outside")
    files = {"@type": "cr:FileSet", "@id": "s", "name": "s", "encodingFormat": "text/csv", "includes": "sub/*.csv"}
    _croissant(folder, files, source={"fileSet": {"@id": "s"}})


def _description(folder: Path) -> None:
    _croissant(folder, _file_object("d.csv"), source={"fileObject": {"@id": "f"}})
    path = folder / "data/croissant.json"
    (folder / "outside/croissant.json").write_text(path.read_text("utf-8").replace('"d"', f'"{_SECRET}"'), "utf-8")
    path.unlink()
    path.symlink_to("../outside/croissant.json")


def _documents(folder: Path) -> None:
    documents = folder / "data/documents"
    documents.mkdir()
    (documents / "a.jsonl").write_bytes(_row("a"))
    (folder / "outside/secret.jsonl").write_bytes(_row(_SECRET))
    (documents / "b.jsonl").symlink_to("../../outside/secret.jsonl")


def _attributes(folder: Path) -> None:
    documents = folder / "data/documents"
    documents.mkdir()
    (documents / "a.jsonl").write_bytes(_row("a"))
    rows = folder / "outside/set/a.jsonl"
    rows.parent.mkdir()
    rows.write_bytes(b'{"id":"a","attributes":{"%s":[[0,3,1.0]]}}\n' % _SECRET.encode())
    (folder / "data/attributes").symlink_to("../outside")


def _all_documents(folder: Path) -> None:
    (folder / "outside/secret.jsonl").write_bytes(_row(_SECRET))
    (folder / "data/documents").symlink_to("../outside")


def _checksums(folder: Path) -> None:
    language = folder / "data/af"
    language.mkdir()
    (language / "af.txt.gz").write_bytes(gzipped(f"{LONG_LINE}\n".encode()))
    (folder / "outside/secret").write_text(f"{_SECRET}\n", "utf-8")
    (language / "af_sha256.txt").symlink_to("../../outside/secret")


def _part(folder: Path) -> None:
    language = folder / "data/af"
    language.mkdir()
    (folder / "outside/secret.txt.gz").write_bytes(gzipped(f"{_SECRET}\n".encode()))
    (language / "af.txt.gz").symlink_to("../../outside/secret.txt.gz")


def _wet(folder: Path) -> Path:
    secret = wet_file(folder / "outside/b.warc.wet.gz", [wet_record(2, f"{_SECRET} {LONG_LINE}\n")])
    wet_file(folder / "data/a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    return secret


def _wet_link(folder: Path) -> None:
    _wet(folder)
    (folder / "data/b.warc.wet.gz").symlink_to("../outside/b.warc.wet.gz")


def _wet_folder(folder: Path) -> None:
    _wet(folder)
    (folder / "data/more").symlink_to("../outside")


def _wet_list(line: str) -> _Make:
    def make(folder: Path) -> None:
        _wet(folder)
        (folder / "data/wet.paths").write_text(f"a.warc.wet.gz\n{line.format(folder=folder)}\n", "utf-8")

    return make


def _list_that_is_a_link(folder: Path) -> None:
    _wet(folder)
    (folder / "outside/secret").write_text(f"{_SECRET}\n", "utf-8")
    (folder / "data/wet.paths").symlink_to("../outside/secret")


def _only_the_other_is_left_out(outcome: Outcome) -> None:
    _kept_out(outcome)
    assert "excluded: " in outcome.text
    assert "1 of 2 WET files" in outcome.text


def _both_are_taken(outcome: Outcome) -> None:
    _followed(outcome)
    assert "2 of 2 WET files" in outcome.text


# --- names that look like URLs ---

# To fsspec, `link::x://y` is a file system `x` over the local file `link`.
_CHAINED = "sub/link::x:"
_READ = "harmless"


def _chained(folder: Path, name: str, target: str) -> Path:
    """Return the path of a file in a folder whose name, with one more slash, chains the link beside it."""
    (folder / "data/sub").mkdir()
    (folder / "data/sub/link").symlink_to(target)
    inner = folder / "data" / _CHAINED
    inner.mkdir()
    return inner / name


def _chained_table(folder: Path) -> None:
    _table(folder)
    _chained(folder, "y.csv", "../../outside/secret.csv").write_text(f"id,text\n{_READ},{_READ}\n", "utf-8")
    _croissant(folder, _file_object(f"{_CHAINED}//y.csv", sha256=None), source={"fileObject": {"@id": "f"}})


def _chained_archive(folder: Path) -> None:
    with zipfile.ZipFile(folder / "outside/a.zip", "w") as archive:
        archive.writestr("d.csv", f"id,text\n{_SECRET},{_SECRET}\n")
    with zipfile.ZipFile(_chained(folder, "a.zip", "../../outside/a.zip"), "w") as archive:
        archive.writestr("d.csv", f"id,text\n{_READ},{_READ}\n")
    whole = _file_object(f"{_CHAINED}//a.zip", sha256=None, encodingFormat="application/zip")
    part = _file_object("d.csv", sha256=None, containedIn={"@id": "a"}) | {"@id": "f", "name": "f"}
    _croissant(folder, whole | {"@id": "a", "name": "a"}, part, source={"fileObject": {"@id": "f"}})


def _chained_environment(folder: Path) -> None:
    _chained(folder, "y.txt", "/proc/self/environ").write_text(_READ, "utf-8")
    plain = _file_object(f"{_CHAINED}//y.txt", sha256=None, encodingFormat="text/plain")
    _croissant(folder, plain, source={"fileObject": {"@id": "f"}})
    path = folder / "data/croissant.json"
    described = json.loads(path.read_text("utf-8"))
    for field in described["recordSet"][0]["field"]:
        field["source"]["extract"] = {"fileProperty": "content"}
    path.write_text(json.dumps(described), "utf-8")


def _chained_and_missing(folder: Path) -> None:
    _table(folder)
    _chained(folder, "y.csv", "../../outside/secret.csv")
    _croissant(folder, _file_object(f"{_CHAINED}//y.csv"), source={"fileObject": {"@id": "f"}})


def _folder_like_a_scheme(folder: Path) -> None:
    (folder / "data/x:").mkdir()
    (folder / "data/x:/y.csv").write_text(f"id,text\n{_READ},{_READ}\n", "utf-8")
    _croissant(folder, _file_object("x://y.csv", sha256=None), source={"fileObject": {"@id": "f"}})


def _chained_documents(folder: Path) -> None:
    (folder / "outside/secret.jsonl").write_bytes(_row(_SECRET))
    _chained(folder, "a.jsonl", "../../outside/secret.jsonl").write_bytes(_row(_READ))


def _chained_list(folder: Path) -> None:
    secret = _wet(folder)
    wet_file(_chained(folder, "c.warc.wet.gz", str(secret)), [wet_record(2, f"{LONG_LINE} {_READ}\n")])
    (folder / "data/wet.paths").write_text(f"a.warc.wet.gz\n{_CHAINED}//c.warc.wet.gz\n", "utf-8")


def _only_what_is_named(outcome: Outcome) -> None:
    _followed(outcome)
    assert _SECRET.encode() not in outcome.output()
    assert not outcome.guarded


def _prints_what_is_named(outcome: Outcome) -> None:
    _only_what_is_named(outcome)
    assert _READ.encode() in outcome.output()


def _both_are_taken_inside(outcome: Outcome) -> None:
    _only_what_is_named(outcome)
    _both_are_taken(outcome)


# --- what is no file ---


def _in_place_of_documents(make: Callable[[Path], object]) -> _Make:
    def made(folder: Path) -> None:
        documents = folder / "data/documents"
        documents.mkdir()
        (documents / "a.jsonl").write_bytes(_row("a"))
        make(documents / "b.jsonl")

    return made


def _in_place_of_data(make: Callable[[Path], object]) -> _Make:
    def made(folder: Path) -> None:
        make(folder / "data/d.csv")
        _croissant(folder, _file_object("d.csv"), source={"fileObject": {"@id": "f"}})

    return made


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def _socket(path: Path) -> None:
    with _inside(path.parent), socket.socket(socket.AF_UNIX) as server:  # the name of a socket may not be long
        server.bind(path.name)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: it never ends
    except PermissionError:
        pytest.skip("only root makes devices")


def _link_to(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


# --- trees ---


def _lattice(folder: Path) -> None:
    for number in range(_FOLDERS):
        level = folder / f"data/documents/{number:02}"
        level.mkdir(parents=True)
        if number + 1 < _FOLDERS:
            (level / "a").symlink_to(f"../{number + 1:02}")
            (level / "b").symlink_to(f"../{number + 1:02}")
    (level / "a.jsonl").write_bytes(_row("a"))
    (level / "a.warc.wet.gz").symlink_to("nowhere")


def _lattice_without_loose_ends(folder: Path) -> None:
    _lattice(folder)
    (folder / "data/documents/23/a.warc.wet.gz").unlink()


def _lattice_of_tables(folder: Path) -> None:
    _lattice(folder)
    (folder / "data/documents/23/a.csv").write_text("id,text\na,b\n", "utf-8")
    files = {"@type": "cr:FileSet", "@id": "s", "name": "s", "encodingFormat": "text/csv", "includes": "**/*.csv"}
    _croissant(folder, files, source={"fileSet": {"@id": "s"}})


def _nested(folder: Path) -> None:
    documents = folder / "data/documents"
    documents.mkdir()
    (documents / "a.jsonl").write_bytes(_row("a"))
    with _inside(documents):
        for _ in range(_NESTED):
            os.mkdir("d")  # noqa: PTH102 - a `Path` for each takes twice as long
            os.chdir("d")


def _remove_nested(folder: Path) -> None:
    with _inside(folder / "data/documents"):
        depth = 0
        while Path("d").is_dir():
            os.chdir("d")
            depth += 1
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")  # noqa: PTH106


def _loops(folder: Path) -> None:
    documents = folder / "data/documents"
    documents.mkdir()
    (documents / "a.jsonl").write_bytes(_row("a"))
    for name, target in (("here", "."), ("up", ".."), ("one", "two"), ("two", "one"), ("x.jsonl", "x.jsonl")):
        (documents / name).symlink_to(target)


# --- outputs ---


def _with_output(make: Callable[[Path], object]) -> _Make:
    def made(folder: Path) -> None:
        documents = folder / "data/documents"
        documents.mkdir()
        (documents / "a.jsonl").write_bytes(_row("a"))
        (folder / "outside/kept").write_bytes(b"as it was")
        make(folder / "out")

    return made


def _state_is_a_link(out: Path) -> None:
    out.mkdir()
    (out / ".corpusfmt").symlink_to("../outside")


def _state_has_a_link(out: Path) -> None:
    (out / ".corpusfmt").mkdir(parents=True)
    (out / ".corpusfmt/convert").symlink_to("../../outside")


def _state_names_its_folder(out: Path) -> None:
    (out / ".corpusfmt").mkdir(parents=True)
    names = (b"..", b"../../outside/kept", b"../documents", b".", b"")
    notes = b"".join(xxhash.xxh3_64_hexdigest(name).encode() + name + b"\0" for name in names)
    (out / ".corpusfmt/published").write_bytes(notes)


def _is_converted(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text
    assert (outcome.folder / "outside/kept").read_bytes() == b"as it was"


def _is_still_a_device(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text
    assert stat.S_ISCHR((outcome.folder / "out").lstat().st_mode)


_CHECK = ("validate", "{data}", "--output-format", "json")
_CHECK_DATA = ("validate", "{data}/croissant.json", "--data", "--output-format", "json")
_CONVERT = ("convert", "{data}", "{out}", "--to", "dolma")
_RECORDS = ("records", "{data}/croissant.json")
_CONVERT_RECORDS = ("convert", "{data}/croissant.json", "{out}", "--to", "dolma")
_DESCRIBE = ("describe", "{data}")
_BUILD = ("build", "--output", "{out}", "--jobs", "1")

_URLS: dict[str, tuple[_Make, tuple[str, ...], Callable[[Outcome], None]]] = {
    "table-validate": (_chained_table, _CHECK_DATA, _only_what_is_named),
    "table-records": (_chained_table, _RECORDS, _prints_what_is_named),
    "table-convert": (_chained_table, _CONVERT_RECORDS, _only_what_is_named),
    "archive-validate": (_chained_archive, _CHECK_DATA, _only_what_is_named),
    "archive-records": (_chained_archive, _RECORDS, _prints_what_is_named),
    "environment-validate": (_chained_environment, _CHECK_DATA, _only_what_is_named),
    "environment-records": (_chained_environment, _RECORDS, _prints_what_is_named),
    "missing-validate": (_chained_and_missing, _CHECK_DATA, _missing),
    "scheme-validate": (_folder_like_a_scheme, _CHECK_DATA, _only_what_is_named),
    "scheme-records": (_folder_like_a_scheme, _RECORDS, _prints_what_is_named),
    "named-validate": (_chained_documents, ("validate", f"{{data}}/{_CHAINED}//a.jsonl"), _only_what_is_named),
    "named-convert": (
        _chained_documents,
        ("convert", f"{{data}}/{_CHAINED}//a.jsonl", "{out}", "--to", "dolma"),
        _only_what_is_named,
    ),
    "named-describe": (_chained_documents, ("describe", f"{{data}}/{_CHAINED}//"), _only_what_is_named),
    "pattern-validate": (_chained_documents, ("validate", f"{{data}}/{_CHAINED}//*.jsonl"), _only_what_is_named),
    "list-build": (_chained_list, (*_BUILD, "{data}/wet.paths"), _both_are_taken_inside),
}

_TABLES: dict[str, tuple[_Make, str]] = {
    "relative": (_relative_link, "d.csv"),
    "absolute": (_absolute_link, "d.csv"),
    "link-of-a-link": (_link_of_a_link, "d.csv"),
    "folder": (_folder_that_is_a_link, "sub"),
    "file-set": (_file_set, "sub"),
}


def _following(
    name: str, make: _Make, command: tuple[str, ...], promise: Callable[[Outcome], None] = _followed
) -> Attack:
    return Attack(f"link-{name}-followed", make, (*command, "--follow-links"), promise, may_open_outside=True)


ATTACKS = [
    *(
        attack
        for name, (make, link) in _TABLES.items()
        for attack in (
            Attack(f"link-{name}-validate", make, _CHECK_DATA, _reported(link)),
            Attack(f"link-{name}-records", make, _RECORDS, _kept_out),
            Attack(f"link-{name}-convert", make, _CONVERT_RECORDS, _kept_out),
            _following(f"{name}-records", make, _RECORDS, _shows_what_is_outside),
        )
    ),
    _following("relative-validate", _relative_link, _CHECK_DATA),
    Attack("link-description-validate", _description, _CHECK, _reported("croissant.json")),
    Attack("link-description-named", _description, _CHECK_DATA, _reported("croissant.json")),
    Attack("link-description-records", _description, _RECORDS, _kept_out),
    Attack("link-description-convert", _description, _CONVERT, _kept_out),
    Attack("link-documents-validate", _documents, _CHECK, _reported("documents/b.jsonl")),
    Attack(
        "link-documents-named",
        _documents,
        ("validate", "{data}/documents/b.jsonl", "--output-format", "json"),
        _reported("b.jsonl"),
    ),
    Attack("link-documents-convert", _documents, _CONVERT, _kept_out),
    Attack(
        "link-documents-quarantine",
        _documents,
        (*_CONVERT, "--on-bad-record", "quarantine", "--on-loss", "allow"),
        _kept_out,
    ),
    Attack("link-documents-describe", _documents, _DESCRIBE, _kept_out),
    _following("documents", _documents, _CHECK),
    _following("documents-convert", _documents, _CONVERT),
    _following("documents-describe", _documents, _DESCRIBE),
    Attack("link-attributes-validate", _attributes, _CHECK, _reported("attributes")),
    Attack(
        "link-attributes-of-one-file",
        _attributes,
        ("validate", "{data}/documents/a.jsonl", "--output-format", "json"),
        _reported("../attributes"),
    ),
    Attack(
        "link-all-documents-named",
        _all_documents,
        ("validate", "{data}/documents/secret.jsonl"),
        _followed,
        may_open_outside=True,
    ),
    Attack("link-all-documents-validate", _all_documents, _CHECK, _reported("documents")),
    Attack("link-all-documents-convert", _all_documents, _CONVERT, _kept_out),
    Attack("link-checksums-validate", _checksums, _CHECK, _reported("af/af_sha256.txt")),
    Attack("link-part-validate", _part, _CHECK, _reported("af/af.txt.gz")),
    Attack("link-part-convert", _part, (*_CONVERT, "--format", "oscar-1.0"), _kept_out),
    Attack("link-part-describe", _part, _DESCRIBE, _kept_out),
    Attack("link-wet-build", _wet_link, (*_BUILD, "{data}"), _only_the_other_is_left_out),
    Attack("link-wet-folder-build", _wet_folder, (*_BUILD, "{data}"), _only_the_other_is_left_out),
    Attack("link-wet-pattern-build", _wet_folder, (*_BUILD, "{data}/**/*.wet.gz"), _only_the_other_is_left_out),
    _following("wet-build", _wet_folder, (*_BUILD, "{data}"), _both_are_taken),
    *(
        Attack(f"list-leads-{name}", _wet_list(path), (*_BUILD, "{data}/wet.paths"), _only_the_other_is_left_out)
        for name, path in {"up": "../outside/b.warc.wet.gz", "away": "{folder}/outside/b.warc.wet.gz"}.items()
    ),
    Attack("list-is-a-link", _list_that_is_a_link, (*_BUILD, "{data}/wet.paths"), _kept_out),
    *(
        Attack(
            f"proc-{name.replace('/', '-')}-link", _in_place_of_documents(_link_to(f"/proc/{name}")), _CHECK, _kept_out
        )
        for name in ("kmsg", "self/pagemap", "self/environ")
    ),
    *(
        Attack(
            f"proc-{name.replace('/', '-')}-followed",
            _in_place_of_documents(_link_to(f"/proc/{name}")),
            (*_CHECK, "--follow-links"),
            _never_read,
        )
        for name in ("kmsg", "self/pagemap", "self/environ")
    ),
    Attack("proc-records", _in_place_of_data(_link_to("/proc/self/environ")), _RECORDS, _kept_out),
    Attack(
        "proc-records-followed",
        _in_place_of_data(_link_to("/proc/self/environ")),
        (*_CHECK_DATA, "--follow-links"),
        _missing,
    ),
    Attack("proc-named", lambda _: None, ("validate", "/proc/self/environ", "--format", "dolma"), _never_read),
    Attack("device-followed", _in_place_of_documents(_link_to("/dev/zero")), (*_CHECK, "--follow-links"), _never_read),
    *(
        attack
        for kind, make in (("fifo", os.mkfifo), ("socket", _socket), ("device", _device))
        for attack in (
            Attack(f"{kind}-in-place-of-documents", _in_place_of_documents(make), _CHECK, _never_read),
            Attack(f"{kind}-in-place-of-data", _in_place_of_data(make), _CHECK_DATA, _missing),
        )
    ),
    Attack("fifo-named", _in_place_of_documents(os.mkfifo), ("validate", "{data}/documents/b.jsonl"), _never_read),
    Attack("lattice-validate", _lattice, _CHECK, _never_read),
    Attack("lattice-pattern", _lattice, ("validate", "{data}/documents/**/*.jsonl", "--format", "dolma"), _is_valid),
    Attack("lattice-file-set", _lattice_of_tables, _CHECK_DATA, _is_valid),
    Attack("lattice-convert", _lattice_without_loose_ends, _CONVERT, _is_valid),
    Attack("nested-folders", _nested, _CHECK, _never_read, clean=_remove_nested),
    Attack("loops", _loops, _CHECK, _never_read),
    *(
        Attack(f"link-url-{name}", make, command, promise, environment={"TOKEN": _SECRET})
        for name, (make, command, promise) in _URLS.items()
    ),
    Attack("link-state-names-its-folder", _with_output(_state_names_its_folder), _CONVERT, _is_converted),
    Attack("state-is-a-link", _with_output(_state_is_a_link), _CONVERT, _refused),
    Attack("state-has-a-link", _with_output(_state_has_a_link), _CONVERT, _refused),
    Attack("state-is-a-link-build", _with_output(_state_is_a_link), (*_BUILD, "{data}/*.wet.gz"), _refused),
    Attack("output-folder-is-a-link", _with_output(_link_to("outside")), _CONVERT, _refused),
    Attack("output-is-a-link", _with_output(_link_to("outside/kept")), ("describe", "{data}", "-o", "{out}"), _refused),
    Attack("report-is-a-link", _with_output(_link_to("outside/kept")), (*_CHECK, "--report", "html={out}"), _refused),
    Attack("report-is-a-device", _with_output(_device), (*_CHECK, "--report", "html={out}"), _is_still_a_device),
    Attack("describe-to-a-device", _with_output(_device), ("describe", "{data}", "-o", "{out}"), _is_still_a_device),
    *(
        Attack(f"remote-{name}", _with_output(lambda _: None), command, _no_folder_of_a_scheme)
        for name, command in {
            "build": ("build", "{data}", "--output", "az://bucket/corpus"),
            "log": ("build", "{data}", "--output", "{out}", "--log", "ftp://bucket/log"),
            "convert": ("convert", "{data}", "webdav://bucket/corpus", "--to", "dolma"),
            "describe": ("describe", "{data}", "-o", "nosuch://bucket/croissant.json"),
            "report": ("validate", "{data}", "--report", "html=https://host/report.html"),
            "rendered": ("report", "render", "{data}/r.json", "-o", "nosuch://bucket/report.html"),
        }.items()
    ),
]
