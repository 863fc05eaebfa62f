"""Internal: The kind of a file, by its name and its first bytes."""

from __future__ import annotations

import mimetypes

from msgspec import Struct

from corpusfmt.formats.croissant.data.archives import is_archive
from corpusfmt.formats.croissant.data.files import split_codec
from corpusfmt.formats.croissant.data.signatures import SIGNED, format_of

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
_TEXTS = (".txt", ".text", ".md", ".markdown", ".rst", ".log", ".tex", ".srt", ".vtt")
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
        if is_archive(head):
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
