"""Internal: Lines of text for a terminal: rule codes as links to their pages (OSC 8), and colours."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from corpusfmt.model import Severity
from corpusfmt.report.explained import address_of, rules_of

_RESET, _BOLD, _DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
_RED, _GREEN, _YELLOW, _BLUE = (f"\x1b[1;{number}m" for number in (31, 32, 33, 34))
_OF_SEVERITY = {Severity.ERROR: _RED, Severity.WARNING: _YELLOW, Severity.INFO: _BLUE}
# No path at the start of a line can be mistaken for one of these.
_OF_VERDICT = {"VALID": _GREEN, "INVALID": _RED, "INCOMPLETE": _YELLOW, "NO ERRORS IN A SAMPLE": _GREEN}
_VERDICT = re.compile(rf"^(?:{'|'.join(_OF_VERDICT)})(?=:)")
# A finding, or the number of those of a rule.
_STATED = re.compile(rf"^(?P<before>.*?)(?P<what> [A-Z]{{3,4}}[0-9]{{3}} (?P<severity>{'|'.join(Severity)}))(?= )")
_HELP = "  help: "


def with_links(lines: Iterable[str], codes: Collection[str]) -> Iterator[str]:
    """Yield lines in which the first of some rule codes is a link to its page."""
    pages = {code: address_of(rule) for code, rule in rules_of(codes).items()}
    code = re.compile(rf"(?<=[ `])(?:{'|'.join(sorted(pages))})(?=[ `])")
    for line in lines:
        yield code.sub(lambda found: _link(pages[found[0]], found[0]), line, count=1) if pages else line


def _link(address: str, text: str) -> str:
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a report with places, severities, hints and the verdict in colours."""
    for line in lines:
        if line.startswith(_HELP):
            yield f"{_DIM}{line}{_RESET}"
        elif stated := _STATED.match(line):
            before = stated["before"]
            place = f"{_BOLD}{before}{_RESET}" if before.endswith(":") else before
            yield f"{place}{_OF_SEVERITY[Severity(stated['severity'])]}{stated['what']}{_RESET}{line[stated.end() :]}"
        else:
            yield _VERDICT.sub(lambda found: f"{_OF_VERDICT[found[0]]}{found[0]}{_RESET}", line)
