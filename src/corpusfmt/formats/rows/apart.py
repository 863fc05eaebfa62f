"""Internal: Rows whose texts stay as they are encoded: to decode and encode them takes longer than all other fields together."""

from __future__ import annotations

import re

import msgspec

from corpusfmt.io.jsonlines import UNDECODABLE, EncodedText, decode_objects, decode_text, decoded_lines
from corpusfmt.io.scan import count_quotes, is_utf8
from corpusfmt.model import Json

try:
    from corpusfmt.formats._native import texts_apart
except ImportError:  # no wheel for this platform and no compiler: the same rows, more slowly

    def texts_apart(_lines: bytes, _name: bytes, /) -> tuple[list[bytes], bytes, bool] | None:
        return None


# The texts with their quotation marks, the rows with empty texts in their places, and whether texts may have odd escapes.
_Apart = tuple[list[bytes], list[Json], bool]

# Escapes that msgspec does not write.
_ODD_ESCAPE = re.compile(rb'\\(?!u00(?:0[0-7bef]|1[0-9a-f]))[^bfnrt"\\]')
_EMPTY = EncodedText(b'""')
_decode_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode_lines
_encoder = msgspec.json.Encoder()


def rows_around_texts(data: bytes, name: str, *, written: bool) -> list[Json] | None:
    """Return the objects on lines, with the strings of a name as they are encoded; with `written`, as msgspec encodes them.

    Returns None for any doubt, such as a name that occurs twice in an object.
    """
    found = _apart_at_once(data, name) or _apart(data, name)
    if found is None:
        return None
    texts, rows, may_be_odd = found
    if written and may_be_odd:
        texts = [_encoder.encode(decode_text(text)) if _ODD_ESCAPE.search(text) else text for text in texts]
    for row, text in zip(rows, map(EncodedText, texts), strict=True):
        row[name] = text
    return rows


def _apart_at_once(data: bytes, name: str) -> _Apart | None:
    # A name that is not UTF-8 is in no row.
    found = texts_apart(data, name.encode("utf-8", "surrogatepass"))
    if found is None:
        return None
    texts, rest, may_be_odd = found
    rows = decoded_lines(decode_objects, rest)
    return None if rows is None else (texts, rows, may_be_odd)


def _apart(data: bytes, name: str) -> _Apart | None:
    """Do the same without the kernel, or where it leaves a number or a name in doubt."""
    rows = decoded_lines(_decode_raw, data)
    # The decoder checks everything else of what it leaves as it is.
    if rows is None or not is_utf8(data):
        return None
    texts = [bytes(row[name]) for row in rows if name in row]
    if len(texts) < len(rows) or not all(text.startswith(b'"') for text in texts):
        return None
    try:
        decoded = decode_objects(_encoder.encode_lines([row | {name: _EMPTY} for row in rows]))
    except UNDECODABLE:
        return None
    return (texts, decoded, True) if count_quotes(_encoder.encode(decoded)) == count_quotes(data) else None
