"""Internal: Options of a conversion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Literal

from msgspec import Struct

from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.model import BadInput, Location, Problem, UsageError
from corpusfmt.wording import clipped

OnLoss = Literal["error", "warn", "allow"]
OnBadRecord = Literal["stop", "quarantine"]

#: Name for the embedded attributes in `prefer`.
EMBEDDED = "embedded"

_ACCEPT_LOSS = "accept and count the loss with --on-loss warn or --on-loss allow"

_SET_NAME = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")


class Split(Struct, frozen=True):
    """Move embedded attributes whose names begin with `prefix` to the attribute set `name`."""

    name: str
    prefix: str


class LanguageAttribute(Struct, frozen=True):
    """Attributes `key__LANGUAGE` of an attribute set, or embedded ones if `set_name` is empty."""

    set_name: str
    key: str


class Options(Struct, frozen=True):
    """Changes to documents; crosses processes.

    `merge` embeds all attributes of a document; if a name occurs twice, the first set in `prefer` that has it wins.
    `language_set` adds an attribute set with the language of each document.
    """

    on_loss: OnLoss = "error"
    on_bad_record: OnBadRecord = "stop"
    language_field: str | None = None
    language_attribute: LanguageAttribute | None = None
    source: str | None = None
    added: str | None = None
    merge: bool = False
    prefer: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ()
    language_set: bool = False


def language_attribute_of(given: str | None) -> LanguageAttribute | None:
    """Parse `SET/KEY` or `KEY`. Raises `UsageError`."""
    if given is None:
        return None
    set_name, _, key = given.rpartition("/")
    if not key or (set_name and not _names_a_folder(set_name)):
        raise UsageError(
            f"--language-attribute is {clipped(given)!r}, expected SET/KEY, or KEY for embedded attributes"
        )
    return LanguageAttribute(set_name, key)


def splits_of(given: Sequence[str]) -> tuple[Split, ...]:
    """Parse each `SET` or `SET=PREFIX`; return the longest prefix first. Raises `UsageError`."""
    splits = [Split(name, prefix) for name, _, prefix in (each.partition("=") for each in given)]
    for split in splits:
        if not _names_a_folder(split.name):
            raise UsageError(
                f"--split-attributes: {clipped(split.name)!r} is not a folder name, expected SET or SET=PREFIX"
            )
    if len({split.name for split in splits}) < len(splits) or len({split.prefix for split in splits}) < len(splits):
        raise UsageError("--split-attributes names a set or prefix twice: name each once")
    return tuple(sorted(splits, key=lambda split: -len(split.prefix)))


def _names_a_folder(name: str) -> bool:
    return _SET_NAME.fullmatch(name) is not None and {".", ".."}.isdisjoint(name.split("/"))


def check_sets(options: Options, found: AbstractSet[str]) -> None:
    """Raise `UsageError` if an option names an attribute set that the source does not have."""
    asked = [("--language-attribute", options.language_attribute.set_name)] if options.language_attribute else []
    asked += [("--prefer-attributes", name) for name in options.prefer if name != EMBEDDED]
    for option, name in asked:
        if name and name not in found:
            known = ", ".join(f"`{each}`" for each in sorted(found)) or "none"
            raise UsageError(f"{option}: attribute set `{name}` not found; found: {known}")


def checked(options: Options, *, by_language: bool) -> Options:
    """Return the options. Raises `UsageError` if they contradict each other or have no effect.

    `by_language`: the target is laid out by language.
    """
    if options.merge and (options.splits or options.language_set):
        raise UsageError("--merge-attributes embeds attributes, the other option writes attribute files: choose one")
    if options.prefer and not options.merge:
        raise UsageError("--prefer-attributes only affects merging: add --merge-attributes")
    if options.language_field and options.language_attribute:
        raise UsageError("--language-entry and --language-attribute both name the language: choose one")
    if not by_language and (options.language_field or options.language_attribute):
        raise UsageError(
            "--language-entry and --language-attribute are only for OSCAR, which has folders by language: remove them"
        )
    if options.added is not None:
        try:
            datetime.fromisoformat(options.added)
        except ValueError:
            raise UsageError(
                f"--added is {clipped(options.added)!r}, expected a date like 2024-01-31 or 2024-01-31T12:00:00Z"
            ) from None
    if options.source == "":
        raise UsageError("--source is empty, expected a name")
    return options


class Losses:
    """Counts losses by reason."""

    def __init__(self, on_loss: OnLoss) -> None:
        self.counts: Counter[str] = Counter()
        self._on_loss = on_loss

    def add(self, lost: Mapping[str, int], at: Location) -> None:
        """Count losses. Raises `BadInput` if nothing may be lost."""
        if not lost:
            return
        self.counts.update(lost)
        if self._on_loss == "error":
            message = f"would be lost: {', '.join(lost)}"
            raise BadInput(finding(LOSSY_CONVERSION, Problem(message, at, _ACCEPT_LOSS)))

    def accept(self, what: str) -> None:
        """Count a loss that an option accepts."""
        self.counts[what] += 1
