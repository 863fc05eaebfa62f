"""Internal: Bounds of a run: how far data may expand, how much of it may be read, how long that may take.

Whoever runs a task enters `limited`. Streams, archives and readers of tables account to it once a chunk; going over a
bound raises `LimitReached`, which no reader takes for a fault of the data.
"""

from __future__ import annotations

import math
import mmap
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.model import Finding, Incomplete, Location, Problem, Severity
from corpusfmt.rules import between_findings

#: What text of a real corpus expands to is 3 to 20 bytes for each compressed one, of repetitive markup up to 100.
MAX_EXPANSION = 200.0
#: As much output every file may have, however small it is.
FREE_BYTES = 256 * 1024 * 1024
#: The guard of a task without a timeout: what is slowest of all that is read takes a tenth of it.
CPU_SECONDS = 20.0
CPU_SECONDS_PER_BYTE = 5 / 1_000_000

_LONG_SECONDS = 1e6
# So often it is told how far reading is: a few times a second.
_TOLD_EVERY = 4 * 1024 * 1024

_MOST_DECODER_MEMORY = 128 * 1024 * 1024


class Limits(Struct, frozen=True):
    """The bounds of a run; None is no bound.

    `max_expansion` is uncompressed bytes for each compressed byte of one file, archives as a whole, `max_total_bytes` counts
    the uncompressed bytes of the whole run, `timeout` is in seconds of wall-clock time. Without a timeout, a task that
    takes far more processor time than its input explains is ended (`guards_processor`).
    """

    max_expansion: float | None = MAX_EXPANSION
    max_total_bytes: int | None = None
    timeout: float | None = None
    guards_processor: bool = True
    #: When the run has to end, by the clock of the system, which processes share.
    ends: float | None = None

    def begun(self) -> Limits:
        """Return these bounds for a run that begins now."""
        return self if self.timeout is None else replace(self, ends=time.time() + self.timeout)

    @property
    def of_own_files(self) -> Limits:
        """What holds for stages that read only what an earlier one has written: the time."""
        return replace(self, max_expansion=None, max_total_bytes=None, guards_processor=False)

    @property
    def of_read_files(self) -> Limits:
        """What holds where files are looked at again: what they expand to is known."""
        return replace(self, max_expansion=None, guards_processor=False)

    def check(self, spent: int = 0, path: str = "") -> None:
        """Raise `LimitReached` where the time is up, or more than the total was read."""
        if self.max_total_bytes is not None and spent > self.max_total_bytes:
            reason = f"{spent} bytes read, uncompressed; the limit of --max-total-bytes is {self.max_total_bytes}"
            raise LimitReached(reason, "raise --max-total-bytes, or name less data", path)
        if self.ends is not None and time.time() > self.ends:
            raise self.late(path)

    def late(self, path: str = "") -> LimitReached:
        """Return the error that the time is up."""
        return LimitReached(f"not finished within the --timeout of {self.timeout:g} seconds", "raise --timeout", path)


DEFAULT_LIMITS = Limits()
UNLIMITED = Limits(None, guards_processor=False)


class LimitReached(Incomplete):
    """A bound of the run ended reading; `path` is where, "" for the run as a whole."""

    def __init__(self, reason: str, hint: str, path: str = "") -> None:
        super().__init__(reason, hint, path)
        self.reason = reason
        self.hint = hint
        self.path = path

    def __str__(self) -> str:
        return f"{self.path or '.'}: GEN003 {self.reason}"

    @property
    def finding(self) -> Finding:
        """What a run that cannot go on has to say, as `BadInput` has."""
        return Finding("GEN003", "limit-reached", Severity.ERROR, self.problem)

    @property
    def problem(self) -> Problem:
        """The bound, its value, and how to raise it."""
        return Problem(self.reason, Location(self.path or "."), self.hint)

    def at(self, path: str) -> LimitReached:
        """Return it with a place, where it has none yet."""
        return self if self.path else LimitReached(self.reason, self.hint, path)


