"""Internal: Repairs of CRO4xx and CRO5xx: record sets, fields, sources, inline data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from corpusfmt.formats.croissant.model.graph import Field, RecordSet
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES, BOUNDING_BOX_FORMATS
from corpusfmt.formats.croissant.repairs.dataset import typed
from corpusfmt.formats.croissant.repairs.document import declared, definition_of, name_at, parent_of
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Review, is_slip, meant, repairs
from corpusfmt.formats.croissant.rules.data import type_fault
from corpusfmt.formats.croissant.rules.records import OTHER_NAMES, TABLE_TYPES
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit, Finding


@repairs("CRO403", "CRO503", "CRO408", "CRO416", "CRO423", safe=False)
def _left_out(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield draft.remove(pointer)


@repairs("CRO415")
def _empty_transform(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield draft.remove(pointer)


@repairs("CRO404", "CRO411", "CRO606")
def _name_that_is_meant(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right = meant(finding)
    place = pointer if isinstance(draft.at(pointer), str) else f"{pointer}/@id"
    written = draft.at(place)
    if right and isinstance(written, str):
        if not is_slip(written, right):
            raise Review(draft.replace(place, right))
        yield draft.replace(place, right)


@repairs("CRO405", "CRO419")
def _term_that_was_lost(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    term = {"CRO405": "source", "CRO419": "dataType"}[finding.code]
    if f"map `{term}`" in finding.message:
        yield from declared(draft, {term: definition_of(term)})
    elif term == "dataType" and isinstance(draft.at(pointer), dict):
        defined = draft.object_at("/@context").get(term, definition_of(term))
        if not str(defined.get("@id") if isinstance(defined, dict) else defined).endswith(term):
            return  # in this context, the term is another property
        raise Review(draft.insert(pointer, "dataType", "sc:Text"))
    elif term == "source" and (source := _column_like_the_others(draft, pointer)):
        raise Review(draft.insert(pointer, "source", source))


def _column_like_the_others(draft: Draft, pointer: str) -> Any:
    """Return a source in the file of the other fields: the column with the name of the field."""
    record_set, node = _record_set(draft, pointer), draft.at(pointer)
    files = set()
    for each in record_set.fields if record_set is not None else ():
        source = draft.at(f"{each.node.pointer}/source")
        if isinstance(source, dict) and isinstance(source.get("extract"), dict) and "column" in source["extract"]:
            files.add(
                str(source.get("fileObject", {}).get("@id", "")) if isinstance(source.get("fileObject"), dict) else ""
            )
    name = str(node.get("@id", "")).rpartition("/")[2] if isinstance(node, dict) else ""
    if len(files) != 1 or not name or not (file := files.pop()):
        return None
    return {"fileObject": {"@id": file}, "extract": {"column": name}}


_OF_ONE = ("fileObject", "fileSet", "recordSet", "field", "column", "jsonPath", "fileProperty")


@repairs("CRO406", "CRO409", safe=False)
def _first_of_several(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    given = [name for name in draft.object_at(pointer) if name.rpartition(":")[2] in _OF_ONE]
    for name in given[1:]:
        yield draft.remove(f"{pointer}/{escaped(name)}")


_MEDIA = {"sc:ImageObject", "sc:AudioObject", "sc:VideoObject"}


@repairs("CRO410", safe=False)
def _extract_that_fits(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Keep the other extraction, if there is one; use the content of a file for an image, audio or video."""
    extract, wrong = draft.at(parent_of(pointer)), name_at(pointer).rpartition(":")[2]
    each = draft.views.get(parent_of(parent_of(parent_of(pointer))))
    if not isinstance(extract, dict) or wrong not in ("column", "jsonPath"):
        return
    if "fileProperty" in extract or (wrong == "jsonPath" and "column" in extract):
        yield draft.remove(pointer)
    elif isinstance(each, Field) and _MEDIA & set(each.data_types):
        kept = {name: value for name, value in extract.items() if name != name_at(pointer)}
        yield draft.replace(parent_of(pointer), {**kept, "fileProperty": "content"})


