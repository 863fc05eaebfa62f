"""Internal: A corpus whose documents are read: its format, its shards, and how to read them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from corpusfmt.conversion.layout import in_order, language_of, name_of, refuse_incomplete
from corpusfmt.formats import (
    CheckOptions,
    Format,
    Plan,
    Reader,
    ReadOptions,
    Shard,
    format_at,
    refuse_barred,
)
from corpusfmt.formats.columns import format_of_reading
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.model import UsageError


class Corpus(Struct, frozen=True):
    """A corpus that has documents, and its shards by stem and part."""

    entry: Entry
    format: Format
    reader: Reader
    plan: Plan
    shards: Sequence[Shard]
    reading: ReadOptions

    @property
    def options(self) -> CheckOptions:
        """The options for reading its shards."""
        return CheckOptions(version=self.plan.version, reading=self.reading)

    def language_of(self, shard: Shard) -> str | None:
        """Return the language of all documents of a shard, if the layout of the format determines it."""
        writer = self.format.writers.get(self.plan.version)
        return language_of(name_of(shard)) if writer is not None and writer.by_language else None


def corpus_at(
    path: str, format_name: str, reading: ReadOptions, *, to: str, stops: bool, or_else: str, follow_links: bool
) -> Corpus:
    """Return a corpus with its shards. Raises `UsageError` or `BadInput` if its documents cannot be read.

    `to` is what is done with the documents, for messages; `stops` and `or_else` are those of `refuse_incomplete`.
    """
    entry = entry_of(path, follow_links=follow_links)
    refuse_barred(entry)
    fmt, version = format_at(entry, format_of_reading(entry, format_name, reading))
    reader = fmt.reader
    if reader is None:
        raise UsageError(f"{fmt.name} has no documents to {to}: {path}")
    if reader.plan is None and not reader.names_fields:
        reading = ReadOptions()
    plan = (reader.plan or fmt.plan)(entry, CheckOptions(version=version, reading=reading))
    plan.refuse_unread()
    refuse_incomplete(reader, plan, stops=stops, or_else=or_else)
    if not plan.shards:
        raise UsageError(f"nothing to {to}: no {fmt.name} data found in {path}")
    return Corpus(entry, fmt, reader, plan, in_order(plan.shards), reading)
