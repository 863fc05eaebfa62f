"""Excerpts of the published release 1.0, where somebody has them: CORPUSFMT_OSCAR_EXCERPTS names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import corpusfmt
from corpusfmt.model import Severity

EXCERPTS = os.environ.get("CORPUSFMT_OSCAR_EXCERPTS")


@pytest.mark.skipif(not EXCERPTS, reason="CORPUSFMT_OSCAR_EXCERPTS is not set")
@pytest.mark.parametrize("variant", [".", "original", "deduplicated"])
def test_excerpts_are_valid_but_for_their_checksum_lists(variant: str) -> None:
    assert EXCERPTS
    report = corpusfmt.validate(Path(EXCERPTS) / variant)
    assert report.version == "1.0"
    assert {finding.code for finding in report.findings if finding.severity is Severity.ERROR} == {"OSC202"}
    assert report.by_rule["OSC202"] == len(list((Path(EXCERPTS) / variant).rglob("*_sha256.txt")))
