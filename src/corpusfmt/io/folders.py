"""Internal: Folders of scratch that are in a store, too (`io.mirror`): each is one object, so that none of its files can be missing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.mirror import at_the_same_time, discard_object, download, mirrored, object_of
from corpusfmt.io.outputs import StorePath
from corpusfmt.model import Incomplete

_SECTION_BYTES = 8 * 1024 * 1024


def send_folder(folder: Path) -> None:
    """Put a finished folder."""
    place = object_of(folder)
    if place is None:
        return
    path = _beside(folder)
    with path.open("xb") as file:
        packed = ContainerWriter(file)
        for each in sorted(folder.rglob("*")):
            if each.is_file():
                name = each.relative_to(folder).as_posix()
                packed.add(name, b"")  # a file may be empty
                with each.open("rb") as source:
                    while data := source.read(_SECTION_BYTES):
                        packed.add(name, data)
        packed.finish()
    place.put(path)
    path.unlink()


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.{os.urandom(8).hex()}")


def fetch_folder(folder: Path) -> None:
    """Let a folder be there that is only in the store, if it is. Raises `Incomplete` if that is damaged."""
    place = object_of(folder)
    if place is not None and not folder.is_dir():
        _unpack(place, folder)


def fetch_folders(folders: Iterable[Path]) -> None:
    """Like `fetch_folder`, for many at the same time."""
    if mirrored() is not None:
        at_the_same_time(fetch_folder, folders)


def _unpack(place: StorePath, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    packed, partial = _beside(folder), _beside(folder)
    download(place, packed)
    if not packed.exists():
        return
    partial.mkdir()
    try:
        with Container(packed) as container:
            for name in container:
                if not _is_path_below(name):
                    raise container.damaged("it has a path that leads out of it")
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    for section in container.sections(name):
                        file.write(section)
    except (Incomplete, FileExistsError, NotADirectoryError) as error:  # a file cannot be the folder of another
        discard_object(folder)
        raise Incomplete(
            f"{place} was damaged and has been removed; run the same command again to make it anew"
        ) from error
    partial.rename(folder)
    packed.unlink()


def _is_path_below(name: str) -> bool:
    path, steps = Path(name), name.split("/")
    return {"", ".", ".."}.isdisjoint(steps) and len(path.parts) == len(steps) and not path.drive and "\0" not in name
