"""Internal: Cleaning of lines before they are measured and classified: carriage returns, normalisation."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from corpusfmt.io.scan import is_nfc
from corpusfmt.pipeline.process.wet import Batch, WetRecord
from corpusfmt.pipeline.recipe import Lines

STRIPPED, NORMALISED = "stripped of carriage returns", "normalised to NFC"


def cleaned(batches: Iterable[Batch], lines: Lines, counts: Counter[str]) -> Iterator[Batch]:
    """Yield batches with their lines cleaned as the recipe asks, and count the changed lines."""
    for batch in batches:
        strip = lines.strip_carriage_returns and b"\r" in batch.text
        normalise = lines.nfc and not is_nfc(batch.text)
        if strip or normalise:
            records = batch.records()
            yield Batch.of(
                WetRecord(headers, _cleaned(text, counts, strip=strip, normalise=normalise))
                for headers, text in records
            )
        else:
            yield batch


def _cleaned(text: bytes, counts: Counter[str], *, strip: bool, normalise: bool) -> bytes:
    lines = text.split(b"\n")
    for number, line in enumerate(lines):
        changed = line
        if strip and b"\r" in line:
            # A carriage return inside a line separates words.
            changed = b" ".join(filter(None, line.split(b"\r")))
            counts[STRIPPED] += 1
        if normalise and not changed.isascii():
            changed = _normalised(changed, counts)
        lines[number] = changed
    return b"\n".join(lines)


def _normalised(line: bytes, counts: Counter[str]) -> bytes:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return line  # will be dropped
    if unicodedata.is_normalized("NFC", text):
        return line
    counts[NORMALISED] += 1
    return unicodedata.normalize("NFC", text).encode()
