"""Internal: Describe a folder as a Croissant document: its files with sizes and SHA-256, its languages, and its
records.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from corpusfmt.description.provenance import (
    Release,
    Repository,
    load_owner,
    release_at,
    repository_at,
    revision_as_source,
    said_about,
)
from corpusfmt.engine.config import Details
from corpusfmt.engine.executors import default_jobs, executor_factory
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, each_ended, run_tasks
from corpusfmt.formats import (
    CheckOptions,
    FieldNames,
    Format,
    LeftOut,
    ReadOptions,
    Rejected,
    Shard,
    detect,
    named_format,
    refuse_barred,
)
from corpusfmt.formats.columns import ColumnProfile, format_of_reading
from corpusfmt.formats.describing import (
    FILES,
    Anew,
    Contents,
    Described,
    Describer,
    Descriptions,
    FieldOf,
    FileOf,
    Survey,
    record_count,
    why_not_loaded,
)
from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, UNREADABLE, pointer_as_input
from corpusfmt.formats.parts import is_root_file
from corpusfmt.formats.rows.columned import names_columns
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, limited, within
from corpusfmt.io.loading import BIG, HUGE, INT, NUMBERS, OFFSET, TEXTS, TIME, WIDE, Columns, Seen
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import Entry, PointerFile, entry_of, is_hidden
from corpusfmt.io.streams import codec_of_name, facts_of
from corpusfmt.io.text import path_to
from corpusfmt.manifest.model import ListedFile, is_unlisted
from corpusfmt.model import BadInput, Finding, Json, UsageError
from corpusfmt.wording import clipped

_JSON_LINES = "application/jsonlines"
_MEANINGS = {
    "text": "Text of the document",
    "id": "Identifier of the document",
    "url": "Address of the document",
    "created": "When the document was created",
    "date": "Date of the document, such as that of a crawl",
    "language": "Language of the document",
    "score": "Score of the document",
    "source": "Source of the document",
}


def format_with_columns(entry: Entry, reading: ReadOptions) -> Format:
    """Return the format of rows whose columns are named: that of the profile, or as detected, or else JSON Lines."""
    try:
        named = format_of_reading(entry, "auto", reading)
        fmt, _ = detect(entry) if named == "auto" else named_format(named)
    except UsageError:
        fmt, _ = named_format("jsonl")
    if not (fmt.reader and fmt.reader.has_columns):
        raise UsageError(f"{entry.path} is {fmt.name}, which has no column profiles: remove --columns and --text-field")
    return fmt


def explain(found: Survey, fmt: Format, entry: Entry, prefix: str, reading: ReadOptions) -> None:
    """Say in a survey what the fields of a column profile mean, and which languages its paths name.

    Raises `BadInput` for the first row that is none, such as an array, if the survey found no records in its file for that.
    """
    options = CheckOptions(reading=reading)
    shards = fmt.plan(entry, options).shards
    _refuse_bad_rows(found, fmt, shards, prefix, options)
    columns = next((shard.payload for shard in shards if isinstance(shard.payload, ColumnProfile)), None)
    if columns is None:
        return
    paths = [each.url for shard in shards for each in shard.files.values()]
    labels = {label for path in paths if (label := columns.language_of_path(path))}
    found.languages |= {label.replace("_", "-") for label in labels}
    found.evidence["columns"] = columns.name or "the fields that options name"
    fields = asdict(columns.fields)
    meanings = {path_to(name): _MEANINGS[role] for role, name in reversed(fields.items()) if name is not None}
    found.record_sets = [
        replace(each, fields=list(_explained(each.fields, meanings))) if each.fields else each
        for each in found.record_sets
    ]


def _refuse_bad_rows(found: Survey, fmt: Format, shards: Sequence[Shard], prefix: str, options: CheckOptions) -> None:
    assert fmt.reader is not None
    for shard in shards:
        for each in shard.files.values():
            seen = found.evidence["files"].get(prefix + each.path, {})
            # Records in other compression are not described, however good.
            is_read = seen.get("encodingFormat") == _JSON_LINES and seen["kind"] == "rows"
            is_described = is_read and codec_of_name(each.name) in ("plain", "gzip")
            if is_described and "records" not in seen:
                rejected = (row for row in fmt.reader.read(shard, options) if isinstance(row, Rejected))
                if (first := next(rejected, None)) is not None:
                    raise BadInput(first.finding)


def _explained(
    fields: Sequence[FieldOf], meanings: Mapping[tuple[str, ...], str], above: tuple[str, ...] = ()
) -> Iterator[FieldOf]:
    for each in fields:
        path = (*above, each.name)
        inner = list(_explained(each.fields, meanings, path))
        yield replace(each, fields=inner, description=meanings.get(path, each.description))


#: Properties of a dataset that Croissant requires and only its owner knows.
REQUIRED = ("license", "creator", "url", "datePublished")


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
    rai: str | Path | None = None,
    croissant: str | None = None,
    evidence: Callable[[Json], None] | None = None,
    repository: str | None = None,
    format: str = "auto",  # noqa: A002
    follow_links: bool = False,
    jobs: int | None = 1,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    **fields: Unpack[FieldNames],
) -> Json:
    """Return the Croissant description of a corpus, or of any other folder, ready to be written as JSON.

    The details that only the owner of a dataset knows have the names of the command's options; `rai` is the path of a TOML
    file with more of them. Languages that are not given are those of the corpus. `croissant` is the version to write, 1.1 or
    1.0. Paths are relative to `base`, the folder that the description will be in, if the data is in it or below; otherwise
    to the data. `evidence` is called once with the reasons for each type, key and split, and with notes on everything that
    is not described. `fields` are `columns`, a column profile, and names of fields of rows, such as
    `text_field`, as for `convert`. Every data file is read; `follow_links` lets links lead out of the folder.
    Raises `UsageError` where there is nothing to describe or a value is not possible, `BadInput` where the records of a
    corpus are wrong, a part of it cannot be read or a file is a pointer of Git LFS, `OSError` where a file vanishes, `LimitReached` where `limits` end it.
    """
    details = Details.of(locals())
    document, found = described_as(
        details,
        path,
        rai=rai,
        croissant=croissant,
        base=None if base is None else place_of(base, "base"),
        reading=ReadOptions(**fields),
        repository=repository,
        format=format,
        follow_links=follow_links,
        jobs=jobs,
        limits=limits,
        progress=progress,
    )
    if evidence is not None:
        evidence(found)
    return document


def _may_be_written(output: Place) -> bool:
    """Return whether there is no file, or one that begins like what an earlier run has written, which is no data."""
    try:
        with output.open("rb") as file:
            return file.read(2) == b"{\n"
    except OSError:
        return True


def described_as(
    details: Details,
    path: str | Path,
    *,
    rai: str | Path | None,
    croissant: str | None,
    base: Place | None,
    reading: ReadOptions,
    follow_links: bool,
    jobs: int | None,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    repository: str | None = None,
    format: str = "auto",  # noqa: A002 - the name that users type
    outputs: Sequence[Place] = (),
) -> tuple[Json, Json]:
    """As `describe`, with details from wherever they are; returns the evidence, too.

    Files at the paths of `outputs`, which an earlier run may have written, are not part of the data.
    """
    version = _version(croissant)
    owner = load_owner(rai) if rai is not None else {}
    limits = limits.begun()
    entry = entry_of(str(path), follow_links=follow_links)
    refuse_barred(entry)
    prefix = _prefix(entry, base)
    meter = Meter(limits)
    with limited(limits):
        fmt, known_as = _corpus_at(entry, format, reading)
    written = {
        each.url if isinstance(each, StorePath) else os.path.realpath(each) for each in outputs if _may_be_written(each)
    }
    above = f"{(entry.url if entry.is_remote else os.path.realpath(entry.url)).rstrip('/')}/"
    beside = {_OWN_FILE, *(url.removeprefix(above) for url in written if url.startswith(above))}
    survey = partial(_descriptions().survey, entry, prefix=prefix, version=version, beside=beside)

    def is_output(each: Entry) -> bool:
        # What seals a release comes after its description, and signs it.
        url = each.url if each.is_remote else os.path.realpath(each.url)
        return each.path == _OWN_FILE or url in written or (is_unlisted(each.path) and not is_hidden(each.path))

    properties = details.properties() | owner
    if fmt is not None and fmt.descriptions is not None:
        return _completed(fmt.descriptions, entry, properties)
    notes: list[str] = []
    said = {} if entry.is_remote else said_about(entry, properties, notes)
    published = repository_at(repository, entry, notes) if repository is not None else Repository("")
    if repository is not None:
        properties = {"url": published.clone or repository} | properties
    release = release_at(entry) if version != "1.0" else None
    if release is None and version != "1.0":
        properties = revision_as_source(entry) | properties
    # Of a repository on the Hub, without its revision.
    own = entry.path.partition("@")[0] if entry.is_remote else Path(entry.url).resolve().name
    name = properties.pop("name", _merged(said.values()).get("name", own))
    corpus = why = None
    if fmt is not None and not fmt.describers[known_as].is_open:
        try:
            corpus = _corpus(fmt, known_as, entry, prefix, limits, meter, jobs, progress)
            why = corpus.left_out
        except BadInput as bad:
            why = f"{bad.finding.location}: {bad.finding.message}"
            # Without a file that cannot be read, less would be described.
            if format != "auto" or bad.finding.code in (UNREADABLE.code, LINK_OUTSIDE_ROOT.code):
                raise
    if corpus is None or (why and format == "auto"):
        with within(meter):
            found = survey(leave_out=is_output)
            rows = named_format("jsonl")[0] if why else fmt
            if rows is not None and rows.reader and rows.reader.has_columns:
                explain(found, rows, entry, prefix, reading)
        if not found.files:
            raise UsageError(f"nothing to describe: no data found in {path}")
        if fmt is not None and why:
            found.notes.append(f"described as any folder, not as {fmt.name}: {why}")
        described = _surveyed(name, found, release, prefix)
    else:
        known = corpus.files
        with within(meter):
            found = survey(
                leave_out=lambda each: is_output(each) or prefix + each.path in known or is_root_file(each.name)
            )
        described = _of_corpus(corpus, found, name, release, prefix)
    # What the data itself shows goes before what files say about it, but for the sentence that describes any folder.
    derived = {key: value for key, value in described.details.items() if key != "description"}
    said = {file: {key: each[key] for key in each if key not in derived} for file, each in said.items()}
    found.notes += notes + [f"from {file}: {', '.join(each)}" for file, each in said.items() if each]
    details_of = dict(described.details) | _merged(said.values()) | properties
    described = replace(described, details=details_of, base=published.base, clone=published.clone)
    document = _descriptions().write(described, version)
    return msgspec.to_builtins(document, enc_hook=list), found.evidence


def _merged(tables: Iterable[Json]) -> Json:
    return {name: value for each in tables for name, value in each.items()}


def _completed(descriptions: Descriptions, entry: Entry, properties: Json) -> tuple[Json, Json]:
    if not properties:
        raise UsageError(
            f"{entry.path} is a description: name the folder of the data, or what to add, such as --rai FILE"
        )
    with entry.open() as file:
        data = file.read(_MOST_DESCRIPTION + 1)
    if len(data) > _MOST_DESCRIPTION:
        raise UsageError(f"{entry.path} has more than {_MOST_DESCRIPTION:,} bytes")
    return descriptions.complete(data, properties), {"notes": []}


_MOST_DESCRIPTION = 64 * 1024 * 1024
#: What describing writes.
_OWN_FILE = "croissant.json"


def _version(asked: str | None) -> str:
    versions = _descriptions().versions
    if asked is not None and asked not in versions:
        raise UsageError(f"unknown version of Croissant {asked!r}; known: {', '.join(versions)}")
    return asked or versions[-1]


def _corpus_at(entry: Entry, name: str, reading: ReadOptions) -> tuple[Format | None, str]:
    """Return the format of a corpus that is named or detected, and its version; none for other folders.

    Raises `UsageError` for a format that has no descriptions, or no column profiles if one is named.
    """
    if name != "auto":
        fmt, version = named_format(name)
        version = version or fmt.versions[-1]
        if version not in fmt.describers:
            raise UsageError(f"--format is {name}, whose folders are not described by their format")
    elif names_columns(reading):
        fmt = format_with_columns(entry, reading)
        version = fmt.versions[-1]
    else:
        try:
            fmt, detection = detect(entry)
        except (UsageError, BadInput):  # the latter for links, which a survey leaves out with a note
            return None, ""
        if detection.is_table:  # described by its content
            return None, ""
        version = detection.version
    if fmt.descriptions is not None and entry.kind == "file":
        return fmt, version
    if version not in fmt.describers:
        return None, ""
    if names_columns(reading) and not (fmt.reader and fmt.reader.has_columns):
        raise UsageError(f"{fmt.name} has no column profiles: remove --columns and --text-field")
    return fmt, version


def _surveyed(name: str, found: Survey, release: Release | None, prefix: str) -> Described:
    listed = release.files if release is not None else {}
    tables = {
        each.path: each.facts
        for each in found.files
        if each.facts and (known := listed.get(each.path.removeprefix(prefix))) and known.documents is not None
    }
    release = _confirmed(release, tables, prefix, found)
    derived: Json = {"description": f"Files of {name}"} | (release.provenance if release is not None else {})
    if found.languages:
        derived["inLanguage"] = sorted(found.languages)
    return Described(name, found.files, found.record_sets, derived)


class _Corpus(Struct, frozen=True):
    """A corpus that was read: its files by their path from the description, and what its documents have.

    `left_out` says what they have that their format does not know, `members` are those of known objects.
    """

    describer: Describer
    files: Mapping[str, FileFacts]
    contents: Contents
    left_out: str
    members: Sequence[str]


def _corpus(
    fmt: Format,
    version: str,
    entry: Entry,
    prefix: str,
    limits: Limits,
    meter: Meter,
    jobs: int | None,
    progress: Callable[[Progress], None] | None,
) -> _Corpus:
    with within(meter):
        plan = fmt.plan(entry, CheckOptions(version=version))
    plan.refuse_unread()
    if not plan.shards:
        raise UsageError(f"nothing to describe: no {fmt.name} data found in {entry.path}")
    workers = jobs or default_jobs(sum(shard.size for shard in plan.shards), len(plan.shards))
    files: dict[str, FileFacts] = {}
    contents = Contents()
    others: set[str] = set()
    members: set[str] = set()
    describer = fmt.describers[version]
    known = {each.names[0] for each in describer.fields}
    inside = {tuple(each.names[:2]) for each in describer.fields if len(each.names) > 1}
    options = CheckOptions(version=plan.version, limits=limits)
    for look in _looks(f"{fmt.name}-{version}", plan.shards, options, meter, workers, progress):
        files |= {prefix + path: facts for path, facts in look.files.items()}
        rows = look.rows
        contents |= _of_file(describer.fields, rows) | Contents(look.languages, records=look.records)
        columns = rows.columns.members if rows.columns is not None else {}
        others |= columns.keys() - known
        for name in {name for name, _ in inside} & columns.keys():
            members |= {f"`{name}.{each}`" for each in columns[name].members if (name, each) not in inside}
    left_out = (
        f"`{clipped(min(others))}` is none of its fields" if others and not why_not_loaded(files, contents) else ""
    )
    return _Corpus(describer, dict(sorted(files.items())), contents, left_out, sorted(members))


def _of_corpus(corpus: _Corpus, rest: Survey, name: str, release: Release | None, prefix: str) -> Described:
    """Return a corpus with the other files of its folder."""
    describer, contents = corpus.describer, corpus.contents
    reason = why_not_loaded(corpus.files, contents)
    if reason:
        rest.notes.append(f"one record for each file, none for a document: {reason}")
    elif corpus.left_out:
        rest.notes.append(f"some columns are not described: {corpus.left_out}; `--format jsonl` describes all")
    elif corpus.members:
        rest.notes.append(f"not described: {clipped(', '.join(corpus.members))}; `--format jsonl` describes all")
    rest.notes += [
        f"`{each.name}` is not described: some file has no `{each.names[0]}`, and mlcroissant 1.1.1 reads only columns of all"
        for each in describer.fields
        if each.name in contents.fields and each.names[0] in contents.absent and not reason
    ]
    release = _confirmed(release, corpus.files, prefix, rest)
    provenance = release.provenance if release is not None else {}
    described = _described(describer, corpus.files, contents, name, provenance)
    if release is not None:
        described = _annotated(described, describer, release)
    more = [*described.files, *rest.files], [*described.record_sets, *rest.record_sets]
    return Described(described.name, *more, described.details)


def _confirmed(release: Release | None, files: Mapping[str, FileFacts], prefix: str, found: Survey) -> Release | None:
    """Return a manifest if files are as it lists them; add a note if they are not."""
    other = release.difference(files, prefix) if release is not None else ""
    if other:
        found.notes.append(f"{other}: not as MANIFEST.json lists it, so its statistics and provenance are left out")
    return None if other else release


# The fields with the text of a corpus, and the record sets with a record for each document.
_TEXTS = ("text", "content")
_OF_DOCUMENTS = ("documents", "metadata")


def _annotated(described: Described, describer: Describer, release: Release) -> Described:
    """Return a corpus with the statistics of its manifest, at the record set and the field that have the text."""
    of_text = release.of_text()
    record_sets = []
    for each in described.record_sets:
        fields = [replace(one, statistics=of_text) if one.name in _TEXTS else one for one in each.fields]
        has_text = any(one.name in _TEXTS for one in fields)
        is_files = each.name == FILES
        more = release.of_records(describer, counted=each.name == "documents") if has_text or is_files else []
        more += of_text if is_files else []
        known = {one.name for one in more}
        counted = [one for one in each.statistics if one.name not in known]
        record_sets.append(replace(each, fields=fields, statistics=[*counted, *more]))
    return replace(described, record_sets=record_sets)


def described(
    target: str,
    describer: Describer,
    files: Mapping[str, FileFacts],
    below: str = "",
    *,
    root: Place,
    name: str,
    made: Json,
    statistics: Json,
) -> Json:
    """Return the description of files below `root`, given their facts; `target` is like `oscar-1.1` or `dolma`.

    Records come from the files in the folder `below`, if it is given. The columns of all files decide which fields there
    are; the first document decides which of them are addresses.
    `made` is the content of the manifest about the whole release, `statistics` that of `stats.json`, if there is one.
    """
    contents = Contents(_languages(describer, (path for path, facts in files.items() if facts.size)))
    if files and describer.language is None:
        fmt, version = named_format(target)
        options = CheckOptions(version=version or fmt.versions[-1])
        shards = fmt.plan(entry_of(str(root), begun=True), options).shards
        first, _ = _rows(fmt, describer, shards[0], options, at_most=1)
        contents |= replace(_of_file(describer.fields, first), absent=frozenset())
        contents |= Contents(columns=describer.columns(shards[0].files))
    listed = {
        path: ListedFile(facts.size, facts.sha256, documents=facts.documents)
        for path, facts in files.items()
        if facts.documents is not None and _is_below(path, below)
    }
    release = Release(listed, made, statistics)
    if files and describer.language is None:
        known = (language for language, documents in release.documents_by_language.items() if documents)
        contents = replace(contents, languages=frozenset(known))
    for path, facts in files.items():
        if _is_below(path, below):
            contents |= _of_file(describer.fields, facts)
    contents = replace(contents, records=dict.fromkeys(_OF_DOCUMENTS, release.documents))
    made_of = _described(describer, files, contents, name, release.provenance, below)
    return _descriptions().write(_annotated(made_of, describer, release), _version(None))


def _described(
    describer: Describer,
    files: Mapping[str, FileFacts],
    contents: Contents,
    name: str,
    details: Mapping[str, object],
    below: str = "",
) -> Described:
    derived: Json = {"description": describer.summary}
    if contents.languages:
        derived["inLanguage"] = sorted({describer.tags.get(language, language) for language in contents.languages})
    paths = [path for path in files if _is_below(path, below)]
    record_sets = [each for each in describer.record_sets(paths, contents) if each.includes or each.data]
    counted = [
        replace(each, statistics=[record_count(contents.records[each.name])]) if each.name in contents.records else each
        for each in record_sets
    ]
    described_files = Anew(lambda: (FileOf(path, facts) for path, facts in files.items()))
    return Described(name, described_files, counted, derived | dict(details))


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _descriptions() -> Descriptions:
    found = named_format("croissant")[0].descriptions
    assert found is not None
    return found


def _prefix(entry: Entry, base: Place | None) -> str:
    """Return the path of a corpus relative to `base`, with a slash, or nothing if it is not below `base`."""
    if base is None or entry.is_remote != isinstance(base, StorePath):
        return ""
    root = entry.url if entry.kind == "directory" else posixpath.dirname(entry.url)
    if isinstance(base, StorePath):
        whole, above = f"{root.rstrip('/')}/", f"{base}/"
        return whole.removeprefix(above) if whole.startswith(above) else ""
    try:
        inside = Path(root).resolve().relative_to(Path(base).resolve()).as_posix()
    except ValueError:
        return ""
    return "" if inside == "." else f"{inside}/"


class _Look(Struct, frozen=True):
    """Facts about one shard: its files, its rows as if they were those of one file, and their languages and number."""

    files: Mapping[str, FileFacts]
    rows: FileFacts
    languages: frozenset[str]
    records: Mapping[str, int]


def _looks(
    format_name: str,
    shards: Sequence[Shard],
    options: CheckOptions,
    meter: Meter,
    workers: int,
    progress: Callable[[Progress], None] | None,
) -> Iterator[_Look]:
    window = workers * RESULTS_WAITING_A_WORKER
    look_at = partial(_look_at, format_name, options)
    engine = executor_factory(None, workers)
    with ShardProgress(progress, [shard.size for shard in shards]) as shown:
        looks = run_tasks(
            look_at, shards, engine, window=window, finished=shown.finished, meter=meter, gauge=shown.gauge
        )
        yield from each_ended(
            looks,
            [shard.name for shard in shards],
            options.limits,
            lambda _, reason: f"a worker died at every attempt ({reason})",
        )


def _look_at(format_name: str, options: CheckOptions, shard: Shard) -> _Look:
    for entry in shard.files.values():
        refuse_barred(entry)
    files = {entry.path: _facts_of(entry) for entry in shard.files.values()}
    fmt, version = named_format(format_name)
    describer = fmt.describers[version]
    rows, languages = _rows(fmt, describer, shard, options)
    if describer.language is None:
        return _Look(files, rows, languages, {"documents": rows.documents or 0})
    records = describer.count(shard.files) if describer.count is not None else {}
    return _Look(files, rows, _languages(describer, files), records)


def _facts_of(entry: Entry) -> FileFacts:
    try:
        return facts_of(entry)
    except PointerFile as pointer:
        raise pointer_as_input(pointer, entry.path) from pointer


def _languages(describer: Describer, paths: Iterable[str]) -> frozenset[str]:
    return frozenset(map(describer.language, paths)) if describer.language else frozenset()


def _rows(
    fmt: Format, describer: Describer, shard: Shard, options: CheckOptions, at_most: int | None = None
) -> tuple[FileFacts, frozenset[str]]:
    """Return the facts about the rows of a shard, as a writer has them, and the languages of its documents."""
    columns, languages, untyped, number = Columns(), set[str](), set[str](), 0
    is_of = _descriptions().is_of
    # Columns do not tell what they are written like.
    written = [(each.name, each.names, each.data_type) for each in describer.fields if each.data_type not in _KINDS]
    for row, size, language in islice(_read(fmt, describer, shard, options), at_most):
        if isinstance(row, Finding):
            if at_most is None:
                raise BadInput(row)
            continue
        number += 1
        columns.note(row, size + 1)
        languages |= {language} if language is not None else set()
        for name, steps, kind in written:
            value: Any = row
            for step in steps:
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None and name not in untyped and not is_of(kind, value):
                untyped.add(name)
    found = FileFacts(0, "", documents=number, columns=columns.finish(), untyped=tuple(sorted(untyped)))
    return found, frozenset(languages)


def _read(
    fmt: Format, describer: Describer, shard: Shard, options: CheckOptions
) -> Iterator[tuple[Json | Finding, int, str | None]]:
    """Yield the rows of a shard, each with about its size in bytes and its language; or what is wrong with it."""
    if describer.language is not None:
        yield from ((row, 0, None) for row in (describer.rows(shard.files) if describer.rows is not None else ()))
        return
    assert fmt.reader is not None
    for document in fmt.reader.read(shard, options):
        if isinstance(document, Rejected):
            yield document.finding, 0, None
        elif not isinstance(document, LeftOut):
            row = describer.row(document) if describer.row is not None else fields_of(document)
            yield row, len(document.text), document.lang


# The kinds of values that have a data type. Those of a date have one if they were written in step.
_KINDS = {"sc:Text": TEXTS, "sc:Integer": INT | WIDE | BIG, "sc:Float": NUMBERS}


def _of_file(described: Sequence[FieldOf], facts: FileFacts) -> Contents:
    """Return the contents of a file by what is known of its columns, from reading or from writing it."""
    fields: set[str] = set()
    odd = {(each.name, each.data_type) for each in described if each.name in (facts.untyped or ())}
    if not facts.documents or facts.columns is None:
        return Contents(odd=frozenset(odd))
    for each in described:
        column = facts.columns
        for name in each.names:
            column = column.members.get(name, Seen())
        kinds = column.settled
        is_unread = each.data_type == "sc:DateTime" and facts.untyped is None
        if kinds:
            fields.add(each.name)
        if kinds & ~(TIME | OFFSET if is_unread else _KINDS.get(each.data_type, TEXTS)):
            odd.add((each.name, each.data_type))
        if kinds & ~TEXTS:
            odd.add((each.name, "sc:Text"))
    absent = frozenset(each.names[0] for each in described) - facts.columns.members.keys()
    return Contents(fields=frozenset(fields), odd=frozenset(odd), absent=absent, has_huge=facts.columns.has(HUGE))
