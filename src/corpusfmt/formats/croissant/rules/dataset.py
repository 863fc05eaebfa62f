"""Internal: CRO2xx: the dataset as a whole, and the types and cardinalities of values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import Dataset, Description, View
from corpusfmt.formats.croissant.model.nodes import Literal, Node, Value, local_name
from corpusfmt.formats.croissant.model.shapes import DATASET, properties_of
from corpusfmt.formats.croissant.model.values import has_form
from corpusfmt.formats.croissant.model.version import (
    OLD_NAMESPACES,
    VERSION_IRI,
    meant_extension,
    near_version,
)
from corpusfmt.formats.croissant.model.vocabulary import SPDX
from corpusfmt.formats.croissant.model.wording import clip, one_of, shown
from corpusfmt.formats.croissant.rules.document import declared_at, several_lost
from corpusfmt.formats.croissant.ruleset import MILDER, RULES, WARNING
from corpusfmt.io.text import is_date
from corpusfmt.model import Fault, Location, Problem, Severity

_REQUIRED = "croissant-1.0#required"
_PROPERTIES = "croissant-1.0#modified-and-added-properties"


@RULES.rule("CRO201", "dataset-type", on=Description, spec=_REQUIRED)
def dataset_type(description: Description) -> Iterator[Problem]:
    """No node of the document is a schema.org Dataset.

    Why: tools and search engines find the description by its type. Without it, nothing else is checked.
    Example: `"@type": "Dataset"` under a context whose `@vocab` is not schema.org; `"@type": "sc:DataSet"`.
    Fix: write `"@type": "sc:Dataset"`, with `sc` declared as `https://schema.org/`.
    """
    if not description.datasets and not description.tasks and not description.is_meaningless:
        nodes = description.expansion.nodes
        types = sorted({kind for node in nodes for kind in node.types})
        found = f"the type is {one_of(types)}" if len(nodes) == 1 and types else "no node has type Dataset"
        at = description.places.of(f"{nodes[0].pointer}/@type") if len(nodes) == 1 and types else description.at
        yield Problem(f"{found}, expected `sc:Dataset`", at, 'write `"@type": "sc:Dataset"`')


@RULES.rule("CRO202", "dataset-type-cardinality", on=Dataset, spec=_REQUIRED, severity=WARNING)
def dataset_type_cardinality(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has several types: valid JSON-LD, but the specification's table allows one.

    Why: Croissant readers compare the type with a single string.
    Example: `"@type": ["sc:Dataset", "sc:CreativeWork"]`.
    Fix: keep `sc:Dataset` alone.
    """
    if len(dataset.node.types) > 1:
        at = dataset.description.places.of(f"{dataset.node.pointer}/@type")
        yield Problem(f"{len(dataset.node.types)} types, expected `sc:Dataset` alone", at, "keep `sc:Dataset` alone")