class Meter:
    """What one task has read so far, and its processor time."""

    def __init__(self, limits: Limits, spent: int = 0, tell: Callable[[int], None] | None = None) -> None:
        self.limits = limits
        self._tell = tell
        self._told = 0
        #: Bytes read as they are stored, and as they are meant.
        self.stored = 0
        self.read = 0
        #: Seconds for which another process worked.
        self.waited = 0.0
        self._memory = 0
        self._spent = spent
        self._cpu = time.thread_time()
        self._credited: dict[object, int] = {}

    def add(self, stored: int, read: int, path: str = "") -> None:
        """Account for bytes that were read."""
        self.stored += stored
        self.read += read
        if self._tell is not None and self.stored - self._told >= _TOLD_EVERY:
            self._told = self.stored
            self._tell(self.stored)
        self.check(path)

    def fresh(self, file: object, first: int, upto: int) -> int:
        """Return how many of some bytes of a file, or of one that is not known, this task reads for the first time."""
        if not file:
            return upto - first
        before = self._credited.get(file, 0)
        if upto <= before:
            return 0
        self._credited[file] = upto
        return upto - before

    @property
    def total(self) -> int:
        """Bytes that the run has read so far."""
        return self._spent + self.read

    @property
    def seconds_left(self) -> float:
        """How long the task may still take."""
        limits = self.limits
        if limits.ends is not None:
            return max(limits.ends - time.time(), 0.0)
        return max(self._allowed - self._taken, 0.0) if limits.guards_processor else math.inf

    @property
    def _taken(self) -> float:
        return time.thread_time() - self._cpu + self.waited

    @property
    def _allowed(self) -> float:
        return CPU_SECONDS + self.stored * CPU_SECONDS_PER_BYTE

    def check(self, path: str = "") -> None:
        """Raise `LimitReached` where a bound of the task or the run is reached."""
        limits = self.limits
        limits.check(self.total, path)
        if limits.guards_processor and limits.timeout is None:
            taken, allowed = self._taken, self._allowed
            if taken > allowed:
                reason = f"{taken:.0f} seconds of processor time for {self.stored} bytes; the limit is {allowed:.0f}"
                raise LimitReached(reason, "set a --timeout, which takes the place of this limit", path)

    def take_memory(self, size: int) -> bool:
        """Reserve the memory of a decoder; tell whether there was enough."""
        if self._memory + size > _MOST_DECODER_MEMORY:
            return False
        self._memory += size
        return True

    def release_memory(self, size: int) -> None:
        """Give back what was reserved."""
        self._memory -= size


_METER: ContextVar[Meter] = ContextVar("meter", default=Meter(UNLIMITED))  # noqa: B039 - it only counts


@contextmanager
def limited(
    limits: Limits, spent: int = 0, tell: Callable[[int], None] | None = None, *, interrupting: bool = True
) -> Iterator[Meter]:
    """Hold what is read in the block to bounds; `spent` is what the run has read before.

    `tell` is given the number of bytes read, as they are stored, every few megabytes.

    Without `interrupting`, a call into a library comes to its end: for a block in which a caller's code runs.
    """
    entered = Meter(limits, spent, tell)
    tokens = _METER.set(entered), between_findings.set(entered.check)
    try:
        with _interrupted(entered) if interrupting else nullcontext():
            yield entered
    finally:
        _METER.reset(tokens[0])
        between_findings.reset(tokens[1])


@contextmanager
def _interrupted(meter: Meter) -> Iterator[None]:
    """Let the time that is up end calls into libraries, too, where a signal can do so and nobody else has use for it.

    It does so once, like Ctrl-C: what cleans up is not interrupted again. Whoever swallows it, asks the meter next.
    """
    found = _timer_for(meter.limits)
    left = meter.seconds_left
    if found is None or not left:
        yield
        return
    timer, number = found

    def ring(*_: object) -> None:
        inner = _METER.get()
        if inner.seconds_left > 0:  # more was read in the meantime
            signal.setitimer(timer, min(inner.seconds_left + 1e-6, _LONG_SECONDS))
        else:
            signal.signal(number, signal.SIG_DFL)
            inner.check()

    signal.signal(number, ring)
    try:
        signal.setitimer(timer, min(left + 1e-6, _LONG_SECONDS))  # 0 would be never
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, signal.SIG_DFL)


