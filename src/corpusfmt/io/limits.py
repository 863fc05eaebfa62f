"""Internal: Limits of a run: expansion of data, bytes read, and time.

Tasks run inside `limited`. Streams, archives and table readers account for every chunk; exceeding a limit raises
`LimitReached`, which readers must not treat as a fault of the data.
"""

import math
import mmap
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import Annotated, Any, Self, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from corpusfmt.model import Finding, Incomplete, Location, Problem, Severity, worded
from corpusfmt.options import Option, pairs, ratio, seconds, size
from corpusfmt.rules import between_findings

T = TypeVar("T")

#: Real text expands 3 to 20 times, repetitive markup up to 100 times.
MAX_EXPANSION = 200.0
#: Any file may expand to this many bytes.
FREE_BYTES = 256 * 1024 * 1024
#: Processor time of a task without a timeout; the slowest real data takes a tenth of it.
CPU_SECONDS = 20.0
CPU_SECONDS_PER_BYTE = 5 / 1_000_000

_LONG_SECONDS, _SOON_SECONDS = 1e6, 0.01
# Bytes of a file below which a thread gains less than it costs.
_LEAST_AHEAD = 4 * 1024 * 1024
# Bytes between reports of progress: a few reports per second.
_TOLD_EVERY = 4 * 1024 * 1024

#: Seconds of the processor that this thread used; in WebAssembly, where there is one thread, only the process has a clock.
processor_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)

_MOST_DECODER_MEMORY = 128 * 1024 * 1024


class Limits(Struct, frozen=True, repr_omit_defaults=True):
    """The limits of a run; None means no limit.

    `expansion` is the ratio of uncompressed to compressed bytes of a file (of an archive as a whole),
    `total_bytes` the uncompressed bytes of the run, `timeout` seconds of wall-clock time. Without a timeout, a task
    that takes far more processor time than its input explains is stopped (`guards_processor`).
    """

    expansion: float | None = MAX_EXPANSION
    total_bytes: int | None = None
    timeout: Annotated[float, Meta(gt=0)] | None = None
    guards_processor: bool = True
    #: The end of the run, by the system's clock, which processes share.
    ends: float | None = None

    def begun(self) -> Self:
        """Return these limits for a run that begins now."""
        return replace(self, ends=None if self.timeout is None else time.time() + self.timeout)

    @property
    def of_own_files(self) -> Self:
        """The limits of stages that read only files of earlier stages: time."""
        return replace(self, expansion=None, total_bytes=None, guards_processor=False)

    @property
    def of_read_files(self) -> Self:
        """The limits for reading files again, whose expansion is known."""
        return replace(self, expansion=None, guards_processor=False)

    def check(self, spent: int = 0, path: str = "") -> None:
        """Raise `LimitReached` if the time is up or too much was read."""
        if self.total_bytes is not None and spent > self.total_bytes:
            reason = f"read {spent:,} uncompressed bytes, more than --limit total-bytes ({self.total_bytes:,})"
            raise LimitReached(reason, "raise --limit total-bytes or name less data", path)
        if self.ends is not None and time.time() > self.ends:
            raise self.late(path)

    def late(self, path: str = "") -> "LimitReached":
        """Return the error of a timeout."""
        return LimitReached(
            f"not finished within --limit timeout ({self.timeout:g} seconds)", "raise --limit timeout", path
        )


#: The limits of a command whose run has not begun, while it waits for a store.
AWAITING: ContextVar[Limits | None] = ContextVar("awaiting", default=None)
DEFAULT_LIMITS = Limits()
UNLIMITED = Limits(None, guards_processor=False)
#: The limits that can be set, with what reads a value.
NAMES: Mapping[str, Callable[[Any], Any]] = {"expansion": ratio, "total-bytes": size, "timeout": seconds}


def named_limits(given: Sequence[str] | Mapping[str, Any]) -> Limits:
    """Return the limits that options or settings name. Raises `UsageError`."""
    named = pairs("--limit", given, NAMES)
    return Limits(**{name.replace("-", "_"): NAMES[name](value) for name, value in named.items()})


#: Limits as an option.
Limited = Annotated[
    Limits,
    Option(
        "Limit the run: expansion=RATIO of uncompressed to compressed bytes of a file (default: 200; 256 MiB are always "
        "allowed), total-bytes=SIZE to read uncompressed, like 20GB, or timeout=SECONDS (default: none, but each task has "
        "20 CPU seconds and 5 more per MB read); repeatable.",
        flag="--limit",
        metavar="NAME=VALUE",
        parse=named_limits,
        completion="limits",
    ),
]


class Bounded(Struct, frozen=True):
    """The limits of a command that takes its other options one by one."""

    limits: Limited = DEFAULT_LIMITS