@RULES.rule("CRO203", "conformsto-missing", on=Dataset, spec=_REQUIRED)
def conformsto_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset does not declare the version of Croissant it conforms to.

    Why: "Croissant datasets must declare that they conform to this specification"; guessing a version would hide errors.
    Example: no `conformsTo`, or a context that maps it to schema.org instead of Dublin Core.
    Fix: add `"conformsTo": "http://mlcommons.org/croissant/1.0"`, with the term mapped to `dct:conformsTo`.
    """
    if not dataset.lacks("dct:conformsTo"):
        return
    if "conformsTo" in dataset.description.lost_terms and several_lost(dataset.description):
        return  # CRO119 reports it
    other = next((name for name in dataset.node.values if name.lower().endswith("conformsto")), None)
    if other is not None:
        message = f"`{dataset.key(other)}` expands to `{other}`, expected `dct:conformsTo`"
        yield Problem(message, dataset.place(other), 'add `"conformsTo": "dct:conformsTo"` to the context')
    else:
        claim = f"{VERSION_IRI}{dataset.description.likely_version}"
        yield Problem("`conformsTo` is missing", dataset.at, f'add `"conformsTo": "{claim}"`')


class Claims(Struct):
    """The version claims of a document."""

    description: Description


@RULES.rule("CRO204", "conformsto-version", on=Claims, spec="croissant-1.0#namespaces", grades=MILDER)
def conformsto_version(claims: Claims) -> Iterator[Problem]:
    """`conformsTo` does not name a known version of Croissant, names 0.8 or another version than the one requested, or
    contains something that is not a URL. A warning for a claimed 0.8, and for near misses next to a known version.

    Why: tools compare the IRI character by character. Nothing else in a 0.8 document is checked, because its vocabulary is
    different.
    Example: `https://mlcommons.org/croissant/1.0`, `http://mlcommons.org/croissant/1.0/`, `http://mlcommons.org/croissant-RAI/1.0`;
    the namespace `http://mlcommons.org/schema/` of 0.8 without `conformsTo`.
    Fix: write `http://mlcommons.org/croissant/1.1` or `1.0`, and use the vocabulary of that version.
    """
    description = claims.description
    version = description.version
    if version == "0.8":
        yield _of_0_8(description)
        return
    for dataset in description.datasets:
        values = dataset.all("dct:conformsTo")
        known = [name for value in values if (name := value.iri) and near_version(name)[1]]
        if known and description.wanted_version not in ("", version):
            message = f"the document claims version {version}, checked as {description.wanted_version}"
            yield Problem(message, dataset.place(values[0]), f"check it as croissant-{version}")
        elif values and not known:
            first = values[0].iri or clip(getattr(values[0], "value", None))
            near, _ = near_version(first)
            expected = f"{VERSION_IRI}{near or description.likely_version}"
            how, verb = ("contains only", "add") if meant_extension(first) else ("is", "write")
            message = f"`conformsTo` {how} `{clip(first)}`, expected `{expected}`"
            yield Problem(message, dataset.place(values[0]), f"{verb} `{expected}`")
        for value in values if known else ():
            name = value.iri or ""
            near, is_exact = near_version(name)
            meant = name if is_exact else meant_extension(name) or (near and f"{VERSION_IRI}{near}")
            if meant not in ("", name):
                message = f"`conformsTo` contains `{clip(name)}`, expected `{meant}`"
                yield Problem(message, dataset.place(value), f"write `{meant}`", minor=True)
            elif not absolute_url(name):
                message = f"`conformsTo` contains {shown(value)}, expected a URL"
                yield Problem(message, dataset.place(value), "write the URL of the specification, or remove it")


def _of_0_8(description: Description) -> Problem:
    """Return the problem with a document of version 0.8, minor if it claims the version."""
    values = [(dataset, value) for dataset in description.datasets for value in dataset.all("dct:conformsTo")]
    used = description.expansion.namespaces
    old = next((each for each in sorted(OLD_NAMESPACES) if each in used or declared_at(description, each)), None)
    claimed = any(near_version(value.iri or "")[1] for _, value in values)
    if values:
        at, why = values[0][0].place(values[0][1]), ""
    else:
        at = description.places.of(declared_at(description, old or "") or used.get(old or "", ""))
        why = f" (vocabulary `{old}`, no `conformsTo`)"
    minor = claimed and description.wanted_version in ("", "0.8")
    message = f"the document is of version 0.8{why}: nothing else is checked"
    return Problem(message, at, _MIGRATE, minor=minor)


_MIGRATE = (
    f"set `conformsTo` to `{VERSION_IRI}1.1`, use the context of its Appendix 1, give every file, file set, record set and "
    'field an `@id`, and write references as `{"@id": "…"}`'
)


def _missing(dataset: Dataset, code: str) -> Iterator[Problem]:
    """Yield the absent properties that a rule with this code reports, and the texts that are empty."""
    for row in [row for row in dataset.shape.properties if row.missing == code]:
        key = local_name(row.name)
        if dataset.lacks(row.name):
            yield Problem(f"`{key}` is missing", dataset.at, f"add `{key}`")
        for literal in dataset.texts(row.name) if row.kinds == ("Text",) else ():
            if not literal.value.strip():
                yield Problem(f"`{dataset.key(row.name)}` is empty", dataset.place(literal), f"write the {key}")


@RULES.rule("CRO205", "name-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def name_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no name, or an empty one.

    Why: catalogues show and cite the name.
    Example: `"name": ""`.
    Fix: add `name`.
    """
    yield from _missing(dataset, "CRO205")


