"""Internal: The files of a dataset: documents, their attributes, and stray files."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.dolma.blocklist import load_blocklist
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.parts import is_root_file
from corpusfmt.formats.sniff import first_row, first_with_rows, is_long_row, main_file, rows_have
from corpusfmt.io.paths import PARTIAL_PREFIX, Entry, folder_at, walk
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Grading, Judge

DOCUMENTS = "documents"
ATTRIBUTES = "attributes"
SPEC = "dolma-data-format#directory-structure"

_COMPRESSIONS = ("", ".gz", ".zst")
_DATA_SUFFIXES = tuple(kind + codec for kind in (".jsonl", ".json") for codec in _COMPRESSIONS)
# Read by parts of the toolkit, and by us, but not by all of them.
_UNUSUAL_SUFFIXES = (".ndjson", ".ndjson.gz", ".ndjson.zst", ".jsonl.zstd", ".json.zstd", ".gz", ".zst", ".zstd")
_LEFTOVER_SUFFIXES = (".tmp", ".part", ".partial")
# RedPajama 2 has a folder `documents`, too.
_RED_PAJAMA = re.compile(r"(?:.*/)?\d{4}-\d\d/\d{4}/[a-z]{2}_(?:head|middle|tail)\.json\.gz", re.DOTALL)
_STATE_FOLDER = ".corpusfmt"
_OURS_PREFIXES = ("README", "LICENSE")


class NameKind(Enum):
    """The kind of a file, by its name."""

    DATA = auto()
    UNUSUAL = auto()
    LEFTOVER = auto()
    HIDDEN = auto()
    FOREIGN = auto()


def kind_of_name(name: str) -> NameKind:
    """Classify a file by its name alone, as every reader in the field does."""
    if name.endswith(_LEFTOVER_SUFFIXES) or name.startswith(PARTIAL_PREFIX) or name == _STATE_FOLDER:
        return NameKind.LEFTOVER
    if name.startswith("."):
        return NameKind.HIDDEN
    if name.endswith(_DATA_SUFFIXES):
        return NameKind.DATA
    return NameKind.UNUSUAL if name.endswith(_UNUSUAL_SUFFIXES) else NameKind.FOREIGN


class DataFile(Struct, frozen=True):
    """A file below `documents` or `attributes`, by its name."""

    at: Location
    name: str
    kind: NameKind


class Name(Struct, frozen=True):
    """The name of a file or folder, and the folders above it."""

    at: Location
    name: str
    parents: tuple[str, ...]


@RULES.rule("DOL102", "unusual-extension", on=DataFile, severity=Severity.WARNING, spec=SPEC)
def unusual_extension(file: DataFile) -> Iterator[Problem]:
    """A file among the documents or attributes has an extension that some or all readers do not support.

    Why: readers rely on the extension; the mixer reads `.zstd`, `.bz2` and `.xz` as plain text and writes an empty shard.
    Example: `documents/part-0.jsonl.zstd`, `documents/notes.csv`.
    Fix: name shards `.jsonl` or `.json`, compressed `.gz` or `.zst`; keep other files outside these folders.
    """
    hint = f"use one of {', '.join(_DATA_SUFFIXES)}"
    if file.kind is NameKind.UNUSUAL:
        yield Problem(f"parts of the toolkit take `{file.name}` for something else", file.at, hint)
    elif file.kind is NameKind.FOREIGN:
        yield Problem(f"`{file.name}` has no extension of a data file and was not read", file.at, hint)


LEFTOVER_FILE = RULES.finding(
    "DOL103",
    "leftover-file",
    """The dataset contains a temporary file or the state of an unfinished run.

    Why: a writer did not finish: the shard of that name is missing or old.
    Example: `documents/part-0.jsonl.gz.tmp`, a `.corpusfmt` folder.
    Fix: run the writer to its end, or delete the file.
    """,
    severity=Severity.WARNING,
    spec=SPEC,
)


@RULES.rule("DOL105", "ambiguous-path", on=Name, severity=Severity.WARNING, spec=SPEC)
def ambiguous_path(name: Name) -> Iterator[Problem]:
    """A folder `documents` is inside another folder `documents`.

    Why: the mixer replaces every `/documents/` in a path with the name of the attribute set, the tagger only the first:
    they do not find each other's files, and nothing is filtered.
    Example: `documents/documents/part-0.jsonl.gz`.
    Fix: rename the inner folder.
    """
    if name.name == DOCUMENTS and DOCUMENTS in name.parents:
        yield Problem("`documents` occurs twice in the path", name.at, "rename the inner folder")


@RULES.rule("DOL106", "glob-character-in-path", on=Name, severity=Severity.WARNING, spec=SPEC)
def glob_character_in_path(name: Name) -> Iterator[Problem]:
    """The name of a file or folder contains `[`, `*` or `?`.

    Why: the mixer reads the paths of attributes as patterns; such a name does not match itself, and nothing is filtered.
    Example: `documents/part[1].jsonl.gz`.
    Fix: rename the file, and its counterparts in every attribute set.
    """
    found = [character for character in "[*?" if character in name.name]
    if found:
        yield Problem(f"`{name.name}` contains `{'`, `'.join(found)}`", name.at, "rename it in all trees")


FILE_OUTSIDE_LAYOUT = RULES.finding(
    "DOL107",
    "file-outside-layout",
    """A data file of a dataset is neither below `documents` nor below `attributes`.

    Why: readers do not look there, and the file was not checked.
    Example: `extra/part-0.jsonl.gz` next to `documents`.
    Fix: move the file where it belongs, or validate it alone.
    """,
    severity=Severity.WARNING,
    spec=SPEC,
)

DOCUMENTS_FILE_MISSING = RULES.finding(
    "DOL109",
    "documents-file-missing",
    """A documents file is missing, and several attribute sets have its attributes.

    Why: one such file may be stale, but several taggers have seen the documents: they are lost.
    Example: `attributes/pii/1.jsonl.gz` and `attributes/quality/1.jsonl.gz` without `documents/1.jsonl.gz`.
    Fix: restore the documents file, or delete its attributes in every set.
    """,
    spec=SPEC,
)

ATTRIBUTE_SET_EMPTY = RULES.finding(
    "DOL410",
    "attribute-set-empty",
    """A folder below `attributes` has no attributes file.

    Why: it should be an attribute set; the mixer finds nothing there and does not filter any documents.
    Example: the folder of a crashed tagger, empty or with only `.tmp` files.
    Fix: run the tagger again, or delete the folder.
    """,
    spec=SPEC,
)

NO_DOCUMENTS = RULES.finding(
    "DOL108",
    "no-documents",
    """The path contains no documents file.

    Why: there is nothing to check or read; usually the path is wrong.
    Example: a folder one level too high or too low, a failed upload.
    Fix: pass the folder that contains `documents`, or a documents file.
    """,
    spec=SPEC,
)

ATTRIBUTE_FILE_MISSING = RULES.finding(
    "DOL401",
    "attribute-file-missing",
    """A documents file has no counterpart in an attribute set: the same path below the set, with the same name.

    Why: the mixer silently ignores missing files, and does not filter the documents of that file.
    Example: `documents/a/0.jsonl.gz` with `attributes/pii/0.jsonl.gz` (a folder is missing), with
    `attributes/pii/a/0.json.gz` (another name), or with nothing at all.
    Fix: run the tagger on the file, or move its attributes to the path in the message.
    """,
    spec=SPEC,
)

ATTRIBUTE_FILE_ORPHAN = RULES.finding(
    "DOL402",
    "attribute-file-orphan",
    """An attributes file has no documents file: no path below `documents` equals its path below the set.

    Why: its documents are missing, or it is stale or misplaced; readers ignore it, so nobody notices that documents are lost.
    Example: `attributes/pii/1.jsonl.gz` without `documents/1.jsonl.gz`.
    Fix: restore the documents file or delete the attributes.
    """,
    spec=SPEC,
)


#: Returns by its shown path whether a file is wanted.
_Wanted = Callable[[str], bool]


class Placed(NamedTuple):
    """A file's place: the folder that contains `documents` and `attributes`, and the path below one of these."""

    base: str
    rest: str
    entry: Entry


