"""Internal: Filters on pages, languages and documents: by URL, by label, by number of lines."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.containers import Container, ContainerWriter, is_container
from corpusfmt.io.lines import Entries
from corpusfmt.io.publish import publish
from corpusfmt.model import Incomplete
from corpusfmt.pipeline.process.wet import Batch
from corpusfmt.pipeline.recipe import Filter

_URL = re.compile(r"(?:[^:/?#]+://)?(?:[^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)


Buffer: TypeAlias = "bytes | memoryview"

# Lists of fewer entries are sorted in less time than importing numpy takes.
_FEW = 1 << 17


class Addresses(Struct, frozen=True):
    """A file of hosts and URL prefixes, identified by its content."""

    path: str
    sha256: str
    entries: int


class AddressFilter(Struct, frozen=True):
    """Keeps pages that `allow` names (default: all) and `deny` does not."""

    allow: Addresses | None = None
    deny: Addresses | None = None
    #: The folder with the lists as `stored` wrote them; without it, each process reads them into memory.
    folder: Path | None = None

    def stored(self, folder: Path) -> AddressFilter:
        """Write the lists into a folder of the state, unless they are there, for all workers to map into memory.

        Raises `Incomplete` if a list has changed since it was identified.
        """
        for each in (self.allow, self.deny):
            if each is not None and not is_container(folder / _box(each.sha256)):
                with publish(folder / _box(each.sha256), sync="data") as file:
                    container = ContainerWriter(file)
                    for key, section in _sections(_unchanged(each.path, each.sha256)):
                        container.add(key, section)
                    container.finish()
        return replace(self, folder=folder)

    @property
    def fingerprint(self) -> tuple[str | None, ...]:
        """What results depend on: the content of the lists, not their paths."""
        return tuple(each.sha256 if each else None for each in (self.allow, self.deny))


# The most bytes of a section of texts. The place of a text is the number of its section, in the upper bits, and an offset.
_TEXT_BYTES = 1 << 22
_OFFSET_BITS = 32
_END_OF_HOST = "\0"


def _box(sha256: str) -> str:
    return f"{sha256}.box"


class AddressList:
    """Hosts, each with its subdomains, and URL prefixes by host: columns sorted by hash, searched in place."""

    def __init__(self, sections: Callable[[str], Iterable[Buffer]]) -> None:
        self._hashes, self._places, self._lengths = (
            memoryview(b"".join(found) if len(found) != 1 else found[0]).cast("Q")
            for found in (list(sections(name)) for name in ("hashes", "places", "lengths"))
        )
        self._texts = [memoryview(each) for each in sections("texts")]

    @classmethod
    def of(cls, entries: Iterable[str]) -> AddressList:
        """Return a list in the memory of this process."""
        held: dict[str, list[bytes]] = {}
        for key, section in _sections(entries):
            held.setdefault(key, []).append(section)
        return cls(lambda name: held.get(name, ()))

    def __contains__(self, url: str) -> bool:
        host, path = _split(url)
        if _END_OF_HOST in host:
            return False
        exact = host + _END_OF_HOST
        if any(path.startswith(text[len(exact) :]) for text in self._texts_of(exact) if text.startswith(exact)):
            return True
        name = host.partition(":")[0]
        while name:
            if name in self._texts_of(name):
                return True
            name = name.partition(".")[2]
        return False

    def _texts_of(self, key: str) -> Iterator[str]:
        """Yield the entries whose key has the hash of this one."""
        wanted = _hash_of(key)
        for at in range(bisect_left(self._hashes, wanted), len(self._hashes)):
            if self._hashes[at] != wanted:
                return
            place = self._places[at]
            start = place & ((1 << _OFFSET_BITS) - 1)
            yield bytes(self._texts[place >> _OFFSET_BITS][start : start + self._lengths[at]]).decode()


def _hash_of(key: str) -> int:
    return xxhash.xxh64_intdigest(key.encode(errors="surrogatepass"))


def _sections(entries: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield texts of entries, then columns: the hash of the host, sorted, and the place and length of the text.

    The text of a prefix is that of its host, with an end, and the rest; its hash includes the end, too.
    """
    hashes, places, lengths = array("Q"), array("Q"), array("Q")
    texts, number = bytearray(), 0
    for entry in entries:
        host, path = _split(entry)
        key, rest = (host + _END_OF_HOST, path) if "/" in entry else (host, "")
        text = (key + rest).encode()
        if len(texts) > _TEXT_BYTES:
            yield "texts", bytes(texts)
            texts, number = bytearray(), number + 1
        hashes.append(_hash_of(key))
        places.append(number << _OFFSET_BITS | len(texts))
        lengths.append(len(text))
        texts += text
    yield "texts", bytes(texts)
    order = sorted(range(len(hashes)), key=hashes.__getitem__) if len(hashes) < _FEW else _order(hashes)
    for name, column in (("hashes", hashes), ("places", places), ("lengths", lengths)):
        yield name, array("Q", map(column.__getitem__, order)).tobytes()


def _order(hashes: array[int]) -> Iterable[int]:
    import numpy as np  # noqa: PLC0415 - slow to import, and short lists do not need it

    # Item by item: as a list, the numbers would take more memory than the columns.
    return np.argsort(np.frombuffer(hashes, np.uint64), kind="stable").data


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
def _loaded(path: str, sha256: str, folder: Path | None) -> AddressList:
    if folder is None:
        return AddressList.of(_unchanged(path, sha256))
    return AddressList(Container(folder / _box(sha256)).sections)


def _unchanged(path: str, sha256: str) -> Iterator[str]:
    """Yield the entries of a list. Raises `Incomplete` at its end if it has changed."""
    entries = Entries(path, "addresses", on_disk=True)
    yield from filter(_is_entry, entries)
    if entries.sha256 != sha256:
        raise Incomplete(f"the list of URLs {path} has changed during the run: start again")


def _is_entry(line: str) -> bool:
    return not line.startswith("#")


def addresses(path: str | None) -> Addresses | None:
    """Read a URL list and identify it by its content. Raises `UsageError` if it is not one."""
    if path is None:
        return None
    entries = Entries(path, "addresses", on_disk=True)
    number = sum(map(_is_entry, entries))
    return Addresses(path, entries.sha256, number)


class Selector:
    """Filters the pages of one input, and counts dropped lines by reason."""

    def __init__(self, chosen: Filter, by_address: AddressFilter, dropped: Counter[str]) -> None:
        self._filter = chosen
        self._languages = frozenset(chosen.languages)
        self._excluded = frozenset(chosen.exclude_languages)
        self._allow, self._deny = (
            None if each is None else _loaded(each.path, each.sha256, by_address.folder)
            for each in (by_address.allow, by_address.deny)
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
