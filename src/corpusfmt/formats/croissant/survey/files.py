"""Internal: The files of a folder and of the archives in it, read once each: their kinds, digests and rows."""

from __future__ import annotations

import codecs
import hashlib
import mimetypes
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.data.archives import ArchiveFault, is_archive, members
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.files import Opened, raw, split_codec
from corpusfmt.formats.croissant.data.rows import MAX_CONTENT
from corpusfmt.formats.croissant.data.signatures import SIGNED, format_of
from corpusfmt.formats.croissant.model.values import escapes, is_absolute
from corpusfmt.formats.croissant.survey.columns import Keys
from corpusfmt.formats.croissant.survey.rows import NoRows, Rows, rows_of
from corpusfmt.formats.describing import FileOf
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry, PointerFile

#: The number of bytes to look at.
HEAD = 512

_ROWS = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".json": "application/json",
    ".geojson": "application/json",
    ".jsonl": "application/jsonlines",
    ".ndjson": "application/jsonlines",
    ".parquet": "application/x-parquet",
}
_ARCHIVES = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_TEXTS = (".cls", ".txt", ".text", ".md", ".markdown", ".rst", ".log", ".tex", ".srt", ".vtt")
_MEDIA = ("image/", "audio/")
# Types that `mimetypes` does not know, or names otherwise than the signatures; by suffix, and by compression.
_TYPES = {
    ".flac": "audio/flac", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".wav": "audio/wav", ".mp3": "audio/mpeg",
    ".webp": "image/webp", ".bmp": "image/bmp", "gzip": "application/gzip", "zstd": "application/zstd",
    "bzip2": "application/x-bzip2", "xz": "application/x-xz", "lz4": "application/x-lz4",
}  # fmt: skip
_MP3 = (b"ID3", b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2")
_PARQUET = b"PAR1"


class Kind(Struct, frozen=True):
    """The assumed kind of a file: `rows`, `text`, `image`, `audio`, `archive`, or `other`; its media type; and why.

    `doubt` says if name and content disagree.
    """

    name: str
    encoding: str
    why: str
    doubt: str = ""


def kind_of_file(path: str, head: bytes) -> Kind:
    """Return the kind of a file. `head` is its first bytes, as stored."""
    name = path.rpartition("/")[2]
    plain, codec = split_codec(name.lower())
    suffix = "." + plain.rpartition(".")[2] if "." in plain else ""
    why = f"the suffix `{suffix}`"
    if suffix == ".json" and codec != "plain":
        return Kind("rows", "application/jsonlines", f"{why} of a compressed file")
    if suffix in _ROWS and suffix != ".parquet":
        return Kind("rows", _ROWS[suffix], why)
    if head.startswith(_PARQUET):
        return Kind("rows", "application/x-parquet", "it begins with PAR1")
    if suffix in _ARCHIVES:
        packed = "application/zip" if suffix == ".zip" else "application/x-tar"
        if is_archive(head) and head.startswith(b"PK") == (suffix == ".zip"):
            return Kind("archive", packed, why)
        return Kind("other", "application/octet-stream", why, f"named `{suffix}`, and does not begin like an archive")
    return _by_content(suffix, codec, head, why)


def _by_content(suffix: str, codec: str, head: bytes, why: str) -> Kind:
    if codec != "plain":
        encoding = "text/plain" if suffix in _TEXTS else _TYPES.get(codec, "application/octet-stream")
        return Kind("text" if suffix in _TEXTS else "other", encoding, why)
    found = format_of(head) or ("audio/mpeg" if head.startswith(_MP3) and suffix == ".mp3" else "")
    guessed = _TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0] or ""
    if found and found != "application/pdf" and (suffix in _TEXTS or _is_text(head)):
        found = ""  # a text may begin with such letters, too
    if found:
        doubt = f"named `{suffix}`, and begins like {found}" if guessed and guessed != found else ""
        return Kind(_family(found), found, f"it begins like {found}", doubt)
    if guessed in SIGNED or guessed == "audio/mpeg":
        doubt = f"named `{suffix}`, and does not begin like {guessed}" if head else ""
        return Kind("other", "application/octet-stream", why, doubt)
    if suffix in _TEXTS or (not suffix and head and _is_text(head)):
        return Kind("text", "text/plain", why if suffix else "it begins like text")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and not guessed:
        return Kind("archive", "application/zip", "it begins like a zip archive")
    return Kind(_family(guessed), guessed or "application/octet-stream", why)


