"""Internal: Lists in files of the user: one entry per line, blank lines ignored."""

from __future__ import annotations

from corpusfmt.io.lines import Line, lines
from corpusfmt.io.paths import Entry, open_named, printable, reason_of
from corpusfmt.io.streams import Chunks, DigestReader, StreamFault, codec_of_name
from corpusfmt.model import UsageError

_MOST_ENTRY_BYTES = 16 * 1024
# Memory overhead of an entry, and memory for all entries: about three million paths or URLs.
_ENTRY_BYTES = 60
_MOST_HELD_BYTES = 320 * 1024 * 1024


def entries_of(source: str | Entry, what: str) -> tuple[list[str], str]:
    """Return the entries of a list, which may be compressed, and the SHA-256 of its file.

    `what` names the entries in messages. Raises `UsageError` that names the list and the wrong line.
    """
    found: list[str] = []
    held = 0
    path = source.url if isinstance(source, Entry) else source
    shown = printable(path)
    try:
        with source.open() if isinstance(source, Entry) else open_named(source) as file:
            reader = DigestReader(file)
            for line in lines(Chunks(reader, codec_of_name(path), shown), _MOST_ENTRY_BYTES):
                entry = _text(line.data) if isinstance(line, Line) else None
                if entry is None:
                    raise UsageError(f"{shown}:{line.line}: not a line of text; expected a list of {what}")
                if entry:
                    held += len(entry) + _ENTRY_BYTES
                    if held > _MOST_HELD_BYTES:
                        raise UsageError(
                            f"{shown}:{line.line}: the list of {what} needs more than {_MOST_HELD_BYTES:,} bytes of "
                            "memory: split it"
                        )
                    found.append(entry)
            reader.drain()
    except OSError as error:
        raise UsageError(f"cannot read the list of {what} {shown}: {reason_of(error)}") from error
    except StreamFault as fault:
        raise UsageError(f"cannot read the list of {what} {shown}: {fault.reason}") from fault
    if not found:
        raise UsageError(f"the list of {what} {shown} is empty")
    return found, reader.sha256


def _text(data: bytes) -> str | None:
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
