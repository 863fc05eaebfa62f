"""Internal: Repairs of CRO2xx: the data set and its values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from corpusfmt.formats.croissant.model.arrays import parsed_shape
from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.values import CONTROL
from corpusfmt.formats.croissant.model.version import VERSION_IRI, near_version
from corpusfmt.formats.croissant.repairs.document import declared, definition_of, name_at, parent_of
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Review, is_slip, meant, repairs
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit, Finding

_WRITE = re.compile(r"write `([^`]+)`")


@repairs("CRO201")
def _type(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if isinstance(written, str) and is_slip(written.rpartition(":")[2], "Dataset"):
        yield draft.replace(pointer, "sc:Dataset" if ":" in written else "Dataset")


@repairs("CRO202", safe=False)
def _one_type(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    for each in draft.list_at(pointer):
        if isinstance(each, str) and re.split("[:/]", each)[-1] == "Dataset":
            yield draft.replace(pointer, each)
            return


@repairs("CRO203")
def _claim(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield from declared(draft, {"conformsTo": "dct:conformsTo"})
    if not name_at(pointer).endswith("conformsTo"):
        yield draft.insert(pointer, "conformsTo", f"{VERSION_IRI}{draft.description.likely_version}")


@repairs("CRO204")
def _version(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right = _WRITE.search(finding.hint)
    written = draft.at(pointer)
    if right is not None:
        place = pointer if isinstance(written, str) else f"{pointer}/@id"
        if isinstance(draft.at(place), str):
            yield draft.replace(place, right.group(1))
    elif finding.hint.startswith("add"):
        yield from _claim_of_an_extension(draft, re.sub(r"/\d+$", "", pointer), finding)
    elif draft.description.version == "1.0" and draft.description.wanted_version == "1.1":
        yield from _from_1_0(draft)


@repairs("CRO213")
def _one_value(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    row = draft.property_at(pointer)
    if row is not None and row.name == "cr:arrayShape":
        yield from _typed_value(draft, pointer, finding)
    elif row is not None and row.kinds != ("Text",):
        raise Review(*(draft.replace(pointer, first) for first in draft.list_at(pointer)[:1]))


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
def _typed_value(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    place = parent_of(pointer) if name_at(pointer).isdigit() else pointer
    row = draft.property_at(place)
    if row is None:
        return
    if row.name != "cr:arrayShape":
        right = typed(draft.at(pointer), row.kinds[0], draft.spelled(pointer))
        if right is not ABSENT:
            yield draft.replace(pointer, right)
    elif "without" in finding.message:
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
def _creator(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    name = written.get("name") if isinstance(written, dict) else written
    if isinstance(name, str) and name.strip():
        kind = "sc:Organization" if _OF_ORGANISATIONS.search(name) else "sc:Person"
        if isinstance(written, str):
            yield draft.replace(pointer, {"@type": kind, "name": written})
        elif "@type" in draft.object_at(pointer):
            yield draft.replace(f"{pointer}/@type", kind)
        else:
            yield draft.lead(pointer, "@type", kind)


_HOST = r"(?i)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(/\S*)?"


@repairs("CRO216")
def _url(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if not isinstance(written, str) or not written.strip():
        return
    text = written.strip()
    if CONTROL.search(text):
        raise Review(draft.replace(pointer, CONTROL.sub("", text)))
    if name_at(pointer).endswith("contentUrl"):
        yield draft.replace(pointer, re.sub(r"\s", "%20", text))
    elif text != written and "://" in text and not re.search(r"\s", text):
        yield draft.replace(pointer, text)
    elif re.fullmatch(_HOST, text):
        raise Review(draft.replace(pointer, f"https://{text}"))


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
def _date(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if (span := _WRITE.search(finding.hint)) is not None:
        yield draft.replace(pointer, span.group(1))
    if not isinstance(written, str):
        return
    if right := _iso_date(written.strip()):
        yield draft.replace(pointer, right)
    elif name_at(pointer).endswith("Timeframe") and (span := _SPAN.fullmatch(written)):
        raise Review(draft.replace(pointer, "/".join(span.groups())))


@repairs("CRO218")
def _semantic_version(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    text = written.strip() if isinstance(written, str) else draft.spelled(pointer)
    found = re.fullmatch(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", text, re.IGNORECASE)
    if found is not None:
        yield draft.replace(pointer, ".".join(str(int(part or 0)) for part in found.groups()))


@repairs("CRO219")
def _licence(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right = _WRITE.search(finding.hint)
    if right is not None:
        yield draft.replace(pointer, right.group(1))


@repairs("CRO205", safe=False)
def _name(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Use the last part of the address as the name."""
    node = pointer if isinstance(draft.at(pointer), dict) else draft.holder_of(pointer)
    holder = draft.object_at(node)
    url = holder.get("url")
    last = re.sub(r"\.\w+$", "", url.rstrip("/").rpartition("/")[2]) if isinstance(url, str) and "://" in url else ""
    if last and "name" not in holder:
        yield draft.insert(node, "name", last)
    elif last and isinstance(draft.at(pointer), str):
        yield draft.replace(pointer, last)


