"""Internal: The tables that the card of a folder defines: its configs, their splits and types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.general import barred
from corpusfmt.hub.kinds import matched, splits_of
from corpusfmt.hub.rules import CARD_MALFORMED, CARD_PATH_UNMATCHED
from corpusfmt.io.paths import Entry
from corpusfmt.model import Json, Location, Problem, UsageError
from corpusfmt.rules import Judge

NAME = "README.md"
_MOST_BYTES = 4 * 1024 * 1024
_IN_NAMES = re.compile(r"[<>:/\\|?*]")
_SPLIT = re.compile(r"\w+(?:\.\w+)*")
# Deeper YAML could exhaust the stack of its parser, which is written in C.
_MOST_BRACKETS = 64
_TOO_DEEP = re.compile(r"(?:- ){64}|^ {120}", re.MULTILINE)


class Table(Struct):
    """A config: its name, the files of its splits, declared types and numbers of rows, and whether rows of text are paragraphs."""

    name: str
    splits: Mapping[str, Sequence[str]]
    features: list[Any] | None = None
    sizes: Mapping[str, int] = {}
    by_paragraph: bool = False


class Malformed(Exception):
    """The head of a card cannot be used."""

    def __init__(self, reason: str, pointer: str | None = None, hint: str = "correct the head of the card") -> None:
        super().__init__(reason)
        self.problem = Problem(reason, Location(NAME, pointer=pointer), hint)


def is_card(entry: Entry) -> bool:
    """Return whether a file begins like the head of a card."""
    try:
        with entry.open() as file:
            return file.read(4) in {b"---\n", b"---\r"}
    except OSError:
        return False


def tables_of(
    card: Entry, paths: Sequence[str], judge: Judge, guessed: Callable[[], Sequence[Table]]
) -> Sequence[Table]:
    """Return the tables of a card, or of one without configs those that are `guessed`, as the card declares them.

    Defects are reported, and no tables returned.
    """
    try:
        head = head_of(card, judge)
        configs = head.get("configs")
        infos = _infos(head)
        if not configs:
            info = _only(infos)
            return [replace(each, features=_features(info), sizes=_sizes(info)) for each in guessed()]
        tables = list(_tables(configs, infos, paths, judge))
        _refuse_without_default(configs)
    except Malformed as malformed:
        judge.report(CARD_MALFORMED, malformed.problem)
    except OSError as error:
        judge.report(*barred(error, Location(NAME)))
    else:
        return tables
    return []


def head_of(card: Entry, judge: Judge) -> Json:
    """Return the head of a card, YAML. Raises `Malformed`, `UsageError` if nothing here reads YAML, and `OSError`."""
    with card.open() as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise Malformed(f"the card has more than {_MOST_BYTES:,} bytes")
    try:
        lines = data.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise Malformed(f"the card is not UTF-8 at byte {error.start}") from error
    if lines[0] != "---" or "---" not in lines[1:]:
        return {}
    return yaml_object("\n".join(lines[1 : lines.index("---", 1)]), judge)


def yaml_object(text: str, judge: Judge, what: str = "the head of the card", line: int = 2) -> Json:
    """Return a mapping in YAML without aliases, else an empty one; `line` is its first one in the file. Raises as `head_of`."""
    if _TOO_DEEP.search(text) or _brackets(text) > _MOST_BRACKETS:
        raise Malformed(f"{what} is nested too deeply")
    return _parsed(text, judge, what, line)


def _brackets(text: str) -> int:
    """Return how deeply brackets are nested, in texts, too."""
    depth = deepest = 0
    for each in re.finditer(r"[\[\]{}]", text):
        depth += 1 if each[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _parsed(text: str, judge: Judge, what: str, line: int) -> Json:
    yaml = _yaml()
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # which one there is depends on the installation
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            found = super().construct_mapping(node, deep=deep)
            if len(found) < len(node.value):
                raise Malformed(f"{what} has a key twice")
            return found

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, base)):
            judge.coverage.gap(NAME, what, "it has aliases, which are not followed")
            return {}
        head = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        place = f" at line {where.line + line}" if where else ""
        raise Malformed(f"{what} is not YAML{place}: {getattr(error, 'problem', None) or error}") from error
    return head if isinstance(head, dict) else {}


def _yaml() -> Any:
    try:
        return import_module("yaml")
    except ImportError as error:
        raise UsageError("reading YAML needs a package: pip install 'corpusfmt[hf]'") from error


def _tables(configs: Any, infos: Mapping[str, Json], paths: Sequence[str], judge: Judge) -> Iterator[Table]:
    if not isinstance(configs, list):
        raise Malformed("`configs` is not a list", "/configs")
    names: set[str] = set()
    for number, config in enumerate(configs):
        at = f"/configs/{number}"
        name = config.get("config_name") if isinstance(config, dict) else None
        if not isinstance(name, str):
            raise Malformed(f"`config_name` is `{_plain(name)}`, expected a string", at, "put the name in quotes")
        if not name or _IN_NAMES.search(name):
            raise Malformed(f"`config_name` is `{name}`, expected one without any of < > : / \\ | ? *", at, "rename it")
        if name in names:
            raise Malformed(f"two configs are called `{name}`", at, "rename one")
        names.add(name)
        info = infos.get(name, {})
        by_paragraph = config.get("sample_by") == "paragraph"
        yield Table(name, _splits(config, at, paths, judge), _features(info | config), _sizes(info), by_paragraph)


def _features(info: Json) -> list[Any] | None:
    features = info.get("features")
    return features if isinstance(features, list) else None


def _plain(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _splits(config: Json, at: str, paths: Sequence[str], judge: Judge) -> dict[str, list[str]]:
    files = config.get("data_files")
    if files is None:
        folder = str(config.get("data_dir", "")).strip("/")
        inside = [path[len(folder) :].lstrip("/") for path in paths if not folder or path.startswith(f"{folder}/")]
        return {name: [f"{folder}/{path}".lstrip("/") for path in own] for name, own in splits_of(inside).items()}
    found: dict[str, list[str]] = {}
    for split, patterns in _patterns(files, f"{at}/data_files").items():
        for pattern in patterns:
            own = matched(pattern, paths)
            if not own:
                problem = Problem(f"`{pattern}` matches no file", Location(NAME, pointer=at), "correct the path")
                judge.report(CARD_PATH_UNMATCHED, problem)
            found.setdefault(split, []).extend(own)
    return found


def _patterns(files: Any, at: str) -> dict[str, list[str]]:
    items = files if isinstance(files, list) else [files]
    if all(isinstance(each, str) for each in items):
        return {"train": items}
    found: dict[str, list[str]] = {}
    for each in items:
        path = each.get("path") if isinstance(each, dict) and each.keys() == {"split", "path"} else None
        patterns = [path] if isinstance(path, str) else path
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise Malformed("`data_files` is neither a path, nor paths, nor a list of `split` and `path`", at)
        split = each["split"]
        if not isinstance(split, str) or not _SPLIT.match(split):
            raise Malformed(f"`split` is `{_plain(split)}`, expected letters, digits, `_` and `.`", at)
        if split in found:
            raise Malformed(f"the split `{split}` occurs twice", at)
        found[split] = patterns
    return found


def _infos(head: Json) -> dict[str, Json]:
    given = head.get("dataset_info")
    infos = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, dict)]
    return {str(each.get("config_name", "default")): each for each in infos}


def _only(infos: Mapping[str, Json]) -> Json:
    """Return what a card without configs declares of its files: with several declarations, nothing."""
    if len(infos) != 1:
        return {}
    ((name, info),) = infos.items()
    if name != "default":
        message = f"`dataset_info` is about the config `{name}`, expected `default` or one of `configs`"
        raise Malformed(message, "/dataset_info", f"add `{name}` to `configs`")
    return info


def _sizes(info: Json) -> dict[str, int]:
    splits = info.get("splits")
    return {
        str(each.get("name")): each["num_examples"]
        for each in (splits if isinstance(splits, list) else ())
        if isinstance(each, dict) and isinstance(each.get("num_examples"), int)
    }


def _refuse_without_default(configs: Sequence[Json]) -> None:
    defaults = [each["config_name"] for each in configs if each["config_name"] == "default" or each.get("default")]
    if len(defaults) > 1:
        raise Malformed(f"the configs `{defaults[0]}` and `{defaults[1]}` are both the default", "/configs")
    if not defaults and len(configs) > 1:
        hint = "mark one with `default: true`"
        raise Malformed("several configs, and none is the default: it must be named to be loaded", "/configs", hint)
