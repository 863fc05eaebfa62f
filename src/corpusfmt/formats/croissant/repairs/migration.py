"""Internal: A migration of a description to a newer version, as edits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.version import OLD_NAMESPACES, VERSION_IRI, near_version
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit


def migrated(draft: Draft, version: str) -> Iterator[Edit]:
    """Yield the edits that bring a description to 1.0, or from 1.0 to 1.1."""
    if draft.description.version == "0.8":
        yield from _From08(draft).edits()
    elif version == "1.1":
        yield from _from_1_0(draft)


# From 1.0 to 1.1 -----------------------------------------------------------------------------------------------------

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


# From 0.8 to 1.0 -----------------------------------------------------------------------------------------------------

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
                    if isinstance(each, str) and (right := _type(each)) != each:
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


def _type(name: str) -> str:
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
