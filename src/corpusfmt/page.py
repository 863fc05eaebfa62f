"""Internal: Pages for a browser: one file that requests nothing, in light and dark, with charts whose numbers are next to them.

A page says in a policy that nothing may be loaded, and which script is its own: markup in data that was not escaped would
still not run.
"""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from corpusfmt.wording import markup

# Rows of a table that are shown from the start; the style has the next one.
_FIRST_ROWS = 10
# Contrasts are at least 4.5 to 1 for text and 3 to 1 for bars in both schemes (WCAG 2.2, 1.4.3 and 1.4.11).
_STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1b1b1f;--faint:#5c5f66;--line:#d5d7db;--soft:#f3f4f6;--bar:#4a76a8;
--error:#b3261e;--warning:#855300;--info:#0b57a4;--good:#146c2e}
@media screen and (prefers-color-scheme:dark){:root{--back:#17181b;--text:#e6e7ea;--faint:#a9adb5;--line:#3b3e45;--soft:#222429;
--bar:#7ea6d8;--error:#ffb4ab;--warning:#f5c26b;--info:#9ecaff;--good:#8fd8a0}}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:75rem;padding:1.5rem;background:var(--back);color:var(--text)}
h1{margin:0}h2{font-size:1.15rem;margin:1.5rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}[hidden]{display:none}
a{color:var(--info)}code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}
.invalid{color:var(--error)}.incomplete{color:var(--warning)}.valid{color:var(--good)}.faint{color:var(--faint)}
summary{cursor:pointer}
table{border-collapse:collapse}td,th{padding:.1rem .6rem .1rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}tbody th{font-weight:inherit}thead th{border-bottom:1px solid var(--line)}
.wide:has(>label input:not(:checked)) tbody tr:nth-child(n+11){display:none}
svg{fill:var(--bar)}svg.bar{display:block;width:min(16rem,12vw);height:.7rem;margin:.35rem 0}
svg text{fill:var(--text);font:11px system-ui,sans-serif}svg line{stroke:var(--faint);stroke-width:.5}
@media(forced-colors:active){svg{fill:CanvasText}}
@media print{.wide{overflow:visible}.wide>label{display:none}.wide tbody tr:nth-child(n){display:table-row!important}}
"""


def document(title: str, body: Iterable[str], *, style: str = "", script: str = "") -> Iterator[str]:
    """Yield the lines of a page around those of its body; `title` is text, and so escaped."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    runs = f" script-src 'sha256-{digest}';" if script else ""
    policy = f"default-src 'none';{runs} style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f"<title>{markup(title)}</title><style>{_STYLE}{style}</style></head><body><main>"
    yield from body
    yield "</main>"
    if script:
        yield f"<script>{script}</script>"
    yield "</body></html>"


class Column(Struct, frozen=True):
    """A column of a table; `kind` is the class of its cells: text, `n` for numbers, or `bar`."""

    title: str
    kind: str = ""

    @property
    def attribute(self) -> str:
        """The class of its cells as an attribute."""
        return f' class="{self.kind}"' if self.kind else ""


def table(
    title: str, heads: Sequence[Column], rows: Sequence[Sequence[str]], *, sortable: bool = False
) -> Iterator[str]:
    """Yield a table of escaped cells, whose first column names the rows; of many rows, the first are shown until all are asked for."""
    kind = ' class="sortable"' if sortable else ""
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{markup(title)}"><table{kind}><thead><tr>'
    for each in heads:
        yield f'<th scope="col"{each.attribute}>{markup(each.title)}</th>' if each.title else "<td></td>"
    yield "</tr></thead><tbody>"
    for first, *cells in rows:
        shown = "".join(f"<td{head.attribute}>{cell}</td>" for head, cell in zip(heads[1:], cells, strict=True))
        yield f'<tr><th scope="row">{first}</th>{shown}</tr>'
    yield "</tbody></table>"
    if len(rows) > _FIRST_ROWS:
        yield f'<label><input type="checkbox"> Show all {len(rows):,}</label>'
    yield "</div>"


def bar(share: float) -> str:
    """Return a bar of a share of its width, which stands next to its number and is therefore not read out."""
    width = 100 * min(max(share, 0.0), 1.0)
    # An SVG is printed, which the background of an element is not.
    return f'<svg class="bar" aria-hidden="true"><rect width="{width:.1f}%" height="100%"/></svg>'


_WIDTH, _HEIGHT, _BELOW, _ABOVE = 720, 160, 18, 16
_LABEL_WIDTH = 64


def columns(summary: str, numbers: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    """Yield a chart of upright bars: each with a label below, a name that is shown when it is pointed at, and its number.

    `summary` is read out instead of the chart. Labels are left out where they would overlap.
    """
    most = max((number for *_, number in numbers), default=0) or 1
    each = min(_WIDTH / max(len(numbers), 1), _LABEL_WIDTH)
    step = math.ceil(_LABEL_WIDTH / each)
    height = _ABOVE + _HEIGHT + _BELOW
    yield f'<svg class="columns" role="img" aria-label="{markup(summary)}" viewBox="0 0 {_WIDTH} {height}">'
    yield f'<text x="0" y="{_ABOVE - 5}">{most:,.0f}</text><line x1="0" x2="{_WIDTH}" y1="{_ABOVE}" y2="{_ABOVE}"/>'
    for place, (label, name, number) in enumerate(numbers):
        left = place * each
        # What is there is seen, however little it is.
        tall = max(_HEIGHT * number / most, 1) if number else 0
        top = _ABOVE + _HEIGHT - tall
        yield f'<rect x="{left + 1:.1f}" y="{top:.1f}" width="{max(each - 2, 1):.1f}" height="{tall:.1f}">'
        yield f"<title>{markup(name)}: {number:,.0f}</title></rect>"
        if place % step == 0:
            yield f'<text x="{left:.1f}" y="{height - 4}">{markup(label)}</text>'
    yield "</svg>"
