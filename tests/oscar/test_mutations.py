"""Whatever is damaged is told, by a rule that is about it, and nothing crashes."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from oscar.corpus import write
from oscar.mutations import MUTATIONS, Mutation, corpus

import corpusfmt
from corpusfmt.model import Verdict

#: How many mutations of each kind; `CORPUSFMT_FUZZ=5000` asks for so many in all.
ROUNDS = max(4, int(os.environ.get("CORPUSFMT_FUZZ", "0")) // len(MUTATIONS))

CASES = [(mutation, version) for mutation in MUTATIONS for version in sorted(mutation.versions)]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_what_is_not_damaged_is_valid(version: str, tmp_path: Path) -> None:
    for seed in range(3):
        report = corpusfmt.validate(write(corpus(version, seed).tree(), tmp_path / str(seed)))
        assert (report.version, report.verdict, report.by_rule) == (version, Verdict.VALID, {})


@pytest.mark.parametrize(("mutation", "version"), CASES, ids=lambda value: getattr(value, "name", value))
def test_damage_is_told(mutation: Mutation, version: str, tmp_path: Path) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{mutation.name} {version} {seed}")
        damaged = mutation.apply(rng, corpus(version, seed).tree())
        report = corpusfmt.validate(write(damaged, tmp_path / str(seed)), format=f"oscar-{version}")
        found = report.by_rule.keys()
        assert found & mutation.rules, f"seed {seed}: {sorted(found)}"
        assert found <= mutation.rules | mutation.also, f"seed {seed}: {report.findings}"
