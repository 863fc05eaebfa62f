"""Internal: What the first bytes of a file say about its format, for formats that nothing here reads: is it what it
claims to be?
"""

from __future__ import annotations

from corpusfmt.formats.croissant.data.findings import DATA_FORMAT_MISMATCH
from corpusfmt.formats.croissant.model.graph import Resource
from corpusfmt.formats.croissant.model.wording import one_of
from corpusfmt.model import Fault, Location, Problem

#: How many bytes are looked at.
HEAD = 16

_SIGNATURES = (
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/gif", 0, b"GIF8"),
    ("image/bmp", 0, b"BM"),
    ("image/tiff", 0, b"II*\0"),
    ("image/tiff", 0, b"MM\0*"),
    ("image/webp", 8, b"WEBP"),
    ("audio/wav", 8, b"WAVE"),
    ("audio/flac", 0, b"fLaC"),
    ("audio/ogg", 0, b"OggS"),
    ("application/pdf", 0, b"%PDF-"),
)
_KNOWN = {name for name, _, _ in _SIGNATURES}
_OTHER_NAMES = {"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav"}


def signature_fault(view: Resource, path: str, head: bytes, at: Location) -> Fault | None:
    """Return the fault that a file does not start as its encodingFormat does, milder for another format of its kind."""
    claimed = [
        _OTHER_NAMES.get(name, name) for name in (each.partition(";")[0].strip().lower() for each in view.formats)
    ]
    if not claimed or not _KNOWN.issuperset(claimed):
        return None
    found = next((name for name, start, mark in _SIGNATURES if head.startswith(mark, start)), "")
    if found in claimed:
        return None
    what = f"is {found}" if found else "is empty" if not head else "does not start like one"
    message = f"{view.title}: `{path}` {what}, `encodingFormat` is {one_of(view.formats)}"
    same_kind = found.partition("/")[0] in {name.partition("/")[0] for name in claimed}
    return Fault(
        DATA_FORMAT_MISMATCH, Problem(message, at, "correct `encodingFormat`, or replace the file", minor=same_kind)
    )
