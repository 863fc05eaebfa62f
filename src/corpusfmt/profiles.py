"""Internal: Profiles: requirements of an organisation as TOML (in `schemas/profiles`, or a user's file)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from corpusfmt._resources import resource
from corpusfmt.io.toml import converted_toml, toml_at
from corpusfmt.model import Severity, UsageError
from corpusfmt.rules import STANDARD, Grade, Profile, Requirement
from corpusfmt.wording import clipped, unknown

_MOST_TABLES = 500
_PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


class _Grade(Struct, forbid_unknown_fields=True):
    rules: tuple[str, ...]
    severity: Literal["error", "warning", "info", "ignore"]
    source: str
    minor: bool = False


class _Requirement(Struct, forbid_unknown_fields=True):
    property: str
    source: str
    example: Any
    of: Literal["Dataset", "FileObject", "FileSet", "RecordSet", "Field"] = "Dataset"
    severity: Literal["error", "warning"] = "error"


class _File(Struct, forbid_unknown_fields=True):
    summary: str = ""
    loading: bool = False
    grade: tuple[_Grade, ...] = ()
    require: tuple[_Requirement, ...] = ()


def profile_names() -> list[str]:
    """Return the names of the bundled profiles."""
    names = (each.name.removesuffix(".toml") for each in resource("schemas", "profiles").iterdir())
    return sorted(names, key=lambda name: (name != STANDARD.name, name))


def load_profile(name: str | Path) -> Profile:
    """Return a profile by name or by the path of a TOML file. Raises `UsageError`."""
    if name == STANDARD.name:
        return STANDARD  # its file has no more than a summary
    if isinstance(name, str) and name in profile_names():
        return shipped_profile(name)
    if isinstance(name, str) and not names_a_file(name):
        known = profile_names()
        otherwise = f"known: {', '.join(known)}, or the path of a file `NAME.toml`"
        raise UsageError(unknown("profile", name, known, otherwise))
    return _profile(str(name), toml_at(name, "profile"))


def names_a_file(name: str) -> bool:
    """Return whether the name of a profile is the path of a file."""
    return name not in profile_names() and re.search(r"[/\\]|\.toml$", name) is not None


@cache
def shipped_profile(name: str) -> Profile:
    """Return a bundled profile."""
    return _profile(name, resource("schemas", f"profiles/{name}.toml").read_text("utf-8"))


def _profile(name: str, text: str) -> Profile:
    what = f"profile {name}"
    file = converted_toml(text, _File, what)
    if len(file.grade) + len(file.require) > _MOST_TABLES:
        raise UsageError(f"{what}: more than {_MOST_TABLES} tables: grade several rules in one")
    grades, requirements = [], []
    for table in file.grade:
        _refuse_without_source(table.source, ", ".join(table.rules), what)
        severity = None if table.severity == "ignore" else Severity(table.severity)
        grades.append(Grade(table.rules, severity, table.source, table.minor))
    for required in file.require:
        name_of, source = required.property, required.source
        _refuse_without_source(source, name_of, what)
        if not _PROPERTY.fullmatch(name_of):
            raise UsageError(f"{what}: property is {clipped(name_of)!r}, expected a name like `rai:dataBiases`")
        requirements.append(Requirement(name_of, source, required.example, required.of, Severity(required.severity)))
    return Profile(name, file.summary, tuple(grades), tuple(requirements), file.loading, text)


def _refuse_without_source(source: str, named: str, what: str) -> None:
    if not source.strip():
        raise UsageError(f"{what}: {clipped(named)} has no `source`: add the document that requires it")
