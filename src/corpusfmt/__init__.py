"""Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma, Croissant 1.0/1.1.

>>> import corpusfmt
>>> report = corpusfmt.validate("oscar/")
>>> report.verdict
<Verdict.VALID: 'valid'>

The classes and functions below are public. The modules of the package are internal.
"""

# Import nothing here: under `python -m corpusfmt` the working folder is still first on `sys.path`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from corpusfmt.comparison import compare
    from corpusfmt.comparison.result import Comparison
    from corpusfmt.conversion.run import convert
    from corpusfmt.conversion.writing import write
    from corpusfmt.datasheets.content import Datasheet, datasheet
    from corpusfmt.description import describe
    from corpusfmt.engine.fix import Change, Fixed, fix
    from corpusfmt.engine.progress import Progress
    from corpusfmt.engine.validate import validate
    from corpusfmt.formats.recordsets import Record
    from corpusfmt.io.limits import LimitReached, Limits
    from corpusfmt.model import (
        BadInput,
        CorpusfmtError,
        Coverage,
        Document,
        Edit,
        Finding,
        Fix,
        Incomplete,
        Location,
        Problem,
        Report,
        Severity,
        UsageError,
        Verdict,
    )
    from corpusfmt.pipeline.choices import Selection
    from corpusfmt.pipeline.run import build
    from corpusfmt.reading import Detected, Documents, detect, read
    from corpusfmt.recordsets import Records, records
    from corpusfmt.release.seal import seal
    from corpusfmt.release.verify import verify
    from corpusfmt.report import render
    from corpusfmt.rules import Override
    from corpusfmt.statistics.result import Statistics
    from corpusfmt.statistics.run import stats

    __version__: str

__all__ = [
    "BadInput",
    "Change",
    "Comparison",
    "CorpusfmtError",
    "Coverage",
    "Datasheet",
    "Detected",
    "Document",
    "Documents",
    "Edit",
    "Finding",
    "Fix",
    "Fixed",
    "Incomplete",
    "LimitReached",
    "Limits",
    "Location",
    "Override",
    "Problem",
    "Progress",
    "Record",
    "Records",
    "Report",
    "Selection",
    "Severity",
    "Statistics",
    "UsageError",
    "Verdict",
    "__version__",
    "build",
    "compare",
    "convert",
    "datasheet",
    "describe",
    "detect",
    "fix",
    "read",
    "records",
    "render",
    "seal",
    "stats",
    "validate",
    "verify",
    "write",
]

# Modules of the public names that are not in `model`: loaded on first use, so that `import corpusfmt` stays cheap.
_HOMES = {
    "Change": "corpusfmt.engine.fix",
    "Fixed": "corpusfmt.engine.fix",
    "Comparison": "corpusfmt.comparison.result",
    "LimitReached": "corpusfmt.io.limits",
    "Limits": "corpusfmt.io.limits",
    "Override": "corpusfmt.rules",
    "Progress": "corpusfmt.engine.progress",
    "Record": "corpusfmt.formats.recordsets",
    "Records": "corpusfmt.recordsets",
    "Selection": "corpusfmt.pipeline.choices",
    "build": "corpusfmt.pipeline.run",
    "compare": "corpusfmt.comparison",
    "convert": "corpusfmt.conversion.run",
    "Datasheet": "corpusfmt.datasheets.content",
    "Detected": "corpusfmt.reading",
    "Documents": "corpusfmt.reading",
    "datasheet": "corpusfmt.datasheets.content",
    "detect": "corpusfmt.reading",
    "describe": "corpusfmt.description",
    "fix": "corpusfmt.engine.fix",
    "read": "corpusfmt.reading",
    "records": "corpusfmt.recordsets",
    "render": "corpusfmt.report",
    "seal": "corpusfmt.release.seal",
    "stats": "corpusfmt.statistics.run",
    "Statistics": "corpusfmt.statistics.result",
    "validate": "corpusfmt.engine.validate",
    "verify": "corpusfmt.release.verify",
    "write": "corpusfmt.conversion.writing",
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
