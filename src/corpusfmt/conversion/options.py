"""Internal: Options of a conversion."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Struct

from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import FORMATS, Engine, Finish, FollowLinks, Jobs, RecordSet, ShardOf, State
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.model import BadInput, Location, Problem, UsageError
from corpusfmt.options import File, Option, Rows, like
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
    """Changes to documents, as `Conversion` names them; crosses processes."""

    on_loss: OnLoss = "error"
    on_bad_record: OnBadRecord = "stop"
    language_entry: str | None = None
    language_attribute: LanguageAttribute | None = None
    source_name: str | None = None
    added: str | None = None
    merge_attributes: bool = False
    prefer_attributes: tuple[str, ...] = ()
    split_attributes: tuple[Split, ...] = ()
    language_attributes: bool = False


class _Destination(Rows, frozen=True):
    destination: File


class Conversion(_Destination, frozen=True, kw_only=True):
    """How something is converted: the options of `corpusfmt convert` and of `convert`."""

    to: str
    format: Annotated[str, Option(FORMATS, "--from --format", completion="format_names")] = "auto"
    on_loss: Annotated[OnLoss, Option("Stop before anything is lost, or count losses in the report.")] = "error"
    on_bad_record: Annotated[
        OnBadRecord,
        Option("Stop at the first bad record, or write them to DST-quarantine with reasons."),
    ] = "stop"
    language_entry: Annotated[str | None, Option("Field of `metadata` with the language.")] = None
    language_attribute: Annotated[
        str | None,
        Option(
            "Read the language from attributes KEY__LANGUAGE of a set (KEY alone: embedded attributes).",
            metavar="SET/KEY",
        ),
    ] = None
    source_name: Annotated[
        str | None,
        Option(
            "`source` of documents without one (default: the column profile, or oscar, croissant, parquet, "
            "jsonl or text for these formats, else none).",
            flag="--source",
        ),
    ] = None
    added: Annotated[str | None, Option("`added` of documents without one (default: none).", metavar="DATE")] = None
    merge_attributes: Annotated[
        bool, Option("Embed all attribute sets in the documents.", flag="--merge-attributes")
    ] = False
    prefer_attributes: Annotated[
        Sequence[str],
        Option(
            "Set that wins if merged sets share a name (`embedded`: the document's attributes); repeatable.",
            metavar="SET",
        ),
    ] = ()
    split_attributes: Annotated[
        Sequence[str],
        Option("Move embedded attributes whose names begin with PREFIX to a set; repeatable.", metavar="SET[=PREFIX]"),
    ] = ()
    language_attributes: Annotated[
        bool, Option("Add an attribute set with the language of each document.", flag="--language-attributes")
    ] = False
    record_set: RecordSet = None
    no_origin: Annotated[
        bool,
        Option("JSON Lines, Parquet: leave out `metadata.corpusfmt_row`, which restores rows.", flag="--no-origin"),
    ] = False
    part_bytes: Annotated[
        int | None,
        Option("Bytes of text or rows per file (default: keep the parts or shards).", flag="--part-size", least=1),
    ] = None
    compression: Annotated[
        str | None,
        Option("OSCAR, Dolma: isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9.", metavar="NAME"),
    ] = None
    limits: Limited = DEFAULT_LIMITS
    jobs: Jobs = 1
    engine: Engine = None
    state: State = None
    shard: ShardOf = None
    finish: Finish = False
    dry_run: Annotated[
        bool,
        Option("Only show the source and language of the first 1,000 documents of each shard.", flag="--dry-run"),
    ] = False
    follow_links: FollowLinks = False
    progress: Callable[[str, Progress], None] | None = None


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
    asked += [("--prefer-attributes", name) for name in options.prefer_attributes if name != EMBEDDED]
    for option, name in asked:
        if name and name not in found:
            known = ", ".join(f"`{each}`" for each in sorted(found)) or "none"
            raise UsageError(f"{option}: attribute set `{name}` not found; found: {known}")


def checked(asked: Conversion, *, by_language: bool) -> Options:
    """Return what changes documents. Raises `UsageError` for options that contradict each other or have no effect.

    `by_language`: the target is laid out by language.
    """
    options = like(
        Options,
        asked,
        language_attribute=language_attribute_of(asked.language_attribute),
        prefer_attributes=tuple(asked.prefer_attributes),
        split_attributes=splits_of(asked.split_attributes),
    )
    if asked.merge_attributes and (asked.split_attributes or asked.language_attributes):
        raise UsageError("--merge-attributes embeds attributes, the other option writes attribute files: choose one")
    if asked.prefer_attributes and not asked.merge_attributes:
        raise UsageError("--prefer-attributes only affects merging: add --merge-attributes")
    if asked.language_entry and asked.language_attribute:
        raise UsageError("--language-entry and --language-attribute both name the language: choose one")
    if not by_language and (asked.language_entry or asked.language_attribute):
        raise UsageError(
            "--language-entry and --language-attribute are only for OSCAR, which has folders by language: remove them"
        )
    if asked.added is not None:
        try:
            datetime.fromisoformat(asked.added)
        except ValueError:
            raise UsageError(
                f"--added is {clipped(asked.added)!r}, expected a date like 2024-01-31 or 2024-01-31T12:00:00Z"
            ) from None
    if asked.source_name == "":
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
