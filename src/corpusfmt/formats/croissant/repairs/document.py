"""Internal: Repairs of CRO1xx: contexts, names, identifiers, references."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator
from typing import Any

from corpusfmt.formats.croissant.model.contexts import appendix, bundled, is_keyword_like
from corpusfmt.formats.croissant.model.extensions import VOCABULARIES
from corpusfmt.formats.croissant.model.graph import Field, RecordSet, View
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES
from corpusfmt.formats.croissant.model.shapes import CROISSANT_PROPERTIES
from corpusfmt.formats.croissant.model.vocabulary import is_schema_property
from corpusfmt.formats.croissant.repairs.draft import Draft
from corpusfmt.formats.croissant.repairs.registry import Review, is_slip, meant, repairs
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit, Finding

_HTTP, _HTTPS = "http://schema.org/", "https://schema.org/"


def definition_of(term: str) -> Any:
    """Return the definition of a Croissant term in Appendix 1, or a definition in its style."""
    return appendix("1.0").get(term, f"cr:{term}")


def parent_of(pointer: str) -> str:
    """Return the pointer of the object or array that a value is in."""
    return pointer.rpartition("/")[0]


def name_at(pointer: str) -> str:
    """Return the name of a value, as the author wrote it."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


@repairs("CRO111", safe=False)
def _context_of_the_appendix(draft: Draft, _pointer: str, _finding: Finding) -> Iterator[Edit]:
    if isinstance(draft.tree, dict) and "@context" not in draft.tree:
        yield draft.lead("", "@context", appendix("1.0"))


