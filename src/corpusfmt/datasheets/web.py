"""Internal: A datasheet as a page for a browser.

Every chart has its numbers in a table next to it, and says how much of the corpus it does not show. Without JavaScript, everything
is there except the sorting of tables and the names of languages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from corpusfmt.datasheets.content import HEADS, MOST_LANGUAGES, Datasheet
from corpusfmt.formats.describing import BCP_47
from corpusfmt.formats.languages import LABELS
from corpusfmt.model import Json
from corpusfmt.page import Column, bar, columns, document, table
from corpusfmt.report.text import human_size
from corpusfmt.statistics.sizes import LENGTHS
from corpusfmt.wording import clipped, markup, plural

#: Groups, domains and lines that a table lists.
_MOST_ROWS = 100
#: Months that are drawn one by one; more are drawn by year.
_MOST_MONTHS = 120
_SCORE_COLUMNS = 20
_MOST_OF_A_LINE = 100
_FURTHER = "…"
_MONTH = re.compile(r"(\d{4})-(\d\d)")

_STYLE = """
nav a{margin-right:1rem}
.partly{border:2px solid var(--warning);border-radius:6px;padding:.4rem 1rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.75rem;margin:1rem 0}
.cards div{border:1px solid var(--line);border-radius:6px;padding:.6rem 1rem;background:var(--soft)}
.cards dd{font-size:1.5rem;font-weight:600;font-variant-numeric:tabular-nums}
dl:not(.cards){display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
figure{margin:0 0 1rem}figcaption{color:var(--faint)}svg.columns{display:block;width:100%;max-width:60rem}
th button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th[aria-sort=ascending] button::after{content:" ▲" / ""}th[aria-sort=descending] button::after{content:" ▼" / ""}
blockquote{margin:.5rem 0;padding:.6rem 1rem;background:var(--soft);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
@media print{body{max-width:none;padding:0}nav{display:none}figure,tr,blockquote{break-inside:avoid}}
"""

# A table is sorted by what its cells say; what is hidden on the screen is printed.
_SCRIPT = """
"use strict";
(() => {
  const number = (text) => { const found = parseFloat(text.replaceAll(",", "")); return Number.isNaN(found) ? -Infinity : found; };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, column) => {
      if (!head.textContent || head.dataset.unsorted !== undefined) return;
      const button = document.createElement("button"), isNumber = head.classList.contains("n");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.ariaSort ? head.ariaSort === "ascending" : isNumber, text = (row) => row.cells[column].textContent;
        const compare = isNumber ? (a, b) => number(text(a)) - number(text(b)) : (a, b) => text(a).localeCompare(text(b), "en");
        for (const each of heads) each.removeAttribute("aria-sort");
        head.ariaSort = falls ? "descending" : "ascending";
        body.append(...[...body.rows].sort((a, b) => falls ? compare(b, a) : compare(a, b)));
      });
    });
  }
  const names = new Intl.DisplayNames("en", {type: "language", fallback: "none"});
  for (const each of document.querySelectorAll("[data-language]")) {
    try { each.append(`\\u00a0${names.of(each.dataset.language) ?? ""}`); } catch { each.remove(); } // not the tag of a language
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of closed) each.open = false; });
})();
"""


def html(sheet: Datasheet) -> Iterator[str]:
    """Yield a self-contained page."""
    yield from document(f"{sheet.title}: datasheet", _body(sheet), style=_STYLE, script=_SCRIPT)


def _body(sheet: Datasheet) -> Iterator[str]:
    found = sheet.statistics
    yield f"<h1>{markup(sheet.title)}</h1>"
    kind, shards = f"{found['format']} {found['version']}".strip(), plural(found["coverage"]["shards"], "shard")
    about = " · ".join((found["path"], kind, shards, f"corpusfmt {found['tool']['version']}"))
    yield f'<p class="faint">{markup(about)}</p>'
    yield '<dl class="cards">'
    yield from (f"<div><dt>{name}</dt><dd>{number}</dd></div>" for name, number in _key_numbers(found))
    yield "</dl>"
    if partly := not_counted(found):
        yield f'<p class="partly" role="note">Not everything is counted: {markup(partly)}.</p>'
    parts: dict[str, Iterator[str]] = {
        "What it is": _what(sheet),
        "Verdict": _verdict(sheet),
        "How much": _how_much(found),
        "Languages": _groups(found, "languages", "language"),
        "Lengths": _lengths(found),
        "Domains": _domains(found),
        "Dates": _dates(found),
        "Repetition": _repetition(found),
        "Language confidence": _confidence(found),
        "Scripts": _scripts(found),
        "Samples": _samples(sheet),
        "Provenance": _provenance(sheet),
        "Not counted": _missing(sheet),
    }
    written = [(title, title.lower().replace(" ", "-"), lines) for title, part in parts.items() if (lines := [*part])]
    links = "".join(f'<a href="#{anchor}">{title}</a>' for title, anchor, _ in written)
    yield f'<nav aria-label="Parts">{links}</nav>'
    for title, anchor, lines in written:
        yield f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>'
        yield from lines
        yield "</section>"


def _key_numbers(found: Json) -> Iterator[tuple[str, str]]:
    yield "documents", f"{found['documents']:,}"
    yield "text", human_size(found["bytes"])
    yield from ((unit, f"{found[unit]:,}") for unit in ("words", "tokens") if unit in found)
    for name in ("languages", "sources"):
        if (number := len(set(found[name]) - {"", _FURTHER})) > 1:
            yield name, f"{number:,}{'+' if _FURTHER in found[name] else ''}"
    if domains := found.get("domains"):
        yield "domains", f"{domains['distinct']:,}"
    if repeats := found.get("repeats"):
        yield "repeated lines", f"{repeats['lines']['share']:.1%}"


def not_counted(found: Json) -> str:
    """Return what of a corpus the statistics do not count; empty if they count everything."""
    coverage = found["coverage"]
    parts = []
    if coverage["broken"]:
        whole = f"{coverage['whole_shards']:,} of {plural(coverage['shards'], 'shard')}"
        parts.append(f"only {whole} could be read to the end, and what is in the rest of the others is unknown")
    if coverage["rejected"]:
        parts.append(f"{plural(coverage['rejected'], 'record')} could not be read as documents")
    parts += [f"{what}, {plural(count, 'time')}" for what, count in coverage["left_out"].items()]
    return "; ".join(parts)


def _what(sheet: Datasheet) -> Iterator[str]:
    found = sheet.statistics
    yield from _list({"format": f"{found['format']} {found['version']}".strip(), **sheet.properties})
    lacking = [name for name in ("description", "licence", "creator", "version") if name not in sheet.properties]
    if lacking:
        yield f'<p class="faint">Not stated by a <code>croissant.json</code> in the corpus: {", ".join(lacking)}.</p>'


def _verdict(sheet: Datasheet) -> Iterator[str]:
    found = sheet.outcome
    if found is None:
        yield (
            "<p>No verdict is known: run <code>corpusfmt validate CORPUS --report json=report.json</code> and pass "
            "<code>--verdict report.json</code>, or <code>corpusfmt seal --attest</code>.</p>"
        )
        return
    kind = {"passed": "valid", "failed": "invalid"}.get(found.verdict.lower(), found.verdict)
    shown = f'<strong class="{kind}">{found.verdict}</strong>' if kind in {"valid", "invalid", "incomplete"} else ""
    yield f"<p>{shown or markup(found.verdict)}, stated by <code>{markup(found.stated_by)}</code></p>"
    yield "<ul>"
    yield from (f"<li>{markup(line)}</li>" for line in found.lines)
    yield "</ul>"
    if found.findings:
        rows = [[f"<code>{markup(code)}</code>", severity, f"{count:,}"] for code, severity, count in found.findings]
        yield from table("Findings by rule", [Column("rule"), Column("severity"), Column("findings", "n")], rows)


def _how_much(found: Json) -> Iterator[str]:
    yield from _list({unit: f"{found[unit]:,}" for unit in _units(found)})
    if tokenizer := found.get("tokenizer"):
        yield f'<p class="faint">Tokens of <code>{markup(tokenizer["name"])}</code>.</p>'
    for title, name in (("source", "sources"), ("variant", "variants")):
        if set(found[name]) - {""}:
            yield f"<h3>By {title}</h3>"
            yield from _groups(found, name, title)


def _units(found: Json) -> list[str]:
    return [unit for unit in ("documents", *LENGTHS) if unit in found]


def _groups(found: Json, name: str, title: str) -> Iterator[str]:
    units, rows = _units(found), []
    for group, size in found[name].items():
        shown = _language(group) if title == "language" else markup(_name(group))
        rows.append((shown, [*(f"{size[unit]:,}" for unit in units), _median(size)], size["bytes"]))
    yield from _bars(f"Text by {title}", title, [*units, "median characters"], rows, found)


def _median(group: Json) -> str:
    lengths = group["lengths"]["characters"]
    return _shown(lengths["quantiles"]["0.5"]) if lengths["number"] else ""


def _bars(
    title: str, first: str, units: Sequence[str], rows: Sequence[tuple[str, list[str], int]], found: Json
) -> Iterator[str]:
    """Yield a table by escaped name whose last two columns are the share of all bytes, and a bar of the bytes."""
    most, total = max((size for *_, size in rows), default=0) or 1, found["bytes"] or 1
    heads = [Column(first), *(Column(unit, "n") for unit in units), Column("share", "n"), Column("", "bar")]
    cells = [[name, *numbers, f"{size / total:.2%}", bar(size / most)] for name, numbers, size in rows[:_MOST_ROWS]]
    yield from table(title, heads, cells, sortable=True)
    further = f" {len(rows) - _MOST_ROWS:,} more are not listed." if len(rows) > _MOST_ROWS else ""
    yield f'<p class="faint">Shares and bars are of bytes.{further}{markup(_partly(found))}</p>'


def _lengths(found: Json) -> Iterator[str]:
    for unit, numbers in found["lengths"].items():
        if unit != "bytes" and numbers["number"] and "histogram" in numbers:
            what = f"{unit} of a document"
            yield from _histogram(what, _by_power(numbers["histogram"]), found, _said(numbers))


def _by_power(histogram: Json) -> list[tuple[str, str, int]]:
    """Return columns that end at powers of two: ranges do not cross these, so that no number is in a wrong one."""
    powers = Counter[int]()
    for start, count in zip(histogram["from"], histogram["count"], strict=True):
        powers[math.floor(math.log2(start)) if start >= 1 else -1] += count
    bars = []
    for power in range(min(powers), max(powers) + 1):
        label = f"{2**power:,}" if power >= 0 else "0"
        title = f"{2**power:,} to {2 ** (power + 1) - 1:,}" if power > 0 else str(power + 1)
        bars.append((label, title, powers[power]))
    return bars


def _said(numbers: Json) -> str:
    quantiles = ", ".join(f"{float(share):.0%} {_shown(value)}" for share, value in numbers["quantiles"].items())
    least, most, mean = (_shown(numbers[name]) for name in ("min", "max", "mean"))
    within = f"quantiles (to within {numbers['relative_error']:.1%})"
    return f"Least {least}, most {most}, mean {mean}; {within}: {quantiles}."


def _shown(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.4g}"


def _histogram(what: str, bars: Sequence[tuple[str, str, int]], found: Json, said: str) -> Iterator[str]:
    """Yield a chart of documents with its caption and its table."""
    highest = max(bars, key=lambda each: each[2])
    summary = f"Documents by {what}: {len(bars)} columns, the highest is {highest[1]} with {highest[2]:,}"
    yield f"<figure><h3>{markup(what[:1].upper() + what[1:])}</h3>"
    yield from columns(summary, bars)
    yield f"<figcaption>{plural(sum(count for *_, count in bars), 'document')}. {markup(said + _partly(found))}</figcaption>"
    yield "<details><summary>Numbers</summary>"
    rows = [[markup(name), f"{count:,}"] for _, name, count in bars if count]
    yield from table(f"Documents by {what}", [Column(what), Column("documents", "n")], rows)
    yield "</details></figure>"


def _domains(found: Json) -> Iterator[str]:
    domains = found.get("domains")
    if not domains or not domains["documents"]:
        return
    yield (
        f"<p>{plural(domains['documents'], 'document')} from {plural(domains['distinct'], 'registered domain')}; "
        f"{plural(domains['without'], 'document')} without an address.</p>"
    )
    rows = [
        (markup(each["domain"]), [f"{each['documents']:,}", f"{each['bytes']:,}"], each["bytes"])
        for each in domains["most"]
    ]
    yield from _bars("Text by domain", "domain", ["documents", "bytes"], rows, found)
    if domains["distinct"] > len(rows):
        yield f'<p class="faint">These are the largest of {domains["distinct"]:,}.</p>'


def _dates(found: Json) -> Iterator[str]:
    total = found["documents"]
    for name in ("created", "added"):
        months = {month: count for month, count in found[name].items() if _MONTH.fullmatch(month)}
        if months:
            dated = sum(months.values())
            said = "" if dated == total else f"{plural(total - dated, 'document')} without a date of ISO 8601."
            yield from _histogram(f"month {name}", _months(months), found, said)
    if found["snapshots"]:
        rows = [[markup(name), f"{count:,}"] for name, count in found["snapshots"].items()]
        yield from table("Documents by snapshot", [Column("snapshot"), Column("documents", "n")], rows, sortable=True)


def _months(months: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Return a column for each month from the first to the last, or for each year if these are many."""
    first, last = (int(month[:4]) * 12 + int(month[5:]) - 1 for month in (min(months), max(months)))
    if last - first < _MOST_MONTHS:
        names = [f"{number // 12:04}-{number % 12 + 1:02}" for number in range(first, last + 1)]
        return [(name, name, months.get(name, 0)) for name in names]
    years = Counter[int]()
    for month, count in months.items():
        years[int(month[:4])] += count
    return [(f"{year:04}", f"{year:04}", years[year]) for year in range(min(years), max(years) + 1)]


