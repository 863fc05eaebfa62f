"""Kinds of paths, the detected version, and what is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from oscar.corpus import Tree, checksums, gunzip, gz, release, relisted, write
from support import run_cli, zstd

import corpusfmt
from corpusfmt.formats.languages import LABELS, RELEASE_2019, RELEASE_2021, iso_639_3
from corpusfmt.formats.oscar import layout
from corpusfmt.formats.oscar.format import FORMAT
from corpusfmt.formats.oscar.parts import data_name, parse_name
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.model import Report, Verdict

PARTS = {"af": [[2, 1, 3]], "de": [[1, 2], [2, 2], [1]]}


def told(report: Report) -> list[tuple[str, str]]:
    return sorted({(finding.code, finding.location.path) for finding in report.findings})


def version_of(path: Path) -> str | None:
    detection = FORMAT.detect(entry_of(str(path)))
    return detection.version if detection else None


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("given", ["", "af", "de", "de/de_part_2.txt.gz", "af/af.txt.gz"])
def test_a_release_a_language_or_a_part(version: str, given: str, tmp_path: Path) -> None:
    write(release(version, PARTS).tree(), tmp_path)
    report = corpusfmt.validate(tmp_path / given)
    assert (report.version, report.verdict, told(report)) == (version, Verdict.VALID, [])
    documents = {"": 8, "af": 3, "de": 5, "de/de_part_2.txt.gz": 2, "af/af.txt.gz": 3}
    assert report.coverage.documents == documents[given]


def test_a_metadata_part_brings_its_text(tmp_path: Path) -> None:
    write(release("1.1", PARTS).tree(), tmp_path)
    report = corpusfmt.validate(tmp_path / "de" / "de_meta_part_2.jsonl.gz")
    assert (report.verdict, report.coverage.documents) == (Verdict.VALID, 2)


def test_a_part_alone_is_not_asked_for_the_others(tmp_path: Path) -> None:
    tree = release("1.1", PARTS).tree()
    kept = {path: data for path, data in tree.items() if "part_2" in path or path.endswith("de_sha256.txt")}
    write(kept, tmp_path)
    assert told(corpusfmt.validate(tmp_path / "de" / "de_part_2.txt.gz")) == []
    (tmp_path / "de" / "de_meta_part_2.jsonl.gz").unlink()
    report = corpusfmt.validate(tmp_path / "de" / "de_part_2.txt.gz", format="oscar-1.1")
    assert told(report) == [("OSC401", "de_part_2.txt.gz")]


def test_two_single_texts_are_named(tmp_path: Path) -> None:
    tree = release("1.1", PARTS).tree()
    write(tree | {"af/af_dedup.txt.gz": tree["af/af.txt.gz"], "af/de.txt.gz": tree["af/af.txt.gz"]}, tmp_path)
    for name in ("af_dedup.txt.gz", "de.txt.gz"):
        (finding,) = (each for each in corpusfmt.validate(tmp_path).findings if each.code == "OSC106")
        assert (finding.location.path, finding.message) == (
            "af/af.txt.gz",
            f"the single file `af.txt.gz` is next to `{name}`",
        )
        (tmp_path / "af" / name).unlink()


def test_a_part_is_compared_with_its_digest(tmp_path: Path) -> None:
    tree = release("1.0", PARTS).tree()
    write(tree | {"af/af.txt.gz": gz(gunzip(tree["af/af.txt.gz"]) + b"x" * 120 + b"\n\n")}, tmp_path)
    (finding,) = corpusfmt.validate(tmp_path / "af" / "af.txt.gz").findings
    assert finding.code == "OSC205"
    listed = checksums({"af.txt.gz": (tmp_path / "af" / "af.txt.gz").read_bytes()}, "").decode().strip()
    assert f"`{listed}`" in finding.hint


def test_a_language_directory_under_another_name(tmp_path: Path) -> None:
    tree = {path.replace("de/", "download/"): data for path, data in release("1.1", PARTS).tree().items()}
    write(tree, tmp_path)
    assert told(corpusfmt.validate(tmp_path / "download")) == []


@pytest.mark.parametrize("prefix", ["", "unshuffled/"])
def test_variants_side_by_side(prefix: str, tmp_path: Path) -> None:
    one = release("1.0", PARTS).tree()
    names = [f"{prefix}original", f"{prefix}deduplicated"]
    write({f"{name}/{path}": data for name in names for path, data in one.items()}, tmp_path)
    report = corpusfmt.validate(tmp_path)
    assert (report.verdict, report.coverage.documents) == (Verdict.VALID, 16)


@pytest.mark.parametrize(
    ("original", "deduplicated"),
    [("original", "deduplicated"), ("shuff-orig", "shuff-dedup"), ("packaged_nondedup", "packaged")],
)
def test_dedup_does_not_mean_the_variant_before(original: str, deduplicated: str, tmp_path: Path) -> None:
    once, twice = release("1.0", {"af": [[1]]}).tree(), release("1.0", {"af": [[1]]}).tree()
    text = gunzip(twice["af/af.txt.gz"])
    twice["af/af.txt.gz"] = gz(text + text)
    del twice["af/af_sha256.txt"]
    write({f"{original}/{path}": data for path, data in twice.items()}, tmp_path)
    write({f"{deduplicated}/{path}": data for path, data in once.items()}, tmp_path)
    assert told(corpusfmt.validate(tmp_path, dedup=True)) == [("OSC201", f"{original}/af")]
    write({f"{deduplicated}/{path}": data for path, data in twice.items()}, tmp_path)
    assert ("OSC309", f"{deduplicated}/af/af.txt.gz") in told(corpusfmt.validate(tmp_path, dedup=True))


def test_lines_are_not_compared_with_a_broken_original(tmp_path: Path) -> None:
    one = release("1.0", {"af": [[1, 2, 3]]}).tree()
    write({f"deduplicated/{path}": data for path, data in one.items()}, tmp_path)
    one["af/af.txt.gz"] = one["af/af.txt.gz"][:-40]
    del one["af/af_sha256.txt"]
    write({f"original/{path}": data for path, data in one.items()}, tmp_path)
    report = corpusfmt.validate(tmp_path)
    assert {code for code, _ in told(report)} == {"GEN101", "OSC201"}
    assert [rule for _, rule, _ in report.coverage.gaps] == ["OSC111"]


def test_an_id_in_two_variants_is_no_repetition(tmp_path: Path) -> None:
    one = release("1.1", PARTS).tree()
    other = release("1.1", PARTS).tree()
    write({f"original/{path}": data for path, data in one.items()}, tmp_path)
    write({f"deduplicated/{path}": data for path, data in other.items()}, tmp_path)
    assert told(corpusfmt.validate(tmp_path)) == []


def test_one_language_without_metadata_is_still_1_1(tmp_path: Path) -> None:
    tree = release("1.1", PARTS).tree()
    del tree["af/af_meta.jsonl.gz"]
    write(tree, tmp_path)
    assert version_of(tmp_path) == "1.1"
    assert told(corpusfmt.validate(tmp_path)) == [("OSC401", "af/af.txt.gz")]
    assert version_of(tmp_path / "af") == "1.1"


def test_metadata_of_few_languages_makes_no_1_1(tmp_path: Path) -> None:
    tree = release("1.1", PARTS | {"ru": [[1]]}).tree()
    kept = {path: data for path, data in tree.items() if "_meta" not in path or path.startswith("af/")}
    kept |= {path: checksums(kept, path[:2]) for path in kept if path.endswith("_sha256.txt")}
    write(kept, tmp_path)
    assert version_of(tmp_path) == "1.0"
    assert told(corpusfmt.validate(tmp_path)) == [("OSC108", "af/af_meta.jsonl.gz")]


@pytest.mark.parametrize("name", ["data.jsonl.gz", "af.txt", "documents/af.jsonl.gz", "README.md", "af.txt.gz.part"])
def test_what_is_not_ours(name: str, tmp_path: Path) -> None:
    write({name: b"x"}, tmp_path)
    assert version_of(tmp_path) is None
    assert version_of(tmp_path / name) is None


ROW = b'{"id": "1", "text": "x", "source": "s"}\n'


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("de/1.jsonl", ROW, "dolma"),
        ("cc/0000.jsonl.gz", gz(ROW), "dolma"),
        ("de/1.jsonl.zst", zstd.compress(ROW), "dolma"),
        ("src/a/0.json", ROW, "dolma"),
        ("de/1.jsonl", b'{"url": "x"}\n', "jsonl"),
        ("de/de.txt", b"x\n", "text"),
        ("src/main.txt", b"x\n", "text"),
        ("abc/notes.md", b"x\n", ""),
        ("de/de.txt.gz", gz(b"x\n"), "oscar"),
        ("de/en_part_3.txt.gz", gz(b"x\n"), "oscar"),
        ("src/de_sha256.txt", b"", "oscar"),
    ],
)
def test_a_folder_named_like_a_language_is_not_enough(name: str, data: bytes, expected: str, tmp_path: Path) -> None:
    write({name: data}, tmp_path)
    done = run_cli("detect", tmp_path)
    assert done.stdout.decode().partition(" ")[0] == expected
    if not expected:
        # What rows look like is said with the option that reads them.
        hint = (
            b"has rows with `url`, and no `text`: name its field with --field text="
            if b"{" in data
            else b"name one with --format"
        )
        assert (done.returncode, hint in done.stderr) == (2, True)


def test_a_folder_of_three_letters_is_no_lost_language(tmp_path: Path) -> None:
    made = release("1.0", PARTS).tree()
    write(made | {"doc/index.md": b"x"}, tmp_path / "doc")
    assert told(corpusfmt.validate(tmp_path / "doc")) == [("OSC103", "doc")]
    write(made | {"gsw/gsw.txt": b"x"}, tmp_path / "text")
    assert told(corpusfmt.validate(tmp_path / "text")) == [("OSC103", "gsw"), ("OSC108", "gsw/gsw.txt")]
    write(made | {"gsw/gsw_sha256.txt": b""}, tmp_path / "list")
    assert ("OSC105", "gsw") in told(corpusfmt.validate(tmp_path / "list"))


def test_a_file_of_another_name_is_told(tmp_path: Path) -> None:
    write({"text.txt.gz": gz(b"x\n")}, tmp_path)
    assert told(corpusfmt.validate(tmp_path / "text.txt.gz", format="oscar")) == [("OSC108", "text.txt.gz")]


def test_missing_parts_are_named(tmp_path: Path) -> None:
    tree = release("1.0", {"de": [[1]] * 12}).tree()
    write({path: data for path, data in tree.items() if path.count("part_") == 0 or path[-8] not in "34"}, tmp_path)
    (finding,) = corpusfmt.validate(tmp_path).findings
    assert (finding.code, finding.count) == ("OSC107", 2)
    assert "part 3 to 4 is missing" in finding.message


def test_an_absurd_part_number(tmp_path: Path) -> None:
    tree = release("1.0", {"de": [[1], [1]]}).tree()
    number = "9" * 9
    write(relisted({path.replace("part_2", f"part_{number}"): data for path, data in tree.items()}), tmp_path)
    (finding,) = corpusfmt.validate(tmp_path).findings
    assert (finding.code, finding.count) == ("OSC107", int(number) - 2)


def test_a_renamed_file_is_told_once(tmp_path: Path) -> None:
    tree: Tree = release("1.0", {"de": [[1], [1]]}).tree()
    tree["de/de_sha256.txt"] = tree["de/de_sha256.txt"].replace(b"part_2", b"part_3")
    assert told(corpusfmt.validate(write(tree, tmp_path))) == [("OSC203", "de/de_sha256.txt")]


@pytest.mark.parametrize("name", ["notes.md", "de.txt.gz", "af_part_2.txt.gz"])
def test_a_listed_file_that_is_missing_is_told(name: str, tmp_path: Path) -> None:
    tree = release("1.0", {"af": [[1]]}).tree()
    tree["af/af_sha256.txt"] += b"0" * 64 + b"  " + name.encode() + b"\n"
    (finding,) = corpusfmt.validate(write(tree, tmp_path)).findings
    assert (finding.code, finding.location.line) == ("OSC203", 2)
    assert finding.message == f"`{name}` is missing from the folder"


def test_other_files_that_are_listed_are_compared(tmp_path: Path) -> None:
    tree = release("1.0", {"af": [[1]]}).tree()
    tree |= {"af/notes.md": b"text"}
    tree["af/af_sha256.txt"] += b"0" * 64 + b"  notes.md\n"
    assert told(corpusfmt.validate(write(tree, tmp_path))) == [("OSC109", "af/notes.md"), ("OSC205", "af/notes.md")]


def test_label_tables() -> None:
    assert (len(LABELS), len(set(LABELS)), len(RELEASE_2019), len(RELEASE_2021)) == (176, 176, 166, 168)
    assert set(LABELS) > RELEASE_2019 | RELEASE_2021
    assert all(len(code) == 3 for label in LABELS for code in iso_639_3(label))


@pytest.mark.parametrize("number", [None, 1, 12, 1305])
def test_names_are_read_as_they_are_written(number: int | None) -> None:
    for role in ("text", "metadata"):
        parsed = parse_name(data_name("en", role, number))
        assert parsed is not None
        assert (parsed.code, parsed.role, parsed.number, parsed.canonical_digits) == ("en", role, number, True)


@pytest.mark.parametrize("name", ["af_part_x.txt.gz", "af.txt"])
def test_data_beside_the_folders_is_told_what_it_may_be_called(name: str, tmp_path: Path) -> None:
    tree = release("1.1", PARTS).tree()
    write(tree | {name: b"x"}, tmp_path)
    (finding,) = (each for each in corpusfmt.validate(tmp_path).findings if each.code == "OSC108")
    assert finding.hint == (
        "name it `LL.txt.gz` or `LL_part_N.txt.gz`, `LL_meta.jsonl.gz` or `LL_meta_part_N.jsonl.gz`, compressed with gzip"
    )


def test_metadata_beside_tables_is_not_taken_for_a_release(tmp_path: Path) -> None:
    tree = release("1.1", PARTS).tree()
    metadata = {path: data for path, data in tree.items() if path.startswith("af/") and "_meta" in path}
    write(metadata, tmp_path / "alone")
    assert FORMAT.detect(entry_of(str(tmp_path / "alone"))) is not None
    write(metadata | {"af/0.parquet": b"PAR1"}, tmp_path / "tables")
    assert FORMAT.detect(entry_of(str(tmp_path / "tables"))) is None


def test_a_list_that_cannot_be_read_says_nothing_of_metadata() -> None:
    assert not layout._lists_metadata(Entry("af_sha256.txt", "/nowhere/af_sha256.txt", "file"))
