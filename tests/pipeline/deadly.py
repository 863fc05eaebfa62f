"""An engine whose workers die on files of a certain name, as under the hand of a system that is out of memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from typing import BinaryIO

from corpusfmt.io.paths import Entry


def workers(jobs: int) -> ProcessPoolExecutor:
    """Return an executor like the one that `corpusfmt build` opens."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_arm)


def _arm() -> None:
    plainly = Entry.open

    def open_or_die(entry: Entry) -> BinaryIO:
        if "deadly" in entry.url:
            os.kill(os.getpid(), signal.SIGKILL)
        return plainly(entry)

    Entry.open = open_or_die  # type: ignore[method-assign,assignment]
