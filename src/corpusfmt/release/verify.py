"""Internal: Verify a release against its manifest: hash every file, as fast as possible, and list those to fetch again."""

from __future__ import annotations

import hashlib
import os
import threading
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import available_processors
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.release import Unread, report_unread, unread_because
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, each_ended, now, run_tasks
from corpusfmt.formats.general import within_limits
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import Account, Meter, limited
from corpusfmt.io.paths import (
    Entry,
    before_work,
    digest_in_store,
    entry_of,
    files_in,
    folder_at,
    is_remote,
    nothing_at,
    users_cache,
)
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.stores import redirected_from
from corpusfmt.manifest.claims import check_claims, check_folder
from corpusfmt.manifest.compare import Listing, compare, listing, report_repeated, to_hash
from corpusfmt.manifest.model import NAME, Manifest, by_bytes
from corpusfmt.manifest.read import check_sums, read_manifest
from corpusfmt.manifest.rules import FILE_ADDED, RULES
from corpusfmt.model import Coverage, Report, UsageError
from corpusfmt.options import takes_options
from corpusfmt.release.options import Verifying
from corpusfmt.release.signing import check_signatures, key_at
from corpusfmt.rules import Grading, Judge

_CHUNK = 1024 * 1024


@takes_options(Verifying)
def verify(path: str | Path, asked: Verifying) -> Report:
    """Compare a release, in a folder or a store, with its manifest; every file is read, or with `quick` none.

    A file of whose content a store keeps the SHA-256 is not read: `results` of the report has their number as `by_store`, and
    the paths of the others as `read`.

    `manifest` is a manifest from elsewhere, trusted instead of the one in the release. With `key`, a file with a public key,
    the release and the statements about it must be signed with that key. An interrupted run continues where it stopped:
    unchanged files are not read again. `results` of the report lists the files to fetch again: those that differ from the
    manifest, or from what the owner of `key` signed. `follow_redirects` lets a web server redirect to another.
    Raises `UsageError` if there is no manifest, or for another kind of key.
    """
    started = now()
    limits = asked.limits.begun()
    root = folder_at(str(path), follow_links=asked.follow_redirects) if is_remote(str(path)) else entry_of(str(path))
    if root.kind != "directory":
        raise UsageError(f"{path} is not a folder: name the folder of a release")
    owner = None if asked.key is None else key_at(asked.key)
    judge = Judge(RULES, Grading(), version="", path=NAME)
    coverage = Coverage(sampled=asked.quick)
    report = Report("release", "", judge.tally, coverage, arguments=revision_of(root.url))
    with within_limits(judge, "."), limited(limits.of_own_files):
        found = _manifest(root, asked.manifest, judge, follow_redirects=asked.follow_redirects)
        if found is not None:
            report.format, report.version = found.head.format or "release", found.head.version
            is_whole = _verify(root, found, judge, report, replace(asked, limits=limits))
            claims = check_claims(root, found, judge)
            if owner is not None:
                if is_whole:
                    check_folder(root, claims, judge)
                signed = check_signatures(claims, owner, judge)
                report.results["signed"] = [name for name in signed if name not in claims.wrong]
                wrong = {path for name in signed for path in claims.wrong.get(name, ())}
                report.results["fetch"] = by_bytes(wrong.union(report.results["fetch"]))
    report.arguments |= redirected_from(root.shown)
    coverage.add(judge.coverage)
    report.started, report.finished = started, now()
    return report


def _manifest(root: Entry, named: str | Path | None, judge: Judge, *, follow_redirects: bool) -> Manifest | None:
    if named is not None:
        elsewhere = entry_of(str(named), follow_links=follow_redirects and is_remote(str(named)))
        return read_manifest(elsewhere, judge, elsewhere.name)
    with before_work(root.url):
        entry = root.child(NAME)
    if entry is None:
        said = f"no {NAME} in {root.shown}: name one with --manifest, or write it with `corpusfmt seal`"
        raise nothing_at(root.url, said)
    return read_manifest(entry, judge)


def _verify(root: Entry, manifest: Manifest, judge: Judge, report: Report, asked: Verifying) -> bool:
    """Compare the files with the manifest; return whether the store could list them."""
    found = _listing(root, manifest, quick=asked.quick)
    report.coverage.shards_total = len(manifest.files)
    digests: dict[str, FileFacts] = {}
    unread: dict[str, Unread] = {}
    taken_over = 0
    by_store: set[str] = set()
    if not asked.quick:
        entries = sorted(to_hash(manifest, found), key=lambda each: (-each.size, each.path))
        hashed = known_at(root.url, manifest.head.tree.sha256)
        digests, unread = _hashed(
            entries, hashed, asked.jobs or available_processors(), Meter(asked.limits), asked.progress, by_store
        )
        taken_over = hashed.taken_over
        # A store may report only when a file is read that it is missing.
        if gone := {path for path, why in unread.items() if why.is_missing}:
            unread = {path: why for path, why in unread.items() if path not in gone}
            left = {path: entry for path, entry in found.files.items() if path not in gone}
            found = Listing(left, found.barred, found.is_whole)
    difference = compare(manifest, found, digests, judge)
    report_unread(unread, judge)
    report_repeated(manifest, judge)
    check_sums(manifest, judge)
    if not found.is_whole:
        judge.coverage.skip(".", FILE_ADDED.code, "the store does not list its files")
    report.coverage.shards_seen = 0 if asked.quick else len(manifest.files) - len(unread)
    report.coverage.bytes = sum(facts.size for path, facts in digests.items() if path not in by_store)
    report.results = {
        "tree": msgspec.to_builtins(manifest.head.tree),
        "fetch": by_bytes({*difference.damaged, *difference.missing, *(manifest.files.keys() & unread.keys())}),
        "remove": difference.added,
        "rename": difference.renamed,
    }
    if by_store:
        report.results |= {"by_store": len(by_store), "read": by_bytes(digests.keys() - by_store)}
    if taken_over:
        report.results["resumed"] = taken_over
    return found.is_whole


