"""The field's own descriptions: what the peer accepts has no error, what it rejects has the one that is meant."""

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


@pytest.mark.parametrize("name", sorted(MEANT))
def test_rejected_for_what_is_meant(name: str) -> None:
    found = errors(corpusfmt.validate(SAMPLES / "invalid" / name))
    assert [finding.code for finding in found] == [MEANT[name]]


def test_every_sample_is_tested() -> None:
    assert {path.name for path in (SAMPLES / "invalid").iterdir()} == set(MEANT)
    assert len(VALID_SAMPLES) == 21
