"""Internal: The state of a run in a store: an object for each task that has ended, put once and read whole.

A run works in a local folder. The files of a task, the last of which is its marker, are one object, so that none can be missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.outputs import StorePath
from corpusfmt.io.publish import PUBLISHED, publish
from corpusfmt.io.streams import READ_SIZE
from corpusfmt.model import Incomplete

T = TypeVar("T")

_SECTION_BYTES = 8 * 1024 * 1024
_REQUESTS_AT_A_TIME = 16
#: The prefix of the objects of tasks.
_TASKS = "tasks"


def aside_of(state: Path, name: str, run: str) -> Path:
    """Return the folder for the unfinished files of a task of a run: no two runs write one file."""
    return state / "aside" / f"{name}.{run}"


class StoredState(Struct, frozen=True):
    """The state of a run in a store, and the local folder in which the process `run` works; crosses processes."""

    place: StorePath
    folder: Path
    run: str

    def put(self, stage: str, task_id: str) -> None:
        """Put the files of a task that has ended."""
        container, keys = self.folder / stage / f"{task_id}.box", self.folder / "keys" / task_id
        noted = aside_of(self.folder, task_id, self.run) / PUBLISHED
        files = [container, *sorted(keys.glob("*")), noted, container.with_suffix(".json")]
        with publish(self.place / _TASKS / stage / quote(task_id, safe="")) as file:
            packed = ContainerWriter(file)
            for path in files:
                if path.is_file():
                    name = path.relative_to(self.folder).as_posix()
                    packed.add(name, b"")  # a file may be empty
                    with path.open("rb") as source:
                        while data := source.read(_SECTION_BYTES):
                            packed.add(name, data)
            packed.finish()

    def fetch(self, stage: str, task_ids: Iterable[str]) -> None:
        """Let the files of tasks that have ended be in the folder."""
        there = (self.place / _TASKS / stage).names()
        names = {quote(each, safe="") for each in task_ids} & there
        _at_a_time(self._unpack, (self.place / _TASKS / stage / name for name in sorted(names)))

    def fetch_all(self) -> None:
        """Let the files of all tasks that have ended be in the folder."""
        _at_a_time(self._unpack, (self.place / _TASKS / path for path in (self.place / _TASKS).paths()))

    def remove(self) -> None:
        """Remove the state, its mark last."""
        _at_a_time(lambda path: (self.place / path).remove(), [path for path in self.place.paths() if path != "run"])
        (self.place / "run").remove()

    def _unpack(self, place: StorePath) -> None:
        """Fetch an object. One that is damaged is removed: the task runs again."""
        with TemporaryDirectory(dir=self.folder) as folder:
            packed, unpacked = Path(folder, "packed"), Path(folder, "files")
            with place.open() as source, packed.open("xb") as file:
                shutil.copyfileobj(source, file, READ_SIZE)
            try:
                with Container(packed) as container:
                    names = list(container)
                    for name in names:
                        if {"", ".", ".."} & set(name.split("/")) or "\0" in name or "\\" in name:
                            raise container.damaged("it has a path that leads out of it")
                        path = unpacked / name
                        path.parent.mkdir(parents=True, exist_ok=True)
                        with path.open("wb") as file:
                            file.writelines(container.sections(name))
            except Incomplete:
                place.remove()
                return
            for name in names:
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (unpacked / name).replace(target)


def _at_a_time(call: Callable[[T], None], each: Iterable[T]) -> None:
    with ThreadPoolExecutor(_REQUESTS_AT_A_TIME) as threads:
        for _ in threads.map(call, each):
            pass
