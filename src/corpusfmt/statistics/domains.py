"""Internal: Registered domains of the addresses of documents, exactly: counted by runs, sorted on local disk and then merged."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

#: A domain, its documents, and their bytes of text in UTF-8.
Row = tuple[str, int, int]

_MOST_LISTED = 1_000
# Domains in memory, some 250 bytes each, and runs that are open at one time.
_ROWS_A_RUN = 1 << 17
_FAN_IN = 64

_ADDRESS = re.compile(r"<?[a-z][a-z0-9+.-]*://(?:[^/?#@\\]*@)?(\[[0-9a-f:.]+\]|[^/?#:\\]+)", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|\[[0-9a-f:.]+\]")
_NUMBERS = re.compile(r"\[.*|[0-9.]+")
_LONGEST_ADDRESS_TO_HOST, _LONGEST_HOST = 2_000, 253


class Domains(Struct):
    """How many documents have a domain and how many do not, the number of domains, and those with the most bytes.

    `public_suffix_list` is the version of the list by which domains are registered.
    """

    public_suffix_list: str
    documents: int
    without: int
    distinct: int
    most: list[Row]


class DomainWriter:
    """Counts the domains of one task's documents, and writes them as sorted runs."""

    def __init__(self, folder: Path, task: int) -> None:
        self._folder = folder
        self._task = task
        self._runs = 0
        self._counts: dict[str, list[int]] = {}

    def add(self, address: str, size: int) -> None:
        """Count a document with `size` bytes of text, unless its address names no host."""
        host = _ADDRESS.match(address, 0, _LONGEST_ADDRESS_TO_HOST)
        domain = registered(host[1]) if host and len(host[1]) <= _LONGEST_HOST else None
        if domain is None:
            return
        counts = self._counts.setdefault(domain, [0, 0])
        counts[0] += 1
        counts[1] += size
        if len(self._counts) >= _ROWS_A_RUN:
            self.close()

    def close(self) -> None:
        """Write the domains that wait."""
        if self._counts:
            rows = ((domain, documents, size) for domain, (documents, size) in sorted(self._counts.items()))
            _write(self._folder / f"{self._task:09d}-{self._runs:05d}.run", rows)
        self._runs += 1
        self._counts = {}


@lru_cache(1 << 14)
def registered(host: str) -> str | None:
    """Return the registered domain of a host in lower case and ASCII, None for what cannot be a host.

    Numeric addresses, hosts without a dot and public suffixes are their own domains.
    """
    try:
        name = (host if host.isascii() else host.encode("idna").decode()).lower().rstrip(".")
    except UnicodeError:
        return None
    if len(name) > _LONGEST_HOST or not _HOST.fullmatch(name):
        return None
    if _NUMBERS.fullmatch(name):
        return name
    found: str | None = _public_suffixes().privatesuffix(name)
    return found or name


@cache
def _public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 - it reads the list for some 40 ms

    return PublicSuffixList(only_icann=True)


def public_suffix_list() -> str:
    """Return the version of the list by which domains are registered."""
    from publicsuffixlist import __version__  # noqa: PLC0415

    return f"publicsuffixlist {__version__}"


def domains_in(folder: Path, documents: int, listed: Place | None = None) -> Domains:
    """Return the domains of `documents` documents from the runs in a folder; write all of them into the file `listed`.

    Runs are removed once they are merged.
    """
    found = Domains(public_suffix_list(), 0, documents, 0, [])
    ranked = _ranked(_noted(_added_up(sorted(folder.iterdir()), folder), found), folder)
    found.most = list(islice(ranked, _MOST_LISTED))
    if listed is not None:
        with publish(listed) as file:
            file.write(b"domain,documents,bytes\n")
            file.writelines(
                f"{domain},{number},{size}\n".encode() for rows in (found.most, ranked) for domain, number, size in rows
            )
    return found


def _noted(rows: Iterable[Row], found: Domains) -> Iterator[Row]:
    for row in rows:
        found.distinct += 1
        found.documents += row[1]
        found.without -= row[1]
        yield row


def _added_up(runs: Sequence[Path], folder: Path) -> Iterator[Row]:
    """Yield the rows of runs by domain, those of one domain added up."""
    level = 0
    while len(runs) > _FAN_IN:
        merged = []
        for first in range(0, len(runs), _FAN_IN):
            merged.append(folder / f"{level}-{first:09d}.merged")
            _write(merged[-1], _summed(runs[first : first + _FAN_IN]))
            for run in runs[first : first + _FAN_IN]:
                run.unlink()
        runs, level = merged, level + 1
    yield from _summed(runs)


def _summed(runs: Sequence[Path]) -> Iterator[Row]:
    for domain, rows in groupby(heapq.merge(*map(_read, runs)), key=itemgetter(0)):
        both = [(documents, size) for _, documents, size in rows]
        yield domain, sum(each[0] for each in both), sum(each[1] for each in both)


def _ranked(rows: Iterator[Row], folder: Path) -> Iterator[Row]:
    """Yield rows, those with the most bytes first; of equal ones in the order of their names."""
    runs: list[Path] = []
    while some := sorted(islice(rows, _ROWS_A_RUN), key=_rank):
        if not runs and len(some) < _ROWS_A_RUN:
            yield from some
            return
        runs.append(folder / f"{len(runs):09d}.ranked")
        _write(runs[-1], some)
    yield from heapq.merge(*map(_read, runs), key=_rank)


def _rank(row: Row) -> tuple[int, str]:
    return -row[2], row[0]


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{domain}\t{documents}\t{size}\n" for domain, documents, size in rows)


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for line in file:
            domain, documents, size = line.decode("ascii").split("\t")
            yield domain, int(documents), int(size)
