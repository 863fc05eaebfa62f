"""Internal: Filters on pages, languages and documents: by URL, by label, by number of lines."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from corpusfmt.io.lines import Entries
from corpusfmt.model import Incomplete
from corpusfmt.pipeline.process.wet import Batch
from corpusfmt.pipeline.recipe import Filter

_URL = re.compile(r"(?:[^:/?#]+://)?(?:[^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)
_END_OF_HOST = "\0"
# In place of the rest of a URL: the list has URLs of the host.
_ANY = "\0"
_DIGEST_BYTES = 16
_BUCKET_BYTES = 1 << 16


class Addresses(Struct, frozen=True):
    """A file of hosts and URL prefixes, identified by its content."""

    path: str
    sha256: str
    entries: int


class AddressFilter(Struct, frozen=True):
    """Keeps pages that `allow` names (default: all) and `deny` does not."""

    allow: Addresses | None = None
    deny: Addresses | None = None

    @property
    def fingerprint(self) -> tuple[str | None, ...]:
        """What results depend on: the content of the lists, not their paths."""
        return tuple(listed.sha256 if listed else None for listed in (self.allow, self.deny))


class AddressList:
    """Hosts, each with its subdomains, and URL prefixes: of millions, only sorted digests are in memory."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._lengths: set[int] = set()
        # Digests by their first bytes: those of all entries as objects would take ten times as much memory.
        buckets = [bytearray() for _ in range(256)]
        room = [_BUCKET_BYTES] * len(buckets)
        for entry in entries:
            host, rest = _split(entry)
            if "/" in entry:
                keys = [host + _END_OF_HOST + _ANY, host + _END_OF_HOST + rest]
                self._lengths.add(len(rest))
            else:
                keys = [host]
            for digest in map(_digest, keys):
                number = digest[0]
                buckets[number] += digest
                if len(buckets[number]) > room[number]:  # each URL repeats its host
                    buckets[number] = bytearray(_distinct(buckets[number]))
                    room[number] = _BUCKET_BYTES + 2 * len(buckets[number])
        self._buckets = [_distinct(bucket) for bucket in buckets]

    def __contains__(self, url: str) -> bool:
        host, rest = _split(url)
        if _END_OF_HOST in host:
            return False
        exact = host + _END_OF_HOST
        if self._has(exact + _ANY) and any(
            self._has(exact + rest[:length]) for length in self._lengths if length <= len(rest)
        ):
            return True
        name = host.partition(":")[0]
        while name:
            if self._has(name):
                return True
            name = name.partition(".")[2]
        return False

    def _has(self, key: str) -> bool:
        digest = _digest(key)
        bucket = self._buckets[digest[0]]
        index = bisect_left(_places(bucket), digest, key=lambda at: _digest_at(bucket, at))
        return _digest_at(bucket, index * _DIGEST_BYTES) == digest


def _places(digests: bytes | bytearray) -> range:
    return range(0, len(digests), _DIGEST_BYTES)


def _distinct(digests: bytearray) -> bytes:
    return b"".join(sorted({_digest_at(digests, at) for at in _places(digests)}))


def _digest_at(digests: bytes | bytearray, place: int) -> bytes:
    return bytes(digests[place : place + _DIGEST_BYTES])


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _split(url: str) -> tuple[str, str]:
    """Return the host of a URL, with its port if it has one, and the rest; scheme and user are dropped."""
    match = _URL.match(url)
    assert match is not None
    host, rest = match.groups()
    host = host.lower().rstrip(".")
    try:
        return host if host.isascii() else host.encode("idna").decode(), rest
    except UnicodeError:
        return host, rest


def addresses(path: str | None) -> Addresses | None:
    """Read a URL list and identify it by its content. Raises `UsageError` if it is not one."""
    if path is None:
        return None
    entries = Entries(path, "addresses", digested=True)
    number = sum(1 for _ in _addresses_in(entries))
    return Addresses(path, entries.sha256, number)


@lru_cache(maxsize=2)
def loaded_list(path: str, sha256: str) -> AddressList:
    """Return a list that was identified before. Raises `Incomplete` if it has changed."""
    entries = Entries(path, "addresses", digested=True)
    listed = AddressList(_addresses_in(entries))
    if entries.sha256 != sha256:
        raise Incomplete(f"the list of URLs {path} has changed during the run: start again")
    return listed


def _addresses_in(entries: Entries) -> Iterator[str]:
    return (entry for entry in entries if not entry.startswith("#"))


class Selector:
    """Filters the pages of one input, and counts dropped lines by reason."""

    def __init__(self, chosen: Filter, by_address: AddressFilter, dropped: Counter[str]) -> None:
        self._filter = chosen
        self._languages = frozenset(chosen.languages)
        self._excluded = frozenset(chosen.exclude_languages)
        self._allow, self._deny = (
            None if listed is None else loaded_list(listed.path, listed.sha256)
            for listed in (by_address.allow, by_address.deny)
        )
        self._dropped = dropped
        self.seen = 0

    def pages(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the pages whose URL is allowed; `seen` counts all."""
        for batch in batches:
            self.seen += len(batch.headers)
            if self._allow is None and self._deny is None:
                yield batch
                continue
            kept = []
            for record in batch.records():
                headers = msgspec.json.decode(record.headers, type=dict[str, str])
                url = headers.get("warc-target-uri", "").strip("<>")
                if self._deny is not None and url in self._deny:
                    self._dropped["at a denied address"] += record.text.count(b"\n")
                elif self._allow is not None and url not in self._allow:
                    self._dropped["at no allowed address"] += record.text.count(b"\n")
                else:
                    kept.append(record)
            yield Batch.of(kept)

    def keeps(self, label: str, lines: int) -> bool:
        """Return whether to keep a document with this label and number of kept lines; if not, count its lines."""
        if label in self._excluded or (self._languages and label not in self._languages):
            self._dropped["in a language not asked for"] += lines
        elif lines < self._filter.min_lines:
            self._dropped["in a document of too few lines"] += lines
        else:
            return True
        return False
