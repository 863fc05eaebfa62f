"""For formats: The formats, found by walking this package: a module with a `FORMAT`, or a package whose module
`format` has one.

A package does not import its `format`, so a user of one part, such as a writer, does not load the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import BYTECODE_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from corpusfmt.extensions import Extensions, extensions
from corpusfmt.formats.describing import Describer, Descriptions
from corpusfmt.formats.general import GENERAL, report_barred
from corpusfmt.formats.parts import Batch, Writer
from corpusfmt.formats.recordsets import OpenRecords
from corpusfmt.formats.sniff import DESCRIPTIONS, unrecognised
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.io.paths import Entry, printable, walk
from corpusfmt.model import (
    INCOMPLETE_CODES,
    BadInput,
    CorpusfmtError,
    Coverage,
    Document,
    Finding,
    Location,
    Severity,
    Tally,
    UsageError,
)
from corpusfmt.options import fields_of
from corpusfmt.rules import Grading, Judge, RuleSet
from corpusfmt.wording import unknown


class ReadOptions(Struct, frozen=True, kw_only=True):
    """Which records are meant, and which fields make a document.

    What is not named is the format's default. `columns` names a column profile; `source` is that of documents without one. With
    `no_origin` documents do not keep what only restores the row that they were.
    """

    record_set: str | None = None
    columns: str | Path | None = None
    field: Mapping[str, str] = {}
    source: str | None = None
    no_origin: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "field", fields_of(self.field or {}))
        if isinstance(self.columns, Path):
            force_setattr(self, "columns", str(self.columns))


class CheckOptions(Struct, frozen=True):
    """The task of a check; crosses processes. `scratch` is a local folder that lives as long as the run.

    `fixing` is true if findings will be repaired, so files that only a repair needs are read, too.
    """

    version: str = ""
    #: The version that was asked for, not one that was found.
    wanted_version: str = ""
    grading: Grading = field(default_factory=Grading)
    dedup: bool = False
    data: bool = False
    fixing: bool = False
    blocklist: str | None = None
    max_line_bytes: int = MAX_LINE_BYTES
    max_per_rule: int = 10
    scratch: Path | None = None
    reading: ReadOptions = ReadOptions()
    #: Whether texts of documents may be an `EncodedText`: nothing is done with them but to write them as JSON.
    encoded_texts: bool = False
    limits: Limits = DEFAULT_LIMITS
    #: Local copies of files that a description names, by the `@id` or name of the file or file set.
    maps: Mapping[str, Entry] = field(default_factory=dict)


class Shard(Struct, frozen=True, gc=False):
    """Files that only make sense together: the unit of parallelism, resume and quarantine.

    `files` maps a role to an entry; `payload` is data from the format's plan for its check. Both cross processes.
    `target` is the path that names the result of a conversion, if the path of the first file would mislead; `corpus` is
    the folder of its corpus, if a source may have several, such as the variants of a release. `read_as` says how its files
    are read, if other shards decide that.
    """

    index: int
    name: str
    files: Mapping[str, Entry]
    payload: Any = None
    target: str = ""
    corpus: str = ""
    read_as: str = ""

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files.values())


_Sized = TypeVar("_Sized", Entry, Shard)


def by_size(items: Iterable[_Sized], most_bytes: int, most: int) -> Iterator[list[_Sized]]:
    """Yield files or shards in order, together up to so many bytes and so many; a larger one is alone."""
    some: list[_Sized] = []
    size = 0
    for item in items:
        if some and (size + item.size > most_bytes or len(some) == most):
            yield some
            some, size = [], 0
        some.append(item)
        size += item.size
    if some:
        yield some


class Plan(Struct):
    """What there is to check below a root, and the findings about its layout."""

    version: str
    shards: Sequence[Shard]
    tally: Tally
    coverage: Coverage = field(default_factory=Coverage)
    facts: Any = None
    #: How to name the text of rows that have none as they are read.
    lacks_text: str = ""

    def refuse_tables(self, what: str) -> None:
        """Raise `UsageError` if rows have no text, which something needs."""
        if self.lacks_text:
            raise UsageError(f"the rows have no text, which {what} needs: {self.lacks_text}")

    def refuse_unread(self) -> None:
        """Raise `BadInput` if something cannot be read, or leads out of the given path: data may be missing."""
        for each in self.tally.findings:
            if each.code in INCOMPLETE_CODES:
                raise BadInput(each)

    def errors(self, codes: frozenset[str]) -> Iterator[Finding]:
        """Yield the errors of the layout with one of these codes."""
        return (each for each in self.tally.findings if each.code in codes and each.severity is Severity.ERROR)


class ShardResult(Struct):
    """The results for one shard. `facts` is small, mergeable and picklable: it feeds the dataset-level rules.

    `read` has, by URL, the files that were read to their end, if the caller wants them.
    """

    tally: Tally
    coverage: Coverage
    facts: Any = None
    seconds: float = 0.0
    read: Mapping[str, FileFacts] = field(default_factory=dict)


class Detection(Struct, frozen=True):
    """A format's claim on a path: its version, the evidence, and whether its rows have no text."""

    version: str
    evidence: str
    is_table: bool = False