@repairs("CRO207", safe=False)
def _address(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    same = draft.at(f"{pointer}/sameAs")
    if isinstance(same, str) and "://" in same:
        yield draft.insert(pointer, "url", same)


@repairs("CRO209", safe=False)
def _creator_that_published(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    publisher = draft.at(f"{pointer}/publisher")
    if isinstance(publisher, dict) and "name" in publisher:
        yield draft.insert(pointer, "creator", publisher)


@repairs("CRO210", safe=False)
def _day_of_publication(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    for name in ("dateModified", "dateCreated"):
        if isinstance(day := draft.at(f"{pointer}/{name}"), str):
            yield draft.insert(pointer, "datePublished", day[:10])
            return


@repairs("CRO801")
def _claim_of_an_extension(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    iri = re.search(r"add `([^`]+)`", finding.hint)
    for name in ("conformsTo", "dct:conformsTo"):
        place = f"{parent_of(pointer)}/{name}" if draft.at(parent_of(pointer)) is not draft.tree else f"/{name}"
        written = draft.at(place)
        if iri is not None and isinstance(written, list):
            yield draft.append(place, iri.group(1))
        elif iri is not None and isinstance(written, str | dict):
            yield draft.replace(place, [written, iri.group(1)])


@repairs("CRO802", safe=False)
def _class_that_is_meant(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    if isinstance(draft.at(pointer), str) and meant(finding):
        yield draft.replace(pointer, meant(finding))


@repairs("CRO804")
def _code_of_seven_digits(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    """Complete a short code; if the URL has another code, propose the URL of the code."""
    code = re.fullmatch(r"DUO_(\d{1,6})", draft.text_at(pointer))
    url, right = draft.at(f"{parent_of(pointer)}/url"), _WRITE.search(finding.hint)
    if code is not None:
        yield draft.replace(pointer, f"DUO_{code.group(1):0>7}")
    elif "but `url` names" in finding.message and isinstance(url, str) and right is not None:
        raise Review(draft.replace(f"{parent_of(pointer)}/url", right.group(1)))


@repairs("CRO301", "CRO401", "CRO402")
def _class(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    node = draft.at(pointer)
    if not isinstance(node, dict):
        return
    right = {"CRO401": "cr:RecordSet", "CRO402": "cr:Field"}.get(finding.code)
    right = right or ("cr:FileSet" if "includes" in node else "cr:FileObject")
    written = node.get("@type", ABSENT)
    if written is ABSENT:
        yield draft.lead(pointer, "@type", right)
        return
    edit = draft.replace(f"{pointer}/{escaped('@type')}", right)
    if not (isinstance(written, str) and is_slip(re.split("[:/#]", written)[-1], right.partition(":")[2])):
        raise Review(edit)
    yield edit


# --- from 1.0 to 1.1: CRO126 gives the terms that it removed their new names ---


def _from_1_0(draft: Draft) -> Iterator[Edit]:
    later = {term: iri for term, iri in appendix("1.1").items() if term not in appendix("1.0")}
    yield from _claimed_1_1(draft)
    yield from declared(draft, {term: iri for term, iri in later.items() if draft.at(f"/@context/{term}") != iri})


def _claimed_1_1(draft: Draft) -> Iterator[Edit]:
    for dataset in draft.description.datasets:
        for value in dataset.all("dct:conformsTo"):
            pointer = value.pointer if isinstance(draft.at(value.pointer), str) else f"{value.pointer}/@id"
            if near_version(draft.text_at(pointer))[0] == "1.0":
                yield draft.replace(pointer, f"{VERSION_IRI}1.1")


@repairs("CRO120", safe=False)
def _term_of_1_1(draft: Draft, _pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield from _claimed_1_1(draft)
    yield from declared(draft, {term: definition_of(term) for term in draft.description.later_terms})
