"""The field's own records: what its loader reads from the samples is what is read here, but where that is wrong."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import SAMPLES

import corpusfmt
from corpusfmt.model import Finding, UsageError

VALID = SAMPLES / "valid"
RECIPES = {"csv1": "file_object_in_zip", "csv2": "file_object_in_zip", "images_with_annotations": "read_from_tar"}
#: What there is to find where the two differ: fractions in integers, a join without a match.
FOUND = {
    "coco2014-mini/bounding_boxes": ["CRO609"] * 4,
    "json-join/items_with_prices": ["CRO613"],
}
OUTPUTS = sorted(VALID.glob("*/output/*.jsonl"))


def name_of(output: Path) -> str:
    return f"{output.parent.parent.name}/{output.stem}"


def description_of(output: Path) -> Path:
    folder = output.parent.parent
    return folder / f"{RECIPES[output.stem]}.json" if folder.name == "recipes" else folder / "metadata.json"


def comparable(value: Any) -> Any:
    """Return a value as both write it: pictures as such, no value as null, times with a `T`."""
    if isinstance(value, bytes) or (isinstance(value, str) and value.startswith("<PIL.")):
        return "a picture"
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items()}
    if isinstance(value, str) and value[:2] == "20" and value[10:11] == " ":
        return value.replace(" ", "T")
    return None if value == "None" else value


def in_any_order(records: list[Any]) -> list[str]:
    return sorted(json.dumps(comparable(record), sort_keys=True) for record in records)


@pytest.mark.parametrize("output", OUTPUTS, ids=name_of)
def test_records_of_samples(output: Path) -> None:
    expected = [json.loads(line) for line in output.read_bytes().split(b"\n") if line]
    if output.parent.parent.name in ("simple-parquet", "simple-split") and find_spec("pyarrow") is None:
        with pytest.raises(UsageError, match="pyarrow"):  # an extra that need not be there
            list(corpusfmt.records(description_of(output), output.stem))
        return
    found: list[Finding] = []
    records = list(corpusfmt.records(description_of(output), output.stem, on_finding=found.append))
    findings = [each.code for each in found]
    assert findings == FOUND.get(name_of(output), [])
    if findings and findings != ["CRO613"]:
        assert records == []
        return
    if output.stem == "data":  # the output is that of a filter for one split
        records = [record for record in records if record["data/split"] == "train"]
    assert in_any_order(records) == in_any_order(expected)


def test_there_are_outputs() -> None:
    assert len(OUTPUTS) > 10