def _repetition(found: Json) -> Iterator[str]:
    repeats = found.get("repeats")
    if repeats is None:
        return
    rows = [
        [unit, *(f"{each[name]:,}" for name in ("compared", "repeated")), f"{each['share']:.2%}", bar(each["share"])]
        for unit, each in repeats.items()
    ]
    numbers = (Column(title, "n") for title in ("compared", "repeated", "share"))
    heads = [Column("unit"), *numbers, Column("", "bar")]
    yield from table("Repeats", heads, rows)
    yield f'<p class="faint">Repeated means equal to an earlier one.{markup(_partly(found))}</p>'
    if most := repeats["lines"].get("most"):
        lines = [[f"<code>{markup(clipped(each['line']))}</code>", f"{each['count']:,}"] for each in most]
        yield from table("Most repeated lines", [Column("line"), Column("times", "n")], lines)


def _confidence(found: Json) -> Iterator[str]:
    scores = found["language_scores"]
    if not scores["number"] or "histogram" not in scores:
        return
    counts = Counter[int]()
    for start, count in zip(scores["histogram"]["from"], scores["histogram"]["count"], strict=True):
        counts[min(max(math.floor(start * _SCORE_COLUMNS), 0), _SCORE_COLUMNS - 1)] += count
    bars = []
    for place in range(_SCORE_COLUMNS):
        start, end = place / _SCORE_COLUMNS, (place + 1) / _SCORE_COLUMNS
        bars.append((f"{start:.2f}", f"{start:.2f} to {end:.2f}", counts[place]))
    without = found["documents"] - scores["number"]
    said = f"{_said(scores)} Columns are exact to within {scores['relative_error']:.1%} of a score."
    yield from _histogram("language score", bars, found, said + (f" {without:,} without a score." if without else ""))


