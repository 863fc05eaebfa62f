"""Internal: Repairs of CRO4xx and CRO5xx: record sets, fields, sources, inline data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from corpusfmt.formats.croissant.model.graph import Field, RecordSet
from corpusfmt.formats.croissant.model.jsontree import parent_of
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES, BOUNDING_BOX_FORMATS
from corpusfmt.formats.croissant.repairs.dataset import typed
from corpusfmt.formats.croissant.repairs.document import declared, definition_of
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Defect, Review, is_slip, repairs, rewrites, sure
from corpusfmt.formats.croissant.rules.data import type_fault
from corpusfmt.formats.croissant.rules.records import OTHER_NAMES, TABLE_TYPES
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit

_MEDIA = {"sc:ImageObject", "sc:AudioObject", "sc:VideoObject"}
_OF_ONE = ("fileObject", "fileSet", "recordSet", "field", "column", "jsonPath", "fileProperty")


def _record_set(draft: Draft, pointer: str) -> RecordSet | None:
    """Return the record set that a place is in."""
    while pointer:
        view = draft.views.get(pointer)
        if isinstance(view, RecordSet):
            return view
        pointer = parent_of(pointer)
    return None


@repairs("CRO403", "CRO503", "CRO408", "CRO416", "CRO423", safe=False)
def _left_out(draft: Draft, at: Defect) -> Iterator[Edit]:
    # An extract of terms that the context maps to others says what its author meant.
    if at.code != "CRO408" or not at.value:
        yield draft.remove(at.pointer)


@repairs("CRO415")
def _empty_transform(draft: Draft, at: Defect) -> Iterator[Edit]:
    yield draft.remove(at.pointer)


@repairs("CRO404", "CRO411", "CRO606")
def _name_that_is_meant(draft: Draft, at: Defect) -> Iterator[Edit]:
    place = at.pointer if isinstance(at.value, str) else f"{at.pointer}/@id"
    written = draft.at(place)
    if at.meant and isinstance(written, str):
        yield from sure(is_slip(written, at.meant), draft.replace(place, at.meant))


@repairs("CRO405")
def _source(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Define a term that the context lacks, or use the column with the name of the field, as the other fields do."""
    if "map `source`" in at.message:
        yield from declared(draft, {"source": definition_of("source")})
        return
    record_set = _record_set(draft, at.pointer)
    sources = [draft.object_at(f"{field.node.pointer}/source") for field in record_set.fields] if record_set else []
    columns = [
        source for source in sources if isinstance(extract := source.get("extract"), dict) and "column" in extract
    ]
    files = {str(file.get("@id", "")) for source in columns if isinstance(file := source.get("fileObject"), dict)}
    name = str(draft.object_at(at.pointer).get("@id", "")).rpartition("/")[2]
    if len(files) == 1 and name and all("fileObject" in source for source in columns) and (file := files.pop()):
        raise Review(draft.insert(at.pointer, "source", {"fileObject": {"@id": file}, "extract": {"column": name}}))


@repairs("CRO419")
def _data_type_that_was_lost(draft: Draft, at: Defect) -> Iterator[Edit]:
    if "map `dataType`" in at.message:
        yield from declared(draft, {"dataType": definition_of("dataType")})
    elif isinstance(at.value, dict):
        defined = draft.object_at("/@context").get("dataType", definition_of("dataType"))
        # In another context, the term may be another property.
        if str(defined.get("@id") if isinstance(defined, dict) else defined).endswith("dataType"):
            raise Review(draft.insert(at.pointer, "dataType", "sc:Text"))


@repairs("CRO406", "CRO409", safe=False)
def _first_of_several(draft: Draft, at: Defect) -> Iterator[Edit]:
    given = [name for name in draft.object_at(at.pointer) if name.rpartition(":")[2] in _OF_ONE]
    for name in given[1:]:
        yield draft.remove(f"{at.pointer}/{escaped(name)}")


