"""Internal: Repairs of CRO2xx and CRO8xx: the dataset and its values, and the classes of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from corpusfmt.formats.croissant.model.arrays import parsed_shape
from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.jsontree import parent_of
from corpusfmt.formats.croissant.model.values import CONTROL
from corpusfmt.formats.croissant.model.version import VERSION_IRI, near_version
from corpusfmt.formats.croissant.repairs.document import declared, definition_of
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Defect, Review, is_slip, repairs, rewrites, sure
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit


@rewrites("CRO201")
def _type(written: str) -> str:
    if not is_slip(written.rpartition(":")[2], "Dataset"):
        return ""
    return "sc:Dataset" if ":" in written else "Dataset"


@repairs("CRO202", safe=False)
def _one_type(draft: Draft, at: Defect) -> Iterator[Edit]:
    texts = (kind for kind in draft.list_at(at.pointer) if isinstance(kind, str))
    if kind := next((kind for kind in texts if re.split("[:/]", kind)[-1] == "Dataset"), ""):
        yield draft.replace(at.pointer, kind)


@repairs("CRO203")
def _claim(draft: Draft, at: Defect) -> Iterator[Edit]:
    yield from declared(draft, {"conformsTo": "dct:conformsTo"})
    if not at.name.endswith("conformsTo"):
        yield draft.insert(at.pointer, "conformsTo", f"{VERSION_IRI}{draft.description.likely_version}")


@repairs("CRO204")
def _version(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.to_write:
        place = at.pointer if isinstance(at.value, str) else f"{at.pointer}/@id"
        if isinstance(draft.at(place), str):
            yield draft.replace(place, at.to_write)
    elif at.hint.startswith("add"):
        yield from _claim_of_an_extension(draft, at)
    elif draft.description.version == "1.0" and draft.description.wanted_version == "1.1":
        # CRO126 gives the terms that 1.1 removed their new names.
        later = {term: iri for term, iri in appendix("1.1").items() if term not in appendix("1.0")}
        yield from _claimed_1_1(draft)
        yield from declared(draft, {term: iri for term, iri in later.items() if draft.at(f"/@context/{term}") != iri})


@repairs("CRO120", safe=False)
def _term_of_1_1(draft: Draft, _at: Defect) -> Iterator[Edit]:
    yield from _claimed_1_1(draft)
    yield from declared(draft, {term: definition_of(term) for term in draft.description.later_terms})


def _claimed_1_1(draft: Draft) -> Iterator[Edit]:
    for dataset in draft.description.datasets:
        for value in dataset.all("dct:conformsTo"):
            pointer = value.pointer if isinstance(draft.at(value.pointer), str) else f"{value.pointer}/@id"
            if near_version(draft.text_at(pointer))[0] == "1.0":
                yield draft.replace(pointer, f"{VERSION_IRI}1.1")


@repairs("CRO801")
def _claim_of_an_extension(draft: Draft, at: Defect) -> Iterator[Edit]:
    iri = re.search(r"add `([^`]+)`", at.hint)
    node = parent_of(re.sub(r"/\d+$", "", at.pointer))
    for name in ("conformsTo", "dct:conformsTo"):
        place = f"{node}/{name}" if draft.at(node) is not draft.tree else f"/{name}"
        written = draft.at(place)
        if iri is not None and isinstance(written, list):
            yield draft.append(place, iri[1])
        elif iri is not None and isinstance(written, str | dict):
            yield draft.replace(place, [written, iri[1]])


@repairs("CRO213")
def _one_value(draft: Draft, at: Defect) -> Iterator[Edit]:
    row = draft.property_at(at.pointer)
    if row is not None and row.name == "cr:arrayShape":
        yield from _typed_value(draft, at)
    elif row is not None and row.kinds != ("Text",):
        raise Review(*(draft.replace(at.pointer, first) for first in draft.list_at(at.pointer)[:1]))


_SIZES = re.compile(r'[\[(]?\s*+"?-?\d{1,18}+"?(?:\s*+[,x×*]\s*+"?-?\d{1,18}+"?)*+[,\s]*+[\])]?')
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def typed(value: Any, kind: str, spelled: str) -> Any:
    """Return a value, with its spelling in the text, as the expected kind of JSON, if that loses nothing; else `ABSENT`."""
    if kind == "Boolean":
        return _TRUTH.get(str(value).strip().lower(), ABSENT) if isinstance(value, str | int) else ABSENT
    if kind in ("Number", "Integer") and isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d{0,17})", value.strip()):
        return int(value)
    if kind == "Number" and isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d{0,11})\.\d{1,4}", value.strip()):
        return float(value)
    if kind == "Text" and isinstance(value, int | float):
        return spelled
    return ABSENT


@repairs("CRO214")
def _typed_value(draft: Draft, at: Defect) -> Iterator[Edit]:
    place = at.above if at.name.isdigit() else at.pointer
    row = draft.property_at(place)
    if row is None:
        return
    if row.name != "cr:arrayShape":
        right = typed(at.value, row.kinds[0], draft.spelled(at.pointer))
        if right is not ABSENT:
            yield draft.replace(at.pointer, right)
    elif "without" in at.message:
        given = [key for key in draft.object_at(parent_of(place)) if key.rpartition(":")[2] == "isArray"]
        for key in given:
            yield draft.replace(f"{parent_of(place)}/{escaped(key)}", True)
        if not given:
            yield draft.insert(parent_of(place), "isArray", True)
    elif _SIZES.fullmatch(written := draft.text_at(place) or draft.spelled(place)):
        shape = ",".join(re.findall(r"-?\d+", written))
        if parsed_shape(shape) is not None:
            yield draft.replace(place, shape)


_OF_ORGANISATIONS = re.compile(
    r"\b(universit|institut|inc|ltd|gmbh|foundation|lab|group|team|project|center|centre|commons)", re.IGNORECASE
)


@repairs("CRO215", safe=False)
def _creator(draft: Draft, at: Defect) -> Iterator[Edit]:
    name = at.value.get("name") if isinstance(at.value, dict) else at.value
    if not isinstance(name, str) or not name.strip():
        return
    kind = "sc:Organization" if _OF_ORGANISATIONS.search(name) else "sc:Person"
    if isinstance(at.value, str):
        yield draft.replace(at.pointer, {"@type": kind, "name": name})
    elif "@type" in draft.object_at(at.pointer):
        yield draft.replace(f"{at.pointer}/@type", kind)
    else:
        yield draft.lead(at.pointer, "@type", kind)


_HOST = r"(?i)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(/\S*)?"


@repairs("CRO216")
def _url(draft: Draft, at: Defect) -> Iterator[Edit]:
    text = at.text.strip()
    if CONTROL.search(text):
        raise Review(draft.replace(at.pointer, CONTROL.sub("", text)))
    if text and at.name.endswith("contentUrl"):
        yield draft.replace(at.pointer, re.sub(r"\s", "%20", text))
    elif text != at.text and "://" in text and not re.search(r"\s", text):
        yield draft.replace(at.pointer, text)
    elif re.fullmatch(_HOST, text):
        raise Review(draft.replace(at.pointer, f"https://{text}"))


_DENSE = "%Y%m%d"
_DATES = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", _DENSE, "%Y-%m-%d")
_SPAN = re.compile(r"\D*\b(\d{4})\b\D+\b(\d{4})\b\D*")


def _iso_date(text: str) -> str:
    """Return an unambiguous date in ISO 8601, "" for any other text."""
    numbers = re.fullmatch(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})", text)
    if numbers is not None:
        one, other, year = (int(number) for number in numbers.groups())
        if one <= 12 and other <= 12 and one != other:
            return ""  # the day and the month are ambiguous
        day, month = (one, other) if one > 12 else (other, one)
        text = f"{year:04}-{month:02}-{day:02}"
    for form in _DATES:
        if form == _DENSE and len(text) != len("20240131"):
            continue  # 202411 is a month, but strptime reads it as a day
        try:
            return datetime.strptime(text, form).date().isoformat()  # noqa: DTZ007 - a day has no time zone
        except ValueError:
            continue
    return ""


@repairs("CRO217")
def _date(draft: Draft, at: Defect) -> Iterator[Edit]:
    if right := at.to_write or _iso_date(at.text.strip()):
        yield draft.replace(at.pointer, right)
    elif at.name.endswith("Timeframe") and (span := _SPAN.fullmatch(at.text)):
        raise Review(draft.replace(at.pointer, "/".join(span.groups())))


@repairs("CRO218")
def _semantic_version(draft: Draft, at: Defect) -> Iterator[Edit]:
    text = at.text.strip() if isinstance(at.value, str) else draft.spelled(at.pointer)
    numbers = re.fullmatch(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", text, re.IGNORECASE)
    if numbers is not None:
        yield draft.replace(at.pointer, ".".join(str(int(part or 0)) for part in numbers.groups()))


@repairs("CRO219")
def _licence(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.to_write:
        yield draft.replace(at.pointer, at.to_write)


@repairs("CRO205", safe=False)
def _name(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Use the last part of the address as the name."""
    node = at.pointer if isinstance(at.value, dict) else draft.holder_of(at.pointer)
    url = draft.text_at(f"{node}/url")
    last = re.sub(r"\.\w+$", "", url.rstrip("/").rpartition("/")[2]) if "://" in url else ""
    if last and "name" not in draft.object_at(node):
        yield draft.insert(node, "name", last)
    elif last and isinstance(at.value, str):
        yield draft.replace(at.pointer, last)


