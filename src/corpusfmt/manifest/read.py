"""Internal: Read an untrusted manifest: its defects are reported and excluded from the result."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from corpusfmt.formats.general import barred
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import MOST_VALUES, SEPARATORS, JsonFault, parsed_json, pointer
from corpusfmt.manifest.model import NAME, SCHEMA, Head, ListedFile, Manifest, is_unlisted, tree_of
from corpusfmt.manifest.rules import (
    MALFORMED,
    REPEATED_NAME,
    TREE_MISMATCH,
    UNKNOWN_SCHEMA,
    UNSAFE_PATH,
    WRONG_TOTAL,
)
from corpusfmt.model import Json, Location, Problem
from corpusfmt.rules import Judge

_Kind = TypeVar("_Kind")

_MOST_BYTES = 64 * 1024 * 1024
# A larger manifest is read in pieces.
_LARGE, _PIECE = 256 * 1024, 64 * 1024
# How its files are written, its last member: what precedes the first one, separates two, and follows the last one.
_FIRST, _BETWEEN, _LAST = b'\n  "files": {\n', b"\n    },\n", b"\n    }\n  }\n}\n"
_OUR_SCHEMAS = re.compile(r"corpusfmt-manifest/([1-9][0-9]{0,8})")
_NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f\\]")
_DRIVE = re.compile(r"[A-Za-z]:")
_HINT = "fetch the manifest again, or write it with `corpusfmt seal`"


class Refused(Exception):
    """A manifest, statement or signature cannot be used at all."""

    def __init__(self, message: str, pointer: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.pointer, self.hint = message, pointer, hint


def read_manifest(entry: Entry, judge: Judge, path: str = NAME) -> Manifest | None:
    """Return a manifest, or None if it cannot be used; its defects are reported at `path`."""
    try:
        if (found := _in_pieces(entry)) is not None:
            return _manifest_of(*found, judge, path)
        value, repeated = object_in(content_of(entry))
        for name in repeated:
            judge.report(REPEATED_NAME, Problem(f"`{name}` occurs twice in one object", Location(path), _HINT))
        return _manifest_of(value, None, judge, path)
    except OSError as error:
        judge.report(*barred(error, Location(path)))
    except Refused as refused:
        judge.report(
            MALFORMED, Problem(refused.message, Location(path, pointer=refused.pointer), refused.hint or _HINT)
        )
    return None


def _in_pieces(entry: Entry) -> tuple[Json, Iterable[tuple[str, Any]]] | None:
    """Return a large manifest without its files, and these; None if it has any defect, or another form than `pieces_of` gives."""
    if not _LARGE < entry.size <= _MOST_BYTES:
        return None
    head: Json | None = None
    files: list[tuple[str, Any]] = []
    last, values = "", 0
    with closing(_texts(entry)) as texts:
        for text in texts:
            try:
                value, repeated = object_in(text)
            except Refused:
                return None
            own = value.pop("files")
            values += sum(map(text.count, SEPARATORS))
            is_rising = all(one < other for one, other in pairwise([last, *own]))
            # Other members next to the files are members of the whole only if they precede them.
            if repeated or values > MOST_VALUES or not is_rising or (head is not None and value):
                return None
            head = value if head is None else head
            last = max(own, default=last)
            files += own.items()
    return None if head is None else (head, files)


def _texts(entry: Entry) -> Generator[bytes]:
    """Yield a manifest as JSON texts: one without its files, then objects with some of its files each.

    If it has another form than `pieces_of` gives, one of them is not JSON, or has other members.
    """
    opening = b""
    data = bytearray()
    size = 0
    with entry.open() as file:
        while part := file.read(_PIECE):
            new = len(data)
            data += part
            size += len(part)
            if not opening and (place := data.find(_FIRST, max(new - len(_FIRST), 0))) >= 0:
                opening = b'{"files": {'
                yield bytes(data[:place]) + _FIRST + b"}}"
                del data[: place + len(_FIRST)]
            elif opening and (place := data.rfind(_BETWEEN)) >= 0:
                yield opening + data[:place] + b"}}}"
                del data[: place + len(_BETWEEN)]
            elif opening and new > _PIECE:
                yield b""
            if size > _MOST_BYTES:
                yield b""
    yield opening + data[: -len(_LAST)] + b"}}}" if opening and data.endswith(_LAST) else b""


def content_of(entry: Entry, most: int = _MOST_BYTES) -> bytes:
    """Return the content of a file of at most `most` bytes. Raises `OSError`, or `Refused` for more."""
    data = bytearray()
    with entry.open() as file:
        while len(data) <= most and (part := file.read(min(_PIECE, most + 1 - len(data)))):
            data += part
    if len(data) > most:
        raise Refused(f"more than {most:,} bytes, the most that is read", hint="split the release")
    return bytes(data)


def object_in(data: bytes) -> tuple[Json, tuple[str, ...]]:
    """Return the object in a JSON text, and the names that occur twice in one object. Raises `Refused`."""
    try:
        found = parsed_json(data.decode())
    except UnicodeDecodeError as error:
        raise Refused(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except JsonFault as fault:
        raise Refused(f"not JSON: {fault.reason}") from fault
    if not isinstance(found.value, dict):
        raise Refused("expected an object")
    return found.value, found.duplicate_keys


def _manifest_of(value: Json, files: Iterable[tuple[str, Any]] | None, judge: Judge, path: str) -> Manifest | None:
    """Return a manifest from its object; without `files`, they are in it."""
    schema = value.get("schema")
    if schema != SCHEMA:
        if isinstance(schema, str) and _OUR_SCHEMAS.fullmatch(schema):
            hint = "use a version of corpusfmt that knows it"
            problem = Problem(f"schema `{schema}`, expected `{SCHEMA}`", Location(path, pointer="/schema"), hint)
            judge.report(UNKNOWN_SCHEMA, problem)
            return None
        raise Refused("`schema` is missing" if schema is None else f"expected `{SCHEMA}`, found `{schema}`", "/schema")
    head = converted(value, Head)
    if files is None:
        entries = value.pop("files", None)
        if not isinstance(entries, dict):
            raise Refused("`files` is missing" if entries is None else "expected an object", "/files")
        files = entries.items()
    usable: dict[str, ListedFile] = {}
    unusable: set[str] = set()
    for name, entry in files:
        place = pointer("files", name)
        if fault := fault_of(name):
            unusable.add(name)
            judge.report(UNSAFE_PATH, Problem(f"`{name}` {fault}", Location(path, pointer=place), _HINT))
            continue
        try:
            usable[name] = msgspec.convert(entry, ListedFile)
        except msgspec.ValidationError as error:
            unusable.add(name)
            message, member = _stated(error)
            judge.report(MALFORMED, Problem(message, Location(path, pointer=place + (member or "")), _HINT))
    return Manifest(head, dict(sorted(usable.items())), value, frozenset(unusable))


def fault_of(path: str) -> str:
    """Return the defect of the path of a file in a release, if any."""
    return unsafe(path) or ("is a name that manifests do not list" if is_unlisted(path) else "")


def unsafe(path: str) -> str:
    """Return why a path cannot be that of a file below a folder, "" if it can."""
    steps = path.split("/")
    if path.startswith("/") or _DRIVE.match(path):
        return "is an absolute path"
    if ".." in steps:
        return "leads out of its folder"
    if "" in steps or "." in steps:
        return "has an empty step"
    return "has a control character or a backslash" if _NOT_IN_PATHS.search(path) else ""


def check_sums(manifest: Manifest, judge: Judge, path: str = NAME) -> None:
    """Report wrong sums over a release, after its entries have been verified."""
    if manifest.unusable:
        return
    said, found = manifest.head.tree, tree_of(manifest.files.items())
    if said.sha256 != found.sha256:
        message = f"the tree digest of the entries is `{found.sha256}`, expected `{said.sha256}`"
        judge.report(TREE_MISMATCH, Problem(message, Location(path, pointer="/tree/sha256"), _HINT))
    for name in ("files", "bytes", "documents"):
        actual, expected = getattr(found, name), getattr(said, name)
        if actual != expected:
            message = f"{actual:,} {name} in the entries, expected {expected:,}"
            judge.report(WRONG_TOTAL, Problem(message, Location(path, pointer=f"/tree/{name}"), _HINT))


def converted(value: Json, kind: type[_Kind]) -> _Kind:
    """Return a JSON object as a value of a type; members that the type does not have are ignored. Raises `Refused`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Refused(*_stated(error)) from error


def _stated(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Return the message of an error, and the JSON pointer to its place."""
    text, _, place = str(error).partition(" - at `$")
    steps = re.findall(r"\w+", place)
    return text[:1].lower() + text[1:], "".join(f"/{step}" for step in steps) or None