class Rejected(Struct, frozen=True):
    """A record that cannot become a document: why and where, and its unchanged bytes."""

    finding: Finding
    raw: bytes


class LeftOut(Struct, frozen=True):
    """What the next document leaves out of its record, because no document can represent it."""

    what: str
    at: Location


class Reader(Struct, frozen=True):
    """How the documents of a format are read, and what a corpus lacks if its layout is faulty."""

    #: Read one shard as documents, checking what it reads; a stream that breaks off ends with a `Rejected`.
    read: Callable[[Shard, CheckOptions], Iterator[Document | Rejected | LeftOut]]
    #: The same in batches, by the kind that the target takes, with the documents that are in none between them.
    batches: Mapping[type[Batch], Callable[[Shard, CheckOptions], Iterator[Batch | Document | Rejected]]] = field(
        default_factory=dict
    )
    #: List the shards to read, if they differ from the shards to check: records that `ReadOptions` may choose.
    plan: Callable[[Entry, CheckOptions], Plan] | None = None
    #: Return what `read` leaves out of a shard, as numbers by name.
    left_unread: Callable[[Shard], Mapping[str, int]] = lambda _shard: {}
    #: Return the names of the attribute sets next to the documents of a shard; `read` includes them.
    attribute_sets: Callable[[Shard], Sequence[str]] = lambda _shard: ()
    #: Return the document at a line, or with the number of a row, of a file by its path, unless reading up to it finds it.
    at: Callable[[Shard, CheckOptions, str, int], Document | Rejected | None] | None = None
    #: Whether each row of a shard is one document, so that its number, from 1, is the place of the document.
    by_row: bool = False
    #: The `source` that `read` gives to documents without one.
    source_name: str | None = None
    #: Return the part of a shard in `PART:NUMBER`, the id of a document whose record has none of its own.
    part: Callable[[Shard], str] | None = None
    #: Whether records have no fixed fields, so that `ReadOptions` may name them.
    names_fields: bool = False
    #: Whether a column profile in `ReadOptions` may name them.
    has_columns: bool = False
    #: Return what is wrong with a shard that lacks a file, so that `read` rejects all of it.
    unpaired: Callable[[Shard], Finding | None] = lambda _shard: None
    #: Rules on the layout that fire if a file is not read: by code, what is then lost.
    unread_rules: Mapping[str, str] = field(default_factory=dict)
    #: Rules on the layout that fire if files cannot be matched, so nothing may be read.
    pairing_rules: frozenset[str] = frozenset()
    #: Rules on the layout that fire if data is missing.
    missing_rules: frozenset[str] = frozenset()


class Mend(Struct, frozen=True):
    """A file as it should be, which repairs all findings about it: `to` is its new name in its folder.

    Without `content` it is removed, or only renamed; one that is not held in memory is made in `pieces`, and `note` says what
    changes. A change that is not `safe` should be reviewed; a file that `is_new` does not exist yet.
    """

    entry: Entry
    content: bytes | None = None
    codes: tuple[str, ...] = ()
    to: str = ""
    safe: bool = True
    is_new: bool = False
    pieces: Callable[[], Iterator[bytes]] | None = None
    note: str = ""


