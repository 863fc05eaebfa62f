"""Internal: Steps of a recipe: functions of the user's that keep, drop or annotate documents and lines.

A function comes from an installed module or from the file that the recipe names, never from the data. Workers load it
themselves, and only with the digest that the run began with.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.io.limits import TookTooLong, at_most
from corpusfmt.io.paths import is_url, read_named
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.pipeline.process.documents import Notes, StoredDocument
from corpusfmt.pipeline.recipe import Recipe, Step
from corpusfmt.wording import clipped_message, plural

Function = Callable[..., Any]

# Failures of an input that are reported one by one; the last of them stands for all others.
_MOST_FAILURES = 10
_AS = {"number": " that is finite", "string": " that UTF-8 can encode", "boolean": ""}

# Functions by reference, file and digest.
_LOADED: dict[tuple[str, str, str], Function] = {}


class StepCode(Struct, frozen=True):
    """A step, the absolute path of its file (empty for an installed module), and its code."""

    step: Step
    file: str
    code: Code


class StepCounts(Struct):
    """Documents or lines that a step kept and dropped, and documents on which it failed."""

    kept: int = 0
    dropped: int = 0
    failed: int = 0


class StepFailure(Struct):
    """A document on which a step failed; the last one of many counts those that are not listed."""

    step: str
    document: str
    reason: str
    count: int = 1


def code_of(recipe: Recipe, path: str) -> tuple[StepCode, ...]:
    """Load the functions of a recipe, given its name or path. Raises `UsageError` for one that cannot be used."""
    names = [step.name for step in recipe.step]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"recipe {path}: more than one step is called `{repeated[0]}`: give each its own name")
    return tuple(_code_of(step, recipe.output.format, path) for step in recipe.step)


def _code_of(step: Step, format_name: str, recipe: str) -> StepCode:
    what = f"step `{step.name}`"
    if format_name == "goclassy":
        raise UsageError(f"{what} needs documents, and the format goclassy has none")
    if step.annotations and format_name == "oscar-1.0":
        raise UsageError(f"{what} has annotations, and the format oscar-1.0 has no metadata: use oscar-1.1 or dolma")
    if step.on == "lines" and set(step.annotations.values()) - {"number"}:
        raise UsageError(f"{what} annotates lines, and only with numbers: change the types of its annotations")
    module = step.function.removeprefix("py:").rpartition(":")[0]
    file = ""
    if module.endswith(".py"):
        if is_url(recipe):
            raise UsageError(f"{what} names a file, and the recipe is not in a local folder: copy both to one")
        file = str(Path(recipe).parent.absolute() / module)
    function, code = _loaded(step.function, file, what)
    given = inspect.Parameter("lines" if step.on == "lines" else "document", inspect.Parameter.POSITIONAL_ONLY)
    arguments = [None, ""] if step.on == "lines" else [None]
    try:
        inspect.signature(function).bind(*arguments, **step.options)
    except TypeError as error:
        expected = ", ".join([given.name, *(["language"] if step.on == "lines" else []), *step.options])
        raise UsageError(f"{what}: {step.function} does not take ({expected}): {error}") from error
    except ValueError:
        pass  # a function without a signature: calling it shows whether it fits
    return StepCode(step, file, code)


def _loaded(reference: str, file: str, what: str) -> tuple[Function, Code]:
    """Load a function; return it, and the code of its module. Raises `UsageError`."""
    name, _, function = reference.removeprefix("py:").rpartition(":")
    try:
        module, code = loaded_code(name, file)
    except UsageError:
        raise
    except BaseException as error:
        _refuse_interrupt(error)
        raise UsageError(f"{what}: {file or name} cannot be loaded: {_said(error)}") from error
    found = getattr(module, function, None)
    if not callable(found):
        fault = "is not a function" if hasattr(module, function) else "does not exist"
        raise UsageError(f"{what}: `{function}` in {file or name} {fault}")
    _LOADED[reference, file, code.sha256] = found
    return found, code


def _refuse_interrupt(error: BaseException) -> None:
    """Raise an interrupt by the user again, who has only the parent of workers interrupted."""
    from multiprocessing import parent_process  # noqa: PLC0415 - slow to import, and few recipes have steps

    if isinstance(error, KeyboardInterrupt) and parent_process() is None:
        raise error


def _said(error: BaseException) -> str:
    """Return the type and the message of an exception, whose code for a message may be the user's too."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return clipped_message(f"{type(error).__name__}: {message}")


def _function_of(code: StepCode) -> Function:
    if known := _LOADED.get((code.step.function, code.file, code.code.sha256)):
        return known
    what = f"step `{code.step.name}` on {socket.gethostname()}"
    function, found = _loaded(code.step.function, code.file, what)
    if found != code.code:
        raise Incomplete(f"{what}: {code.step.function} is not what the run began with: run the same command again")
    return function


