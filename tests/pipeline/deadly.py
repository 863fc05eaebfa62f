"""An engine whose workers die on files of a certain name, as under the hand of a system that is out of memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from typing import BinaryIO

from corpusfmt.io import paths
from corpusfmt.pipeline import process


def workers(jobs: int) -> ProcessPoolExecutor:
    """Return an executor like the one that `corpusfmt build` opens."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_arm)


def _arm() -> None:
    def open_or_die(url: str) -> BinaryIO:
        if "deadly" in url:
            os.kill(os.getpid(), signal.SIGKILL)
        return paths.open_input(url)

    vars(process)["open_input"] = open_or_die
