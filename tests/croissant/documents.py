"""Shared by the tests of Croissant: checking one description, and the paths of cases and samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import FIXTURES, REPOSITORY

import corpusfmt
from corpusfmt.model import Finding, Report

CASES = FIXTURES / "croissant"
SAMPLES = CASES / "samples"
SCHEMAS = REPOSITORY / "schemas" / "croissant" / "1.0"
VALID_SAMPLES = sorted({*SAMPLES.glob("valid/*/metadata.json"), *SAMPLES.glob("valid/recipes/*.json")})

CONTEXT: dict[str, Any] = json.loads((SCHEMAS / "context.jsonld").read_text("utf-8"))["@context"]


def document(**properties: Any) -> dict[str, Any]:
    """Return a small description of version 1.0 with more properties."""
    head = {"@context": CONTEXT, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0"}
    return {**head, "name": "a", **properties}


def check(path: Path, content: Any, **options: Any) -> Report:
    """Write a description (bytes, or a value to be written as JSON) and validate it."""
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return corpusfmt.validate(path, **{"format": "croissant", **options})


def errors(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity == "error"]
