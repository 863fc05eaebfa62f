"""Internal: Map shards of the source to files of the target."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.attributes import LANGUAGE_SET
from corpusfmt.conversion.options import Losses, Options, check_sets
from corpusfmt.conversion.way import Way
from corpusfmt.formats import (
    CheckOptions,
    Format,
    Plan,
    Reader,
    ReadOptions,
    Shard,
    format_at,
    refuse_barred,
)
from corpusfmt.formats.columns import format_of_reading
from corpusfmt.formats.languages import LABEL
from corpusfmt.formats.parts import FOLDERS_ABOVE, is_root_file
from corpusfmt.hub.kinds import loadable
from corpusfmt.io.outputs import Place, StorePath
from corpusfmt.io.paths import Entry, entry_of, is_hidden, walk
from corpusfmt.manifest.model import NOT_IN_PATHS
from corpusfmt.model import BadInput, Location, UsageError

_FILE_NAME = re.compile(
    r"(?P<stem>.+?)(?:_part_(?P<part>[1-9]\d{0,8}))?(?:\.(?:txt|jsonl|json|ndjson|parquet|csv|tsv))?(?:\.gz|\.zst|\.zstd|\.xz|\.bz2|\.lz4)?",
    re.DOTALL,
)
# OSCAR: a file in a checksum list that is not part of the corpus.
_ONLY_LISTED = "other"
# Folders of Dolma and Parquet whose names say nothing about the data.
_DOCUMENTS, _TABLES = "documents", "data"


class Name(Struct, frozen=True, gc=False):
    """A parsed shard name: folder below the data, stem, and part number."""

    folder: str
    stem: str
    part: int | None = None


class Group(Struct, frozen=True):
    """Shards that become the parts of one stem; `name.part` is None if parts are renumbered."""

    name: Name
    shards: tuple[Shard, ...]


class Work(Struct):
    """Shards in order, and the groups of them that become files, each with its attribute sets in the target.

    There are no groups if documents are first sorted by language. `losses` counts data that is not read.
    """

    shards: Sequence[Shard]
    groups: Sequence[tuple[Group, tuple[str, ...]]] | None
    losses: dict[str, int]

    @property
    def side_by_side(self) -> bool:
        """Whether there are several corpora."""
        return len({shard.corpus for shard in self.shards}) > 1


def name_of(shard: Shard) -> Name:
    """Return the name of a shard, from the path of its first file."""
    # Seen from inside a dataset, its other tree is above.
    path = NOT_IN_PATHS.sub(lambda match: f"%{ord(match[0]):02X}", loadable(shard.target or path_of(shard)))
    steps = (step for step in path.split("/") if step != "..")
    # No release lists a hidden file.
    *folders, file_name = (f"%2E{step[1:]}" if step.startswith(".") else step for step in steps)
    if _DOCUMENTS in folders:
        folders.remove(_DOCUMENTS)
    elif folders[:1] == [_TABLES]:
        del folders[0]
    match = _FILE_NAME.fullmatch(file_name)
    assert match is not None
    return Name("/".join(folders), match["stem"], int(match["part"]) if match["part"] else None)


def path_of(shard: Shard) -> str:
    """Return the path of a shard for messages."""
    return next(iter(shard.files.values())).path


def language_of(name: Name) -> str | None:
    """Return the language in a path like `af/af_part_2.txt.gz` or `packaged/af/af_dedup.txt.gz`."""
    language = name.folder.rpartition("/")[2]
    return language if LABEL.fullmatch(language) and name.stem.removesuffix("_dedup") == language else None


def are_filed(shards: Sequence[Shard]) -> bool:
    """Return whether every shard is named for a language, in folders that a target laid out by language can have."""
    if not all(language_of(name_of(shard)) for shard in shards):
        return False
    return _are_apart({name_of(shard).folder.rpartition("/")[0] for shard in shards})


def keep_apart(shards: Sequence[Shard]) -> Sequence[Shard]:
    """Return the shards, with the folders of their corpora if there are several, so that these are not mixed.

    Raises `UsageError` if a target laid out by language cannot have these folders.
    """
    corpora = {shard.corpus for shard in shards}
    if len(corpora) == 1:
        return shards if corpora == {""} else [replace(shard, corpus="") for shard in shards]
    if not _are_apart(corpora):
        found = ", ".join(f"`{each or '.'}`" for each in sorted(corpora))
        raise UsageError(
            f"the folders {found} contain several corpora, which OSCAR cannot have side by side: convert one folder"
        )
    return shards


def _are_apart(folders: Iterable[str]) -> bool:
    """Return whether no folder contains another, and none is deeper than readers look."""
    paths = [tuple(each.split("/")) if each else () for each in folders]
    ancestors = {path[:depth] for path in paths for depth in range(len(path))}
    return ancestors.isdisjoint(paths) and all(len(path) <= FOLDERS_ABOVE for path in paths)


def work_of(way: Way, plan: Plan, options: Options, *, cut_anew: bool) -> Work:
    """Return the work to do, and put the shards of the plan in order. Raises `BadInput` or `UsageError` if it cannot be done."""
    reader, by_language = way.reader, way.writer.by_language
    plan.refuse_unread()
    refuse_incomplete(reader, plan, stops=options.on_bad_record == "stop")
    if not plan.shards:
        raise UsageError(f"nothing to convert: found no {way.source.name} data")
    check_sets(options, {name for shard in plan.shards for name in reader.attribute_sets(shard)})
    losses = Losses(options.on_loss)
    count_unread(reader, plan, losses)
    shards = plan.shards = in_order(plan.shards)
    if by_language and not are_filed(shards):
        return Work(keep_apart(shards), None, dict(losses.counts))
    grouped = groups(shards, by_language=by_language, cut_anew=cut_anew)
    return Work(shards, [(group, _sets(way, options, group)) for group in grouped], dict(losses.counts))


def _sets(way: Way, options: Options, group: Group) -> tuple[str, ...]:
    """Return the attribute sets of a group in the target. Raises `UsageError` if a new one exists already."""
    found = {name for shard in group.shards for name in way.reader.attribute_sets(shard)}
    if way.writer.with_sets is None or options.merge_attributes:
        return ()
    new = {split.name for split in options.split_attributes} | (
        {LANGUAGE_SET} if options.language_attributes else set()
    )
    if found & new:
        raise UsageError(f"attribute set {', '.join(sorted(found & new))} exists already: choose another name")
    return tuple(sorted(found | new))


def in_order(shards: Iterable[Shard]) -> list[Shard]:
    """Return shards sorted by stem and part number."""

    def key(shard: Shard) -> tuple[str, str, int]:
        name = name_of(shard)
        return name.folder, name.stem, name.part or 0

    return sorted(shards, key=key)


def groups(shards: Sequence[Shard], *, by_language: bool, cut_anew: bool) -> Iterator[Group]:
    """Yield the groups of shards, given in order, that become one file each or, if parts are cut anew, one series of parts.

    Raises `UsageError` if two shards would become the same file.
    """
    unnested = unnested_folders(name_of(shard).folder for shard in shards) if by_language else {}

    def target_of(shard: Shard) -> tuple[str, str, int]:
        name = name_of(shard)
        # A language may have files of two stems.
        stem = language_of(name) or "" if by_language else name.stem
        return name.folder, stem, 0 if cut_anew else name.part or 0

    for _, some in groupby(sorted(shards, key=target_of), key=target_of):
        same: dict[int | None, Shard] = {}
        for shard in some:
            part = name_of(shard).part
            if part in same:
                raise UsageError(
                    f"{path_of(same[part])} and {path_of(shard)} would become the same file: rename one or convert them separately"
                )
            same[part] = shard
        first = name_of(next(iter(same.values())))
        folder = unnested.get(first.folder, first.folder)
        yield Group(Name(folder, first.stem, None if cut_anew else first.part), tuple(same.values()))


def unnested_folders(folders: Iterable[str]) -> dict[str, str]:
    """Map each language folder to its folder in the target: an only `xx/xx` becomes `xx`.

    Raises `UsageError` if there are other folders, too.
    """
    found = sorted(set(folders))
    languages: defaultdict[str, list[str]] = defaultdict(list)
    for folder in found:
        above, _, language = folder.rpartition("/")
        languages[above].append(language)
    repeating = [above for above, below in languages.items() if below == [above.rpartition("/")[2]]]
    if repeating and len(found) > 1:
        inner = f"{repeating[0]}/{languages[repeating[0]][0]}"
        raise UsageError(
            f"`{inner}` is the folder of a language in a folder of the same name, which OSCAR cannot have: "
            "rename the folder or convert it alone"
        )
    return {folder: repeating[0] if repeating else folder for folder in found}


_OR_QUARANTINE = ", or convert the rest with --on-bad-record quarantine"


def refuse_incomplete(reader: Reader, plan: Plan, *, stops: bool, or_else: str = _OR_QUARANTINE) -> None:
    """Raise `BadInput` for a layout whose files do not fit together, or from which data is missing.

    Missing data is accepted unless the run `stops` at faults; then `or_else` ends the hint. A shard that lacks a file is
    rejected record by record.
    """
    for each in plan.errors(reader.pairing_rules):
        raise BadInput(each)
    if stops:
        for found in map(reader.unpaired, plan.shards):
            if found is not None:
                raise BadInput(found)
        for each in plan.errors(reader.missing_rules):
            raise BadInput(replace(each, problem=replace(each.problem, hint=each.hint + or_else)))


def refuse_nested(source: Entry, destination: Place) -> None:
    """Raise `UsageError` if one of source and destination contains the other."""
    if isinstance(destination, StorePath):
        outer, inner = sorted((f"{source.url.rstrip('/')}/", f"{destination}/"), key=len)
        if inner.startswith(outer):
            raise UsageError(f"{source.shown} and {destination} contain each other: choose another destination")
        return
    if source.is_remote:
        return
    here, there = Path(source.url).resolve(), destination.resolve()
    if here == there or here in there.parents:
        raise UsageError(f"destination {destination} is inside the source {source.url}: choose a folder outside it")
    if there in here.parents:
        raise UsageError(f"source {source.url} is inside the destination {destination}: choose another destination")


def unread_files(source: Entry, reader: Reader, plan: Plan) -> list[str]:
    """Return the files below a folder that are not read, except hidden ones and those that may accompany any corpus.

    Files that are counted as losses are not listed.
    """
    if source.kind != "directory" or reader.plan is not None:
        return []
    files = (file for shard in plan.shards for role, file in shard.files.items() if role != _ONLY_LISTED)
    read = set(map(_place, files))
    lost = {path for code, _, path in plan.tally.counts if code in reader.unread_rules}
    return [
        each.path
        for each in walk(source)
        if each.kind != "directory"
        and not is_hidden(each.path)
        and not is_root_file(each.name)
        and each.path not in lost
        and _place(each) not in read
    ]


def _place(entry: Entry) -> str:
    return entry.url if entry.is_remote else posixpath.abspath(entry.url)


def count_unread(reader: Reader, plan: Plan, losses: Losses) -> None:
    """Count data of the corpus that is not read as losses. Raises `BadInput` if nothing may be lost."""
    for shard in plan.shards:
        losses.add(reader.left_unread(shard), Location(path_of(shard)))
    for (code, _, path), count in plan.tally.counts.items():
        if code in reader.unread_rules:
            losses.add({reader.unread_rules[code]: count}, Location(path))


class Corpus(Struct, frozen=True):
    """A corpus that has documents, and its shards by stem and part."""

    entry: Entry
    format: Format
    reader: Reader
    plan: Plan
    shards: Sequence[Shard]
    reading: ReadOptions

    @property
    def options(self) -> CheckOptions:
        """The options for reading its shards."""
        return CheckOptions(version=self.plan.version, reading=self.reading)

    def language_of(self, shard: Shard) -> str | None:
        """Return the language of all documents of a shard, if the layout of the format determines it."""
        writer = self.format.writers.get(self.plan.version)
        return language_of(name_of(shard)) if writer is not None and writer.by_language else None


def corpus_at(
    path: str, format_name: str, reading: ReadOptions, *, to: str, stops: bool, or_else: str, follow_links: bool
) -> Corpus:
    """Return a corpus with its shards. Raises `UsageError` or `BadInput` if its documents cannot be read.

    `to` is what is done with the documents, for messages; `stops` and `or_else` are those of `refuse_incomplete`.
    """
    entry = entry_of(path, follow_links=follow_links)
    refuse_barred(entry)
    fmt, version = format_at(entry, format_of_reading(entry, format_name, reading))
    reader = fmt.reader
    if reader is None:
        raise UsageError(f"{fmt.name} has no documents to {to}: {path}")
    if not (reader.plan or reader.names_fields or reader.has_columns):
        reading = ReadOptions()
    plan = (reader.plan or fmt.plan)(entry, CheckOptions(version=version, reading=reading))
    plan.refuse_unread()
    refuse_incomplete(reader, plan, stops=stops, or_else=or_else)
    if not plan.shards:
        raise UsageError(f"nothing to {to}: no {fmt.name} data found in {path}")
    return Corpus(entry, fmt, reader, plan, in_order(plan.shards), reading)


def together(shards: Sequence[Shard], least_bytes: int, most: int) -> Iterator[Sequence[Shard]]:
    """Yield shards in order, several small ones together: of `least_bytes`, or `most` of them."""
    held: list[Shard] = []
    size = 0
    for shard in shards:
        held.append(shard)
        size += shard.size
        if size >= least_bytes or len(held) >= most:
            yield held
            held, size = [], 0
    if held:
        yield held
