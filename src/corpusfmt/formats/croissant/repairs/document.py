"""Internal: Repairs of CRO1xx: contexts, names, identifiers, references."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator
from typing import Any

from corpusfmt.formats.croissant.model.contexts import appendix, bundled, is_keyword_like
from corpusfmt.formats.croissant.model.graph import Field, RecordSet, View
from corpusfmt.formats.croissant.model.jsontree import name_at, parent_of
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES
from corpusfmt.formats.croissant.model.shapes import CROISSANT_PROPERTIES, VOCABULARIES
from corpusfmt.formats.croissant.model.vocabulary import is_schema_property
from corpusfmt.formats.croissant.repairs.draft import Draft
from corpusfmt.formats.croissant.repairs.registry import Defect, Review, is_slip, repairs, sure
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit

_HTTP, _HTTPS = "http://schema.org/", "https://schema.org/"


def definition_of(term: str) -> Any:
    """Return the definition of a Croissant term in Appendix 1, or a definition in its style."""
    return appendix("1.0").get(term, f"cr:{term}")


@repairs("CRO111", safe=False)
def _context_of_the_appendix(draft: Draft, _at: Defect) -> Iterator[Edit]:
    if isinstance(draft.tree, dict) and "@context" not in draft.tree:
        yield draft.lead("", "@context", appendix("1.0"))


@repairs("CRO112", "CRO113", safe=False)
def _context_that_can_be_read(draft: Draft, at: Defect) -> Iterator[Edit]:
    if "/@context" not in at.pointer:
        return  # the fault has no place
    if not at.pointer.startswith("/@context"):
        yield draft.remove(at.pointer[: at.pointer.index("/@context") + len("/@context")])
        return
    wrong = [name_at(step) for step in at.pointer.split("/")[2:3]]
    # Without a place in the context, any definition but that of a prefix may be at fault.
    kept = {
        name: value
        for name, value in draft.object_at("/@context").items()
        if (name not in wrong if wrong else name[:1] != "@" and isinstance(value, str) and "://" in value)
    }
    yield draft.replace("/@context", {**kept, **appendix("1.0")})


@repairs("CRO114")
def _namespace(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.to_write and at.text:
        yield draft.replace(at.pointer, at.to_write)
    elif {_HTTP, _HTTPS} <= draft.description.expansion.namespaces.keys():
        context = draft.object_at("/@context")
        one = context.get("@vocab") if context.get("@vocab") in (_HTTP, _HTTPS) else _HTTPS
        for name, value in context.items():
            if value in (_HTTP, _HTTPS) and value != one:
                yield draft.replace(f"/@context/{escaped(name)}", one)


@repairs("CRO293")
def _as_mlcroissant_reads(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.pointer == "/@context" and isinstance(at.value, dict):
        yield draft.insert(at.pointer, "@language", "en")
    elif at.pointer == "/@context":
        listed = draft.list_at(at.pointer) or [at.value]
        contexts = [bundled(each) if isinstance(each, str) else each for each in listed]
        if all(isinstance(each, dict) for each in contexts):
            yield draft.replace(at.pointer, {"@language": "en"} | dict(ChainMap(*reversed(contexts))))
    elif at.hint.startswith('write `{"field"'):
        yield draft.replace(at.pointer, {"field": at.value})
    elif at.to_write and (at.text or at.value == {"@id": at.to_write}):
        yield draft.replace(at.pointer, at.to_write)
    elif at.hint.startswith("map it to") and draft.text_at("/@context/containedIn"):
        yield draft.replace("/@context/containedIn", at.hint.split("`")[1])
    elif at.hint == "leave out `@type`":
        yield draft.remove(at.pointer)


@repairs("CRO115")
def _prefix(draft: Draft, at: Defect) -> Iterator[Edit]:
    for prefix, pointers in draft.description.expansion.undeclared.items():
        iri = NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
        if pointers[0] == at.pointer and iri and f"`{prefix}`" in at.message:
            yield draft.declare(prefix, iri)


@repairs("CRO116")
def _dropped_term(draft: Draft, at: Defect) -> Iterator[Edit]:
    name, context = at.name, draft.object_at("/@context")
    if is_keyword_like(name) or name.startswith("@"):
        if "@id" not in draft.object_at(at.above):
            raise Review(draft.rename(at.pointer, "@id"))
    elif name in context and context[name] is None:
        raise Review(draft.remove(f"/@context/{escaped(name)}"))
    elif f"cr:{name}" in CROISSANT_PROPERTIES:
        yield draft.declare(name, definition_of(name))
    elif ":" not in name and is_schema_property(name):
        yield draft.declare(name, f"sc:{name}")


@repairs("CRO117")
def _name_of_a_property(draft: Draft, at: Defect) -> Iterator[Edit]:
    written, right = at.name, at.meant
    if not right:
        return
    if right not in draft.object_at(at.above):
        edits: tuple[Edit, ...] = (draft.rename(at.pointer, right),)
    elif (row := draft.property_at(f"{at.above}/{escaped(right)}")) is None or row.many:
        edits = draft.merge(at.pointer, right)
    else:
        return
    is_other_name = VOCABULARIES["rai"].otherwise.get(written) == right
    yield from sure(is_slip(written, right) or is_slip(f"rai:{written}", right) or is_other_name, *edits)


@repairs("CRO126")
def _name_of_1_1(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Rename a removed property to its successor; if the successor's values have another form, the edit needs a review."""
    right, term = at.to_write, at.name.rpartition(":")[2]
    if at.hint != f"write `{right}`":
        return
    places = [
        f"{view.node.pointer}/{escaped(view.key(f'cr:{term}'))}"
        for view in draft.description.removed_terms.get(term, ())
        if right not in draft.object_at(view.node.pointer)
    ]
    edits = [draft.declare(right, definition_of(right)), *(draft.rename(place, right) for place in places)]
    yield from sure(term in ("repeated", "delimiter"), *edits)


