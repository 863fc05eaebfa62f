"""For formats: What a format says of its corpora, for descriptions of them: a sentence, record sets with their
fields, languages.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from corpusfmt.formats.languages import V2_LABELS
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry
from corpusfmt.model import Json

_SUFFIXES = re.compile(r"(?:\.[a-z]+)?\.[a-z]+$")


class FieldOf(Struct, frozen=True):
    """One field of a record set: its name, data type, how it is taken out of a file, and what of an object it is.

    Names of JSON Lines are extracted as columns: readers of the field load such files as tables, and apply a JSON path to
    the value of a column only.
    """

    name: str
    data_type: str
    extract: Mapping[str, str]
    description: str
    json_path: str | None = None


class RecordSetOf(Struct, frozen=True):
    """Records of one kind, read from the files that match the patterns of `includes`."""

    name: str
    description: str
    includes: Sequence[str]
    encoding: str
    fields: Sequence[FieldOf]


class Contents(Struct, frozen=True):
    """What occurs in the documents of a corpus: languages, and the names of fields that a document may do without.

    `odd` are the data types, by field, that some value is not of. Of tables it is the columns that all have, with the type
    that is the same in all; None where there is no table.
    """

    languages: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    odd: frozenset[tuple[str, str]] = frozenset()
    columns: Mapping[str, str] | None = None

    def __or__(self, other: Contents) -> Contents:
        if self.columns is None or other.columns is None:
            columns = self.columns if other.columns is None else other.columns
        else:
            columns = {name: kind for name, kind in self.columns.items() if other.columns.get(name) == kind}
        return Contents(self.languages | other.languages, self.fields | other.fields, self.odd | other.odd, columns)


class Describer(Struct, frozen=True):
    """How corpora of one version of a format are described: in a sentence, and by record sets over files and contents."""

    summary: str
    record_sets: Callable[[Sequence[str], Contents], Iterator[RecordSetOf]]
    #: What the path of a file says about the language of its documents; None where only the documents can.
    language: Callable[[str], str] | None = None
    #: What languages are called, where that is not their BCP 47 tag.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: Fields that are described where documents have them.
    fields: Sequence[FieldOf] = ()
    #: Return the columns of a shard with their types, where it is a table.
    columns: Callable[[Mapping[str, Entry]], Mapping[str, str] | None] = lambda _files: None


class WriteDescription(Protocol):
    """Return the description of files, by their paths below it, with record sets and details, taken as they are."""

    def __call__(
        self,
        *,
        name: str,
        files: Mapping[str, FileFacts],
        record_sets: Sequence[RecordSetOf],
        details: Mapping[str, object],
    ) -> Json: ...


class Descriptions(Struct, frozen=True):
    """How corpora of any format are described in this one, and which values are of a data type."""

    write: WriteDescription
    is_of: Callable[[str, object], bool]


def patterns(paths: Sequence[str]) -> list[str]:
    """Return glob patterns that match the paths: one for each depth and suffix, in which `*` stands for what varies.

    Only `*` is used, which some readers let cross folders, and some do not: `**` means different things to them.
    """
    alike: defaultdict[tuple[int, str], list[list[str]]] = defaultdict(list)
    for path in paths:
        suffix = _SUFFIXES.search(path)
        parts = path.split("/")
        alike[len(parts), suffix[0] if suffix else ""].append(parts)
    return sorted(_pattern(group, suffix) for (_, suffix), group in alike.items())


def _pattern(paths: Sequence[Sequence[str]], suffix: str) -> str:
    folders = [parts[0] if len(set(parts)) == 1 else "*" for parts in list(zip(*paths, strict=True))[:-1]]
    return "/".join([*("*" if set(folder) & set("*?[") else folder for folder in folders), f"*{suffix}"])


_LINE = FieldOf("line", "sc:Text", {"fileProperty": "lines"}, "One line of text; an empty line ends a document")

# OSCAR calls a few languages by codes that BCP 47 gives to others, or to none.
BCP_47: Mapping[str, str] = {old: tag for tag, old in V2_LABELS.items() if old is not None} | {"multi": "mul"}


def lines_of(texts: Sequence[str]) -> RecordSetOf:
    """Return the record set of the lines of text files."""
    return RecordSetOf("lines", "The text, line by line", patterns(texts), "text/plain", (_LINE,))


def language_in(path: str) -> str:
    """Return the language of a file that is named for it, as `af_part_1.txt.gz`."""
    return posixpath.basename(path).partition("_")[0].partition(".")[0]
