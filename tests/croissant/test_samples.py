"""Published descriptions: those that the peer accepts have no error, those that it rejects have the corresponding one."""

from __future__ import annotations

from pathlib import Path

import pytest
from croissant.documents import SAMPLES, VALID_SAMPLES, errors

import corpusfmt

MEANT = {
    "distribution_bad_contained_in": "CRO131",
    "distribution_bad_id": "CRO122",
    "distribution_missing_encoding_format": "CRO305",
    "metadata_bad_type": "CRO201",
    "mlfield_missing_source": "CRO405",
    "recordset_wrong_join": "CRO425",
}


@pytest.mark.parametrize("path", VALID_SAMPLES, ids=lambda path: path.relative_to(SAMPLES / "valid").as_posix())
def test_accepted(path: Path) -> None:
    report = corpusfmt.validate(path)
    assert (report.format, report.version, errors(report)) == ("croissant", "1.0", [])


# What each of the official examples of 1.1 departs from, besides the tables Required and Recommended.
LATER_SAMPLES: dict[str, dict[str, int]] = {
    "audio_test": {"CRO216": 1},
    "commoncrawl-CC-MAIN-2025-43-draft": {},
    "huggingface-baratilab-flow3d": {"CRO525": 1},
    "huggingface-mnist-from-main-branch": {"CRO219": 1, "CRO525": 1},
    "huggingface-pollen-robotics-apple-storage": {"CRO525": 1},
    "huggingface-squad_v2": {"CRO525": 1},
    "image_test": {"CRO125": 3},
    "recipes/minimal_multilingual.json": {},
}


@pytest.mark.parametrize("name", LATER_SAMPLES)
def test_accepted_in_1_1(name: str) -> None:
    report = corpusfmt.validate(SAMPLES / "valid-1.1" / name)
    assert (report.format, report.version, errors(report)) == ("croissant", "1.1", [])
    absent = {"CRO205", "CRO206", "CRO207", "CRO208", "CRO209", "CRO210", "CRO212"}
    assert {code: count for code, count in report.by_rule.items() if code not in absent} == LATER_SAMPLES[name]


def test_arrays_of_a_sample(tmp_path: Path) -> None:
    sample = SAMPLES / "valid-1.1" / "huggingface-pollen-robotics-apple-storage"
    copy = {"repo": str(sample / "data" / "repo")}
    assert errors(corpusfmt.validate(sample, data=True, maps=copy)) == []
    wrong = tmp_path / "metadata.json"
    wrong.write_bytes((sample / "metadata.json").read_bytes().replace(b'"arrayShape": "19"', b'"arrayShape": "18"', 1))
    found = errors(corpusfmt.validate(wrong, format="croissant", data=True, maps=copy))
    assert {(each.code, each.location.record) for each in found} >= {("CRO609", "record 1")}
    assert "a list that has 19 values in dimension 1, expected 18" in found[0].message


@pytest.mark.parametrize("name", sorted(MEANT))
def test_rejected_for_what_is_meant(name: str) -> None:
    found = errors(corpusfmt.validate(SAMPLES / "invalid" / name))
    assert [finding.code for finding in found] == [MEANT[name]]


def test_every_sample_is_tested() -> None:
    assert {path.name for path in (SAMPLES / "invalid").iterdir()} == set(MEANT)
    assert len(VALID_SAMPLES) == 21
