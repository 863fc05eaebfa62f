"""Internal: A user's settings from a TOML file: rules to ignore or regrade, where and why; details of a dataset."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from corpusfmt.io.paths import is_ours, is_pattern, is_remote, local_path
from corpusfmt.io.toml import converted, decoded_toml, toml_at
from corpusfmt.model import Json, Severity, UsageError
from corpusfmt.options import FailOn
from corpusfmt.profiles import names_a_file
from corpusfmt.rules import Override
from corpusfmt.wording import clipped


class RuleTable(Struct, forbid_unknown_fields=True):
    """Another severity for some rules, in some files."""

    rules: Annotated[tuple[str, ...], Meta(description="Codes, beginnings of codes, or slugs.")]
    severity: Annotated[
        str,
        Meta(
            description="error, warning, info or ignore.",
            extra_json_schema={"enum": ["error", "warning", "info", "ignore"]},
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="Why, for the report, which counts what was regraded or ignored.",
            extra_json_schema={"pattern": r"\S"},
        ),
    ]
    paths: Annotated[tuple[str, ...], Meta(description="Patterns of paths as findings have them (default: `*`).")] = (
        "*",
    )
    until: Annotated[dt.date | None, Meta(description="The last day on which this counts, like 2027-01-31.")] = None

    @property
    def is_over(self) -> bool:
        return self.until is not None and self.until < dt.datetime.now(dt.UTC).date()


class Details(Struct, forbid_unknown_fields=True, rename="kebab", omit_defaults=True, frozen=True):
    """Facts about a dataset that only its owner knows: section `describe` of the settings, and the options."""

    name: str | None = None
    description: str | None = None
    license: str | None = None
    creator: tuple[str, ...] = ()
    publisher: tuple[str, ...] = ()
    url: str | None = None
    dataset_version: str | None = None
    date_published: dt.date | None = None
    date_created: Annotated[dt.date | None, Meta(description="Like 2024-01-31.")] = None
    date_modified: Annotated[dt.date | None, Meta(description="Like 2024-01-31.")] = None
    cite_as: str | None = None
    keyword: tuple[str, ...] = ()
    in_language: tuple[str, ...] = ()
    same_as: Annotated[tuple[str, ...], Meta(description="Other pages of the dataset.")] = ()
    sd_license: Annotated[str | None, Meta(description="Licence of the description itself.")] = None

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Details:
        """Return the details among named values; one text counts as a list if several are possible.

        Raises `UsageError` for an invalid value.
        """
        several = {field.encode_name for field in msgspec.structs.fields(cls) if field.default == ()}
        names = {field.name: field.encode_name for field in msgspec.structs.fields(cls)}
        given = {names[name]: value for name, value in options.items() if name in names and value}
        given |= {name: (value,) for name, value in given.items() if name in several and isinstance(value, str)}
        try:
            return msgspec.convert(given, cls)
        except msgspec.ValidationError as error:
            wrong = next(name for name in given if re.search(rf"\$\.{name}\b(?!-)", str(error)))
            expected = (
                "a date like 2024-01-31" if wrong.startswith("date-") else "texts" if wrong in several else "a text"
            )
            raise UsageError(f"--{wrong} is {given[wrong]!r}, expected {expected}") from error

    def under(self, stronger: Details) -> Details:
        """Return these details, overridden by the values of others."""
        mine, theirs = msgspec.to_builtins(self), msgspec.to_builtins(stronger)
        return msgspec.convert(mine | theirs, Details)

    def properties(self) -> Json:
        """Return the given details as properties of a Croissant description."""
        given = {
            "name": self.name,
            "description": self.description,
            "license": self.license,
            "creator": _organisations(self.creator),
            "publisher": _organisations(self.publisher),
            "url": self.url,
            "version": self.dataset_version,
            "datePublished": _iso(self.date_published),
            "dateCreated": _iso(self.date_created),
            "dateModified": _iso(self.date_modified),
            "citeAs": self.cite_as,
            "keywords": list(self.keyword),
            "inLanguage": list(self.in_language),
            "sameAs": list(self.same_as),
            "sdLicense": self.sd_license,
        }
        return {name: value for name, value in given.items() if value}


def _organisations(names: tuple[str, ...]) -> list[Json]:
    return [{"@type": "sc:Organization", "name": name} for name in names]


def _iso(date: dt.date | None) -> str | None:
    return date.isoformat() if date else None


class FieldTable(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The fields of rows, by their names or as JSON pointers like `/doc/text`."""

    text: Annotated[str | None, Meta(description="The field with the text, or a JSON pointer like /doc/text.")] = None
    id: Annotated[str | None, Meta(description="The field with the id.")] = None
    url: Annotated[str | None, Meta(description="The field with the address, for `metadata.url`.")] = None
    created: Annotated[str | None, Meta(description="The field with the date of creation, for `created`.")] = None
    language: Annotated[str | None, Meta(description="The field with the language, for `metadata.language`.")] = None
    source: Annotated[str | None, Meta(description="The field with the source, for `source`.")] = None


