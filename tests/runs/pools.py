"""Factories of engines of users."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor


def forked(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"), initializer=_end_with_the_command)


def _end_with_the_command() -> None:
    command = multiprocessing.parent_process()
    assert command is not None

    def wait() -> None:
        command.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def number(jobs: int) -> int:
    return jobs
