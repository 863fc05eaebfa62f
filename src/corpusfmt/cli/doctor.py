"""Internal: `corpusfmt doctor`."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from typing import Any

from corpusfmt._version import VERSION
from corpusfmt.cli.console import say, write
from corpusfmt.cli.options import TextOrJson
from corpusfmt.cli.outcome import guarded
from corpusfmt.engine.installed import requirements, version_of

KERNELS = (
    "corpusfmt.formats.croissant._native",
    "corpusfmt.formats._native",
    "corpusfmt.io._native",
    "corpusfmt.langid._native",
    "corpusfmt.pipeline._native",
)
# For those who change this project.
_NOT_FOR_USERS = frozenset({"dev"})


@guarded
def command(
    output_format: TextOrJson = "text",
) -> None:
    """Print versions, native kernels, extras, model and limits of the system."""
    found = {
        "corpusfmt": VERSION,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})",
        "kernels": kernels(),
        "libraries": _libraries(),
        "extras": extras(),
        "model": _model(),
        "system": _system(),
    }
    if output_format == "json":
        write(json.dumps(found, indent=2).split("\n"), utf8=True)
        return
    for name, value in found.items():
        for number, line in enumerate(_lines(value)):
            say(f"{'' if number else name:<10} {line}")


def _lines(value: Any) -> list[str]:
    return [f"{name}: {each}" for name, each in value.items()] if isinstance(value, dict) else [value]


def kernels() -> str:
    """Return whether all native kernels can be imported; without them, everything works in Python, and every row goes through the rules."""
    from importlib import import_module

    missing = []
    for each in KERNELS:
        try:
            import_module(each)
        except ImportError as error:
            missing.append(f"{each.split('.')[-2]} ({error})")
    if missing:
        return f"not compiled, so runs are slower: {', '.join(missing)}; install a C++ compiler and run `pip install --force-reinstall --no-deps --no-cache-dir --no-binary corpusfmt corpusfmt`"
    return "compiled"


def _libraries() -> dict[str, str]:
    """Return the versions of what every installation requires."""
    return {name: version_of(name) or "missing" for name, extra in requirements() if not extra}


def extras() -> dict[str, str]:
    """Return for each extra that it is there, or the command that installs it."""
    found: dict[str, list[str]] = {}
    for name, extra in requirements():
        if extra and extra not in _NOT_FOR_USERS:
            found.setdefault(extra, []).append(name)
    shown = {}
    for extra, names in sorted(found.items()):
        missing = [name for name in names if version_of(name) is None]
        there = ", ".join(f"{name} {version_of(name)}" for name in names)
        shown[extra] = f"missing {', '.join(missing)}: pip install 'corpusfmt[{extra}]'" if missing else there
    return shown


def _model() -> str:
    """Return the language identification model that `build` uses by default."""
    from corpusfmt import langid

    try:
        classifier = langid.Classifier()
    except (langid.LangidError, ImportError) as error:
        return str(error)
    return f"{classifier.backend}, SHA-256 {classifier.model_digest}"


def _system() -> dict[str, str]:
    """Return what bounds a run here."""
    import shutil

    from corpusfmt.engine.executors import available_processors

    found = {"processors": f"{available_processors()}"}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory"] = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.1f} GB"
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        found["open files"] = f"{soft:,} (at most {hard:,})" if hard != resource.RLIM_INFINITY else f"{soft:,}"
    folder = tempfile.gettempdir()
    found["temporary files"] = f"{folder}, {shutil.disk_usage(folder).free / 1e9:.1f} GB free"
    return found
