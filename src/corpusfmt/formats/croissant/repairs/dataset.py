"""Internal: Repairs of CRO2xx: the data set and its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.shapes import properties_of
from corpusfmt.formats.croissant.model.values import CONTROL
from corpusfmt.formats.croissant.model.version import OLD_NAMESPACES, VERSION_IRI, near_version
from corpusfmt.formats.croissant.repairs.document import declared, name_at, parent_of
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
    if name_at(pointer).endswith("conformsTo"):
        yield from declared(draft, {"conformsTo": "dct:conformsTo"})
    elif isinstance(draft.at(pointer), dict):
        yield from declared(draft, {"conformsTo": "dct:conformsTo"})
        yield draft.insert(pointer, "conformsTo", f"{VERSION_IRI}1.0")


@repairs("CRO204")
def _version(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right = _WRITE.search(finding.hint)
    written = draft.at(pointer)
    if right is not None:
        place = pointer if isinstance(written, str) else f"{pointer}/@id"
        if isinstance(draft.at(place), str):
            yield draft.replace(place, right.group(1))
    elif draft.description.wanted_version > draft.description.version:
        yield from migrated(draft, draft.description.wanted_version)
    elif draft.description.version == "0.8":
        raise Review(*migrated(draft, "1.0"))


@repairs("CRO213", safe=False)
def _one_value(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    for first in draft.list_at(pointer)[:1]:
        yield draft.replace(pointer, first)


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
    view = draft.views.get(parent_of(place)) or draft.terms.get(parent_of(place))
    if view is None:
        return
    names = {key: name for name, key in view.node.keys.items()}
    name = names.get(name_at(place), "")
    if name.endswith(":arrayShape") and "without" in finding.message:
        given = [key for key in draft.object_at(parent_of(place)) if key.rpartition(":")[2] == "isArray"]
        for key in given:
            yield draft.replace(f"{parent_of(place)}/{escaped(key)}", True)
        if not given:
            yield draft.insert(parent_of(place), "isArray", True)
        return
    if name.endswith(":arrayShape"):
        raise Review(draft.remove(pointer))
    for row in properties_of(view.shape, draft.description.version):
        right = ABSENT
        if row.name == name:
            right = typed(draft.at(pointer), row.kinds[0], draft.spelled(pointer))
        if right is not ABSENT:
            yield draft.replace(pointer, right)
            return


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
def _date(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
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


# --- migration to a newer version ---


def migrated(draft: Draft, version: str) -> Iterator[Edit]:
    """Yield the edits that bring a description to 1.0, or from 1.0 to 1.1."""
    if draft.description.version == "0.8":
        yield from _From08(draft).edits()
    elif version == "1.1":
        yield from _from_1_0(draft)


# From 1.0 to 1.1.

#: The terms of 1.1 that are not in the context of 1.0.
_TERMS_OF_1_1 = (
    "annotation", "arrayShape", "containedIn", "equivalentProperty", "excludes", "isArray", "readLines", "sdVersion",
    "unArchive", "value",
)  # fmt: skip
#: Names with another form in 1.1.
_SUCCESSORS = {"repeated": "isArray", "delimiter": "separator"}


def _from_1_0(draft: Draft) -> Iterator[Edit]:
    for dataset in draft.description.datasets:
        yield from _claimed(draft, dataset.node.pointer, "1.0", "1.1")
    context = draft.at("/@context")
    if isinstance(context, dict):
        for term in _TERMS_OF_1_1:
            if context.get(term) != f"cr:{term}":
                yield draft.declare(term, f"cr:{term}")
    for pointer, value in draft.walk():
        for old, new in _SUCCESSORS.items():
            if isinstance(value, dict) and old in value and new not in value and not _is_inline(pointer):
                yield draft.rename(f"{pointer}/{old}", new)


def _claimed(draft: Draft, pointer: str, old: str, new: str) -> Iterator[Edit]:
    for name in ("conformsTo", "dct:conformsTo"):
        for place in (
            f"{pointer}/{name}",
            f"{pointer}/{name}/@id",
            *(f"{pointer}/{name}/{each}" for each in range(20)),
        ):
            written = draft.at(place)
            if isinstance(written, str) and near_version(written)[0] == old:
                yield draft.replace(place, f"{VERSION_IRI}{new}")


def _is_inline(pointer: str) -> bool:
    return re.search(r"/(\w+:)?(data|examples)(/\d+)?(/|$)", pointer) is not None


# From 0.8 to 1.0.

_CLASSES = ("FileObject", "FileSet", "RecordSet", "Field")
_RAI_IN_0_8 = ("dataBiases", "dataCollection", "personalSensitiveInformation")
_POINTER = re.compile(r"#\{([^{}]+)\}")


class _From08:
    """The vocabulary of 0.8 had its own namespace, and names where 1.0 has identifiers."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._root: Mapping[str, Any] = draft.tree if isinstance(draft.tree, dict) else {}
        # Identifiers by name: of files with their class, of record sets and fields.
        self._files: dict[str, tuple[str, str]] = {}
        self._fields: dict[str, str] = {}
        self._record_sets: dict[str, str] = {}
        for _, file in self._members("", "distribution"):
            if isinstance(name := file.get("name"), str):
                self._files[name] = file.get("@id", _iri(name)), _class_of(file)
        for _, record_set in self._members("", "recordSet"):
            if isinstance(name := record_set.get("name", record_set.get("@id")), str):
                self._record_sets[name] = _iri(name)
                self._name_fields(record_set, name, _iri(name))

    def _name_fields(self, holder: Mapping[str, Any], name: str, iri: str) -> None:
        for each in (*_listed(_value(holder, "field")), *_listed(_value(holder, "subField"))):
            if isinstance(each, dict) and isinstance(of_field := each.get("name"), str):
                self._fields[f"{name}/{of_field}"] = f"{iri}/{_iri(of_field)}"
                self._name_fields(each, f"{name}/{of_field}", f"{iri}/{_iri(of_field)}")

    def _members(self, pointer: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the objects under a property, with any prefix, with their pointers."""
        holder = self._draft.object_at(pointer)
        for key in holder:
            if key.rpartition(":")[2] == name:
                place = f"{pointer}/{escaped(key)}"
                for where, each in _placed(place, holder[key]):
                    if isinstance(each, dict):
                        yield where, each

    def edits(self) -> Iterator[Edit]:
        """Yield all edits."""
        draft = self._draft
        yield from self._context()
        for place, value in draft.walk():
            if isinstance(value, dict) and not _is_inline(place):
                yield from self._names(place, value)
        if not any(key.endswith("conformsTo") for key in self._root):
            yield draft.insert("", "conformsTo", f"{VERSION_IRI}1.0")
        yield from _claimed(draft, "", "0.8", "1.0")
        for place, file in self._members("", "distribution"):
            yield from self._identified(place, file, self._files.get(str(file.get("name")), ("", ""))[0])
            yield from self._references(place, file, "containedIn")
        for place, record_set in self._members("", "recordSet"):
            yield from self._record_set(place, record_set)

    def _context(self) -> Iterator[Edit]:
        context = self._root.get("@context")
        own = context.items() if isinstance(context, dict) else ()
        old = {name for name, iri in own if isinstance(iri, str) and iri in OLD_NAMESPACES}
        whole = appendix("1.0")
        kept = {
            name: iri
            for name, iri in own
            if name not in whole and name not in old and isinstance(iri, str) and iri.partition(":")[0] not in old
        }
        yield self._draft.replace("/@context", {**whole, **kept})

    def _names(self, pointer: str, node: Mapping[str, Any]) -> Iterator[Edit]:
        """Yield the new names of classes, properties and data types of one node."""
        draft = self._draft
        for key, value in node.items():
            place = f"{pointer}/{escaped(key)}"
            local = key.rpartition(":")[2]
            if key in ("@type", "dataType") or local == "dataType":
                for where, each in _placed(place, value):
                    if isinstance(each, str) and (right := _type_after_0_8(each)) != each:
                        yield draft.replace(where, right)
            if key.startswith("ml:") and local not in node:
                yield draft.rename(place, f"rai:{local}" if local in _RAI_IN_0_8 else local)
            elif not pointer and key in _RAI_IN_0_8:
                yield draft.rename(place, f"rai:{key}")
            elif not pointer and key == "citation" and isinstance(value, str) and "citeAs" not in node:
                yield draft.rename(place, "citeAs")

    def _identified(self, pointer: str, node: Mapping[str, Any], iri: str) -> Iterator[Edit]:
        if iri and "@id" not in node:
            yield self._draft.lead(pointer, "@id", iri)
        elif iri and node["@id"] != iri and re.search(r"\s", str(node["@id"])):
            yield self._draft.replace(f"{pointer}/@id", iri)

    def _references(self, pointer: str, node: Mapping[str, Any], name: str) -> Iterator[Edit]:
        for key in node:
            if key.rpartition(":")[2] == name:
                for where, each in _placed(f"{pointer}/{escaped(key)}", node[key]):
                    if isinstance(each, str):
                        bare = _bare(each)
                        yield self._draft.replace(where, {"@id": self._files.get(bare, (_iri(bare), ""))[0]})

    def _record_set(self, pointer: str, node: Mapping[str, Any]) -> Iterator[Edit]:
        draft = self._draft
        name = str(node.get("name", node.get("@id", "")))
        iri = self._record_sets.get(name, "")
        yield from self._identified(pointer, node, iri)
        for key, value in node.items():
            place = f"{pointer}/{escaped(key)}"
            match key.rpartition(":")[2]:
                case "key":
                    for where, each in _placed(place, value):
                        if isinstance(each, str):
                            yield draft.replace(where, {"@id": self._field(_bare(each), name)})
                case "data":
                    for where, row in _placed(place, value):
                        for column in row if isinstance(row, dict) else ():
                            if f"{name}/{column}" in self._fields:
                                yield draft.rename(f"{where}/{escaped(column)}", self._fields[f"{name}/{column}"])
                case "isEnumeration" if value is True and "dataType" not in node:
                    yield draft.rename(place, "dataType")
                    yield draft.replace(place, "sc:Enumeration")
        yield from self._fields_of(pointer, name)

    def _fields_of(self, pointer: str, name: str) -> Iterator[Edit]:
        for kind in ("field", "subField", "parentField"):
            for place, field in self._members(pointer, kind):
                below = f"{name}/{field['name']}" if isinstance(field.get("name"), str) else name
                if kind != "parentField":
                    yield from self._identified(place, field, self._fields.get(below, ""))
                for key in field:
                    if key.rpartition(":")[2] in ("source", "references"):
                        yield from self._source(f"{place}/{escaped(key)}", field[key])
                yield from self._fields_of(place, below)

    def _source(self, pointer: str, value: Any) -> Iterator[Edit]:
        draft = self._draft
        if isinstance(value, str):
            yield draft.replace(pointer, self._pointed(_bare(value)))
            return
        for key, named in value.items() if isinstance(value, dict) else ():
            place = f"{pointer}/{escaped(key)}"
            local = key.rpartition(":")[2]
            if local in ("distribution", "field", "recordSet", "fileObject", "fileSet") and isinstance(named, str):
                right, target = self._target(_bare(named), local)
                if right != key:
                    yield draft.rename(place, right)
                yield draft.replace(place, target)

    def _target(self, name: str, local: str) -> tuple[str, dict[str, str]]:
        """Return the property and the reference that a name means."""
        if name in self._files:
            iri, kind = self._files[name]
            return ("fileSet" if kind == "FileSet" else "fileObject"), {"@id": iri}
        if name in self._fields:
            return "field", {"@id": self._fields[name]}
        if name in self._record_sets:
            return "recordSet", {"@id": self._record_sets[name]}
        return ("fileObject" if local == "distribution" else local), {"@id": _iri(name)}

    def _pointed(self, name: str) -> dict[str, Any]:
        """Return the data source for the pointer `#{file/column}` of early descriptions."""
        if name in self._fields:
            return {"field": {"@id": self._fields[name]}}
        file, _, column = name.rpartition("/")
        if file in self._files or column:
            key, target = self._target(file, "distribution")
            return {key: target, "extract": {"column": column}}
        key, target = self._target(name, "distribution")
        return {key: target}

    def _field(self, name: str, record_set: str) -> str:
        own = f"{record_set}/{name}"
        return (
            self._fields.get(own) or self._fields.get(name) or f"{self._record_sets.get(record_set, '')}/{_iri(name)}"
        )


def _type_after_0_8(name: str) -> str:
    prefix, _, local = name.rpartition(":")
    if local in _CLASSES and prefix in ("sc", "ml", ""):
        return f"cr:{local}"
    return f"cr:{local}" if prefix == "ml" else {"sc:Str": "sc:Text"}.get(name, name)


def _class_of(node: Mapping[str, Any]) -> str:
    kind = node.get("@type")
    return kind.rpartition(":")[2] if isinstance(kind, str) else ""


def _iri(name: str) -> str:
    return re.sub(r'[\s<>"{}|\\^`]+', "_", name)


def _bare(text: str) -> str:
    found = _POINTER.fullmatch(text)
    return found.group(1) if found else text


def _value(node: Mapping[str, Any], name: str) -> Any:
    return next((value for key, value in node.items() if key.rpartition(":")[2] == name), ABSENT)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is ABSENT else [value]


def _placed(pointer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield from ((f"{pointer}/{index}", each) for index, each in enumerate(value))
    else:
        yield pointer, value
