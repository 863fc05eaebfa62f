"""Internal: Checks across parts: OSC111 (lines missing before deduplication), OSC309 (duplicate lines) and OSC602 (duplicate record ids).

Hashes of all lines and ids are in `options.scratch`. Equal hashes are only candidates: their lines are read again before
anything is reported, so a collision never becomes a finding. Candidates come in batches, which bounds memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpusfmt.formats import CheckOptions, Plan, Shard
from corpusfmt.formats.oscar.check import (
    UNREAD,
    Source,
    check,
    line_folder,
    record_folder,
)
from corpusfmt.formats.oscar.headers import RECORD_ID, fingerprint, is_own
from corpusfmt.formats.oscar.layout_rules import NOT_IN_ORIGINAL
from corpusfmt.formats.oscar.parts import OscarPart
from corpusfmt.formats.oscar.records import Unread, read_record
from corpusfmt.formats.oscar.ruleset import RULES, TEXT, Sightings
from corpusfmt.formats.whole import MOST_KEYS, lines_at
from corpusfmt.io.keys import FewKeys, Group, KeyWriter, Many, Place, repeated_in_batches, unmatched
from corpusfmt.io.limits import UNLIMITED, LimitReached, limited
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Location, Problem, Tally
from corpusfmt.rules import Grading, Judge
from corpusfmt.wording import shortened

DUPLICATE_LINE = RULES.finding(
    "OSC309",
    "duplicate-line",
    """A line occurs twice in a language that is declared as deduplicated, by a `_dedup` name or --dedup.

    Why: deduplication did not run, or ran on each part alone.
    Example: the same cookie notice in part 1 and part 7.
    Fix: deduplicate the lines of the whole language; blank lines do not count.
    """,
    spec=TEXT,
)


def finish(plan: Plan, facts: Sequence[FewKeys], judge: Judge, options: CheckOptions) -> None:
    """Check the dataset: duplicate lines in each language, record ids in each release."""
    scratch = options.scratch
    shards = plan.shards
    if scratch is None:
        judge.coverage.gap(".", "OSC309", "no scratch folder to compare lines in")
        judge.coverage.gap(".", "OSC602", "no scratch folder to compare record ids in")
        if any(shard.payload.compared for shard in shards):
            judge.coverage.gap(".", "OSC111", "no scratch folder to compare lines in")
        return
    _write_few(facts, shards, scratch)
    languages = []
    folders: dict[tuple[str, int], Path] = {}
    for shard in shards:
        part: OscarPart = shard.payload
        languages.append(part.language_index)
        if part.dedup and ("lines", part.language_index) not in folders:
            folders["lines", part.language_index] = line_folder(scratch, part)
        if ("records", part.release_index) not in folders:
            folders["records", part.release_index] = record_folder(scratch, part)
    for (kind, _), folder in folders.items():
        if not folder.is_dir():
            continue
        if kind == "lines":
            _judge_lines(folder, shards, judge, options)
        else:
            _judge_records(folder, shards, languages, judge, options)
    _judge_variants(shards, scratch, judge, options)


def _judge_variants(shards: Sequence[Shard], scratch: Path, judge: Judge, options: CheckOptions) -> None:
    """Report the lines of deduplicated languages that the same languages before deduplication lack."""
    deduplicated = {part.language_index: part for part in (shard.payload for shard in shards) if part.original >= 0}
    for part in deduplicated.values():
        own, original = line_folder(scratch, part), scratch / "lines" / str(part.original)
        if (own / UNREAD).exists() or (original / UNREAD).exists():
            judge.coverage.gap(part.name, "OSC111", "a text could not be read to its end")
            continue
        first: dict[int, int] = {}
        counts: Counter[int] = Counter()
        for shard, row in unmatched(own, [original]):
            first[shard] = min(row, first.get(shard, row))
            counts[shard] += 1
        for (shard, _), line, at in _again(_by_shard(first.items()), shards, "text", options):
            message = f"the line `{_line_key(line)[1]}` is not in the variant before deduplication"
            hint = "build both variants again from the same documents, or fetch them again"
            judge.report(NOT_IN_ORIGINAL, Problem(message, at, hint, count=counts[shard]))


def _write_few(facts: Iterable[FewKeys], shards: Sequence[Shard], scratch: Path) -> None:
    """Write the record ids of small shards next to those of others, all of a release at once."""
    writers: dict[int, KeyWriter] = {}
    for each in facts:
        part = shards[each.shard].payload
        if part.release_index not in writers:
            writers[part.release_index] = KeyWriter(record_folder(scratch, part), each.shard, noted=True)
        writers[part.release_index].add_few(each)
    for writer in writers.values():
        writer.close()


def repeats_a_line(text: Path, language: str, scratch: Path) -> bool:
    """Return whether a line occurs twice in a written text; `scratch` is a folder for temporary files."""
    part = OscarPart(language, language, "1.0", dedup=True)
    shard = Shard(0, language, {"text": entry_of(str(text))}, part)
    judge = Judge(RULES, Grading(), version=part.version, path=".")
    with TemporaryDirectory(dir=scratch) as folder, limited(UNLIMITED):
        options = CheckOptions(version=part.version, scratch=Path(folder))
        check(shard, options)
        finish(Plan(part.version, [shard], Tally()), (), judge, options)
    return judge.fired("OSC309")


def _again(
    wanted: Iterable[tuple[int, Iterable[int]]], shards: Sequence[Shard], role: str, options: CheckOptions
) -> Iterator[tuple[Place, bytes, Location]]:
    """Yield the lines of some rows of shards, given in order: each file is read once, up to the last of them."""
    for shard, rows in wanted:
        entry = shards[shard].files[role]
        for row, line, byte in lines_at(Source(entry, options.max_line_bytes).blocks(), rows):
            yield (shard, row), line, Location(entry.path, row + 1, byte)


def _by_shard(places: Iterable[Place]) -> Iterator[tuple[int, list[int]]]:
    for shard, some in groupby(sorted(set(places)), itemgetter(0)):
        yield shard, [row for _, row in some]


def _refuse_many(known: Collection[object], at: Location) -> None:
    if len(known) > MOST_KEYS:
        raise LimitReached("lines or ids were chosen to have equal hashes", "change the lines of this file", at.path)


def _judge_lines(folder: Path, shards: Sequence[Shard], judge: Judge, options: CheckOptions) -> None:
    sightings = Sightings()
    first_of: dict[bytes, Location] = {}
    for batch in repeated_in_batches(folder):
        if not batch.continues:
            first_of.clear()
        for _, line, at in _again(batch.rows_by_shard(), shards, "text", options):
            key, shown = _line_key(line)
            first = first_of.setdefault(key, at)
            _refuse_many(first_of, at)
            if first is not at:
                message = f"the line `{shown}` is repeated, first in {first}"
                sightings.note(DUPLICATE_LINE, Problem(message, at, "keep the first occurrence only"), at.path)
    sightings.report(judge)


def _line_key(line: bytes) -> tuple[bytes, str]:
    """Return a digest that identifies a line, and the line for a message."""
    from hashlib import blake2b  # noqa: PLC0415

    text = line.decode("utf-8", "replace")
    text = text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text[:200])
    return blake2b(line, digest_size=16).digest(), shortened(text, 100, 60, 30)


def _judge_records(
    folder: Path,
    shards: Sequence[Shard],
    languages: Sequence[int],
    judge: Judge,
    options: CheckOptions,
) -> None:
    def are_suspicious(group: Group | Many) -> bool:
        """Return whether records with equal ids are in the same language, or have different headers."""
        return len({languages[shard] for shard, _ in group}) < len(group) or len(set(group.notes)) > 1

    sightings = Sightings()
    # By id, the place of the first record and the hash of its headers; by id and language, also its offset.
    first_of: dict[str, tuple[Place, int]] = {}
    first_in_language: dict[tuple[str, int], tuple[Place, Any, Location]] = {}
    # By path, a record with other headers than the first of its id, that one, and their number.
    other_headers: dict[str, tuple[Place, Place, int]] = {}
    for batch in repeated_in_batches(folder, are_suspicious, noted=True):
        if not batch.continues:  # those that follow have other ids
            first_of.clear()
            first_in_language.clear()
        for place, line, at in _again(batch.rows_by_shard(), shards, "metadata", options):
            headers, offset = _headers_and_offset(line)
            identity, headers_hash = headers.get("warc-record-id", ""), fingerprint(headers)
            key = identity, languages[place[0]]
            twin, offset_of_twin, other = first_in_language.setdefault(key, (place, offset, at))
            first, hash_of_first = first_of.setdefault(identity, (place, headers_hash))
            _refuse_many(first_in_language, at)
            if twin == place:
                if place != first and headers_hash != hash_of_first:
                    known = other_headers.get(at.path, (place, first, 0))
                    other_headers[at.path] = (*min(known[:2], (place, first)), known[2] + 1)
                continue
            is_in_part = twin[0] == place[0]
            if is_in_part and offset == offset_of_twin:
                continue  # OSC502 reports a line that occurs twice in a part
            message = f"the record id `{identity}` is repeated, first in {other}"
            problem = Problem(message, _at_id(at, identity), "remove one of the two", minor=is_in_part)
            sightings.note(RECORD_ID, problem, f"{at.path} {is_in_part}")
    both = (place for pair in other_headers.values() for place in pair[:2])
    found = _again(_by_shard(both), shards, "metadata", options)
    headers_at = {place: (_headers_and_offset(line)[0], at) for place, line, at in found}
    sightings.report(judge)
    for place, first, count in other_headers.values():
        (here, at), (there, other) = headers_at[place], headers_at[first]
        identity = here.get("warc-record-id", "")
        shared = (name for name in here.keys() | there.keys() if not is_own(name))
        differing = sorted(name for name in shared if here.get(name) != there.get(name))
        names = ", ".join(f"`{name}`" for name in differing[:5])
        message = f"the record id `{identity}` has another {names} than in {other}"
        hint = "keep the headers of a record the same in every language"
        judge.report(RECORD_ID, Problem(message, _at_id(at, identity), hint, count=count, minor=True))


def _headers_and_offset(line: bytes) -> tuple[dict[str, str], Any]:
    decoded = read_record(line)
    value = decoded.value if not isinstance(decoded, Unread) and isinstance(decoded.value, dict) else {}
    headers = value.get("headers")
    strings = headers.items() if isinstance(headers, dict) else ()
    return {name.lower(): text for name, text in strings if isinstance(text, str)}, value.get("offset")


def _at_id(at: Location, identity: str) -> Location:
    return Location(at.path, at.line, at.byte, pointer="/headers/warc-record-id", record=identity)