@repairs("CRO112", "CRO113", safe=False)
def _context_that_can_be_read(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    if "/@context" not in pointer:
        return  # the fault has no place
    if not pointer.startswith("/@context"):
        yield draft.remove(pointer[: pointer.index("/@context") + len("/@context")])
        return
    own, wrong = draft.object_at("/@context"), [name_at(each) for each in pointer.split("/")[2:3]]
    # Without a place in the context, any definition but that of a prefix may be at fault.
    kept = {
        name: value
        for name, value in own.items()
        if (name not in wrong if wrong else name[:1] != "@" and isinstance(value, str) and "://" in value)
    }
    yield draft.replace("/@context", {**kept, **appendix("1.0")})


_NAMESPACE = re.compile(r"write `(\S+)`")


@repairs("CRO114")
def _namespace(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    context, right = draft.object_at("/@context"), _NAMESPACE.fullmatch(finding.hint)
    if right is not None and draft.text_at(pointer):
        yield draft.replace(pointer, right.group(1))
    elif {_HTTP, _HTTPS} <= draft.description.expansion.namespaces.keys():
        one = context.get("@vocab") if context.get("@vocab") in (_HTTP, _HTTPS) else _HTTPS
        for name, value in context.items():
            if value in (_HTTP, _HTTPS) and value != one:
                yield draft.replace(f"/@context/{escaped(name)}", one)


@repairs("CRO293")
def _as_mlcroissant_reads(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    value, right = draft.at(pointer), _NAMESPACE.fullmatch(finding.hint)
    if pointer == "/@context" and isinstance(value, dict):
        yield draft.insert(pointer, "@language", "en")
    elif pointer == "/@context":
        contexts = [bundled(each) if isinstance(each, str) else each for each in draft.list_at(pointer) or [value]]
        if all(isinstance(each, dict) for each in contexts):
            yield draft.replace(pointer, {"@language": "en"} | dict(ChainMap(*reversed(contexts))))
    elif right is not None and (isinstance(value, str) or value == {"@id": right.group(1)}):
        yield draft.replace(pointer, right.group(1))
    elif finding.hint.startswith("map it to") and draft.text_at("/@context/containedIn"):
        yield draft.replace("/@context/containedIn", finding.hint.split("`")[1])
    elif finding.hint == "leave out `@type`":
        yield draft.remove(pointer)
    elif finding.hint.startswith('write `{"field"'):
        yield draft.replace(pointer, {"field": value})


@repairs("CRO115")
def _prefix(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    for prefix, pointers in draft.description.expansion.undeclared.items():
        iri = NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
        if pointers[0] == pointer and iri and f"`{prefix}`" in finding.message:
            yield draft.declare(prefix, iri)


@repairs("CRO116")
def _dropped_term(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    name, context = name_at(pointer), draft.object_at("/@context")
    if is_keyword_like(name) or name.startswith("@"):
        if "@id" not in draft.object_at(parent_of(pointer)):
            raise Review(draft.rename(pointer, "@id"))
    elif name in context and context[name] is None:
        raise Review(draft.remove(f"/@context/{escaped(name)}"))
    elif f"cr:{name}" in CROISSANT_PROPERTIES:
        yield draft.declare(name, definition_of(name))
    elif ":" not in name and is_schema_property(name):
        yield draft.declare(name, f"sc:{name}")


@repairs("CRO117")
def _name_of_a_property(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right, written = meant(finding), name_at(pointer)
    if not right:
        return
    if right not in draft.object_at(parent_of(pointer)):
        edits: tuple[Edit, ...] = (draft.rename(pointer, right),)
    elif (row := draft.property_at(f"{parent_of(pointer)}/{escaped(right)}")) is None or row.many:
        edits = draft.merge(pointer, right)
    else:
        return
    if not (
        is_slip(written, right)
        or is_slip(f"rai:{written}", right)
        or VOCABULARIES["rai"].otherwise.get(written) == right
    ):
        raise Review(*edits)
    yield from edits


_SUCCESSOR = re.compile(r"write `(\w+)`")


@repairs("CRO126")
def _name_of_1_1(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    """Rename a removed property to its successor; if the successor's values have another form, the edit needs a review."""
    right, term = _SUCCESSOR.fullmatch(finding.hint), name_at(pointer).rpartition(":")[2]
    if right is None:
        return
    edits = [draft.declare(right.group(1), definition_of(right.group(1)))]
    for view in draft.description.removed_terms.get(term, ()):
        place = f"{view.node.pointer}/{escaped(view.key(f'cr:{term}'))}"
        if right.group(1) not in draft.object_at(parent_of(place)):
            edits.append(draft.rename(place, right.group(1)))
    if term not in ("repeated", "delimiter"):
        raise Review(*edits)
    yield from edits


@repairs("CRO118", safe=False)
def _place_of_a_property(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    holder, name = draft.object_at(parent_of(pointer)), name_at(pointer)
    if name in ("column", "jsonPath", "fileProperty") and "extract" not in holder:
        yield draft.wrap(pointer, "extract")
    elif name in ("includes", "excludes", "contentSize", "sha256"):
        yield draft.remove(pointer)
    elif finding.hint.endswith(" Dataset") and isinstance(draft.tree, dict) and name not in draft.tree:
        yield draft.remove(pointer)
        yield draft.insert("", name, draft.at(pointer))


@repairs("CRO119")
def _forgotten_terms(draft: Draft, _pointer: str, _finding: Finding) -> Iterator[Edit]:
    terms = {
        term: "dct:conformsTo" if term == "conformsTo" else definition_of(term) for term in draft.description.lost_terms
    }
    yield from declared(draft, terms)


def declared(draft: Draft, terms: dict[str, Any]) -> Iterator[Edit]:
    """Yield the definitions of terms, with the prefixes that they use."""
    context = draft.at("/@context")
    known = {
        name
        for each in (context if isinstance(context, list) else [context])
        if isinstance(each, dict)
        for name in each
    }
    iris = {definition if isinstance(definition, str) else definition["@id"] for definition in terms.values()}
    prefixes = {iri.partition(":")[0] for iri in iris} & NAMESPACES.keys() - known
    whole = {prefix: NAMESPACES[prefix] for prefix in sorted(prefixes)} | terms
    if not isinstance(context, dict | list) and len(whole) > 1:
        yield draft.replace("/@context", [context, whole])
        return
    for name, definition in whole.items():
        yield draft.declare(name, definition)


@repairs("CRO121")
def _identifier_as_text(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    place = pointer if pointer.endswith("/@id") else f"{pointer}/@id"
    if isinstance(draft.at(place), int | float) and not isinstance(draft.at(place), bool):
        yield draft.replace(place, str(draft.at(place)))


@repairs("CRO122", "CRO125", safe=False)
def _identifier(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if not isinstance(written, str):
        return
    if finding.code == "CRO122":
        right = re.sub(r'[\s<>"{}|\\^`\x00-\x20]+', "_", written).strip("_") or name_at(parent_of(pointer))
        yield from _renamed(draft, written, right, and_below=True)
        return
    view = draft.views.get(parent_of(pointer))
    above = view.parent.node.written_id if view is not None and view.parent is not None else None
    if isinstance(above, str) and view is not None and len(draft.description.definitions.get(view.id or "", ())) < 2:
        yield from _renamed(draft, written, f"{above}/{written.rpartition('/')[2]}")


def _renamed(draft: Draft, old: str, new: str, *, and_below: bool = False) -> Iterator[Edit]:
    """Yield the edits that give a node another identifier, wherever the document names it."""
    for text, pointer, is_key in draft.mentions(old, below=and_below) if new not in draft.ids | draft.taken else ():
        right = new + text[len(old) :]
        yield draft.rename(pointer, right) if is_key else draft.replace(pointer, right)


@repairs("CRO123")
def _identifier_that_is_missing(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    view = draft.views.get(pointer)
    if view is None or "@id" in draft.object_at(pointer):
        return
    new = _identifier_of(draft, view)
    if new not in draft.taken:
        draft.taken.add(new)
        yield draft.insert(pointer, "@id", new)


def _identifier_of(draft: Draft, view: View) -> str:
    """Return the identifier that a node has, or that it gets by its name, its fields, or its place."""
    if view.node.written_id is not None:
        return str(view.node.written_id)
    name = view.text("sc:name") or ""
    if name in draft.ids and ("/" in name or not isinstance(view, Field)):
        return name
    local = name if re.fullmatch(r"[\w.-]+", name) else view.node.pointer.strip("/").replace("/", "-")
    if isinstance(view, RecordSet):
        begun = {id_.partition("/")[0] for each in view.fields if isinstance(id_ := each.node.written_id, str)}
        return begun.pop() if len(begun) == 1 else local
    return f"{_identifier_of(draft, view.parent)}/{local}" if isinstance(view, Field) and view.parent else local


@repairs("CRO131", safe=False)
def _reference(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    right, found = meant(finding), draft.at(pointer)
    wrong = found.get("@id") if isinstance(found, dict) else found
    for _, place, is_key in draft.mentions(wrong) if right and isinstance(wrong, str) else ():
        if place == pointer or (not is_key and place.endswith("/@id") and len(draft.object_at(parent_of(place))) == 1):
            yield draft.replace(place, right)


_NAMED_BY = {"cr:FileObject": "fileObject", "cr:FileSet": "fileSet", "cr:RecordSet": "recordSet", "cr:Field": "field"}


@repairs("CRO132")
def _name_of_a_reference(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    found, holder = draft.at(pointer), draft.object_at(parent_of(pointer))
    name = found.get("@id") if isinstance(found, dict) else found
    nodes = draft.description.definitions.get(name, []) if isinstance(name, str) else []
    right = next((_NAMED_BY[kind] for node in nodes for kind in node.types if kind in _NAMED_BY), "")
    if right and name_at(pointer) in _NAMED_BY.values() and right not in holder:
        yield draft.rename(pointer, right)


@repairs("CRO133")
def _reference_as_object(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    found = draft.at(pointer)
    if isinstance(found, str) and found.strip():
        edit = draft.replace(pointer, {"@id": found})
        if found not in draft.description.definitions:
            raise Review(edit)
        yield edit
    elif isinstance(found, dict) and len(found) == 1:
        (name,) = found
        if name != "@id" and (name.startswith("@id") or is_slip(name, "@id")):
            raise Review(draft.rename(f"{pointer}/{escaped(name)}", "@id"))
