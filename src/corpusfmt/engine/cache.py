"""Internal: What checks of shards gave, kept in the user's cache, so that shards that have not changed are not checked again.

An entry is named for everything that a check depends on but the bytes of its files: code, libraries, options, names. It has the
digests of the files as the check read them, and counts only as long as these are the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from corpusfmt._resources import resource
from corpusfmt._version import VERSION
from corpusfmt.engine.parts import Result, digest_of_rules, record_of
from corpusfmt.formats import CheckOptions, Format, Shard, ShardResult, formats
from corpusfmt.formats.columns import load_columns
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import PARTIAL_PREFIX
from corpusfmt.io.streams import facts_of
from corpusfmt.model import INCOMPLETE_CODES, UsageError
from corpusfmt.report.machine import dumped

#: Most bytes of all entries; the least recently used ones are removed.
MOST_BYTES = 500_000_000
_MOST_BYTES_OF_AN_ENTRY = 64 << 20
_SUFFIX = ".result"
# No run takes as long to write an entry.
_SECONDS_OF_WRITING = 86_400


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry: the files by role, and what the check gave and left in the scratch folder."""

    files: dict[str, FileFacts]
    result: Result
    scratch: dict[str, str]


class Cache(Struct, frozen=True):
    """A folder of entries; crosses processes. Nothing is kept of a run over less than `least` bytes.

    If it `is_asked` for, there is an error if there can be none. `about` is a digest of what all entries of a run have in common.
    """

    folder: Path
    least: int
    is_asked: bool = False
    about: str = ""

    def for_run(self, fmt: Format, shards: Iterable[Shard], options: CheckOptions, engine: str | None) -> Cache | None:
        """Return the cache for shards that are checked with these options, None if none of them can be kept.

        Raises `UsageError`.
        """
        is_here = engine in {None, "serial", "processes"}
        # With a cache, a run would read less, and come to another end.
        is_counted = options.limits.total_bytes is not None
        if not is_here or is_counted or not fmt.reads_only_its_files:
            return None
        sizes = [shard.size for shard in shards if _can_be_kept(shard)]
        if not sizes or sum(sizes) < self.least:
            return None
        if fmt.name not in formats():  # asked last: it imports all formats
            return None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            code = _digest_of_code()
        except OSError as error:
            if self.is_asked:
                raise UsageError(f"--cache: {error}") from error
            return None
        columns = options.reading.columns
        common = replace(
            options,
            grading=replace(options.grading, known={}),
            scratch=None,
            blocklist=None,
            limits=replace(options.limits, ends=None),
            maps={},
        )
        profile = None if columns is None else load_columns(columns).digest
        rules = digest_of_rules(fmt, options)
        about = dumped([VERSION, code, _libraries(), fmt.name, rules, profile, to_builtins(common)])
        return replace(self, about=hashlib.sha256(about.encode()).hexdigest())

    def checked(
        self, fmt: Format, shard: Shard, options: CheckOptions, check: Callable[[CheckOptions], ShardResult]
    ) -> ShardResult:
        """Return what an earlier check of the same bytes gave, or else what `check` gives, which is kept."""
        scratch = options.scratch
        assert scratch is not None
        if not _can_be_kept(shard):
            return check(options)
        known = sorted([*key, count] for key, count in options.grading.known.items())
        name = hashlib.sha256(dumped([self.about, known, to_builtins(shard, enc_hook=str)]).encode()).hexdigest()
        place = self.folder / f"{name}{_SUFFIX}"
        with suppress(OSError, ValueError):  # there is none, or a crash cut it off
            entry = convert(json.loads(place.read_bytes()), _Entry)
            if {role: facts_of(file) for role, file in shard.files.items()} == entry.files:
                os.utime(place)
                for path, data in entry.scratch.items():
                    target = scratch / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(base64.b64decode(data))
                return entry.result.result(fmt)
        before = {role: file.version for role, file in shard.files.items()}
        # What the check leaves there is moved when it is known to be this shard's.
        with tempfile.TemporaryDirectory(dir=scratch.parent, prefix="corpusfmt-") as folder:
            own = Path(folder)
            result = check(replace(options, scratch=own))
            left = {path.relative_to(own).as_posix(): path for path in sorted(own.rglob("*")) if path.is_file()}
            counted = {code for code, _, _ in result.tally.counts}
            is_whole = not result.coverage.gaps and counted.isdisjoint(INCOMPLETE_CODES)
            if is_whole and sum(path.stat().st_size for path in left.values()) <= _MOST_BYTES_OF_AN_ENTRY // 2:
                with suppress(OSError):
                    files = {role: result.read.get(file.url) or facts_of(file) for role, file in shard.files.items()}
                    scratched = {path: base64.b64encode(file.read_bytes()).decode() for path, file in left.items()}
                    record = {
                        "files": files,
                        "result": record_of(fmt, result),
                        "scratch": scratched,
                    }
                    entry_data = dumped(to_builtins(record)).encode()
                    is_unchanged = all(file.version == before[role] for role, file in shard.files.items())
                    if is_unchanged and len(entry_data) <= _MOST_BYTES_OF_AN_ENTRY:
                        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=PARTIAL_PREFIX, delete=False) as new:
                            new.write(entry_data)
                        Path(new.name).replace(place)
            for path, file in left.items():
                target = scratch / path
                target.parent.mkdir(parents=True, exist_ok=True)
                file.replace(target)
        return result

    def trim(self) -> None:
        """Remove the least recently used entries if all together are too large, and what killed runs left."""
        entries = []
        with suppress(OSError), os.scandir(self.folder) as found:
            for each in found:
                status = each.stat(follow_symlinks=False)
                if each.name.startswith(PARTIAL_PREFIX) and status.st_mtime < time.time() - _SECONDS_OF_WRITING:
                    os.unlink(each.path)  # noqa: PTH108
                elif each.name.endswith(_SUFFIX):
                    entries.append((status.st_mtime_ns, status.st_size, each.path))
        left = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if left <= MOST_BYTES:
                break
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108
            left -= size


def _can_be_kept(shard: Shard) -> bool:
    """Return whether what the check of a shard gives depends on nothing but local files."""
    return bool(shard.files) and not any(each.is_remote or each.is_barred for each in shard.files.values())


@cache
def _digest_of_code() -> str:
    """Return a digest of this package, its native kernels, and the data that it ships. Raises `OSError`."""
    found = hashlib.sha256()
    for folder in (Path(__file__).parents[1], resource("schemas", "")):
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts):
            found.update(dumped([str(path.relative_to(folder)), path.stat().st_size]).encode())
            found.update(path.read_bytes())
    return found.hexdigest()


@cache
def _libraries() -> list[str]:
    """Return the versions of Python and all libraries."""
    from corpusfmt.engine.installed import requirements, version_of  # noqa: PLC0415 - slow to import, and small runs keep nothing

    versions = {name: version_of(name) for name, _ in requirements()}
    return [
        sys.version,
        platform.machine(),
        zlib.ZLIB_RUNTIME_VERSION,
        *(f"{name} {versions[name]}" for name in sorted(versions)),
    ]
