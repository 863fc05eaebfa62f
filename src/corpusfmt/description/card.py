"""Internal: The card of a release, `README.md`: which files loaders read as which table, and what the tables contain.

Nothing in a card depends on the name of a folder, on the machine or on the clock. Of an existing card, everything remains
that was written by hand: the text outside the marked section, and properties that do not follow from the contents.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from corpusfmt.formats.describing import BCP_47, patterns
from corpusfmt.formats.languages import LABEL, LABELS
from corpusfmt.formats.parts import Loaded
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.loading import (
    BOOL,
    FLOAT,
    FRACTION,
    INEXACT,
    INT,
    LIST,
    LONG,
    OBJECT,
    QUOTING,
    TEXT,
    TIME,
    WIDE,
    Seen,
)
from corpusfmt.io.outputs import Place
from corpusfmt.model import Json, UsageError

_JSON: Json = {"dtype": "json"}
_PLAIN = {
    0: "string",
    BOOL: "bool",
    INT: "int64",
    INT | WIDE: "int64",
    INT | WIDE | INEXACT: "int64",
    FLOAT: "float64",
    INT | FLOAT: "float64",
    TIME: "timestamp[s]",
    TEXT: "string",
}
# What makes no difference to the type.
_OF_VALUES = FRACTION | LONG | QUOTING
# These columns are texts, even if all of them are times.
_TEXTS = frozenset({"id", "text", "source"})


def features_of(columns: Seen) -> list[Json]:
    """Return the features of all columns, as in the `dataset_info` of a card."""

    def feature(name: str, seen: Seen) -> Json:
        is_text = name in _TEXTS and seen.settled & ~_OF_VALUES == TIME
        return _JSON if is_text else _of(seen) or _JSON

    return [{"name": name, **feature(name, seen)} for name, seen in columns.members.items()]


def _of(seen: Seen) -> Json | None:
    """Return the feature of a column whose values have one type; None if no type keeps them all."""
    kinds = seen.settled & ~_OF_VALUES
    if kinds in _PLAIN:
        return {"dtype": _PLAIN[kinds]}
    if kinds == LIST and seen.items is not None and seen.items.settled:
        inner = _of(seen.items)
        return inner and {"list": inner.get("dtype", inner)}
    members = {name: _of(member) for name, member in seen.members.items()} if kinds == OBJECT else {}
    if members and all(members.values()):
        return {"struct": [{"name": name, **of} for name, of in members.items() if of]}
    return None


NAME = "README.md"

_DEFAULT = "default"
# The rank of tables that are not of documents.
_FURTHER = 3
_BEGIN = "<!-- corpusfmt: begin. What is written between these marks is replaced. -->"
_END = "<!-- corpusfmt: end -->"
_MOST_BYTES = 4 * 1024 * 1024
# Properties in the order of a new card; those of an existing card remain, unless they follow from the contents.
_FIRST = ("pretty_name", "language", "license", "size_categories", "source_datasets", "task_categories")
_LAST = ("configs", "dataset_info")
_DERIVED = frozenset({"language", "size_categories", *_LAST})
_NAMES_FILES = re.compile(r"^\s*(?:-\s+)?(?:path|data_files):", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z_][\w-]*(?=:)")
_NOT_IN_NAMES = re.compile(r'[<>:/\\|?*"\s]')
_GLOB = re.compile(r"[][*?]")
_AFTER_STEM = re.compile(r"(?:_dedup|_meta)?(?:_part_\d+)?\..*", re.DOTALL)
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
_LARGE_SIZES = ("10B<n<100B", "100B<n<1T", "n>1T")


class Release(Struct, frozen=True):
    """What a card is about: all files by path, and the tables that loaders make of them.

    `default` is the folder of the variant that is loaded if no config is named; None for all documents. `licence` is named as on
    the Hub; `languages` are those of all documents, if no file has a language of its own.
    """

    layout: str
    summary: str
    source: str
    files: Mapping[str, FileFacts]
    loaded: Callable[[str], Loaded | None]
    default: str | None = None
    name: str = ""
    licence: str = "unknown"
    languages: Sequence[str] = ()


class _Config(Struct):
    """Files that are loaded under one name, whose rows are of one kind."""

    rank: int
    name: str
    rows: str
    language: str = ""
    files: dict[str, FileFacts] = field(default_factory=dict)

    def is_like(self, other: _Config) -> bool:
        return (self.rank, self.rows, self.language) == (other.rank, other.rows, other.language)

    @property
    def documents(self) -> int | None:
        """The number of documents, if the files have any."""
        counts = [facts.documents for facts in self.files.values()]
        return None if counts[0] is None else sum(count or 0 for count in counts)

    @property
    def splits(self) -> bool:
        return any(facts.splits for facts in self.files.values())

    @property
    def columns(self) -> Seen | None:
        """The columns of all files, None if those of some are not known."""
        whole = Seen()
        for facts in self.files.values():
            if facts.columns is None:
                return None
            whole.add(facts.columns)
        return whole


def card_of(release: Release, existing: str = "") -> bytes:
    """Return the card of a release. What was written by hand in an existing card remains."""
    configs = _configs(release)
    languages = sorted({BCP_47.get(each.language, each.language) for each in configs if each.language})
    head, body = _parted(existing)
    documents = sum(facts.documents or 0 for facts in release.files.values())
    size = (*_SIZES, *_LARGE_SIZES)[min(max(len(str(documents)) - 3, 0), 10)]
    blocks = {
        "pretty_name": [f"pretty_name: {_quoted(release.name)}"] if release.name else [],
        "license": [f"license: {_quoted(release.licence)}"],
        "source_datasets": _listed("source_datasets", [release.source]),
        "task_categories": _listed("task_categories", ["text-generation"]),
        **{name: block for name, block in head.items() if name not in _DERIVED},
        "language": _listed("language", languages or release.languages) or head.get("language", []),
        "size_categories": _listed("size_categories", [size]),
        "configs": [line for each in configs for line in _lines_of_config(each, release.files)],
        "dataset_info": [line for each in configs for line in _lines_of_features(each)],
    }
    for name in ("configs", "dataset_info"):
        blocks[name] = blocks[name] and [f"{name}:", *blocks[name]]
    others = [name for name in head if name not in {*_FIRST, *_LAST}]
    properties = [line for name in (*_FIRST, *others, *_LAST) for line in blocks[name]]
    section = "\n".join([_BEGIN, "", *_contents(configs), "", _END])
    return "\n".join(["---", *properties, "---", _with_section(body, section, release)]).encode()


def card_of_source(text: str) -> str:
    """Return what a card says of what is made of its corpus: its head, but for what follows from the contents."""
    blocks = ((name, block) for name, block in _parted(text)[0].items() if name not in {*_LAST, "size_categories"})
    lines = [line for _, block in blocks if _stands_alone("\n".join(block)) for line in block]
    return "\n".join(["---", *lines, "---", ""]) if lines else ""


def _stands_alone(text: str) -> bool:
    """Return whether no bracket or quote is left open, which would take the rest with it, and no file of the source is named."""
    is_closed = text.count("[") == text.count("]") and text.count("{") == text.count("}") and text.count('"') % 2 == 0
    return is_closed and not _NAMES_FILES.search(text)


def existing_card(path: Place) -> str:
    """Return a card, empty if there is none. Raises `UsageError` for one that cannot be extended."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return ""
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} has more than {_MOST_BYTES:,} bytes: shorten it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 at byte {error.start}: encode it as UTF-8") from error


