"""Internal: Lists in files of the user: one entry per line, blank lines ignored."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.io.lines import Line, lines
from corpusfmt.io.paths import Entry, open_named, printable, reason_of
from corpusfmt.io.streams import Chunks, DigestReader, StreamFault, codec_of_name
from corpusfmt.model import UsageError

_MOST_ENTRY_BYTES = 16 * 1024
# Memory overhead of an entry, and memory for all entries: about three million paths, or five million URLs.
_ENTRY_BYTES = 60
_MOST_HELD_BYTES = 320 * 1024 * 1024
# The share of a text that counts if it is on disk: it is bounded, too.
_ON_DISK_SHARE = 4


class Entries:
    """The entries of a list, which may be compressed, one by one; `sha256` is that of its file once all are read.

    `what` names the entries in messages. Raises `UsageError` that names the list and the wrong line, also if the caller
    could not keep the entries in memory; `on_disk` is whether it keeps their text on disk.
    """

    def __init__(self, source: str | Entry, what: str, *, on_disk: bool = False) -> None:
        self._source = source
        self._what = what
        self._share = _ON_DISK_SHARE if on_disk else 1
        self.sha256 = ""

    def __iter__(self) -> Iterator[str]:
        source, what, held = self._source, self._what, 0
        path = source.url if isinstance(source, Entry) else source
        shown = printable(path)
        try:
            with source.open() if isinstance(source, Entry) else open_named(source) as file:
                reader = DigestReader(file)
                for line in lines(Chunks(reader, codec_of_name(path), shown), _MOST_ENTRY_BYTES):
                    try:
                        entry = line.data.decode().strip() if isinstance(line, Line) else "\0"
                    except UnicodeDecodeError:
                        entry = "\0"
                    if "\0" in entry:
                        raise UsageError(f"{shown}:{line.line}: not a line of text; expected a list of {what}")
                    if entry:
                        held += len(entry) // self._share + _ENTRY_BYTES
                        if held > _MOST_HELD_BYTES:
                            raise UsageError(
                                f"{shown}:{line.line}: the list of {what} needs more than {_MOST_HELD_BYTES:,} bytes of "
                                "memory: split it"
                            )
                        yield entry
                reader.drain()
        except OSError as error:
            raise UsageError(f"cannot read the list of {what} {shown}: {reason_of(error)}") from error
        except StreamFault as fault:
            raise UsageError(f"cannot read the list of {what} {shown}: {fault.reason}") from fault
        if not held:
            raise UsageError(f"the list of {what} {shown} is empty")
        self.sha256 = reader.sha256
