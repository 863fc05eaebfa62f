"""Internal: Publish outputs: write a temporary file, sync it, rename it, so that it appears whole or not at all.

For an output in a store, the temporary file is local, and put by one request.

An existing target that is not a regular file, like a device, a FIFO or a process substitution, is written in place.

A folder for unfinished files has a list of all files published from it, written before a file takes its final name. So a
run that replaces the output of a killed run knows exactly which files it may remove.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import xxhash

from corpusfmt.io.compress import FileFacts, sha256
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import is_url, note_output, partial_name
from corpusfmt.io.streams import READ_SIZE
from corpusfmt.io.temporary import locked, temporary_folder, tidy
from corpusfmt.model import UsageError

Sync: TypeAlias = Literal["all", "data", "none"]

#: The list of published paths in a folder for unfinished files.
PUBLISHED = "published"
_CHECKSUM_DIGITS = 16


@contextmanager
def publish(target: Place, *, aside: Path | None = None, sync: Sync = "all") -> Iterator[BinaryIO]:
    """Open a file that takes its final name only when the block ends without an exception.

    An earlier file is replaced, and its mode kept. Raises `UsageError` for a target that is a link. `aside` is the folder for the unfinished file (default: the target's
    folder, or the system's for temporary files if the target is in a store); it must be on the file system of a local
    target, and its list records the target. `sync` is what outlasts a power failure: the file under its name, or only its
    `data` if the name is there, or not even that, for files that are checked before use and made anew. A run whose state is
    in a store needs those there.
    """
    if isinstance(target, StorePath):
        with _putting(target, aside) as file:
            yield file
        return
    if is_written_in_place(target):
        with writing(target), os.fdopen(os.open(target, os.O_WRONLY | os.O_APPEND), "wb") as file:
            yield file
        return
    folder = aside or target.parent
    folder.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = folder / partial_name()
    is_alone = aside is None and sync == "all"
    if is_alone:
        tidy(folder)
    try:
        # Other processes see by a lock that an unfinished file has an owner. Windows removes no file that is open, and renames none.
        with locked(partial) if is_alone and os.name != "nt" else nullcontext():
            with writing(target), partial.open("wb") as file:
                _keep_mode(partial, target)
                yield file
                file.flush()
                if sync != "none":
                    os.fsync(file.fileno())
            if aside:
                note_published(aside, [target])
            partial.replace(target)
        if sync == "all":
            _sync_directory(target.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _keep_mode(partial: Path, target: Path) -> None:
    """Give a file the mode of the one that it will replace, if there is one: what others may not read stays so."""
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(target.stat().st_mode))


@contextmanager
def _putting(target: StorePath, aside: Path | None) -> Iterator[BinaryIO]:
    with temporary_folder() as folder:
        partial = (aside or folder) / partial_name()
        partial.parent.mkdir(parents=True, exist_ok=True)
        try:
            with writing(partial), partial.open("xb") as file:
                yield file
            if aside:
                note_published(aside, [target])
            target.put(partial)
        finally:
            partial.unlink(missing_ok=True)


def output_at(path: str | Path | StorePath, what: str) -> Place:
    """Return where a file is to be written.

    Raises `UsageError` if `publish` could not write it, before hours of work rather than after; a store is asked.
    """
    place = place_of(path, what)
    if isinstance(place, StorePath):
        if place.is_root:
            raise UsageError(f"{what} is `{place}`, expected the path of a file below it")
        place.parent.probe()
    else:
        if not place.parent.is_dir():
            raise UsageError(f"folder {place.parent} for {what} does not exist")
        if place.is_dir():
            raise UsageError(f"{what} is the folder {place}, expected a file")
        is_written_in_place(place)
    note_output(str(place), what, is_remote=isinstance(place, StorePath))
    return place


def all_there(root: Place, files: Mapping[str, FileFacts]) -> bool:
    """Return whether files below a place exist and have the given sizes."""

    def size_of(place: Place) -> int | None:
        if isinstance(place, StorePath):
            return place.size()
        return place.stat().st_size if place.is_file() else None

    return all(size_of(root / path) == facts.size for path, facts in files.items())


def all_unchanged(root: Place, files: Mapping[str, FileFacts]) -> bool:
    """Return whether files below a place are those that were written, byte for byte."""
    return all_there(root, files) and all(_digest_of(root / path) == facts.sha256 for path, facts in files.items())


def _digest_of(place: Place) -> str:
    digest = sha256()
    with place.open("rb") as file:
        while data := file.read(READ_SIZE):
            digest.update(data)
    return digest.hexdigest()


def is_written_in_place(target: Path) -> bool:
    """Return whether an output exists and is not a regular file. Raises `UsageError` for a link to a regular file."""
    try:
        found = target.lstat()
    except OSError:
        return False
    if not stat.S_ISLNK(found.st_mode):
        return _is_special(found)
    try:
        # These links lead to the open files of a process, which may be of any kind.
        if _OPEN_FILES.fullmatch(os.path.realpath(target.parent)) or _is_special(target.stat()):
            return True
    except OSError:
        pass
    raise _is_link(target)


# /dev/stdout, /dev/fd/63, /proc/self/fd/1
_OPEN_FILES = re.compile(r"/dev(/fd)?|/proc/\d+(/task/\d+)?/fd")


def _is_special(found: os.stat_result) -> bool:
    return not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def refuse_link(folder: Path) -> None:
    """Raise `UsageError` for a folder that is a link: files would be written elsewhere."""
    if folder.is_symlink():
        raise _is_link(folder)


def _is_link(path: Path) -> UsageError:
    return UsageError(f"{path} is a symbolic link: name its target or remove it")


def refuse_links(folder: Path) -> None:
    """Raise `UsageError` for a folder with a link anywhere below it."""
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as found:
                for each in found:
                    if each.is_symlink():
                        raise UsageError(f"{each.path} is a symbolic link: remove it or choose another folder")
                    if each.is_dir():
                        pending.append(Path(each.path))
        except (FileNotFoundError, NotADirectoryError):
            continue


@contextmanager
def writing(path: Place) -> Iterator[None]:
    """Add the path to write errors without one, so that a full disk is named."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def publish_bytes(target: Place, data: bytes, *, aside: Path | None = None, sync: Sync = "all") -> None:
    """Publish a small file."""
    with publish(target, aside=aside, sync=sync) as file:
        file.write(data)


def publish_pieces(target: Place, pieces: Iterable[bytes], *, aside: Path | None = None) -> FileFacts:
    """Publish a file piece by piece; return its size and digest."""
    digest, size = sha256(), 0
    with publish(target, aside=aside) as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    return FileFacts(size, digest.hexdigest())


def create_bytes(target: Place, data: bytes) -> None:
    """Publish a small file, unless there is one: of several processes, one succeeds."""
    if isinstance(target, StorePath):
        target.create(data)
        return
    partial = target.with_name(partial_name())
    publish_bytes(partial, data)
    try:
        os.link(partial, target)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not target.exists():
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def publish_all(moves: Mapping[Path, Place], *, aside: Path) -> None:
    """Give written and synced files their final names on the same file system or in a store, and record these in `aside`."""
    note_published(aside, moves.values())
    folders = set()
    for partial, target in moves.items():
        if isinstance(target, StorePath):
            target.put(partial)
            partial.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _keep_mode(partial, target)
            partial.replace(target)
            folders.add(target.parent)
    for folder in folders:
        _sync_directory(folder)


def note_published(aside: Path, targets: Iterable[Place]) -> None:
    """Record targets in the list of a folder, local ones relative to it, so that all may be moved together.

    Each call records its targets twice, so that damage in one place loses none.
    """
    paths = [
        os.fsencode(target.url if isinstance(target, StorePath) else os.path.relpath(target, aside))
        for target in targets
    ]
    names = b"".join(_checksum(path) + path + b"\0" for path in paths) * 2
    if names:
        with writing(aside / PUBLISHED), (aside / PUBLISHED).open("ab") as file:
            file.write(names)
            file.flush()
            os.fsync(file.fileno())


def published(aside: Path) -> tuple[list[Place], bool]:
    """Return the files published from a folder, even if since removed, and whether these are all: damage may have lost names."""
    try:
        *notes, rest = (aside / PUBLISHED).read_bytes().split(b"\0")
    except FileNotFoundError:
        return [], True
    whole = [note for note in notes if note[:_CHECKSUM_DIGITS] == _checksum(note[_CHECKSUM_DIGITS:])]
    paths = (os.fsdecode(note[_CHECKSUM_DIGITS:]) for note in dict.fromkeys(whole))
    places: list[Place] = [StorePath(path) if is_url(path) else Path(os.path.normpath(aside / path)) for path in paths]
    return places, len(whole) == len(notes) and not rest


def _checksum(path: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(path).encode()


def _sync_directory(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot sync folders, and renames are durable without it
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