@repairs("CRO207", safe=False)
def _address(draft: Draft, at: Defect) -> Iterator[Edit]:
    if "://" in (same := draft.text_at(f"{at.pointer}/sameAs")):
        yield draft.insert(at.pointer, "url", same)


@repairs("CRO209", safe=False)
def _creator_that_published(draft: Draft, at: Defect) -> Iterator[Edit]:
    publisher = draft.object_at(f"{at.pointer}/publisher")
    if "name" in publisher:
        yield draft.insert(at.pointer, "creator", publisher)


@repairs("CRO210", safe=False)
def _day_of_publication(draft: Draft, at: Defect) -> Iterator[Edit]:
    days = (draft.at(f"{at.pointer}/{name}") for name in ("dateModified", "dateCreated"))
    if (day := next((day for day in days if isinstance(day, str)), None)) is not None:
        yield draft.insert(at.pointer, "datePublished", day[:10])


@repairs("CRO802", safe=False)
def _class_that_is_meant(draft: Draft, at: Defect) -> Iterator[Edit]:
    if isinstance(at.value, str) and at.meant:
        yield draft.replace(at.pointer, at.meant)


@repairs("CRO804")
def _code_of_seven_digits(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Complete a short code; if the URL has another code, propose the URL of the code."""
    code = re.fullmatch(r"DUO_(\d{1,6})", at.text)
    if code is not None:
        yield draft.replace(at.pointer, f"DUO_{code[1]:0>7}")
    elif "but `url` names" in at.message and isinstance(draft.at(f"{at.above}/url"), str) and at.to_write:
        raise Review(draft.replace(f"{at.above}/url", at.to_write))


@repairs("CRO301", "CRO401", "CRO402")
def _class(draft: Draft, at: Defect) -> Iterator[Edit]:
    if not isinstance(at.value, dict):
        return
    right = {"CRO401": "cr:RecordSet", "CRO402": "cr:Field"}.get(at.code)
    right = right or ("cr:FileSet" if "includes" in at.value else "cr:FileObject")
    written = at.value.get("@type", ABSENT)
    if written is ABSENT:
        yield draft.lead(at.pointer, "@type", right)
    else:
        is_sure = isinstance(written, str) and is_slip(re.split("[:/#]", written)[-1], right.partition(":")[2])
        yield from sure(is_sure, draft.replace(f"{at.pointer}/@type", right))