@repairs("CRO427", safe=False)
def _column_of_its_name(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    """Use the column of a table with the name of the field."""
    kind = re.search(r"whole file of type `([^`]+)`", finding.message)
    name = draft.text_at(f"{parent_of(pointer)}/@id").rpartition("/")[2]
    source = draft.at(pointer)
    is_bare = isinstance(source, dict) and "fileObject" in source and "extract" not in source
    if kind is not None and kind.group(1).lower() in TABLE_TYPES and is_bare and name:
        yield draft.insert(pointer, "extract", {"column": name})


@repairs("CRO412", safe=False)
def _closed_path(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    from corpusfmt.formats.croissant.model.jsonpath import jsonpath_fault  # noqa: PLC0415 - few descriptions have one

    written = draft.at(pointer)
    if isinstance(written, str) and jsonpath_fault(f"{written}]") is None:
        yield draft.replace(pointer, f"{written}]")


@repairs("CRO413", safe=False)
def _pattern_of_files(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Read an invalid regular expression as a glob pattern, and capture its star."""
    written = draft.at(pointer)
    if isinstance(written, str) and re.fullmatch(r"\*[\w.-]*", written):
        yield draft.replace(pointer, f"^(.*){re.escape(written[1:])}$")


@repairs("CRO428", safe=False)
def _one_group(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Capture the last group only."""
    written = draft.text_at(pointer)
    groups = [found.start() for found in re.finditer(r"(?<!\\)\((?!\?)", written)]
    for start in reversed(groups[:-1]):
        written = f"{written[: start + 1]}?:{written[start + 1 :]}"
    if written:
        yield draft.replace(pointer, written)


@repairs("CRO429", safe=False)
def _value_alone(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    for name in ("source", "cr:source"):
        if draft.at(f"{parent_of(pointer)}/{name}") is not ABSENT:
            yield draft.remove(f"{parent_of(pointer)}/{name}")


@repairs("CRO525", safe=False)
def _url_of_a_split(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Add the URL of each split, if all have a known name."""
    view, iri = draft.views.get(pointer), draft.at(f"{pointer}/@id")
    rows = view.rows or [] if isinstance(view, RecordSet) else []
    names = [_split_of(row.get(f"{iri}/name")) for _, row in rows if isinstance(row, dict)]
    if not rows or len(names) != len(rows) or not all(names) or not isinstance(draft.at(f"{pointer}/field"), list):
        return
    yield draft.append(f"{pointer}/field", {"@type": "cr:Field", "@id": f"{iri}/url", "dataType": "sc:URL"})
    for (place, _), name in zip(rows, names, strict=True):
        yield draft.insert(place, f"{iri}/url", name)


def _split_of(value: object) -> str:
    plain = value.rpartition(":")[2].lower() if isinstance(value, str) else ""
    return next((split for begin, split in _SPLITS.items() if plain.startswith(begin)), "")


@repairs("CRO420")
def _types_as_classes(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    if not isinstance(draft.at(pointer), dict):
        yield draft.declare("dataType", definition_of("dataType"))


@repairs("CRO501")
def _data_as_json(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    names = [step for step in pointer.split("/") if step.rpartition(":")[2] in ("data", "examples")]
    for name in names[-1:]:
        yield draft.declare(name, definition_of(name.rpartition(":")[2]))


@repairs("CRO414", safe=False)
def _group(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    if written := draft.text_at(pointer):
        yield draft.replace(pointer, f"({written})")


@repairs("CRO417", safe=False)
def _one_at_a_time(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    transform = draft.object_at(pointer)
    kept = {name: value for name, value in transform.items() if name[:1] == "@"}
    each = [{**kept, name: value} for name, value in transform.items() if name[:1] != "@"]
    if each and not isinstance(draft.at(parent_of(pointer)), list):
        yield draft.replace(pointer, each)


_STRFTIME = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "f": "SSSSSS", "p": "a",
    "B": "MMMM", "b": "MMM", "A": "EEEE", "a": "EEE", "j": "DDD", "z": "xx", "Z": "z", "F": "yyyy-MM-dd", "T": "HH:mm:ss",
}  # fmt: skip


# mlcroissant reads dates by strftime alone, and no record with a pattern of CLDR.
@repairs("CRO418", safe=False)
def _date_pattern(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.text_at(pointer)
    parts = re.findall(r"%-?([A-Za-z])|([A-Za-z]+)|([^A-Za-z%]+)", written)
    if "%" in written and all(not letter or letter in _STRFTIME for letter, _, _ in parts):
        yield draft.replace(
            pointer,
            "".join(_STRFTIME[letter] if letter else (text and f"'{text}'") or mark for letter, text, mark in parts),
        )


@repairs("CRO421")
def _data_type(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right, written = meant(finding), draft.at(pointer)
    wrong = re.search(r"data type `([^`]+)`", finding.message)
    if wrong is None:
        return
    if not right:
        if isinstance(written, list) and wrong.group(1) in written and len(written) > 1:
            raise Review(draft.remove(f"{pointer}/{written.index(wrong.group(1))}"))
        return
    listed = written if isinstance(written, list) else [written]
    for index, each in enumerate(listed):
        if each == wrong.group(1):
            edit = draft.replace(f"{pointer}/{index}" if isinstance(written, list) else pointer, right)
            if not (is_slip(each, right) or OTHER_NAMES.get(each.lower()) == right):
                raise Review(edit)
            yield edit


@repairs("CRO422", safe=False)
def _atomic_type(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield draft.append(pointer, "sc:Text")


def _record_set(draft: Draft, pointer: str) -> RecordSet | None:
    while pointer:
        view = draft.views.get(pointer)
        if isinstance(view, RecordSet):
            return view
        pointer = parent_of(pointer)
    return None


@repairs("CRO504")
def _null_where_absent(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    record_set, message = _record_set(draft, pointer), finding.message
    for each in record_set.fields if record_set is not None else ():
        if record_set is None or not message.startswith(f"{each.title}:"):
            continue
        name = each.node.written_id if isinstance(each.node.written_id, str) else each.id
        present = record_set.column(each)
        for place, row in record_set.rows or ():
            # An unknown key may be a misspelling of this one: a null would replace its value.
            is_clear = isinstance(row, dict) and all(key in draft.ids or key[:1] == "@" for key in row)
            if name is not None and present and is_clear and place not in present:
                yield draft.insert(place, name, None)


@repairs("CRO505", "CRO510")
def _key_of_a_record(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    record_set, right = _record_set(draft, pointer), meant(finding)
    wrong = re.search(r"the key(?: of an example)? `([^`]*)`", finding.message)
    if record_set is None or not right or wrong is None:
        return
    rows = record_set.inline("cr:data" if finding.code == "CRO505" else "cr:examples") or ()
    again = [
        draft.remove(f"{place}/{escaped(wrong.group(1))}")
        for place, row in rows
        if isinstance(row, dict) and wrong.group(1) in row and row.get(right, ABSENT) == row[wrong.group(1)]
    ]
    edits = again + [
        draft.rename(f"{place}/{escaped(wrong.group(1))}", right)
        for place, row in rows
        if isinstance(row, dict) and wrong.group(1) in row and right not in row
    ]
    if not is_slip(wrong.group(1), right):
        raise Review(*edits)
    yield from edits


_KINDS = {"a boolean": "Boolean", "an integer": "Integer", "a number": "Number", "a string": "Text", "a URL": "Text"}


def _cast(value: Any, each: Field, spelled: str) -> Any:
    wanted = [ATOMIC_TYPES[name] for name in each.data_types if name in ATOMIC_TYPES]
    return typed(value, _KINDS.get(wanted[0].partition(" from ")[0], ""), spelled) if len(wanted) == 1 else ABSENT


@repairs("CRO506", "CRO511")
def _typed_values(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    record_set, message = _record_set(draft, pointer), finding.message
    for each in record_set.fields if record_set is not None else ():
        if record_set is None or not message.startswith(each.title):
            continue
        for place, value in record_set.column(each, "cr:data" if finding.code == "CRO506" else "cr:examples").items():
            row = draft.object_at(place)
            name = next((name for name in (each.node.written_id, each.id) if name in row), None)
            if name is None or type_fault(value, each.data_types) is None:
                continue
            pointer = f"{place}/{escaped(name)}"
            right = _cast(value, each, draft.spelled(pointer))
            if right is not ABSENT and type_fault(right, each.data_types) is None:
                yield draft.replace(pointer, right)


@repairs("CRO430", safe=False)
def _value_of_an_array(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    if "is not an array" in finding.message and "isArray" not in draft.object_at(parent_of(pointer)):
        yield draft.insert(parent_of(pointer), "isArray", True)


@repairs("CRO521", safe=False)
def _name_of_an_enumeration(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    view = draft.views.get(pointer)
    texts = [each for each in view.fields if "sc:Text" in each.data_types] if isinstance(view, RecordSet) else []
    if len(texts) == 1:
        yield draft.insert(texts[0].node.pointer, "equivalentProperty", "sc:name")


@repairs("CRO522", "CRO524", safe=False)
def _key(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    view = draft.views.get(pointer)
    fields = view.fields if isinstance(view, RecordSet) else []
    named = [each for each in fields if str(each.node.written_id).rpartition("/")[2] in ("name", "id", "key")]
    for each in (named or (fields if len(fields) == 1 else []))[:1]:
        if isinstance(each.node.written_id, str):
            yield draft.insert(pointer, "key", {"@id": each.node.written_id})


_SPLITS = {
    "train": "cr:TrainingSplit",
    "dev": "cr:ValidationSplit",
    "val": "cr:ValidationSplit",
    "test": "cr:TestSplit",
}


@repairs("CRO526", safe=False)
def _split(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    for name, value in draft.object_at(pointer).items():
        if isinstance(value, str) and f"`{value}`" in finding.message and (right := _split_of(value)):
            yield draft.replace(f"{pointer}/{escaped(name)}", right)


@repairs("CRO527", safe=False)
def _box(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    words = sorted(re.split("[^A-Z]+", draft.text_at(pointer).upper()))
    for known in sorted(BOUNDING_BOX_FORMATS):
        if sorted(known.split("_")) == words:
            yield draft.replace(pointer, known)
