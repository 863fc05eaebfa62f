"""Internal: The code of a step: what is run, and what its digest covers."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from corpusfmt.io.paths import read_named
from corpusfmt.model import UsageError

_MOST_BYTES = 1024 * 1024
# Digests of modules that this process has imported.
_IMPORTED: dict[str, str] = {}


class Code(Struct, frozen=True):
    """The SHA-256 of a file, or of the Python files of a package, and the versions of the distributions that it imports.

    That of several files is of the lines `DIGEST  PATH`, as `sha256sum` writes them, in the order of paths.
    """

    sha256: str
    imports: dict[str, str]


def loaded_code(name: str, file: str) -> tuple[ModuleType, Code]:
    """Load a module, from a file unless that is empty, and return it with its code.

    Raises what its code raises, `ImportError` for a module without a file, and `UsageError` for one that has changed since this
    process imported it.
    """
    module, sources = _executed(file) if file else _imported(name)
    digests = {path: hashlib.sha256(source).hexdigest() for path, source in sources.items()}
    listed = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))
    sha256 = digests.get("", "") or hashlib.sha256(listed.encode()).hexdigest()
    if not file and _IMPORTED.setdefault(name, sha256) != sha256:
        raise UsageError(f"{name} has changed since this process imported it: start a new one")
    return module, Code(sha256, _versions(sources.values(), name))


def _executed(file: str) -> tuple[ModuleType, dict[str, bytes]]:
    """Run a file as a module of its own, without writing bytecode next to it; return the source with it."""
    source = read_named(file, _MOST_BYTES, "step")
    module = ModuleType(f"corpusfmt_step_{hashlib.sha256(source).hexdigest()[:16]}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # where decorators like `dataclass` look for it
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - named by the user's recipe
    return module, {"": source}


def _imported(name: str) -> tuple[ModuleType, dict[str, bytes]]:
    """Import a module; return it with its source, or those of its package by path."""
    module = import_module(name)
    file = getattr(module, "__file__", None)
    if not file:
        raise ImportError("the module has no file, so its digest is unknown")
    folders = getattr(import_module(name.partition(".")[0]), "__path__", ())
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for folder in map(Path, folders)
        for path in folder.rglob("*.py")
    }
    return module, found or {"": Path(file).read_bytes()}


def _versions(sources: Iterable[bytes], name: str) -> dict[str, str]:
    """Return the versions of the distributions that sources import, and of that of an installed module."""
    from importlib.metadata import packages_distributions, version  # noqa: PLC0415 - slow to import, and few recipes have steps

    modules = {name, *(each for source in sources for each in _imports(source))}
    known = packages_distributions()
    names = {each for module in modules for each in known.get(module.partition(".")[0], ())}
    return {each: version(each) for each in sorted(names)}


def _imports(source: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a file of a package that is not imported
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
