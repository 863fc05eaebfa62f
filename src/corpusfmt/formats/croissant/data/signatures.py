"""Internal: Signatures: compare the first bytes of a file with its claimed format, for formats that are not read."""

from __future__ import annotations

from corpusfmt.formats.croissant.data.findings import DATA_FORMAT_MISMATCH
from corpusfmt.formats.croissant.model.graph import Resource
from corpusfmt.formats.croissant.model.wording import one_of
from corpusfmt.model import Fault, Location, Problem

#: The number of bytes to compare.
HEAD = 16

_SIGNATURES = (
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/gif", 0, b"GIF8"),
    ("image/bmp", 0, b"BM"),
    ("image/tiff", 0, b"II*\0"),
    ("image/tiff", 0, b"MM\0*"),
    ("image/tiff", 0, b"II+\0"),
    ("image/tiff", 0, b"MM\0+"),
    ("image/webp", 8, b"WEBP"),
    ("audio/wav", 8, b"WAVE"),
    ("audio/flac", 0, b"fLaC"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/aiff", 8, b"AIFF"),
    ("audio/aiff", 8, b"AIFC"),
    ("audio/midi", 0, b"MThd"),
    ("audio/mpeg", 0, b"ID3"),
    *(("audio/mpeg", 0, bytes([0xFF, second])) for second in (0xE2, 0xE3, 0xF2, 0xF3, 0xFA, 0xFB)),
    ("image/jp2", 4, b"jP  \r\n\x87\n"),
    ("image/jxl", 0, b"\xff\x0a"),
    ("image/jxl", 4, b"JXL \r\n\x87\n"),
    ("application/pdf", 0, b"%PDF-"),
)
#: The formats that are known by their first bytes.
SIGNED = {name for name, _, _ in _SIGNATURES}
_OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/mpeg3": "audio/mpeg",
}


def format_of(head: bytes) -> str:
    """Return the format with these first bytes, "" for an unknown one."""
    return next((name for name, start, mark in _SIGNATURES if head.startswith(mark, start)), "")


def signature_fault(view: Resource, path: str, head: bytes, at: Location) -> Fault | None:
    """Return the fault of a file that does not start like its encodingFormat; minor for another format of its kind."""
    claimed = [
        _OTHER_NAMES.get(name, name) for name in (each.partition(";")[0].strip().lower() for each in view.formats)
    ]
    if not claimed or not SIGNED.issuperset(claimed):
        return None
    found = format_of(head)
    if found in claimed:
        return None
    what = f"is `{found}`" if found else "is empty" if not head else "has another signature"
    message = f"{view.title}: `{path}` {what}, `encodingFormat` is {one_of(view.formats)}"
    same_kind = found.partition("/")[0] in {name.partition("/")[0] for name in claimed}
    return Fault(
        DATA_FORMAT_MISMATCH, Problem(message, at, "correct `encodingFormat` or replace the file", minor=same_kind)
    )
