"""Internal: The explanations of the rules that fired, and the addresses of their pages."""

from __future__ import annotations

from collections.abc import Collection

from corpusfmt.model import Rule

#: The newest version of the documentation: a code keeps its meaning, and its page, in all versions.
_SITE = "https://corpusfmt.github.io/latest"


def rules_of(codes: Collection[str]) -> dict[str, Rule]:
    """Return the rules of some codes; a report of another version may have codes that are unknown here."""
    if not codes:
        return {}
    from corpusfmt.formats import formats  # noqa: PLC0415 - imports every format, which only some outputs need
    from corpusfmt.hub.rules import RULES as HUB_RULES  # noqa: PLC0415
    from corpusfmt.manifest.rules import RULES as MANIFEST_RULES  # noqa: PLC0415

    sets = (MANIFEST_RULES, HUB_RULES, *(fmt.rules for fmt in formats().values()))
    return {rule.code: rule for rules in sets for rule in rules if rule.code in codes}


def address_of(rule: Rule) -> str:
    """Return the address of a rule's page."""
    return f"{_SITE}/rules/{rule.code}/"