class _Failed(Exception):
    """The reason why a step failed on a document."""


class Steps:
    """Applies steps to the documents of one input, in order, and counts what they do."""

    def __init__(self, codes: Sequence[StepCode], dropped: Counter[str]) -> None:
        self._functions = [(each.step, _function_of(each)) for each in codes]
        self._dropped = dropped
        self.counts = {each.step.name: StepCounts() for each in codes}
        self.failures: list[StepFailure] = []

    def applied(self, label: str, stored: StoredDocument) -> StoredDocument | None:
        """Return what is left of a document, with annotations; None if a step drops it or fails."""
        for step, function in self._functions:
            apply = self._to_lines if step.on == "lines" else self._to_document
            try:
                left = apply(step, function, label, stored)
            except _Failed as reason:
                self.counts[step.name].failed += 1
                if len(self.failures) < _MOST_FAILURES:
                    self.failures.append(StepFailure(step.name, stored.document(label).id, str(reason)))
                else:
                    self.failures[-1].count += 1
                self._dropped[f"in a document on which step {step.name} failed"] += stored.lines
                return None
            if (lost := stored.lines - (left.lines if left else 0)) > 0:
                self._dropped[f"by step {step.name}"] += lost
            if left is None:
                return None
            stored = left
        return stored

    def _to_document(self, step: Step, function: Function, label: str, stored: StoredDocument) -> StoredDocument | None:
        document = stored.document(label)
        notes = stored.annotations
        document.attributes = notes.document
        found = _called(step, function, document, **step.options)
        keeps, values = _called(step, _judged, step, found)
        counts = self.counts[step.name]
        counts.kept += keeps
        counts.dropped += not keeps
        if not keeps:
            return None
        if step.annotations:
            # Decoded again: the function may have changed what it was given.
            notes = stored.annotations
            stored.notes = msgspec.json.encode(Notes({**notes.document, step.name: values}, notes.lines))
        return stored

    def _to_lines(self, step: Step, function: Function, label: str, stored: StoredDocument) -> StoredDocument | None:
        found = _called(step, function, stored.document(label).text.split("\n"), label, **step.options)
        if not isinstance(found, list | tuple) or len(found) != stored.lines:
            said = f"{len(found):,}" if isinstance(found, list | tuple) else type(found).__name__
            raise _Failed(f"returned {said}, expected a list of {plural(stored.lines, 'value')}, one for each line")
        judged = _called(step, lambda: [_judged(step, each) for each in found])
        choice = [keeps for keeps, _ in judged]
        counts = self.counts[step.name]
        counts.kept += sum(choice)
        counts.dropped += len(choice) - sum(choice)
        if step.annotations:
            notes = stored.annotations
            columns = {name: [values[name] for _, values in judged] for name in step.annotations}
            stored.notes = msgspec.json.encode(Notes(notes.document, {**notes.lines, step.name: columns}))
        if all(choice):
            return stored
        return stored.only(choice) if any(choice) else None


def _called(step: Step, function: Function, /, *arguments: Any, **options: Any) -> Any:
    try:
        with at_most(step.timeout):
            return function(*arguments, **options)
    except (_Failed, Incomplete, MemoryError):
        raise
    except TookTooLong as error:
        raise _Failed(f"did not return within {step.timeout:g} seconds") from error
    except BaseException as error:
        _refuse_interrupt(error)
        raise _Failed(f"raised {_said(error)}") from error


def _judged(step: Step, found: Any) -> tuple[bool, Json]:
    """Return whether to keep something, and a value for each declared annotation. Raises `_Failed`."""
    if isinstance(found, bool):
        return found, dict.fromkeys(step.annotations)
    if not isinstance(found, Mapping) or not step.annotations:
        expected = "True, False or a mapping of annotations" if step.annotations else "True or False"
        raise _Failed(f"returned {type(found).__name__}, expected {expected}")
    if unknown := [name for name in found if name not in step.annotations]:
        raise _Failed(f"returned the annotation `{unknown[0]}`, and the recipe declares {', '.join(step.annotations)}")
    return True, {name: _value(name, kind, found.get(name)) for name, kind in step.annotations.items()}


def _value(name: str, kind: str, value: Any) -> Any:
    """Return a value in the type that all files have for it."""
    try:
        if value is None or (kind == "boolean" and isinstance(value, bool)):
            return value
        if kind == "string" and isinstance(value, str):
            return str(value).encode().decode()
        if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except (OverflowError, UnicodeEncodeError):
        pass
    raise _Failed(f"returned {type(value).__name__} as `{name}`, expected a {kind}{_AS[kind]}")


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
