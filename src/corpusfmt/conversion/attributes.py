"""Internal: Attributes of documents: embedded ones, and rows of attribute sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from corpusfmt.conversion.options import EMBEDDED, LanguageAttribute, Losses, Options, Split
from corpusfmt.conversion.rules import ATTRIBUTE_COLLISION, finding
from corpusfmt.formats.provenance import line_languages_of
from corpusfmt.formats.rows.writing import attributes_row
from corpusfmt.model import BadInput, Document, Json, Location, Problem

#: The attribute set with the language of documents, and the prefix of its attributes, one per language.
LANGUAGE_SET = "oscar-language"
LANGUAGE_KEY = "oscar__language"

# What fastText writes before its labels.
_FASTTEXT = "__label__"
_ROW_FIELDS = frozenset({"id", "source", "attributes"})


def merge(document: Document, prefer: Sequence[str], at: Location, losses: Losses) -> None:
    """Embed the attributes of all sets; if a name has different values, the first set in `prefer` wins.

    `at` is the location of the document. Raises `BadInput` if no set in `prefer` decides.
    """
    if not document.attribute_rows:
        return
    rows = {name: json.loads(text) for name, text in document.attribute_rows.items()}
    sides = {EMBEDDED: document.attributes or {}} | {name: each["attributes"] for name, each in rows.items()}
    merged: Json = {}
    origin: dict[str, str] = {}
    for name, found in sides.items():
        for key, value in found.items():
            if key in merged and merged[key] != value:
                winner = next((each for each in prefer if each in {name, origin[key]}), None)
                if winner is None:
                    both = f"`{origin[key]}` and `{name}`"
                    message = f"attribute `{key}` has different values in {both} (document `{document.id}`)"
                    hint = f"choose the set that wins with --prefer-attributes, like --prefer-attributes {name}"
                    raise BadInput(finding(ATTRIBUTE_COLLISION, Problem(message, at, hint)))
                losses.accept("attributes that others were preferred to")
                if winner != name:
                    continue
            merged[key] = value
            origin[key] = name
    others = sum(not each.keys() <= _ROW_FIELDS for each in rows.values())
    if others:
        losses.add({"other fields of attribute rows": others}, at)
    document.attributes = merged if merged or document.attributes is not None else None
    document.attribute_rows = {}


def split(document: Document, splits: Sequence[Split]) -> None:
    """Move embedded attributes to rows of the sets whose prefix they have; a set without any gets an empty row."""
    taken: dict[str, Json] = {each.name: {} for each in splits}
    kept: Json = {}
    for key, value in (document.attributes or {}).items():
        home = next((each.name for each in splits if key.startswith(each.prefix)), None)
        (kept if home is None else taken[home])[key] = value
    if document.attributes:
        document.attributes = kept or None
    made = {name: attributes_row(document, attributes) for name, attributes in sorted(taken.items())}
    document.attribute_rows = {**document.attribute_rows, **made}


def add_language(document: Document) -> None:
    """Add a row with the document's language."""
    document.attribute_rows = {**document.attribute_rows, LANGUAGE_SET: language_row(document)}


def language_row(document: Document) -> str:
    """Return the row of `LANGUAGE_SET`: a span with score for each line that OSCAR schema 2 identified.

    OSCAR 1 has no scores, and the folder shows the language: one span over the text, with score 1.
    """
    found: dict[str, list[list[float]]] = {}
    lines = line_languages_of(document)
    start = 0
    for line, identified in zip(document.text.split("\n"), lines, strict=False):
        if identified is not None:
            label, score = identified
            found.setdefault(f"{LANGUAGE_KEY}__{label}", []).append([start, start + len(line), score])
        start += len(line) + 1
    if document.lang and not lines:
        found[f"{LANGUAGE_KEY}__{document.lang}"] = [[0, len(document.text), 1.0]] if document.text else []
    return attributes_row(document, found)


def forget_language(document: Document) -> None:
    """Drop the language row if it adds nothing to the document."""
    found = document.attribute_rows.get(LANGUAGE_SET)
    if found is not None and json.loads(found) == json.loads(language_row(document)):
        rows = document.attribute_rows
        document.attribute_rows = {name: text for name, text in rows.items() if name != LANGUAGE_SET}


def language(document: Document, options: Options) -> object:
    """Return what names the language of a document: the field or the attribute that options choose, or else its own."""
    if options.language_entry:
        return (document.metadata or {}).get(options.language_entry)
    return _heaviest(document, options.language_attribute) if options.language_attribute else document.lang


def _heaviest(document: Document, chosen: LanguageAttribute) -> str | None:
    """Return the label whose attribute `KEY__LABEL` has the largest weight: the sum of score times span length.

    Ties, as on an empty text, go to the highest single score, then to the first label. None if no label has a weight above 0,
    or if a value is no score.
    """
    if chosen.set_name:
        text = document.attribute_rows.get(chosen.set_name)
        found = json.loads(text)["attributes"] if text is not None else {}
    else:
        found = document.attributes or {}
    prefix, length = f"{chosen.key}__", len(document.text)
    weights = {key: _weight(value, length) for key, value in found.items() if key.startswith(prefix)}
    scored = {key: weight for key, weight in weights.items() if weight is not None}
    if not weights or len(scored) < len(weights):
        return None
    best, weight = max(scored.items(), key=itemgetter(1))
    is_positive = weight > (0, 0) if not length else weight[0] > 0
    return best.removeprefix(prefix).removeprefix(_FASTTEXT) if is_positive else None


def _weight(value: Any, length: int) -> tuple[float, float] | None:
    """Return the weight and highest score of spans, or of one score for the whole text; None for anything else."""
    if _is_number(value):
        return value * length, value
    if not isinstance(value, list) or not all(map(_is_span, value)):
        return None
    return sum((end - start) * score for start, end, score in value), max((score for _, _, score in value), default=0)


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
