"""Internal: CRO4xx: record sets, fields and their sources; features for machine learning (from CRO521)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from corpusfmt.formats.croissant.model.graph import (
    SOURCE_PROPERTIES,
    DataSource,
    Description,
    Element,
    Extract,
    Field,
    FileObject,
    RecordSet,
    Resource,
    Selection,
    Stranger,
    Transform,
    View,
    problem_of_all,
    rings,
)
from corpusfmt.formats.croissant.model.nodes import Literal, Node, local_name, short
from corpusfmt.formats.croissant.model.shapes import TRANSFORM
from corpusfmt.formats.croissant.model.values import compiled
from corpusfmt.formats.croissant.model.vocabulary import (
    ATOMIC_TYPES,
    BOUNDING_BOX_FORMATS,
    SPLITS,
    is_known_type,
    is_schema_property,
)
from corpusfmt.formats.croissant.model.wording import around, article, clip, kind_of, one_of
from corpusfmt.formats.croissant.rules.distribution import strange
from corpusfmt.formats.croissant.rules.document import several_lost
from corpusfmt.formats.croissant.ruleset import MILDER, RULES, WARNING
from corpusfmt.model import Problem

_RECORD_SET = "croissant-1.0#recordset"
_FIELD = "croissant-1.0#field"
_SOURCE = "croissant-1.0#datasource"
_EXTRACT = "croissant-1.0#extract"
_TRANSFORM = "croissant-1.0#transform"
_DATA_TYPE = "croissant-1.0#datatype"
_CATEGORIES = "croissant-1.0#categorical-data"
_SPLITS = "croissant-1.0#splits"


@RULES.rule("CRO401", "recordset-type", on=Stranger, spec=_RECORD_SET)
def recordset_type(stranger: Stranger) -> Iterator[Problem]:
    """A value of recordSet is not a RecordSet.

    Why: readers find record sets by their type.
    Example: `"@type": "cr:Recordset"`.
    Fix: write `"@type": "cr:RecordSet"`.
    """
    yield from strange(stranger, ("cr:recordSet",))


@RULES.rule("CRO402", "field-type", on=Stranger, spec=_FIELD)
def field_type(stranger: Stranger) -> Iterator[Problem]:
    """A value of field, subField or annotation is not a Field.

    Why: readers find fields by their type.
    Example: a field without `@type`, a field written as a string.
    Fix: write `"@type": "cr:Field"`.
    """
    yield from strange(stranger, ("cr:field", "cr:subField", "cr:annotation"))


@RULES.rule("CRO403", "field-missing", on=RecordSet, severity=WARNING, spec=_RECORD_SET)
def field_missing(record_set: RecordSet) -> Iterator[Problem]:
    """A record set has no field.

    Why: records without fields have no content.
    Example: a record set with only a name.
    Fix: add the fields, or remove the record set.
    """
    for _ in record_set.missing("CRO403"):
        yield record_set.problem("`field` is missing", "add the fields")


@RULES.rule("CRO404", "key-not-a-field", on=RecordSet, spec=_RECORD_SET, severity=WARNING)
def key_not_a_field(record_set: RecordSet) -> Iterator[Problem]:
    """The key names something that is not a field of the record set.

    Why: a key is "one or more fields whose values uniquely identify each record".
    Example: `"key": {"@id": "hash"}` where the field is `images/hash`.
    Fix: write the `@id` of a field of this record set.
    """
    for value in record_set.keys:
        named = value.iri
        if record_set.field_named(named) is None:
            fields = (field.id for field in record_set.fields if field.id is not None)
            hint = "write the `@id` of a field of this record set"
            hint = record_set.description.near_misses.hint(named or "", fields, hint, as_tail=True)
            message = f"`key` names `{named}`, which is not a field of the record set"
            yield record_set.problem(message, hint, value)


def _needs_source(field: Field) -> bool:
    if field.sub_fields or field.is_parent_field or field.sources or field.is_in_constant:
        return False
    if "source" in field.node.dropped:
        return False
    if any(not reference.short_form for reference in field.references):
        # Published descriptions also use a whole DataSource in `references` as the source of the values.
        return not any(name in ("cr:fileObject", "cr:fileSet") for ref in field.references for name, _ in ref.targets)
    return not field.all("cr:source")


@RULES.rule("CRO405", "source-missing", on=RecordSet, spec=_FIELD)
def source_missing(record_set: RecordSet) -> Iterator[Problem]:
    """Fields have no source, and the record set has no inline data. In profile `letter`, a warning unless the context
    lost the term.

    Why: the values come from nowhere, so the record set cannot be loaded.
    Example: `source` under a context that does not map it, where it becomes `sc:source`.
    Fix: add `source` to the field, `data` to the record set, or the term to the context.
    """
    if not record_set.lacks("cr:data"):
        return
    lost = record_set.description.lost_terms.get("source", [])
    if lost and lost[0].root is record_set and not several_lost(record_set.description):
        message = "the context does not map `source`, which becomes `sc:source`"
        yield problem_of_all(lost, message, 'add `"source": "cr:source"` to the context', "cr:source")
    if without := [field for field in record_set.every_field if _needs_source(field)]:
        message = "`source` is missing, and the record set has no `data`"
        yield problem_of_all(without, message, "add `source`", minor=True)


def _one_of_several(view: View, names: Iterable[str]) -> Iterator[Problem]:
    """Yield the problem that a node has several of some properties of which it may have one."""
    given = [view.key(name) for name in names if view.all(name)]
    if len(given) > 1:
        yield view.problem(f"{_listed(given)}, expected one of them", "keep one of them")


@RULES.rule("CRO406", "source-ambiguous", on=DataSource, spec=_SOURCE)
def source_ambiguous(source: DataSource) -> Iterator[Problem]:
    """A data source names more than one thing to read.

    Why: readers cannot know which one is meant.
    Example: `fileObject` and `fileSet` in one source.
    Fix: keep one of them.
    """
    yield from _one_of_several(source, SOURCE_PROPERTIES)


@RULES.rule("CRO407", "source-cycle", on=Description, spec=_FIELD)
def source_cycle(description: Description) -> Iterator[Problem]:
    """A field is its own source, directly or through other fields.

    Why: the values come from nowhere.
    Example: field a with source b, and b with source a.
    Fix: make a file the source of one of them.
    """

    def following(view: Field) -> list[Field]:
        return [target for source in view.sources for target in source.target_views if isinstance(target, Field)]

    for ring in rings([view for view in description.views.values() if isinstance(view, Field)], following):
        message = f"the field is its own source ({around(ring)})"
        yield ring[0].problem(message, "make a file the source of one of them", "cr:source")


_EXTRACTIONS = ("cr:fileProperty", "cr:column", "cr:jsonPath")


@RULES.rule("CRO408", "extract-empty", on=Extract, spec=_EXTRACT)
def extract_empty(extract: Extract) -> Iterator[Problem]:
    """An extract does not say what to extract.

    Why: each value would be the whole source.
    Example: `"extract": {}`.
    Fix: add `column`, `jsonPath` or `fileProperty`, or remove `extract`.
    """
    # No table lists `regex`, but the specification's example of a segmentation mask has it.
    if not extract.node.dropped and all(extract.lacks(name) for name in (*_EXTRACTIONS, "cr:regex")):
        yield extract.problem("nothing to extract", "add `column`, `jsonPath` or `fileProperty`")


@RULES.rule("CRO409", "extract-ambiguous", on=Extract, spec=_EXTRACT)
def extract_ambiguous(extract: Extract) -> Iterator[Problem]:
    """An extract names several things to extract.

    Why: each applies to a different kind of source, so readers cannot know which one is meant.
    Example: `column` and `jsonPath` in one extract.
    Fix: keep the one that fits the source.
    """
    yield from _one_of_several(extract, _EXTRACTIONS)


# Prefixes of MIME types without columns or JSON.
_OPAQUE = ("image/", "audio/", "video/")
#: MIME types of files with columns.
TABLE_TYPES = (
    "text/csv",
    "text/tsv",
    "text/tab-separated-values",
    "application/x-parquet",
    "application/vnd.apache.parquet",
)
_LINES = ("application/jsonl", "application/x-jsonl", "application/x-ndjson")
_MISFITS = {"cr:column": _OPAQUE, "cr:jsonPath": (*_OPAQUE, *TABLE_TYPES)}


@RULES.rule("CRO410", "extract-source-mismatch", on=DataSource, severity=WARNING, spec=_EXTRACT)
def extract_source_mismatch(source: DataSource) -> Iterator[Problem]:
    """An extract does not fit the type of its source.

    Why: an image has no columns, a CSV file no JSON paths.
    Example: `column` on a FileSet of `image/jpeg`.
    Fix: use `fileProperty`, or name the source that has the column.
    """
    formats = [name for view in source.target_views if isinstance(view, Resource) for name in view.formats]
    for extract in source.extracts if formats else ():
        for name, misfits in _MISFITS.items():
            if extract.all(name) and all(mime.lower().startswith(misfits) for mime in formats):
                message = f"`{extract.key(name)}` does not apply to a source of type `{formats[0]}`"
                at = extract.place(name)
                yield Problem(f"{source.title}: {message}", at, "extract something that this type of file has")


@RULES.rule("CRO427", "extract-missing", on=Field, severity=WARNING, spec=_EXTRACT)
def extract_missing(field: Field) -> Iterator[Problem]:
    """A field has no `extract`, and a whole file cannot be one of its values.

    Why: without `extract`, each value is the content of a file. A table is not a title, and an image is not a number.
    Example: a field of type sc:Text with only `films.csv` as its source.
    Fix: add an `extract` with `column`, `jsonPath` or `fileProperty`.
    """
    for source in field.sources if not field.sub_fields else ():
        misfits = [_misfit(field, view) for view in source.target_views] if not source.extracts else []
        if misfits and all(misfits):
            message = f"`extract` is missing: each value is a whole file of type `{misfits[0]}`"
            yield source.problem(message, "add `column`, `jsonPath` or `fileProperty`")


def _misfit(field: Field, view: View) -> str | None:
    """Return the MIME type of a view whose files cannot be values of the field, or None."""
    misfits: tuple[str, ...] = (*TABLE_TYPES, *_LINES) if isinstance(view, FileObject) else ()
    if field.data_types and ATOMIC_TYPES.keys() >= set(field.data_types):
        misfits += _OPAQUE
    formats = view.formats if misfits and isinstance(view, Resource) else []
    return formats[0] if formats and all(mime.lower().startswith(misfits) for mime in formats) else None


# No table lists `filepath`, but readers accept it for `fullpath`.
_FILE_PROPERTIES = ("fullpath", "filename", "content", "lines", "lineNumbers", "filepath")


@RULES.rule("CRO411", "fileproperty-unknown", on=Extract, spec=_EXTRACT)
def fileproperty_unknown(extract: Extract) -> Iterator[Problem]:
    """The fileProperty is unknown.

    Why: readers know only the properties in the specification's table; case matters.
    Example: `"fileProperty": "fileName"`.
    Fix: write one of `fullpath`, `filename`, `content`, `lines`, `lineNumbers`.
    """
    for literal in extract.texts("cr:fileProperty"):
        if literal.value not in _FILE_PROPERTIES:
            known = f"write {one_of(_FILE_PROPERTIES[:-1])}"
            hint = extract.description.near_misses.hint(literal.value, _FILE_PROPERTIES, known)
            yield extract.problem(f"unknown file property `{clip(literal.value)}`", hint, literal)


# Paths that are clearly right need no parser, whose import takes longer than most checks.
_PLAIN_PATH = re.compile(
    r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*+|\['[^'\\\x00-\x1f]*+'\]|\[(?:\*|0|[1-9][0-9]{0,14})\]){0,200}+"
)


@RULES.rule("CRO412", "jsonpath-invalid", on=Selection, spec=_EXTRACT)
def jsonpath_invalid(selection: Selection) -> Iterator[Problem]:
    """A JSON path does not parse.

    Why: it selects nothing, and readers fail on it.
    Example: `$...a`, `a b c`, `$[`.
    Fix: correct the path; filters such as `$[?(@.a > 1)]` are allowed.
    """
    for literal in selection.texts("cr:jsonPath"):
        if _PLAIN_PATH.fullmatch(literal.value):
            continue
        from corpusfmt.formats.croissant.model.jsonpath import jsonpath_fault  # noqa: PLC0415 - few descriptions have one

        if fault := jsonpath_fault(literal.value):
            message = f"`{clip(literal.value)}` is not a JSON path: {fault}"
            yield selection.problem(message, "correct the path", literal)


@RULES.rule("CRO413", "regex-invalid", on=Selection, spec=_TRANSFORM)
def regex_invalid(selection: Selection) -> Iterator[Problem]:
    """A regular expression does not compile.

    Why: no value can be parsed with it.
    Example: `"([a-z"`, `"*.csv"`.
    Fix: correct it; a glob pattern is not a regular expression.
    """
    for literal in selection.texts("cr:regex"):
        outcome = compiled(literal.value)
        if isinstance(outcome, str):
            message = f"`{clip(literal.value)}` does not compile: {outcome}"
            yield selection.problem(message, "correct the regular expression", literal)


def _groups(transform: Transform) -> Iterator[tuple[Literal, int]]:
    """Yield the regular expressions that compile, with the number of their groups."""
    for literal in transform.texts("cr:regex"):
        outcome = compiled(literal.value)
        if isinstance(outcome, re.Pattern):
            yield literal, outcome.groups


@RULES.rule("CRO414", "regex-no-group", on=Transform, severity=WARNING, spec=_TRANSFORM)
def regex_no_group(transform: Transform) -> Iterator[Problem]:
    """A regular expression has no group.

    Why: the first group captures the value; without a group, readers keep the value unchanged.
    Example: `"train|test"`.
    Fix: put parentheses around the part to capture.
    """
    for literal, groups in _groups(transform):
        if groups == 0:
            hint = "put parentheses around the part to capture"
            yield transform.problem(f"`{clip(literal.value)}` has no group", hint, literal)


_ONE_GROUP = "croissant-1.1#transform"


@RULES.rule("CRO428", "regex-several-groups", on=Transform, severity=WARNING, grades={"1.0": None}, spec=_ONE_GROUP)
def regex_several_groups(transform: Transform) -> Iterator[Problem]:
    """A regular expression has several groups, in a description of version 1.1.

    Why: 1.1 has "one capture group that corresponds to the output value"; readers differ in which of several they use.
    Example: `"^(train|test)/([a-z]+)"`.
    Fix: write `(?:…)` for the groups that are not the value.
    """
    for literal, groups in _groups(transform):
        if groups > 1:
            message = f"`{clip(literal.value)}` has {groups} groups, expected one"
            yield transform.problem(message, "write `(?:…)` for the other groups", literal)


_TRANSFORMS = tuple(dict.fromkeys(row.name for row in TRANSFORM.properties))
_STRING_TRANSFORMS = tuple(name for name in _TRANSFORMS if name not in ("cr:readLines", "cr:unArchive"))


@RULES.rule("CRO415", "transform-empty", on=Transform, spec=_TRANSFORM)
def transform_empty(transform: Transform) -> Iterator[Problem]:
    """A transform is empty, or its separator is.

    Why: a property was probably lost; readers fail on an empty separator.
    Example: `"transform": {}`, `{"separator": ""}`.
    Fix: add `regex`, `delimiter` or `jsonQuery`, or remove `transform`.
    """
    for name in ("cr:separator", "cr:delimiter"):
        for literal in transform.texts(name):
            if not literal.value:
                hint = "write the character between the values"
                yield transform.problem(f"`{transform.key(name)}` is empty", hint, literal)
    if not transform.node.values and not transform.node.dropped:
        yield transform.problem("no transformation", "add `regex` or another transformation")


@RULES.rule("CRO416", "transform-unknown", on=Transform, spec=_TRANSFORM)
def transform_unknown(transform: Transform) -> Iterator[Problem]:
    """A transform names no known transformation.

    Why: readers cannot apply it.
    Example: `"transform": {"lowercase": true}`.
    Fix: use `regex`, `delimiter`, `jsonQuery`, or the context's `separator`, `replace`, `jsonPath` and `format`.
    """
    if transform.node.values and not any(transform.all(name) for name in _TRANSFORMS):
        names = one_of([transform.key(name) for name in transform.node.values])
        known = one_of([local_name(name) for name in _TRANSFORMS])
        yield transform.problem(f"{names} is not a transformation", f"use {known}")


@RULES.rule("CRO417", "transform-ambiguous", on=Transform, spec=_TRANSFORM)
def transform_ambiguous(transform: Transform) -> Iterator[Problem]:
    """One transform has several transformations.

    Why: their order is undefined, and mlcroissant refuses them.
    Example: `{"regex": "(.*)", "separator": ","}`.
    Fix: make `transform` a list with one object for each, in order.
    """
    given = [transform.key(name) for name in _STRING_TRANSFORMS if transform.all(name)]
    if len(given) > 1:
        hint = "make `transform` a list with one object for each"
        yield transform.problem(f"{_listed(given)} in one object", hint)


_DATES = {"sc:Date", "sc:DateTime", "sc:Time"}


def _formats(field: Field) -> Iterator[tuple[View, Literal]]:
    for source in field.sources:
        for view in (source, *source.transforms):
            for literal in view.texts("cr:format"):
                yield view, literal


@RULES.rule("CRO418", "format-not-cldr", on=Field, severity=WARNING, spec="croissant-1.0#format")
def format_not_cldr(field: Field) -> Iterator[Problem]:
    """A date format is not a CLDR pattern.

    Why: the specification requires CLDR patterns; `%Y` is strftime, which some readers and one example use.
    Example: `"format": "%Y-%m-%d"`.
    Fix: write a CLDR pattern such as `yyyy-MM-dd`.
    """
    for view, literal in _formats(field) if not _DATES.isdisjoint(field.data_types) else ():
        if "%" in literal.value or not re.search("[A-Za-z]", literal.value):
            message = f"`format` is `{clip(literal.value)}`, expected a CLDR pattern"
            yield view.problem(message, "write a pattern such as `yyyy-MM-dd`", literal)


def _takes_type_from_elsewhere(field: Field) -> bool:
    for source in (*field.sources, *field.references):
        for name, value in source.targets:
            if name in ("cr:field", "cr:recordSet") or isinstance(field.description.view_of(value), Field | RecordSet):
                return True
            if name == "" and field.description.view_of(value) is None:
                return True  # CRO131 reports a dangling reference
    return False


def _maps_to_property(field: Field, above: View | None) -> bool:
    """Return whether a field maps to a property of the data type of its record set or parent field."""
    if above is None or not above.data_types:
        return False
    if above.description.version == "1.1" and not any(name.startswith(("sc:", "cr:")) for name in above.data_types):
        return True  # another vocabulary defines the types of its properties
    name = (field.id or "").rpartition("/")[2]
    return bool(field.all("cr:equivalentProperty")) or is_schema_property(name)


@RULES.rule("CRO419", "datatype-missing", on=Field, spec=_FIELD)
def datatype_missing(field: Field) -> Iterator[Problem]:
    """A field has no data type and cannot inherit one.

    Why: values cannot be checked or loaded without a data type. A field can inherit it from its subfields, from a source or
    reference that is a field, or from a property of the record set's data type.
    Example: `dataType` under a context that does not map it.
    Fix: add `dataType`, such as `sc:Text`.
    """
    if field.fallen("cr:dataType") and "cr:dataType" not in field.node.values:
        lost = [view for view in field.description.lost_terms["dataType"] if isinstance(view, Field)]
        if lost[0] is field and not several_lost(field.description):
            message = "the context does not map `dataType`, which becomes `sc:dataType`"
            hint = 'add `"dataType": {"@id": "cr:dataType", "@type": "@vocab"}` to the context'
            yield problem_of_all(lost, message, hint, "cr:dataType")
        return
    if not field.lacks("cr:dataType") or field.sub_fields or field.is_parent_field:
        return
    if not _takes_type_from_elsewhere(field) and not _maps_to_property(field, field.parent):
        yield field.problem("`dataType` is missing", "add a `dataType` such as `sc:Text`")


@RULES.rule("CRO420", "datatype-not-iri", on=Element, spec="croissant-1.0#appendix-1-json-ld-context")
def datatype_not_iri(element: Element) -> Iterator[Problem]:
    """A data type is not an IRI: the context makes it a plain string, or it is an object without `@id`.

    Why: "sc:Text" is then text, not the IRI of a class; an object without `@id` names no class.
    Example: `"dataType": "cr:dataType"` in the context, without `"@type": "@vocab"`; `"dataType": {"name": "mean"}`.
    Fix: map it as Appendix 1 does; add the `@id` of the class.
    """
    if not isinstance(element, Field | RecordSet):
        return
    for value in element.all("cr:dataType"):
        if isinstance(value, Node) and value.id is None:
            message = f"`dataType` is {article(kind_of(value))}, expected an IRI"
            yield element.problem(message, "write the IRI of a class, such as `sc:Text`", value)
    for literal in list(element.node.literals("cr:dataType"))[:1]:
        message = f"`dataType` `{clip(literal.value)}` is a string, expected an IRI"
        hint = 'map it as `{"@id": "cr:dataType", "@type": "@vocab"}` in the context'
        yield element.problem(message, hint, literal)


#: Other common names of types, without `sc:`.
OTHER_NAMES = {
    "bool": "sc:Boolean", "double": "sc:Float", "int": "sc:Integer", "long": "sc:Integer",
    "str": "sc:Text", "string": "sc:Text", "timestamp": "sc:DateTime",
}  # fmt: skip


@RULES.rule("CRO421", "datatype-unknown", on=Element, spec=_DATA_TYPE, grades=MILDER)
def datatype_unknown(element: Element) -> Iterator[Problem]:
    """A data type does not exist in schema.org or Croissant. A warning if the field also has a known type.

    Why: readers cannot load values of the type.
    Example: `sc:Str`, `cr:Enum`, the property `sc:name`.
    Fix: use a class of schema.org or Croissant; types of other vocabularies are fine.
    """
    if not isinstance(element, Field | RecordSet):
        return
    unknown = [name for name in element.data_types if not is_known_type(name)]
    minor = len(unknown) < len(element.data_types) or isinstance(element, RecordSet)
    for name in dict.fromkeys(unknown):
        likely = OTHER_NAMES.get(name.lower().removeprefix("sc:")) or element.description.near_misses.of(
            name, ATOMIC_TYPES
        )
        hint = f"did you mean `{likely}`?" if likely else "use a class of schema.org or Croissant"
        yield element.problem(f"unknown data type `{name}`", hint, "cr:dataType", minor=minor)


@RULES.rule("CRO422", "datatype-no-atomic", on=Field, spec=_DATA_TYPE)
def datatype_no_atomic(field: Field) -> Iterator[Problem]:
    """A field has several data types, none of them atomic.

    Why: "at least one must be an atomic data type"; the others describe the meaning of the values.
    Example: `["wd:Q48277", "cr:Label"]`.
    Fix: add the type of the values, such as `sc:Text`.
    """
    types = field.data_types
    semantic = [name for name in types if name == "cr:Label" or not name.startswith(("sc:", "cr:"))]
    if len(types) > 1 and len(semantic) == len(types) and not field.sub_fields:
        message = f"no data type is atomic among {_listed(types)}"
        yield field.problem(message, "add the type of the values, such as `sc:Text`", "cr:dataType")


@RULES.rule("CRO423", "references-self", on=Field, spec=_FIELD)
def references_self(field: Field) -> Iterator[Problem]:
    """A field references itself.

    Why: a field cannot be joined with itself.
    Example: field `a/id` with `"references": {"@id": "a/id"}`.
    Fix: name the field of the other record set.
    """
    for reference in field.references:
        if any(target is field for target in reference.target_views):
            hint = "name a field of another record set"
            yield field.problem("the field references itself", hint, "cr:references")


@RULES.rule("CRO424", "references-same-recordset", on=Field, severity=WARNING, spec=_FIELD)
def references_same_recordset(field: Field) -> Iterator[Problem]:
    """A field references another field of the same record set.

    Why: a reference is to "another Field of another RecordSet".
    Example: `a/parent` with `"references": {"@id": "a/id"}`.
    Fix: name the field of the other record set, unless records refer to each other.
    """
    if field.is_parent_field or isinstance(field.parent, Field):
        return
    for target in chain.from_iterable(reference.target_views for reference in field.references):
        if isinstance(target, Field) and target is not field and target.record_set is field.record_set:
            message = f"the field references `{target.id}` of the same record set"
            yield field.problem(message, "name a field of another record set", "cr:references")


def _origins(sources: Iterable[DataSource]) -> Iterator[View]:
    """Yield the origins of data: files, file sets, and the record sets of fields."""
    for target in chain.from_iterable(source.target_views for source in sources):
        if isinstance(target, Field):
            if target.record_set is not None:
                yield target.record_set
        elif isinstance(target, Resource | RecordSet):
            yield target


def _with_parent_fields(record_set: RecordSet) -> Iterator[Field]:
    for field in record_set.every_field:
        yield field
        yield from field.parent_fields


@RULES.rule("CRO425", "join-undeclared", on=RecordSet, spec="croissant-1.0#joins")
def join_undeclared(record_set: RecordSet) -> Iterator[Problem]:
    """The sources of a record set are not joined by references.

    Why: readers cannot match the records of the sources. Each source must be joined to at least one other, not to all.
    Example: two columns of two CSV files in one record set, without `references`.
    Fix: add `references` from the field that holds the key of the other source.
    """
    sources = {id(source): source for field in record_set.every_field for source in _origins(field.sources)}
    if len(sources) < 2:
        return
    if any(not reference.target_views for field in _with_parent_fields(record_set) for reference in field.references):
        return  # CRO131 reports a dangling reference
    joined: dict[int, list[int]] = defaultdict(list)
    upstream = [source for source in sources.values() if isinstance(source, RecordSet) and source is not record_set]
    for field in (field for owner in (record_set, *upstream) for field in _with_parent_fields(owner)):
        own = list(_origins(field.sources))
        if field.record_set is not None and (not own or field.record_set is not record_set):
            own.append(field.record_set)
        for target in _origins(field.references):
            behind = target.every_field if isinstance(target, RecordSet) else ()
            for other in (*own, *(source for below in behind for source in _origins(below.sources))):
                joined[id(target)].append(id(other))
                joined[id(other)].append(id(target))
    reached, pending = set(), [next(iter(sources))]
    while pending:
        if (node := pending.pop()) not in reached:
            reached.add(node)
            pending += joined[node]
    if sources.keys() - reached:
        names = [str(source.node.written_id or source.label) for source in sources.values()]
        hint = "add `references` from the field that holds the key of the other source"
        yield record_set.problem(f"the sources {_listed(names)} are not joined", hint)


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


_TYPES_WITH_OWN_RULES = {"sc:Enumeration", "cr:Split"}
_TYPED = "croissant-1.0#typing-recordsets"


@RULES.rule("CRO426", "typed-recordset-unmapped", on=RecordSet, severity=WARNING, spec=_TYPED)
def typed_recordset_unmapped(record_set: RecordSet) -> Iterator[Problem]:
    """No field of a typed record set maps to a property of its type.

    Why: "some or all of its fields must be mapped to properties associated with the data type".
    Example: a record set of type sc:GeoCoordinates with fields `cities/lat` and `cities/long`.
    Fix: name a field after the property, as in `cities/latitude`, or add `equivalentProperty`.
    """
    types = [name for name in record_set.data_types if name.startswith("sc:") and name not in _TYPES_WITH_OWN_RULES]
    if types and record_set.fields and not any(_maps_to_property(field, record_set) for field in record_set.fields):
        message = f"no field maps to a property of `{types[0]}`"
        yield record_set.problem(message, "name a field after a property, or add `equivalentProperty`", "cr:dataType")


def _lacks_field(record_set: RecordSet, kind: str, name: str) -> bool:
    """Return whether a record set of a type has fields, and none for a property of schema.org."""
    if kind not in record_set.data_types:
        return False
    for field in record_set.fields:
        equivalent = {short(value.iri or "") for value in field.all("cr:equivalentProperty")}
        written = (field.id or field.text("sc:name") or "").rpartition("/")[2]
        if f"sc:{name}" in equivalent | set(field.data_types) or written == name:
            return False
    return bool(record_set.fields)


@RULES.rule("CRO521", "enumeration-name-missing", on=RecordSet, spec=_CATEGORIES, severity=WARNING)
def enumeration_name_missing(record_set: RecordSet) -> Iterator[Problem]:
    """An enumeration has no `name` field.

    Why: "These RecordSets must define a name field".
    Example: an enumeration whose only field is `colours/value`.
    Fix: call the field `name`, or add `"equivalentProperty": "sc:name"`.
    """
    if _lacks_field(record_set, "sc:Enumeration", "name"):
        yield record_set.problem("a `name` field is missing", 'add `"equivalentProperty": "sc:name"`')


@RULES.rule("CRO522", "enumeration-key-missing", on=RecordSet, spec=_CATEGORIES, severity=WARNING)
def enumeration_key_missing(record_set: RecordSet) -> Iterator[Problem]:
    """An enumeration has no key.

    Why: "They must also specify a key to identify each possible instance".
    Example: an enumeration that other record sets reference by its name.
    Fix: add `key`.
    """
    if "sc:Enumeration" in record_set.data_types and record_set.lacks("cr:key"):
        yield record_set.problem("`key` is missing", "add `key` with the field that identifies each record")


@RULES.rule("CRO523", "enumeration-url-missing", on=RecordSet, severity=WARNING, spec=_CATEGORIES)
def enumeration_url_missing(record_set: RecordSet) -> Iterator[Problem]:
    """An enumeration has no `url` field.

    Why: "Enumerations should have a url field", which identifies the concept of each instance.
    Example: genders without the URLs of their concepts.
    Fix: add a field `url`.
    """
    if _lacks_field(record_set, "sc:Enumeration", "url"):
        yield record_set.problem("a `url` field is missing", "add a field `url`")


@RULES.rule("CRO524", "split-key-missing", on=RecordSet, severity=WARNING, spec=_SPLITS)
def split_key_missing(record_set: RecordSet) -> Iterator[Problem]:
    """A record set of splits has no key.

    Why: other record sets refer to a split by its key.
    Example: splits with a name but no `key`.
    Fix: add `key`.
    """
    if "cr:Split" in record_set.data_types and record_set.lacks("cr:key"):
        yield record_set.problem("`key` is missing", "add `key` with the field of the split's name")


@RULES.rule("CRO525", "split-url-missing", on=RecordSet, severity=WARNING, spec=_SPLITS)
def split_url_missing(record_set: RecordSet) -> Iterator[Problem]:
    """A record set of splits has no `url` field.

    Why: the URL identifies the training split regardless of its name.
    Example: splits `train` and `dev` with only a name.
    Fix: add a field `url` with `cr:TrainingSplit`, `cr:ValidationSplit` or `cr:TestSplit` as values.
    """
    if _lacks_field(record_set, "cr:Split", "url"):
        yield record_set.problem("a `url` field is missing", "add a field `url`")


@RULES.rule("CRO526", "split-url-unknown", on=RecordSet, severity=WARNING, spec=_SPLITS)
def split_url_unknown(record_set: RecordSet) -> Iterator[Problem]:
    """The URL of a split is unknown to Croissant.

    Why: tools know `cr:TrainingSplit`, `cr:ValidationSplit` and `cr:TestSplit`.
    Example: `"splits/url": "cr:DevSplit"`.
    Fix: write one of them, or the URL of a concept in another vocabulary.
    """
    for pointer, row in (record_set.rows or ()) if "cr:Split" in record_set.data_types else ():
        for name, value in row.items() if isinstance(row, dict) else ():
            unknown = isinstance(value, str) and short(value).startswith("cr:") and short(value) not in SPLITS
            if unknown and name.rpartition("/")[2] == "url":
                hint = f"write {one_of(['cr:TrainingSplit', 'cr:ValidationSplit', 'cr:TestSplit'])}"
                yield record_set.problem(f"unknown split `{clip(value)}`", hint, pointer)


@RULES.rule("CRO527", "bbox-format-unknown", on=Field, severity=WARNING, spec="croissant-1.0#boundingbox")
def bbox_format_unknown(field: Field) -> Iterator[Problem]:
    """The format of a bounding box is not a Keras format.

    Why: readers cannot interpret the four numbers.
    Example: `"format": "XYWH_CENTER"`.
    Fix: write one of the Keras formats, such as `CENTER_XYWH`, `XYWH`, `XYXY`.
    """
    for view, literal in _formats(field) if "cr:BoundingBox" in field.data_types else ():
        if literal.value.upper() not in BOUNDING_BOX_FORMATS:
            message = f"unknown bounding box format `{clip(literal.value)}`"
            yield view.problem(message, "write a format such as `CENTER_XYWH`, `XYWH` or `XYXY`", literal)


@RULES.rule("CRO528", "mask-kind-missing", on=Field, severity=WARNING, spec="croissant-1.0#segmentationmask")
def mask_kind_missing(field: Field) -> Iterator[Problem]:
    """A segmentation mask does not declare whether it is a polygon or an image.

    Why: readers decode polygons and images differently.
    Example: `"dataType": "cr:SegmentationMask"` alone.
    Fix: add `sc:GeoShape` for a polygon, `sc:ImageObject` for an image.
    """
    types = field.data_types
    if "cr:SegmentationMask" in types and not {"sc:GeoShape", "sc:ImageObject"}.intersection(types):
        message = "the mask is neither `sc:GeoShape` nor `sc:ImageObject`"
        hint = "add `sc:GeoShape` for a polygon or `sc:ImageObject` for an image"
        yield field.problem(message, hint, "cr:dataType")
