"""Internal: Describe a folder as a Croissant document: its files with sizes and SHA-256, its languages, and its
records.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
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
from corpusfmt.engine.describing import Describing
from corpusfmt.engine.executors import default_jobs, executor_factory
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, each_ended, run_tasks
from corpusfmt.formats import (
    CheckOptions,
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
from corpusfmt.io.limits import Limits, Meter, limited, within
from corpusfmt.io.loading import BIG, HUGE, INT, NUMBERS, OFFSET, TEXTS, TIME, WIDE, Columns, Seen
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import Entry, PointerFile, entry_of, is_hidden
from corpusfmt.io.streams import codec_of_name, facts_of
from corpusfmt.io.text import path_to
from corpusfmt.manifest.model import ListedFile, is_unlisted
from corpusfmt.model import BadInput, Finding, Json, UsageError
from corpusfmt.options import like, takes_options
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


def _explain(survey: Survey, fmt: Format, entry: Entry, prefix: str, reading: ReadOptions) -> None:
    """Say in a survey what the fields of a column profile mean, and which languages its paths name.

    Raises `BadInput` for the first row that is none, such as an array, if the survey found no records in its file for that.
    """
    assert fmt.reader is not None
    options = CheckOptions(reading=reading)
    shards = fmt.plan(entry, options).shards
    for shard in shards:
        for file in shard.files.values():
            seen = survey.evidence["files"].get(prefix + file.path, {})
            is_read = seen.get("encodingFormat") == _JSON_LINES and seen["kind"] == "rows" and "records" not in seen
            # Records in other compression are not described, however good.
            if is_read and codec_of_name(file.name) in ("plain", "gzip"):
                for row in fmt.reader.read(shard, options):
                    if isinstance(row, Rejected):
                        raise BadInput(row.finding)
    columns = next((shard.payload for shard in shards if isinstance(shard.payload, ColumnProfile)), None)
    if columns is None:
        return
    labels = (columns.language_of_path(file.url) for shard in shards for file in shard.files.values())
    survey.languages |= {label.replace("_", "-") for label in labels if label}
    survey.evidence["columns"] = columns.name or "the fields that options name"
    fields = asdict(columns.fields)
    meanings = {path_to(name): _MEANINGS[role] for role, name in reversed(fields.items()) if name is not None}

    def explained(fields: Sequence[FieldOf], *above: str) -> list[FieldOf]:
        return [
            replace(
                field,
                fields=explained(field.fields, *above, field.name),
                description=meanings.get((*above, field.name), field.description),
            )
            for field in fields
        ]

    survey.record_sets = [replace(records, fields=explained(records.fields)) for records in survey.record_sets]


#: Properties of a dataset that Croissant requires and only its owner knows.
REQUIRED = ("license", "creator", "url", "datePublished")


@takes_options(Describing)
def describe(path: str | Path, asked: Describing) -> Json:
    """Return the Croissant description of a corpus, or of any other folder, ready to be written as JSON.

    The details that only the owner of a dataset knows have the names of the command's options; `rai` is the path of a TOML
    file with more of them. Languages that are not given are those of the corpus. `croissant` is the version to write, 1.1 or
    1.0. Paths are relative to `base`, the folder that the description will be in, if the data is in it or below; otherwise
    to the data. `evidence` is called once with the reasons for each type, key and split, and with notes on everything that
    is not described. `columns` is a column profile, and `field` names fields of rows, as for `convert`. Every data file is read; `follow_links` lets links lead out of the folder.
    Raises `UsageError` where there is nothing to describe or a value is not possible, `BadInput` where the records of a
    corpus are wrong, a part of it cannot be read or a file is a pointer of Git LFS, `OSError` where a file vanishes, `LimitReached` where `limits` end it.
    """
    document, evidence = described_as(asked, path, Details.of(asdict(asked)))
    if asked.evidence is not None:
        asked.evidence(evidence)
    return document


def described_as(
    asked: Describing, path: str | Path, details: Details, outputs: Sequence[Place] = ()
) -> tuple[Json, Json]:
    """As `describe`, with details from wherever they are; returns the evidence, too.

    Files at the paths of `outputs`, which an earlier run may have written, are not part of the data.
    """
    version, repository = _version(asked.croissant), asked.repository
    owner = load_owner(asked.rai) if asked.rai is not None else {}
    limits, reading = asked.limits.begun(), like(ReadOptions, asked)
    entry = entry_of(str(path), follow_links=asked.follow_links)
    refuse_barred(entry)
    prefix = _prefix(entry, None if asked.base is None else place_of(asked.base, "base"))
    meter = Meter(limits)
    with limited(limits):
        fmt, known_as = _corpus_at(entry, asked.format, reading)
    properties = details.properties() | owner
    try:
        msgspec.json.encode([prefix, properties])
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not UTF-8") from error
    if fmt is not None and fmt.descriptions is not None:
        return _completed(entry, properties)
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
    own = os.fsencode(own).decode("utf-8", "backslashreplace")
    name = properties.pop("name", _merged(said.values()).get("name", own))
    corpus: tuple[dict[str, FileFacts], Contents] | None = None
    why = ""
    if fmt is not None and not fmt.describers[known_as].is_open:
        try:
            corpus = _corpus(fmt, known_as, entry, prefix, limits, meter, asked.jobs, asked.progress)
            why = _left_out(*corpus)
        except BadInput as bad:
            why = f"{bad.finding.location}: {bad.finding.message}"
            # Without a file that cannot be read, less would be described.
            if asked.format != "auto" or bad.finding.code in (UNREADABLE.code, LINK_OUTSIDE_ROOT.code):
                raise
    is_any_folder = corpus is None or bool(why and asked.format == "auto")
    known = {} if corpus is None or is_any_folder else corpus[0]
    beside, is_output = _own_files(entry, outputs)

    def leave_out(file: Entry) -> bool:
        return is_output(file) or (not is_any_folder and (prefix + file.path in known or is_root_file(file.name)))

    with within(meter):
        survey = descriptions().survey(entry, prefix=prefix, leave_out=leave_out, version=version, beside=beside)
        rows = named_format("jsonl")[0] if why else fmt
        if is_any_folder and rows is not None and rows.reader and rows.reader.has_columns:
            _explain(survey, rows, entry, prefix, reading)
    if corpus is not None and not is_any_folder:
        assert fmt is not None
        described = _of_corpus(fmt.describers[known_as], *corpus, survey, name, release, prefix)
    elif survey.files:
        if fmt is not None and why:
            survey.notes.append(f"described as any folder, not as {fmt.name}: {why}")
        described = _of_folder(name, survey, release, prefix)
    else:
        raise UsageError(f"nothing to describe: no data found in {path}")
    # What the data itself shows goes before what files say about it, but for the sentence that describes any folder.
    derived = {key: value for key, value in described.details.items() if key != "description"}
    said = {file: {key: each[key] for key in each if key not in derived} for file, each in said.items()}
    survey.notes += notes + [f"from {file}: {', '.join(each)}" for file, each in said.items() if each]
    details_of = dict(described.details) | _merged(said.values()) | properties
    described = replace(described, details=details_of, base=published.base, clone=published.clone)
    return descriptions().write(described, version), survey.evidence


def _own_files(entry: Entry, outputs: Sequence[Place]) -> tuple[set[str], Callable[[Entry], bool]]:
    """Return the paths in a folder that a description is written to, and whether a file is no data for that."""

    def may_be_written(output: Place) -> bool:
        try:
            with output.open("rb") as file:
                return file.read(2) == b"{\n"  # as an earlier run has written it
        except OSError:
            return True

    def address(file: Entry) -> str:
        return file.url if file.is_remote else os.path.realpath(file.url)

    written = {
        each.url if isinstance(each, StorePath) else os.path.realpath(each) for each in outputs if may_be_written(each)
    }
    above = f"{address(entry).rstrip('/')}/"

    def is_output(file: Entry) -> bool:
        # What seals a release comes after its description, and signs it.
        is_seal = is_unlisted(file.path) and not is_hidden(file.path)
        return file.path == _OWN_FILE or is_seal or address(file) in written

    return {_OWN_FILE, *(url.removeprefix(above) for url in written if url.startswith(above))}, is_output


def _merged(tables: Iterable[Json]) -> Json:
    return {name: value for each in tables for name, value in each.items()}


def _completed(entry: Entry, properties: Json) -> tuple[Json, Json]:
    if not properties:
        raise UsageError(
            f"{entry.path} is a description: name the folder of the data, or what to add, such as --rai FILE"
        )
    with entry.open() as file:
        data = file.read(_MOST_DESCRIPTION + 1)
    if len(data) > _MOST_DESCRIPTION:
        raise UsageError(f"{entry.path} has more than {_MOST_DESCRIPTION:,} bytes")
    return descriptions().complete(data, properties), {"notes": []}


_MOST_DESCRIPTION = 64 * 1024 * 1024
#: The columns of OSCAR with the headers of a crawl: of these, those that tell documents apart are described.
_HEADERS_OF_WARC = ("headers", "warc_headers")
#: What describing writes.
_OWN_FILE = "croissant.json"


def _version(asked: str | None) -> str:
    versions = descriptions().versions
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
        try:
            known = format_of_reading(entry, "auto", reading)
            fmt = detect(entry)[0] if known == "auto" else named_format(known)[0]
        except UsageError:
            fmt = named_format("jsonl")[0]
        if not (fmt.reader and fmt.reader.has_columns):
            hint = "remove --columns and --field"
            raise UsageError(f"{entry.path} is {fmt.name}, which has no column profiles: {hint}")
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
        raise UsageError(f"{fmt.name} has no column profiles: remove --columns and --field")
    return fmt, version


def _of_folder(name: str, survey: Survey, release: Release | None, prefix: str) -> Described:
    listed = release.files if release is not None else {}
    tables = {
        file.path: file.facts
        for file in survey.files
        if file.facts and (known := listed.get(file.path.removeprefix(prefix))) and known.documents is not None
    }
    release = _confirmed(release, tables, prefix, survey)
    derived: Json = {"description": f"Files of {name}"} | (release.provenance if release is not None else {})
    if survey.languages:
        derived["inLanguage"] = sorted(survey.languages)
    return Described(name, survey.files, survey.record_sets, derived)


def _corpus(
    fmt: Format,
    version: str,
    entry: Entry,
    prefix: str,
    limits: Limits,
    meter: Meter,
    jobs: int | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[dict[str, FileFacts], Contents]:
    """Read a corpus; return its files by their path from the description, and what its documents have."""
    with within(meter):
        plan = fmt.plan(entry, CheckOptions(version=version))
    plan.refuse_unread()
    shards = plan.shards
    if not shards:
        raise UsageError(f"nothing to describe: no {fmt.name} data found in {entry.path}")
    workers = jobs or default_jobs(sum(shard.size for shard in shards), len(shards))
    files: dict[str, FileFacts] = {}
    contents = Contents()
    look = partial(_look_at, f"{fmt.name}-{version}", CheckOptions(version=plan.version, limits=limits))
    with ShardProgress(progress, [shard.size for shard in shards]) as shown:
        looks = run_tasks(
            look,
            shards,
            executor_factory(None, workers),
            window=workers * RESULTS_WAITING_A_WORKER,
            finished=shown.finished,
            meter=meter,
            gauge=shown.gauge,
        )
        names = [shard.name for shard in shards]
        for own, inside in each_ended(looks, names, limits, lambda _, why: f"a worker died at every attempt ({why})"):
            files |= {prefix + path: facts for path, facts in own.items()}
            contents |= inside
    return dict(sorted(files.items())), contents


def _look_at(format_name: str, options: CheckOptions, shard: Shard) -> tuple[dict[str, FileFacts], Contents]:
    files = {}
    for file in shard.files.values():
        refuse_barred(file)
        try:
            files[file.path] = facts_of(file)
        except PointerFile as pointer:
            raise pointer_as_input(pointer, file.path) from pointer
    fmt, version = named_format(format_name)
    describer = fmt.describers[version]
    rows, languages = _rows(fmt, describer, shard, options)
    if describer.language is None:
        records: Mapping[str, int] = {"documents": rows.documents or 0}
    else:
        languages = frozenset(map(describer.language, files))
        records = describer.count(shard.files) if describer.count is not None else {}
    return files, _of_file(describer.fields, rows) | Contents(languages, records=records)


def _left_out(files: Iterable[str], contents: Contents) -> str:
    """Return that documents have columns that their format does not know, "" if they have none."""
    columns = [names[0] for names in contents.unknown if len(names) == 1]
    if not columns or why_not_loaded(files, contents):
        return ""
    return f"`{clipped(min(columns))}` is none of its fields"


def _of_corpus(
    describer: Describer,
    files: Mapping[str, FileFacts],
    contents: Contents,
    rest: Survey,
    name: str,
    release: Release | None,
    prefix: str,
) -> Described:
    """Return a corpus with the other files of its folder."""
    reason, left_out = why_not_loaded(files, contents), _left_out(files, contents)
    members = sorted(
        f"`{'.'.join(names)}`" for names in contents.unknown if len(names) > 1 and names[0] not in _HEADERS_OF_WARC
    )
    if reason:
        rest.notes.append(f"one record for each file, none for a document: {reason}")
    elif left_out:
        rest.notes.append(f"some columns are not described: {left_out}; `--format jsonl` describes all")
    elif members:
        rest.notes.append(f"not described: {clipped(', '.join(members))}; `--format jsonl` describes all")
    for field in describer.fields if not reason else ():
        if field.name in contents.fields and field.names[0] in contents.absent:
            lacking = f"some file has no `{field.names[0]}`, and mlcroissant 1.1.1 reads only columns of all"
            rest.notes.append(f"`{field.name}` is not described: {lacking}")
    release = _confirmed(release, files, prefix, rest)
    described = _described(describer, files, contents, name, release)
    more = [*described.files, *rest.files], [*described.record_sets, *rest.record_sets]
    return Described(described.name, *more, described.details)


def _confirmed(release: Release | None, files: Mapping[str, FileFacts], prefix: str, found: Survey) -> Release | None:
    """Return a manifest if files are as it lists them; add a note if they are not."""
    other = release.difference(files, prefix) if release is not None else ""
    if other:
        found.notes.append(f"{other}: not as MANIFEST.json lists it, so its statistics and provenance are left out")
    return None if other else release


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
    own = {path: facts for path, facts in files.items() if _is_below(path, below)}
    listed = {
        path: ListedFile(facts.size, facts.sha256, documents=facts.documents)
        for path, facts in own.items()
        if facts.documents is not None
    }
    release = Release(listed, made, statistics)
    contents = Contents(records=dict.fromkeys(_OF_DOCUMENTS, release.documents))
    if describer.language is not None:
        contents |= Contents(frozenset(describer.language(path) for path, facts in files.items() if facts.size))
    elif files:
        fmt, version = named_format(target)
        options = CheckOptions(version=version or fmt.versions[-1])
        shard = fmt.plan(entry_of(str(root), begun=True), options).shards[0]
        first, _ = _rows(fmt, describer, shard, options, at_most=1)
        contents |= replace(_of_file(describer.fields, first), absent=frozenset())
        languages = frozenset(name for name, documents in release.documents_by_language.items() if documents)
        contents |= Contents(languages, columns=describer.columns(shard.files))
    for facts in own.values():
        contents |= _of_file(describer.fields, facts)
    return descriptions().write(_described(describer, files, contents, name, release, below), _version(None))


# The fields with the text of a corpus, and the record sets with a record for each document.
_TEXTS = ("text", "content")
_OF_DOCUMENTS = ("documents", "metadata")


def _described(
    describer: Describer,
    files: Mapping[str, FileFacts],
    contents: Contents,
    name: str,
    release: Release | None,
    below: str = "",
) -> Described:
    """Return a corpus, with the statistics of its manifest at the record set and the field that have the text."""
    derived: Json = {"description": describer.summary}
    if contents.languages:
        derived["inLanguage"] = sorted({describer.tags.get(language, language) for language in contents.languages})
    derived |= release.provenance if release is not None else {}
    of_text = release.of_text() if release is not None else []
    record_sets = []
    for records in describer.record_sets([path for path in files if _is_below(path, below)], contents):
        count = contents.records.get(records.name)
        statistics = records.statistics if count is None else [record_count(count)]
        fields = [replace(each, statistics=of_text) if each.name in _TEXTS else each for each in records.fields]
        has_text, is_files = any(each.name in _TEXTS for each in fields), records.name == FILES
        if release is not None and (has_text or is_files):
            more = release.of_records(describer, counted=records.name == "documents") + (of_text if is_files else [])
            known = {each.name for each in more}
            statistics = [*(each for each in statistics if each.name not in known), *more]
        if records.includes or records.data:
            record_sets.append(replace(records, fields=fields, statistics=statistics))
    return Described(name, [FileOf(path, facts) for path, facts in files.items()], record_sets, derived)


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def descriptions() -> Descriptions:
    """Return how corpora are described: as Croissant."""
    found = named_format("croissant")[0].descriptions
    assert found is not None
    return found()


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


def _rows(
    fmt: Format, describer: Describer, shard: Shard, options: CheckOptions, at_most: int | None = None
) -> tuple[FileFacts, frozenset[str]]:
    """Return the facts about the rows of a shard, as a writer has them, and the languages of its documents."""
    columns, languages, untyped, number = Columns(), set[str](), set[str](), 0
    is_of = descriptions().is_of
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
    facts = FileFacts(0, "", documents=number, columns=columns.finish(), untyped=tuple(sorted(untyped)))
    return facts, frozenset(languages)


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
    odd = {(field.name, field.data_type) for field in described if field.name in (facts.untyped or ())}
    if not facts.documents or facts.columns is None:
        return Contents(odd=frozenset(odd))
    for field in described:
        column = facts.columns
        for name in field.names:
            column = column.members.get(name, Seen())
        kinds = column.settled
        is_unread = field.data_type == "sc:DateTime" and facts.untyped is None
        if kinds:
            fields.add(field.name)
        if kinds & ~(TIME | OFFSET if is_unread else _KINDS.get(field.data_type, TEXTS)):
            odd.add((field.name, field.data_type))
        if kinds & ~TEXTS:
            odd.add((field.name, "sc:Text"))
    columns = facts.columns.members
    known = {tuple(field.names[:length]) for field in described for length in (1, 2)}
    objects = {names[0] for names in known if len(names) > 1} & columns.keys()
    found = {(name,) for name in columns} | {(name, member) for name in objects for member in columns[name].members}
    return Contents(
        fields=frozenset(fields),
        odd=frozenset(odd),
        absent=frozenset(field.names[0] for field in described) - columns.keys(),
        unknown=frozenset(found - known),
        has_huge=facts.columns.has(HUGE),
    )