class Format(Struct, frozen=True):
    """A format as a frozen record of functions."""

    #: The name that the command line uses.
    name: str
    #: One line for `corpusfmt formats`.
    summary: str
    #: The versions, oldest first.
    versions: tuple[str, ...]
    #: Every rule, including the rules of all formats.
    rules: RuleSet
    #: Return whether a path looks like this format.
    detect: Callable[[Entry], Detection | None]
    #: List the shards below a path, and judge the layout.
    plan: Callable[[Entry, CheckOptions], Plan]
    #: Check one shard: a pure function of its files, run in any process.
    check: Callable[[Shard, CheckOptions], ShardResult]
    #: Judge the dataset by the facts of all shards, given in shard order.
    finish: Callable[[Plan, Sequence[Any], Judge, CheckOptions], None] = lambda _plan, _facts, _judge, _options: None
    #: The type of a shard's facts, which JSON can represent; None if there are none.
    facts: Any = None
    #: Read its documents; None for a format that cannot be read.
    reader: Reader | None = None
    #: Other names on the command line, each with its version ("" for any).
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: Write corpora, by version; empty for formats that only describe.
    writers: Mapping[str, Writer[Any]] = field(default_factory=dict)
    #: Describe corpora, by version.
    describers: Mapping[str, Describer] = field(default_factory=dict)
    #: Read the records that it describes; None for formats that describe none.
    records: OpenRecords | None = None
    #: Write descriptions; None for formats of corpora.
    descriptions: Callable[[], Descriptions] | None = None
    #: Return the JSON Schema of its descriptions in a version, for editors.
    schema: Callable[[str], Mapping[str, Any]] | None = None
    #: Whether findings about a file of a shard may carry edits that repair it.
    offers_edits: bool = False
    #: Return the files of a corpus to replace, rename or remove, which repairs findings about its layout.
    mends: Callable[[Entry, CheckOptions], Iterator[Mend]] | None = None
    #: The role of the file in a shard whose lines are documents, "" if there is none.
    documents_role: str = ""
    #: Whether a check reads nothing but the files of its shard, so that its result may be kept as long as these are the same.
    reads_only_its_files: bool = False
    #: The option of `validate` that only this format has, and that therefore names it.
    own_option: Literal["", "dedup", "blocklist"] = ""
    #: Return whether its own rules judge the checksum list at a path.
    judges_list: Callable[[str], bool] = lambda _path: False
    #: Whether it accepts paths of other formats, too: it is asked only if no other format claims a path.
    is_general: bool = False

    def __post_init__(self) -> None:
        self.rules.complete()

    def judge(self, options: CheckOptions, version: str, path: str) -> Judge:
        """Return a judge for one shard, or for the dataset, under the caller's options."""
        return Judge(self.rules, options.grading, version=version, path=path, cap=options.max_per_rule)


@cache
def formats() -> Mapping[str, Format]:
    """Return every format of this package by name."""
    found = map(_format_in, _modules().values())
    return {fmt.name: fmt for fmt in sorted(filter(None, found), key=lambda fmt: fmt.name)}


@cache
def further_formats() -> Extensions[Format]:
    """Return the formats of other distributions, from their entry points in the group `corpusfmt.formats`."""
    known = formats()
    names = {*known, *(alias for fmt in known.values() for alias in fmt.aliases)}
    codes = {rule.code: rule for fmt in known.values() for rule in fmt.rules}

    def fault_of(name: str, found: Any) -> str | None:
        if not isinstance(found, Format):
            return f"it is {type(found).__name__}, expected a corpusfmt.formats.Format"
        if found.name != name:
            return f"the format calls itself `{found.name}`"
        if taken := names & {name, *found.aliases}:
            return f"the name `{min(taken)}` is taken"
        for rule in found.rules:
            if codes.get(rule.code, rule) is not rule:
                return f"its rule `{rule.slug}` has the code {rule.code}, which is that of `{codes[rule.code].slug}`"
        names.update((name, *found.aliases))
        codes.update((rule.code, rule) for rule in found.rules)
        return None

    return extensions("corpusfmt.formats", fault_of)


def all_formats() -> Iterator[Format]:
    """Yield every format, this package's first: those of other distributions are loaded only on demand."""
    yield from formats().values()
    yield from further_formats().loaded.values()


