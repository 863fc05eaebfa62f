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
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from corpusfmt._resources import resource
from corpusfmt._version import VERSION
from corpusfmt.engine.installed import requirements, version_of
from corpusfmt.engine.keeping import Cache, can_be_kept
from corpusfmt.engine.parts import Result, digest_of_rules, record_of
from corpusfmt.formats import CheckOptions, Format, Shard, ShardResult
from corpusfmt.formats.columns import load_columns
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.digests import facts_of
from corpusfmt.io.looking import Looked
from corpusfmt.io.paths import PARTIAL_PREFIX
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
    looked: dict[str, Looked]
    scratch: dict[str, str]


def kept(cache: Cache, fmt: Format, options: CheckOptions) -> Kept | None:
    """Return the entries of a run with these options, None if there can be no cache. Raises `UsageError` if one is asked for."""
    try:
        cache.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        code = _digest_of_code()
    except OSError as error:
        if cache.is_asked:
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
    about = [
        VERSION,
        code,
        _libraries(),
        fmt.name,
        digest_of_rules(fmt, options),
        None if columns is None else load_columns(columns).digest,
        to_builtins(common),
    ]
    return Kept(cache.folder, hashlib.sha256(dumped(about).encode()).hexdigest())


class Kept(Struct, frozen=True):
    """The entries of a run; `about` is a digest of what all of them have in common."""

    folder: Path
    about: str

    def checked(
        self, fmt: Format, shard: Shard, options: CheckOptions, check: Callable[[CheckOptions], ShardResult]
    ) -> ShardResult:
        """Return what an earlier check of the same bytes gave, or else what `check` gives, which is kept."""
        if not can_be_kept(shard):
            return check(options)
        place = self._place_of(shard, options)
        found = self._found(place, fmt, shard, options.scratch)
        return found or self._kept(place, fmt, shard, options, check)

    def _place_of(self, shard: Shard, options: CheckOptions) -> Path:
        known = sorted([*key, count] for key, count in options.grading.known.items())
        about = dumped([self.about, known, to_builtins(shard, enc_hook=str)]).encode()
        return self.folder / f"{hashlib.sha256(about).hexdigest()}{_SUFFIX}"

    def _found(self, place: Path, fmt: Format, shard: Shard, scratch: Path | None) -> ShardResult | None:
        try:
            entry = convert(json.loads(place.read_bytes()), _Entry)
            if {role: facts_of(each) for role, each in shard.files.items()} != entry.files:
                return None
            os.utime(place)
        except (OSError, ValueError):  # none, or one that a crash cut off
            return None
        assert scratch is not None
        for name, data in entry.scratch.items():
            target = scratch / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(data))
        result = entry.result.result(fmt)
        result.looked = entry.looked
        return result

    def _kept(
        self,
        place: Path,
        fmt: Format,
        shard: Shard,
        options: CheckOptions,
        check: Callable[[CheckOptions], ShardResult],
    ) -> ShardResult:
        assert options.scratch is not None
        before = {role: each.version for role, each in shard.files.items()}
        # What the check leaves there is moved when it is known to be this shard's.
        with tempfile.TemporaryDirectory(dir=options.scratch.parent, prefix="corpusfmt-") as folder:
            own = Path(folder)
            result = check(replace(options, scratch=own))
            left = {path.relative_to(own).as_posix(): path for path in sorted(own.rglob("*")) if path.is_file()}
            counted = {code for code, _, _ in result.tally.counts}
            if not result.coverage.gaps and counted.isdisjoint(INCOMPLETE_CODES):
                with suppress(OSError):
                    self._keep(place, fmt, shard, result, left, before)
            for name, path in left.items():
                target = options.scratch / name
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        return result

    def _keep(
        self,
        place: Path,
        fmt: Format,
        shard: Shard,
        result: ShardResult,
        left: Mapping[str, Path],
        before: Mapping[str, str],
    ) -> None:
        if sum(path.stat().st_size for path in left.values()) > _MOST_BYTES_OF_AN_ENTRY // 2:
            return
        files = {role: result.read.get(each.url) or facts_of(each) for role, each in shard.files.items()}
        if any(each.version != before[role] for role, each in shard.files.items()):
            return
        entry = {
            "files": files,
            "result": record_of(fmt, 0, result),
            "looked": result.looked,
            "scratch": {name: base64.b64encode(path.read_bytes()).decode() for name, path in left.items()},
        }
        data = dumped(to_builtins(entry)).encode()
        if len(data) <= _MOST_BYTES_OF_AN_ENTRY:
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=PARTIAL_PREFIX, delete=False) as file:
                file.write(data)
            Path(file.name).replace(place)

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
    versions = {name: version_of(name) for name, _ in requirements()}
    return [
        sys.version,
        platform.machine(),
        zlib.ZLIB_RUNTIME_VERSION,
        *(f"{name} {versions[name]}" for name in sorted(versions)),
    ]
