"""Internal: The tables of the specification as one table: class → property → range, cardinality, requirement, by version.

The rules use it, and `schemas/croissant/*/shapes.ttl` are written from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from corpusfmt.formats.croissant.model.extensions import (
    EXTENSION_SHAPES,
    GEO_OF_DATASET,
    GEO_OF_FIELD,
    GEO_OF_RECORD_SET,
    PROV,
    RAI,
    TERM_SHAPES,
)
from corpusfmt.formats.croissant.model.tables import Property, Shape

_1_0 = ("1.0",)
_1_1 = ("1.1",)

_NAME = Property("sc:name", ("Text",), loose=True)
_DESCRIPTION = Property("sc:description", ("Text",), loose=True)
_CONTAINED_IN = Property("cr:containedIn", ("Reference", "DataSource"), many=True, mistyped="CRO133")
_ENCODING_FORMAT = Property(
    "sc:encodingFormat", ("Text",), later={"kinds": ("Text", "URL"), "many": True}, form="media type"
)
_ANNOTATION = Property("cr:annotation", ("cr:Field",), many=True, mistyped="CRO402", versions=_1_1)
_FORMAT = Property("cr:format", ("Text",))

DATASET = Shape(
    "sc:Dataset",
    "Dataset-level Information",
    (
        Property(
            "dct:conformsTo",
            ("URL",),
            requirement="required",
            missing="CRO203",
            mistyped="CRO204",
            later={"many": True},
        ),
        Property("sc:description", ("Text",), requirement="required", missing="CRO206"),
        Property("sc:license", ("URL", "sc:CreativeWork"), True, "required", "CRO208", form="license"),
        Property("sc:name", ("Text",), requirement="required", missing="CRO205"),
        Property("sc:url", ("URL",), requirement="required", missing="CRO207", form="url"),
        Property("sc:creator", ("sc:Organization", "sc:Person"), True, "required", "CRO209", "CRO215"),
        Property("sc:datePublished", ("Date",), requirement="required", missing="CRO210"),
        Property("sc:keywords", ("Text", "URL", "sc:DefinedTerm"), True, "recommended"),
        Property("sc:publisher", ("sc:Organization", "sc:Person"), True, "recommended", loose=True),
        Property("sc:version", ("Number", "Text"), requirement="recommended", form="version"),
        Property("sc:dateCreated", ("Date",), requirement="recommended"),
        Property("sc:dateModified", ("Date",), requirement="recommended"),
        Property("sc:sameAs", ("URL",), True, "recommended", form="url"),
        Property("sc:sdLicense", ("URL", "sc:CreativeWork"), True, "recommended", form="license"),
        Property("sc:inLanguage", ("Text", "sc:Language"), True, "recommended"),
        Property("sc:distribution", ("cr:FileObject", "cr:FileSet"), True, "required", "CRO211", "CRO301"),
        Property("cr:isLiveDataset", ("Boolean",)),
        Property("cr:citeAs", ("Text",)),
        Property("cr:recordSet", ("cr:RecordSet",), many=True, missing="CRO220", mistyped="CRO401"),
        Property("cr:sdVersion", ("Number", "Text"), versions=_1_1),
        Property(
            "sc:usageInfo",
            ("URL", "sc:CreativeWork", "sc:DefinedTerm"),
            many=True,
            loose=True,
            versions=_1_1,
            form="url",
        ),
        *RAI,
        *GEO_OF_DATASET,
        *PROV,
    ),
)

FILE_OBJECT = Shape(
    "cr:FileObject",
    "FileObject",
    (
        _NAME,
        _DESCRIPTION,
        Property("sc:contentUrl", ("URL",), missing="CRO302", form="address"),
        Property("sc:contentSize", ("Text",), loose=True, form="size"),
        _ENCODING_FORMAT,
        Property("sc:sameAs", ("URL",), many=True),
        Property("sc:sha256", ("Text",), form="sha256"),
        Property("cr:md5", ("Text",), form="md5"),
        _CONTAINED_IN,
        *PROV,
    ),
)

FILE_SET = Shape(
    "cr:FileSet",
    "FileSet",
    (
        _NAME,
        _DESCRIPTION,
        _CONTAINED_IN,
        _ENCODING_FORMAT,
        Property("cr:includes", ("Text",), many=True),
        Property("cr:excludes", ("Text",), many=True),
        # The properties of schema.org's DataDownload, which it is in 1.1.
        *(
            Property(row.name, row.kinds, row.many, loose=row.loose, versions=_1_1)
            for row in (
                Property("sc:contentSize", ("Text",), loose=True),
                Property("sc:contentUrl", ("URL",)),
                Property("sc:sha256", ("Text",)),
                Property("sc:sameAs", ("URL",), many=True),
            )
        ),
        *PROV,
    ),
)

RECORD_SET = Shape(
    "cr:RecordSet",
    "RecordSet",
    (
        _NAME,
        _DESCRIPTION,
        Property("cr:field", ("cr:Field",), many=True, missing="CRO403", mistyped="CRO402"),
        Property("cr:key", ("Reference",), many=True, mistyped="CRO404"),
        Property("cr:data", ("JSON",), many=True, mistyped="CRO501"),
        Property("cr:examples", ("JSON",), many=True, mistyped="CRO501"),
        Property("cr:dataType", ("Type",), many=True, mistyped="CRO420"),
        _ANNOTATION,
        *GEO_OF_RECORD_SET,
        *PROV,
    ),
)

FIELD = Shape(
    "cr:Field",
    "Field",
    (
        _NAME,
        _DESCRIPTION,
        Property("cr:source", ("Reference", "DataSource"), mistyped="CRO133"),
        Property("cr:dataType", ("Type",), many=True, mistyped="CRO420"),
        Property("cr:repeated", ("Boolean",), versions=_1_0, successor="`isArray`"),
        Property("cr:equivalentProperty", ("URL",), many=True, form="property"),
        Property("cr:references", ("Reference", "DataSource"), many=True, mistyped="CRO133"),
        Property("cr:subField", ("cr:Field",), many=True, mistyped="CRO402"),
        Property("cr:parentField", ("Reference", "Field"), many=True, mistyped="CRO133"),
        Property("cr:samplingRate", ("Number",), loose=True),
        Property("cr:isArray", ("Boolean",), versions=_1_1),
        Property("cr:arrayShape", ("Text",), versions=_1_1, form="shape"),
        # A list is one constant, although JSON-LD has a value for each item.
        Property("cr:value", ("JSON",), many=True, mistyped="CRO430", versions=_1_1),
        _ANNOTATION,
        *GEO_OF_FIELD,
        *PROV,
    ),
)

DATA_SOURCE = Shape(
    "cr:DataSource",
    "DataSource",
    (
        Property("cr:fileObject", ("Reference",), mistyped="CRO133"),
        Property("cr:fileSet", ("Reference",), mistyped="CRO133"),
        Property("cr:recordSet", ("Reference",), mistyped="CRO133"),
        Property("cr:field", ("Reference",), mistyped="CRO133"),
        Property("cr:extract", ("Extract",)),
        Property("cr:transform", ("Transform",), many=True),
        _FORMAT,
        Property("cr:samplingRate", ("Number",), loose=True),
    ),
)

EXTRACT = Shape(
    "cr:Extract",
    "Extract",
    (
        Property("cr:fileProperty", ("Text",)),
        Property("cr:column", ("Text",)),
        Property("cr:jsonPath", ("Text",)),
        Property("cr:regex", ("Text",)),
        Property("cr:separator", ("Text",), loose=True),
    ),
)

TRANSFORM = Shape(
    "cr:Transform",
    "Transform",
    (
        Property("cr:regex", ("Text",)),
        Property("cr:separator", ("Text",)),
        Property("cr:jsonPath", ("Text",)),
        _FORMAT,
        Property("cr:readLines", ("Boolean",), versions=_1_1),
        Property("cr:unArchive", ("Boolean",), versions=_1_1),
        Property("cr:delimiter", ("Text",), versions=_1_0, successor="`separator`"),
        Property("cr:jsonQuery", ("Text",), versions=_1_0, successor="`jsonPath`"),
        Property("cr:replace", ("Text",), versions=_1_0, successor="`regex`"),
    ),
)

SHAPES = {
    shape.name: shape for shape in (DATASET, FILE_OBJECT, FILE_SET, RECORD_SET, FIELD, DATA_SOURCE, EXTRACT, TRANSFORM)
}


def _domains(shapes: Iterable[Shape], *prefixes: str) -> dict[str, tuple[str, ...]]:
    """Return the properties with some prefixes, and the classes that have them."""
    found: dict[str, dict[str, None]] = {}
    for shape in shapes:
        for row in shape.properties:
            if row.name.startswith(prefixes):
                found.setdefault(row.name, {})[shape.name] = None
    return {name: tuple(classes) for name, classes in found.items()}


#: Every property of the Croissant namespace that describes data, and the classes that have it.
CROISSANT_PROPERTIES = _domains(SHAPES.values(), "cr:")
# In the context of Appendix 1 of version 1.0, but in no table.
CROISSANT_PROPERTIES["cr:path"] = ("cr:FileObject", "cr:FileSet", "cr:Extract")
#: Including the properties of RAI, GeoCroissant and Tasks.
DOMAINS = {
    **CROISSANT_PROPERTIES,
    **_domains([*SHAPES.values(), *EXTENSION_SHAPES.values()], "cr:", "rai:", "geocr:"),
}
#: Every class with a table.
ALL_SHAPES = {**SHAPES, **TERM_SHAPES}

_ROWS = [row for shape in SHAPES.values() for row in shape.properties if row.name.startswith("cr:")]
#: The terms that version 1.1 added.
LATER_TERMS = frozenset(row.name for row in _ROWS) - {row.name for row in _ROWS if "1.0" in row.versions}
#: The terms that version 1.1 removed, and their replacements.
REMOVED_TERMS = {row.name: row.successor for row in _ROWS if row.successor} | {
    "cr:path": "`contentUrl`, `includes` or `jsonPath`"
}

#: The terms that the tables use and the context of Appendix 1 omits, so `@vocab` turns them into schema.org's.
UNMAPPED_BY_APPENDIX = {
    "1.0": frozenset({
        "containedIn", "excludes", "equivalentProperty", "delimiter", "jsonQuery", "samplingRate", "isArray", "arrayShape",
        "annotation",
    }),
    "1.1": frozenset({"samplingRate"}),
}  # fmt: skip


def properties_of(shape: Shape, version: str) -> tuple[Property, ...]:
    """Return the rows of a version. A document of 1.0 also gets the rows for terms of 1.1."""
    rows = shape.in_version(version)
    known = {row.name for row in rows}
    return (*rows, *(row for row in shape.in_version("1.1") if row.name in LATER_TERMS and row.name not in known))