@cache
def _modules() -> dict[str, str]:
    """Return the modules that may have a format, by its name."""
    # Not with pkgutil, which imports inspect. Modules may be there without their sources, as in a browser.
    suffixes = (*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
    found = {}
    for path in sorted(Path(__file__).parent.iterdir()):
        if any((path / f"__init__{suffix}").exists() for suffix in suffixes):
            found[path.name] = f"{__name__}.{path.name}.format"
        elif path.suffix in suffixes and path.stem != "__init__":
            found[path.stem] = f"{__name__}.{path.stem}"
    return found


def modules_of(name: str) -> list[str]:
    """Return the modules that a process imports for a format by name, so they can be imported in advance."""
    module = _modules().get(name)
    return [module] if module else []


def _format_in(module: str) -> Format | None:
    candidate = getattr(import_module(module), "FORMAT", None)
    return candidate if isinstance(candidate, Format) else None


def format_names(*, written: bool = False) -> list[str]:
    """Return the names of all formats, or of those that can be written, with and without their versions."""
    names: list[str] = []
    for fmt in all_formats():
        if versions := fmt.writers if written else fmt.versions:
            names += [fmt.name, *fmt.aliases]
            names += (f"{fmt.name}-{each}" for each in versions if each and each not in fmt.aliases)
    return sorted(names)


def named_format(name: str, *, written: bool = False) -> tuple[Format, str]:
    """Return a format and a version ("" if none is given) by a name like `oscar`, `oscar-1.1` or `dolma`.

    The error for an unknown name lists formats, with `written` only those that can be written.

    Only the module of that name is imported, if it exists: a worker process needs no other.
    """
    base, _, version = name.partition("-")
    here = _modules().get(base)
    fmt = _format_in(here) if here else None
    if fmt is not None and (not version or version in {*fmt.versions, *fmt.writers}):
        return fmt, version
    known = {fmt.name: fmt for fmt in all_formats()}
    fmt = known.get(base)
    if fmt is not None and (not version or version in {*fmt.versions, *fmt.writers}):
        return fmt, version
    for each in known.values():
        if name in each.aliases:
            return each, each.aliases[name]
    raise UsageError(unknown("format", name, format_names(written=written)) + further_formats().explained())


def format_at(entry: Entry, name: str) -> tuple[Format, str]:
    """Return the format and version of a path: as `name` says, or detected if it is `auto`. Raises as `detect` does."""
    if name == "auto":
        fmt, detection = detect(entry)
        return fmt, detection.version
    fmt, version = named_format(name)
    found = None if version else fmt.detect(entry)
    return fmt, version or (found.version if found else "")


def description_in(child: Callable[[str], Entry | None]) -> tuple[Format, Entry] | None:
    """Return the description in a folder, whose files are found by `child`, with its format; None if there is none.

    A file with the usual name is one, whatever it contains; a file with another name only if its content is.
    """
    for name in DESCRIPTIONS:
        if (found := child(name)) is not None and found.kind != "directory":
            fmt, _ = named_format("croissant")
            if name == DESCRIPTIONS[0] or fmt.detect(found):
                return fmt, found
    return None


def refuse_barred(entry: Entry) -> None:
    """Raise `BadInput` for a path that exists and cannot be read."""
    judge = Judge(GENERAL, Grading(), version="", path=entry.path)
    if report_barred(entry, judge):
        raise BadInput(judge.tally.findings[0])


def detect(entry: Entry) -> tuple[Format, Detection]:
    """Return the format that claims a path. Raises `UsageError` if none does, `BadInput` if links may be the cause.

    No two formats claim the same path except general ones, which come last, so the order is free. To import few modules,
    likely formats are asked first, and Croissant last, unless the file has the name of a description; formats of other
    distributions after all of ours. A folder is its data: it is a description only if no format knows the other files.
    """
    refuse_barred(entry)
    is_folder = entry.kind == "directory"
    described = not is_folder and entry.name.endswith((".json", ".jsonld", ".html"))
    likely = ["croissant"] if described else ["dolma", "oscar"] if ".json" in entry.name else ["oscar", "dolma"]
    unlikely_last = sorted(_modules(), reverse=True)
    unlikely_last.sort(key=lambda name: likely.index(name) if name in likely else len(likely))
    general = []
    for name in unlikely_last:
        fmt = _format_in(_modules()[name])
        if fmt is not None and (fmt.is_general or (is_folder and fmt.descriptions is not None)):
            general.append(fmt)
        elif fmt is not None and (detection := fmt.detect(entry)) is not None:
            return fmt, detection
    further = further_formats()
    explained = further.explained()
    for fmt in further.loaded.values():
        try:
            detection = fmt.detect(entry)
        except CorpusfmtError:
            raise
        except Exception as error:
            explained += f"; `{fmt.name}` failed to look at it: {type(error).__name__}: {error}"
            continue
        if detection is not None:
            return fmt, detection
    for fmt in general:
        if (detection := fmt.detect(entry)) is not None:
            return fmt, detection
    for each in walk(entry) if is_folder else (entry,):
        refuse_barred(each)
    what = f"no known format recognises {printable(entry.url)}"
    if seen := unrecognised(entry):
        raise UsageError(f"{what}: {seen}{explained}")
    names = ", ".join(fmt.name for fmt in all_formats())
    raise UsageError(f"{what}; name one with --format ({names}){explained}")
