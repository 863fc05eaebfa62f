"""For formats: How a format describes its corpora: a sentence, record sets with their
fields, languages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.formats.languages import V2_LABELS
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, codec_of_name
from corpusfmt.model import Document, Finding, Json

# How pandas reads columns of JSON Lines: those with such names as dates.
_READ_AS_DATE = re.compile(r"(?i:.*_(?:at|time)|modified|date|datetime|timestamp.*)", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\['([^']*)'\]")
_SUFFIXES = re.compile(r"(?:\.[a-z]+)?\.[a-z]+$")


class FileOf(Struct, frozen=True):
    """A file by its path from the description, or from the archive `container`; its size and digest if it is on disk.

    A file with several record sets occurs once for each, distinguished by `number`: readers need that.
    """

    path: str
    facts: FileFacts | None = None
    encoding: str = ""
    container: str = ""
    number: int = 0


class Statistic(Struct, frozen=True):
    """A number that annotates a record set or a field: its data types and its value.

    One with `parts` is an object of them, and has no value.
    """

    name: str
    data_types: tuple[str, ...]
    value: float
    parts: Sequence[Statistic] = ()


def count_of(name: str, number: int) -> Statistic:
    """Return the number of something."""
    return Statistic(name, ("sc:Integer",), number)


def record_count(records: int) -> Statistic:
    """Return the number of records of a record set."""
    return Statistic("count", ("sc:Integer", "wd:Q4049983"), records)


class FieldOf(Struct, frozen=True):
    """One field of a record set: its name, data type, extraction from a file, and its path inside an object.

    Names of JSON Lines are extracted as columns: readers of the field load such files as tables, and apply a JSON path to
    the value of a column only. A field with several `fields` is an object without a data type. `refers_to` is a record set;
    its first field contains the values that occur. `means` is a further type, for the meaning of the value. `dimensions` are
    those of a list; a list of several `fields` has objects, and `item_path` is the path of a field inside each of them.
    """

    name: str
    data_type: str
    extract: Mapping[str, str]
    description: str
    json_path: str | None = None
    regex: str | None = None
    dimensions: int = 0
    item_path: str | None = None
    fields: Sequence[FieldOf] = ()
    statistics: Sequence[Statistic] = ()
    refers_to: str | None = None
    means: str | None = None
    #: The record set with the files that values name.
    joins: str | None = None
    #: The record set whose files have the values, if it is not that of the field.
    files_of: str | None = None

    @property
    def names(self) -> list[str]:
        """The names that lead from a row to the value: of the column, and of members."""
        return [self.extract["column"], *(name or quoted for name, quoted in _STEP.findall(self.json_path or ""))]


class RecordSetOf(Struct, frozen=True):
    """Records of one kind, from the files that match the patterns of `includes`, or from one `file`, or given as `data`.

    The files of `includes` are members of the archives `containers`, if there are any.

    `data` are rows of values in the order of the fields.
    """

    name: str
    description: str
    includes: Sequence[str] = ()
    encoding: str = ""
    fields: Sequence[FieldOf] = ()
    file: FileOf | None = None
    containers: Sequence[str] = ()
    data: Sequence[Sequence[str]] = ()
    data_type: str | None = None
    key: Sequence[str] = ()
    statistics: Sequence[Statistic] = ()


class Contents(Struct, frozen=True):
    """The contents of the documents of a corpus: languages, and the names of optional fields.

    `odd` are the data types, by field, that some value does not have, `absent` the columns that some file does not have.
    `columns` are the columns that all tables have with the same type; None if there is no table.
    """

    languages: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    odd: frozenset[tuple[str, str]] = frozenset()
    absent: frozenset[str] = frozenset()
    #: The columns, and members of described objects, that no field is about, by the names that lead to them.
    unknown: frozenset[tuple[str, ...]] = frozenset()
    #: Whether some number has more than 64 bits.
    has_huge: bool = False
    columns: Mapping[str, str] | None = None
    #: The number of records, by record set, if all were counted.
    records: Mapping[str, int] = field(default_factory=dict)

    def __or__(self, other: Contents) -> Contents:
        if self.columns is None or other.columns is None:
            columns = self.columns if other.columns is None else other.columns
        else:
            columns = {name: kind for name, kind in self.columns.items() if other.columns.get(name) == kind}
        records = {
            name: self.records.get(name, 0) + other.records.get(name, 0) for name in {*self.records, *other.records}
        }
        return Contents(
            self.languages | other.languages,
            self.fields | other.fields,
            self.odd | other.odd,
            self.absent | other.absent,
            self.unknown | other.unknown,
            self.has_huge or other.has_huge,
            columns,
            records,
        )


class Describer(Struct, frozen=True):
    """How corpora of one version of a format are described: a sentence, and record sets over files and contents."""

    summary: str
    record_sets: Callable[[Collection[str], Contents], Iterator[RecordSetOf]]
    #: Return the language of a file's documents by its path; None if only the documents show it.
    language: Callable[[str], str] | None = None
    #: The names of languages, if they are not BCP 47 tags.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: Fields whose type, or whether they are described at all, depends on the rows.
    fields: Sequence[FieldOf] = ()
    #: Return the row of a document, if it is not that of its fields.
    row: Callable[[Document], Json] | None = None
    #: Yield the rows of a shard, if no documents are read; a finding is a wrong one.
    rows: Callable[[Mapping[str, Entry]], Iterator[Json | Finding]] | None = None
    #: Return the columns of a shard with their types, if it is a table.
    columns: Callable[[Mapping[str, Entry]], Mapping[str, str] | None] = lambda _files: None
    #: Count the records of a shard, by record set, if nothing else reads them: by role of its files.
    count: Callable[[Mapping[str, Entry]], Mapping[str, int]] | None = None
    #: Whether rows may have unknown fields, so a folder of them is described by its content.
    is_open: bool = False


class Described(Struct, frozen=True):
    """A corpus to describe: its files, and its record sets. Sets of files without records have no fields.

    `details` are properties of the dataset, copied unchanged. Addresses of files begin
    with `base`; `clone` is the git repository that contains them.
    """

    name: str
    files: Sequence[FileOf]
    record_sets: Sequence[RecordSetOf]
    details: Mapping[str, object]
    base: str = ""
    clone: str = ""


class Survey(Struct):
    """The content of a folder of any files: the files, their record sets, the languages that documents name.

    `notes` say what is not described, and why; `evidence` gives the reason for the type of each file, field, key and split.
    """

    files: list[FileOf] = field(default_factory=list)
    record_sets: list[RecordSetOf] = field(default_factory=list)
    languages: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    evidence: Json = field(default_factory=dict)


class Descriptions(Struct, frozen=True):
    """How corpora of any format, and folders of files in no format, are described in this one."""

    #: The versions to write, the default last.
    versions: Sequence[str]
    #: Return a description in a version.
    write: Callable[[Described, str], Json]
    #: Return a description, as bytes, with further properties of its dataset. Raises `UsageError` if it is none.
    complete: Callable[[bytes, Mapping[str, object]], Json]
    #: Return a description in RDF as JSON-LD. Raises `UsageError` for one that is, `BadInput` for what is no description.
    json_ld: Callable[[Entry], Json]
    #: Return whether a value has a data type.
    is_of: Callable[[str, object], bool]
    #: Survey the files below a folder: the function of `formats/croissant/survey`.
    survey: Callable[..., Survey]
    #: Return whether the version of a dataset has the recommended form.
    is_good_version: Callable[[str], bool]


def patterns(paths: Iterable[str]) -> list[str]:
    """Return glob patterns that match the paths: one for each depth and suffix, with `*` for the parts that vary.

    Only `*` is used, which crosses folders in some readers and not in others: `**` differs even more between them.
    """
    alike: dict[tuple[int, str], list[str]] = {}
    for path in paths:
        suffix = _SUFFIXES.search(path)
        folders = ["*" if set(folder) & set("*?[") else folder for folder in path.split("/")[:-1]]
        kind = len(folders), suffix[0] if suffix else ""
        known = alike.get(kind, folders)
        alike[kind] = [one if one == other else "*" for one, other in zip(known, folders, strict=True)]
    return sorted("/".join([*folders, f"*{suffix}"]) for (_, suffix), folders in alike.items())


# OSCAR uses codes for a few languages that BCP 47 gives to others, or to none.
BCP_47: Mapping[str, str] = {old: tag for tag, old in V2_LABELS.items() if old is not None} | {"multi": "mul"}


#: The record set of files whose contents mlcroissant does not load.
FILES = "files"
# How mlcroissant 1.1.1 opens tables and JSON Lines.
_READ_BY_ALL = frozenset({"plain", "gzip"})
_FILE = FieldOf("file", "sc:Text", {}, "Path of the file")
_LANGUAGE = FieldOf("language", "sc:Text", {}, "Language of its text")


def files_of(paths: Iterable[str], contents: Contents, language: Callable[[str], str] | None = None) -> RecordSetOf:
    """Return the record set of files with texts, one a record, given in the description: no reader has to open them."""
    fields = [_FILE] if language is None else [_FILE, _LANGUAGE]
    rows = [(path,) if language is None else (path, _tag(language(path))) for path in paths]
    counts = [count_of(name, number) for name, number in contents.records.items() if name in ("documents", "lines")]
    statistics = [record_count(len(rows)), *counts]
    summary = "The files with the texts, one a record"
    return RecordSetOf(FILES, summary, fields=fields, data=rows, key=[_FILE.name], statistics=statistics)


def rows_of(paths: Collection[str], contents: Contents, fields: Sequence[FieldOf]) -> RecordSetOf:
    """Return the record set of documents in JSON Lines; if mlcroissant does not load them, that of the files."""
    found = typed(fields, contents)
    if not found or why_not_loaded(paths, contents):
        return files_of(paths, contents)
    return RecordSetOf("documents", "The documents", patterns(paths), "application/jsonlines", found)


def typed(fields: Sequence[FieldOf], contents: Contents) -> list[FieldOf]:
    """Return the fields that mlcroissant loads from JSON Lines, each with a type that all of its values have."""
    found = []
    for each in fields:
        if (each.name, each.data_type) in contents.odd:
            each = replace(each, data_type="sc:Text")  # noqa: PLW2901
        is_date = is_read_as_date(each.names[0]) and not each.json_path and each.data_type != "sc:DateTime"
        if (each.name, each.data_type) not in contents.odd and each.names[0] not in contents.absent and not is_date:
            found.append(each)
    return found


def is_read_as_date(column: str) -> bool:
    """Return whether mlcroissant reads texts, and numbers as large as recent times, in a column of JSON Lines as dates."""
    return _READ_AS_DATE.fullmatch(column) is not None


def why_not_loaded(paths: Iterable[str], contents: Contents) -> str:
    """Return why mlcroissant 1.1.1 does not load JSON Lines, and what helps; nothing if it does."""
    packed = next((path for path in paths if codec_of_name(path) not in _READ_BY_ALL), "")
    if packed:
        return f"mlcroissant 1.1.1 does not read {packed}: compress all files with gzip"
    return "mlcroissant 1.1.1 reads no number of more than 64 bits: write it as a text" if contents.has_huge else ""


def _tag(language: str) -> str:
    return BCP_47.get(language, language)


def count_lines(entry: Entry) -> int:
    """Return the number of lines of a file. Raises `OSError`, and `StreamFault` if it does not decode."""
    found, last = 0, b"\n"
    with entry.open() as file:
        for chunk in Chunks(file, codec_of_name(entry.name), entry.path):
            found += chunk.count(b"\n")
            last = chunk[-1:] or last
    return found + (last != b"\n")


def language_in(path: str) -> str:
    """Return the language in the name of a file, such as `af_part_1.txt.gz`."""
    return posixpath.basename(path).partition("_")[0].partition(".")[0]
