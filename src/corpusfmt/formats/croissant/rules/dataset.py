"""Internal: CRO2xx: the data set as a whole, and what the tables say of values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from corpusfmt.formats.croissant.model.graph import Dataset, Description
from corpusfmt.formats.croissant.model.nodes import Literal, Node, Value
from corpusfmt.formats.croissant.model.shapes import DATASET
from corpusfmt.formats.croissant.model.values import is_date
from corpusfmt.formats.croissant.model.version import OLD_NAMESPACES, VERSION_IRI, conforms_to, near_version
from corpusfmt.formats.croissant.model.vocabulary import SPDX
from corpusfmt.formats.croissant.model.wording import clip, one_of, shown
from corpusfmt.formats.croissant.rules.document import declared_at, several_lost
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Fault, Location, Problem, Severity

_REQUIRED = "croissant-1.0#required"
_RECOMMENDED = "croissant-1.0#recommended"


@RULES.rule("CRO201", "dataset-type", on=Description, spec=_REQUIRED)
def dataset_type(description: Description) -> Iterator[Problem]:
    """No node of the document is a schema.org Dataset.

    Why: the type is how tools and search engines find the description. Nothing else is judged without it.
    Example: `"@type": "Dataset"` under a context whose `@vocab` is not schema.org; `"@type": "sc:DataSet"`.
    Fix: write `"@type": "sc:Dataset"`, with `sc` declared as `https://schema.org/`.
    """
    if not description.datasets and not description.is_meaningless:
        nodes = description.expansion.nodes
        types = sorted({kind for node in nodes for kind in node.types})
        found = f"the type is {one_of(types)}" if len(nodes) == 1 and types else "no node is of type Dataset"
        at = description.places.of(f"{nodes[0].pointer}/@type") if len(nodes) == 1 and types else description.at
        yield Problem(f"{found}, expected `sc:Dataset`", at, 'write `"@type": "sc:Dataset"`')


@RULES.rule(
    "CRO202", "dataset-type-cardinality", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def dataset_type_cardinality(dataset: Dataset) -> Iterator[Problem]:
    """The data set has several types. That is good JSON-LD, but the table has one.

    Why: readers of Croissant compare the type with one string.
    Example: `"@type": ["sc:Dataset", "sc:CreativeWork"]`.
    Fix: keep `sc:Dataset` alone.
    """
    if len(dataset.node.types) > 1:
        at = dataset.description.places.of(f"{dataset.node.pointer}/@type")
        yield Problem(f"{len(dataset.node.types)} types, expected `sc:Dataset` alone", at, "keep `sc:Dataset` alone")


@RULES.rule("CRO203", "conformsto-missing", on=Dataset, spec=_REQUIRED)
def conformsto_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set does not say which version of Croissant it conforms to.

    Why: "Croissant datasets must declare that they conform to this specification"; no version is assumed silently.
    Example: no `conformsTo`, or a context that maps it to schema.org instead of Dublin Core.
    Fix: add `"conformsTo": "http://mlcommons.org/croissant/1.0"`, with the term mapped to `dct:conformsTo`.
    """
    if dataset.lacks("dct:conformsTo") and not (
        "conformsTo" in dataset.description.lost_terms and several_lost(dataset.description)
    ):
        other = next((name for name in dataset.node.values if name.endswith(("conformsTo", "conformsto"))), None)
        if other is not None:
            message = f"`{dataset.key(other)}` means `{other}` here, expected `dct:conformsTo`"
            yield Problem(message, dataset.place(other), 'add `"conformsTo": "dct:conformsTo"` to the context')
        else:
            yield Problem("no `conformsTo`", dataset.at, f'add `"conformsTo": "{VERSION_IRI}1.0"`')


