"""Internal: The tables of the specification as one table: class → property → range, cardinality, requirement.

The rules judge by it, and `schemas/croissant/1.0/shapes.ttl` is written from it.
"""

from __future__ import annotations

from typing import Literal as OneOf

from msgspec import Struct

#: What a value may be: a schema.org data type, a class, JSON, or a reference to a node of the document.
Kind = str

Requirement = OneOf["required", "recommended", "optional"]


class Property(Struct, frozen=True):
    """One row of a table.

    `missing` and `mistyped` are the rules that tell of an absent value and of one outside `kinds`; a `loose` row is one
    that published descriptions, the specification's own among them, take as a recommendation. `versions` are those
    in which the row holds.
    """

    name: str
    kinds: tuple[Kind, ...]
    many: bool = False
    requirement: Requirement = "optional"
    missing: str = ""
    mistyped: str = "CRO214"
    loose: bool = False
    versions: tuple[str, ...] = ("1.0", "1.1")


class Shape(Struct, frozen=True):
    """One class of the specification: its properties, and the section that has its table."""

    name: str
    section: str
    properties: tuple[Property, ...]


_1_0 = ("1.0",)
_1_1 = ("1.1",)

_NAME = Property("sc:name", ("Text",), loose=True)
_DESCRIPTION = Property("sc:description", ("Text",), loose=True)
_CONTAINED_IN = Property("cr:containedIn", ("Reference",), many=True, mistyped="CRO133")


def _rai(name: str, kind: Kind = "Text", *, many: bool = True) -> Property:
    return Property(f"rai:{name}", (kind,), many=many)


DATASET = Shape(
    "sc:Dataset",
    "Dataset-level Information",
    (
        Property(
            "dct:conformsTo", ("URL",), requirement="required", missing="CRO203", mistyped="CRO204", versions=_1_0
        ),
        Property(
            "dct:conformsTo", ("URL",), True, requirement="required", missing="CRO203", mistyped="CRO204", versions=_1_1
        ),
        Property("sc:description", ("Text",), requirement="required", missing="CRO206"),
        Property("sc:license", ("URL", "sc:CreativeWork"), True, "required", "CRO208"),
        Property("sc:name", ("Text",), requirement="required", missing="CRO205"),
        Property("sc:url", ("URL",), requirement="required", missing="CRO207"),
        Property("sc:creator", ("sc:Organization", "sc:Person"), True, "required", "CRO209", "CRO215"),
        Property("sc:datePublished", ("Date",), requirement="required", missing="CRO210"),
        Property("sc:keywords", ("Text", "URL", "sc:DefinedTerm"), True, "recommended"),
        Property("sc:publisher", ("sc:Organization", "sc:Person"), True, "recommended", loose=True),
        Property("sc:version", ("Number", "Text"), requirement="recommended"),
        Property("sc:dateCreated", ("Date",), requirement="recommended"),
        Property("sc:dateModified", ("Date",), requirement="recommended"),
        Property("sc:sameAs", ("URL",), True, "recommended"),
        Property("sc:sdLicense", ("URL", "sc:CreativeWork"), True, "recommended"),
        Property("sc:inLanguage", ("Text", "sc:Language"), True, "recommended"),
        Property("sc:distribution", ("cr:FileObject", "cr:FileSet"), True, "required", "CRO211", "CRO301"),
        Property("cr:isLiveDataset", ("Boolean",)),
        Property("cr:citeAs", ("Text",)),
        Property("cr:recordSet", ("cr:RecordSet",), many=True, mistyped="CRO401"),
        Property("cr:sdVersion", ("Text",), versions=_1_1),
        _rai("dataCollection", many=False),
        _rai("dataCollectionType"),
        _rai("dataCollectionMissingData", many=False),
        _rai("dataCollectionRawData", many=False),
        _rai("dataCollectionTimeframe", "Date"),
        _rai("dataImputationProtocol", many=False),
        _rai("dataPreprocessingProtocol"),
        _rai("dataManipulationProtocol", many=False),
        _rai("dataAnnotationProtocol", many=False),
        _rai("dataAnnotationPlatform"),
        _rai("dataAnnotationAnalysis"),
        _rai("dataReleaseMaintenancePlan"),
        _rai("personalSensitiveInformation"),
        _rai("dataSocialImpact", many=False),
        _rai("dataBiases"),
        _rai("dataLimitations"),
        _rai("dataUseCases"),
        _rai("annotationsPerItem", many=False),
        _rai("annotatorDemographics"),
        _rai("machineAnnotationTools"),
    ),
)

FILE_OBJECT = Shape(
    "cr:FileObject",
    "FileObject",
    (
        _NAME,
        _DESCRIPTION,
        Property("sc:contentUrl", ("URL",)),
        Property("sc:contentSize", ("Text",), loose=True),
        Property("sc:encodingFormat", ("Text",), versions=_1_0),
        Property("sc:encodingFormat", ("Text", "URL"), many=True, versions=_1_1),
        Property("sc:sameAs", ("URL",), many=True),
        Property("sc:sha256", ("Text",)),
        Property("cr:md5", ("Text",)),
        _CONTAINED_IN,
    ),
)

