"""Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma, Croissant 1.0.

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
    from corpusfmt.engine.validate import validate
    from corpusfmt.formats.croissant.records.stream import records
    from corpusfmt.model import Document, Finding, Report, Severity
    from corpusfmt.pipeline.run import build
    from corpusfmt.report import render

__all__ = [
    "Document",
    "Finding",
    "Report",
    "Severity",
    "build",
    "convert",
    "describe",
    "records",
    "render",
    "validate",
]

# Where each public name lives: loaded when first used, so that importing corpusfmt costs nothing.
_HOMES = {
    "Document": "corpusfmt.model",
    "Finding": "corpusfmt.model",
    "Report": "corpusfmt.model",
    "Severity": "corpusfmt.model",
    "build": "corpusfmt.pipeline.run",
    "convert": "corpusfmt.conversion",
    "describe": "corpusfmt.description",
    "records": "corpusfmt.formats.croissant.records.stream",
    "render": "corpusfmt.report",
    "validate": "corpusfmt.engine.validate",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415

    if name == "__version__":
        return import_module("corpusfmt._version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module 'corpusfmt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