@repairs("CRO410", safe=False)
def _extract_that_fits(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Keep the other extraction, if there is one; use the content of a file for an image, audio or video."""
    extract, wrong = draft.at(at.above), at.name.rpartition(":")[2]
    field = draft.views.get(parent_of(parent_of(at.above)))
    if not isinstance(extract, dict) or wrong not in ("column", "jsonPath"):
        return
    if "fileProperty" in extract or (wrong == "jsonPath" and "column" in extract):
        yield draft.remove(at.pointer)
    elif isinstance(field, Field) and _MEDIA & set(field.data_types):
        kept = {name: value for name, value in extract.items() if name != at.name}
        yield draft.replace(at.above, {**kept, "fileProperty": "content"})


@repairs("CRO427", safe=False)
def _column_of_its_name(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Use the column of a table with the name of the field."""
    kind = re.search(r"whole file of type `([^`]+)`", at.message)
    name = draft.text_at(f"{at.above}/@id").rpartition("/")[2]
    is_bare = isinstance(at.value, dict) and "fileObject" in at.value and "extract" not in at.value
    if kind is not None and kind[1].lower() in TABLE_TYPES and is_bare and name:
        yield draft.insert(at.pointer, "extract", {"column": name})


@rewrites("CRO412", safe=False)
def _closed_path(path: str) -> str:
    from corpusfmt.formats.croissant.model.jsonpath import jsonpath_fault  # noqa: PLC0415 - few descriptions have one

    return f"{path}]" if jsonpath_fault(f"{path}]") is None else ""


@rewrites("CRO413", safe=False)
def _pattern_of_files(regex: str) -> str:
    """Read an invalid regular expression as a glob pattern, and capture its star."""
    return f"^(.*){re.escape(regex[1:])}$" if re.fullmatch(r"\*[\w.-]*", regex) else ""


@rewrites("CRO414", safe=False)
def _group(regex: str) -> str:
    return f"({regex})" if regex else ""


@rewrites("CRO428", safe=False)
def _one_group(regex: str) -> str:
    """Capture the last group only."""
    groups = [match.start() for match in re.finditer(r"(?<!\\)\((?!\?)", regex)]
    for start in reversed(groups[:-1]):
        regex = f"{regex[: start + 1]}?:{regex[start + 1 :]}"
    return regex


@repairs("CRO429", safe=False)
def _value_alone(draft: Draft, at: Defect) -> Iterator[Edit]:
    for name in ("source", "cr:source"):
        if draft.at(f"{at.above}/{name}") is not ABSENT:
            yield draft.remove(f"{at.above}/{name}")


@repairs("CRO420")
def _types_as_classes(draft: Draft, at: Defect) -> Iterator[Edit]:
    if not isinstance(at.value, dict):
        yield draft.declare("dataType", definition_of("dataType"))


@repairs("CRO501")
def _data_as_json(draft: Draft, at: Defect) -> Iterator[Edit]:
    names = [step for step in at.pointer.split("/") if step.rpartition(":")[2] in ("data", "examples")]
    for name in names[-1:]:
        yield draft.declare(name, definition_of(name.rpartition(":")[2]))


@repairs("CRO417", safe=False)
def _one_at_a_time(draft: Draft, at: Defect) -> Iterator[Edit]:
    transform = draft.object_at(at.pointer)
    kept = {name: value for name, value in transform.items() if name[:1] == "@"}
    steps = [{**kept, name: value} for name, value in transform.items() if name[:1] != "@"]
    if steps and not isinstance(draft.at(at.above), list):
        yield draft.replace(at.pointer, steps)


_STRFTIME = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "f": "SSSSSS", "p": "a",
    "B": "MMMM", "b": "MMM", "A": "EEEE", "a": "EEE", "j": "DDD", "z": "xx", "Z": "z", "F": "yyyy-MM-dd", "T": "HH:mm:ss",
}  # fmt: skip


# mlcroissant reads dates by strftime alone, and no record with a pattern of CLDR.
@rewrites("CRO418", safe=False)
def _date_pattern(written: str) -> str:
    parts = re.findall(r"%-?([A-Za-z])|([A-Za-z]+)|([^A-Za-z%]+)", written)
    if "%" not in written or not all(not letter or letter in _STRFTIME for letter, _, _ in parts):
        return ""
    return "".join(_STRFTIME[letter] if letter else (text and f"'{text}'") or mark for letter, text, mark in parts)


@repairs("CRO421")
def _data_type(draft: Draft, at: Defect) -> Iterator[Edit]:
    match = re.search(r"data type `([^`]+)`", at.message)
    for pointer, kind in draft.values_at(at.pointer) if match is not None else ():
        if match is None or kind != match[1]:
            continue
        if at.meant:
            is_sure = is_slip(kind, at.meant) or OTHER_NAMES.get(kind.lower().removeprefix("sc:")) == at.meant
            yield from sure(is_sure, draft.replace(pointer, at.meant))
        elif pointer != at.pointer and len(draft.list_at(at.pointer)) > 1:
            raise Review(draft.remove(pointer))


@repairs("CRO422", safe=False)
def _atomic_type(draft: Draft, at: Defect) -> Iterator[Edit]:
    yield draft.append(at.pointer, "sc:Text")


@repairs("CRO504")
def _null_where_absent(draft: Draft, at: Defect) -> Iterator[Edit]:
    record_set = _record_set(draft, at.pointer)
    for field in record_set.fields if record_set is not None else ():
        if record_set is None or not at.message.startswith(f"{field.title}:"):
            continue
        name = field.node.written_id if isinstance(field.node.written_id, str) else field.id
        present = record_set.column(field)
        for place, row in record_set.rows or ():
            # An unknown key may be a misspelling of this one: a null would replace its value.
            is_clear = isinstance(row, dict) and all(key in draft.ids or key[:1] == "@" for key in row)
            if name is not None and present and is_clear and place not in present:
                yield draft.insert(place, name, None)


