"""Any damage is reported by the right rule, without a crash."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from oscar.corpus import write
from oscar.mutations import MUTATIONS, Mutation, corpus

import corpusfmt
from corpusfmt.formats import CheckOptions, Rejected
from corpusfmt.formats.oscar.format import FORMAT
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Document, Verdict

#: How many mutations of each kind; `CORPUSFMT_FUZZ=5000` asks for so many in all.
ROUNDS = max(3, int(os.environ.get("CORPUSFMT_FUZZ", "0")) // len(MUTATIONS))

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


@pytest.mark.parametrize(("mutation", "version"), CASES, ids=lambda value: getattr(value, "name", value))
def test_damage_is_read_around(mutation: Mutation, version: str, tmp_path: Path) -> None:
    options = CheckOptions(version=version)
    for seed in range(max(1, ROUNDS // 3)):
        rng = random.Random(f"{mutation.name} {version} {seed}")
        whole = corpus(version, seed)
        plan = FORMAT.plan(entry_of(str(write(mutation.apply(rng, whole.tree()), tmp_path / str(seed)))), options)
        assert FORMAT.reader is not None
        items = [item for shard in plan.shards for item in FORMAT.reader.read(shard, options)]
        texts = {doc.text for parts in whole.languages.values() for docs in parts for doc in docs}
        read = [item.text for item in items if isinstance(item, Document)]
        refused = [item.finding.code for item in items if isinstance(item, Rejected)]
        # One change touches at most two documents, or is told: what else was read is as it was written.
        assert len(set(read) - texts) <= 2
        assert refused or len(plan.shards) < 5 or len(read) >= len(texts) - 1