class LimitTable(Struct, forbid_unknown_fields=True, rename="kebab", omit_defaults=True, frozen=True):
    """The limits of a run."""

    expansion: Annotated[
        float | None,
        Meta(
            description="Largest ratio of uncompressed to compressed bytes of a file.", extra_json_schema={"minimum": 1}
        ),
    ] = None
    total_bytes: Annotated[str | None, Meta(description="Most uncompressed bytes to read, like 20GB.")] = None
    timeout: Annotated[
        float | None, Meta(description="Longest run time in seconds.", extra_json_schema={"exclusiveMinimum": 0})
    ] = None


class Config(Struct, forbid_unknown_fields=True, rename="kebab"):
    """The settings of one file. Options on the command line override them."""

    paths: Annotated[
        tuple[str, ...],
        Meta(description="What `validate` checks if no path is given; relative to the folder of the settings."),
    ] = ()
    format: str | None = None
    columns: str | None = None
    field: Annotated[FieldTable, Meta(description="The table `[field]`.")] = FieldTable()
    data: bool | None = None
    baseline: str | None = None
    output_format: str | None = None
    profile: str | tuple[str, ...] = ()
    fail_on: Annotated[str | None, Meta(extra_json_schema={"enum": ["error", "warning", "never"]})] = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rule: Annotated[tuple[RuleTable, ...], Meta(description="Tables `[[rule]]`; the first that matches decides.")] = ()
    describe: Annotated[Details, Meta(description="The table `[describe]`.")] = Details()
    follow_links: bool = False
    map: Annotated[
        dict[str, str],
        Meta(description="Local copies by the `@id` in the description; relative to the folder of the settings."),
    ] = {}
    limit: Annotated[LimitTable, Meta(description="The table `[limit]`.")] = LimitTable()
    cache: Annotated[bool | None, Meta(description="Whether results of checks are kept in the user's cache.")] = None

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names and files of the profiles (default: `standard`)."""
        return ((self.profile,) if isinstance(self.profile, str) else self.profile) or ("standard",)

    def options(self) -> dict[str, Any]:
        """Return what the settings say, as options of commands."""
        names = ("select", "ignore", "follow_links", "format", "columns", "data", "baseline", "output_format")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.fail_on is not None:
            if self.fail_on not in get_args(FailOn):
                wrong, known = clipped(self.fail_on), ", ".join(get_args(FailOn))
                raise UsageError(f"configuration: fail-on is {wrong!r}, expected one of {known}")
            given["fail_on"] = self.fail_on
        return {"profile": list(self.profiles), "overrides": self.overrides, **given}

    @property
    def overrides(self) -> tuple[Override, ...]:
        grades = {"ignore": None} | {severity.value: severity for severity in Severity}
        for table in self.rule:
            if not table.reason.strip():
                raise UsageError(f"configuration: the entry for {', '.join(table.rules)} needs a `reason`")
            if table.severity not in grades:
                known = ", ".join(grades)
                raise UsageError(f"configuration: unknown severity {clipped(table.severity)!r}; known: {known}")
        return tuple(
            Override(each.rules, grades[each.severity], each.reason, each.paths)
            for each in self.rule
            if not each.is_over
        )


def load_config(path: str | Path) -> Config:
    """Read a settings file, or the table `[tool.corpusfmt]` of a `pyproject.toml`.

    Raises `UsageError` that names the file and its fault.
    """
    what = f"configuration {path}"
    text = toml_at(path, "configuration")
    table = decoded_toml(text, what)
    if Path(path).name == _PROJECT:
        tools = table.get("tool")
        table = tools.get("corpusfmt", {}) if isinstance(tools, dict) else {}
    config = converted(table, Config, what)
    folder = Path(path).parent
    config.map = {name: str(folder / copy) for name, copy in config.map.items()}
    config.paths = tuple(name if is_remote(name) else os.path.relpath(folder / name) for name in config.paths)
    config.baseline = None if config.baseline is None else str(folder / config.baseline)
    if config.columns is not None and names_a_file(config.columns):
        config.columns = str(folder / config.columns)
    return config


def opens_no_more(config: Config, path: str) -> tuple[Config, list[str]]:
    """Return settings that were found at `path`, not named, without those by which files are read, and the names of these.

    Raises `UsageError` for the file of a profile, without which less would be checked.
    """
    if file := next(filter(names_a_file, config.profiles), None):
        raise UsageError(f"{path} names the profile {clipped(file)!r}, a file: to use it, add --config {path}")
    if config.columns is not None and names_a_file(config.columns):
        raise UsageError(
            f"{path} names the columns {clipped(config.columns)!r}, a file: to use it, add --config {path}"
        )
    opening = (("follow-links", config.follow_links), ("map", config.map), ("baseline", config.baseline))
    left = [name for name, given in opening if given]
    return replace(config, follow_links=False, map={}, baseline=None), left


_MOST_SEARCHED = 1024 * 1024
_OWN, _PROJECT = "corpusfmt.toml", "pyproject.toml"


def find_config(inputs: Iterable[str]) -> Path | None:
    """Return the settings file of the working directory or of its nearest parent, up to the top of a Git repository.

    Files inside the root of an input (`docs/paths.md`) do not count: the data must not decide how it is judged. Nor do
    those of other users, who can write to folders like `/tmp`.
    """
    named = [folder for each in inputs for folder in _folders_of(each)]
    roots = [root for each in named for root in _roots_of(each)]
    working = Path.cwd()
    for folder in (working, *working.parents):
        if not any(each.is_relative_to(folder / side) for each in named for side in _SIDES):
            for path in (folder / _OWN, folder / _PROJECT):
                # What may not be read is as if it were not there, unless its name is ours.
                with suppress(OSError):
                    places = (path, Path(os.path.realpath(path)))
                    is_data = any(place.is_relative_to(root) for place in places for root in roots)
                    if is_data or not path.is_file() or not is_ours(path):
                        continue
                    if path.name == _OWN:
                        return path
                    # The `pyproject.toml` of another tool may be in any state.
                    with path.open("rb") as file:
                        if b"[tool.corpusfmt" in file.read(_MOST_SEARCHED):
                            return path
        if (folder / ".git").exists():
            break
    return None


# The folders of a Dolma dataset, which are often named alone.
_SIDES = ("documents", "attributes")


def _folders_of(named: str) -> Iterator[Path]:
    """Yield the folder of a named path, as it was named and behind links."""
    if named == "-" or is_remote(named):
        return
    path = Path(local_path(named))
    if is_pattern(named):
        path = Path(*takewhile(lambda part: not has_magic(part), path.parts))
    folder = path if os.path.isdir(path) else path.parent  # noqa: PTH112 - never raises
    yield Path(os.path.abspath(folder))  # noqa: PTH100 - `Path.absolute` keeps `..`
    yield Path(os.path.realpath(folder))


def _roots_of(folder: Path) -> Iterator[Path]:
    """Yield a folder, and the Dolma dataset around it."""
    yield folder
    for side in (folder, *folder.parents):
        if side.name in _SIDES and all(os.path.isdir(side.parent / name) for name in _SIDES):  # noqa: PTH112
            yield side.parent
