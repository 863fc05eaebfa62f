"""Internal: Check one part: text, metadata and digests in a single pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from corpusfmt.formats import CheckOptions, Shard, ShardResult
from corpusfmt.formats.general import COMPRESSED_MULTI_MEMBER, barred, broken_stream, unreadable, within_limits
from corpusfmt.formats.oscar.alignment import Alignment
from corpusfmt.formats.oscar.checksums import Digest
from corpusfmt.formats.oscar.metadata import MetadataScan
from corpusfmt.formats.oscar.parts import Listing, OscarPart
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.text import TextScan
from corpusfmt.io.keys import KeyWriter
from corpusfmt.io.lines import Block, LongLine, blocks
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, DigestReader, StreamFault
from corpusfmt.model import Coverage, Fault, Location, Problem
from corpusfmt.rules import Judge


class Source:
    """One compressed file, read once: its blocks of lines, and afterwards its faults, size and digest.

    The last, incomplete line of a truncated stream is dropped.
    """

    def __init__(self, entry: Entry, max_line_bytes: int) -> None:
        self._entry = entry
        self._limit = max_line_bytes
        self.at = Location(entry.path)
        self.barred: Fault | None = None
        self.fault: StreamFault | None = None
        self.members = 0
        self.sha256: str | None = None
        self.bytes = 0

    @property
    def whole(self) -> bool:
        """Whether the whole file could be read."""
        return self.barred is None and not self.cut

    @property
    def cut(self) -> bool:
        return self.fault is not None and self.fault.is_broken

    def blocks(self) -> Iterator[Block | LongLine]:
        """Yield the lines of the file; never raises for a faulty file."""
        if self._entry.kind != "file":
            self.barred = barred(self._entry, self.at) if self._entry.is_barred else unreadable(self.at, "not a file")
            return
        try:
            with self._entry.open() as file:
                digest = DigestReader(file)
                chunks = Chunks(digest, "gzip", self._entry.path, size=self._entry.size)
                try:
                    yield from blocks(chunks, self._limit)
                except StreamFault as fault:
                    self.fault = fault
                self.members, self.bytes, self.sha256 = chunks.members, chunks.bytes, digest.sha256
        except OSError as error:
            self.barred = barred(error, self.at)

    def judge(self, judge: Judge) -> None:
        """Report faults of the file after reading it."""
        if self.barred is not None:
            judge.report(*self.barred)
        elif self.fault is not None:
            judge.report(*broken_stream(self.at, self.fault))
        elif self.members > 1:
            message = f"{self.members:,} gzip members, expected one"
            problem = Problem(message, self.at, "compress the content again as one member")
            judge.report(COMPRESSED_MULTI_MEMBER, problem)


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check one part; data for comparison with other parts goes to `options.scratch`, that of a small one is returned."""
    part: OscarPart = shard.payload
    scratch = options.scratch
    judge = Judge(RULES, options.grading, version=part.version, path=shard.name, cap=options.max_per_rule)
    if "other" in shard.files:
        _check_listed_file(shard, part, judge)
        return ShardResult(judge.tally, judge.coverage)
    records = None
    if scratch is not None and "metadata" in shard.files and part.version != "1.0":
        # Of each record id, the hash of all headers is noted.
        records = KeyWriter(record_folder(scratch, part), shard.index, noted=True)
    with within_limits(judge, shard.name), ExitStack() as stack:
        keys = None
        if (part.dedup or part.compared) and scratch is not None and "text" in shard.files:
            keys = stack.enter_context(closing(KeyWriter(line_folder(scratch, part), shard.index)))
        sources = {role: Source(entry, options.max_line_bytes) for role, entry in shard.files.items()}
        paths = {role: shard.files[role].path if role in shard.files else "" for role in ("text", "metadata")}
        limit = options.max_line_bytes
        text = TextScan(paths["text"], part.version, judge, limit, keys, keeps_documents=len(sources) > 1)
        collect = None if records is None else records.extend
        metadata = MetadataScan(paths["metadata"], part.language, judge, limit, collect)
        alignment = Alignment(metadata.rows, text.documents, text.odd_lines, paths["metadata"])
        _read_in_step(sources, text, metadata, alignment)
        alignment.finish(judge)
        metadata.finish()
        for source in sources.values():
            if source.cut:
                # Damage may decode to wrong text before it is detected, so no finding in the file can be trusted.
                judge.retract(source.at.path, "the file is corrupt")
            source.judge(judge)
            if len(sources) == 2 and not source.whole:
                for code in ("OSC501", "OSC502", "OSC503", "OSC504", "OSC505", "OSC605"):
                    judge.coverage.skip(source.at.path, code, "the file is truncated")
        if part.compared and scratch is not None and "text" in sources and not sources["text"].whole:
            place = line_folder(scratch, part) / UNREAD
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b".")  # a part of a run has no empty files
        if part.listing is not None:
            _check_digests(shard, part.listing, sources, judge)
        size = sum(source.bytes for source in sources.values())
        judge.coverage.add(Coverage(documents=text.filled if part.shuffled else text.found, bytes=size))
    return ShardResult(judge.tally, judge.coverage, records.finish() if records is not None else None)


