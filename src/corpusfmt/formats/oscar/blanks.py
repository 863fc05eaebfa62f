"""Internal: Lines that OSCAR takes for separators: left out of a text on writing, listed in a header, put back on
reading.
"""

from __future__ import annotations

from itertools import islice

#: What the names of our own headers begin with.
OWN_HEADERS = "corpusfmt-"
#: The header that says which lines of the original text were left out because OSCAR takes them for separators: their
#: numbers from 0, comma-separated, each with a colon and its UTF-8 bytes in hexadecimal where it is not empty. An equals
#: sign in front says that there was no other line, and that `EMPTY_TEXT` stands for the text.
BLANK_LINES_HEADER = f"{OWN_HEADERS}blank-lines"
#: A line of nothing else separates documents.
BLANKS = " \t\r"
#: Stands for a text without any line that is not empty: OSCAR cannot hold a document of no lines.
EMPTY_TEXT = "\u2205"


def without_blank_lines(text: str) -> tuple[list[str], str | None]:
    """Return the lines that OSCAR can hold, and the header that lists the others, None where there are none."""
    lines = text.split("\n")
    blank = [_left_out(number, line) for number, line in enumerate(lines) if not line.strip(BLANKS)]
    if not blank:
        return lines, None
    nothing_else = "=" if len(blank) == len(lines) else ""
    return [line for line in lines if line.strip(BLANKS)] or [EMPTY_TEXT], nothing_else + ",".join(blank)


def _left_out(number: int, line: str) -> str:
    return f"{number}:{line.encode().hex()}" if line else str(number)


def with_blank_lines(text: str, header: str) -> str:
    """Return a text with the lines that a header lists; as it is where the header cannot be of our making."""
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
    """Return number and content of each line that a header lists; None where the header is not of our making."""
    try:
        pairs = [entry.partition(":") for entry in header.split(",")]
        lines = [(int(number), bytes.fromhex(content).decode()) for number, _, content in pairs]
    except ValueError:
        return None
    return None if any(line.strip(BLANKS) for _, line in lines) else lines
