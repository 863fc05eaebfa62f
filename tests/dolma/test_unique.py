"""(source, id) is unique in the whole dataset; a hash collision is never a finding."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from dolma.corpus import check, codes, documents, encoded, write

from corpusfmt.formats import CheckOptions, whole
from corpusfmt.formats.dolma import check as checking
from corpusfmt.formats.dolma.format import FORMAT
from corpusfmt.formats.dolma.glance import values_of
from corpusfmt.io import keys
from corpusfmt.io.paths import entry_of


def test_both_places_are_named(tmp_path: Path) -> None:
    rows = documents(30)
    files = {
        "documents/a.jsonl.gz": encoded(rows),
        "documents/b/c.json.zst": encoded([*documents(5, start=50), rows[17]]),
    }
    report = check(write(tmp_path, files))
    assert codes(report) == ["DOL313"]
    (finding,) = report.findings
    assert (finding.location.path, finding.location.line, finding.location.record) == (
        "documents/b/c.json.zst",
        6,
        "doc-17",
    )
    assert "documents/a.jsonl.gz:18" in finding.message


def test_the_count_is_exact_and_rows_without_an_id_are_left_out(tmp_path: Path) -> None:
    rows = [{**row, "id": f"doc-{number % 7}"} for number, row in enumerate(documents(50))]
    rows += [{"id": "", "text": "x", "source": "web"}] * 2 + [{"text": "x", "source": "web"}] * 2
    report = check(write(tmp_path, {"documents/a.jsonl": encoded(rows)}))
    assert report.by_rule == {"DOL301": 2, "DOL303": 2, "DOL313": 43}
    assert len([finding for finding in report.findings if finding.code == "DOL313"]) == 10


def test_rows_are_found_again_behind_long_lines_and_broken_rows(tmp_path: Path) -> None:
    rows = encoded(documents(3))
    data = (
        rows
        + b'{"id":"long","text":"'
        + b"x" * 5000
        + b'","source":"web"}\n'
        + b"\xff\n"
        + b'{"id":"\\u0064oc-1","text":"x","source":"web"}\n'
    )
    report = check(write(tmp_path, {"documents/a.jsonl.gz": data}), max_line_bytes=1000)
    assert codes(report) == ["DOL313", "GEN201", "GEN302"]
    (finding,) = [finding for finding in report.findings if finding.code == "DOL313"]
    assert (finding.location.line, finding.location.record) == (6, "doc-1")


def test_the_last_row_may_lack_its_line_end(tmp_path: Path) -> None:
    files = {"documents/a.jsonl": encoded(documents(3)), "documents/b.jsonl": encoded(documents(3, start=2)[::-1])[:-1]}
    findings = check(write(tmp_path, files)).findings
    found = [(each.code, each.location.path, each.location.line) for each in findings]
    assert sorted(found) == [("DOL110", "documents/b.jsonl", 3), ("DOL313", "documents/b.jsonl", 3)]


def test_rows_whose_source_is_no_string_are_told_by_their_id(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "x", "source": source} for source in (5, ["web"], None)]
    report = check(write(tmp_path, {"documents/a.jsonl": encoded(rows)}))
    found = [finding.message for finding in report.findings if finding.code == "DOL313"]
    assert report.by_rule == {"DOL307": 3, "DOL313": 2}
    assert found == ["the id `1` of source `` also occurs at documents/a.jsonl:1"] * 2


def test_a_pair_is_not_two_strings_in_a_row(tmp_path: Path) -> None:
    rows = [{"id": "b\tc", "text": "x", "source": "a"}, {"id": "c", "text": "x", "source": "a\tb"}]
    assert codes(check(write(tmp_path, {"documents/a.jsonl": encoded(rows)}))) == []


@pytest.mark.parametrize("batch", [1, 1000])
def test_equal_hashes_of_different_keys_are_no_finding(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key gets one of two hashes, so all rows are candidates; only the true duplicate is told."""
    rows = documents(20)
    write(
        tmp_path / "set",
        {"documents/a.jsonl.gz": encoded(rows), "documents/b.jsonl": encoded([*documents(9, start=30), rows[4]])},
    )
    monkeypatch.setattr(whole, "hash_of_bytes", lambda key: len(key) % 2)
    monkeypatch.setattr(
        checking, "keys_of", lambda kept: array("Q", (len(each or "") % 2 for each in values_of(kept).ids))
    )
    monkeypatch.setattr(keys, "CANDIDATES_AT_A_TIME", batch)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = CheckOptions(version="1.0", scratch=scratch)
    plan = FORMAT.plan(entry_of(str(tmp_path / "set")), options)
    results = [FORMAT.check(shard, options) for shard in plan.shards]
    assert not any(each.tally.findings for each in results)
    judge = FORMAT.judge(options, "1.0", ".")
    FORMAT.finish(plan, [each.facts for each in results if each.facts is not None], judge, options)
    assert [(finding.code, finding.location.path, finding.location.line) for finding in judge.tally.findings] == [
        ("DOL313", "documents/b.jsonl", 10)
    ]


def test_keys_of_small_and_of_large_shards_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = keys.FEW_OF_A_SHARD
    sizes = [1, few, few + 1, 40, 3]
    rows = [documents(size, start=100 * number) for number, size in enumerate(sizes)]
    rows[2][few] = rows[0][0]
    rows[3][39] = rows[1][few - 1]
    rows[4][1] = rows[0][0]
    rows[4][2] = rows[3][5]
    files = {f"documents/{number}.jsonl.gz": encoded(each) for number, each in enumerate(rows)}
    root = write(tmp_path, files)
    found = check(root).findings
    assert [(each.location.path, each.location.line) for each in found] == [
        ("documents/2.jsonl.gz", few + 1),
        ("documents/3.jsonl.gz", 40),
        ("documents/4.jsonl.gz", 2),
        ("documents/4.jsonl.gz", 3),
    ]
    for most in (0, 100):
        monkeypatch.setattr(keys, "FEW_OF_A_SHARD", most)
        assert check(root).findings == found
