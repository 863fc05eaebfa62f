"""Internal: The repair of checksum lists: listed files remain, others are added, all in the portable notation.

A line that cannot be read remains, too, unless its removal is asked for: a comment may be the only evidence of something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Mend
from corpusfmt.formats.oscar.checksums import parsed_line
from corpusfmt.formats.oscar.layout import version_of
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.slots import Slots
from corpusfmt.formats.oscar.survey import Folder, look
from corpusfmt.io.digests import facts_of
from corpusfmt.io.paths import Entry
from corpusfmt.rules import Judge

_READ_SIZE = 1 << 20
# Far more than a list of the most files that a language has.
_MOST_BYTES = 64 * 1024 * 1024


def mends(entry: Entry, options: CheckOptions) -> Iterator[Mend]:
    """Yield the checksum lists of a corpus that need a repair, as they should be."""
    survey = look(entry)
    version = options.version or version_of(survey)[0]
    for folder in survey.folders if entry.kind == "directory" else ():
        slots = Slots(folder, version, Judge(RULES, options.grading, version=version, path=folder.path))
        language = slots.language()
        data = [each for each in (*language.texts.values(), *language.metadata.values()) if each.kind == "file"]
        if data:
            yield from _list_of(folder, slots.checksums, sorted(data, key=lambda each: each.name), version)


def _list_of(folder: Folder, found: Entry | None, data: Sequence[Entry], version: str) -> Iterator[Mend]:
    name = f"{folder.code}_sha256.txt"
    if found is not None and (found.kind != "file" or found.size > _MOST_BYTES):
        return
    old = _content(found) if found is not None else b""
    by_name = {each.name: each for each in folder.entries if each.kind == "file"}
    lines = _read(old, version, found.name if found is not None else name, by_name)
    missing = [each for each in data if each.name not in lines.listed]
    codes = list(lines.codes)
    if missing:
        codes.append("OSC204" if found is not None and lines.listed else "OSC201")
    added = [f"{facts_of(each).sha256}  {each.name}\n".encode() for each in missing]
    place = found
    if place is None:
        beside = data[0]
        url = str(Path(beside.url).with_name(name))
        place = Entry(beside.path.removesuffix(beside.name) + name, url, "file", root=beside.root)
    if codes:
        yield Mend(place, b"".join([*lines.kept, *added]), tuple(codes), is_new=found is None)
    if lines.unread:
        kept = (line for line in lines.kept if line not in lines.unread)
        yield Mend(place, b"".join([*kept, *added]), ("OSC202",), safe=False)


class _Lines(Struct):
    """A checksum list: the digests by name, the lines that remain, and the rules that remove or change the others.

    `unread` are those of the remaining lines that are not a digest and a name.
    """

    listed: dict[str, str] = {}
    kept: list[bytes] = []
    codes: dict[str, None] = {}
    unread: set[bytes] = set()


def _read(old: bytes, version: str, own_name: str, by_name: dict[str, Entry]) -> _Lines:
    """Read a list. The line of a missing file remains: it is the only evidence of the file."""
    found = _Lines()
    listed, codes = found.listed, found.codes
    for line in old.split(b"\n"):
        if not line.strip():
            continue
        parsed = parsed_line(line, version)
        if parsed is None:
            parsed = parsed_line(line, "1.0")  # has another notation, but also with a digest
            if parsed is None:
                found.unread.add(line + b"\n")
                found.kept.append(line + b"\n")
                continue
            codes["OSC202"] = None
        name, digest, notation = parsed
        bare = name.rpartition("/")[2]
        if bare == own_name or listed.get(bare) == digest:
            codes["OSC206"] = None
            continue
        if "/" in name and bare in by_name:
            codes["OSC203"] = None
            name = bare
        if notation and "OSC202" not in codes:
            codes["OSC207"] = None
        listed.setdefault(bare, digest)
        found.kept.append(f"{digest}  {name}\n".encode("utf-8", "surrogateescape"))
    return found


def _content(entry: Entry) -> bytes:
    with entry.open() as file:
        return b"".join(iter(lambda: file.read(_READ_SIZE), b""))
