"""Internal: Filters on pages, languages and documents: by URL, by label, by number of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from corpusfmt.model import Incomplete
from corpusfmt.pipeline.lists import entries_of
from corpusfmt.pipeline.process.wet import Batch
from corpusfmt.pipeline.recipe import Filter

_URL = re.compile(r"(?:[^:/?#]+://)?(?:[^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)


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
        return tuple(each.sha256 if each else None for each in (self.allow, self.deny))


class AddressList:
    """Hosts, each with its subdomains, and URL prefixes by host."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._hosts: set[str] = set()
        self._prefixes: dict[str, list[str]] = {}
        for entry in entries:
            host, path = _split(entry)
            if "/" in entry:
                self._prefixes.setdefault(host, []).append(path)
            else:
                self._hosts.add(host)

    def __contains__(self, url: str) -> bool:
        host, path = _split(url)
        if any(map(path.startswith, self._prefixes.get(host, ()))):
            return True
        name = host.partition(":")[0]
        while name:
            if name in self._hosts:
                return True
            name = name.partition(".")[2]
        return False


def _split(url: str) -> tuple[str, str]:
    """Return the host of a URL, with its port if it has one, and the rest; scheme and user are dropped."""
    match = _URL.match(url)
    assert match is not None
    host, rest = match.groups()
    return _ascii(host.lower().rstrip(".")), rest


def _ascii(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


@lru_cache(maxsize=2)
def _loaded(path: str, sha256: str) -> AddressList:
    entries, found = _entries(path)
    if found != sha256:
        raise Incomplete(f"the list of URLs {path} has changed during the run: start again")
    return AddressList(entries)


def _entries(path: str) -> tuple[list[str], str]:
    entries, sha256 = entries_of(path, "addresses")
    return [entry for entry in entries if not entry.startswith("#")], sha256


def addresses(path: str | None) -> Addresses | None:
    """Read a URL list and identify it by its content. Raises `UsageError` if it is not one."""
    if path is None:
        return None
    entries, sha256 = _entries(path)
    return Addresses(path, sha256, len(entries))


class Selector:
    """Filters the pages of one input, and counts dropped lines by reason."""

    def __init__(self, chosen: Filter, by_address: AddressFilter, dropped: Counter[str]) -> None:
        self._filter = chosen
        self._languages = frozenset(chosen.languages)
        self._excluded = frozenset(chosen.exclude_languages)
        self._allow, self._deny = (
            None if each is None else _loaded(each.path, each.sha256) for each in (by_address.allow, by_address.deny)
        )
        self._dropped = dropped
        self.seen = 0

    def pages(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the pages whose URL is allowed; `seen` counts all."""
        for batch in batches:
            self.seen += len(batch.headers)
            yield batch if self._allow is None and self._deny is None else self._by_address(batch)

    def _by_address(self, batch: Batch) -> Batch:
        kept = []
        for record in batch.records():
            headers = msgspec.json.decode(record.headers, type=dict[str, str])
            reason = self._refusal(headers.get("warc-target-uri", "").strip("<>"))
            if reason is None:
                kept.append(record)
            else:
                self._dropped[reason] += record.text.count(b"\n")
        return Batch.of(kept)

    def _refusal(self, url: str) -> str | None:
        if self._deny is not None and url in self._deny:
            return "at a denied address"
        if self._allow is not None and url not in self._allow:
            return "at no allowed address"
        return None

    def keeps(self, label: str, lines: int) -> bool:
        """Return whether to keep a document with this label and number of kept lines; if not, count its lines."""
        if label in self._excluded or (self._languages and label not in self._languages):
            self._dropped["in a language not asked for"] += lines
        elif lines < self._filter.min_lines:
            self._dropped["in a document of too few lines"] += lines
        else:
            return True
        return False
