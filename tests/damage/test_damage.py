"""A little of `make damage`: two mutants of every second kind, in `make deep` of each, none of them missed, and of valid data nothing is said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from damage.croissant_data import described, valid
from damage.kinds import GROUPS, Kind
from damage.run import HARMLESS, KINDS, look, table
from support import every

import corpusfmt

_LEAST_KINDS = 50


@pytest.mark.parametrize("kind", every(2, KINDS), ids=lambda kind: f"{kind.group}: {kind.name}")
def test_damage_is_noticed(kind: Kind, tmp_path: Path) -> None:
    seen = look(kind, range(2), tmp_path)
    assert not seen.missed, seen


@pytest.mark.parametrize("kind", every(2, HARMLESS), ids=lambda kind: f"{kind.group}: {kind.name}")
def test_harmless_variations_are_valid(kind: Kind, tmp_path: Path) -> None:
    seen = look(kind, range(2), tmp_path)
    assert not seen.codes, seen


def test_valid_data_is_valid(tmp_path: Path) -> None:
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        tree = valid(random.Random(seed))
        for path, data in described(tree, tree).items():
            (folder / path).write_bytes(data)
        assert corpusfmt.validate(folder / "metadata.json", format="croissant", data=True).by_rule == {}


def test_there_are_fifty_kinds_for_each_format() -> None:
    for group in GROUPS:
        least = _LEAST_KINDS if group != "Parquet" else 30
        assert len({kind.name for kind in KINDS if kind.group == group}) >= least
    assert len({(kind.group, kind.name) for kind in KINDS}) == len(KINDS)


def test_the_table_adds_up(tmp_path: Path) -> None:
    *_, total = table([look(kind, range(1), tmp_path) for kind in KINDS[:3]])
    assert total.startswith("| all | 3 | 3 |")
