"""Internal: The explanations of the rules that fired, and the addresses of their pages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

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


def with_links(lines: Iterable[str], codes: Collection[str]) -> Iterable[str]:
    """Return lines for a terminal in which the first of some rule codes is a link to its page (OSC 8)."""
    pages = {code: address_of(rule) for code, rule in rules_of(codes).items()}
    if not pages:
        return lines
    code = re.compile(rf"(?<=[ `])(?:{'|'.join(sorted(pages))})(?=[ `])")
    return (code.sub(lambda found: _link(pages[found[0]], found[0]), line, count=1) for line in lines)


def _link(address: str, text: str) -> str:
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"
