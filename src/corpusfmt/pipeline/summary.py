"""The size of what was built, by language: for machines, and as the table of the OSCAR paper."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from corpusfmt.model import Json
from corpusfmt.pipeline.size import Sizes


def stats(sizes: Mapping[str, Sizes]) -> Json:
    """Return documents, lines, words and bytes of text of each language, before and after deduplication, and in all."""
    languages = {label: msgspec.to_builtins(each) for label, each in sorted(sizes.items())}
    total = {
        kind: {
            unit: sum(each[kind][unit] for each in languages.values())
            for unit in ("documents", "lines", "words", "text_bytes")
        }
        for kind in ("original", "final")
    }
    return {"total": total, "languages": languages}


def stats_table(sizes: Mapping[str, Sizes]) -> str:
    """Return a Markdown table of size and words by language, after Table 2 of Ortiz Suarez, Sagot and Romary (2019)."""
    rows = [
        "| language | size, original | words, original | size, final | words, final |",
        "|---|--:|--:|--:|--:|",
    ]
    for label, each in sorted(sizes.items(), key=lambda pair: (-pair[1].final.text_bytes, pair[0])):
        cells = (each.original.text_bytes, each.original.words, each.final.text_bytes, each.final.words)
        rows.append(f"| {label} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(rows) + "\n"