class _Tree(Struct):
    """The files below a root, sorted by side."""

    documents: list[Placed] = []
    attributes: list[Placed] = []
    neither: Sequence[Placed] = ()
    empty_sets: list[str] = []


def detect(entry: Entry) -> Detection | None:
    """Claim a folder that contains `documents`, and files with rows of documents or, alone, of attributes."""
    if _holds_attributes(entry):
        return Detection(VERSION, "rows with an id and attributes, without a text")
    documents = _child(entry, DOCUMENTS) if entry.kind == "directory" else None
    if documents is not None:
        first = first_with_rows(filter(_is_data, walk(documents)))
        is_other = first is not None and _RED_PAJAMA.fullmatch(first.path) and _is_other_corpus(first)
        return None if is_other else Detection(VERSION, "a folder `documents`")
    main = main_file(filter(_is_data, walk(entry) if entry.kind == "directory" else [entry]), _holds_documents)
    return Detection(VERSION, f"rows with an id, a text and a source, as in `{main.path}`") if main else None


def _holds_documents(entry: Entry) -> bool:
    if is_long_row(entry):  # in a plain .json file, it is a document in JSON rather than JSON Lines
        return rows_have(entry, "id", "text") and not entry.name.endswith(".json")
    return rows_have(entry, "id", "text", "source")


