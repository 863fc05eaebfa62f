"""Internal: Rows whose texts stay as they are encoded: to decode and encode them takes longer than all other fields together."""

from __future__ import annotations

import re

import msgspec

from corpusfmt.io.jsonlines import UNDECODABLE, AnyJson, EncodedText, decode_text, decoded_lines
from corpusfmt.io.scan import count_quotes, is_utf8
from corpusfmt.model import Json

# The texts with their quotation marks, the rows with empty texts in their places, and whether texts may have odd escapes.
_Apart = tuple[list[bytes], bytes, bool]

try:
    from corpusfmt.formats._native import texts_apart as _apart_at_once
except ImportError:  # no wheel for this platform and no compiler: the same rows, more slowly

    def _apart_at_once(_lines: bytes, _name: bytes, /) -> _Apart | None:
        return None


# Escapes that msgspec does not write.
_ODD_ESCAPE = re.compile(rb'\\(?!u00(?:0[0-7bef]|1[0-9a-f]))[^bfnrt"\\]')
_EMPTY = EncodedText(b'""')
_decode_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode_lines
_decode = msgspec.json.Decoder(dict[str, AnyJson]).decode_lines
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines


def rows_around_texts(data: bytes, name: str, *, written: bool) -> list[Json] | None:
    """Return the objects on lines, with the strings of a name as they are encoded; with `written`, as msgspec encodes them.

    Returns None for any doubt, such as a name that occurs twice in an object.
    """
    # A name that is not UTF-8 is in no row.
    found = _apart_at_once(data, name.encode("utf-8", "surrogatepass")) or _apart(data, name)
    if found is None:
        return None
    texts, rest, may_be_odd = found
    rows = decoded_lines(_decode, rest)
    if rows is None:
        return None
    if written and may_be_odd:
        texts = [_encode(decode_text(text)) if _ODD_ESCAPE.search(text) else text for text in texts]
    for row, text in zip(rows, map(EncodedText, texts), strict=True):
        row[name] = text
    return rows


def _apart(data: bytes, name: str) -> _Apart | None:
    rows = decoded_lines(_decode_raw, data)
    # The decoder checks everything else of what it leaves as it is.
    if rows is None or not is_utf8(data):
        return None
    texts = [bytes(row[name]) for row in rows if name in row]
    if len(texts) < len(rows) or not all(text.startswith(b'"') for text in texts):
        return None
    rest = _encode_lines([row | {name: _EMPTY} for row in rows])
    try:
        strings = count_quotes(_encode(_decode(rest)))
    except UNDECODABLE:
        return None
    return (texts, rest, True) if strings == count_quotes(data) else None
