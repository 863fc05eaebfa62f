"""Every way to name WET files gives the same corpus, and files that are not WET are named."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import LONG_LINE, SAMPLE, corpus, gzipped, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.model import UsageError
from corpusfmt.pipeline.intake.inputs import inputs_named


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    """Two files below a folder, one of them not compressed."""
    folder = tmp_path / "wet"
    (folder / "segment").mkdir(parents=True)
    wet_file(folder / "segment" / "b.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    plain = wet_file(folder / "a.warc.wet", [wet_record(2, f"{LONG_LINE}\n{LONG_LINE} 2\n")])
    plain.write_bytes(gzip.decompress(plain.read_bytes()))
    return folder


def names(out: Path) -> list[str]:
    return [each["name"] for each in json.loads((out / "MANIFEST.json").read_bytes())["inputs"]]


def test_folder_pattern_and_lists_are_the_same_inputs(tmp_path: Path, wet: Path) -> None:
    corpusfmt.build(wet, tmp_path / "folder" / "out")
    assert names(tmp_path / "folder" / "out") == ["a.warc.wet", "segment/b.warc.wet.gz"]
    corpusfmt.build(str(wet / "**" / "*.wet*"), tmp_path / "pattern" / "out")
    lines = "segment/b.warc.wet.gz\r\n\na.warc.wet\nsegment/b.warc.wet.gz\n"
    (wet / "wet.paths").write_bytes(lines.encode())
    (tmp_path / "wet.paths.gz").write_bytes(gzipped(lines.encode()))
    corpusfmt.build(wet / "wet.paths", tmp_path / "list" / "out")
    for number, base in enumerate((str(wet), f"file://{wet}", f"file://{wet}/")):
        corpusfmt.build(tmp_path / "wet.paths.gz", tmp_path / str(number) / "out", base=base)
    assert tree(tmp_path / "folder") == tree(tmp_path / "list") == tree(tmp_path / "0")
    manifests = []
    for other in ("pattern", "1", "2"):
        files = tree(tmp_path / other)
        manifests.append(json.loads(files.pop("out/MANIFEST.json")))
        described = json.loads(files.pop("out/croissant.json"))
        assert len(described["prov:wasDerivedFrom"]) == 2  # as they were named
        assert files.items() < tree(tmp_path / "folder").items()
    digests = [[each["sha256"] for each in manifest["inputs"]] for manifest in manifests]
    assert digests[0] == digests[1] == digests[2]


def test_a_list_may_name_what_is_not_there(tmp_path: Path, wet: Path) -> None:
    (tmp_path / "wet.paths").write_text("a.warc.wet\nmissing.warc.wet.gz\n")
    done = run_cli("build", tmp_path / "wet.paths", "--base", wet, "--output", tmp_path / "out")
    assert done.returncode == 3
    assert done.stderr.startswith(b"excluded: missing.warc.wet.gz: GEN001 cannot be read: ")
    assert names(tmp_path / "out") == ["a.warc.wet", "missing.warc.wet.gz"]


NO_TEXT = "{path}:1: not a line of text; expected a list of paths"


@pytest.mark.parametrize(
    ("lines", "base", "message"),
    [
        (b"https://e.org/a\n", None, "{path} names https://e.org/a, which is not below {folder}: add `base`"),
        (b"https://e.org/a\n", "memory://b", "{path} names https://e.org/a, which is not below memory://b: add `base`"),
        (b"../a.wet\n", "memory://b", "{path} names ../a.wet, which is not below memory://b: add `base`"),
        (b"", None, "the list of paths {path} is empty"),
        (b"\n\n", None, "the list of paths {path} is empty"),
        (b"caf\xe9\n", None, NO_TEXT),
        (b"a\0b\n", None, NO_TEXT),
        (b"a" * 20_000, None, NO_TEXT),
        (b"\x1f\x8b not gzip", None, "cannot read the list of paths {path}: gzip member 1 cannot be decoded"),
    ],
)
def test_lists_that_are_none_are_refused(tmp_path: Path, lines: bytes, base: str | None, message: str) -> None:
    path = tmp_path / ("wet.paths.gz" if lines.startswith(b"\x1f") else "wet.paths")
    path.write_bytes(lines)
    with pytest.raises(UsageError) as caught:
        corpusfmt.build(path, tmp_path / "out", base=base)
    assert str(caught.value).startswith(message.format(path=path, folder=tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_line_of_a_list_has_16_kib_at_most(tmp_path: Path) -> None:
    path = tmp_path / "wet.paths"
    path.write_bytes(b"a" * 16_384 + b"\n")
    assert [each.input.path for each in inputs_named([str(path)])] == ["a" * 16_384]
    path.write_bytes(b"a\n" + b"a" * 16_385 + b"\n")
    with pytest.raises(UsageError) as caught:
        inputs_named([str(path)])
    assert str(caught.value) == f"{path}:2: not a line of text; expected a list of paths"


def test_a_base_without_a_list_and_a_pattern_without_a_match(tmp_path: Path, wet: Path) -> None:
    with pytest.raises(UsageError, match="`base`"):
        corpusfmt.build(wet, tmp_path / "out", base="elsewhere")
    with pytest.raises(UsageError, match="no path matches"):
        corpusfmt.build(str(tmp_path / "*.none"), tmp_path / "out")
    with pytest.raises(UsageError, match="no inputs: name"):
        corpusfmt.build([], tmp_path / "out")


def test_hidden_files_and_unfinished_work_are_no_inputs(wet: Path) -> None:
    for name in (
        ".half.warc.wet.gz",
        "part.warc.wet.gz.part",
        ".corpusfmt/process/x.warc.wet.gz",
        ".~tmp~/y.warc.wet.gz",
    ):
        (wet / name).parent.mkdir(exist_ok=True, parents=True)
        (wet / name).touch()
    assert [each.input.path for each in inputs_named([str(wet)])] == ["a.warc.wet", "segment/b.warc.wet.gz"]


def test_names_of_any_bytes_and_length(tmp_path: Path) -> None:
    folder = tmp_path / "wet"
    folder.mkdir()
    odd = os.fsdecode(b"caf\xe9.warc.wet.gz")
    for number, name in enumerate((odd, "n" * 240 + ".wet.gz", "日本語.warc.wet.gz")):
        wet_file(folder / name, [wet_record(number, f"{LONG_LINE} {number}\n")])
    report = corpusfmt.build(folder, tmp_path / "out")
    assert report.verdict.value == "valid"
    assert report.results["stats"]["total"]["final"]["lines"] == 3
    assert names(tmp_path / "out")[0] == "caf\\xe9.warc.wet.gz"


def test_standard_input_is_one_file(tmp_path: Path, wet: Path) -> None:
    whole = (wet / "segment" / "b.warc.wet.gz").read_bytes()
    for data in (whole, gzip.decompress(whole)):
        out = tmp_path / str(len(data)) / "out"
        done = run_cli("build", "-", "--output", out, stdin=data)
        assert (done.returncode, done.stderr) == (0, b"")
        assert names(out) == ["standard-input.warc.wet"]
    corpusfmt.build(wet / "segment" / "b.warc.wet.gz", tmp_path / "file" / "out")
    assert (out / "en" / "en.txt.gz").read_bytes() == (tmp_path / "file/out/en/en.txt.gz").read_bytes()
    assert run_cli("build", "-", "--output", tmp_path / "empty", stdin=b"").returncode == 3


def test_the_manifest_has_size_and_digest_of_standard_input(
    tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (wet / "a.warc.wet").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    corpusfmt.build("-", tmp_path / "out")
    (taken,) = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert taken == {
        "name": "standard-input.warc.wet",
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "records": 1,
    }


def test_standard_input_is_kept_for_the_run_that_resumes(tmp_path: Path) -> None:
    data = (SAMPLE / "UDHR-20181112172845-00000.warc.wet.gz").read_bytes()
    out = tmp_path / "out"
    code = (
        "import corpusfmt.pipeline.run as run, os\n"
        "run.packaged = lambda *_: os._exit(9)\n"
        "from corpusfmt.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "build", "-", "--output", str(out)]
    assert subprocess.run(command, input=data, capture_output=True, check=False).returncode == 9
    assert run_cli("build", "-", "--output", out, stdin=data[:-1]).returncode == 3
    done = run_cli("build", "-", "--output", out, stdin=data)
    assert (done.returncode, done.stderr) == (0, b"resumed an unfinished run (inputs kept: 0, read: 1)\n")
    shutil.rmtree(out)
    assert subprocess.run(command, input=data, capture_output=True, check=False).returncode == 9
    done = run_cli("build", "-", "--output", out, stdin=b"")
    assert (done.returncode, done.stderr) == (0, b"resumed an unfinished run (inputs kept: 1, read: 0)\n")
    assert run_cli("build", "-", "--output", tmp_path / "whole", stdin=data).returncode == 0
    assert tree(out).keys() == tree(tmp_path / "whole").keys()
    assert (out / "MANIFEST.json").read_bytes() == (tmp_path / "whole" / "MANIFEST.json").read_bytes()


def test_a_pattern_and_versions_in_a_store(tmp_path: Path, wet: Path) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    for path in ("a.warc.wet", "segment/b.warc.wet.gz"):
        store.pipe_file(f"/patterns/{path}", (wet / path).read_bytes())
    found = inputs_named(["memory://patterns/*.wet", "memory://patterns/segment"])
    assert [each.input.name for each in found] == ["a.warc.wet", "b.warc.wet.gz"]
    assert all(each.input.version for each in found)
    store.pipe_file("/patterns/a.warc.wet", (wet / "a.warc.wet").read_bytes())
    (again,) = inputs_named(["memory://patterns/*.wet"])
    assert again.input.version != next(iter(found)).input.version
    assert corpusfmt.build("memory://patterns", tmp_path / "out").verdict.value == "valid"


@pytest.mark.parametrize("end", ["", "/"])
def test_a_list_may_name_whole_urls_below_its_base(tmp_path: Path, wet: Path, end: str) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    for path in ("a.warc.wet", "segment/b.warc.wet.gz"):
        store.pipe_file(f"/listed/{path}", (wet / path).read_bytes())
    (tmp_path / "wet.paths").write_text("memory://listed/segment/b.warc.wet.gz\na.warc.wet\n")
    corpusfmt.build(tmp_path / "wet.paths", tmp_path / "out", base=f"memory://listed{end}")
    assert names(tmp_path / "out") == ["a.warc.wet", "segment/b.warc.wet.gz"]


def test_no_file_of_a_list_in_a_store_is_asked_for_before_it_is_read(tmp_path: Path, wet: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe_file("/unasked/a.warc.wet", (wet / "a.warc.wet").read_bytes())
    (tmp_path / "wet.paths").write_text("a.warc.wet\nb.warc.wet\nc.warc.wet::d\n")
    found = inputs_named([str(tmp_path / "wet.paths")], "memory://unasked")
    assert [(each.input.path, each.input.size, each.input.version, each.defect) for each in found] == [
        ("a.warc.wet", 0, "", None),
        ("b.warc.wet", 0, "", None),
        ("c.warc.wet::d", 0, "", ("unreadable", "the name contains `::`, which fsspec would read as several URLs")),
    ]


def test_a_store_that_fails_in_its_own_way_costs_one_input(tmp_path: Path, wet: Path) -> None:
    import fsspec
    from fsspec.implementations.memory import MemoryFileSystem

    class Failing(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
        protocol = "failing"

        def open(self, path: str, *_: object, **__: object) -> object:
            raise RuntimeError("403 Forbidden")

    fsspec.register_implementation("failing", Failing, clobber=True)
    (wet / "wet.paths").write_text("b.warc.wet.gz\n")
    given = [wet / "a.warc.wet", wet / "wet.paths"]
    report = corpusfmt.build(given, tmp_path / "out", base="failing://bucket")
    assert [(each.code, each.message) for each in report.findings] == [
        ("GEN001", "cannot be read: RuntimeError: 403 Forbidden")
    ]


@pytest.mark.parametrize(
    ("scheme", "help_"),
    [
        ("s3", "pip install 'corpusfmt[s3]'"),
        ("gs", "pip install 'corpusfmt[gs]'"),
        ("https", "pip install 'corpusfmt[http]'"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_is_done(
    tmp_path: Path, wet: Path, scheme: str, help_: str
) -> None:
    # None stands for a package that cannot be imported, here as on any machine without it.
    code = "import sys; sys.modules.update(s3fs=None, gcsfs=None, aiohttp=None)\nfrom corpusfmt.cli import main; main()"
    (wet / "wet.paths").write_text("b.warc.wet.gz\n")
    ways = ([f"{scheme}://bucket/a.warc.wet.gz"], [str(wet / "wet.paths"), "--base", f"{scheme}://bucket/crawl"])
    for way in ways:
        command = [sys.executable, "-c", code, "build", *way, "--output", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode().count(help_)) == (2, 1)
        assert not (tmp_path / "out").exists()


def test_a_scheme_that_nothing_serves_is_named(tmp_path: Path) -> None:
    (tmp_path / "wet.paths").write_text("a.warc.wet.gz\n")
    for path, base in (("foo://bucket/a.warc.wet.gz", None), (tmp_path / "wet.paths", "foo://bucket/crawl")):
        with pytest.raises(UsageError, match=r"^foo://bucket/.*: Protocol not known: foo"):
            corpusfmt.build(path, tmp_path / "out", base=base)
        assert not (tmp_path / "out").exists()


def test_where_nothing_could_be_read_there_is_no_corpus(tmp_path: Path, wet: Path) -> None:
    (tmp_path / "wet.paths").write_text("".join(f"{n}/a.warc.wet\n" for n in range(7)) + "a.warc.wet\n")
    out = tmp_path / "out"
    done = run_cli("build", tmp_path / "wet.paths", "--base", tmp_path / "elsewhere", "--output", out)
    assert done.returncode == 3
    lines = done.stderr.decode().split("\n")
    assert lines[0] == "error: none of 8 inputs could be read, and no corpus was written; check --base"
    assert lines[1] == "  0/a.warc.wet: GEN001 cannot be read: No such file or directory"
    assert lines[6:] == [
        "  and 3 more",
        "  help: repair the inputs or correct their paths, then run the command again with the same output folder",
        "",
    ]
    assert corpus(out) == {}
    done = run_cli("build", tmp_path / "wet.paths", "--base", wet, "--output", out)
    assert (done.returncode, b"1 of 8 WET files" in done.stdout) == (3, True)


@pytest.mark.parametrize("name", ["a.warc.wet.gz", "a.warc.wet", "a.wet.gz", "a.wet"])
def test_what_wet_files_are_called(name: str, tmp_path: Path) -> None:
    (tmp_path / "wet").mkdir()
    for each in (name, f"{name}.bak", "wet"):
        wet_file(tmp_path / "wet" / each, [wet_record(1, f"{LONG_LINE}\n")])
    corpusfmt.build(tmp_path / "wet", tmp_path / "out")
    assert names(tmp_path / "out") == [name]
