"""Internal: Sizes of a built corpus by language: for machines, and as the table of the OSCAR paper."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from corpusfmt.model import Json
from corpusfmt.pipeline.package.write import Packaged
from corpusfmt.pipeline.size import Size, Sizes


def sizes_of(original: Mapping[str, Size], packaged: Mapping[str, Packaged]) -> dict[str, Sizes]:
    """Return the sizes of each language of the corpus, given those before deduplication."""
    return {label: Sizes(original.get(label) or Size(), each.final) for label, each in packaged.items()}


def stats(sizes: Mapping[str, Sizes], cleaned: Mapping[str, int]) -> Json:
    """Return documents, lines, words and bytes of text, per language and in total, before and after deduplication.

    `cleaned` counts changed lines by kind of change; it is left out if there are none.
    """
    languages = {label: msgspec.to_builtins(each) for label, each in sorted(sizes.items())}
    total = {
        kind: {
            unit: sum(each[kind][unit] for each in languages.values())
            for unit in ("documents", "lines", "words", "text_bytes")
        }
        for kind in ("original", "final")
    }
    return {"total": total, "languages": languages} | ({"cleaned": dict(cleaned)} if cleaned else {})


def stats_table(sizes: Mapping[str, Sizes], *, deduplicated: bool) -> str:
    """Return a Markdown table of bytes and words by language, largest first, and in total.

    The columns are those of Table 2 of Ortiz Suarez, Sagot and Romary (2019).
    """
    after = "deduplicated" if deduplicated else "final"
    rows = [
        f"| language | size, original | words, original | size, {after} | words, {after} |",
        "|---|--:|--:|--:|--:|",
    ]
    total = Sizes(Size(), Size())
    for label, each in sorted(sizes.items(), key=lambda pair: (-pair[1].final.text_bytes, pair[0])):
        rows.append(_row(label, each))
        total.original += each.original
        total.final += each.final
    return "\n".join([*rows, _row("all", total)]) + "\n"


def _row(name: str, sizes: Sizes) -> str:
    cells = (sizes.original.text_bytes, sizes.original.words, sizes.final.text_bytes, sizes.final.words)
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"
