"""A page for each rule, from its docstring, its grades, the list of codes and the fixtures; and a page that lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import make_rules

from corpusfmt.cli.catalogue import grades_of, known_rules
from corpusfmt.model import Check, Rule
from website import pages as written
from website.examples import FIXTURES, Case, cases, difference, example, shortened

_FIXTURES = "https://github.com/corpusfmt/corpusfmt/tree/main/tests/fixtures"
_MOST_FINDINGS = 3
_MOST_NEAR = 5

Owned = tuple[list[str], Rule]


def pages() -> dict[str, str]:
    """Return the page of each rule, of each retired code, and the list of all, by path on the site."""
    known = {code: ([name for name, _ in owners], owners[0][1]) for code, owners in sorted(known_rules().items())}
    listed = {code: rest for code, *rest in make_rules.listed()}
    made = {f"rules/{code}.md": _joined(_page(owned, listed[code][1])) for code, owned in known.items()}
    retired = {code: rest for code, rest in listed.items() if code not in known}
    made |= {f"rules/{code}.md": _joined(_retired(code, *rest)) for code, rest in retired.items()}
    return made | {"rules/index.md": _joined(_list(known))}


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _list(known: dict[str, Owned]) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "A code keeps its meaning for good. Severities are graded by [profiles](../profiles.md) and by settings."
    for title, codes in make_rules.grouped(known):
        yield from ("", f"## {title}", "", "| rule | severity | defect |", "|---|---|---|")
        for code in codes:
            rule = known[code][1]
            summary = make_rules.summary_of(rule).replace("|", "\\|")
            yield f"| [{code}]({code}.md) <br> {rule.slug} | {rule.severity} | {summary} |"


def _page(owned: Owned, since: str) -> Iterator[str]:
    owners, rule = owned
    yield f"# {rule.code} {rule.slug}"
    yield ""
    summary, parts = make_rules.parts_of(rule)
    yield summary
    yield ""
    yield from _facts(owners, rule, since)
    for head, text in parts.items():
        yield from ("", f"## {head}", "", _sentence(text))
    shown = example(rule.code)
    if (written.REPOSITORY / written.EXAMPLES / f"{rule.code}.md").exists():
        yield from ("", written.adapted(f"{written.EXAMPLES}{rule.code}.md", f"rules/{rule.code}.md").strip())
    elif shown:
        yield from _failing(rule, *shown)
    near = [each for each in cases() if rule.code in each.near and each not in (shown or ())]
    if near:
        yield from ("", "## Not reported", "", "These tested cases come close, and the rule does not fire:", "")
        yield from (f"- {_link(each)}" for each in sorted(near[:_MOST_NEAR], key=lambda each: each.path))


def _facts(owners: list[str], rule: Rule, since: str) -> Iterator[str]:
    facts = {
        "Severity": "; ".join([rule.severity, *grades_of(rule)]),
        "Checked in": ", ".join(owners),
        "Since": since,
        "Specification": _specification(rule.spec),
        "Needs": _codes(rule.requires),
        "Unless": _codes(rule.unless) if isinstance(rule, Check) else "",
        "On the command line": f"`corpusfmt rule {rule.code}`",
    }
    yield from (f"- {name}: {fact}" for name, fact in facts.items() if fact)


# Where each specification is, by how rules name it; `{}` is the place in it.
_SPECIFICATIONS = {
    r"croissant-(1\.[01])(#.+)?": "https://docs.mlcommons.org/croissant/docs/croissant-spec-{}.html{}",
    r"croissant-geo-1\.0": "https://docs.mlcommons.org/croissant/docs/croissant-geo-spec.html",
    r"croissant-tasks": "https://github.com/mlcommons/croissant",
    r"dolma-data-format(#.+)?": "https://github.com/allenai/dolma/blob/main/docs/data-format.md{}",
    r"(?i)oscar.schema.v.*": "https://oscar-project.github.io/documentation/",
    r"hub(#.+)?": "../hub.md{}",
    r"RFC 8259, section (.+)": "https://www.rfc-editor.org/rfc/rfc8259#section-{}",
    r"JSON-LD 1\.1, .*": "https://www.w3.org/TR/json-ld11/",
    r"JSON-LD 1\.1 API, .*": "https://www.w3.org/TR/json-ld11-api/",
    r"RDF 1\.1 Turtle, .*": "https://www.w3.org/TR/turtle/",
    r"WARC 1\.1, .*": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    r"Common Crawl, WET": "https://commoncrawl.org/get-started",
}


def _specification(name: str) -> str:
    """Return the name of a specification and a place in it, as a link if it is published."""
    for pattern, address in _SPECIFICATIONS.items():
        if found := re.fullmatch(pattern, name):
            return f"[{name.replace('<', '&lt;')}]({address.format(*(each or '' for each in found.groups()))})"
    return name


def _sentence(text: str) -> str:
    """Return text after a colon as a sentence of its own; names of programs stay as they are."""
    return text if text.startswith(("corpusfmt", "goclassy", "mlcroissant")) else text[:1].upper() + text[1:]


def _codes(codes: Iterator[str] | frozenset[str]) -> str:
    return ", ".join(f"[{code}]({code}.md)" for code in sorted(codes))


def _failing(rule: Rule, case: Case, repaired: Case | None) -> Iterator[str]:
    yield from (
        "",
        "## Failing example",
        "",
        f"The tested case {_link(case)} of {case.format} {case.version} reports:",
        "",
    )
    yield "```text"
    for finding in [each for each in case.findings if each["rule"] == rule.code][:_MOST_FINDINGS]:
        at = ":".join(str(each) for each in (finding["path"], finding.get("line"), finding.get("column")) if each)
        yield shortened(f"{at}: {rule.code} {case.severities[rule.code]} {rule.slug}: {finding['message']}")
        yield shortened(f"  help: {finding['hint']}")
    yield "```"
    if repaired:
        yield from ("", "## Fixed version", "", f"In {_link(repaired)} the rule does not fire:", "", "```diff")
        yield from difference(case, repaired)
        yield "```"


def _link(case: Case) -> str:
    return f"[{case.name}]({_FIXTURES}/{case.path.relative_to(FIXTURES).as_posix()})"


def _retired(code: str, slug: str, since: str, *_: str) -> Iterator[str]:
    yield f"# {code} {slug}"
    yield ""
    yield f"This rule was added in {since} and no longer exists. Its code is not used again."
