"""Every attack of every `cases_*.py` beside this file, run as a user would run the command."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from security.attacks import Attack

HERE = Path(__file__).parent

# These take seconds each: `make attacks` runs them, and `.ci/run`.
SLOW = frozenset(
    {
        "csv-cell",
        "csv-wide",
        "dolma-emoji-broken",
        "dolma-many-findings",
        "join-converted",
        "join-data",
        "list-of-paths",
        "page-of-comments",
        "parquet-list",
        "pattern-of-many-fields",
        "tar-many-members",
        "tar-pax-global",
        "time-bad-lines",
        "time-file-sets-of-a-folder",
        "time-lines-of-numbers",
        "time-references-in-a-row",
        "time-ring-of-containers",
        "time-types-that-the-context-lost",
        "time-unknown-names",
        "zip-bz2",
        "zip-lzma",
        "zstd-skippable-frames",
    }
)


def attacks() -> list[Attack]:
    modules = sorted(path.stem for path in HERE.glob("cases_*.py"))
    return [attack for module in modules for attack in import_module(f"security.{module}").ATTACKS]


@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups and limits of POSIX systems")
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_no_promise_is_broken(attack: Attack, tmp_path: Path) -> None:
    if attack.name in SLOW and "CORPUSFMT_ATTACKS" not in os.environ:
        pytest.skip("takes seconds: CORPUSFMT_ATTACKS is not set")
    outcome = attack.run(tmp_path)
    outcome.keeps_every_promise(attack)
    attack.promise(outcome)


def test_each_attack_has_a_name_of_its_own() -> None:
    names = [attack.name for attack in attacks()]
    assert len(set(names)) == len(names)
    assert set(names) >= SLOW
