"""Internal: A report as a page for a browser: the verdict first, then each rule with its findings, to filter and to open.

The page is one file that requests nothing. Without JavaScript, the filters and all but the first findings of a rule are missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc

from corpusfmt.model import Finding, Report, Rule, Severity
from corpusfmt.page import bar, document
from corpusfmt.report.text import checked_line, coverage_line, is_fixable, verdict_line
from corpusfmt.report.view import (
    DEFAULT_VIEW,
    SEVERITIES,
    Entry,
    View,
    address_of,
    folded,
    notes,
    rules_of,
    slugs,
    subject,
    worst_rules_first,
)
from corpusfmt.wording import marked_up, markup, plain, plural

#: The most files or folders that are listed for a rule.
_MOST_PLACES = 10
#: The findings of a rule that are in the page without JavaScript, which displays as many at a time.
_MOST_ROWS = 200
#: Rules are open from the start until so many findings are shown; others show theirs when they are opened.
_MOST_OPEN = 20

_STYLE = """
span.error,.error>code{color:var(--error)}span.warning,.warning>code{color:var(--warning)}span.info,.info>code{color:var(--info)}
form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:1rem 0}
form[hidden]{display:none}label{display:block}
input,select{font:inherit;padding:.2rem .4rem;background:var(--soft);color:var(--text);border:1px solid var(--faint);border-radius:4px}
details.rule{border:1px solid var(--line);border-radius:6px;margin:.4rem 0}
details.rule>div{padding:0 1rem 1rem}
summary{padding:.5rem 1rem}summary b{font-family:ui-monospace,monospace}
.count{float:right;font-variant-numeric:tabular-nums}
.about{white-space:pre-wrap;background:var(--soft);padding:.6rem 1rem;border-radius:6px}
ol{list-style:none;margin:0;padding:0;max-height:36rem;overflow-y:auto}
ol li+li{border-top:1px solid var(--line)}ol li{padding:.35rem 0}p.faint{margin:.3rem 0}
ol li>code{user-select:all;font-weight:600}ol span{display:block}
@media print{form{display:none}ol{max-height:none}}
"""

# Rows are made as they come into view, of those in the page and of those in the data next to them, which is read when it is needed.
_SCRIPT = """
"use strict";
(() => {
  const form = document.querySelector("form"), status = document.querySelector("output"), STEP = 200;
  const indexed = ([severity, count, path, ...words], item) =>
    ({severity, count, item, path: path.toLowerCase(), text: [path, ...words].join("\\n").toLowerCase(), words: [path, ...words]});
  const rules = [...document.querySelectorAll("details.rule")].map((box) => {
    const list = box.querySelector("ol"), found = list ? [...list.children] : [];
    const first = found.map((item) => indexed([item.className, Number(item.dataset.count), ...[...item.children].map((each) => each.textContent)], item));
    return {box, list, first, count: Number(box.dataset.count), wanted: null, code: box.id, severities: box.dataset.severities.split(" ")};
  });
  const rowsOf = (rule) => {
    const further = rule.box.querySelector("script");
    return rule.rows ??= [...rule.first, ...(further ? JSON.parse(further.textContent) : []).map((row) => indexed(row))];
  };
  const element = (name, ...inside) => { const made = document.createElement(name); made.append(...inside); return made; };
  // What stands in backticks is code.
  const marked = (text) => text.split(/`([^`]+)`/).map((part, at) => at % 2 ? element("code", part) : part);
  const made = (row) => {
    if (row.item) return row.item;
    const [path, message, hint] = row.words;
    row.item = element("li", element("code", path), element("span", ...marked(message)), ...(hint ? [element("span", ...marked(hint))] : []));
    row.item.className = row.severity;
    if (hint) row.item.lastChild.className = "faint";
    return row.item;
  };
  const views = new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) { views.unobserve(each.target); extend(each.target.closest("details")); }
  });
  const extend = (box) => {
    const rule = rules.find((each) => each.box === box), {list} = rule, wanted = rule.wanted ?? rowsOf(rule);
    list.append(...wanted.slice(list.childElementCount, list.childElementCount + STEP).map(made));
    if (list.childElementCount < wanted.length) views.observe(list.lastElementChild);
  };
  const refresh = (rule) => {
    if (!rule.list) return;
    rule.list.replaceChildren();
    if (rule.box.open && rule.wanted?.length !== 0) extend(rule.box);
  };
  const apply = () => {
    const path = form.path.value.toLowerCase(), text = form.text.value.toLowerCase(), code = form.rule.value;
    const severities = new Set([...form.querySelectorAll("input:checked")].map((box) => box.name));
    let shown = 0, all = 0;
    for (const rule of rules) {
      const chosen = !code || code === rule.code, whole = !path && !text && rule.severities.every((each) => severities.has(each));
      const keeps = (each) => severities.has(each.severity) && each.path.includes(path) && each.text.includes(text);
      rule.wanted = !chosen ? [] : whole ? null : rowsOf(rule).filter(keeps);
      const count = rule.wanted ? rule.wanted.reduce((sum, each) => sum + each.count, 0) : rule.count;
      rule.box.hidden = !count;
      refresh(rule);
      shown += count;
      all += rule.count;
    }
    status.value = `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} findings`;
  };
  const open = () => { const box = document.getElementById(location.hash.slice(1)); if (box) box.open = true; };
  let waiting = 0;
  form.addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(apply); });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const rule of rules) rule.box.addEventListener("toggle", () => refresh(rule));
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => rules.forEach((rule) => rule.list?.replaceChildren(...(rule.wanted ?? rowsOf(rule)).map(made))));
  form.hidden = false;
  apply();
  open();
  const prepare = ([rule, ...others]) => { if (rule) { rowsOf(rule); setTimeout(prepare, 0, others); } };
  addEventListener("load", () => setTimeout(prepare, 0, rules));
})();
"""


def html(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield a self-contained page with all kept findings."""
    script = _SCRIPT if report.by_severity else ""
    title = f"{subject(report).get('path', 'corpusfmt report')}: {report.verdict.value}"
    yield from document(title, _body(report), style=_STYLE, script=script)


def _body(report: Report) -> Iterator[str]:
    verdict = report.verdict.value
    about = subject(report)
    yield f'<h1>{markup(about.pop("path", "corpusfmt"))}: <span class="{verdict}">{verdict}</span></h1>'
    yield f"<p>{verdict_line(report, markup, lambda command: f'<code>{markup(command)}</code>')}</p>"
    checked = checked_line(report)
    extent = coverage_line(report.coverage) + (f" · {markup(checked)}" if checked else "")
    yield f'<p class="faint">{extent}</p>'
    yield f'<p class="faint">{" · ".join(f"{name} {markup(text)}" for name, text in about.items())}</p>'
    if counts := report.by_severity:
        yield from _rules(report, counts)
    if listed := notes(report):
        yield "<h2>What qualifies the verdict</h2><ul>"
        yield from (f"<li>{marked_up(note.line())}</li>" for note in listed)
        yield "</ul>"


def _rules(report: Report, counts: Mapping[str, Mapping[Severity, int]]) -> Iterator[str]:
    """Yield the filters, and a box for each rule that fired: errors first, then the most frequent."""
    kept: dict[str, list[Finding]] = {}
    for finding in report.findings:
        kept.setdefault(finding.code, []).append(finding)
    known, named = rules_of(counts), slugs(report)
    ordered = worst_rules_first(counts)
    yield from _filters(ordered, counts)
    shown = 0
    for code in ordered:
        found, opened = kept.get(code, []), " open" if shown < _MOST_OPEN else ""
        shown += len(found)
        yield from _rule(report, code, counts[code], found, known.get(code), named.get(code, ""), opened)


def _filters(codes: Iterable[str], counts: Mapping[str, Mapping[Severity, int]]) -> Iterator[str]:
    present = {severity for each in counts.values() for severity in each}
    options = "".join(f"<option>{code}</option>" for code in codes)
    yield '<form hidden><label>Text <input type="search" name="text"></label>'
    yield '<label>Path <input type="search" name="path"></label>'
    yield f'<label>Rule <select name="rule"><option value="">all</option>{options}</select></label>'
    for severity in SEVERITIES:
        if severity in present:
            yield f'<label><input type="checkbox" name="{severity}" checked> {severity}</label>'
    yield '<output aria-live="polite"></output></form>'


def _rule(
    report: Report,
    code: str,
    counts: Mapping[Severity, int],
    kept: Sequence[Finding],
    rule: Rule | None,
    slug: str,
    opened: str,
) -> Iterator[str]:
    total = sum(counts.values())
    entries = folded(kept, by_file=True)
    counted = {each: f"{n:,} info" if each is Severity.INFO else plural(n, each) for each, n in counts.items()}
    listed = ", ".join(f'<span class="{each}">{text}</span>' for each, text in counted.items())
    explanation = cleandoc(rule.explanation) if rule is not None else ""
    title = explanation.partition("\n")[0]
    yield f'<details class="rule" id="{code}" data-severities="{" ".join(counts)}" data-count="{total}"{opened}>'
    yield f'<summary><span class="count">{listed}</span><b>{code}</b> {markup(slug)}'
    yield f'<span class="faint"> {marked_up(title)}</span></summary><div>'
    yield from _findings(View(len(entries), info=True).of(entries))
    if left := total - sum(each.count for each in kept):
        yield f"<p>{left:,} more were counted but not kept.</p>"
    yield from _places(report, code)
    if rule is not None:
        about = "\n".join(map(marked_up, explanation.partition("\n")[2].strip().split("\n")))
        yield f'<p class="about">{about}</p><p><a href="{address_of(rule)}">{code} in the documentation</a></p>'
    yield "</div></details>"


def _places(report: Report, code: str) -> Iterator[str]:
    """Yield the counts of a rule by file, or by folder if it fired in many files, as bars."""
    files = Counter({path: codes[code] for path, codes in report.by_path.items() if code in codes})
    if len(files) < 2:
        return
    places: Counter[str] = Counter()
    for path, count in files.items():
        places[path if len(files) <= _MOST_PLACES else path.rpartition("/")[0] or "."] += count
    most = max(places.values())
    yield "<table>"
    for place, count in sorted(places.items(), key=lambda each: (-each[1], each[0]))[:_MOST_PLACES]:
        yield f'<tr><td><code>{markup(place)}</code></td><td class="n">{count:,}</td><td>{bar(count / most)}</td></tr>'
    yield "</table>"
    if len(places) > _MOST_PLACES:
        yield f"<p>{plural(len(places) - _MOST_PLACES, 'more folder')}</p>"


def _findings(findings: Sequence[Entry]) -> Iterator[str]:
    """Yield the first findings as a list, and the others as data for the script, which makes rows of them as they come into view."""
    if not findings:
        return
    yield '<ol tabindex="0">'
    for severity, count, place, message, hint in map(_row, findings[:_MOST_ROWS]):
        help_ = f'<span class="faint">{marked_up(hint)}</span>' if hint else ""
        yield f'<li class="{severity}" data-count="{count}">'
        yield f"<code>{markup(place)}</code><span>{marked_up(message)}</span>{help_}</li>"
    yield "</ol>"
    if further := findings[_MOST_ROWS:]:
        rows = ([plain(part) if isinstance(part, str) else part for part in _row(each)] for each in further)
        # Nothing in it may end the element.
        data = ",\n".join(json.dumps(row, ensure_ascii=False).replace("<", "\\u003c") for row in rows)
        yield f"<noscript><p>{len(further):,} more are listed with JavaScript.</p></noscript>"
        yield f'<script type="application/json">[{data}]</script>'


def _row(entry: Entry) -> tuple[str, int, str, str, str]:
    first = entry.first
    hint = first.hint and f"help: {first.hint}{' [*]' if is_fixable(first) else ''}"
    return str(first.severity), entry.count, str(first.location), f"{first.message}{entry.times}", hint
