"""Every rule has a unique code and slug, a printable explanation, and fixtures that fire and near misses."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest
from support import FIXTURES, REPOSITORY

from corpusfmt import formats
from corpusfmt.cli.catalogue import known_rules
from corpusfmt.hub.rules import RULES as HUB
from corpusfmt.manifest.rules import RULES as MANIFEST
from corpusfmt.model import Check, Rule

# These need more than a folder of files: a crash of our own code, links, limits, keys, inputs of a build, a conversion.
WITHOUT_FIXTURES = {path.stem for path in (REPOSITORY / "docs" / "examples").glob("*.md")}

MAKER = runpy.run_path(str(REPOSITORY / "docs" / "make_rules.py"))
SETS = [MANIFEST, HUB, *(fmt.rules for fmt in formats.formats().values())]
RULES: dict[str, Rule] = {rule.code: rule for rules in SETS for rule in rules}


def test_a_code_is_one_rule_and_a_slug_names_one_in_its_format() -> None:
    for fmt in formats.formats().values():
        slugs = [rule.slug for rule in fmt.rules]
        assert len(set(slugs)) == len(slugs)
        for rule in fmt.rules:
            assert RULES[rule.code].slug == rule.slug


@pytest.mark.parametrize("rule", [owners[0][1] for owners in known_rules().values()], ids=lambda rule: rule.code)
def test_each_rule_is_explained(rule: Rule) -> None:
    for part in ("Why: ", "Example: ", "Fix: "):
        assert part in rule.explanation
    assert rule.explanation.split("\n")[0].strip()
    assert rule.requires <= RULES.keys()


@pytest.mark.parametrize("name", formats.formats())
def test_each_format_has_a_page_with_its_title(name: str) -> None:
    page = (REPOSITORY / "docs" / "formats" / f"{name}.md").read_text("utf-8")
    assert page.partition("\n")[0] == f"# {MAKER['title_of'](name)}"


@pytest.mark.parametrize("name", formats.formats())
def test_required_rules_come_first_on_their_subject(name: str) -> None:
    rules = formats.formats()[name].rules
    for subject in {rule.subject for rule in rules if isinstance(rule, Check)}:
        seen: set[str] = set()
        same = {rule.code for rule in rules.on(subject)}
        for rule in rules.on(subject):
            assert rule.requires & same <= seen, f"{rule.code} is registered before a rule it requires"
            seen.add(rule.code)


def fixtures() -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(FIXTURES.glob("*/*/*/*/expected.json"))]


def test_each_rule_has_a_case_that_fires_and_one_that_must_not() -> None:
    cases = fixtures()
    fires = {finding["rule"] for case in cases for finding in case["findings"]}
    near = {code for case in cases for code in case.get("near_misses", ())}
    expected = RULES.keys() - WITHOUT_FIXTURES
    assert sorted(expected - fires) == []
    assert sorted(expected - near) == []
    assert (fires | near) <= RULES.keys()


def test_the_page_of_rules_is_up_to_date() -> None:
    assert (REPOSITORY / "docs" / "rules.md").read_text("utf-8") == MAKER["page"](), "run make rules"


def test_a_code_keeps_its_slug_for_good() -> None:
    """One that is retired stays listed, with a fourth column that says so, and is not used again."""
    listed = MAKER["listed"]()
    used = [each for each in listed if each[3:] != ["retired"]]
    assert [each[:2] for each in used] == [[code, owners[0][1].slug] for code, owners in sorted(known_rules().items())]
    assert len({code for code, *_ in listed}) == len(listed)
