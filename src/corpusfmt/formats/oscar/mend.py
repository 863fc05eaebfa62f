"""Internal: The repair of checksum lists: listed files remain, others are added, all in the portable notation.

A line that cannot be read remains, too, unless its removal is asked for: a comment may be the only evidence of something.
Texts without LF at the end get one, and their lines in the list the new digest. The list is written first: a file that has
not yet what the list says is recognised by the digest that it would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Mend
from corpusfmt.formats.oscar.checksums import parsed_line
from corpusfmt.formats.oscar.layout import Slots, version_of
from corpusfmt.formats.oscar.layout_rules import Language
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.survey import LEFTOVER, LOOKS_LIKE_DATA, Folder, look
from corpusfmt.formats.oscar.text import NO_FINAL_NEWLINE
from corpusfmt.io.lines import compressed_with_newline, open_line
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import facts_of
from corpusfmt.rules import Judge

_READ_SIZE = 1 << 20
# Far more than a list of the most files that a language has.
_MOST_BYTES = 64 * 1024 * 1024
_REWRITTEN = "compressed again as one gzip member, with LF at the end of the last line"


def mends(entry: Entry, options: CheckOptions) -> Iterator[Mend]:
    """Yield the files of a corpus that need a repair, as they should be: checksum lists, texts, leftovers of writers."""
    survey = look(entry)
    version = options.version or version_of(survey)[0]
    for folder in survey.folders if entry.kind == "directory" else ():
        slots = Slots(folder, version, Judge(RULES, options.grading, version=version, path=folder.path))
        language = slots.language()
        data = [each for each in (*language.texts.values(), *language.metadata.values()) if each.kind == "file"]
        if data:
            unended = _unended(language, options, version)
            yield from _list_of(folder, slots.checksums, sorted(data, key=lambda each: each.name), version, unended)
    if entry.kind == "directory":
        for each in (*survey.beside, *(inside for folder in survey.folders for inside in folder.entries)):
            if each.kind == "file" and LEFTOVER.fullmatch(each.name):
                code = "OSC108" if LOOKS_LIKE_DATA.fullmatch(each.name) else "OSC109"
                yield Mend(each, codes=(code,), safe=not each.size)


def _unended(language: Language, options: CheckOptions, version: str) -> list[Entry]:
    """Return the texts without LF at the end, if that is to be repaired."""
    return [
        each
        for each in sorted(language.texts.values(), key=lambda each: each.name)
        if each.kind == "file" and options.grading.judged(NO_FINAL_NEWLINE, version, each.path)[0] and open_line(each)
    ]


def _list_of(
    folder: Folder, found: Entry | None, data: Sequence[Entry], version: str, unended: Sequence[Entry]
) -> Iterator[Mend]:
    name = f"{folder.code}_sha256.txt"
    if found is not None and (found.kind != "file" or found.size > _MOST_BYTES):
        return
    old = _content(found) if found is not None else b""
    by_name = {each.name: each for each in folder.entries if each.kind == "file"}
    lines = _read(old, version, found.name if found is not None else name, by_name)
    repaired = _repaired(unended, lines.listed)
    missing = [each for each in data if each.name not in lines.listed]
    codes = list(lines.codes)
    if missing:
        codes.append("OSC204" if found is not None and lines.listed else "OSC201")
    added = [
        f"{repaired[each.name].after if each.name in repaired else facts_of(each).sha256}  {each.name}\n".encode()
        for each in missing
    ]
    kept = list(_with_digests(lines.kept, repaired, version))
    place = found
    if place is None:
        beside = data[0]
        url = str(Path(beside.url).with_name(name))
        place = Entry(beside.path.removesuffix(beside.name) + name, url, "file", root=beside.root)
    follows = (NO_FINAL_NEWLINE.code,) if kept != lines.kept else ()
    if codes or follows:
        yield Mend(place, b"".join([*kept, *added]), tuple(codes), is_new=found is None, follows=follows)
    if lines.unread:
        readable = (line for line in kept if line not in lines.unread)
        yield Mend(place, b"".join([*readable, *added]), ("OSC202",), safe=False)
    for each in repaired.values():
        pieces = partial(compressed_with_newline, each.entry)
        yield Mend(each.entry, codes=(NO_FINAL_NEWLINE.code,), pieces=pieces, note=_REWRITTEN)


class _Repaired(Struct, frozen=True):
    """A text that gets LF at its end: its digests before and after."""

    entry: Entry
    before: str
    after: str


def _repaired(unended: Iterable[Entry], listed: Mapping[str, str]) -> dict[str, _Repaired]:
    """Return the texts to repair, by name: those that the list does not contradict, as they are or as they will be."""
    found = {}
    for each in unended:
        digest = hashlib.sha256()
        for piece in compressed_with_newline(each):
            digest.update(piece)
        made = _Repaired(each, facts_of(each).sha256, digest.hexdigest())
        if listed.get(each.name, made.before) in (made.before, made.after):
            found[each.name] = made
    return found


def _with_digests(kept: Iterable[bytes], repaired: Mapping[str, _Repaired], version: str) -> Iterator[bytes]:
    for line in kept:
        parsed = parsed_line(line.removesuffix(b"\n"), version)
        made = repaired.get(parsed[0].rpartition("/")[2]) if parsed else None
        if made is not None and parsed is not None and parsed[1] == made.before:
            yield f"{made.after}  {parsed[0]}\n".encode("utf-8", "surrogateescape")
        else:
            yield line


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
