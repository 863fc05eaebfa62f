"""Which version a release by schema 2 is, and what its folders and names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oscar2.test_reading import record, release

import corpusfmt
from corpusfmt.model import Report, Verdict


def told(report: Report) -> list[tuple[str, str]]:
    return sorted((finding.code, finding.location.path) for finding in report.findings)


@pytest.mark.parametrize(
    ("more", "version"),
    [
        ({}, "22.01"),
        ({"quality_warnings": None}, "23.01"),
        ({"categories": ["news"]}, "23.01"),
        ({"harmful_pp": 1.5}, "23.01"),
        ({"tlsh": "T1"}, "23.01"),
    ],
)
def test_the_fields_of_the_first_record_tell_the_version(more: dict[str, Any], version: str, tmp_path: Path) -> None:
    first = record()
    first["metadata"] |= more
    report = corpusfmt.validate(release(tmp_path, [first, record(2)]))
    assert (report.format, report.version, report.verdict) == ("oscar2", version, Verdict.VALID)


def test_a_folder_that_is_given_by_itself_names_a_language_too(tmp_path: Path) -> None:
    release(tmp_path / "fr_meta", [record()], "de_meta_part_1.jsonl.gz")
    (finding,) = corpusfmt.validate(tmp_path / "fr_meta").findings
    assert (finding.code, finding.location.path) == ("OSJ103", "de_meta_part_1.jsonl.gz")
    assert finding.message == "`de_meta_part_1.jsonl.gz` is of language `de`, the folder of `fr`"
    assert told(corpusfmt.validate(tmp_path / "fr_meta/de_meta_part_1.jsonl.gz")) == []


def test_a_link_that_leads_nowhere_is_told_unless_it_is_hidden(tmp_path: Path) -> None:
    release(tmp_path, [record()])
    (tmp_path / ".git").mkdir()
    for path in ("de_meta/notes", ".git/HEAD"):
        (tmp_path / path).symlink_to(tmp_path / "nothing")
    report = corpusfmt.validate(tmp_path)
    assert (report.verdict, told(report)) == (Verdict.INCOMPLETE, [("GEN001", "de_meta/notes")])


@pytest.mark.parametrize(("part", "more"), [(6, ""), (7, ", …"), (8, ", …")])
def test_of_many_missing_parts_five_are_named(part: int, more: str, tmp_path: Path) -> None:
    release(tmp_path, [record()], f"de_meta/de_meta_part_{part}.jsonl.gz")
    (finding,) = (each for each in corpusfmt.validate(tmp_path).findings if each.code == "OSJ104")
    assert (finding.message, finding.count) == (f"parts 1, 2, 3, 4, 5{more} of `de` are missing", part - 1)
