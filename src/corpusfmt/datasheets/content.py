"""Internal: What is in a datasheet, and where it comes from."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from corpusfmt._resources import resource
from corpusfmt.datasheets.options import Sheet
from corpusfmt.io.paths import Entry, entry_of, read_named
from corpusfmt.io.text import json_object
from corpusfmt.manifest.claims import check_claims
from corpusfmt.manifest.model import NAME, VERIFICATION, Manifest
from corpusfmt.manifest.read import Refused, content_of, read_manifest
from corpusfmt.manifest.rules import RULES
from corpusfmt.manifest.statements import SUMMARY
from corpusfmt.model import Document, Json, Report, UsageError
from corpusfmt.options import like, takes_options
from corpusfmt.reading import Documents, read
from corpusfmt.report.saved import load
from corpusfmt.report.text import coverage_line, verdict_line
from corpusfmt.rules import Grading, Judge
from corpusfmt.statistics.options import OPTIONAL, Counting
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.run import statistics_of
from corpusfmt.wording import clipped

#: The documents at the start of each shard among which samples are chosen.
HEADS = 100
#: The largest languages have samples.
MOST_LANGUAGES = 50
_MOST_CHARACTERS = 1_500
_DESCRIPTION = "croissant.json"
#: Properties of a description, in this order.
_PROPERTIES = (
    ("name", "name"),
    ("description", "description"),
    ("version", "version"),
    ("license", "licence"),
    ("url", "address"),
    ("creator", "creator"),
    ("publisher", "publisher"),
    ("datePublished", "published"),
    ("citeAs", "cite as"),
    ("keywords", "keywords"),
)
_MOST_ROWS, _MOST_NAMES = 200, 10
_MOST_BYTES = 64 * 1024 * 1024


class Outcome(Struct, frozen=True):
    """A verdict, the file that states it, what was checked, and findings: rule, severity if it is known, and number."""

    verdict: str
    stated_by: str
    lines: Sequence[str]
    findings: Sequence[tuple[str, str, int]]


class Datasheet(Struct, frozen=True):
    """What a corpus is. `statistics` conform to `schemas/stats/stats.schema.json`.

    `properties` are those of its description, `provenance` the entries of its manifest, by name; both may be empty. `notes` say
    why something that exists is not used.
    """

    title: str
    statistics: Json
    properties: Mapping[str, str]
    samples: Mapping[str, Sequence[Document]]
    outcome: Outcome | None
    provenance: Mapping[str, str]
    notes: Sequence[str]

    def to_html(self) -> str:
        """Return a page that requests nothing."""
        from corpusfmt.datasheets.web import html  # noqa: PLC0415 - is made of these values

        return "".join(f"{line}\n" for line in html(self))


@takes_options(Sheet)
def datasheet(path: str | Path, asked: Sheet) -> Datasheet:
    """Return the datasheet of a corpus, whose `to_html` is a page for a browser.

    `statistics` are those of `stats`, or a file with them, instead of counting again; `verdict` is a report of `validate`, also a
    saved one, in place of the verification summary in the release. `samples` is the number of documents of each language. The
    other arguments are those of `stats`. Raises what `stats` and `read` raise.
    """
    outcome = None
    if isinstance(asked.verdict, Report):
        outcome = _reported("validate", asked.verdict)
    elif asked.verdict is not None:
        outcome = _reported(Path(asked.verdict).name, load(asked.verdict))
    if isinstance(asked.statistics, Statistics):
        counted = asked.statistics.to_dict()
    elif asked.statistics is not None:
        counted = saved_statistics(asked.statistics)
    else:
        counted = statistics_of(str(path), like(Counting, asked, count=OPTIONAL)).to_dict()
    entry = entry_of(str(path))
    notes: list[str] = []
    properties: dict[str, str] = {}
    provenance: dict[str, str] = {}
    if entry.kind == "directory":
        properties = dict(_properties(entry, notes))
        judge = Judge(RULES, Grading(), version="", path=NAME)
        listed = entry.child(NAME)
        if listed is not None and (manifest := read_manifest(listed, judge)) is not None:
            provenance = dict(list(_entries(manifest.whole))[:_MOST_ROWS])
            outcome = outcome or _verified(entry, manifest, judge)
        notes += [f"{each.location}: {each.code} {each.message}" for each in judge.tally.findings]
    languages = list(counted["languages"])[:MOST_LANGUAGES]
    names = ("format", "record_set", "columns", "field", "follow_links", "limits")
    documents = read(path, on_error="skip", **{name: getattr(asked, name) for name in names})
    shown = _samples(documents, languages, asked.samples)
    title = properties.get("name") or posixpath.basename(str(path).rstrip("/")) or str(path)
    return Datasheet(title, counted, properties, shown, outcome, provenance, notes)


def _properties(folder: Entry, notes: list[str]) -> Iterator[tuple[str, str]]:
    entry = folder.child(_DESCRIPTION)
    if entry is None:
        return
    try:
        found = json_object(content_of(entry))
    except (OSError, Refused) as error:
        notes.append(f"{_DESCRIPTION}: {error}")
        return
    if found is None:
        notes.append(f"{_DESCRIPTION}: not a JSON object")
    for name, title in _PROPERTIES:
        if said := _said((found or {}).get(name)):
            yield title, clipped(said, _MOST_CHARACTERS)


def _said(value: Any) -> str:
    """Return a property of schema.org as text: for things, their names or addresses."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, value[:_MOST_NAMES])))
    if isinstance(value, dict):
        return next((each for name in ("name", "url", "@id", "@value") if isinstance(each := value.get(name), str)), "")
    return value if isinstance(value, str) else ""


