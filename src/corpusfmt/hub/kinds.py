"""Internal: Which files `datasets` reads, by their names: kinds of files, splits, patterns."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache

from corpusfmt.io.streams import codec_of_name

# datasets 5.2.0: packaged_modules/__init__.py and data_files.py. Media and scientific formats are all `other`.
_BUILDERS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".geoparquet": "parquet", ".gpq": "parquet", ".arrow": "arrow", ".txt": "text", ".conll": "conll", ".conllu": "conll",
    ".tar": "webdataset", ".xml": "xml", ".hdf5": "hdf5", ".h5": "hdf5", ".eval": "eval", ".toml": "harbor", ".md": "harbor",
    ".lance": "lance", ".tsfile": "tsfile", ".vortex": "vortex", ".pdf": "pdffolder", ".png": "imagefolder",
    ".jpg": "imagefolder", ".jpeg": "imagefolder", ".gif": "imagefolder", ".webp": "imagefolder", ".wav": "audiofolder",
    ".mp3": "audiofolder", ".flac": "audiofolder", ".mp4": "videofolder", ".zip": "zip",
}  # fmt: skip
_FAVOURITES = (".parquet", ".lance", ".vortex", ".arrow", ".jsonl", ".json", ".csv")
_IGNORED = frozenset(
    {"README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json"}
)
_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SEPARATOR = "[-._ 0-9]"
_WILDCARDS = frozenset("*?[")


@cache
def _patterns(shapes: Sequence[str]) -> dict[str, list[re.Pattern[str]]]:
    """Return the patterns of each split in the order in which they are tried: a file is read once for each that it matches."""
    return {
        split: [
            re.compile(shape.format(keyword=keyword, sep=_SEPARATOR), re.DOTALL)
            for keyword in keywords
            for shape in shapes
        ]
        for split, keywords in _KEYWORDS.items()
    }


_IN_FOLDERS = ("{keyword}", "{keyword}{sep}.*", ".*{sep}{keyword}", ".*{sep}{keyword}{sep}.*")
_IN_NAMES = ("{keyword}{sep}.*", ".*{sep}{keyword}{sep}.*")
_SHARDED = re.compile(r"data/(?P<split>[^/]*)-\d{5}-of-\d[^/]*\d[^/]*\.[^/]*")
_EARLY = (("logs", re.compile(r"(?:.*/)?[^/]*\.eval")), ("test", re.compile(r"(?:.*/)?(?:task\.toml|instruction\.md)")))


# What is taken for the end of a path, or for the address of a host; `\\` becomes `/`.
_UNLOADABLE = re.compile(r"::+|[][\\]")


def unloadable(path: str) -> str:
    """Return what in the path of a file keeps it from being loaded; empty if nothing does."""
    is_plain = codec_of_name(path) == "plain"
    for match in _UNLOADABLE.finditer(path):
        found = match[0]
        if found[0] == ":" or (not is_plain and (found == "\\" or "/" not in path[match.end() :])):
            return found
    return ""


def loadable(path: str) -> str:
    """Return a path with `_` for everything that may keep a file from being loaded."""
    return _UNLOADABLE.sub("_", path)


def splits_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of each split as their names show it; all are `train` if no name shows one."""
    seen = [path for path in sorted(paths) if _is_seen(path, "**")]
    sharded = {path: match["split"] for path in seen if (match := _SHARDED.fullmatch(path))}
    if sharded:
        names = [*_KEYWORDS, *sorted({*sharded.values()} - _KEYWORDS.keys())]
        return {name: found for name in names if (found := [path for path in seen if sharded.get(path) == name])}
    for name, pattern in _EARLY:
        if early := [path for path in seen if pattern.fullmatch(path)]:
            return {name: early}
    for shapes, steps in ((_IN_FOLDERS, _folders), (_IN_NAMES, _name)):
        by_name = {
            split: [path for pattern in patterns for path in seen if any(map(pattern.fullmatch, steps(path)))]
            for split, patterns in _patterns(shapes).items()
        }
        if any(by_name.values()):
            return {split: found for split, found in by_name.items() if found}
    return {"train": seen} if seen else {}


def _folders(path: str) -> Sequence[str]:
    return path.split("/")[:-1]


def _name(path: str) -> Sequence[str]:
    return [posixpath.basename(path)]


def matched(pattern: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a pattern of a card matches, in order."""
    pattern = posixpath.normpath(pattern)
    globs = pattern.split("/")
    return [path for path in sorted(paths) if _fits(path.split("/"), globs) and _is_seen(path, pattern)]


def _fits(steps: Sequence[str], globs: Sequence[str]) -> bool:
    """Return whether a path matches: `**` stands for any number of folders, at the end for any path below."""
    places = {0}
    for number, glob in enumerate(globs):
        if glob != "**":
            places = {place + 1 for place in places if place < len(steps) and _is_like(steps[place], glob)}
        elif number == len(globs) - 1:
            return any(place < len(steps) for place in places)
        else:
            places = set(range(min(places, default=len(steps)), len(steps)))
    return len(steps) in places


def _is_like(step: str, glob: str) -> bool:
    # Most names have no pattern, for which `fnmatch` would compile an expression.
    return step == glob if _WILDCARDS.isdisjoint(glob) else fnmatchcase(step, glob)


def _is_seen(path: str, pattern: str) -> bool:
    *folders, name = path.split("/")
    *above, last = pattern.split("/")
    if name in _IGNORED - {last}:
        return False
    special = sum(step.startswith("__") for step in folders) == sum(step.startswith("__") for step in above)
    hidden = sum(step.startswith(".") for step in (*folders, name)) == sum(
        step.startswith(".") for step in (*above, last)
    )
    return special and hidden


def builder_of(paths: Iterable[str]) -> str:
    """Return the builder that reads most of the files; empty if none does."""
    counted = Counter(f".{suffix.lower()}" for path in paths for suffix in posixpath.basename(path).split(".")[1:])

    def rank(each: tuple[str, int]) -> tuple[object, ...]:
        extension, count = each
        return (count, *(extension == favourite for favourite in _FAVOURITES), extension)

    ranked = sorted(counted.items(), key=rank, reverse=True)
    return next((_BUILDERS[extension] for extension, _ in ranked if extension in _BUILDERS), "")


def readable(paths: Iterable[str], builder: str = "") -> list[str]:
    """Return the files with an extension that some builder reads; of one builder, as its filter finds them."""
    if not builder:
        return [
            path for path in paths if any(f".{part}" in _BUILDERS for part in posixpath.basename(path).split(".")[1:])
        ]
    extensions = "|".join(re.escape(each) for each, name in _BUILDERS.items() if name in {builder, "zip"})
    return [path for path in paths if re.fullmatch(rf".*(?:{extensions})(?:\..+)?", path)]


def kinds(splits: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the builders of all splits."""
    return {builder_of(paths) for paths in splits.values()}
