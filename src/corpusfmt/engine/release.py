"""Internal: A release while it is validated: its manifest, digests of files that were read, and of those that were not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, each_ended, run_tasks
from corpusfmt.engine.sharing import WHOLE, Whole
from corpusfmt.formats import Format, Shard, ShardResult
from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, UNREADABLE, barred
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import Meter
from corpusfmt.io.paths import Entry, walk
from corpusfmt.io.streams import facts_of
from corpusfmt.manifest.beside import Known, check_records, named_digests, role_of_record
from corpusfmt.manifest.claims import check_claims
from corpusfmt.manifest.compare import Listing, compare, listing, report_repeated, to_hash
from corpusfmt.manifest.model import NAME, ListedFile, Manifest
from corpusfmt.manifest.read import check_sums, read_manifest
from corpusfmt.manifest.rules import DOCUMENTS_MISCOUNTED
from corpusfmt.model import Location, Problem, Severity, Tally
from corpusfmt.rules import Judge

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: What formats call the rule on files that differ from a checksum list.
_CHECKSUM_RULE = "checksum-mismatch"


class Unread(Struct, frozen=True):
    """Why a file was not hashed: crosses processes, as the finding's type does not."""

    code: str
    problem: Problem
    is_missing: bool = False


class CheckedRelease(Struct):
    """A folder that is validated, with its manifest if there is one, and what the checks of its shards report about its files.

    `records` are the files that say something of the others, and `named` those whose digests they say, unless a manifest does.
    `paths` are those of the files, by URL, `read` what is known of the files that were read, by path. `documents` has the number of documents
    of each shard without errors, by its first file.
    """

    root: Entry
    found: Listing
    manifest: Manifest | None
    records: Sequence[Entry] = ()
    named: Collection[str] | None = None
    paths: Mapping[str, str] = {}
    read: dict[str, FileFacts] = {}
    documents: dict[str, int | None] = {}

    @property
    def needs_digests(self) -> bool:
        """Whether checks of shards should hash what they read."""
        return self.named is None or bool(self.named)

    def take(self, shard: Shard, result: ShardResult) -> None:
        """Store what the check of a shard read."""
        for url, facts in result.read.items():
            if (path := self.paths.get(url)) is not None:
                listed = self.manifest.files.get(path) if self.manifest else None
                is_intact = listed is not None and (listed.size, listed.sha256) == (facts.size, facts.sha256)
                # Together with the manifest, the same digest takes half the memory of an equal one.
                self.read[path] = FileFacts(listed.size, listed.sha256) if listed and is_intact else facts
        first = next(iter(shard.files.values()), None)
        if first is not None:
            has_errors = any(severity is Severity.ERROR for _, severity, _ in result.tally.counts)
            self.documents[first.path] = None if has_errors else result.coverage.documents


def release_at(
    root: Entry, fmt: Format, shards: Iterable[Shard], judge: Judge, *, sealing: bool, data: bool
) -> CheckedRelease:
    """Return a folder with its manifest, unless it gets one, and with the files that say something of the others.

    With `data`, and where there is nothing but a description, that is checked against the data elsewhere.
    """
    # First, because parsing takes as much memory as all that follows.
    manifest = read_manifest(entry, judge) if not sealing and (entry := root.child(NAME)) else None
    found = listing(walk(root), {entry.path: entry for shard in shards for entry in shard.files.values()})
    paths = {entry.url: path for path, entry in found.files.items()}
    if sealing:
        return CheckedRelease(root, found, None, paths=paths)
    leaves_out = {"croissant"} if data or fmt.descriptions is not None else set()
    records = [each for each in found.files.values() if role_of_record(each) not in {"", *leaves_out}]
    named: set[str] | None = None
    if manifest is None:
        named = named_digests(each for each in records if not fmt.judges_list(each.path))
    return CheckedRelease(root, found, manifest, records, named, paths)


def hash_unread(
    release: CheckedRelease,
    open_executor: Callable[[], Executor | None],
    workers: int,
    meter: Meter,
    unseen: Collection[str],
    part: Whole = WHOLE,
) -> dict[str, Unread]:
    """Hash the files that no check read to the end, except `unseen`; return those that cannot be read.

    With a `part`, its share of them is hashed and written, or those are left out that parts know.
    """
    manifest = release.manifest
    release.read |= part.hashed
    wanted: Iterable[Entry] = release.found.files.values()
    if manifest is not None:
        wanted = to_hash(manifest, release.found)
    elif release.named is not None:
        wanted = (each for path, each in release.found.files.items() if path in release.named)
    left = [each for each in wanted if each.path not in release.read and each.path not in unseen]
    unread = {}
    for path, facts in hashed([left[place] for place in part.files_here(left)], open_executor, workers, meter):
        if isinstance(facts, FileFacts):
            release.read[path] = facts
            part.note(facts, path)
        else:
            unread[path] = facts
    return unread