def _family(encoding: str) -> str:
    return encoding.partition("/")[0] if encoding.startswith(_MEDIA) and encoding != "image/svg+xml" else "other"


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
    return b"\0" not in head


_ABOUT = re.compile(
    r"(README|LICEN[CS]E|COPYING|NOTICE|CHANGELOG|CITATION|AUTHORS|CONTRIBUTING|DATASHEET|MANIFEST|stats|croissant)([.-].*)?"
    r"|.*sha(256|384|512).*|.+\.(sig|asc|sigstore(\.json)?)",
    re.IGNORECASE | re.DOTALL,
)
_MOST_MEMBERS = 10_000
_TABLES = ("text/csv", "text/tab-separated-values")
_A_TEXT = Kind("text", "text/plain", "a table that is not read alike by all readers")
_NO_RECORDS = "no records"


class Seen(Struct):
    """A file and the results for it: its kind, its rows, and notes."""

    file: FileOf
    kind: Kind
    rows: list[Rows]
    notes: list[str]

    @property
    def has_content(self) -> bool:
        """Whether the whole file is one value: a text, an image, audio."""
        return self.kind.name in ("text", "image", "audio") and not any(
            each.startswith(_NO_RECORDS) for each in self.notes
        )

    @property
    def title(self) -> str:
        return f"{self.file.container}/{self.file.path}" if self.file.container else self.file.path


def look_at(entry: Entry, prefix: str, keys: Keys, *, is_part: bool = False) -> Iterator[Seen]:
    """Yield a file on disk, and after an archive its members. Raises `OSError` where it cannot be read.

    Part of a store of arrays has no content of its own.
    """
    path = prefix + entry.path
    try:
        hashed = _Hashed(raw(entry))
    except PointerFile as pointer:
        if not pointer.sha256:
            raise
        yield _of_pointer(pointer, path)
        return
    head = hashed.head
    kind = _kind(entry.path, head)
    if is_part:
        kind = Kind("part", "application/json" if head.startswith(b"{") else kind.encoding, "it is in a Zarr store")
    rows, notes = _inside(Opened(entry.path, entry.path, hashed.chunks, entry), kind, head, keys)
    hashed.drain()
    if kind.encoding in _TABLES and head and not rows:
        kind, notes = _as_text(entry, kind, notes)
    yield Seen(FileOf(path, FileFacts(hashed.size, hashed.digest.hexdigest()), kind.encoding), kind, rows, notes)
    if kind.name == "archive":
        yield from _members(entry, path, keys)


def _of_pointer(pointer: PointerFile, path: str) -> Seen:
    """Return the file that a pointer stands for, without its records."""
    plain, codec = split_codec(path.lower())
    suffix = plain[plain.rfind(".") :]
    known = _ROWS.get(suffix) or _TYPES.get(codec) or _TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0]
    kind = Kind("pointer", known or "application/octet-stream", "a pointer of Git LFS has its size and digest")
    note = f"{_NO_RECORDS}: a pointer of Git LFS; run `git lfs pull` for them"
    return Seen(FileOf(path, FileFacts(pointer.size, pointer.sha256), kind.encoding), kind, [], [note])