class LimitReached(Incomplete):
    """A limit of the run was reached, in the file `path` or (if empty) in the run as a whole."""

    def __init__(self, reason: str, hint: str, path: str = "") -> None:
        super().__init__(reason, hint, path)
        self.reason = reason
        self.hint = hint
        self.path = path

    def __str__(self) -> str:
        return worded(f"{self.path or '.'}: GEN003 {self.reason}")

    @property
    def finding(self) -> Finding:
        """The limit as a finding."""
        return Finding("GEN003", "limit-reached", Severity.ERROR, self.problem)

    @property
    def problem(self) -> Problem:
        """The limit, its value, and how to raise it."""
        return Problem(self.reason, Location(self.path or "."), self.hint)

    def at(self, path: str) -> "LimitReached":
        """Return the error with a path if it has none yet."""
        return self if self.path else LimitReached(self.reason, self.hint, path)


class Meter:
    """Counts the bytes that a task has read, and its processor time."""

    def __init__(self, limits: Limits, spent: int = 0, tell: Callable[[int], None] | None = None) -> None:
        self.limits = limits
        self._tell = tell
        self._told = 0
        #: Bytes read, as stored and uncompressed.
        self.stored = 0
        self.read = 0
        #: Seconds of work in other processes and threads.
        self.waited = 0.0
        #: Whether a thread may read ahead, in one file at a time.
        self.may_read_ahead = False
        self._memory = 0
        self._spent = spent
        self._began, self._cpu = time.monotonic(), processor_time()
        self._credited: dict[object, int] = {}

    def add(self, stored: int, read: int, path: str = "") -> None:
        """Count bytes that were read."""
        self.stored += stored
        self.read += read
        if self._tell is not None and self.stored - self._told >= _TOLD_EVERY:
            self._told = self.stored
            self._tell(self.stored)
        self.check(path, of_bytes=read > 0)

    def fresh(self, file: object, first: int, upto: int) -> int:
        """Return how many of these bytes of a file (or of an unknown one) the task reads for the first time."""
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
        """Seconds left for the task."""
        limits = self.limits
        if limits.ends is not None:
            return max(limits.ends - time.time(), 0.0)
        return max(self._allowed - self._taken, 0.0) if limits.guards_processor else math.inf

    @property
    def _taken(self) -> float:
        return processor_time() - self._cpu + self.waited

    @property
    def _allowed(self) -> float:
        return CPU_SECONDS + self.stored * CPU_SECONDS_PER_BYTE

    def check(self, path: str = "", *, of_bytes: bool = True) -> None:
        """Raise `LimitReached` if a limit of the task or the run is reached; `of_bytes` is whether that of bytes counts."""
        limits = self.limits
        limits.check(self.total if of_bytes else 0, path)
        # This thread takes no more time of the processor than passes, and the clock that tells how much passed is much faster.
        if (
            limits.guards_processor
            and limits.timeout is None
            and time.monotonic() - self._began + self.waited > self._allowed
        ):
            taken, allowed = self._taken, self._allowed
            if taken > allowed:
                reason = (
                    f"took {taken:.0f} seconds of processor time for {self.stored:,} bytes, more than {allowed:.0f}"
                )
                raise LimitReached(reason, "set --limit timeout, which replaces this limit", path)

    def take_memory(self, size: int) -> bool:
        """Reserve the memory of a decoder; return whether there was enough."""
        if self._memory + size > _MOST_DECODER_MEMORY:
            return False
        self._memory += size
        return True

    def release_memory(self, size: int) -> None:
        """Release reserved memory."""
        self._memory -= size


_METER: ContextVar[Meter] = ContextVar("meter", default=Meter(UNLIMITED))  # noqa: B039 - it only counts


@contextmanager
def limited(
    limits: Limits, spent: int = 0, tell: Callable[[int], None] | None = None, *, interrupting: bool = True
) -> Iterator[Meter]:
    """Apply limits to reading in the block; `spent` is the number of bytes that the run has read before.

    `tell` is called every few megabytes with the number of bytes read, as stored.

    Without `interrupting`, calls into libraries are not interrupted: for a block that runs a caller's code.
    """
    entered = Meter(limits, spent, tell)
    tokens = _METER.set(entered), between_findings.set(entered.check)
    try:
        with _interrupted(entered) if interrupting else nullcontext():
            yield entered
    finally:
        _METER.reset(tokens[0])
        between_findings.reset(tokens[1])


def in_own_context(found: Generator[T]) -> Iterator[T]:
    """Yield what a generator yields, in a context of its own: its limits do not apply to the code that receives it."""
    context = copy_context()
    try:
        while True:
            try:
                each = context.run(next, found)
            except StopIteration:
                return
            yield each
    finally:
        context.run(found.close)