def _scripts(found: Json) -> Iterator[str]:
    scripts = found.get("scripts")
    if scripts:
        most = max(scripts.values())
        rows = [[markup(name), f"{count:,}", bar(count / most)] for name, count in scripts.items()]
        heads = [Column("script"), Column("letters", "n"), Column("", "bar")]
        yield from table("Letters by script", heads, rows, sortable=True)
        if partly := _partly(found):
            yield f'<p class="faint">{markup(partly)}</p>'


def _samples(sheet: Datasheet) -> Iterator[str]:
    if not any(sheet.samples.values()):
        return
    chosen = (
        f"Chosen at random from the first {HEADS} documents of each shard, of the {MOST_LANGUAGES} largest languages."
    )
    lacking = [_name(language) for language, found in sheet.samples.items() if not found]
    without = f" There is none of {', '.join(lacking)}." if lacking else ""
    yield f'<p class="faint">{chosen}{markup(without)}</p>'
    for language, documents in sheet.samples.items():
        if documents:
            tag = f' lang="{BCP_47.get(language, language)}"' if language in LABELS else ""
            first = documents[0].text.lstrip().partition("\n")[0]
            shown = first if len(first) <= _MOST_OF_A_LINE else f"{first[:_MOST_OF_A_LINE]}…"
            line = f'<bdi class="faint"{tag}>{markup(shown)}</bdi>'
            yield f"<details><summary>{_language(language)} {line}</summary>"
            for each in documents:
                text = "\n".join(map(markup, each.text.split("\n")))
                yield f'<p><code>{markup(each.id)}</code></p><blockquote dir="auto"{tag}>{text}</blockquote>'
            yield "</details>"


