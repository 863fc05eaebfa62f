"""Internal: From which format to which: what reads, what writes, and which options they can take."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from corpusfmt.conversion.options import Options
from corpusfmt.formats import CheckOptions, Format, Plan, Reader, ReadOptions, detect, named_format
from corpusfmt.formats.parts import Writer
from corpusfmt.io.compress import COMPRESSION, CompressionName, compression_named
from corpusfmt.io.paths import Entry
from corpusfmt.model import UsageError


class Way(Struct, frozen=True):
    """Two formats, each with its version, and `to`, as the target was asked for."""

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
        return (self.reader.plan or self.source.plan)(entry, CheckOptions(version=self.source_version, reading=reading))

    def size(self, part_bytes: int | None, shard_bytes: int | None, options: Options) -> int | None:
        """Return the size that is asked for, of what the target has. Raises `UsageError` for options of another target."""
        if self.writer.by_language and shard_bytes is not None:
            raise UsageError("--shard-size is for targets of rows; for OSCAR use --part-size")
        if not self.writer.by_language and part_bytes is not None:
            raise UsageError("--part-size is for OSCAR; for targets of rows use --shard-size")
        if self.writer.with_sets is None and (options.splits or options.language_set):
            raise UsageError("only Dolma has attribute sets: leave out --split-attributes and --language-attributes")
        return part_bytes if self.writer.by_language else shard_bytes

    def compressor(self, asked: str | None) -> CompressionName:
        """Return what compresses. Raises `UsageError` where nothing is compressed by it."""
        if asked is None:
            return COMPRESSION
        if not self.writer.gzip:
            raise UsageError(
                f"--compression chooses the compressor of gzip files, and {self.to} has none: leave it out"
            )
        return compression_named(asked)

    def reading(self, record_set: str | None, text_field: str | None, id_field: str | None) -> ReadOptions:
        """Return what is to be read. Raises `UsageError` where the source has no choice."""
        name = self.source.name
        if (text_field, id_field) != (None, None) and not self.reader.names_fields:
            raise UsageError(f"the fields of {name} have names of their own: leave out --text-field and --id-field")
        if record_set is not None and self.reader.plan is None:
            raise UsageError(f"{name} has no record sets: leave out --record-set, or name a description as the source")
        return ReadOptions(record_set, text_field, id_field)


def way_between(entry: Entry, source_format: str, target: Format, target_version: str, to: str) -> Way:
    """Return the way from what lies at a path. Raises `UsageError` where there is none."""
    if source_format == "auto":
        source, found = detect(entry)
        version = found.version
    else:
        source, version = named_format(source_format)
        detection = source.detect(entry)
        version = version or (detection.version if detection else "")
    if source.reader is None or target_version not in target.writers:
        raise UsageError(f"{source.name} cannot be converted to {to}; to describe a corpus use `corpusfmt describe`")
    return Way(source, version, source.reader, target, target_version, target.writers[target_version], to)
