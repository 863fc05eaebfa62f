"""Every attack of every `cases_*.py` beside this file, run as a user would run the command."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest
from security.attacks import Attack

HERE = Path(__file__).parent


def attacks() -> list[Attack]:
    modules = sorted(path.stem for path in HERE.glob("cases_*.py"))
    return [attack for module in modules for attack in import_module(f"security.{module}").ATTACKS]


@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups and limits of POSIX systems")
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_no_promise_is_broken(attack: Attack, tmp_path: Path) -> None:
    outcome = attack.run(tmp_path)
    outcome.keeps_every_promise(attack)
    attack.promise(outcome)


def test_each_attack_has_a_name_of_its_own() -> None:
    names = [attack.name for attack in attacks()]
    assert len(set(names)) == len(names)