def _listed(name: str, values: Iterable[str]) -> list[str]:
    lines = [f"- {_quoted(value)}" for value in values]
    return [f"{name}:", *lines] if lines else []


def _quoted(text: str) -> str:
    """Return a text as a YAML scalar that is neither a boolean nor a number."""
    return json.dumps(text, ensure_ascii=False)


# ---- the tables


def _configs(release: Release) -> list[_Config]:
    """Return the configs: all documents first, then variants and languages, then further tables.

    If a loader makes several rows of a text, there are no further tables: their rows would be those of other texts.
    """
    configs: dict[str, _Config] = {}
    for path, facts in release.files.items():
        for config in _configs_at(path, release) if facts.size else ():
            known = configs.setdefault(config.name, config)
            if known.is_like(config):
                known.files[path] = facts
    splits = any(config.splits for config in configs.values())
    kept = [config for config in configs.values() if config.rank < _FURTHER or not splits]
    return sorted(kept, key=lambda config: (config.rank, config.name))


def _configs_at(path: str, release: Release) -> Iterator[_Config]:
    """Yield the configs that a file belongs to, without files."""
    table = release.loaded(path)
    if table is None:
        return
    variant, language = _place(path.removeprefix(f"{table.root}/"))
    is_default = release.default in {None, variant}
    if table.name:
        name = table.name if is_default else f"{table.name}-{variant}"
        yield _Config(_FURTHER, _NOT_IN_NAMES.sub("_", name), table.rows)
        return
    if is_default:
        yield _Config(0, _DEFAULT, table.rows)
    if variant:
        yield _Config(1, _NOT_IN_NAMES.sub("_", variant), table.rows)
    if language:
        name = f"{variant}/{language}" if variant else language
        yield _Config(2, _NOT_IN_NAMES.sub("_", name), table.rows, language)


