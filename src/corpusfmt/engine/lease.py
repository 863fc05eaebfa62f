"""Internal: Signs of life: files or objects that a process renews. One that was not renewed for long belongs to a dead process.

Their times are compared with each other, and all are those of one file system or store: no clock of a machine matters.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from corpusfmt.io.outputs import Place, StorePath
from corpusfmt.io.paths import printable
from corpusfmt.io.stores import at_once

#: A process that has not renewed its sign for this long is dead.
LEASE_SECONDS = 60.0
_RENEWALS_A_LEASE = 6
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LOG = logging.getLogger("corpusfmt")
_ALONE, _SHARED = "alone-", "shared-"


def name_of_this_process() -> str:
    """Return a name that no other process has."""
    import socket  # noqa: PLC0415 - only members need it

    return f"{socket.gethostname()[:64]}-{os.getpid()}-{os.urandom(4).hex()}"


def renewed(sign: Place) -> float:
    """Set the time of a sign to the present; return it, as the file system or store has it."""
    if isinstance(sign, StorePath):
        sign.write_bytes(b"")
        return sign.modified() or 0.0
    sign.touch()
    return sign.stat().st_mtime


def is_recent(sign: Place, now: float) -> bool:
    """Return whether there is a sign that was renewed in the last minute; `now` is a time of another one."""
    if isinstance(sign, StorePath):
        return (sign.modified() or 0.0) > now - LEASE_SECONDS
    try:
        # Opening a file makes clients of network file systems ask for its present time.
        with sign.open("rb") as file:
            return os.fstat(file.fileno()).st_mtime > now - LEASE_SECONDS
    except FileNotFoundError:
        return False


def remove(sign: Place) -> None:
    """Remove a sign, if it is there."""
    if isinstance(sign, StorePath):
        sign.remove()
    else:
        sign.unlink(missing_ok=True)


class Renewal:
    """A sign that is renewed from `begin` on. That takes a thread: workers must have been forked before."""

    def __init__(self, sign: Place) -> None:
        self._sign = sign
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew, name="renewal", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop renewing, and remove the sign."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        remove(self._sign)

    def _renew(self) -> None:
        while not self._stop.wait(LEASE_SECONDS / _RENEWALS_A_LEASE):
            with suppress(OSError):  # without its sign, the process notices when a task ends
                if not isinstance(self._sign, StorePath):
                    os.utime(self._sign)
                    continue
                with at_once():  # the next renewal is the best repetition
                    if self._sign.is_file():
                        self._sign.write_bytes(b"")


@contextmanager
def leased(place: StorePath, *, shared: bool, wait: float = 0.0) -> Iterator[StorePath | None]:
    """Lock a prefix in a store, which has no locks; provide the sign of this process, or None if others are at work.

    Each puts its sign first and looks for those of others then, so that of two at least one sees the other. Any number of
    processes may have a `shared` lock at one time. It may take `wait` seconds.
    """
    ends = time.monotonic() + wait
    pause = _SHORTEST_PAUSE
    said = False
    while True:
        sign = place / f"{_SHARED if shared else _ALONE}{name_of_this_process()}"
        now = renewed(sign)
        renewal = Renewal(sign)
        renewal.begin()
        try:
            others = [place / name for name in place.names() if name and name != sign.name]
            rivals = [each for each in others if not (shared and each.name.startswith(_SHARED))]
            alive = [each for each in rivals if is_recent(each, now)]
            mine = not alive
            left = ends - time.monotonic()
            if mine or left <= 0:
                if mine and not shared:
                    for each in others:  # of the dead: those that only stood still notice it
                        each.remove()
                yield sign if mine else None
                return
            if not said:
                said = True
                _LOG.warning(
                    "waiting up to %.0f s: another run is at work, or was killed a moment ago: %s",
                    left,
                    printable(alive[0].url),
                )
        finally:
            renewal.end()
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE)
