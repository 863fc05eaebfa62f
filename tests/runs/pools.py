"""Factories of engines of users."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def forked(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))


def number(jobs: int) -> int:
    return jobs