def _place(path: str) -> tuple[str, str]:
    """Return the variant and the language of a file by its path in its table; empty if it is not named for a language."""
    *folders, name = path.split("/")
    stem = _AFTER_STEM.sub("", name)
    if folders and folders[-1] == stem and LABEL.fullmatch(stem):
        return "/".join(folders[:-1]), stem
    return ("", stem) if not folders and stem in LABELS else ("", "")


def _lines_of_config(config: _Config, paths: Iterable[str]) -> Iterator[str]:
    yield f"- config_name: {_quoted(config.name)}"
    if config.name == _DEFAULT:
        yield "  default: true"
    if ".txt" in next(iter(config.files)) and not all(facts.by_line for facts in config.files.values()):
        yield '  sample_by: "paragraph"'
    yield "  data_files:"
    yield "  - split: train"
    globs = _globs(config.files, paths)
    if len(globs) == 1:
        yield f"    path: {_quoted(globs[0])}"
        return
    yield "    path:"
    yield from (f"    - {_quoted(glob)}" for glob in globs)


def _globs(own: Mapping[str, FileFacts], paths: Iterable[str]) -> list[str]:
    """Return patterns that match some paths and no others: few ones if possible, else the paths themselves."""
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for path in own:
        by_folder[posixpath.dirname(path)].append(path)
    in_folders = sorted(glob for names in by_folder.values() for glob in patterns(names))
    is_odd = any(step.startswith(("__", ".")) or _GLOB.search(step) for path in own for step in path.split("/"))
    for globs in (patterns(own), in_folders) if not is_odd else ():
        is_match = re.compile("|".join(re.escape(glob).replace(r"\*", "[^/]*") for glob in globs)).fullmatch
        if all((path in own) == bool(is_match(path)) for path in paths):
            return globs
    return [_GLOB.sub(r"[\g<0>]", path) for path in own]


def _lines_of_features(config: _Config) -> Iterator[str]:
    if (columns := config.columns) is None:
        return
    yield f"- config_name: {_quoted(config.name)}"
    yield "  features:"
    yield from _yaml(features_of(columns), "  ")


def _yaml(items: Sequence[Json], indent: str) -> Iterator[str]:
    """Yield the lines of a list of objects of texts, objects and lists of the same kind."""
    for item in items:
        lead = f"{indent}- "
        for key, value in item.items():
            yield from _yaml_entry(key, value, lead)
            lead = f"{indent}  "


def _yaml_entry(key: str, value: str | Json | Sequence[Json], lead: str) -> Iterator[str]:
    inner = " " * len(lead)
    if isinstance(value, str):
        yield f"{lead}{key}: {_quoted(value)}"
        return
    yield f"{lead}{key}:"
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _yaml_entry(name, each, f"{inner}  ")
    else:
        yield from _yaml(value, inner)


# ---- the text


def _contents(configs: Sequence[_Config]) -> Iterator[str]:
    yield "## Contents"
    yield ""
    yield "| config | language | files | documents | bytes of files |"
    yield "|---|---|--:|--:|--:|"
    for each in configs:
        documents = "" if each.documents is None else f"{each.documents:,}"
        size = sum(facts.size for facts in each.files.values())
        yield f"| `{each.name}` | {each.language} | {len(each.files):,} | {documents} | {size:,} |"
    yield ""
    yield "## Loading"
    yield ""
    yield '`load_dataset(PATH, "CONFIG")` reads a config; without a name, it reads `default`. Each config has one split, `train`.'
    yield ""
    rows: dict[str, list[str]] = {}
    for each in configs:
        if each.rank != 2:
            rows.setdefault(each.rows, []).append(f"`{each.name}`")
    yield from (f"- A row of {', '.join(names)} is {row}." for row, names in rows.items())
    if any(each.splits for each in configs):
        yield ""
        yield "A text in which a carriage return follows another line end becomes several rows, so rows are not documents, and metadata"
        yield "does not pair with them. For documents with their metadata, run `corpusfmt convert PATH NEW --to parquet`."


def _parted(card: str) -> tuple[dict[str, list[str]], str]:
    """Return the properties of a card, each as its lines, and the text after them."""
    lines = card.replace("\r\n", "\n").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        return {}, card
    end = lines.index("---", 1)
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[1:end]:
        if key := _KEY.match(line):
            current = blocks.setdefault(key[0], [])
        current.append(line)
    return blocks, "\n".join(lines[end + 1 :])


def _with_section(body: str, section: str, release: Release) -> str:
    before, begin, rest = body.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if begin and end:
        return f"{before}{section}{after}"
    if body.strip():
        return f"{body.rstrip()}\n\n{section}\n"
    return f"\n# {release.name or release.layout}\n\n{release.summary}.\n\n{section}\n"
