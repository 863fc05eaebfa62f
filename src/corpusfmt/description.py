"""Describe a corpus as a Croissant document: its files with sizes and SHA-256, its languages, and its records."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.config import Details
from corpusfmt.engine.executors import default_jobs, executor_factory
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, run_tasks
from corpusfmt.formats import CheckOptions, Format, LeftOut, Rejected, Shard, detect, named_format, refuse_barred
from corpusfmt.formats.croissant.records.casts import CASTS
from corpusfmt.formats.croissant.write import FieldOf, RecordSetOf, description, patterns
from corpusfmt.formats.oscar.languages import V2_LABELS
from corpusfmt.formats.parquet.rows import Trouble, column_types
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, within
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.streams import DigestReader
from corpusfmt.model import BadInput, Incomplete, Json, UsageError

#: Properties of a dataset that Croissant requires, and only its owner knows.
REQUIRED = ("license", "creator", "url", "datePublished")


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


class _Kind(Struct, frozen=True):
    """A format as it is described: in a sentence, and by its record sets over files and contents."""

    summary: str
    record_sets: Callable[[Sequence[str], Contents], Iterator[RecordSetOf]]
    #: What the path of a file says about the language of its documents; None where only the documents can.
    language: Callable[[str], str] | None = None


_LINE = FieldOf("line", "sc:Text", {"fileProperty": "lines"}, "One line of text; an empty line ends a document")
_METADATA_FIELDS = (
    FieldOf("record_id", "sc:Text", {"column": "headers"}, "Identifier of the crawled record", "$['warc-record-id']"),
    FieldOf("url", "sc:URL", {"column": "headers"}, "Address of the page", "$['warc-target-uri']"),
    FieldOf("date", "sc:DateTime", {"column": "headers"}, "When the page was crawled", "$['warc-date']"),
    FieldOf("offset", "sc:Integer", {"column": "offset"}, "First line of the document in its part, counted from 0"),
    FieldOf("nb_sentences", "sc:Integer", {"column": "nb_sentences"}, "Number of lines of the document"),
)
_RECORD_FIELDS = (
    FieldOf("content", "sc:Text", {"column": "content"}, "Text of the document, its lines separated by LF"),
    *(replace(each, extract={"column": "warc_headers"}) for each in _METADATA_FIELDS[:3]),
    FieldOf("language", "sc:Text", {"column": "metadata"}, "Language of the document", "$.identification.label"),
    FieldOf("confidence", "sc:Float", {"column": "metadata"}, "How sure that language is", "$.identification.prob"),
)
_ID = FieldOf("id", "sc:Text", {"column": "id"}, "Identifier, unique within its source")
_TEXT = FieldOf("text", "sc:Text", {"column": "text"}, "Text of the document")
# Described where they occur: a reader that is told of a column that no file has gives up.
_OPTIONAL_FIELDS = (
    FieldOf("source", "sc:Text", {"column": "source"}, "Where the document comes from"),
    FieldOf("added", "sc:DateTime", {"column": "added"}, "When the document was taken into the corpus"),
    FieldOf("created", "sc:DateTime", {"column": "created"}, "When the document was made"),
    FieldOf("language", "sc:Text", {"column": "metadata"}, "Language of the document", "$.language"),
    FieldOf("url", "sc:URL", {"column": "metadata"}, "Address that the document comes from", "$.url"),
)


def _oscar_text(paths: Sequence[str], _contents: Contents) -> Iterator[RecordSetOf]:
    texts = [path for path in paths if path.endswith(".txt.gz")]
    yield RecordSetOf("lines", "The text, line by line", patterns(texts), "text/plain", (_LINE,))


def _oscar_text_and_metadata(paths: Sequence[str], contents: Contents) -> Iterator[RecordSetOf]:
    yield from _oscar_text(paths, contents)
    metadata = patterns([path for path in paths if path.endswith(".jsonl.gz")])
    summary = "The metadata, one record a document, in the order of the text"
    yield RecordSetOf("metadata", summary, metadata, "application/jsonlines", _METADATA_FIELDS)


def _plain_text(paths: Sequence[str], _contents: Contents) -> Iterator[RecordSetOf]:
    yield RecordSetOf("lines", "The text, line by line", patterns(paths), "text/plain", (_LINE,))


def _documents(paths: Sequence[str], contents: Contents) -> Iterator[RecordSetOf]:
    rows = patterns([path for path in paths if "attributes" not in path.split("/")])
    occurring = (_as_it_is(each, contents) for each in _OPTIONAL_FIELDS if each.name in contents.fields)
    fields = (_ID, _TEXT, *filter(None, occurring))
    yield RecordSetOf("documents", "The documents", rows, "application/jsonlines", fields)


def _as_it_is(described: FieldOf, contents: Contents) -> FieldOf | None:
    """Return a field with the type that all its values are of: as text where that is not its own, None where none is."""
    if (described.name, "sc:Text") in contents.odd:
        return None
    is_odd = (described.name, described.data_type) in contents.odd
    return replace(described, data_type="sc:Text") if is_odd else described


def _records(paths: Sequence[str], _contents: Contents) -> Iterator[RecordSetOf]:
    yield RecordSetOf("documents", "The documents", patterns(paths), "application/jsonlines", _RECORD_FIELDS)


_TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


def _rows(paths: Sequence[str], contents: Contents) -> Iterator[RecordSetOf]:
    fields = [
        FieldOf(name, _TYPES[kind], {"column": name}, f"Column {name}")
        for name, kind in (contents.columns or {}).items()
    ]
    yield RecordSetOf("documents", "The documents", patterns(paths), "application/x-parquet", fields)


# OSCAR calls a few languages by codes that BCP 47 gives to others, or to none.
_BCP_47 = {old: tag for tag, old in V2_LABELS.items() if old is not None} | {"multi": "mul"}


def _oscar_language(path: str) -> str:
    return posixpath.basename(path).partition("_")[0].partition(".")[0]


_KINDS: Mapping[str, _Kind] = {
    "oscar-1.0": _Kind("Text by language in the layout of OSCAR 1.0", _oscar_text, _oscar_language),
    "oscar-1.1": _Kind(
        "Text by language with metadata in the layout of OSCAR 1.1", _oscar_text_and_metadata, _oscar_language
    ),
    "oscar2-22.01": _Kind("Documents in the layout of OSCAR 22.01", _records),
    "oscar2-23.01": _Kind("Documents in the layout of OSCAR 23.01", _records),
    "dolma": _Kind("Documents in the Dolma format", _documents),
    "parquet": _Kind("Documents as rows of Parquet files", _rows),
    "goclassy": _Kind("Text by language as goclassy writes it", _plain_text, _oscar_language),
}


def describe(
    path: str | Path,
    *,
    base: str | Path | None = None,
    name: str | None = None,
    description: str | None = None,
    license: str | None = None,  # noqa: A002 - the name that users type
    creator: str | Sequence[str] = (),
    publisher: str | Sequence[str] = (),
    url: str | None = None,
    dataset_version: str | None = None,
    date_published: str | date | None = None,
    date_created: str | date | None = None,
    date_modified: str | date | None = None,
    cite_as: str | None = None,
    keyword: str | Sequence[str] = (),
    in_language: str | Sequence[str] = (),
    same_as: str | Sequence[str] = (),
    sd_license: str | None = None,
    follow_links: bool = False,
    jobs: int | None = 1,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> Json:
    """Return the Croissant description of an OSCAR or Dolma corpus, ready to be written as JSON.

    What only its owner knows of a dataset is called as in the options of the command; languages that are not given are
    those of the corpus. Paths are relative to `base`, the folder that the description will lie in, where the corpus is that
    folder or below it, and else to the corpus. Every data file is read for its digest, and documents for what they have;
    `follow_links` lets links lead out of it.
    Raises `UsageError` where `path` is no corpus or a value cannot be, `BadInput` where its records are wrong or a part of
    it cannot be read, `OSError` where a file vanishes, `LimitReached` where `limits` end it.
    """
    details = Details.of(locals())
    return described_as(
        details, path, base=base, follow_links=follow_links, jobs=jobs, limits=limits, progress=progress
    )


def described_as(
    details: Details,
    path: str | Path,
    *,
    base: str | Path | None,
    follow_links: bool,
    jobs: int | None,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
) -> Json:
    """As `describe`, with details from wherever they are."""
    limits = limits.begun()
    entry = entry_of(str(path), follow_links=follow_links)
    fmt, detection = detect(entry)
    kind = _kind_name(fmt, detection.version)
    if kind not in _KINDS:
        raise UsageError(f"{path} is {fmt.name}: only OSCAR, Dolma and Parquet corpora can be described")
    meter = Meter(limits)
    with within(meter):
        plan = fmt.plan(entry, CheckOptions(version=detection.version))
    plan.refuse_unread()
    if not plan.shards:
        raise UsageError(f"nothing to describe: no {fmt.name} data found in {path}")
    workers = jobs or default_jobs(sum(shard.size for shard in plan.shards), len(plan.shards))
    prefix = _prefix(entry, base)
    files: dict[str, FileFacts] = {}
    contents = Contents()
    options = CheckOptions(version=plan.version, limits=limits)
    for look in _looks(kind, fmt, plan.shards, options, meter, workers, progress):
        files |= {prefix + name: facts for name, facts in look.files.items()}
        contents |= look.contents
    properties = details.properties()
    return _described(kind, files, contents, properties.pop("name", Path(entry.url).resolve().name), properties)


def described(kind: str, files: Mapping[str, FileFacts], below: str = "", *, root: Path, name: str) -> Json:
    """Return the description of files below `root` whose sizes and digests are known; `kind` is like `oscar-1.1` or `dolma`.

    Records are those of the files in the folder `below`, where there is one. What the documents have is judged by the
    first of them.
    """
    contents = Contents(_languages(kind, (path for path, facts in files.items() if facts.size)))
    if files and _KINDS[kind].language is None:
        fmt, version = named_format(kind)
        options = CheckOptions(version=version or fmt.versions[-1])
        shards = fmt.plan(entry_of(str(root)), options).shards
        contents |= _contents(fmt, shards[0], options, at_most=1)
        contents = replace(contents, languages=frozenset())
    return _described(kind, files, contents, name, {}, below)


def _described(
    kind: str,
    files: Mapping[str, FileFacts],
    contents: Contents,
    name: str,
    details: Mapping[str, object],
    below: str = "",
) -> Json:
    known = _KINDS[kind]
    derived: Json = {"description": known.summary}
    if contents.languages:
        tags = _BCP_47 if kind.startswith(("oscar", "goclassy")) else {}
        derived["inLanguage"] = sorted({tags.get(language, language) for language in contents.languages})
    paths = [path for path in sorted(files) if not below or path.startswith(f"{below}/")]
    record_sets = [each for each in known.record_sets(paths, contents) if each.includes]
    return description(name=name, files=files, record_sets=record_sets, details=derived | dict(details))


def _kind_name(fmt: Format, version: str) -> str:
    return fmt.name if len(fmt.versions) == 1 else f"{fmt.name}-{version}"


def _prefix(entry: Entry, base: str | Path | None) -> str:
    """Return what stands before the paths of a corpus in a description that lies in the folder `base`."""
    if base is None or entry.is_remote:
        return ""
    root = entry.url if entry.kind == "directory" else posixpath.dirname(entry.url)
    try:
        inside = Path(root).resolve().relative_to(Path(base).resolve()).as_posix()
    except ValueError:
        return ""
    return "" if inside == "." else f"{inside}/"


class _Look(Struct, frozen=True):
    """What reading one shard told."""

    files: Mapping[str, FileFacts]
    contents: Contents


def _looks(
    kind: str,
    fmt: Format,
    shards: Sequence[Shard],
    options: CheckOptions,
    meter: Meter,
    workers: int,
    progress: Callable[[Progress], None] | None,
) -> Iterator[_Look]:
    window = workers * RESULTS_WAITING_A_WORKER
    look_at = partial(_look_at, kind, fmt.name, options)
    engine = executor_factory(None, workers)
    with ShardProgress(progress, [shard.size for shard in shards]) as shown:
        looks = run_tasks(
            look_at, shards, engine, window=window, finished=shown.finished, meter=meter, gauge=shown.gauge
        )
        for shard, look in zip(shards, looks, strict=True):
            if isinstance(look, Late):
                raise options.limits.late(shard.name)
            if isinstance(look, Died):
                raise Incomplete(f"a worker died every time ({look.reason})")
            yield look


def _look_at(kind: str, format_name: str, options: CheckOptions, shard: Shard) -> _Look:
    for entry in shard.files.values():
        refuse_barred(entry)
    files = {entry.path: _facts(entry) for entry in shard.files.values()}
    if _KINDS[kind].language is not None:
        return _Look(files, Contents(_languages(kind, files)))
    fmt, _ = named_format(format_name)
    return _Look(files, _contents(fmt, shard, options))


def _languages(kind: str, paths: Iterable[str]) -> frozenset[str]:
    language = _KINDS[kind].language
    return frozenset(map(language, paths)) if language else frozenset()


def _contents(fmt: Format, shard: Shard, options: CheckOptions, at_most: int | None = None) -> Contents:
    assert fmt.reader is not None
    languages: set[str] = set()
    fields: set[str] = set()
    odd: set[tuple[str, str]] = set()
    for document in islice(fmt.reader.read(shard, options), at_most):
        if isinstance(document, LeftOut):
            continue
        if isinstance(document, Rejected):
            if at_most is None:
                raise BadInput(document.finding)
            continue
        if document.lang is not None:
            languages.add(document.lang)
        metadata = document.metadata or {}
        for each in _OPTIONAL_FIELDS:
            value = metadata.get(each.name) if each.json_path else getattr(document, each.name)
            if value is not None:
                fields.add(each.name)
                odd.update((each.name, kind) for kind in (each.data_type, "sc:Text") if not _is_of(kind, value))
    return Contents(frozenset(languages), frozenset(fields), frozenset(odd), _columns(shard))


def _is_of(data_type: str, value: object) -> bool:
    try:
        CASTS[data_type](value)
    except ValueError:
        return False
    return True


def _columns(shard: Shard) -> Mapping[str, str] | None:
    if "table" not in shard.files:
        return None
    try:
        return column_types(shard.files["table"])
    except Trouble:
        return None  # reading it has said so


def _facts(entry: Entry) -> FileFacts:
    with entry.open() as file:
        reader = DigestReader(file)
        reader.drain()
        return FileFacts(reader.size, reader.sha256)
