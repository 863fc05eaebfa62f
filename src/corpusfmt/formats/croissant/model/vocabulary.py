"""Internal: The names that schema.org and Croissant define, as far as the rules need them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice

from corpusfmt._resources import resource

#: The properties of schema.org that are suggested for misspelled ones.
_COMMON_PROPERTIES = frozenset(
    """
    about abstract accessMode accountablePerson additionalType affiliation aggregateRating alternateName
    alternativeHeadline archivedAt assesses associatedMedia audience author award character citation comment commentCount
    conditionsOfAccess contentLocation contentRating contentReferenceTime contentSize contentUrl contributor
    copyrightHolder copyrightNotice copyrightYear correction countryOfOrigin creativeWorkStatus creator creditText
    dateCreated dateModified datePublished description disambiguatingDescription discussionUrl distribution editor
    email embedUrl encoding encodingFormat endTime exampleOfWork expires funder funding genre hasPart headline height
    identifier image inLanguage includedInDataCatalog interactionStatistic isAccessibleForFree isBasedOn isPartOf issn
    keywords legalName license locationCreated logo mainEntity mainEntityOfPage maintainer material
    measurementTechnique mentions name offers pattern position potentialAction producer provider publication publisher
    publishingPrinciples recordedAt releasedEvent review sameAs schemaVersion sdDatePublished sdLicense sdPublisher
    sha256 size spatial spatialCoverage sponsor startTime subjectOf teaches temporal temporalCoverage text
    thumbnail thumbnailUrl timeRequired translationOfWork translator typicalAgeRange uploadDate url usageInfo
    variableMeasured version video width workExample workTranslation
    """.split()  # noqa: SIM905 - a word list reads best as words
)

#: Types with plain values, and their JSON. schema.org has no `String`, but the specification uses it.
ATOMIC_TYPES = {
    "sc:Boolean": "a boolean",
    "sc:Date": "a date",
    "sc:DateTime": "a date and time",
    "sc:Time": "a time",
    "sc:Float": "a number",
    "sc:Integer": "an integer",
    "sc:Number": "a number",
    "sc:Text": "a string",
    "sc:String": "a string",
    "sc:URL": "a URL",
    **{f"cr:Float{bits}": f"a number of {bits} bits" for bits in (16, 32, 64)},
    **{f"cr:Int{bits}": f"an integer from {-1 << bits - 1} to {(1 << bits - 1) - 1}" for bits in (8, 16, 32, 64)},
    **{f"cr:UInt{bits}": f"an integer from 0 to {(1 << bits) - 1}" for bits in (8, 16, 32, 64)},
    "cr:BoundingBox": "a bounding box of 4 numbers",
}
_CROISSANT_TYPES = frozenset(
    """
    cr:BoundingBox cr:Label cr:RecordSet cr:SegmentationMask cr:Split cr:TestSplit cr:TrainingSplit cr:ValidationSplit
    """.split()  # noqa: SIM905
)

#: The Keras formats of a bounding box (section BoundingBox), including relative and batched forms.
BOUNDING_BOX_FORMATS = frozenset(
    {"CENTER_XYWH", "XYWH", "XYXY", "YXYX", "REL_XYXY", "REL_YXYX", "REL_XYWH", "CENTER_YXHW", "REL_CENTER_XYWH"},
)
#: The splits that the specification names, and the spelling of the vocabulary file for the first.
SPLITS = frozenset({"cr:TrainingSplit", "cr:ValidationSplit", "cr:TestSplit", "cr:TrainSplit"})


def is_schema_property(name: str) -> bool:
    """Return whether schema.org has a property of this local name."""
    return name[:1].islower() and name in _schema_org()


def is_known_type(name: str) -> bool:
    """Return whether a data type (short name) exists, or belongs to another vocabulary than schema.org and Croissant."""
    if name in ATOMIC_TYPES or name in _CROISSANT_TYPES:
        return True
    if not name.startswith(("sc:", "cr:")):
        return ":" in name and not name.endswith(("/", "#"))
    return name.startswith("sc:") and name[3:4].isupper() and name[3:] in _schema_org()


@cache
def _schema_org() -> frozenset[str]:
    return frozenset(resource("schemas", "croissant/schema.org.txt").read_text("utf-8").split())


class NearMisses:
    """Suggests names for misspelled ones, only for the first few in a document because searching is slow."""

    def __init__(self) -> None:
        self._left = 100

    def of(self, name: str, known: Iterable[str], *, as_tail: bool = False) -> str:
        """Return the known name closest to a misspelled one, "" if none is close.

        With `as_tail`, prefer a name that ends in a slash and the misspelled name.
        """
        from difflib import get_close_matches  # noqa: PLC0415 - for hints alone

        if not self._left or len(name) > _LONGEST_NAME:
            return ""
        self._left -= 1
        names = list(islice(known, _MOST_NAMES))
        tails = (each for each in names if as_tail and each.endswith(f"/{name}"))
        likely = [each for each in names if abs(len(each) - len(name)) < 4 or name.startswith(each)]
        alike = get_close_matches(name, likely, n=1, cutoff=0.75)
        return next(tails, "") or "".join(alike)

    def hint(self, name: str, known: Iterable[str], otherwise: str, *, as_tail: bool = False) -> str:
        """Return a hint with the known name closest to a misspelled one, or another if none is close."""
        likely = self.of(name, known, as_tail=as_tail)
        return f"did you mean `{likely}`?" if likely else otherwise

    def of_property(self, name: str, croissant: Iterable[str]) -> str:
        """Return the Croissant or schema.org property closest to a local name."""
        return self.of(name, sorted({*croissant, *_COMMON_PROPERTIES}))


_LONGEST_NAME = 100
_MOST_NAMES = 2000


#: Identifiers of common licences as authors write them, and in SPDX.
SPDX = {
    each.lower(): each
    for each in (
        "AFL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CC-BY-2.0", "CC-BY-3.0",
        "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0",
        "CC-BY-SA-4.0", "CDLA-Permissive-2.0", "ECL-2.0", "GPL-2.0-only", "GPL-3.0-only", "ISC", "LGPL-3.0-only",
        "MIT", "MPL-2.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "Unlicense", "WTFPL", "Zlib",
    )
}  # fmt: skip
