"""In quarantine mode every record of the source is converted or rejected, and counted either way."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from conversion.rows import document, lines_of, texts, write_rows
from support import gzipped, run_cli, tree

import corpusfmt
from corpusfmt.model import BadInput, Report


@pytest.fixture
def damaged(oscar_corpus: Path, tmp_path: Path) -> Path:
    """A copy of three languages of the sample, to be damaged: 8, 6 and 4 documents or so."""
    for language in ("en", "zh", "ru"):
        shutil.copytree(oscar_corpus / language, tmp_path / "oscar" / language)
    return tmp_path / "oscar"


def records_in(root: Path) -> int:
    return sum(len(lines_of(path)) for path in root.glob("*/*_meta*.jsonl.gz"))


def quarantined(root: Path, out: Path) -> tuple[Report, Counter[str], bytes]:
    """Convert; return the report, how often each rule rejected something, and everything that was rejected."""
    report = corpusfmt.convert(root, out, to="dolma", on_bad_record="quarantine")
    sidecars = sorted(out.with_name(f"{out.name}-quarantine").glob("*"))
    rejected = [json.loads(line) for path in sidecars for line in path.read_bytes().split(b"\n")[:-1]]
    return report, Counter(each["rule"] for each in rejected), "".join(each["record"] for each in rejected).encode()


def rows_dropped(path: Path, keep: slice) -> None:
    path.write_bytes(gzipped(b"".join(line + b"\n" for line in lines_of(path)[keep])))


@pytest.mark.parametrize("keep", [slice(5), slice(3, None), slice(0)])
def test_texts_without_rows_are_rejected_one_by_one(keep: slice, damaged: Path, tmp_path: Path) -> None:
    whole = records_in(damaged)
    rows_dropped(damaged / "en/en_meta.jsonl.gz", keep)
    dropped = whole - records_in(damaged)
    report, rules, _ = quarantined(damaged, tmp_path / "out")
    assert (report.coverage.documents, report.results["rejected"]) == (whole - dropped, dropped)
    assert rules == {"OSC505": dropped}


def test_rows_without_texts_are_rejected_one_by_one(damaged: Path, tmp_path: Path) -> None:
    whole, path = records_in(damaged), damaged / "en/en.txt.gz"
    path.write_bytes(gzipped(b"\n\n".join(gzip.decompress(path.read_bytes()).split(b"\n\n")[:5]) + b"\n\n"))
    report, rules, raw = quarantined(damaged, tmp_path / "out")
    assert (report.coverage.documents, report.results["rejected"]) == (whole - 3, 3)
    assert rules == {"OSC505": 3}
    assert raw.split(b"\n")[:-1] == lines_of(damaged / "en/en_meta.jsonl.gz")[5:]


@pytest.mark.parametrize("missing", ["zh.txt.gz", "zh_meta.jsonl.gz"])
def test_a_part_without_its_partner(missing: str, damaged: Path, tmp_path: Path) -> None:
    whole, lost = records_in(damaged), len(lines_of(damaged / "zh/zh_meta.jsonl.gz"))
    (text,) = texts(damaged / "zh")
    kept = b"".join(line + b"\n" for line in lines_of(damaged / "zh/zh_meta.jsonl.gz"))
    (damaged / "zh" / missing).unlink()
    with pytest.raises(BadInput, match="OSC401"):
        corpusfmt.convert(damaged, tmp_path / "stopped", to="dolma")
    assert not (tmp_path / "stopped").exists()
    report, rules, raw = quarantined(damaged, tmp_path / "out")
    assert (report.coverage.documents, report.results["rejected"]) == (whole - lost, lost)
    assert (rules, raw) == ({"OSC401": lost}, kept if missing == "zh.txt.gz" else text)


@pytest.mark.parametrize(
    ("lost", "parts"), [((2,), (1, 3, 4)), ((1,), (2, 3, 4)), ((1, 2, 4), (3,)), ((4,), (1, 2, 3))]
)
def test_parts_behind_one_of_which_nothing_is_left_move_up(
    lost: tuple[int, ...], parts: tuple[int, ...], tmp_path: Path
) -> None:
    for number in range(1, 5):
        write_rows(tmp_path / f"dolma/documents/en/en_part_{number}.jsonl.gz", [document(number)])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "parts", to="oscar")
    for number in lost:
        (tmp_path / f"parts/en/en_meta_part_{number}.jsonl.gz").unlink()
    for jobs in (1, 2):
        out = tmp_path / f"out-{jobs}"
        corpusfmt.convert(tmp_path / "parts", out, to="oscar", on_bad_record="quarantine", jobs=jobs)
        kept = [(tmp_path / f"parts/en/en_part_{number}.txt.gz") for number in parts]
        assert texts(out / "en") == [gzip.decompress(path.read_bytes()) for path in kept]
        assert corpusfmt.validate(out).verdict == "valid"
        assert len(list((out / "en").iterdir())) == 2 * len(parts) + 1


@pytest.mark.parametrize("names", [["en_part_2", "en_part_4", "en_part_10"], ["en", "en_part_2"], ["en", "en_part_1"]])
def test_parts_of_dolma_that_are_not_numbered_through_are_for_oscar(names: list[str], tmp_path: Path) -> None:
    for number, name in enumerate(names):
        write_rows(tmp_path / f"dolma/documents/en/{name}.jsonl.gz", [document(number)])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    expected = [document(number)["text"].encode() + b"\n\n" for number in range(len(names))]
    assert texts(tmp_path / "oscar/en") == expected
    assert corpusfmt.validate(tmp_path / "oscar").verdict == "valid"


def test_text_and_metadata_of_different_languages(damaged: Path, tmp_path: Path) -> None:
    (damaged / "zh/zh.txt.gz").write_bytes((damaged / "en/en.txt.gz").read_bytes())
    whole, rows = records_in(damaged), len(lines_of(damaged / "zh/zh_meta.jsonl.gz"))
    found = gzip.decompress((damaged / "en/en.txt.gz").read_bytes()).count(b"\n\n")
    report, _, raw = quarantined(damaged, tmp_path / "out")
    assert report.coverage.documents == whole - rows
    assert report.results["rejected"] == max(rows, found)
    for row in lines_of(damaged / "zh/zh_meta.jsonl.gz"):
        assert row in raw


@pytest.mark.parametrize("name", ["en.txt.gz", "en_meta.jsonl.gz"])
def test_what_a_damaged_stream_leaves_alone_is_counted(name: str, damaged: Path, tmp_path: Path) -> None:
    whole, path = records_in(damaged), damaged / "en" / name
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    done = run_cli("convert", damaged, tmp_path / "cli", "--to", "dolma", "--on-bad-record", "quarantine")
    assert f"truncated: en/{name}; the number of missing documents is unknown" in done.stdout.decode()
    report, rules, _ = quarantined(damaged, tmp_path / "out")
    assert report.results["cut"] == [f"en/{name}"]
    assert report.results["rejected"] > 0
    assert report.coverage.documents + report.results["rejected"] == whole
    assert rules == {"GEN101": report.results["rejected"] + 1}


def test_a_stream_of_rows_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "dolma/documents/a.jsonl.gz"
    write_rows(path, [document(number) for number in range(5_000)])
    path.write_bytes(path.read_bytes()[:-2_000])
    report, _, _ = quarantined(tmp_path / "dolma", tmp_path / "out")
    assert (report.results["cut"], report.results["rejected"]) == (["documents/a.jsonl.gz"], 0)
    assert 0 < report.coverage.documents < 5_000
    assert len(lines_of(tmp_path / "out/documents/a.jsonl.gz")) == report.coverage.documents
    assert "out-quarantine/000000.jsonl" in tree(tmp_path)


@pytest.mark.parametrize(("behind", "cut"), [(b"\0" * 512, []), (b"more", ["en/en.txt.gz"])])
def test_what_stands_behind_the_end_of_a_file(behind: bytes, cut: list[str], damaged: Path, tmp_path: Path) -> None:
    with (damaged / "en/en.txt.gz").open("ab") as file:
        file.write(behind)
    report, _, _ = quarantined(damaged, tmp_path / "out")
    assert (report.coverage.documents, report.results["rejected"]) == (records_in(damaged), 0)
    assert report.results["cut"] == cut
