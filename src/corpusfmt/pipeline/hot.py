"""What a build does for each header and each line, by a native kernel where it is built."""

from __future__ import annotations

from array import array
from typing import TypeAlias

from corpusfmt.io.scan import count_words

#: Numbers in a row, whatever holds them.
Ints: TypeAlias = "array[int] | memoryview[int]"

try:
    from corpusfmt.pipeline._native import documents, wet_record
except ImportError:  # no wheel for this platform and no compiler: the same answers, more slowly

    def wet_record(data: bytes, start: int, /) -> tuple[dict[str, str], bytes, int] | None:
        """Return the record that starts at a place: headers with lower-case names, text, and where the next one starts.

        Only where it is canonical and data hold all of it. None says nothing.
        """
        del data, start
        return None

    def documents(
        text: bytes,
        record_ends: Ints,
        starts: Ints,
        ends: Ints,
        labels: Ints,
        scores: memoryview[float],
        least: float,
        adjacent: bool,
        /,
    ) -> list[tuple[int, int, bytes, int, int, bytes]]:
        """Put lines together by record and label, in the order of their first lines; of `adjacent` ones only.

        `record_ends` (int64) are the places in `text` where records end. The other columns are those of lines in order:
        places (int64), numbers of labels (int32), and scores (float32), of which those below `least` are left out.

        Returns for each document the numbers of its record and label, its lines, each with an LF, how many lines and
        words they are, and their scores (float32).
        """
        found: list[tuple[int, int, list[bytes], array[float]]] = []
        places: dict[tuple[int, int], int] = {}
        record = 0
        for start, end, label, score in zip(starts, ends, labels, scores, strict=True):
            if score < least:
                continue
            while start >= record_ends[record]:
                record += 1
            key = (record, label)
            if adjacent and found and found[-1][:2] != key:
                places.clear()
            if key not in places:
                places[key] = len(found)
                found.append((*key, [], array("f")))
            _, _, lines, own_scores = found[places[key]]
            lines.append(text[start:end])
            own_scores.append(score)
        joined = [b"\n".join((*lines, b"")) for _, _, lines, _ in found]
        return [
            (record, label, whole, len(lines), count_words(whole), own_scores.tobytes())
            for (record, label, lines, own_scores), whole in zip(found, joined, strict=True)
        ]


__all__ = ["documents", "wet_record"]
