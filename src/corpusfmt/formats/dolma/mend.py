"""Internal: Repairs of the layout: mismatched names of attributes, endings that not all tools read, leftovers of writers; and
of files without LF at their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from corpusfmt.formats import CheckOptions, Mend
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS, NameKind, kind_of_name, plan
from corpusfmt.formats.dolma.rowfiles import NO_FINAL_NEWLINE
from corpusfmt.formats.dolma.ruleset import VERSION
from corpusfmt.io.endings import open_line, with_newline
from corpusfmt.io.paths import Entry, walk
from corpusfmt.io.text import json_object

# Endings that every tool reads, for others with the same meaning.
_ENDINGS = {
    ".ndjson": ".jsonl", ".ndjson.gz": ".jsonl.gz", ".ndjson.zst": ".jsonl.zst", ".jsonl.zstd": ".jsonl.zst",
    ".json.zstd": ".json.zst",
}  # fmt: skip
_KINDS = (".jsonl", ".json")
_APPENDED = "LF appended; what was there before stays, byte by byte"


def mends(entry: Entry, options: CheckOptions) -> Iterator[Mend]:
    """Yield the files of a corpus that should end otherwise, have another name, or not be there."""
    for shard in plan(entry, options).shards:
        for file in shard.files.values():
            is_wanted = file.kind == "file" and options.grading.judged(NO_FINAL_NEWLINE, VERSION, file.path)[0]
            if is_wanted and json_object(open_line(file)) is not None:
                yield Mend(file, codes=(NO_FINAL_NEWLINE.code,), pieces=partial(with_newline, file), note=_APPENDED)
    if entry.kind != "directory":
        return
    files = {each.path: each for each in walk(entry) if each.kind == "file"}
    for path, file in list(files.items()):
        parts = path.split("/")
        if not {DOCUMENTS, ATTRIBUTES} & set(parts[:-1]):
            continue
        kind = kind_of_name(file.name)
        if kind is NameKind.LEFTOVER:
            yield Mend(file, None, ("DOL103",), safe=not file.size)
        elif kind is NameKind.UNUSUAL:
            yield from _renamed(file, _usual(file.name), "DOL102", files)
        elif ATTRIBUTES in parts[:-1]:
            yield from _renamed(file, _like_documents(path, files), "DOL401", files)


def _renamed(file: Entry, name: str, code: str, files: dict[str, Entry]) -> Iterator[Mend]:
    path = file.path.removesuffix(file.name) + name
    if name and name != file.name and path not in files:
        files[path] = file  # another file may be likely to get this name, too
        yield Mend(file, None, (code,), to=name)


def _usual(name: str) -> str:
    for ending, usual in _ENDINGS.items():
        if name.endswith(ending):
            return name.removesuffix(ending) + usual
    return ""


def _like_documents(path: str, files: dict[str, Entry]) -> str:
    """Return the name of the documents of an attributes file, if it differs only in `.json` and `.jsonl`."""
    base, _, rest = f"/{path}".rpartition(f"/{ATTRIBUTES}/")
    name = path.rpartition("/")[2]
    for kind, other in (_KINDS, _KINDS[::-1]):
        for codec in ("", ".gz", ".zst"):
            if not name.endswith(kind + codec):
                continue
            likely = name.removesuffix(kind + codec) + other + codec
            for below in _below_a_set(rest.rpartition("/")[0]):
                folder = "/".join(step for step in (base.strip("/"), DOCUMENTS, below) if step)
                if f"{folder}/{likely}" in files and f"{folder}/{name}" not in files:
                    return likely
    return ""


def _below_a_set(folder: str) -> Iterator[str]:
    """Yield the possible folders of documents: the name of a set may have slashes."""
    while folder:
        folder = folder.partition("/")[2]
        yield folder
