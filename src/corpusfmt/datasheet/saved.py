"""Internal: Read the statistics that `corpusfmt stats` saved, of one run or of several that were added up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpusfmt._resources import resource
from corpusfmt.io.text import json_object
from corpusfmt.model import Json, UsageError
from corpusfmt.statistics.saved import saved_bytes
from corpusfmt.wording import clipped


def saved_statistics(path: str | Path) -> Json:
    """Return statistics in the form of `schemas/stats/stats.schema.json`. Raises `UsageError` for a file that has none."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only this option needs it

    found = json_object(saved_bytes(path))
    if found is None:
        raise UsageError(
            f"{path} is not the JSON of `corpusfmt stats`: not a JSON object of numbers in the range of 64-bit floats"
        )
    schema = json.loads(resource("schemas", "stats/stats.schema.json").read_bytes())
    complaints = [clipped(error.message) for error in Draft202012Validator(schema).iter_errors(found)]
    if not complaints and not all(map(_is_whole, _numbers_in(found))):
        complaints = ["lengths without quantiles or a histogram"]
    if complaints:
        raise UsageError(f"{path} is not the JSON of `corpusfmt stats`: {complaints[0]}")
    return found


def _numbers_in(value: Any) -> Iterator[Json]:
    """Yield the objects about numbers: lengths, scores, values."""
    if isinstance(value, dict):
        if "number" in value:
            yield value
        for each in value.values():
            yield from _numbers_in(each)


def _is_whole(numbers: Json) -> bool:
    if not numbers["number"]:
        return True
    histogram = numbers.get("histogram", {})
    return (
        {"min", "max", "mean", "quantiles", "relative_error"} <= numbers.keys()
        and "0.5" in numbers["quantiles"]
        and 0 < len(histogram.get("from", ())) == len(histogram["count"])
    )
