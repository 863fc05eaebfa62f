"""Internal: The versions of Croissant, and how documents name them."""

from __future__ import annotations

import re
from collections.abc import Collection

from corpusfmt.formats.croissant.model.nodes import Value
from corpusfmt.formats.croissant.model.shapes import VOCABULARIES

VERSIONS = ("0.8", "1.0", "1.1")
#: The versions that are written, the default last.
WRITTEN = ("1.0", "1.1")
VERSION_IRI = "http://mlcommons.org/croissant/"
#: The vocabulary of version 0.8, which had no `conformsTo` at first.
OLD_NAMESPACES = frozenset({"http://mlcommons.org/schema/", "https://mlcommons.org/schema/"})

_NEAR = re.compile(r"(?:https?://)?(?:www\.)?mlcommons\.org/croissant/?v?(\d+\.\d+)(?:\.\d+)?[/#]?", re.IGNORECASE)
_OLD_IN_TEXT = re.compile(rb'"https?://mlcommons\.org/schema/')
_CLAIMS_IN_TEXT = re.compile(
    rb'conformsTo"\s*:\s*(\[[^\]]{0,2000}\]|\{[^}]{0,400}\}|[^,}\]]{0,400})|conformsTo([^"](?:(?!conformsTo).){0,400})',
    re.DOTALL,
)
_IN_TEXT = re.compile(rb"mlcommons\.org/croissant/v?(\d\.\d)")
_NEAR_EXTENSION = re.compile(
    r"(?:https?://)?(?:www\.)?mlcommons\.org/croissant[/-](rai|geo)/v?(\d+(?:\.\d+)*)?[/#]?", re.IGNORECASE
)


def near_version(name: str) -> tuple[str, bool]:
    """Return the version that a name means ("" for none), and whether it is spelled as in the specification."""
    for version in VERSIONS:
        if name == VERSION_IRI + version:
            return version, True
    match = _NEAR.fullmatch(name.strip())
    if match is not None and match.group(1) in VERSIONS:
        return match.group(1), False
    return "", False


def meant_extension(name: str) -> str:
    """Return the extension IRI closest to a value of conformsTo, "" for none."""
    match = _NEAR_EXTENSION.fullmatch(name.strip())
    return VOCABULARIES[{"rai": "rai", "geo": "geocr"}[match.group(1).lower()]].version if match is not None else ""


def version_of(values: list[Value], namespaces: Collection[str] = (), declared: Collection[str] = ()) -> str:
    """Return the newest known version that a dataset claims, else the version of its vocabulary.

    `namespaces` are those that it uses, `declared` those of its contexts: files alone have no term of 0.8's namespace.
    """
    named = [near_version(value.iri)[0] for value in values if value.iri]
    is_old = not OLD_NAMESPACES.isdisjoint(namespaces) or (
        not OLD_NAMESPACES.isdisjoint(declared) and VERSION_IRI not in declared
    )
    vocabulary = "0.8" if is_old else "1.0"
    return max((version for version in named if version), default=vocabulary)


def version_in_text(data: bytes) -> str:
    """Return the version that a document seems to claim, from its bytes."""
    claims = b" ".join(match[1] or match[2] or b"" for match in _CLAIMS_IN_TEXT.finditer(data))
    found = {match.decode() for match in _IN_TEXT.findall(claims)} & set(VERSIONS)
    vocabulary = "0.8" if _OLD_IN_TEXT.search(data) else "1.0"
    return max(found, default=vocabulary)
