"""Run by the Python that has mlcroissant: what it does with descriptions.

python loads.py reads a list of pairs from standard input, a description and a record set or null, and answers with lists of lines.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import mlcroissant


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else getattr(value, "tolist", lambda: value)()


def answer(path: str, record_set: str | None) -> list[str]:
    """Return in lines whether mlcroissant loads a description, and the records."""

    def said(error: Exception) -> str:
        text = str(error.__cause__ or error).replace(f"{Path(path).parent}/", "")
        lines = [line.strip(" -") for line in text.partition("warning(s)")[0].splitlines() if line.strip(" -")]
        told = [line for line in lines if not line.startswith("Found the following")]
        return f"{type(error.__cause__ or error).__name__}: {' '.join(told[:1])}"[:300]

    try:
        dataset = mlcroissant.Dataset(path)
    except Exception as error:
        return [f"refuses it: {said(error)}"]
    issues = [*sorted(dataset.metadata.ctx.issues.errors), *sorted(dataset.metadata.ctx.issues.warnings)]
    lines = ["loads it" + "".join(f"; {each}" for each in issues)]
    if record_set is not None:
        try:
            found = [plain(dict(each)) for each in dataset.records(record_set)]
            lines.append(f"records: `{json.dumps(found, ensure_ascii=False, default=str)}`")
        except Exception as error:
            lines.append(f"no records: {said(error)}")
    return lines


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps([answer(path, record_set) for path, record_set in json.load(sys.stdin)]))