FILE_SET = Shape(
    "cr:FileSet",
    "FileSet",
    (
        _NAME,
        _DESCRIPTION,
        _CONTAINED_IN,
        Property("sc:encodingFormat", ("Text",), versions=_1_0),
        Property("sc:encodingFormat", ("Text", "URL"), many=True, versions=_1_1),
        Property("cr:includes", ("Text",), many=True),
        Property("cr:excludes", ("Text",), many=True),
    ),
)

RECORD_SET = Shape(
    "cr:RecordSet",
    "RecordSet",
    (
        _NAME,
        _DESCRIPTION,
        Property("cr:field", ("cr:Field",), many=True, mistyped="CRO402"),
        Property("cr:key", ("Reference",), many=True, mistyped="CRO404"),
        Property("cr:data", ("JSON",), many=True, mistyped="CRO501"),
        Property("cr:examples", ("JSON",), many=True, mistyped="CRO501"),
        Property("cr:dataType", ("Type",), many=True, mistyped="CRO420"),
        Property("cr:annotation", ("cr:Field",), many=True, mistyped="CRO402", versions=_1_1),
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
        Property("cr:repeated", ("Boolean",)),
        Property("cr:equivalentProperty", ("URL",), many=True),
        Property("cr:references", ("Reference", "DataSource"), many=True, mistyped="CRO133"),
        Property("cr:subField", ("cr:Field",), many=True, mistyped="CRO402"),
        Property("cr:parentField", ("Reference", "Field"), many=True, mistyped="CRO133"),
        Property("cr:samplingRate", ("Number",), loose=True),
        Property("cr:isArray", ("Boolean",), versions=_1_1),
        Property("cr:arrayShape", ("Text",), versions=_1_1),
        Property("cr:value", ("JSON", "Text", "Number", "Boolean"), many=True, loose=True, versions=_1_1),
        Property("cr:annotation", ("cr:Field",), many=True, mistyped="CRO402", versions=_1_1),
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
        Property("cr:format", ("Text",)),
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
        Property("cr:delimiter", ("Text",)),
        Property("cr:regex", ("Text",)),
        Property("cr:jsonQuery", ("Text",)),
        Property("cr:separator", ("Text",)),
        Property("cr:replace", ("Text",)),
        Property("cr:jsonPath", ("Text",)),
        Property("cr:format", ("Text",)),
        Property("cr:readLines", ("Boolean",), versions=_1_1),
        Property("cr:unArchive", ("Boolean",), versions=_1_1),
    ),
)

SHAPES = {
    shape.name: shape for shape in (DATASET, FILE_OBJECT, FILE_SET, RECORD_SET, FIELD, DATA_SOURCE, EXTRACT, TRANSFORM)
}

#: Every property of the Croissant namespace, and the classes that have it.
CROISSANT_PROPERTIES: dict[str, tuple[str, ...]] = {}
for _shape in SHAPES.values():
    for _property in _shape.properties:
        if _property.name.startswith("cr:") and _shape.name not in CROISSANT_PROPERTIES.get(_property.name, ()):
            CROISSANT_PROPERTIES[_property.name] = (*CROISSANT_PROPERTIES.get(_property.name, ()), _shape.name)
# In the context of Appendix 1, in no table.
CROISSANT_PROPERTIES["cr:path"] = ("cr:FileObject", "cr:FileSet", "cr:Extract")

_ROWS = [row for shape in SHAPES.values() for row in shape.properties if row.name.startswith("cr:")]
#: The terms that version 1.1 added.
LATER_TERMS = frozenset(row.name for row in _ROWS) - {row.name for row in _ROWS if "1.0" in row.versions}

#: The terms that the tables use and the context of Appendix 1 leaves out, so that they fall into schema.org there.
UNMAPPED_BY_APPENDIX = frozenset(
    {
        "containedIn",
        "excludes",
        "equivalentProperty",
        "delimiter",
        "jsonQuery",
        "samplingRate",
        "isArray",
        "arrayShape",
        "annotation",
    },
)

_RAI_NAMES = frozenset(p.name for p in DATASET.properties if p.name.startswith("rai:"))
#: Asked for by conferences (NeurIPS 2026) under the prefix of RAI, which does not define it.
_RAI_BY_CUSTOM = frozenset({"rai:hasSyntheticData"})
#: What the overview of the RAI vocabulary, older tools and authors call its properties.
RAI_OTHERWISE = {
    "rai:annotationPlatform": "rai:dataAnnotationPlatform",
    "rai:biases": "rai:dataBiases",
    "rai:dataReleaseMaintenance": "rai:dataReleaseMaintenancePlan",
    "rai:dataDataManipulationProtocol": "rai:dataManipulationProtocol",
    "rai:limitations": "rai:dataLimitations",
    "rai:socialImpact": "rai:dataSocialImpact",
    "rai:useCases": "rai:dataUseCases",
}


def properties_of(shape: Shape, version: str) -> tuple[Property, ...]:
    """Return the rows that hold in a version."""
    return tuple(row for row in shape.properties if version in row.versions)


def is_rai(name: str) -> bool:
    """Tell whether a name under the prefix of RAI is known: as a property of the vocabulary, or by custom."""
    return name in _RAI_NAMES or name in _RAI_BY_CUSTOM


def rai_names() -> frozenset[str]:
    """Return the properties of the RAI vocabulary."""
    return _RAI_NAMES