@RULES.rule(
    "CRO204", "conformsto-version", on=Description, spec="croissant-1.0#namespaces",
    grades={"minor": Severity.WARNING, "strict/minor": Severity.ERROR},
)  # fmt: skip
def conformsto_version(description: Description) -> Iterator[Problem]:
    """`conformsTo` names no version of Croissant that is known, or not the one that was asked for, or 0.8.

    Why: the IRI is compared letter by letter. Version 1.1 is judged by what it shares with 1.0 and its documented
    changes; of a 0.8 document only the JSON and the JSON-LD are judged, as its vocabulary is another one. That is milder
    where it claims to be one.
    Example: `https://mlcommons.org/croissant/1.0`, `http://mlcommons.org/croissant/1.0/`; the namespace
    `http://mlcommons.org/schema/` of 0.8, and no `conformsTo`.
    Fix: write `http://mlcommons.org/croissant/1.0`, and the vocabulary of 1.0.
    """
    version = description.version
    for dataset in description.datasets:
        values = dataset.all("dct:conformsTo")
        known = [name for value in values if (name := conforms_to(value)) and near_version(name)[1]]
        if known and description.wanted_version not in ("", version):
            message = f"a document of version {version}, checked as {description.wanted_version}"
            yield Problem(message, dataset.place_of(values[0]), f"check it as croissant-{version}")
        elif known and version == "0.8":
            message = "a document of version 0.8: only its JSON and JSON-LD are judged"
            yield Problem(message, dataset.place_of(values[0]), _MIGRATE, minor=True)
        elif values and not known:
            first = conforms_to(values[0]) or clip(getattr(values[0], "value", None))
            near, _ = near_version(first)
            expected = f"{VERSION_IRI}{near or '1.0'}"
            message = f"`conformsTo` is `{clip(first)}`, expected `{expected}`"
            yield Problem(message, dataset.place_of(values[0]), f"write `{expected}`")
        elif version == "0.8":
            used = description.expansion.namespaces
            old = next(each for each in used if each in OLD_NAMESPACES)
            why = f"vocabulary `{old}`, no `conformsTo`"
            message = f"a document of version 0.8 ({why}): only its JSON and JSON-LD are judged"
            yield Problem(message, description.places.of(declared_at(description, old) or used[old]), _MIGRATE)


_MIGRATE = "migrate it to 1.0 to have all of it judged"


def _missing(dataset: Dataset, name: str) -> Iterator[Problem]:
    if dataset.lacks(name):
        key = name.partition(":")[2]
        yield Problem(f"no `{key}`", dataset.at, f"add `{key}`")


def _empty(dataset: Dataset, name: str) -> Iterator[Problem]:
    for literal in dataset.texts(name):
        if not literal.value.strip():
            yield Problem(f"`{dataset.key(name)}` is empty", dataset.place_of(literal), "write it")