@RULES.rule("CRO206", "description-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def description_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no description, or an empty one.

    Why: people find and choose a dataset by its description.
    Example: a description with only names and files.
    Fix: add `description`.
    """
    yield from _missing(dataset, "CRO206")


@RULES.rule("CRO207", "url-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def url_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no URL.

    Why: the URL leads to the dataset's page and is the base of its identifiers.
    Example: a local description that was never published.
    Fix: add `url`, usually the address of its web page.
    """
    yield from _missing(dataset, "CRO207")


@RULES.rule("CRO208", "license-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def license_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no licence.

    Why: without a licence, nobody knows whether they may use the data.
    Example: a description converted from a repository without a licence file.
    Fix: add `license`, the URL of a known licence.
    """
    yield from _missing(dataset, "CRO208")


@RULES.rule("CRO209", "creator-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def creator_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no creator.

    Why: users need to know whom to credit and ask.
    Example: most published descriptions.
    Fix: add `creator`, a Person or an Organization.
    """
    yield from _missing(dataset, "CRO209")


@RULES.rule("CRO210", "datePublished-missing", on=Dataset, spec=_REQUIRED, severity=WARNING)
def date_published_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no date of publication.

    Why: the date and the version identify a state of the data.
    Example: most published descriptions.
    Fix: add `datePublished`, an ISO 8601 date.
    """
    yield from _missing(dataset, "CRO210")


@RULES.rule("CRO211", "distribution-missing", on=Dataset, spec=_PROPERTIES, severity=WARNING)
def distribution_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no distribution.

    Why: Croissant "requires its presence": it lists the files.
    Example: a description whose records are all inline.
    Fix: add `distribution` with the FileObjects and FileSets of the data.
    """
    yield from _missing(dataset, "CRO211")


@RULES.rule("CRO212", "recommended-missing", on=Dataset, severity=WARNING, spec="croissant-1.0#recommended")
def recommended_missing(dataset: Dataset) -> Iterator[Problem]:
    """Recommended properties are missing; one finding lists them.

    Why: they help people find, cite and evaluate the data.
    Example: no `keywords`, no `version`.
    Fix: add the ones that apply.
    """
    names = [row.name for row in DATASET.properties if row.requirement == "recommended"]
    absent = [name.partition(":")[2] for name in names if dataset.lacks(name)]
    if absent:
        message = f"recommended properties are missing: {', '.join(absent)}"
        yield Problem(message, dataset.at, "add the ones that apply")


@RULES.rule("CRO220", "recordset-missing", on=Dataset, spec="croissant-1.0#recordset", severity=Severity.INFO)
def recordset_missing(dataset: Dataset) -> Iterator[Problem]:
    """The dataset has no record set.

    Why: readers and loaders of Croissant find files, but no records.
    Example: a description with only `distribution`.
    Fix: add `recordSet` with the fields of the data; `corpusfmt describe` finds them.
    """
    yield from _missing(dataset, "CRO220")


CARDINALITY_ONE = RULES.finding(
    "CRO213",
    "cardinality-one",
    """A property of cardinality ONE has several values.

    Why: a reader uses one of them, and readers differ in which.
    Example: two descriptions, or two sources for one field.
    Fix: keep one value.
    """,
    severity=WARNING,
    spec=_REQUIRED,
)

VALUE_TYPE = RULES.finding(
    "CRO214",
    "value-type",
    """A value has the wrong type. A warning where published descriptions interpret the specification loosely.

    Why: readers that expect another type fail or guess.
    Example: `"isLiveDataset": "yes"`, a number as name, an object as description.
    Fix: write a value of the expected type.
    """,
    grades=MILDER,
    spec=_REQUIRED,
)


def mistyped(what: str, found: str, expected: str, at: Location, *, minor: bool = False) -> Fault:
    """Return the finding on a value outside the range of its row."""
    return Fault(VALUE_TYPE, Problem(f"{what} is {found}, expected {expected}", at, f"write {expected}", minor=minor))


@RULES.rule("CRO215", "creator-type", on=Dataset, spec=_REQUIRED)
def creator_type(dataset: Dataset) -> Iterator[Problem]:
    """A creator is neither a Person nor an Organization.

    Why: a bare name could be a person, a team or a company.
    Example: `"creator": "Jane Doe"`.
    Fix: write `{"@type": "sc:Person", "name": "…"}`.
    """
    for value in dataset.all("sc:creator"):
        node = dataset.description.resolve(value) if isinstance(value, Node) else None
        if isinstance(value, Literal) or (node is not None and not {"sc:Person", "sc:Organization"} & set(node.types)):
            found = shown(node or value)
            hint = 'write `{"@type": "sc:Person", "name": "…"}`'
            yield Problem(f"`creator` is {found}, expected a Person or Organization", dataset.place(value), hint)


def absolute_url(text: str) -> bool:
    """Return whether a text is an absolute URL."""
    return has_form(text, "url", ("URL",))


def misformed(view: View, form: str, expected: str, hint: str) -> Iterator[Problem]:
    """Yield the problems with the texts of a node that should have a form and do not."""
    for row in properties_of(view.shape, view.description.version):
        for literal in view.texts(row.name) if row.form == form else ():
            if not has_form(literal.value, form, row.kinds):
                message = f"`{view.key(row.name)}` is `{clip(literal.value)}`, expected {expected}"
                yield view.problem(message, hint, literal)


@RULES.rule("CRO216", "url-invalid", on=Dataset, spec=_REQUIRED, severity=WARNING)
def url_invalid(dataset: Dataset) -> Iterator[Problem]:
    """A URL of the dataset is not an absolute URL, or a file's contentUrl is empty or contains white space or controls.

    Why: tools cannot open it.
    Example: `"url": "my dataset"`, `"contentUrl": ""`.
    Fix: write an absolute URL; a file's contentUrl may be relative to the description.
    """
    version = dataset.description.version
    for name in ("sc:url", "sc:sameAs", *(["sc:usageInfo"] if version != "1.0" else [])):
        for value in dataset.all(name):
            # `usageInfo` may be a node of the description.
            text = value.iri if name != "sc:usageInfo" or isinstance(value, Literal) else None
            if text is not None and not absolute_url(text):
                message = f"`{dataset.key(name)}` is `{clip(text)}`, expected a URL"
                yield Problem(message, dataset.place(value), "write an absolute URL")
    for view in dataset.description.files.get(dataset, ()):
        yield from misformed(view, "address", "a URL", "write a URL, or a path relative to the description")


@RULES.rule("CRO217", "date-invalid", on=Dataset, spec=_REQUIRED, grades=MILDER)
def date_invalid(dataset: Dataset) -> Iterator[Problem]:
    """A date is not an ISO 8601 date. A warning for the time frame of collection, often prose or an object with two dates.

    Why: readers fail to parse the date.
    Example: `"datePublished": "31/12/2023"`, `"2023-02-30"`; `"rai:dataCollectionTimeframe": "spring 2024"`.
    Fix: write `YYYY-MM-DD`, followed by `Thh:mm:ssZ` if the time matters; separate start and end of an interval by a slash.
    """
    for name in [row.name for row in DATASET.properties if row.kinds == ("Date",)]:
        is_span = name.startswith("rai:")
        wanted = "an ISO 8601 date" + (" or interval" if is_span else "")
        for value in dataset.all(name):
            text = value.value if isinstance(value, Literal) else None
            if date_fault(text, or_interval=is_span) if isinstance(text, str) else is_span:
                span = _span_in(value)
                hint = f"write `{span}`" if span else "write YYYY-MM-DD" + ("/YYYY-MM-DD" if is_span else "")
                found = "an object" if isinstance(value, Node) else shown(value)
                message = f"`{dataset.key(name)}` is {found}, expected {wanted}"
                yield Problem(message, dataset.place(value), hint, minor=is_span)


def _span_in(value: Value) -> str:
    """Return the interval that an object means by its dates alone, or the year that a number is; "" for any other value."""
    if isinstance(value, Literal):
        return str(value.value) if isinstance(value.value, int) and is_date(str(value.value)) else ""
    sides = [[str(each.value) for each in value.literals(f"sc:{name}Date")] for name in ("start", "end")]
    span = "/".join(side[0] if side else ".." for side in sides)
    return span if value.values.keys() <= {"sc:startDate", "sc:endDate"} and _is_interval(span) else ""


def date_fault(text: str, *, or_interval: bool = False) -> bool:
    """Return whether a text is neither an ISO 8601 date nor, where one may be, an interval."""
    return not (is_date(text) or (or_interval and _is_interval(text)))


_DURATION = r"P(?=.)(\d+[YMWD])*(T(\d+[HMS])+)?"


def _is_interval(text: str) -> bool:
    sides = [side.strip() for side in text.split("/")]
    fits = all(side in ("", "..") or is_date(side) or re.fullmatch(_DURATION, side) for side in sides)
    return fits and len(sides) == 2 and any(map(is_date, sides))


def is_semantic_version(text: str) -> bool:
    """Return whether a version is one by Semantic Versioning 2.0.0."""
    return has_form(text, "version", ("Text",))


@RULES.rule("CRO218", "version-semver", on=Dataset, severity=WARNING, spec="croissant-1.0#version")
def version_semver(dataset: Dataset) -> Iterator[Problem]:
    """The version is not MAJOR.MINOR.PATCH.

    Why: Semantic Versioning 2.0.0 is the recommended scheme: it shows what kind of change a new version is.
    Example: `"version": "1.0"`, `"version": 2`.
    Fix: write three numbers, such as `1.0.0`.
    """
    for value in dataset.all("sc:version"):
        text = str(value.value) if isinstance(value, Literal) and isinstance(value.value, str | int | float) else None
        if text is not None and not is_semantic_version(text):
            message = f"`version` is `{clip(text)}`, expected MAJOR.MINOR.PATCH"
            yield Problem(message, dataset.place(value), "write three numbers, such as `1.0.0`")


@RULES.rule("CRO219", "license-not-url", on=Dataset, severity=WARNING, spec=_REQUIRED)
def license_not_url(dataset: Dataset) -> Iterator[Problem]:
    """A licence is neither a URL nor a CreativeWork.

    Why: the name of a licence is ambiguous; a URL leads to the text that applies.
    Example: `"license": "mit"`, `"license": {}`.
    Fix: write the URL of the licence, such as its page at SPDX.
    """
    for name in ("sc:license", "sc:sdLicense"):
        for value in dataset.all(name):
            if isinstance(value, Node) and value.id is None and not (value.types or value.values or value.dropped):
                message = f"`{dataset.key(name)}` is empty, expected a URL or a CreativeWork"
                yield Problem(message, dataset.place(value), "write the URL of the licence")
        for literal in dataset.texts(name):
            if not absolute_url(literal.value):
                known = SPDX.get(literal.value.lower())
                hint = f"write `https://spdx.org/licenses/{known}.html`" if known else "write the URL of the licence"
                message = f"`{dataset.key(name)}` is `{clip(literal.value)}`, expected a URL or a CreativeWork"
                yield Problem(message, dataset.place(literal), hint)
