"""Internal: Read an untrusted manifest: its defects are reported and excluded from the result."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from corpusfmt.formats.general import barred
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import JsonFault, parsed_json, pointer
from corpusfmt.manifest.model import NAME, NOT_IN_PATHS, SCHEMA, Head, ListedFile, Manifest, is_unlisted, tree_of
from corpusfmt.manifest.rules import (
    MALFORMED,
    REPEATED_NAME,
    TREE_MISMATCH,
    UNKNOWN_SCHEMA,
    UNSAFE_PATH,
    WRONG_TOTAL,
)
from corpusfmt.model import FindingType, Json, Location, Problem
from corpusfmt.rules import Judge

_Kind = TypeVar("_Kind")

_MOST_BYTES = 64 * 1024 * 1024
_PIECE = 64 * 1024
_OUR_SCHEMAS = re.compile(r"corpusfmt-manifest/([1-9][0-9]{0,8})")
_DRIVE = re.compile(r"[A-Za-z]:")
_HINT = "fetch the manifest again, or write it with `corpusfmt seal`"


class Refused(Exception):
    """A manifest, statement or signature cannot be used at all; `rule` says why if it is not malformed."""

    def __init__(
        self, message: str, pointer: str | None = None, hint: str = "", rule: FindingType | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.pointer, self.hint, self.rule = message, pointer, hint, rule


def read_manifest(entry: Entry, judge: Judge, path: str = NAME) -> Manifest | None:
    """Return a manifest, or None if it cannot be used; its defects are reported at `path`."""
    try:
        value, repeated = object_in(content_of(entry))
        for name in repeated:
            judge.report(REPEATED_NAME, Problem(f"`{name}` occurs twice in one object", Location(path), _HINT))
        return _manifest_of(value, judge, path)
    except OSError as error:
        judge.report(*barred(error, Location(path)))
    except Refused as refused:
        judge.report(
            MALFORMED, Problem(refused.message, Location(path, pointer=refused.pointer), refused.hint or _HINT)
        )
    return None


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
        text = data.decode()
        del data  # a manifest may take most of the memory
        found = parsed_json(text)
    except UnicodeDecodeError as error:
        raise Refused(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except JsonFault as fault:
        raise Refused(f"not JSON: {fault.reason}") from fault
    if not isinstance(found.value, dict):
        raise Refused("expected an object")
    return found.value, found.duplicate_keys


def _manifest_of(value: Json, judge: Judge, path: str) -> Manifest | None:
    """Return a manifest from its object, out of which `files` are taken."""
    files = value.pop("files", None)
    schema = value.get("schema")
    if schema != SCHEMA:
        if isinstance(schema, str) and _OUR_SCHEMAS.fullmatch(schema):
            hint = "use a version of corpusfmt that knows it"
            problem = Problem(f"schema `{schema}`, expected `{SCHEMA}`", Location(path, pointer="/schema"), hint)
            judge.report(UNKNOWN_SCHEMA, problem)
            return None
        raise Refused("`schema` is missing" if schema is None else f"expected `{SCHEMA}`, found `{schema}`", "/schema")
    head = converted(value, Head)
    if not isinstance(files, dict):
        raise Refused("`files` is missing" if files is None else "expected an object", "/files")
    usable: dict[str, ListedFile] = {}
    unusable: set[str] = set()
    for name, entry in files.items():
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
    return "has a control character or a backslash" if NOT_IN_PATHS.search(path) else ""


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