@RULES.rule(
    "CRO205", "name-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def name_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no name, or an empty one.

    Why: it is what catalogues show and cite.
    Example: `"name": ""`.
    Fix: add `name`.
    """
    yield from _missing(dataset, "sc:name")
    yield from _empty(dataset, "sc:name")


@RULES.rule(
    "CRO206", "description-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def description_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no description, or an empty one.

    Why: it is the text by which people find and choose it.
    Example: a description with only names and files.
    Fix: add `description`.
    """
    yield from _missing(dataset, "sc:description")
    yield from _empty(dataset, "sc:description")


@RULES.rule(
    "CRO207", "url-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def url_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no URL.

    Why: it leads to its page, and serves as base of its identifiers.
    Example: a local description that was never given an address.
    Fix: add `url`, generally that of its web page.
    """
    yield from _missing(dataset, "sc:url")


@RULES.rule(
    "CRO208", "license-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def license_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no licence.

    Why: without one nobody may be sure to use it.
    Example: a description converted from a repository without a licence file.
    Fix: add `license`, the URL of a known licence.
    """
    yield from _missing(dataset, "sc:license")


@RULES.rule(
    "CRO209", "creator-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def creator_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no creator.

    Why: it says whom to credit and to ask.
    Example: most published descriptions.
    Fix: add `creator`, a Person or an Organization.
    """
    yield from _missing(dataset, "sc:creator")


@RULES.rule(
    "CRO210", "datePublished-missing", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def date_published_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no date of publication.

    Why: with the version it says which state of the data is meant.
    Example: most published descriptions.
    Fix: add `datePublished`, an ISO 8601 date.
    """
    yield from _missing(dataset, "sc:datePublished")


@RULES.rule(
    "CRO211", "distribution-missing", on=Dataset, spec="croissant-1.0#modified-and-added-properties",
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def distribution_missing(dataset: Dataset) -> Iterator[Problem]:
    """The data set has no distribution.

    Why: Croissant "requires its presence": it is where the files are.
    Example: a description whose records are all inline.
    Fix: add `distribution` with the FileObjects and FileSets of the data.
    """
    yield from _missing(dataset, "sc:distribution")


@RULES.rule("CRO212", "recommended-missing", on=Dataset, severity=Severity.WARNING, spec=_RECOMMENDED)
def recommended_missing(dataset: Dataset) -> Iterator[Problem]:
    """Recommended properties are absent; one finding lists them.

    Why: they help people find, cite and judge the data.
    Example: no `keywords`, no `version`.
    Fix: add those that apply.
    """
    names = [row.name for row in DATASET.properties if row.requirement == "recommended"]
    absent = [name.partition(":")[2] for name in names if dataset.lacks(name)]
    if absent:
        yield Problem(f"recommended and absent: {', '.join(absent)}", dataset.at, "add those that apply")


CARDINALITY_ONE = RULES.finding(
    "CRO213",
    "cardinality-one",
    """A property of cardinality ONE has several values.

    Why: readers take one of them, and which one is up to them.
    Example: two descriptions, two sources of one field.
    Fix: keep one value.
    """,
    severity=Severity.WARNING,
    grades={"strict": Severity.ERROR},
    spec=_REQUIRED,
)


VALUE_TYPE = RULES.finding(
    "CRO214",
    "value-type",
    """A value is not of the type that the table expects. Milder where published descriptions read the table loosely.

    Why: readers expect that type, and fail or guess.
    Example: `"isLiveDataset": "yes"`, a number as name, an object as description.
    Fix: write a value of the expected type.
    """,
    grades={"minor": Severity.WARNING},
    spec=_REQUIRED,
)


def mistyped(what: str, found: str, expected: str, at: Location, *, minor: bool = False) -> Fault:
    """Return what is said of a value outside the range of its row; `minor` where the table is looser than it reads."""
    return Fault(VALUE_TYPE, Problem(f"{what} is {found}, expected {expected}", at, f"write {expected}", minor=minor))


@RULES.rule("CRO215", "creator-type", on=Dataset, spec=_REQUIRED)
def creator_type(dataset: Dataset) -> Iterator[Problem]:
    """A creator is neither a Person nor an Organization.

    Why: a bare name does not say what it names.
    Example: `"creator": "Jane Doe"`.
    Fix: write `{"@type": "sc:Person", "name": "…"}`.
    """
    for value in dataset.all("sc:creator"):
        node = dataset.description.resolve(value) if isinstance(value, Node) else None
        if isinstance(value, Literal) or (node is not None and not {"sc:Person", "sc:Organization"} & set(node.types)):
            found = shown(node or value)
            hint = 'write `{"@type": "sc:Person", "name": "…"}`'
            yield Problem(f"creator is {found}, expected a Person or Organization", dataset.place_of(value), hint)


def absolute_url(text: str) -> bool:
    """Tell whether a text is an absolute URL."""
    if not text or re.search(r"\s", text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or (parts.scheme not in ("http", "https", "ftp") and parts.path)))


def url_of(value: Value) -> str | None:
    """Return the URL that a value is: that of a node, or a string."""
    if isinstance(value, Node):
        return value.id
    return value.value if isinstance(value.value, str) else None


@RULES.rule(
    "CRO216", "url-invalid", on=Dataset, spec=_REQUIRED,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def url_invalid(dataset: Dataset) -> Iterator[Problem]:
    """A URL of the data set is none, or the contentUrl of a file has white space.

    Why: nobody can follow it.
    Example: `"url": "my dataset"`, `"contentUrl": ""`.
    Fix: write an absolute URL; the contentUrl of a file may be relative to the description.
    """
    for name in ("sc:url", "sc:sameAs"):
        for value in dataset.all(name):
            text = url_of(value)
            if text is not None and not absolute_url(text):
                message = f"`{dataset.key(name)}` is `{clip(text)}`, expected a URL"
                yield Problem(message, dataset.place_of(value), "write an absolute URL")
    for view in dataset.description.files.get(dataset, ()):
        for literal in view.texts("sc:contentUrl"):
            if not literal.value.strip() or (re.search(r"\s", literal.value) and "://" in literal.value):
                message = f"{view.title}: `contentUrl` is `{clip(literal.value)}`, expected a URL"
                yield Problem(message, view.place_of(literal), "write a URL, or a path relative to the description")


@RULES.rule(
    "CRO217", "date-invalid", on=Dataset, spec=_REQUIRED,
    grades={"minor": Severity.WARNING, "strict/minor": Severity.ERROR},
)  # fmt: skip
def date_invalid(dataset: Dataset) -> Iterator[Problem]:
    """A date is not ISO 8601, or no day of the calendar. Milder for the time frame of collection, which many tell in prose.

    Why: readers parse it as such, and fail.
    Example: `"datePublished": "31/12/2023"`, `"2023-02-30"`; `"rai:dataCollectionTimeframe": "spring 2024"`.
    Fix: write `YYYY-MM-DD`, with `Thh:mm:ssZ` after it where the time matters, and a slash between start and end of a time.
    """
    names = [row.name for row in DATASET.properties if row.kinds == ("Date",)]
    for name in names:
        for literal in dataset.texts(name):
            is_span = name.startswith("rai:")
            if not (is_date(literal.value) or (is_span and _is_interval(literal.value))):
                wanted = "an ISO 8601 date" + (" or interval" if is_span else "")
                message = f"`{dataset.key(name)}` is `{clip(literal.value)}`, expected {wanted}"
                hint = "write YYYY-MM-DD" + ("/YYYY-MM-DD" if is_span else "")
                yield Problem(message, dataset.place_of(literal), hint, minor=is_span)


def _is_interval(text: str) -> bool:
    start, slash, end = text.partition("/")
    sides = [side.strip() for side in (start, end)]
    return bool(slash) and any(map(is_date, sides)) and all(side in ("", "..") or is_date(side) for side in sides)


_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def is_semantic_version(text: str) -> bool:
    """Tell whether a version is one by Semantic Versioning 2.0.0."""
    return len(text) < 256 and _SEMVER.fullmatch(text) is not None


@RULES.rule("CRO218", "version-semver", on=Dataset, severity=Severity.WARNING, spec="croissant-1.0#version")
def version_semver(dataset: Dataset) -> Iterator[Problem]:
    """The version is not MAJOR.MINOR.PATCH.

    Why: Semantic Versioning 2.0.0 is the recommended scheme: it says what kind of change a new version is.
    Example: `"version": "1.0"`, `"version": 2`.
    Fix: write three numbers, as in `1.0.0`.
    """
    for value in dataset.all("sc:version"):
        if isinstance(value, Literal) and isinstance(value.value, str | int | float):
            text = str(value.value)
            if not is_semantic_version(text):
                yield Problem(
                    f"version is `{clip(text)}`, expected MAJOR.MINOR.PATCH",
                    dataset.place_of(value),
                    "write three numbers, as in 1.0.0",
                )


@RULES.rule("CRO219", "license-not-url", on=Dataset, severity=Severity.WARNING, spec=_REQUIRED)
def license_not_url(dataset: Dataset) -> Iterator[Problem]:
    """A licence is neither a URL nor a CreativeWork.

    Why: a name alone is not unique; a URL leads to the text that holds.
    Example: `"license": "mit"`.
    Fix: write the URL of the licence, such as that of its page at SPDX.
    """
    for name in ("sc:license", "sc:sdLicense"):
        for literal in dataset.texts(name):
            if not absolute_url(literal.value):
                known = SPDX.get(literal.value.lower())
                hint = f"write `https://spdx.org/licenses/{known}.html`" if known else "write the URL of the licence"
                message = f"`{dataset.key(name)}` is `{clip(literal.value)}`, expected a URL or a CreativeWork"
                yield Problem(message, dataset.place_of(literal), hint)
