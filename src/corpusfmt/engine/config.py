"""A user's settings for validation, from a TOML file: which rules to ignore or grade otherwise, where, and why."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from corpusfmt.model import Severity, UsageError
from corpusfmt.rules import Override


class _RuleTable(msgspec.Struct, forbid_unknown_fields=True):
    rules: tuple[str, ...]
    severity: str
    reason: str
    paths: tuple[str, ...] = ("*",)


class Config(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """The settings of one file; what the command line says wins over them."""

    profile: str | None = None
    fail_on: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rule: tuple[_RuleTable, ...] = ()

    @property
    def overrides(self) -> tuple[Override, ...]:
        return tuple(_override(table) for table in self.rule)


def load_config(path: str | Path) -> Config:
    """Read a settings file. Raises `UsageError` naming the file and what is wrong in it."""
    try:
        settings = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
        return msgspec.convert(settings, Config)
    except OSError as error:
        raise UsageError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(f"configuration {path}: {error}") from error


def _override(table: _RuleTable) -> Override:
    if not table.reason.strip():
        raise UsageError(f"configuration: the judgement of {', '.join(table.rules)} needs a reason")
    grades = {"ignore": None} | {severity.value: severity for severity in Severity}
    if table.severity not in grades:
        raise UsageError(f"configuration: unknown severity {table.severity!r}; known: {', '.join(grades)}")
    return Override(table.rules, grades[table.severity], table.reason, table.paths)
