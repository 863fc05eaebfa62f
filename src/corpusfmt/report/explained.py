"""Internal: The explanations of the rules that fired, and the addresses of their pages."""

from __future__ import annotations

from collections.abc import Collection

from corpusfmt.model import Rule

_RULES_PAGE = "https://github.com/corpusfmt/corpusfmt/blob/main/docs/rules.md"


def rules_of(codes: Collection[str]) -> dict[str, Rule]:
    """Return the rules of some codes; a report of another version may have codes that are unknown here."""
    if not codes:
        return {}
    from corpusfmt.formats import formats  # noqa: PLC0415 - imports every format, which only some outputs need
    from corpusfmt.manifest.rules import RULES as MANIFEST_RULES  # noqa: PLC0415

    sets = (MANIFEST_RULES, *(fmt.rules for fmt in formats().values()))
    return {rule.code: rule for rules in sets for rule in rules if rule.code in codes}


def address_of(rule: Rule) -> str:
    """Return the address of a rule's explanation."""
    return f"{_RULES_PAGE}#{rule.code}-{rule.slug}".lower()