@repairs("CRO505", "CRO510")
def _key_of_a_record(draft: Draft, at: Defect) -> Iterator[Edit]:
    record_set, right = _record_set(draft, at.pointer), at.meant
    match = re.search(r"the key(?: of an example)? `([^`]*)`", at.message)
    if record_set is None or not right or match is None:
        return
    wrong = match[1]
    rows = record_set.inline("cr:data" if at.code == "CRO505" else "cr:examples") or ()
    records = [(f"{place}/{escaped(wrong)}", row) for place, row in rows if isinstance(row, dict) and wrong in row]
    again = [draft.remove(place) for place, row in records if row.get(right, ABSENT) == row[wrong]]
    edits = again + [draft.rename(place, right) for place, row in records if right not in row]
    yield from sure(is_slip(wrong, right), *edits)


_KINDS = {"a boolean": "Boolean", "an integer": "Integer", "a number": "Number", "a string": "Text", "a URL": "Text"}


def _cast(value: Any, field: Field, spelled: str) -> Any:
    wanted = [ATOMIC_TYPES[name] for name in field.data_types if name in ATOMIC_TYPES]
    return typed(value, _KINDS.get(wanted[0].partition(" from ")[0], ""), spelled) if len(wanted) == 1 else ABSENT


@repairs("CRO506", "CRO511")
def _typed_values(draft: Draft, at: Defect) -> Iterator[Edit]:
    record_set = _record_set(draft, at.pointer)
    for field in record_set.fields if record_set is not None else ():
        if record_set is None or not at.message.startswith(field.title):
            continue
        for place, value in record_set.column(field, "cr:data" if at.code == "CRO506" else "cr:examples").items():
            row = draft.object_at(place)
            name = next((name for name in (field.node.written_id, field.id) if name in row), None)
            if name is None or type_fault(value, field.data_types) is None:
                continue
            pointer = f"{place}/{escaped(name)}"
            right = _cast(value, field, draft.spelled(pointer))
            if right is not ABSENT and type_fault(right, field.data_types) is None:
                yield draft.replace(pointer, right)


@repairs("CRO430", safe=False)
def _value_of_an_array(draft: Draft, at: Defect) -> Iterator[Edit]:
    if "is not an array" in at.message and "isArray" not in draft.object_at(at.above):
        yield draft.insert(at.above, "isArray", True)


@repairs("CRO521", safe=False)
def _name_of_an_enumeration(draft: Draft, at: Defect) -> Iterator[Edit]:
    view = draft.views.get(at.pointer)
    texts = [field for field in view.fields if "sc:Text" in field.data_types] if isinstance(view, RecordSet) else []
    if len(texts) == 1:
        yield draft.insert(texts[0].node.pointer, "equivalentProperty", "sc:name")


@repairs("CRO522", "CRO524", safe=False)
def _key(draft: Draft, at: Defect) -> Iterator[Edit]:
    view = draft.views.get(at.pointer)
    fields = view.fields if isinstance(view, RecordSet) else []
    named = [field for field in fields if str(field.node.written_id).rpartition("/")[2] in ("name", "id", "key")]
    for field in (named or (fields if len(fields) == 1 else []))[:1]:
        if isinstance(field.node.written_id, str):
            yield draft.insert(at.pointer, "key", {"@id": field.node.written_id})


_SPLITS = {
    "train": "cr:TrainingSplit",
    "dev": "cr:ValidationSplit",
    "val": "cr:ValidationSplit",
    "test": "cr:TestSplit",
}


def _split_of(value: object) -> str:
    plain = value.rpartition(":")[2].lower() if isinstance(value, str) else ""
    return next((split for begin, split in _SPLITS.items() if plain.startswith(begin)), "")


@repairs("CRO525", safe=False)
def _url_of_a_split(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Add the URL of each split, if all have a known name."""
    view, iri = draft.views.get(at.pointer), draft.at(f"{at.pointer}/@id")
    rows = view.rows or [] if isinstance(view, RecordSet) else []
    splits = [_split_of(row.get(f"{iri}/name")) if isinstance(row, dict) else "" for _, row in rows]
    if splits and all(splits):
        yield draft.append(f"{at.pointer}/field", {"@type": "cr:Field", "@id": f"{iri}/url", "dataType": "sc:URL"})
        for (place, _), split in zip(rows, splits, strict=True):
            yield draft.insert(place, f"{iri}/url", split)


@repairs("CRO526", safe=False)
def _split(draft: Draft, at: Defect) -> Iterator[Edit]:
    for name, value in draft.object_at(at.pointer).items():
        if isinstance(value, str) and f"`{value}`" in at.message and (right := _split_of(value)):
            yield draft.replace(f"{at.pointer}/{escaped(name)}", right)


@rewrites("CRO527", safe=False)
def _box(written: str) -> str:
    words = sorted(re.split("[^A-Z]+", written.upper()))
    return next((known for known in sorted(BOUNDING_BOX_FORMATS) if sorted(known.split("_")) == words), "")