def _kind(path: str, head: bytes) -> Kind:
    kind = kind_of_file(path, head)
    if not head:
        return Kind("other", kind.encoding, "it is empty")
    if _ABOUT.fullmatch(path.rpartition("/")[2]) and kind.name in ("text", "rows", "other"):
        encoding = kind.encoding if kind.name != "other" else "text/plain"
        return Kind("other", encoding, "a file about the data, by its name")
    return kind


def _inside(opened: Opened, kind: Kind, head: bytes, keys: Keys) -> tuple[list[Rows], list[str]]:
    """Return the rows of a file, if it has any, and notes about them."""
    notes = [kind.doubt] if kind.doubt else ["empty"] if not head else []
    try:
        if kind.name == "rows":
            rows = rows_of(opened, kind.encoding, keys)
            return rows, [*notes, *(note for each in rows for note in each.notes)]
        if kind.name == "text":
            _refuse_binary(opened)
    except (NoRows, NotRead, Broken) as reason:
        said = reason.fault.problem.message if isinstance(reason, Broken) else str(reason)
        return [], [*notes, f"{_NO_RECORDS}: {said}"]
    return [], notes


def _as_text(entry: Entry, kind: Kind, notes: list[str]) -> tuple[Kind, list[str]]:
    """Return a table that readers disagree about as a text, if it is one."""
    _, again = _inside(Opened(entry.path, entry.path, raw(entry), entry), _A_TEXT, b"?", Keys(Path()))
    if again:
        return kind, notes
    return _A_TEXT, [note.replace(_NO_RECORDS, "described as text, not as a table") for note in notes]


def _refuse_binary(opened: Opened) -> None:
    """Raise `NoRows` for a file that is not a text with one value."""
    if split_codec(opened.name)[1] != "plain":
        raise NoRows("some readers take compressed text as it is stored: decompress it, or pack it in a zip or tar")
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = 0
    try:
        for chunk in opened.chunks:
            size += len(chunk)
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise NoRows("not UTF-8") from error
    if size > MAX_CONTENT:
        raise NoRows(f"text of more than {MAX_CONTENT} bytes: split it, or write JSON Lines")


class _Hashed:
    """Chunks that are hashed as they are read; `head` are the first bytes, which are read again."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.size = 0
        self.digest: Any = hashlib.sha256()
        first = b""
        while len(first) < HEAD and (chunk := next(chunks, b"")):
            first += chunk
        self.head = first[:HEAD]
        self.chunks = self._taken(chain([first] if first else [], chunks))

    def _taken(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.size += len(chunk)
            self.digest.update(chunk)
            yield chunk

    def drain(self) -> None:
        """Read the chunks that nobody used."""
        for _ in self.chunks:
            pass


def _members(entry: Entry, container: str, keys: Keys) -> Iterator[Seen]:
    known: set[str] = set()
    try:
        for member in members(entry.open, entry.path):
            if len(known) >= _MOST_MEMBERS:
                yield _archive_note(container, f"more than {_MOST_MEMBERS} members: the others are not described")
                return
            if escapes(member.path) or is_absolute(member.path) or member.path in known:
                why = "occurs twice" if member.path in known else "leads out of the folder it is unpacked in"
                yield _archive_note(container, f"member `{member.path}` {why}")
                continue
            known.add(member.path)
            yield _member(container, member.path, _Hashed(member.chunks), keys)
    except (ArchiveFault, NotRead) as fault:
        yield _archive_note(container, f"the archive does not read to its end: {fault}")


def _archive_note(container: str, note: str) -> Seen:
    return Seen(FileOf("", None, "", container), Kind("", "", ""), [], [note])


def _member(container: str, path: str, content: _Hashed, keys: Keys) -> Seen:
    head = content.head
    kind = _kind(path, head)
    if kind.name == "archive":
        kind = Kind("other", kind.encoding, kind.why, "an archive in an archive is not looked into")
    rows, notes = _inside(Opened(f"{container}/{path}", path, content.chunks), kind, head, keys)
    content.drain()
    return Seen(FileOf(path, None, kind.encoding, container), kind, rows, notes)
