"""Internal: The names of a release's files, its parts, and the payload of a shard."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

Role = Literal["text", "metadata"]

_DATA_NAME = re.compile(
    r"(?P<code>[a-z]{2,3})"
    r"(?:(?P<dedup>_dedup)?(?P<text>\.txt)|_part_(?P<text_number>[0-9]+)\.txt"
    r"|_meta(?:_part_(?P<metadata_number>[0-9]+))?(?P<metadata>\.jsonl))"
    r"\.gz"
)
_CHECKSUM_NAME = re.compile(r"([a-z]{2,3})_sha256\.txt")


class DataName(Struct, frozen=True):
    """The parsed name of a text or metadata file; `digits` is the part number as written."""

    code: str
    role: Role
    digits: str | None = None
    dedup: bool = False

    @property
    def number(self) -> int | None:
        return None if self.digits is None else int(self.digits)

    @property
    def canonical_digits(self) -> bool:
        return self.digits is None or (self.digits != "0" and self.digits == self.digits.lstrip("0"))


def parse_name(name: str) -> DataName | None:
    """Return a parsed data file name, None if the schema has no such name."""
    match = _DATA_NAME.fullmatch(name)
    if match is None:
        return None
    role: Role = "metadata" if "_meta" in name else "text"
    digits = match["text_number"] or match["metadata_number"]
    # Python refuses to convert thousands of digits, and releases do not have billions of parts.
    if digits is not None and len(digits) > 9:
        return None
    return DataName(match["code"], role, digits, match["dedup"] is not None)


def role_of(name: str) -> Role | None:
    """Return the role of a data file by its name, None if the schema has no such name."""
    parsed = parse_name(name)
    return parsed.role if parsed else None


def checksum_code(name: str) -> str | None:
    """Return the language code in the name of a checksum list, None for other names."""
    match = _CHECKSUM_NAME.fullmatch(name)
    return match[1] if match else None


def data_name(code: str, role: Role, number: int | None) -> str:
    """Return the file name of a part."""
    part = "" if number is None else f"_part_{number}"
    return f"{code}{part}.txt.gz" if role == "text" else f"{code}_meta{part}.jsonl.gz"


class Listing(Struct, frozen=True):
    """The entries of a language's checksum list for the files of one shard.

    `digests` maps a role to the listed lower-case digests of its file, in the order of the list. `complete` is false if
    lines of the list could not be read; `orphans` are the digests of missing files.
    """

    path: str
    digests: Mapping[str, tuple[str, ...]]
    complete: bool = True
    orphans: Collection[str] = frozenset()


class OscarPart(Struct, frozen=True):
    """The payload of a shard: its place in the release.

    `name` is language and part as in document ids ("en/en_part_2"). `language_index` numbers the language directories of
    the plan, `release_index` its releases: ids are unique in a language and shared in a release. If `shuffled`, each line
    of the text is a document. `original` is the `language_index` of the language before deduplication, -1 if it is not
    known; lines of both are `compared`.
    """

    language: str
    name: str
    version: str
    language_index: int = 0
    release_index: int = 0
    dedup: bool = False
    listing: Listing | None = None
    shuffled: bool = False
    compared: bool = False
    original: int = -1


def original_of(variant: str) -> str:
    """Return the name of a variant before deduplication by that of the deduplicated one, "" for other names."""
    if variant == "packaged":
        return "packaged_nondedup"
    match = re.fullmatch(r"(|.*[-_.])dedup(licated)?", variant)
    return f"{match[1]}orig{'inal' if match[2] else ''}" if match else ""


def is_original(variant: str) -> bool:
    """Return whether a variant is named as one before deduplication."""
    return re.fullmatch(r"(?:|.*[-_.])(?:orig(?:inal)?|nondedup)", variant) is not None