def _is_other_corpus(entry: Entry) -> bool:
    """Return whether rows have no source, which documents need, and are of a published corpus."""
    row = first_row(entry)
    if not row or "source" in row:
        return False
    from corpusfmt.formats.columns import best_columns  # noqa: PLC0415 - it reads all column profiles

    return best_columns(row, entry.url) is not None


def _holds_attributes(entry: Entry) -> bool:
    return _is_data(entry) and rows_have(entry, "id", "attributes", without="text")


def _is_data(entry: Entry) -> bool:
    return entry.kind == "file" and kind_of_name(entry.name) is NameKind.DATA and not _is_ours(entry.path)


def _child(entry: Entry, name: str) -> Entry | None:
    child = entry.child(name)
    return child if child is not None and child.kind == "directory" else None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the shards below a dataset, a `documents` folder or one file, and judge names and pairing.

    A file of attributes outside any dataset is a shard by itself.
    Raises `UsageError` for a blocklist that cannot be read.
    """
    if options.blocklist is not None:
        load_blocklist(options.blocklist)
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    if _holds_attributes(entry) and _home_of(entry) is None:
        return Plan(VERSION, [Shard(0, entry.path, {ATTRIBUTES: entry})], judge.tally, judge.coverage)
    wanted, entries = _entries(entry)
    tree = _sorted_out(entries, judge, wanted)
    for _, _, neither in tree.neither:
        # A plain .json file is as likely a configuration or a description.
        if kind_of_name(neither.name) is NameKind.DATA and not neither.name.endswith(".json"):
            message, hint = (
                "the file is outside `documents` and `attributes`, and was not read",
                "move the file, or validate it alone",
            )
            judge.report(FILE_OUTSIDE_LAYOUT, Problem(message, Location(neither.path), hint))
    shards = _paired(tree, wanted, judge)
    for path in tree.empty_sets:
        message, hint = "the attribute set has no attributes files", "run the tagger again, or delete the folder"
        judge.report(ATTRIBUTE_SET_EMPTY, Problem(message, Location(path), hint))
    if not shards:
        hint = "pass the folder that contains `documents`, or a documents file"
        judge.report(NO_DOCUMENTS, Problem("no documents file found", Location("."), hint))
    return Plan(VERSION, shards, judge.tally, judge.coverage)


def _entries(entry: Entry) -> tuple[_Wanted, Iterator[tuple[str, Entry]]]:
    """Return which entries of a dataset are wanted, and all its entries with the paths that place them.

    A file or folder within a dataset needs the whole listing: only the listing shows which sets there are.
    """
    is_folder = entry.kind == "directory"
    if is_folder and _child(entry, DOCUMENTS) is not None:
        return _everything, _below(entry)
    if is_folder and entry.name in {DOCUMENTS, ATTRIBUTES}:
        return _everything, _both_sides(_above(entry, posixpath.dirname(_absolute(entry))), entry.name, entry)
    home = _home_of(entry)
    if home is None:
        return _everything, _below(entry) if is_folder else iter([(entry.name, entry)])
    base, inside = home
    if is_folder:
        return lambda path: not path.startswith("../"), _both_sides(base, inside)
    return entry.name.__eq__, _both_sides(base, posixpath.dirname(inside))


def _everything(_path: str) -> bool:
    return True


def _below(folder: Entry) -> Iterator[tuple[str, Entry]]:
    return ((found.path, found) for found in walk(folder))


def _home_of(entry: Entry) -> tuple[Entry, str] | None:
    """Return the dataset that contains a file or folder, and its path below it."""
    parts = _absolute(entry).split("/")
    for place in range(len(parts) - 2, 0, -1):
        if parts[place] in {DOCUMENTS, ATTRIBUTES}:
            home = _above(entry, "/".join(parts[:place]))
            if all(_side(home, side) for side in (DOCUMENTS, ATTRIBUTES)):
                return home, "/".join(parts[place:])
    return None


def _above(entry: Entry, folder: str) -> Entry:
    """Return a folder above the given entry, as a new root."""
    return folder_at(folder or "/", follow_links=entry.root.follow_links)


def _absolute(entry: Entry) -> str:
    return entry.url.rstrip("/") if entry.is_remote else Path(entry.url).absolute().as_posix()


def _side(home: Entry, name: str) -> Entry | None:
    side = home.child(name)
    return side if side is not None and side.kind in ("directory", "outside") else None


def _both_sides(home: Entry, here: str, named: Entry | None = None) -> Iterator[tuple[str, Entry]]:
    """Yield the entries below both trees of a dataset, by their paths from one of its folders; `named` may be one tree."""
    for name in (DOCUMENTS, ATTRIBUTES):
        side = named if named is not None and named.name == name else _side(home, name)
        if side is None:
            continue
        for path, found in _below(side) if side.kind == "directory" else [("", side)]:
            whole = f"{name}/{path}" if path else name
            yield whole, replace(found, path=posixpath.relpath(whole, here))


def _sorted_out(entries: Iterable[tuple[str, Entry]], judge_of_all: Judge, wanted: _Wanted) -> _Tree:
    """Sort entries by side, and judge the names of the wanted ones."""
    tree = _Tree()
    anywhere: list[Placed] = []
    folders: dict[str, str] = {}  # below `attributes`, with no file seen yet
    unheard = Judge(RULES, Grading(), version=VERSION, path=".")
    for path, entry in entries:
        *parents, name = path.split("/")
        if parents[:1] == [_STATE_FOLDER]:
            continue
        judge = judge_of_all if wanted(entry.path) else unheard
        # An attributes file that is not read may belong to a wanted one.
        whose = judge_of_all if parents[:1] == [ATTRIBUTES] or not parents else judge
        at = Location(entry.path)
        judge.check(Name(at, name, tuple(parents)))
        kind = kind_of_name(name)
        if kind is NameKind.LEFTOVER:
            message, hint = "the file was left behind by an unfinished run", "finish the run, or delete the file"
            judge.report(LEFTOVER_FILE, Problem(message, at, hint))
        elif report_barred(entry, whose) or kind is NameKind.HIDDEN:
            continue
        elif entry.kind == "directory":
            if parents[-1:] == [ATTRIBUTES] and DOCUMENTS not in parents and wanted(entry.path):
                folders[path] = entry.path
        elif (side := next((part for part in parents if part in {DOCUMENTS, ATTRIBUTES}), None)) is not None:
            judge.check(DataFile(at, name, kind))
            if kind is not NameKind.FOREIGN:
                place = parents.index(side)
                placed = Placed("/".join(parents[:place]), "/".join([*parents[place + 1 :], name]), entry)
                (tree.documents if side == DOCUMENTS else tree.attributes).append(placed)
                folders.pop("/".join(parents[: place + 2]), None)
        elif not _is_ours(path):
            anywhere.append(Placed("", path, entry))
    if tree.documents:
        tree.neither = anywhere
        tree.empty_sets = [*folders.values()]
    else:
        tree.documents = [placed for placed in anywhere if _has_fit_name(placed.entry, judge_of_all)]
    return tree


def _has_fit_name(entry: Entry, judge: Judge) -> bool:
    kind = kind_of_name(entry.name)
    judge.check(DataFile(Location(entry.path), entry.name, kind))
    return kind is not NameKind.FOREIGN


def _is_ours(path: str) -> bool:
    return "/" not in path and (path.startswith(_OURS_PREFIXES) or is_root_file(path))


def _paired(tree: _Tree, wanted: _Wanted, judge: Judge) -> list[Shard]:
    """Pair attributes with documents by path; return the wanted shards, and report their files without a partner."""
    documents = tree.documents
    places = {(each.base, each.rest): index for index, each in enumerate(documents)} if tree.attributes else {}
    sets: defaultdict[int, dict[str, Entry]] = defaultdict(dict)
    set_names: defaultdict[str, set[str]] = defaultdict(set)
    unpaired: list[Placed] = []
    for attributes in tree.attributes:
        steps = attributes.rest.split("/")
        # The name of a set may be nested: its shortest reading wins.
        for cut in range(1, len(steps)):
            index = places.get((attributes.base, "/".join(steps[cut:])))
            if index is not None:
                name = "/".join(steps[:cut])
                sets[index][name] = attributes.entry
                set_names[attributes.base].add(name)
                break
        else:
            unpaired.append(attributes)
    instead, orphans = _misplaced(documents, sets, set_names, unpaired)
    shards: list[Shard] = []
    for index, document in enumerate(documents):
        own = sets.get(index, {})
        files = {DOCUMENTS: document.entry} | {f"{ATTRIBUTES}/{name}": own[name] for name in sorted(own)}
        if not any(wanted(file.path) for file in files.values()):
            continue
        shards.append(Shard(len(shards), document.entry.path, files, corpus=document.base))
        strays = instead.get(index, {})
        for name in sorted((set_names.get(document.base, set()) - own.keys()) | strays.keys()):
            message = f"no attributes at `{_attributes_path(document, name)}`"
            hint = f"move `{strays[name].path}` there" if name in strays else f"run the tagger of `{name}` on it"
            judge.report(ATTRIBUTE_FILE_MISSING, Problem(message, Location(document.entry.path), hint))
    _report_orphans([orphan for orphan in orphans if wanted(orphan.entry.path)], judge)
    return shards


def _misplaced(
    documents: Sequence[Placed],
    sets: Mapping[int, Mapping[str, Entry]],
    set_names: Mapping[str, set[str]],
    unpaired: Sequence[Placed],
) -> tuple[Mapping[int, dict[str, Entry]], list[Placed]]:
    """Return attributes files that are probably misplaced, by the index of their documents and by set, and all others."""
    by_stem: dict[str, list[int]] = {_stem(stray.rest): [] for stray in unpaired}
    for index, each in enumerate(documents if unpaired else ()):
        if (stem := _stem(each.rest)) in by_stem:
            by_stem[stem].append(index)
    orphans = []
    instead: defaultdict[int, dict[str, Entry]] = defaultdict(dict)
    for stray in unpaired:
        known = [name for name in set_names.get(stray.base, ()) if stray.rest.startswith(f"{name}/")]
        name = max(known, key=len) if known else stray.rest.rpartition("/")[0].partition("/")[0]
        likely = [
            index
            for index in by_stem[_stem(stray.rest)]
            if name not in instead.get(index, ()) and name not in sets[index]
        ]
        if likely:
            closest = max(likely, key=lambda index: _common_tail(documents[index].rest, stray.rest))
            instead[closest][name] = stray.entry
        else:
            orphans.append(stray)
    return instead, orphans


def _report_orphans(orphans: Sequence[Placed], judge: Judge) -> None:
    """Report the documents files that have attributes in several sets, then the remaining orphaned attributes."""
    by_path: defaultdict[tuple[str, str], list[Placed]] = defaultdict(list)
    for orphan in orphans:
        by_path[orphan.base, orphan.rest.partition("/")[2]].append(orphan)
    left = []
    for (base, path), group in by_path.items():
        if path and len(group) > 1:
            place = "/".join(part for part in (base, DOCUMENTS, path) if part)
            names = [f"`{orphan.rest.partition('/')[0]}`" for orphan in group]
            sets = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            message = f"the file is missing, and {len(names)} attribute sets have its attributes: {sets}"
            hint = "restore the file, or delete its attributes in every set"
            judge.report(DOCUMENTS_FILE_MISSING, Problem(message, Location(place), hint))
        else:
            left += group
    for orphan in left:
        message, hint = (
            "the documents file is missing: not read",
            "restore the documents file, or delete the attributes",
        )
        judge.report(ATTRIBUTE_FILE_ORPHAN, Problem(message, Location(orphan.entry.path), hint))


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    suffixes = [suffix for suffix in (*_DATA_SUFFIXES, *_UNUSUAL_SUFFIXES) if name.endswith(suffix)]
    return name.removesuffix(max(suffixes, key=len)) if suffixes else name


def _common_tail(one: str, other: str) -> int:
    count = 0
    for left, right in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if left != right:
            break
        count += 1
    return count


def _attributes_path(document: Placed, set_name: str) -> str:
    """Return where the attributes of a documents file belong, below the folder that contains both trees."""
    return "/".join(part for part in (document.base, ATTRIBUTES, set_name or "<set>", document.rest) if part)
