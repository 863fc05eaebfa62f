"""Internal: The tables of vocabularies that Croissant refers to: RAI, GeoCroissant, Tasks, PROV-O, ODRL and schema.org.

RAI is specified in `https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html` and GeoCroissant in
`croissant-geo-spec.html` there, each with a vocabulary file; Tasks have a vocabulary file and SHACL shapes. PROV-O and
ODRL are checked only where Croissant 1.1 shows how to use them.
"""

from __future__ import annotations

from msgspec import Struct

from corpusfmt.formats.croissant.model.tables import Kind, Property, Shape


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
