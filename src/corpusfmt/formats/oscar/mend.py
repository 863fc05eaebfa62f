"""Internal: The repair of checksum lists: listed files remain, others are added, all in the portable notation.

A line that cannot be read remains, too, unless its removal is asked for: a comment may be the only evidence of something.
What writers left behind is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from corpusfmt.formats import CheckOptions, Mend
from corpusfmt.formats.oscar.checksums import parsed_line
from corpusfmt.formats.oscar.layout import language_in, version_of
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.survey import LEFTOVER, LOOKS_LIKE_DATA, Folder, look
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import facts_of
from corpusfmt.rules import Judge

# Far more than a list of the most files that a language has.
_MOST_BYTES = 64 * 1024 * 1024


def mends(entry: Entry, options: CheckOptions) -> Iterator[Mend]:
    """Yield the files of a corpus that need a repair, as they should be: checksum lists, leftovers of writers."""
    if entry.kind != "directory":
        return
    survey = look(entry)
    version = options.version or version_of(survey)[0]
    for folder in survey.folders:
        language = language_in(folder, version, Judge(RULES, options.grading, version=version, path=folder.path))
        data = [each for each in (*language.texts.values(), *language.metadata.values()) if each.kind == "file"]
        if data:
            yield from _list_of(folder, language.checksums, sorted(data, key=lambda each: each.name), version)
    for each in (*survey.beside, *(inside for folder in survey.folders for inside in folder.entries)):
        if each.kind == "file" and LEFTOVER.fullmatch(each.name):
            code = "OSC108" if LOOKS_LIKE_DATA.fullmatch(each.name) else "OSC109"
            yield Mend(each, codes=(code,), safe=not each.size)


def _list_of(folder: Folder, existing: Entry | None, data: Sequence[Entry], version: str) -> Iterator[Mend]:
    """Yield the list of a folder as it should be, and then without the lines that cannot be read.

    The line of a missing file remains: it is the only evidence of the file.
    """
    if existing is not None and (existing.kind != "file" or existing.size > _MOST_BYTES):
        return
    name = existing.name if existing is not None else f"{folder.code}_sha256.txt"
    names = {each.name for each in folder.entries if each.kind == "file"}
    old = b""
    if existing is not None:
        with existing.open() as file:
            old = b"".join(iter(lambda: file.read(1 << 20), b""))
    listed: dict[str, str] = {}
    readable: list[bytes] = []
    kept: list[bytes] = []
    codes: dict[str, None] = {}
    for line in filter(bytes.strip, old.split(b"\n")):
        parsed = parsed_line(line, version)
        if parsed is None and (parsed := parsed_line(line, "1.0")) is not None:
            codes["OSC202"] = None  # in another notation, but with a digest
        if parsed is None:
            kept.append(line + b"\n")
            continue
        path, digest, notation = parsed
        bare = path.rpartition("/")[2]
        if bare == name or listed.get(bare) == digest:
            codes["OSC206"] = None
            continue
        if "/" in path and bare in names:
            codes["OSC203"] = None
            path = bare
        if notation and "OSC202" not in codes:
            codes["OSC207"] = None
        listed.setdefault(bare, digest)
        readable.append(f"{digest}  {path}\n".encode("utf-8", "surrogateescape"))
        kept.append(readable[-1])
    missing = [each for each in data if each.name not in listed]
    if missing:
        codes["OSC204" if existing is not None and listed else "OSC201"] = None
    added = [f"{facts_of(each).sha256}  {each.name}\n".encode() for each in missing]
    place = existing
    if place is None:
        first = data[0]
        url = str(Path(first.url).with_name(name))
        place = Entry(first.path.removesuffix(first.name) + name, url, "file", root=first.root)
    if codes:
        yield Mend(place, b"".join([*kept, *added]), tuple(codes), is_new=existing is None)
    if len(readable) < len(kept):
        yield Mend(place, b"".join([*readable, *added]), ("OSC202",), safe=False)
