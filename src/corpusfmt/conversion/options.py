"""Internal: What a conversion is asked to do."""

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

#: Names the attributes that documents had embedded before they were merged.
EMBEDDED = "embedded"

_ACCEPT_LOSS = "accept it with --on-loss warn or allow: it is then counted in the report"

_SET_NAME = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")


class Split(Struct, frozen=True):
    """Embedded attributes whose names begin with `prefix` become rows of the attribute set `name`."""

    name: str
    prefix: str


class LanguageAttribute(Struct, frozen=True):
    """Attributes `key__LANGUAGE`, of an attribute set or (`set_name` empty) embedded in the documents."""

    set_name: str
    key: str


class Options(Struct, frozen=True):
    """What is asked of the documents on their way; crosses processes.

    `merge` makes one embedded object of all attributes of a document; where a name stands twice, the first of `prefer`
    that has it wins. `language_set` adds an attribute set that tells the language of each document.
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
    """Take `SET/KEY` or `KEY` apart. Raises `UsageError`."""
    if given is None:
        return None
    set_name, _, key = given.rpartition("/")
    if not key or (set_name and not _names_a_folder(set_name)):
        raise UsageError(f"--lang-attribute takes SET/KEY, or KEY for embedded attributes; got {clipped(given)!r}")
    return LanguageAttribute(set_name, key)


def splits_of(given: Sequence[str]) -> tuple[Split, ...]:
    """Take each `SET` or `SET=PREFIX` apart, the longest prefix first. Raises `UsageError`."""
    splits = [Split(name, prefix) for name, _, prefix in (each.partition("=") for each in given)]
    for split in splits:
        if not _names_a_folder(split.name):
            raise UsageError(
                f"--split-attributes takes SET or SET=PREFIX; {clipped(split.name)!r} cannot name a folder"
            )
    if len({split.name for split in splits}) < len(splits) or len({split.prefix for split in splits}) < len(splits):
        raise UsageError("--split-attributes: each set and each prefix can be named once")
    return tuple(sorted(splits, key=lambda split: -len(split.prefix)))


def _names_a_folder(name: str) -> bool:
    return _SET_NAME.fullmatch(name) is not None and {".", ".."}.isdisjoint(name.split("/"))


def check_sets(options: Options, found: AbstractSet[str]) -> None:
    """Raise `UsageError` for an attribute set that is named and is not among those of the source."""
    asked = [("--lang-attribute", options.language_attribute.set_name)] if options.language_attribute else []
    asked += [("--prefer-attributes", name) for name in options.prefer if name != EMBEDDED]
    for option, name in asked:
        if name and name not in found:
            known = ", ".join(f"`{each}`" for each in sorted(found)) or "none"
            raise UsageError(f"{option}: there is no attribute set `{name}`; found: {known}")


def checked(options: Options, *, by_language: bool) -> Options:
    """Return the options. Raises `UsageError` for those that contradict each other or mean nothing.

    `by_language` tells whether the target is laid out by language.
    """
    if options.merge and (options.splits or options.language_set):
        raise UsageError("--merge-attributes embeds attributes, the other option writes attribute files: choose one")
    if options.prefer and not options.merge:
        raise UsageError("--prefer-attributes says who wins when attributes are merged: add --merge-attributes")
    if options.language_field and options.language_attribute:
        raise UsageError("the language comes from --lang-field or from --lang-attribute: choose one")
    if not by_language and (options.language_field or options.language_attribute):
        raise UsageError(
            "--lang-field and --lang-attribute are for OSCAR, which has folders of languages: leave them out"
        )
    if options.added is not None:
        try:
            datetime.fromisoformat(options.added)
        except ValueError:
            raise UsageError(
                f"--added takes a date like 2024-01-31 or 2024-01-31T12:00:00Z; got {clipped(options.added)!r}"
            ) from None
    if options.source == "":
        raise UsageError("--source takes a name")
    return options


class Losses:
    """Counts, by reason, what does not come along."""

    def __init__(self, on_loss: OnLoss) -> None:
        self.counts: Counter[str] = Counter()
        self._on_loss = on_loss

    def add(self, lost: Mapping[str, int], at: Location) -> None:
        """Count what the target cannot hold. Raises `BadInput` where nothing may be lost."""
        if not lost:
            return
        self.counts.update(lost)
        if self._on_loss == "error":
            message = f"cannot be kept: {', '.join(lost)}"
            raise BadInput(finding(LOSSY_CONVERSION, Problem(message, at, _ACCEPT_LOSS)))

    def accept(self, what: str) -> None:
        """Count what an option gave up by name."""
        self.counts[what] += 1