@repairs("CRO118", safe=False)
def _place_of_a_property(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.name in ("column", "jsonPath", "fileProperty") and "extract" not in draft.object_at(at.above):
        yield draft.wrap(at.pointer, "extract")
    elif at.name in ("includes", "excludes", "contentSize", "sha256"):
        yield draft.remove(at.pointer)
    elif at.hint.endswith(" Dataset") and isinstance(draft.tree, dict) and at.name not in draft.tree:
        yield draft.remove(at.pointer)
        yield draft.insert("", at.name, at.value)


@repairs("CRO119")
def _forgotten_terms(draft: Draft, _at: Defect) -> Iterator[Edit]:
    terms = draft.description.lost_terms
    yield from declared(
        draft, {term: "dct:conformsTo" if term == "conformsTo" else definition_of(term) for term in terms}
    )


def declared(draft: Draft, terms: dict[str, Any]) -> Iterator[Edit]:
    """Yield the definitions of terms, with the prefixes that they use."""
    context = draft.at("/@context")
    listed = context if isinstance(context, list) else [context]
    known = {name for each in listed if isinstance(each, dict) for name in each}
    iris = {definition if isinstance(definition, str) else definition["@id"] for definition in terms.values()}
    prefixes = {iri.partition(":")[0] for iri in iris} & NAMESPACES.keys() - known
    whole = {prefix: NAMESPACES[prefix] for prefix in sorted(prefixes)} | terms
    if not isinstance(context, dict | list) and len(whole) > 1:
        yield draft.replace("/@context", [context, whole])
        return
    for name, definition in whole.items():
        yield draft.declare(name, definition)


@repairs("CRO121")
def _identifier_as_text(draft: Draft, at: Defect) -> Iterator[Edit]:
    place = at.pointer if at.pointer.endswith("/@id") else f"{at.pointer}/@id"
    if type(number := draft.at(place)) in (int, float):
        yield draft.replace(place, str(number))


@repairs("CRO122", safe=False)
def _identifier_that_is_an_iri(draft: Draft, at: Defect) -> Iterator[Edit]:
    if isinstance(at.value, str):
        right = re.sub(r'[\s<>"{}|\\^`\x00-\x20]+', "_", at.value).strip("_") or name_at(at.above)
        yield from _renamed(draft, at.value, right, and_below=True)


@repairs("CRO125", safe=False)
def _identifier_below_its_parent(draft: Draft, at: Defect) -> Iterator[Edit]:
    view = draft.views.get(at.above)
    above = view.parent.node.written_id if view is not None and view.parent is not None else None
    is_unique = view is not None and len(draft.description.definitions.get(view.id or "", ())) < 2
    if isinstance(at.value, str) and isinstance(above, str) and is_unique:
        yield from _renamed(draft, at.value, f"{above}/{at.value.rpartition('/')[2]}")


def _renamed(draft: Draft, old: str, new: str, *, and_below: bool = False) -> Iterator[Edit]:
    """Yield the edits that give a node another identifier, wherever the document names it."""
    for text, pointer, is_key in draft.mentions(old, below=and_below) if new not in draft.ids | draft.taken else ():
        right = new + text[len(old) :]
        yield draft.rename(pointer, right) if is_key else draft.replace(pointer, right)


@repairs("CRO123")
def _identifier_that_is_missing(draft: Draft, at: Defect) -> Iterator[Edit]:
    view = draft.views.get(at.pointer)
    if view is None or "@id" in draft.object_at(at.pointer):
        return
    new = _identifier_of(draft, view)
    if new not in draft.taken:
        draft.taken.add(new)
        yield draft.insert(at.pointer, "@id", new)


def _identifier_of(draft: Draft, view: View) -> str:
    """Return the identifier that a node has, or that it gets by its name, its fields, or its place."""
    if view.node.written_id is not None:
        return str(view.node.written_id)
    name = view.text("sc:name") or ""
    if name in draft.ids and ("/" in name or not isinstance(view, Field)):
        return name
    local = name if re.fullmatch(r"[\w.-]+", name) else view.node.pointer.strip("/").replace("/", "-")
    if isinstance(view, RecordSet):
        ids = [field.node.written_id for field in view.fields]
        begun = {each.partition("/")[0] for each in ids if isinstance(each, str)}
        return begun.pop() if len(begun) == 1 else local
    return f"{_identifier_of(draft, view.parent)}/{local}" if isinstance(view, Field) and view.parent else local


@repairs("CRO131", safe=False)
def _reference(draft: Draft, at: Defect) -> Iterator[Edit]:
    wrong = at.value.get("@id") if isinstance(at.value, dict) else at.value
    for _, place, is_key in draft.mentions(wrong) if at.meant and isinstance(wrong, str) else ():
        is_alone = not is_key and place.endswith("/@id") and len(draft.object_at(parent_of(place))) == 1
        if place == at.pointer or is_alone:
            yield draft.replace(place, at.meant)


_NAMED_BY = {"cr:FileObject": "fileObject", "cr:FileSet": "fileSet", "cr:RecordSet": "recordSet", "cr:Field": "field"}


@repairs("CRO132")
def _name_of_a_reference(draft: Draft, at: Defect) -> Iterator[Edit]:
    name = at.value.get("@id") if isinstance(at.value, dict) else at.value
    nodes = draft.description.definitions.get(name, []) if isinstance(name, str) else []
    right = next((_NAMED_BY[kind] for node in nodes for kind in node.types if kind in _NAMED_BY), "")
    if right and at.name in _NAMED_BY.values() and right not in draft.object_at(at.above):
        yield draft.rename(at.pointer, right)


@repairs("CRO133")
def _reference_as_object(draft: Draft, at: Defect) -> Iterator[Edit]:
    if at.text.strip():
        yield from sure(at.text in draft.description.definitions, draft.replace(at.pointer, {"@id": at.text}))
    elif isinstance(at.value, dict) and len(at.value) == 1:
        (name,) = at.value
        if name != "@id" and (name.startswith("@id") or is_slip(name, "@id")):
            raise Review(draft.rename(f"{at.pointer}/{escaped(name)}", "@id"))