def _reported(name: str, report: Report) -> Outcome:
    kind = f"{report.format} {report.version}".strip()
    lines = [verdict_line(report), f"{kind} · {coverage_line(report.coverage)}"]
    if report.finished:
        lines.append(f"finished {report.finished}")
    by_severity = report.by_severity.items()
    findings = [(code, str(severity), count) for code, each in by_severity for severity, count in each.items()]
    return Outcome(report.verdict.value, name, lines, findings)


def _verified(folder: Entry, manifest: Manifest, judge: Judge) -> Outcome | None:
    """Return what the verification summary next to a manifest says, unless it contradicts the manifest."""
    claims = check_claims(folder, manifest, judge, names=(VERIFICATION,))
    found = claims.statements.get(VERIFICATION)
    if found is None or VERIFICATION in claims.wrong:
        return None
    summary, result = found.predicate.get(SUMMARY), found.predicate["verificationResult"]
    if not isinstance(summary, dict):
        return Outcome(result, VERIFICATION, [f"verified by {found.predicate['verifier']['id']}"], [])
    lines = [f"{name}: {text}" for name, text in _entries(summary) if not name.startswith(("byRule", "verdict"))]
    by_rule = summary.get("byRule")
    pairs = by_rule.items() if isinstance(by_rule, dict) else ()
    findings = [(code, "", count) for code, count in pairs if isinstance(count, int)]
    return Outcome(str(summary.get("verdict", result)), VERIFICATION, lines, findings)


_NOT_PROVENANCE = frozenset({"schema", "files", "unlisted"})


def _entries(whole: Json) -> Iterator[tuple[str, str]]:
    """Yield the values of an object as text, with the names that lead to them."""
    for name, value in whole.items():
        if name in _NOT_PROVENANCE:
            continue
        if isinstance(value, dict):
            yield from ((f"{name} · {rest}", text) for rest, text in _entries(value))
        elif isinstance(value, list):
            if value:
                yield name, _enumerated(value)
        elif value is not None:
            shown = (
                f"{value:,}" if type(value) in {int, float} else json.dumps(value) if isinstance(value, bool) else value
            )
            yield name, clipped(str(shown), _MOST_CHARACTERS)


def _enumerated(values: Sequence[Any]) -> str:
    """Return the number of things with the first names, and the sums of their numbers."""
    names = [str(each.get("name", "")) if isinstance(each, dict) else str(each) for each in values[:_MOST_NAMES]]
    more = ", …" if len(values) > _MOST_NAMES else ""
    sums: dict[str, int] = {}
    for each in values:
        for name, number in each.items() if isinstance(each, dict) else ():
            if type(number) is int:
                sums[name] = sums.get(name, 0) + number
    listed = "".join(f", {name} {number:,}" for name, number in sums.items())
    return clipped(f"{len(values):,}{listed}: {', '.join(names)}{more}", _MOST_CHARACTERS)


def _samples(documents: Documents, languages: Iterable[str], most: int) -> dict[str, list[Document]]:
    """Return random documents by language: reservoirs over the heads of all shards, the same in each run."""
    chosen: dict[str, list[Document]] = {language: [] for language in languages}
    seen = dict.fromkeys(chosen, 0)
    random = Random(0)
    for document in documents.heads(HEADS) if most else ():
        language = document.lang or ""
        if language not in chosen:
            continue
        place = seen[language] if seen[language] < most else random.randint(0, seen[language])
        seen[language] += 1
        if place < most:
            document.text = clipped(document.text, _MOST_CHARACTERS)
            chosen[language][place : place + 1] = [document]
    return chosen


def saved_statistics(path: str | Path) -> Json:
    """Return statistics in the form of `schemas/stats/stats.schema.json`. Raises `UsageError` for a file that has none."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only this option needs it

    try:
        found = json_object(read_named(path, _MOST_BYTES, "statistics"))
    except OSError as error:
        raise UsageError(f"cannot read the statistics {path}: {error.strerror}") from error
    if found is None:
        raise UsageError(
            f"{path} is not the JSON of `corpusfmt stats`: not a JSON object of numbers in the range of 64-bit floats"
        )
    schema = json.loads(resource("schemas", "stats/stats.schema.json").read_bytes())
    complaints = [clipped(error.message) for error in Draft202012Validator(schema).iter_errors(found)]
    if not complaints and not all(map(_is_whole, _numbers_in(found))):
        complaints = ["lengths without quantiles or a histogram"]
    if complaints:
        raise UsageError(f"{path} is not the JSON of `corpusfmt stats`: {complaints[0]}")
    return found


def _numbers_in(value: Any) -> Iterator[Json]:
    """Yield the objects about numbers: lengths, scores, values."""
    if isinstance(value, dict):
        if "number" in value:
            yield value
        for each in value.values():
            yield from _numbers_in(each)


def _is_whole(numbers: Json) -> bool:
    if not numbers["number"]:
        return True
    histogram = numbers.get("histogram", {})
    return (
        {"min", "max", "mean", "quantiles", "relative_error"} <= numbers.keys()
        and "0.5" in numbers["quantiles"]
        and 0 < len(histogram.get("from", ())) == len(histogram["count"])
    )