def _provenance(sheet: Datasheet) -> Iterator[str]:
    if sheet.provenance:
        yield "<p>As <code>MANIFEST.json</code> states it.</p>"
        yield from _list(sheet.provenance)
    else:
        yield "<p>There is no manifest: <code>corpusfmt seal</code> writes one.</p>"


def _missing(sheet: Datasheet) -> Iterator[str]:
    coverage = sheet.statistics["coverage"]
    notes = [
        f"{_place(each)}: {each['rule']} {each['message']}; what follows is not counted" for each in coverage["broken"]
    ]
    notes += [f"{_place(each)}: {each['rule']} {each['message']}" for each in coverage["findings"]]
    if coverage["rejected"] > len(coverage["findings"]):
        notes.append(f"{plural(coverage['rejected'] - len(coverage['findings']), 'further record')}")
    notes += [f"{what}, {plural(count, 'time')}" for what, count in coverage["left_out"].items()]
    notes += [f"{path} is next to the data and not counted" for path in coverage["unread"][:_MOST_ROWS]]
    notes += sheet.notes
    if notes:
        yield "<ul>"
        yield from (f"<li>{markup(note)}</li>" for note in notes)
        yield "</ul>"


def _place(finding: Json) -> str:
    return f"{finding['path']}:{finding['line']}" if finding["line"] is not None else str(finding["path"])


def _partly(found: Json) -> str:
    """Return what a chart says of what it does not show."""
    partly = not_counted(found)
    return f" Not everything is counted: {partly}." if partly else ""


def _name(group: str) -> str:
    return {"": "none", _FURTHER: "further ones"}.get(group, group)


def _language(group: str) -> str:
    """Return a language as markup; the script adds the name that the browser has for it."""
    tag = markup(BCP_47.get(group, group))
    return f'{markup(_name(group))}<span data-language="{tag}"></span>' if group not in {"", _FURTHER} else _name(group)


def _list(entries: Mapping[str, str]) -> Iterator[str]:
    yield "<dl>"
    yield from (f"<dt>{markup(name)}</dt><dd>{markup(text)}</dd>" for name, text in entries.items())
    yield "</dl>"
