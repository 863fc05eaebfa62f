"""Internal: The source and target formats of a conversion, and the options that apply to them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from corpusfmt.conversion.options import Options
from corpusfmt.formats import CheckOptions, Format, Plan, Reader, ReadOptions, format_at, named_format
from corpusfmt.formats.columns import format_of_reading, refuse_fields
from corpusfmt.formats.parts import Writer
from corpusfmt.io.compress import COMPRESSION, CompressionName, compression_named
from corpusfmt.io.paths import Entry
from corpusfmt.model import UsageError


class Way(Struct, frozen=True):
    """Source and target format with versions, and `to`, the target's name as given."""

    source: Format
    source_version: str
    reader: Reader
    target: Format
    target_version: str
    writer: Writer[Any]
    to: str

    @property
    def target_name(self) -> str:
        return f"{self.target.name}-{self.target_version}"

    def plan(self, entry: Entry, reading: ReadOptions) -> Plan:
        """Return the shards to read."""
        plan = (self.reader.plan or self.source.plan)(entry, CheckOptions(version=self.source_version, reading=reading))
        if not self.writer.takes_tables:
            plan.refuse_tables(self.to)
        return plan

    def refuse_options(self, options: Options) -> None:
        """Raise `UsageError` for options of another target."""
        if self.writer.with_sets is None and (options.split_attributes or options.language_attributes):
            raise UsageError("only Dolma has attribute sets: remove --split-attributes and --language-attributes")

    def compressor(self, asked: str | None) -> CompressionName:
        """Return the compressor. Raises `UsageError` if the target does not use it."""
        if asked is None:
            return COMPRESSION
        if not self.writer.gzip:
            raise UsageError(f"--compression applies to gzip files, and {self.to} has none: remove it")
        return compression_named(asked)

    def check(self, reading: ReadOptions) -> None:
        """Raise `UsageError` for a choice of what to read that the source does not have."""
        name = self.source.name
        refuse_fields(self.source, reading)
        if reading.no_origin and not (self.reader.has_columns and self.reader.names_fields):
            raise UsageError(f"--no-origin does not apply to {name}: remove it")
        if reading.record_set is not None and self.reader.plan is None:
            raise UsageError(f"{name} has no record sets: remove --record-set or convert a Croissant description")


def way_between(entry: Entry, source_format: str, to: str, reading: ReadOptions) -> Way:
    """Return the way from a path to the target. Raises `UsageError` if there is none, or not with these options."""
    way = way_to(to, *format_at(entry, format_of_reading(entry, source_format, reading)))
    way.check(reading)
    return way


def way_to(to: str, source: Format, version: str) -> Way:
    """Return the way from a format to the target. Raises `UsageError` if there is none."""
    target, target_version = named_format(to, written=True)
    target_version = target_version or target.versions[-1]
    if source.reader is None or target_version not in target.writers:
        raise UsageError(f"{source.name} cannot be converted to {to}; to describe a corpus use `corpusfmt describe`")
    return Way(source, version, source.reader, target, target_version, target.writers[target_version], to)
