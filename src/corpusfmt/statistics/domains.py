"""Internal: Registered domains of the addresses of documents, exactly: tasks write what they count as runs, which SQLite adds up on local disk."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish
from corpusfmt.model import Incomplete, full_disk

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

#: A domain, its documents, and their bytes of text in UTF-8.
Row = tuple[str, int, int]

_MOST_LISTED = 1_000
# Domains in memory, some 250 bytes each.
_ROWS_A_RUN = 1 << 17

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
    """Counts the domains of one task's documents, and writes them as runs, sorted so that they are added up in order."""

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
            with (self._folder / f"{self._task:09d}-{self._runs:05d}.run").open("w", encoding="ascii") as file:
                file.writelines(
                    f"{domain}\t{documents}\t{size}\n" for domain, (documents, size) in sorted(self._counts.items())
                )
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
    """Return the domains of `documents` documents from the runs in a folder; write all of them into the file `listed`."""
    with _database(folder / "domains") as database:
        database.execute("create table counts (domain text primary key, documents int, bytes int) without rowid")
        for run in sorted(folder.glob("*.run")):
            database.executemany(
                "insert into counts values (?, ?, ?) on conflict (domain) do update"
                " set documents = documents + excluded.documents, bytes = bytes + excluded.bytes",
                _read(run),
            )
            run.unlink()
        distinct, known = database.execute("select count(*), coalesce(sum(documents), 0) from counts").fetchone()
        ranked: Iterator[Row] = iter(database.execute("select * from counts order by bytes desc, domain"))
        most = list(islice(ranked, _MOST_LISTED))
        if listed is not None:
            with publish(listed) as file:
                file.write(b"domain,documents,bytes\n")
                file.writelines(f"{domain},{number},{size}\n".encode() for domain, number, size in chain(most, ranked))
    return Domains(public_suffix_list(), known, documents - known, distinct, most)


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """Provide a database of which nothing is needed after a crash. Raises `Incomplete` if the disk is full."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("pragma journal_mode = off")
            database.execute("pragma synchronous = off")
            yield database
    except sqlite3.OperationalError as error:
        raise Incomplete(full_disk(OSError(errno.ENOSPC, str(error)))) from error


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for line in file:
            domain, documents, size = line.decode("ascii").split("\t")
            yield domain, int(documents), int(size)
