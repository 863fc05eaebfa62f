"""Internal: Lines that OSCAR takes for separators: removed on writing, listed in a header, and restored on reading."""

from __future__ import annotations

from itertools import islice

from corpusfmt.formats.provenance import OWN_HEADERS

#: The header that lists the removed lines: their numbers from 0, comma-separated, and for a line that is not empty, a
#: colon and its UTF-8 bytes in hexadecimal. A leading equals sign means that there was no other line, and that
#: `EMPTY_TEXT` replaces the text.
BLANK_LINES_HEADER = f"{OWN_HEADERS}blank-lines"
#: A line that contains only these separates documents.
BLANKS = " \t\r"
#: Replaces a text of only blank lines: OSCAR cannot represent a document without lines.
EMPTY_TEXT = "\u2205"


def without_blank_lines(text: str) -> tuple[list[str], str | None]:
    """Return the lines that OSCAR can represent, and the header that lists the others, None if there are none."""
    lines = text.split("\n")
    blank = [_left_out(number, line) for number, line in enumerate(lines) if not line.strip(BLANKS)]
    if not blank:
        return lines, None
    nothing_else = "=" if len(blank) == len(lines) else ""
    return [line for line in lines if line.strip(BLANKS)] or [EMPTY_TEXT], nothing_else + ",".join(blank)


def _left_out(number: int, line: str) -> str:
    return f"{number}:{line.encode().hex()}" if line else str(number)


def with_blank_lines(text: str, header: str) -> str:
    """Return a text with the lines in a header restored; unchanged if corpusfmt did not write the header."""
    nothing_else = header.startswith("=") and text == EMPTY_TEXT
    left_out = _left_out_lines(header.removeprefix("=") if nothing_else else header)
    if left_out is None:
        return text
    numbers = [number for number, _ in left_out]
    lines = [] if nothing_else else text.split("\n")
    if numbers != sorted(set(numbers)) or numbers[0] < 0 or numbers[-1] >= len(lines) + len(numbers):
        return text
    whole: list[str] = []
    rest = iter(lines)
    for number, line in left_out:
        whole.extend(islice(rest, number - len(whole)))
        whole.append(line)
    return "\n".join([*whole, *rest])


def _left_out_lines(header: str) -> list[tuple[int, str]] | None:
    """Return number and content of each line in a header; None if corpusfmt did not write the header."""
    try:
        pairs = [entry.partition(":") for entry in header.split(",")]
        lines = [(int(number), bytes.fromhex(content).decode()) for number, _, content in pairs]
    except ValueError:
        return None
    return None if any(line.strip(BLANKS) for _, line in lines) else lines