def _timer_for(limits: Limits) -> tuple[int, int] | None:
    """Return the timer and the signal for a bound on time, None where there is no such bound or they cannot be had."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return None
    if limits.ends is not None:
        timer, number = signal.ITIMER_REAL, signal.SIGALRM
    elif limits.guards_processor:
        timer, number = signal.ITIMER_VIRTUAL, signal.SIGVTALRM
    else:
        return None
    is_free = signal.getsignal(number) is signal.SIG_DFL and not any(signal.getitimer(timer))
    return (timer, number) if is_free else None


@contextmanager
def within(run: Meter, limits: Limits | None = None, tell: Callable[[int], None] | None = None) -> Iterator[None]:
    """Hold what is read in the block to the bounds of a run, or to these, and count it with what that has read before."""
    with limited(limits or run.limits, run.total, tell) as entered:
        try:
            yield
        finally:
            run.read += entered.read


def meter() -> Meter:
    """Return the meter of the task that runs."""
    return _METER.get()


@contextmanager
def bounded_memory(size: int) -> Iterator[None]:
    """Let this process have so many bytes more in the block, for libraries that know no bound; `MemoryError` beyond.

    Linux alone counts what is asked for and not what is reserved; elsewhere there is no bound.
    """
    if sys.platform != "linux":
        yield
        return
    import resource  # noqa: PLC0415 - not every platform has it

    before = resource.getrlimit(resource.RLIMIT_DATA)
    bound = _data_bytes() + size
    most = min((each for each in before if each != resource.RLIM_INFINITY), default=bound)
    resource.setrlimit(resource.RLIMIT_DATA, (min(bound, most), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[5]) * mmap.PAGESIZE


_T = TypeVar("_T")


def fitting(found: Iterable[_T], cost: Callable[[_T], int], most: int, what: str, path: str) -> Iterator[_T]:
    """Yield what has to be held at once; raise `LimitReached` before it takes more than `most` bytes."""
    held = 0
    for count, each in enumerate(found):
        held += cost(each)
        if held > most:
            raise LimitReached(f"more than {count} {what}, which is all there is memory for", "split the data", path)
        yield each


class Account:
    """One file that is read: how far it has expanded. What is `inside` of another file was stored there.

    An open `file` has its size whatever is read of it again, and is one whatever it is called.
    """

    __slots__ = ("_file", "_inside", "_limits", "_meter", "_most", "_read", "_stored", "path")

    def __init__(self, path: str = "", *, inside: bool = False, file: Any = None) -> None:
        self.path = path
        self._inside = inside
        self._file: object
        self._most: int | None
        self._file, self._most = _identity_and_size(file) or (path, None)
        self._meter = _METER.get()
        self._limits = self._meter.limits
        self._stored = 0
        self._read = 0

    def upto(self, stored: int, read: int) -> None:
        """Account for all that was read so far: bytes as they are stored, and as they are meant."""
        if self._most is not None and stored > self._most:
            stored = self._most
        fresh = 0 if self._inside else self._meter.fresh(self._file, self._stored, stored)
        self._meter.add(fresh, read - self._read, self.path)
        self._stored, self._read = stored, read
        ratio = self._limits.max_expansion
        if ratio is not None and read > FREE_BYTES and read > ratio * stored:
            reason = f"{stored} bytes expand to more than {read}; the limit of --max-expansion is {ratio:g}"
            raise LimitReached(reason, "raise --max-expansion, if the file is meant to be so large", self.path)

    @property
    def read(self) -> int:
        """Bytes read so far, as they are meant."""
        return self._read

    def add(self, stored: int, read: int) -> None:
        """Account for more."""
        self.upto(self._stored + stored, self._read + read)

    def take_memory(self, size: int) -> bool:
        """Reserve the memory of a decoder; tell whether there was enough."""
        return self._meter.take_memory(size)

    def release_memory(self, size: int) -> None:
        """Give back what was reserved."""
        self._meter.release_memory(size)


def _identity_and_size(file: Any) -> tuple[object, int] | None:
    """Return what an open file is, whatever its name, and its size; None for what is no regular file of the system."""
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError):
        return None
    return ((status.st_dev, status.st_ino), status.st_size) if stat.S_ISREG(status.st_mode) else None
