"""Internal: Watch the wait for tasks, so that none is endless: what is waited for is logged, and lost tasks are noticed."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpusfmt.model import Incomplete
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.engine.clusters import Cluster

# Seconds between looks at tasks and cluster.
_LOOK_SECONDS = 2.0
_CORES_SECONDS = 10.0
# Seconds without the end of a task before the log says so; then twice as many.
_FIRST_NOTE_SECONDS = 300.0


class Watch:
    """Watches the tasks of a cluster. Other executors report dead workers themselves.

    `shared` is a folder that each worker must see.
    """

    def __init__(self, executor: Executor, shared: Path | None = None) -> None:
        self._cluster: Cluster | None = executor if hasattr(executor, "complaint") else None  # type: ignore[assignment]
        if self._cluster is not None and shared is not None:
            self._cluster.share(shared)
        self._cores = 0
        self._cores_at = -_CORES_SECONDS
        self._since = self._working = time.monotonic()
        self._note_after = _FIRST_NOTE_SECONDS

    @property
    def seconds(self) -> float:
        """The longest wait between two looks."""
        return _LOOK_SECONDS

    @property
    def cores(self) -> int:
        """The processors of a cluster, 0 for other executors."""
        now = time.monotonic()
        if self._cluster is not None and now - self._cores_at >= _CORES_SECONDS:
            self._cores, self._cores_at = self._cluster.cores, now
        return self._cores

    def is_lost(self, tasks: Collection[Future[Any]]) -> bool:
        """Return whether tasks will never end. Raises `Incomplete` if a cluster of the user's has had no worker for long."""
        now = time.monotonic()
        if not tasks or any(task.done() for task in tasks):
            self._since = self._working = now
            self._note_after = _FIRST_NOTE_SECONDS
            return False
        if self._cluster is None:
            return False
        if now - self._since >= self._note_after:
            self._note_after *= 2
            said = f"{plural(len(tasks), 'task')} sent, none of which has ended for {now - self._since:,.0f} s"
            logging.getLogger("corpusfmt").warning("%s: %s", self._cluster.name, said)
        return self._is_idle(self._cluster, len(tasks), now)

    def _is_idle(self, cluster: Cluster, tasks: int, now: float) -> bool:
        complaint = cluster.complaint()
        if not complaint:
            self._working = now
            return False
        if now - self._working < cluster.patience:
            return False
        if cluster.is_own:
            return True
        raise Incomplete(
            f"{cluster.name}: {complaint} for {now - self._working:,.0f} s, and {plural(tasks, 'task')} wait: "
            "start workers, then run the same command again to resume"
        )

    def until_done(self, task: Future[Any]) -> None:
        """Wait for a task. Raises `BrokenExecutor` if it is lost, `Incomplete` as `is_lost` does."""
        while not wait([task], timeout=_LOOK_SECONDS).done:
            if self.is_lost([task]):
                raise BrokenExecutor("no worker ran the task")
