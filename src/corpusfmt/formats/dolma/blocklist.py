"""Internal: Documents that must not be in a release: takedown requests, evaluation sets, manual inspection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.io.lines import LongLine, lines
from corpusfmt.io.paths import open_named, reason_of
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import UsageError


class Blocklist(Struct, frozen=True):
    """Ids, and (source, id) pairs as `source<TAB>id`."""

    ids: frozenset[str]
    keys: frozenset[str]

    def entry_for(self, source: str | None, document_id: str) -> str | None:
        """Return the entry that lists a document, if any does."""
        key = key_of(source, document_id)
        if key in self.keys:
            return key
        return document_id if document_id in self.ids else None

    def misses(self, ids: Sequence[str], keys: Sequence[str]) -> bool:
        """Return whether none of these documents is listed."""
        return self.ids.isdisjoint(ids) and self.keys.isdisjoint(keys)


BLOCKLISTED_DOCUMENT = RULES.finding(
    "DOL314",
    "blocklisted-document",
    """A document that the blocklist names is in the dataset.

    Why: ids are stable so that documents can be removed from every version: takedown requests, evaluation data.
    Example: the list has `c4<TAB>123`, and a row has the source `c4` and the id `123`.
    Fix: remove the document and its attributes rows.
    """,
    spec="dolma-data-format#id-field",
)


def key_of(source: str | None, document_id: str) -> str:
    """Return the identity of a document in a dataset, as the blocklist writes it."""
    return f"{source or ''}\t{document_id}"


# The memory of an entry of a set beyond its text, and the limit for all: some two million ids.
_ENTRY_BYTES = 120
_MOST_HELD_BYTES = 256 * 1024 * 1024


@lru_cache(maxsize=1)
def load_blocklist(path: str) -> Blocklist:
    """Read a blocklist, one entry a line, blank lines ignored. Raises `UsageError` if it is not one."""
    ids: set[str] = set()
    keys: set[str] = set()
    held = 0
    try:
        with open_named(path) as file:
            for line in lines(Chunks(file, codec_of_name(path), path)):
                if isinstance(line, LongLine):
                    raise UsageError(f"blocklist {path}: line {line.line} is too long")
                entry = line.data.decode("utf-8").removesuffix("\r")
                if entry:
                    held += len(entry) + _ENTRY_BYTES
                    if held > _MOST_HELD_BYTES:
                        raise UsageError(
                            f"blocklist {path}: more than {line.line - 1} entries, which is all there is memory for; "
                            "split it, and validate with each part"
                        )
                    (keys if "\t" in entry else ids).add(entry)
    except OSError as error:
        raise UsageError(f"blocklist {path} cannot be read: {reason_of(error)}") from error
    except (UnicodeDecodeError, StreamFault) as error:
        raise UsageError(f"blocklist {path} is broken: {error}") from error
    return Blocklist(frozenset(ids), frozenset(keys))