def _check_digests(shard: Shard, listing: Listing, sources: dict[str, Source], judge: Judge) -> None:
    for role, source in sources.items():
        listed = listing.digests.get(role, ())
        if source.sha256 is None:
            continue
        if source.fault is not None:
            judge.coverage.skip(source.at.path, "OSC205", "the file is corrupt")
        elif listed or (listing.complete and source.sha256 not in listing.orphans):
            judge.check(Digest(source.at, shard.files[role].name, listed, source.sha256, listing.path))


def _read_in_step(sources: dict[str, Source], text: TextScan, metadata: MetadataScan, alignment: Alignment) -> None:
    """Feed both scans, always the one that is behind, so that neither side accumulates in memory."""
    texts = sources["text"].blocks() if "text" in sources else iter(())
    records = sources["metadata"].blocks() if "metadata" in sources else iter(())
    text_ended, metadata_ended = "text" not in sources, "metadata" not in sources
    while not (text_ended and metadata_ended):
        if not text_ended and (metadata_ended or len(text.documents) <= len(metadata.rows)):
            if (block := next(texts, None)) is not None:
                text.feed(block)
            else:
                text_ended = True
                text.finish(whole=sources["text"].whole)
        elif (block := next(records, None)) is not None:
            metadata.feed(block)
        else:
            metadata_ended = True
        if "text" not in sources:
            alignment.follow(metadata_ended=metadata_ended)
        elif len(sources) == 2 and all(source.whole for source in sources.values()):
            alignment.advance(text_ended=text_ended, metadata_ended=metadata_ended)
        else:
            text.documents.drop(len(text.documents))
            metadata.rows.drop(len(metadata.rows))


def _check_listed_file(shard: Shard, part: OscarPart, judge: Judge) -> None:
    """Check the digest of a listed file that is not a data file."""
    entry = shard.files["other"]
    try:
        with entry.open() as file:
            digest = DigestReader(file)
            digest.drain()
    except OSError as error:
        judge.report(*barred(error, Location(entry.path)))
        return
    judge.coverage.bytes += digest.size
    if part.listing is not None:
        listed = part.listing.digests["other"]
        judge.check(Digest(Location(entry.path), entry.name, listed, digest.sha256, part.listing.path))


#: The file, next to hashes of lines, that says that a text could not be read to its end.
UNREAD = "unread"


def line_folder(scratch: Path, part: OscarPart) -> Path:
    """Return the folder for the hashes of a language's lines."""
    return scratch / "lines" / str(part.language_index)


def record_folder(scratch: Path, part: OscarPart) -> Path:
    """Return the folder for the hashes of a release's record ids."""
    return scratch / "records" / str(part.release_index)
