"""Internal: Which shards of the source become which files of the target."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.attributes import LANGUAGE_SET
from corpusfmt.conversion.options import Losses, OnBadRecord, Options, check_sets
from corpusfmt.conversion.way import Way
from corpusfmt.formats import Plan, Reader, Shard
from corpusfmt.formats.languages import LABEL
from corpusfmt.formats.parts import FOLDERS_ABOVE, ROOT_FILES
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import BadInput, Location, UsageError

_FILE_NAME = re.compile(
    r"(?P<stem>.+?)(?:_part_(?P<part>[1-9]\d{0,8}))?(?:\.(?:txt|jsonl|json|ndjson|parquet))?(?:\.gz|\.zst|\.zstd)?",
    re.DOTALL,
)
_GOES_WITH_A_CORPUS = re.compile(f"{ROOT_FILES.pattern}|.*sha(256|384|512).*", re.IGNORECASE | re.DOTALL)
# Of OSCAR, a file that a checksum list names and that is no part of the corpus.
_ONLY_LISTED = "other"
# The folders that hold the data of Dolma and of Parquet, and say nothing of it.
_DOCUMENTS, _TABLES = "documents", "data"


class Name(Struct, frozen=True):
    """The name of a shard, taken apart: the folder below the data, the stem, the number of the part."""

    folder: str
    stem: str
    part: int | None = None


class Group(Struct, frozen=True):
    """Shards that become the parts of one stem; `name.part` is None where parts are numbered anew."""

    name: Name
    shards: tuple[Shard, ...]


class Work(Struct, frozen=True):
    """Shards in order, and the groups of them that become files, each with the attribute sets that come out beside it.

    There are no groups where documents are sorted by language first. `losses` are those of what is not read.
    """

    shards: Sequence[Shard]
    groups: Sequence[tuple[Group, tuple[str, ...]]] | None
    losses: dict[str, int]

    @property
    def side_by_side(self) -> bool:
        """Whether there are several corpora."""
        return len({shard.corpus for shard in self.shards}) > 1


def name_of(shard: Shard) -> Name:
    """Return the name of a shard by the path of its first file."""
    # Seen from within a dataset, its other tree lies above.
    *folders, file_name = (step for step in (shard.target or path_of(shard)).split("/") if step != "..")
    if _DOCUMENTS in folders:
        folders.remove(_DOCUMENTS)
    elif folders[:1] == [_TABLES]:
        del folders[0]
    match = _FILE_NAME.fullmatch(file_name)
    assert match is not None
    return Name("/".join(folders), match["stem"], int(match["part"]) if match["part"] else None)


def path_of(shard: Shard) -> str:
    """Return the path that stands for a shard in messages."""
    return next(iter(shard.files.values())).path


def language_of(name: Name) -> str | None:
    """Return the language that a path announces, as `af/af_part_2.txt.gz` and `packaged/af/af_dedup.txt.gz` do."""
    language = name.folder.rpartition("/")[2]
    return language if LABEL.fullmatch(language) and name.stem.removesuffix("_dedup") == language else None


def are_filed(shards: Sequence[Shard]) -> bool:
    """Tell whether every shard is named for a language, in folders that a target laid out by language can have."""
    names = [name_of(shard) for shard in shards]
    return all(map(language_of, names)) and _are_apart({name.folder.rpartition("/")[0] for name in names})


def keep_apart(shards: Sequence[Shard]) -> list[Shard]:
    """Return the shards with the folder of their corpus, where there are several: in one they would be mixed.

    Raises `UsageError` where a target laid out by language cannot have these folders side by side.
    """
    corpora = {shard.corpus for shard in shards}
    if len(corpora) == 1:
        return [replace(shard, corpus="") for shard in shards]
    if not _are_apart(corpora):
        found = ", ".join(f"`{each or '.'}`" for each in sorted(corpora))
        raise UsageError(
            f"there are several corpora, which cannot lie side by side in OSCAR ({found}): convert one folder"
        )
    return list(shards)


def _are_apart(folders: Iterable[str]) -> bool:
    """Tell whether none of these folders lies within another, nor deeper than is looked for."""
    paths = [tuple(each.split("/")) if each else () for each in folders]
    ancestors = {path[:depth] for path in paths for depth in range(len(path))}
    return ancestors.isdisjoint(paths) and all(len(path) <= FOLDERS_ABOVE for path in paths)


def work_of(way: Way, plan: Plan, options: Options, *, cut_anew: bool) -> Work:
    """Return what there is to convert. Raises `BadInput` or `UsageError` where it cannot be converted."""
    reader, by_language = way.reader, way.writer.by_language
    plan.refuse_unread()
    refuse_incomplete(reader, plan, options.on_bad_record)
    if not plan.shards:
        raise UsageError(f"nothing to convert: no {way.source.name} data found")
    check_sets(options, {name for shard in plan.shards for name in reader.attribute_sets(shard)})
    losses = Losses(options.on_loss)
    count_unread(reader, plan, losses)
    shards = in_order(plan.shards)
    if by_language and not are_filed(shards):
        return Work(keep_apart(shards), None, dict(losses.counts))
    grouped = groups(shards, by_language=by_language, cut_anew=cut_anew)
    return Work(shards, [(group, _sets(way, options, group)) for group in grouped], dict(losses.counts))


def _sets(way: Way, options: Options, group: Group) -> tuple[str, ...]:
    """Return the attribute sets that come out beside the documents of a group. Raises `UsageError` for one too many."""
    found = {name for shard in group.shards for name in way.reader.attribute_sets(shard)}
    if way.writer.with_sets is None or options.merge:
        return ()
    new = {split.name for split in options.splits} | ({LANGUAGE_SET} if options.language_set else set())
    if found & new:
        raise UsageError(f"there is an attribute set {', '.join(sorted(found & new))} already: name another")
    return tuple(sorted(found | new))


def in_order(shards: Iterable[Shard]) -> list[Shard]:
    """Return shards in the order of their stems and parts, part 10 behind part 9."""
    named = ((name_of(shard), shard) for shard in shards)
    ordered = sorted(named, key=lambda each: (each[0].folder, each[0].stem, each[0].part or 0))
    return [shard for _, shard in ordered]


def groups(shards: Sequence[Shard], *, by_language: bool, cut_anew: bool) -> list[Group]:
    """Return what becomes one file, or, where parts are cut anew, one series of parts.

    Raises `UsageError` where two shards would become one file.
    """
    found: dict[Name, dict[int | None, Shard]] = {}
    names: dict[Name, Name] = {}
    named = [(name_of(shard), shard) for shard in shards]
    unnested = unnested_folders(name.folder for name, _ in named) if by_language else {}
    for name, shard in named:
        name = replace(name, folder=unnested.get(name.folder, name.folder))  # noqa: PLW2901
        series = replace(name, part=None) if cut_anew else name
        key = replace(series, stem=language_of(name) or "") if by_language else series
        names.setdefault(key, series)
        group = found.setdefault(key, {})
        if name.part in group:
            raise UsageError(
                f"{path_of(group[name.part])} and {path_of(shard)} would become one file: rename one, or convert them apart"
            )
        group[name.part] = shard
    return [Group(names[key], tuple(same.values())) for key, same in found.items()]


def unnested_folders(folders: Iterable[str]) -> dict[str, str]:
    """Return for each folder of a language where it comes to lie: the only one, in another of its own name, is that one.

    Raises `UsageError` where others lie beside that.
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
            f"`{inner}` would be a language in a folder of its own name, which OSCAR cannot have: "
            "rename the folder, or convert it alone"
        )
    return {folder: repeating[0] if repeating else folder for folder in found}


