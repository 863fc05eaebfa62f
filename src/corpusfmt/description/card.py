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

from corpusfmt.formats.describing import BCP_47, Patterns
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
    return [{"name": name, **_feature(name, seen)} for name, seen in columns.members.items()]


def _feature(name: str, seen: Seen) -> Json:
    if seen.settled & ~_OF_VALUES == TIME and name in _TEXTS:
        return _JSON
    return _of(seen) or _JSON


def _of(seen: Seen) -> Json | None:
    """Return the feature of a column whose values have one type; None if no type keeps them all."""
    kinds = seen.settled & ~_OF_VALUES
    if kinds in _PLAIN:
        return {"dtype": _PLAIN[kinds]}
    if kinds == LIST and seen.items is not None and seen.items.settled:
        inner = _of(seen.items)
        return inner and {"list": inner.get("dtype", inner)}
    if kinds == OBJECT and seen.members:
        members = {name: _of(member) for name, member in seen.members.items()}
        return (
            {"struct": [{"name": name, **of} for name, of in members.items() if of]} if all(members.values()) else None
        )
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
    """Files that are loaded under one name, and what is known of all of them. `columns` are None if those of some are not."""

    rank: int
    name: str
    rows: str
    language: str = ""
    first: str = ""
    files: int = 0
    size: int = 0
    documents: int | None = None
    by_line: bool = True
    splits: bool = False
    is_odd: bool = False
    columns: Seen | None = field(default_factory=Seen)
    patterns: Patterns = field(default_factory=Patterns)
    globs: list[str] = []

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What its files have in common."""
        return self.rank, self.name, self.rows, self.language

    def add(self, path: str, facts: FileFacts) -> None:
        """Add a file."""
        if not self.files:
            self.first, self.documents = path, None if facts.documents is None else 0
        self.files += 1
        self.size += facts.size
        if self.documents is not None:
            self.documents += facts.documents or 0
        self.by_line = self.by_line and facts.by_line
        self.splits = self.splits or facts.splits
        self.is_odd = self.is_odd or any(
            step.startswith(("__", ".")) or _GLOB.search(step) is not None for step in path.split("/")
        )
        if facts.columns is None:
            self.columns = None
        elif self.columns is not None:
            self.columns.add(facts.columns)
        self.patterns.add(path)


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
        "configs": [line for each in configs for line in _lines_of_config(each)],
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
    # What a bracket or quote leaves open would take the rest with it.
    lines = [line for _, block in blocks if _is_closed("\n".join(block)) for line in block]
    return "\n".join(["---", *lines, "---", ""]) if lines else ""


def _is_closed(text: str) -> bool:
    return text.count("[") == text.count("]") and text.count("{") == text.count("}") and text.count('"') % 2 == 0


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
    found: dict[str, _Config] = {}
    for path, facts in release.files.items():
        for config in _configs_at(path, facts, release):
            known = found.setdefault(config.name, config)
            if known.kind == config.kind:
                known.add(path, facts)
    if any(each.splits for each in found.values()):
        found = {name: each for name, each in found.items() if each.rank < _FURTHER}
    _find_globs(found, release)
    return sorted(found.values(), key=lambda each: (each.rank, each.name))


def _configs_at(path: str, facts: FileFacts, release: Release) -> Iterator[_Config]:
    table = release.loaded(path) if facts.size else None
    if table is not None:
        variant, language = _place(path.removeprefix(f"{table.root}/"))
        yield from _configs_of(table, variant, language, is_default=release.default in {None, variant})


def _configs_of(table: Loaded, variant: str, language: str, *, is_default: bool) -> Iterator[_Config]:
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


def _lines_of_config(config: _Config) -> Iterator[str]:
    yield f"- config_name: {_quoted(config.name)}"
    if config.name == _DEFAULT:
        yield "  default: true"
    if ".txt" in config.first and not config.by_line:
        yield '  sample_by: "paragraph"'
    yield "  data_files:"
    yield "  - split: train"
    first, *others = config.globs
    if not others:
        yield f"    path: {_quoted(first)}"
        return
    yield "    path:"
    yield from (f"    - {_quoted(each)}" for each in (first, *others))


def _find_globs(configs: Mapping[str, _Config], release: Release) -> None:
    """Find patterns that match exactly the files of each config: few ones if possible, else the paths themselves."""
    usual = {name: each for name, each in configs.items() if not each.is_odd}
    for each in usual.values():
        each.globs = each.patterns.globs
    several = _inexact(usual, release)
    by_folder: defaultdict[tuple[str, str], Patterns] = defaultdict(Patterns)
    for path, own in _sorted_out(several, release):
        for each in own:
            by_folder[each.name, posixpath.dirname(path)].add(path)
    for each in several.values():
        each.globs = sorted(glob for (name, _), found in by_folder.items() if name == each.name for glob in found.globs)
    exact = usual.keys() - _inexact(several, release).keys()
    listed = {name: each for name, each in configs.items() if name not in exact}
    for each in listed.values():
        each.globs = []
    for path, own in _sorted_out(listed, release):
        for each in own:
            each.globs.append(_GLOB.sub(r"[\g<0>]", path))


def _inexact(configs: Mapping[str, _Config], release: Release) -> dict[str, _Config]:
    """Return the configs whose patterns match other files, too, or not all of their own."""
    matches = {
        name: re.compile("|".join(re.escape(glob).replace(r"\*", "[^/]*") for glob in each.globs)).fullmatch
        for name, each in configs.items()
    }
    inexact = set()
    for path, own in _sorted_out(configs, release):
        names = {each.name for each in own}
        inexact |= {name for name, match in matches.items() if (name in names) != bool(match(path))}
    return {name: each for name, each in configs.items() if name in inexact}


def _sorted_out(configs: Mapping[str, _Config], release: Release) -> Iterator[tuple[str, list[_Config]]]:
    """Yield all files, each with those of some configs that it belongs to."""
    for path, facts in release.files.items() if configs else ():
        found = (config.kind for config in _configs_at(path, facts, release))
        yield path, [configs[kind[1]] for kind in found if kind[1] in configs and configs[kind[1]].kind == kind]


def _lines_of_features(config: _Config) -> Iterator[str]:
    if config.columns is None:
        return
    yield f"- config_name: {_quoted(config.name)}"
    yield "  features:"
    yield from _yaml(features_of(config.columns), "  ")


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
        yield f"| `{each.name}` | {each.language} | {each.files:,} | {documents} | {each.size:,} |"
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