def _listing(root: Entry, manifest: Manifest, *, quick: bool) -> Listing:
    """Return the files of a release; if a store cannot list them, the files of the manifest that exist."""
    if not root.is_remote:
        return listing(files_in(root))
    try:
        found = listing(files_in(root))
    except (OSError, NotImplementedError):
        found = Listing()
    if any(path in manifest.files or each.name == NAME for path, each in found.files.items()):
        return found
    if quick:
        there = ((path, root.child(path)) for path in manifest.files)
        return Listing({path: each for path, each in there if each is not None}, {}, is_whole=False)
    files = {path: replace(root.unseen(path), size=each.size) for path, each in manifest.files.items()}
    return Listing(files, {}, is_whole=False)


def _hashed(
    entries: Sequence[Entry],
    hashed: Hashed,
    workers: int,
    meter: Meter,
    progress: Callable[[Progress], None] | None,
    by_store: set[str],
) -> tuple[dict[str, FileFacts], dict[str, Unread]]:
    """Hash files in threads, the largest first; return their facts, and the files that cannot be read.

    Those whose digest a store keeps are added to `by_store`, and not read.
    """
    stopped = threading.Event()
    digests: dict[str, FileFacts] = {}
    unread: dict[str, Unread] = {}

    def hash_file(entry: Entry) -> tuple[Entry, FileFacts | Unread]:
        if (known := hashed.facts(entry)) is not None:
            return entry, known
        try:
            kept = digest_in_store(entry)
        except OSError as error:
            return entry, unread_because(error, entry.path)
        if kept is None:
            return entry, _facts_of(entry, stopped)
        by_store.add(entry.path)
        return entry, FileFacts(entry.size, kept)

    with closing(hashed), ShardProgress(progress, array("q", (each.size for each in entries))) as shown:

        def finished(index: int, result: tuple[Entry, FileFacts | Unread] | Died) -> None:
            shown.finished(index, result)
            if isinstance(result, tuple) and isinstance(result[1], FileFacts) and result[0].path not in by_store:
                hashed.note(result[0], result[1])

        results = run_tasks(
            hash_file,
            entries,
            lambda: ThreadPoolExecutor(workers),
            window=workers * RESULTS_WAITING_A_WORKER,
            finished=finished,
            meter=meter,
            gauge=shown.gauge,
        )
        try:
            paths = [entry.path for entry in entries]
            for entry, facts in each_ended(results, paths, meter.limits, lambda _, reason: reason):
                if isinstance(facts, Unread):
                    unread[entry.path] = facts
                else:
                    digests[entry.path] = facts
        finally:
            stopped.set()
        hashed.forget()
    return digests, unread


def _facts_of(entry: Entry, stopped: threading.Event) -> FileFacts | Unread:
    digest = hashlib.sha256()
    account = Account(entry.path)
    buffer = memoryview(bytearray(_CHUNK))
    try:
        with entry.open() as file:
            into = getattr(file, "readinto", None)
            while not stopped.is_set():
                part = memoryview(file.read(_CHUNK)) if into is None else buffer[: into(buffer)]
                if not part:
                    break
                digest.update(part)
                account.add(len(part), len(part))
    except OSError as error:
        return unread_because(error, entry.path)
    return FileFacts(account.read, digest.hexdigest())


class _Known(Struct, frozen=True):
    """A file as it was when it was hashed: `version` changes with each change of it."""

    path: str
    version: str
    size: int
    sha256: str


class Hashed:
    """The files hashed before, and a file that records further ones; nothing is recorded without a place for it."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._file: BinaryIO | None = None
        self._known: dict[str, _Known] = {}
        #: The number of files that an earlier run had hashed.
        self.taken_over = 0
        decode = msgspec.json.Decoder(_Known).decode
        with suppress(OSError), nullcontext(()) if place is None else place.open("rb") as lines:
            for line in lines:
                # The last line may be cut if the run was killed.
                with suppress(msgspec.MsgspecError):
                    known = decode(line)
                    self._known[known.path] = known

    def facts(self, entry: Entry) -> FileFacts | None:
        """Return the recorded facts of a file that has not changed since."""
        known = self._known.get(entry.path)
        if known is None or not known.version or (known.version, known.size) != (entry.version, entry.size):
            return None
        self.taken_over += 1
        return FileFacts(known.size, known.sha256)

    def note(self, entry: Entry, facts: FileFacts) -> None:
        """Record a hashed file for the next run; if that fails, the next run hashes it again."""
        if self._place is None or entry.path in self._known:
            return
        with suppress(OSError):
            if self._file is None:
                self._place.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._place.open("ab")
            known = _Known(entry.path, entry.version, facts.size, facts.sha256)
            self._file.write(msgspec.json.encode(known) + b"\n")
            self._file.flush()

    def forget(self) -> None:
        """Remove the record: the run has ended."""
        self.close()
        if self._place is not None:
            with suppress(OSError):
                self._place.unlink()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def known_at(url: str, tree: str) -> Hashed:
    """Return the record of files at a place that were verified against a tree."""
    cache = users_cache()
    if cache is None:
        return Hashed(None)
    named = url if is_remote(url) else os.path.realpath(url)
    key = hashlib.sha256(f"{named}\0{tree}".encode("utf-8", "surrogateescape")).hexdigest()
    return Hashed(cache / "verify" / f"{key}.jsonl")
