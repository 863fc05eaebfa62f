"""Internal: The tables of the specification as one table: class → property → range, cardinality, requirement, by version.

So are the tables of vocabularies that Croissant refers to. RAI is specified in
`https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html` and GeoCroissant in `croissant-geo-spec.html` there, each
with a vocabulary file; Tasks have a vocabulary file and SHACL shapes. PROV-O and ODRL are checked only where Croissant 1.1
shows how to use them.

The rules use it, and `schemas/croissant/*/shapes.ttl` are written from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct
from msgspec.structs import replace

#: The range of a value: a schema.org data type, a class, JSON, or a reference to a node of the document.
Kind = str

Requirement = OneOf["required", "recommended", "optional"]


class Property(Struct, frozen=True):
    """One row of a table, with a column for each version of Croissant.

    `missing` and `mistyped` are the rules that report an absent value and a value outside `kinds`. Published descriptions,
    including the specification's, treat a `loose` row as a recommendation. The row applies in `versions`; `later` has its
    changes in 1.1, and `successor` its replacement if 1.1 removed it, in the words of a hint. `form` names the form of its texts
    in `FORMS`.
    """

    name: str
    kinds: tuple[Kind, ...]
    many: bool = False
    requirement: Requirement = "optional"
    missing: str = ""
    mistyped: str = "CRO214"
    loose: bool = False
    versions: tuple[str, ...] = ("1.0", "1.1")
    later: dict[str, Any] = {}
    successor: str = ""
    form: str = ""

    def in_version(self, version: str) -> Property:
        """Return the row in a version."""
        return replace(self, **self.later) if version == "1.1" and self.later else self


class Shape(Struct, frozen=True):
    """One class of a specification: its properties, and the section with its table."""

    name: str
    section: str
    properties: tuple[Property, ...]

    def __hash__(self) -> int:
        return hash(self.name)

    @cache  # noqa: B019 - the shapes are a few constants
    def in_version(self, version: str) -> tuple[Property, ...]:
        """Return the rows of a version."""
        return tuple(row.in_version(version) for row in self.properties if version in row.versions)


def _rai(name: str, *, many: bool = True) -> Property:
    return Property(f"rai:{name}", ("Text",), many=many)


RAI = (
    _rai("dataCollection", many=False),
    _rai("dataCollectionType"),
    _rai("dataCollectionMissingData", many=False),
    _rai("dataCollectionRawData", many=False),
    Property("rai:dataCollectionTimeframe", ("Date",), many=True, mistyped="CRO217", loose=True),
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
)

_QUANTITY = ("Text", "sc:QuantitativeValue")


def _geo(name: str, kinds: tuple[Kind, ...] = ("Text",), *, many: bool = False) -> Property:
    return Property(f"geocr:{name}", kinds, many=many, loose=True)


_RESOLUTIONS = (_geo("spatialResolution", _QUANTITY), _geo("temporalResolution", _QUANTITY))
_BANDS = (
    _geo("bandConfiguration", ("geocr:BandConfiguration", "Text")),
    _geo("spectralBandMetadata", ("geocr:SpectralBand", "Text"), many=True),
)
_SPATIAL_INDEX = _geo("spatialIndex", many=True)
GEO_OF_DATASET = (
    _geo("coordinateReferenceSystem"),
    _geo("recordEndpoint", ("URL",)),
    _geo("spatialBias"),
    _geo("samplingStrategy"),
    _geo("multiWavelengthConfiguration", ("geocr:MultiWavelengthConfiguration", "Text")),
    _geo("solarInstrumentCharacteristics", ("geocr:SolarInstrumentCharacteristics", "Text")),
    _SPATIAL_INDEX,
    *_RESOLUTIONS,
    *_BANDS,
)
GEO_OF_RECORD_SET = (*_RESOLUTIONS, _SPATIAL_INDEX, _geo("timeSeriesIndex", ("cr:Field", "Text")))
GEO_OF_FIELD = _BANDS

_AGENT = ("prov:Agent", "IRI")
_ACTIVITY = ("prov:Activity", "IRI")
#: The properties of PROV-O in Croissant 1.1, on every referable class (section Provenance Representation).
PROV = (
    Property("prov:wasDerivedFrom", ("prov:Entity", "IRI"), many=True, loose=True),
    Property("prov:wasGeneratedBy", _ACTIVITY, many=True, loose=True),
    Property("prov:wasAttributedTo", _AGENT, many=True, loose=True),
)


def _task(name: str, *kinds: Kind, missing: str = "", many: bool = True) -> Property:
    return Property(f"cr:{name}", kinds, many=many, requirement="required" if missing else "optional", missing=missing)


_TASK = (
    _task("input", "sc:Dataset", "cr:InputSpec", "URL"),
    _task("output", "sc:Dataset", "sc:SoftwareSourceCode", "cr:OutputSpec"),
    _task("implementation", "sc:SoftwareApplication", "sc:SoftwareSourceCode", "cr:ImplementationSpec"),
    _task("execution", "cr:ExecutionInfo", "cr:ExecutionSpec"),
    _task("evaluation", "cr:EvaluationTask", "cr:EvaluationSpec"),
    _task("subTask", "cr:Task"),
)
_PROBLEM = tuple(_task("execution", "cr:ExecutionSpec") if row.name == "cr:execution" else row for row in _TASK)
_SCHEMA = (_task("schema", "cr:RecordSet"),)
_IS_BASED_ON = Property(
    "sc:isBasedOn", ("cr:TaskProblem", "URL"), many=True, requirement="required", missing="CRO811", mistyped="CRO214"
)

#: The classes of these vocabularies with a table.
EXTENSION_SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            "geocr:BandConfiguration",
            "Spectral and Band Semantics Metadata",
            (
                _geo("totalBands", ("Integer",)),
                # The text and the vocabulary file have different names.
                _geo("bandNameList", many=True),
                _geo("bandNamesList", many=True),
            ),
        ),
        Shape(
            "geocr:SpectralBand",
            "Spectral and Band Semantics Metadata",
            (_geo("centerWavelength", ("sc:QuantitativeValue",)), _geo("bandwidth", ("sc:QuantitativeValue",))),
        ),
        Shape("geocr:MultiWavelengthConfiguration", "Space Weather Metadata", (_geo("channelList", many=True),)),
        Shape(
            "geocr:SolarInstrumentCharacteristics",
            "Space Weather Metadata",
            (_geo("observatory"), _geo("instrument")),
        ),
        Shape("cr:Task", "Tasks", _TASK),
        Shape("cr:TaskProblem", "Tasks", _PROBLEM),
        Shape("cr:TaskSolution", "Tasks", (*_TASK, _IS_BASED_ON)),
        Shape(
            "cr:EvaluationTask",
            "Tasks",
            (
                *_TASK,
                _task("evaluationResults", "cr:EvaluationResult"),
                _task("evaluatedSolution", "cr:TaskSolution", missing="CRO811", many=False),
            ),
        ),
        Shape(
            "cr:EvaluationResult",
            "Tasks",
            (
                _task("metric", "Text", "URL", missing="CRO811"),
                _task("value", "Text", "Number", "sc:QuantitativeValue", missing="CRO811"),
            ),
        ),
        Shape("cr:InputSpec", "Tasks", _SCHEMA),
        Shape("cr:OutputSpec", "Tasks", _SCHEMA),
        Shape(
            "cr:ImplementationSpec",
            "Tasks",
            (_task("tests", "cr:Test", "URL"), _task("environment", "sc:CreativeWork", "URL")),
        ),
        Shape("cr:ExecutionSpec", "Tasks", ()),
        Shape("cr:EvaluationSpec", "Tasks", ()),
        Shape("cr:ExecutionInfo", "Tasks", ()),
        Shape("cr:Test", "Tasks", ()),
        Shape(
            "prov:Activity",
            "Provenance Representation",
            (
                Property("prov:startedAtTime", ("Date",), loose=True),
                Property("prov:endedAtTime", ("Date",), loose=True),
                Property("prov:wasAssociatedWith", _AGENT, many=True, loose=True),
                Property("prov:wasAttributedTo", _AGENT, many=True, loose=True),
            ),
        ),
        Shape("prov:Entity", "Provenance Representation", PROV),
        # ODRL also requires a left operand; the specification's example of non-commercial use has none.
        Shape(
            "odrl:Permission",
            "Fine-Grained Control with ODRL",
            (
                Property("odrl:action", ("odrl:Action", "IRI"), True, "required", "CRO803", loose=True),
                Property("odrl:constraint", ("odrl:Constraint", "IRI"), many=True, loose=True),
            ),
        ),
        Shape(
            "odrl:Constraint",
            "Fine-Grained Control with ODRL",
            (
                Property("odrl:leftOperand", ("odrl:LeftOperand", "IRI"), loose=True),
                Property("odrl:operator", ("odrl:Operator", "IRI"), False, "required", "CRO803", loose=True),
                Property("odrl:rightOperand", ("JSON",), True, "required", "CRO803", loose=True),
            ),
        ),
        Shape(
            "odrl:Offer",
            "Fine-Grained Control with ODRL",
            tuple(
                Property(
                    f"odrl:{name}",
                    ("odrl:Permission", "odrl:Rule", "odrl:Prohibition", "odrl:Duty", "IRI"),
                    many=True,
                    loose=True,
                )
                for name in ("permission", "prohibition", "obligation")
            ),
        ),
    )
}

_NAMED = tuple(Property(f"sc:{name}", ("Text",), many=True, loose=True) for name in ("name", "description"))
_ON_THE_WEB = tuple(Property(f"sc:{name}", ("URL",), many=True, loose=True) for name in ("url", "sameAs"))
_ADDRESS = Property("sc:email", ("Text",), many=True, loose=True)
#: The classes of schema.org in the tables of Croissant, with the properties that authors give them.
SCHEMA_ORG_SHAPES = {
    shape.name: shape
    for shape in (
        Shape("sc:Person", "Person", (*_NAMED, *_ON_THE_WEB, _ADDRESS)),
        Shape("sc:Organization", "Organization", (*_NAMED, *_ON_THE_WEB, _ADDRESS)),
        Shape("sc:CreativeWork", "CreativeWork", (*_NAMED, *_ON_THE_WEB)),
        Shape("sc:DefinedTerm", "DefinedTerm", (*_NAMED, *_ON_THE_WEB)),
        Shape("sc:Language", "Language", (*_NAMED, *_ON_THE_WEB)),
    )
}
#: The classes of other vocabularies than Croissant with a table.
TERM_SHAPES = {**EXTENSION_SHAPES, **SCHEMA_ORG_SHAPES}

#: Classes that count as their superclass.
KINDS_OF: dict[str, tuple[str, ...]] = {
    "cr:Task": ("cr:TaskProblem", "cr:TaskSolution", "cr:EvaluationTask"),
    "prov:Agent": ("prov:Person", "prov:Organization", "prov:SoftwareAgent", "sc:Person", "sc:Organization"),
    "prov:Entity": ("prov:Collection", "prov:Bundle", "prov:Plan"),
    "sc:Dataset": ("cr:InputSpec", "cr:OutputSpec", "cr:Dataset"),
    "sc:SoftwareApplication": ("cr:ImplementationSpec",),
}
#: Every known class.
CLASSES = frozenset(EXTENSION_SHAPES).union(*KINDS_OF.values())
TASKS = frozenset({"cr:Task", *KINDS_OF["cr:Task"]})


class Vocabulary(Struct, frozen=True):
    """The names of an extension, and other names that authors and tools use for some of them.

    `version` is its value for `conformsTo`; `classes` are the classes in its namespace.
    """

    owner: str
    properties: frozenset[str]
    otherwise: dict[str, str]
    version: str
    classes: frozenset[str] = frozenset()
    #: In common use, although the vocabulary does not define them.
    by_custom: frozenset[str] = frozenset()

    def knows(self, name: str) -> bool:
        """Return whether a property is defined or in common use."""
        return name in self.properties or name in self.by_custom


_SHAPES_OF_GEO = [shape for shape in EXTENSION_SHAPES.values() if shape.name.startswith("geocr:")]
_ROWS_OF_GEO = (
    *GEO_OF_DATASET,
    *GEO_OF_RECORD_SET,
    *GEO_OF_FIELD,
    *(row for shape in _SHAPES_OF_GEO for row in shape.properties),
)

VOCABULARIES = {
    "rai": Vocabulary(
        "the RAI vocabulary",
        frozenset(row.name for row in RAI),
        {
            # Other names in its overview and examples, in older tools and in published descriptions.
            "rai:annotationPlatform": "rai:dataAnnotationPlatform",
            "rai:annotationProtocol": "rai:dataAnnotationProtocol",
            "rai:biases": "rai:dataBiases",
            "rai:dataCollectionRaw": "rai:dataCollectionRawData",
            "rai:dataCollectionTimeFrameEnd": "rai:dataCollectionTimeframe",
            "rai:dataCollectionTimeFrameStart": "rai:dataCollectionTimeframe",
            "rai:dataDataManipulationProtocol": "rai:dataManipulationProtocol",
            "rai:dataReleaseMaintenance": "rai:dataReleaseMaintenancePlan",
            "rai:limitations": "rai:dataLimitations",
            "rai:socialImpact": "rai:dataSocialImpact",
            "rai:useCases": "rai:dataUseCases",
        },
        "http://mlcommons.org/croissant/RAI/1.0",
        by_custom=frozenset({"rai:hasSyntheticData"}),  # required by conferences (NeurIPS 2026)
    ),
    "geocr": Vocabulary(
        "GeoCroissant",
        frozenset(row.name for row in _ROWS_OF_GEO),
        {},
        "http://mlcommons.org/croissant/geo/1.0",
        frozenset(shape.name for shape in _SHAPES_OF_GEO),
    ),
}

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
