"""Public: Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma, Croissant 1.0.

>>> import corpusfmt
>>> report = corpusfmt.validate("oscar/")
>>> report.verdict
<Verdict.VALID: 'valid'>
"""

# Nothing is imported here: for `python -m corpusfmt` the working folder is still first on the path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from corpusfmt.conversion import convert
    from corpusfmt.description import describe
    from corpusfmt.engine.progress import Progress
    from corpusfmt.engine.validate import validate
    from corpusfmt.formats.croissant.data.reader import Record
    from corpusfmt.formats.croissant.data.stream import records
    from corpusfmt.io.limits import LimitReached, Limits
    from corpusfmt.model import (
        BadInput,
        CorpusfmtError,
        Coverage,
        Document,
        Finding,
        Incomplete,
        Location,
        Problem,
        Report,
        Severity,
        UsageError,
        Verdict,
    )
    from corpusfmt.pipeline.options import Selection, Sourcing
    from corpusfmt.pipeline.run import build
    from corpusfmt.report import render
    from corpusfmt.rules import Override

    __version__: str

__all__ = [
    "BadInput",
    "CorpusfmtError",
    "Coverage",
    "Document",
    "Finding",
    "Incomplete",
    "LimitReached",
    "Limits",
    "Location",
    "Override",
    "Problem",
    "Progress",
    "Record",
    "Report",
    "Selection",
    "Severity",
    "Sourcing",
    "UsageError",
    "Verdict",
    "__version__",
    "build",
    "convert",
    "describe",
    "records",
    "render",
    "validate",
]

# Where each public name lives that is not of the model: loaded when first used, so that importing corpusfmt costs nothing.
_HOMES = {
    "LimitReached": "corpusfmt.io.limits",
    "Limits": "corpusfmt.io.limits",
    "Override": "corpusfmt.rules",
    "Progress": "corpusfmt.engine.progress",
    "Record": "corpusfmt.formats.croissant.data.reader",
    "Selection": "corpusfmt.pipeline.options",
    "Sourcing": "corpusfmt.pipeline.options",
    "build": "corpusfmt.pipeline.run",
    "convert": "corpusfmt.conversion",
    "describe": "corpusfmt.description",
    "records": "corpusfmt.formats.croissant.data.stream",
    "render": "corpusfmt.report",
    "validate": "corpusfmt.engine.validate",
}

if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415

        if name == "__version__":
            return import_module("corpusfmt._version").VERSION
        if name not in __all__:
            raise AttributeError(f"module 'corpusfmt' has no attribute {name!r}")
        return getattr(import_module(_HOMES.get(name, "corpusfmt.model")), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
