"""Internal: Describe a corpus as a Croissant document: its files with sizes and SHA-256, its languages, and its
records.
"""

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
from corpusfmt.formats.describing import Contents, Describer, Descriptions
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, within
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.streams import DigestReader
from corpusfmt.model import BadInput, Incomplete, Json, UsageError

#: Properties of a dataset that Croissant requires, and only its owner knows.
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
    if detection.version not in fmt.describers:
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
    for look in _looks(f"{fmt.name}-{detection.version}", plan.shards, options, meter, workers, progress):
        files |= {prefix + name: facts for name, facts in look.files.items()}
        contents |= look.contents
    properties = details.properties()
    return _described(
        fmt.describers[detection.version],
        files,
        contents,
        properties.pop("name", Path(entry.url).resolve().name),
        properties,
    )


def described(
    target: str, describer: Describer, files: Mapping[str, FileFacts], below: str = "", *, root: Path, name: str
) -> Json:
    """Return the description of files below `root` whose sizes and digests are known; `target` is like `oscar-1.1` or `dolma`.

    Records are those of the files in the folder `below`, where there is one. What the documents have is judged by the
    first of them.
    """
    contents = Contents(_languages(describer, (path for path, facts in files.items() if facts.size)))
    if files and describer.language is None:
        fmt, version = named_format(target)
        options = CheckOptions(version=version or fmt.versions[-1])
        shards = fmt.plan(entry_of(str(root)), options).shards
        contents |= _contents(fmt, describer, shards[0], options, at_most=1)
        contents = replace(contents, languages=frozenset())
    return _described(describer, files, contents, name, {}, below)


def _described(
    describer: Describer,
    files: Mapping[str, FileFacts],
    contents: Contents,
    name: str,
    details: Mapping[str, object],
    below: str = "",
) -> Json:
    derived: Json = {"description": describer.summary}
    if contents.languages:
        derived["inLanguage"] = sorted({describer.tags.get(language, language) for language in contents.languages})
    paths = [path for path in sorted(files) if not below or path.startswith(f"{below}/")]
    record_sets = [each for each in describer.record_sets(paths, contents) if each.includes]
    write = _descriptions().write
    return write(name=name, files=files, record_sets=record_sets, details=derived | dict(details))


def _descriptions() -> Descriptions:
    found = named_format("croissant")[0].descriptions
    assert found is not None
    return found


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
        for shard, look in zip(shards, looks, strict=True):
            if isinstance(look, Late):
                raise options.limits.late(shard.name)
            if isinstance(look, Died):
                raise Incomplete(f"a worker died every time ({look.reason})")
            yield look


def _look_at(format_name: str, options: CheckOptions, shard: Shard) -> _Look:
    for entry in shard.files.values():
        refuse_barred(entry)
    files = {entry.path: _facts(entry) for entry in shard.files.values()}
    fmt, version = named_format(format_name)
    describer = fmt.describers[version]
    if describer.language is not None:
        return _Look(files, Contents(_languages(describer, files)))
    return _Look(files, _contents(fmt, describer, shard, options))


def _languages(describer: Describer, paths: Iterable[str]) -> frozenset[str]:
    return frozenset(map(describer.language, paths)) if describer.language else frozenset()


def _contents(
    fmt: Format, describer: Describer, shard: Shard, options: CheckOptions, at_most: int | None = None
) -> Contents:
    assert fmt.reader is not None
    is_of = _descriptions().is_of
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
        for each in describer.fields:
            value = metadata.get(each.name) if each.json_path else getattr(document, each.name)
            if value is not None:
                fields.add(each.name)
                odd.update((each.name, kind) for kind in (each.data_type, "sc:Text") if not is_of(kind, value))
    return Contents(frozenset(languages), frozenset(fields), frozenset(odd), describer.columns(shard.files))


def _facts(entry: Entry) -> FileFacts:
    with entry.open() as file:
        reader = DigestReader(file)
        reader.drain()
        return FileFacts(reader.size, reader.sha256)
