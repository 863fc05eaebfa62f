"""Whether the lines of a 1.0 release are documents is decided for all of its parts, the same by every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversion.rows import read_rows
from hypothesis import given
from hypothesis import strategies as st
from oscar.corpus import Tree, gunzip, gz, relisted, write
from strategies import examples
from support import run_cli

import corpusfmt
from corpusfmt.formats.oscar.layout import is_shuffled
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Report, Severity

HINT = "if lines belong to documents, pass the whole release, or end documents with a blank line"


def texts(**languages: bytes) -> Tree:
    tree = {f"{code}/{code}.txt.gz": gz(text) for code, text in languages.items()}
    return relisted(tree | {f"{code}/{code}_sha256.txt": b"" for code in languages})


def converted(source: Path, target: Path, to: str = "dolma") -> Report:
    return corpusfmt.convert(source, target, to=to, on_loss="allow")


def test_a_text_without_a_blank_line_is_one_document_where_others_have_some(tmp_path: Path) -> None:
    tree = texts(af=b"one\nand the same\n", de=b"one\n\ntwo\n\n")
    write(tree, tmp_path / "in")
    report = corpusfmt.validate(tmp_path / "in")
    assert (report.coverage.documents, "OSC110" in report.by_rule) == (3, False)
    made = converted(tmp_path / "in", tmp_path / "dolma")
    assert (made.coverage.documents, made.findings) == (3, [])
    assert [row["text"] for row in read_rows(tmp_path / "dolma")] == ["one\nand the same", "one", "two"]
    converted(tmp_path / "dolma", tmp_path / "back", "oscar-1.0")
    assert {path: gunzip((tmp_path / "back" / path).read_bytes()) for path in tree if path.endswith(".gz")} == {
        path: gunzip(data) for path, data in tree.items() if path.endswith(".gz")
    }


def test_releases_side_by_side_are_decided_each_for_itself(tmp_path: Path) -> None:
    for name, text in (("original", b"one\n\ntwo\n\n"), ("shuffled", b"one\ntwo\nthree\n")):
        write(texts(af=text), tmp_path / "in" / name)
    report = corpusfmt.validate(tmp_path / "in")
    assert report.coverage.documents == 5
    (remark,) = (each for each in report.findings if each.code == "OSC110")
    assert (remark.severity, remark.location.path, remark.hint) == (Severity.INFO, "shuffled", HINT)
    assert converted(tmp_path / "in", tmp_path / "out").coverage.documents == 5


@pytest.mark.parametrize("text", [b"one\ntwo\nthree\n", b"one\ntwo\nthree"])
def test_lines_that_are_documents_come_back_as_lines(text: bytes, tmp_path: Path) -> None:
    write(texts(af=text), tmp_path / "in")
    converted(tmp_path / "in", tmp_path / "dolma")
    assert [row["text"] for row in read_rows(tmp_path / "dolma")] == ["one", "two", "three"]
    converted(tmp_path / "dolma", tmp_path / "back", "oscar-1.0")
    assert gunzip((tmp_path / "back/af/af.txt.gz").read_bytes()) == text


def test_convert_says_that_lines_are_documents(tmp_path: Path) -> None:
    write(texts(af=b"one\ntwo\n"), tmp_path / "in")
    done = run_cli("convert", tmp_path / "in", tmp_path / "out", "--to", "dolma")
    message = "OSC110 .: no text has a blank line: each line is read as a document"
    assert f"  {message}\n  help: {HINT}\n" in done.stdout.decode()


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        (b"\none\ntwo\n", 1),
        (b"one\r\n \t\r\ntwo\n", 2),
        (b"one\n" + b"\r" * 70_000 + b"x\n" + b" " * (3 << 20) + b"two\n", 3),
        (b"one\n" + b"x" * 70_000 + b"\n" + b" " * 70_000 + b"\ntwo\n", 2),
        (b"one\n" + b"X" * 70_000 + b" " * (3 << 20) + b"\ntwo\n", 3),
        (b"one\n" + b"x\n" * (4 << 20) + b"\n\n", (4 << 20) + 1),
        (b"one\n" + b"x\n" * ((4 << 20) - 3) + b"\n", 1),
    ],
    ids=[
        "at the start",
        "blanks only",
        "none across chunks",
        "across chunks",
        "not all blank",
        "beyond 8 MiB",
        "within 8 MiB",
    ],
)
def test_what_a_blank_line_is(text: bytes, documents: int, tmp_path: Path) -> None:
    write(texts(af=text), tmp_path / "in")
    assert corpusfmt.validate(tmp_path / "in", max_per_rule=1).coverage.documents == documents


def test_a_text_that_breaks_off_shows_nothing(tmp_path: Path) -> None:
    tree = texts(af=b"".join(b"%d\n" % (number * 7919) for number in range(5000)))
    write(tree, tmp_path / "in")
    assert "OSC110" in corpusfmt.validate(tmp_path / "in").by_rule
    cut = tree["af/af.txt.gz"]
    (tmp_path / "in/af/af.txt.gz").write_bytes(cut[: len(cut) // 2])
    report = corpusfmt.validate(tmp_path / "in")
    assert "OSC110" not in report.by_rule
    assert "GEN101" in report.by_rule


LINES = st.sampled_from(["", " ", "\r", "a", "b\r", "\u0085", "\u2028", "😀 c", "x" * 300])


@examples(60)
@given(
    releases=st.lists(st.lists(LINES, max_size=8), min_size=1, max_size=3), end=st.sampled_from([b"", b"\n", b"\n\n"])
)
def test_validate_and_convert_count_the_same_documents(
    releases: list[list[str]], end: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("release")
    codes = ("af", "de", "ru")
    languages = {
        code: "\n".join(lines).encode() + end for code, lines in zip(codes, releases, strict=False) if any(lines)
    }
    languages["ja"] = b"always\n"
    write(texts(**languages), folder / "in")
    counted = corpusfmt.validate(folder / "in").coverage.documents
    made = corpusfmt.convert(folder / "in", folder / "out", to="dolma", on_loss="allow", on_bad_record="quarantine")
    assert made.coverage.documents == counted
    assert len(read_rows(folder / "out")) == counted


@pytest.mark.parametrize(("others", "shuffled"), [(63, False), (64, True)])
def test_the_largest_texts_decide(others: int, shuffled: bool, tmp_path: Path) -> None:
    for number in range(others):
        (tmp_path / f"{number}.txt.gz").write_bytes(gz(b"one\ntwo\nand a few lines more\n"))
    (tmp_path / "small.txt.gz").write_bytes(gz(b"a\n\n"))
    assert is_shuffled(entry_of(str(path)) for path in sorted(tmp_path.iterdir())) is shuffled


@pytest.mark.parametrize(("before", "shuffled"), [(8 * 1024 * 1024 - 2, False), (8 * 1024 * 1024, True)])
def test_a_blank_line_is_looked_for_in_the_first_8_mib(before: int, shuffled: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gz(b"x\n" * (before // 2)) + gz(b"\nx\n"))
    assert is_shuffled([entry_of(str(path))]) is shuffled