@contextmanager
def _interrupted(meter: Meter) -> Iterator[None]:
    """Let the timeout interrupt calls into libraries by a signal, if the signal is available and otherwise unused.

    It interrupts once, like Ctrl-C, so that clean-up code can run. Code that swallows the exception asks the meter next.
    """
    found = _timer_for(meter.limits)
    left = meter.seconds_left
    if found is None or not left:
        yield
        return
    timer, number = found

    def ring(*_: object) -> None:
        inner = _METER.get()
        if inner.seconds_left > 0:  # more was read meanwhile, which allows more time
            signal.setitimer(timer, min(inner.seconds_left + 1e-6, _LONG_SECONDS))
        else:
            signal.signal(number, signal.SIG_DFL)
            inner.check()

    def ring_again(ignored: Any) -> None:
        if not isinstance(ignored.exc_value, LimitReached):
            before(ignored)
            return
        signal.signal(number, ring)
        signal.setitimer(timer, _SOON_SECONDS)

    before = sys.unraisablehook
    signal.signal(number, ring)
    try:
        # Python prints and drops what is raised while it removes an object.
        sys.unraisablehook = ring_again
        signal.setitimer(timer, min(left + 1e-6, _LONG_SECONDS))  # 0 would mean never
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = before


def _timer_for(limits: Limits) -> tuple[int, int] | None:
    """Return the timer and signal for a limit on time, or None if there is no limit or no usable signal."""
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


class TookTooLong(BaseException):
    """A block took longer than it may. No error, so that code that treats errors does not go on."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after so many seconds, and again every second while it does not end.

    It interrupts Python code and waiting, in a main thread only, and not on Windows. A limit on time that applies meanwhile comes first.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    outer, _ = signal.getitimer(signal.ITIMER_REAL)
    if 0 < outer <= seconds:
        yield
        return

    running = True

    def ring(*_: object) -> None:
        if running:
            raise TookTooLong

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 1e-6) if outer else 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def within(run: Meter, limits: Limits | None = None, tell: Callable[[int], None] | None = None) -> Iterator[None]:
    """Apply the limits of a run, or `limits`, to reading in the block, and add the bytes read to the run's."""
    with limited(limits or run.limits, run.total, tell) as entered:
        try:
            yield
        finally:
            run.read += entered.read


def meter() -> Meter:
    """Return the meter of the current task."""
    return _METER.get()


@contextmanager
def bounded_memory(size: int) -> Iterator[None]:
    """Limit this process to `size` more bytes of memory in the block (`MemoryError` beyond), for unbounded libraries.

    Only Linux counts requested rather than reserved memory; elsewhere there is no limit.
    """
    if sys.platform != "linux":
        yield
        return
    import resource  # noqa: PLC0415 - not every platform has it

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/statm", "rb") as file:
        bound = int(file.read().split()[5]) * mmap.PAGESIZE + size
    most = min((each for each in before if each != resource.RLIM_INFINITY), default=bound)
    resource.setrlimit(resource.RLIMIT_DATA, (min(bound, most), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


_T = TypeVar("_T")


def fitting(found: Iterable[_T], cost: Callable[[_T], int], most: int, what: str, path: str) -> Iterator[_T]:
    """Yield items that must be in memory all at once; raise `LimitReached` before they take more than `most` bytes."""
    held = 0
    for count, each in enumerate(found):
        held += cost(each)
        if held > most:
            raise LimitReached(f"more than {count:,} {what} do not fit into memory", "split the data", path)
        yield each


class Account:
    """The expansion of one file. Data `inside` another file was stored there.

    An open `file` has its size even if parts are read again, and is the same file under any name.
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
        """Account for the total so far: bytes as stored and uncompressed."""
        if self._most is not None and stored > self._most:
            stored = self._most
        fresh = 0 if self._inside else self._meter.fresh(self._file, self._stored, stored)
        self._meter.add(fresh, read - self._read, self.path)
        self._stored, self._read = stored, read
        ratio = self._limits.expansion
        if ratio is not None and read > FREE_BYTES and read > ratio * stored:
            reason = f"{stored:,} bytes expand to more than {read:,}, more than --limit expansion ({ratio:g}) allows"
            raise LimitReached(reason, "raise --limit expansion if the file is meant to be this large", self.path)

    @contextmanager
    def spare_thread(self, size: int) -> Iterator[bool]:
        """Yield whether a thread may read ahead in the block, in a file of this size."""
        if is_spare := self._meter.may_read_ahead and size >= _LEAST_AHEAD:
            self._meter.may_read_ahead = False
        try:
            yield is_spare
        finally:
            self._meter.may_read_ahead |= is_spare

    def add_time(self, seconds: float) -> None:
        """Account for the time of another thread."""
        self._meter.waited += seconds

    @property
    def read(self) -> int:
        """Uncompressed bytes read so far."""
        return self._read

    def add(self, stored: int, read: int) -> None:
        """Account for more bytes."""
        self.upto(self._stored + stored, self._read + read)

    def take_memory(self, size: int) -> bool:
        """Reserve the memory of a decoder; return whether there was enough."""
        return self._meter.take_memory(size)

    def release_memory(self, size: int) -> None:
        """Release reserved memory."""
        self._meter.release_memory(size)


def _identity_and_size(file: Any) -> tuple[object, int] | None:
    """Return the identity of an open file, regardless of its name, and its size; None if it is not a regular file."""
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError):
        return None
    return ((status.st_dev, status.st_ino), status.st_size) if stat.S_ISREG(status.st_mode) else None