_GO_ON = "; or convert the rest with --on-bad-record quarantine"


def refuse_incomplete(reader: Reader, plan: Plan, on_bad_record: OnBadRecord) -> None:
    """Raise `BadInput` for a layout whose files cannot be put together, or from which data is missing.

    What is missing can be done without in quarantine mode. There a shard that lacks a file is rejected, record by record.
    """
    for each in plan.errors(reader.pairing_rules):
        raise BadInput(each)
    if on_bad_record == "stop":
        for found in map(reader.unpaired, plan.shards):
            if found is not None:
                raise BadInput(found)
        for each in plan.errors(reader.missing_rules):
            raise BadInput(replace(each, problem=replace(each.problem, hint=each.hint + _GO_ON)))


def refuse_nested(source: Entry, destination: Path) -> None:
    """Raise `UsageError` where what is written would become part of what is read, or the other way round."""
    if source.is_remote:
        return
    here, there = Path(source.url).resolve(), destination.resolve()
    if here == there or here in there.parents:
        raise UsageError(f"{destination} lies in {source.url}, which is read: choose a folder outside")
    if there in here.parents:
        raise UsageError(f"{source.url}, which is read, lies in {destination}: choose another folder")


def unread_files(source: Entry, reader: Reader, plan: Plan) -> list[str]:
    """Return the files below a folder that are not read, but for hidden ones and those that go with a corpus of any kind.

    What is counted as a loss is not listed.
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
        and not _GOES_WITH_A_CORPUS.fullmatch(each.name)
        and each.path not in lost
        and _place(each) not in read
    ]


def _place(entry: Entry) -> str:
    return entry.url if entry.is_remote else str(Path(entry.url).absolute())


def count_unread(reader: Reader, plan: Plan, losses: Losses) -> None:
    """Count what reading leaves out of the corpus. Raises `BadInput` where nothing may be lost."""
    for shard in plan.shards:
        losses.add(reader.left_unread(shard), Location(path_of(shard)))
    for (code, _, path), count in plan.tally.counts.items():
        if code in reader.unread_rules:
            losses.add({reader.unread_rules[code]: count}, Location(path))