def hashed(
    entries: Sequence[Entry], open_executor: Callable[[], Executor | None], workers: int, meter: Meter
) -> Iterable[tuple[str, FileFacts | Unread]]:
    """Yield the path of each file with its facts, or why there are none."""
    if not entries:
        return
    opener = (lambda: None) if sum(each.size for each in entries) < SMALL else open_executor
    results = run_tasks(_facts_or_why_not, entries, opener, window=workers * RESULTS_WAITING_A_WORKER, meter=meter)
    paths = [entry.path for entry in entries]
    yield from zip(
        paths,
        each_ended(
            results, paths, meter.limits, lambda path, reason: f"{path}: the worker that hashed it died ({reason})"
        ),
        strict=True,
    )


#: Reading less than this takes less time than starting workers.
SMALL = 64 * 1024 * 1024


def _facts_or_why_not(entry: Entry) -> FileFacts | Unread:
    try:
        return facts_of(entry)
    except OSError as error:
        return unread_because(error, entry.path)


def unread_because(error: OSError, path: str) -> Unread:
    """Return why a file was not hashed."""
    fault = barred(error, Location(path))
    return Unread(fault.type.code, fault.problem, isinstance(error, FileNotFoundError))


def report_unread(unread: Mapping[str, Unread], judge: Judge) -> None:
    """Report the files that could not be read."""
    types = {each.code: each for each in (UNREADABLE, LINK_OUTSIDE_ROOT)}
    for _, each in sorted(unread.items()):
        judge.report(types[each.code], each.problem)


def judge_release(
    release: CheckedRelease, fmt: Format, version: str, judge: Judge, tally: Tally, unread: Mapping[str, Unread]
) -> None:
    """Report the differences between a release and its manifest; `tally` has the earlier findings about its files."""
    manifest = release.manifest
    assert manifest is not None
    codes = {"GEN001", "GEN002", *(rule.code for rule in fmt.rules if rule.slug == _CHECKSUM_RULE)}
    reported = {path for code, _, path in tally.counts if code in codes}
    difference = compare(manifest, release.found, release.read, judge, reported.__contains__)
    report_unread({path: each for path, each in unread.items() if path not in reported}, judge)
    touched = {*difference.damaged, *unread}
    intact = {
        path: entry for path, entry in release.found.files.items() if path in manifest.files and path not in touched
    }
    for path, count in release.documents.items():
        listed = manifest.files.get(path)
        expected = None if listed is None else listed.documents
        is_wrong = count is not None and expected is not None and count != expected
        if is_wrong and path in release.found.files and path not in touched:
            message = f"{count:,} documents, the manifest says {expected:,}"
            judge.report(DOCUMENTS_MISCOUNTED, Problem(message, Location(path), "seal the release again"))
    check_sums(manifest, judge)
    judge_entries(manifest, intact, release.read, fmt, version, judge)
    check_claims(release.root, manifest, judge)


def judge_entries(
    manifest: Manifest, intact: Mapping[str, Entry], read: Collection[str], fmt: Format, version: str, judge: Judge
) -> None:
    """Report what the entries of a manifest show, and where other intact records of the release contradict it.

    `read` has the paths of the files that this run has read.
    """
    report_repeated(manifest, judge)
    if not manifest.unusable:
        records = (entry for entry in intact.values() if not fmt.judges_list(entry.path))
        check_records(Known(manifest.files, intact, read), records, judge, fmt.describers.get(version))


def judge_unsealed(
    release: CheckedRelease, fmt: Format, version: str, judge: Judge, unread: Mapping[str, Unread], *, loading: bool
) -> None:
    """Report where the records of a folder without a manifest contradict its files; with `loading`, others judge the card."""
    report_unread(unread, judge)
    is_counted = fmt.descriptions is None and None not in release.documents.values()
    counts = release.documents if is_counted else {}
    files = {
        path: ListedFile(entry.size, facts.sha256 if facts else "", documents=counts.get(path))
        for path, entry in release.found.files.items()
        for facts in [release.read.get(path)]
    }
    describer = fmt.describers.get(version)
    others = {"card"} if loading else ()
    records = (
        entry
        for entry in release.records
        if entry.path not in unread and role_of_record(entry) not in others and not fmt.judges_list(entry.path)
    )
    check_records(Known(files, release.found.files, release.read, sealed=False), records, judge, describer)
