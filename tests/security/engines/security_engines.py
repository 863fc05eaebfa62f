"""An engine of a user's own, in a folder that they have on their path."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def spawned(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
