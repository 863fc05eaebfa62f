"""Write what the suite found into docs/performance.md, between the marks of each piece, and draw the plots.

    python benchmarks/page.py

A page names the pieces that it shows: `<!-- bench: convert -->` begins what is generated, `<!-- bench end -->` ends it. With
`<!-- bench: oscar clean -->` only tables are shown whose title begins so.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from measuring import ROOT
from suite import RESULTS

PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
MARKED = re.compile(r"(<!-- bench: ([a-z]+)(?: ([^\n]+))? -->\n)(.*?)(<!-- bench end -->)", re.DOTALL)
LOADED = 1.0

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 60, 34, 190, 44
# Told apart by everybody, and on light and dark ground.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")


def generated(found: Mapping[str, Any], begins: str = "") -> Iterator[str]:
    """Yield the lines that a piece has on the page: the tables whose titles begin so."""
    own = found["machine"]
    busy = f"; the machine was busy with other work (load {found['load']})" if found["load"] > LOADED + 1 else ""
    yield f"Measured {found['measured'].partition(' ')[0]} with `{found['command']}` on {own['processor']}, Python {own['python']}{busy}:"
    for table in found["tables"]:
        title = table["title"]
        if not title.startswith(begins):
            continue
        if title:
            # The name of a file keeps its small letter.
            yield f"\n{title[:1].upper() if title.partition(' ')[0].isalpha() else title[:1]}{title[1:]}:"
        yield f"\n| {' | '.join(table['heads'])} |\n|---|{'---:|' * (len(table['heads']) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in table["rows"])
    if found["text"]:
        yield f"\n```\n{found['text'].strip()}\n```"
    for name in curves(found["runs"]):
        yield f"\n![CPU time against size: {name}](images/performance-{name}.svg)"
    yield ""


def curves(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Points]]:
    """Return by input the cheapest CPU seconds of each job at each size."""
    found: defaultdict[str, defaultdict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        kind, _, source = run["race"].partition(", ")
        if kind == "size":
            found[source][run["contender"]].append((run["megabytes"], min(cpu for cpu, *_ in run["rounds"])))
    return {source: {name: sorted(points) for name, points in jobs.items()} for source, jobs in found.items()}


def plot(title: str, jobs: Mapping[str, Points]) -> str:
    """Return a picture of CPU seconds against megabytes, both logarithmic."""
    every = [point for points in jobs.values() for point in points]
    ranges = [
        (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))) for values in zip(*every, strict=True)
    ]
    (x0, x1), (y0, y1) = ((low, max(high, low + 1)) for low, high in ranges)

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(value) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)

    def text(left: float, top: float, words: str, anchor: str, colour: str = "#7f7f7f") -> str:
        return f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        text(LEFT, TOP - 14, title, "start"),
    ]
    for power in range(x0, x1 + 1):
        at = x(10**power)
        parts.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#7f7f7f" stroke-opacity=".3"/>')
        parts.append(
            text(at, HEIGHT - BOTTOM + 16, f"{10**power / 1000:g} GB" if power > 2 else f"{10**power:g} MB", "middle")
        )
    for power in range(y0, y1 + 1):
        at = y(10**power)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#7f7f7f" stroke-opacity=".3"/>')
        parts.append(text(LEFT - 6, at + 4, f"{10**power:g} s", "end"))
    labels: list[float] = []
    for colour, (name, points) in zip(COLOURS, sorted(jobs.items(), key=lambda job: -job[1][-1][1]), strict=False):
        line = " ".join(f"{x(size):.1f},{y(seconds):.1f}" for size, seconds in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(size):.1f}" cy="{y(seconds):.1f}" r="3" fill="{colour}"/>' for size, seconds in points
        ]
        labels.append(max(y(points[-1][1]) + 4, *(each + 15 for each in labels[-1:]), TOP))
        parts.append(text(WIDTH - RIGHT + 8, labels[-1], name, "start", colour))
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    results = json.loads(RESULTS.read_bytes())

    def replaced(match: re.Match[str]) -> str:
        if match[2] not in results:
            return match[0]
        lines = "\n".join(generated(results[match[2]], match[3] or ""))
        return f"{match[1]}{lines}\n{match[5]}"

    PAGE.write_text(MARKED.sub(replaced, PAGE.read_text("utf-8")), "utf-8")
    for found in results.values():
        for name, jobs in curves(found["runs"]).items():
            text = plot("CPU seconds by the size of the input", jobs)
            (IMAGES / f"performance-{name}.svg").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
