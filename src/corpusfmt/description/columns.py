"""Internal: What a column profile says of a corpus: the meaning of its fields, and its languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import asdict, replace

from corpusfmt.formats import CheckOptions, Format, ReadOptions, Rejected, Shard, detect, named_format
from corpusfmt.formats.columns import ColumnProfile, format_of_reading, path_to
from corpusfmt.formats.describing import FieldOf, Survey
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import codec_of_name
from corpusfmt.model import BadInput, UsageError

_JSON_LINES = "application/jsonlines"
_MEANINGS = {
    "text": "Text of the document",
    "id": "Identifier of the document",
    "url": "Address of the document",
    "created": "When the document was created",
    "date": "Date of the document, such as that of a crawl",
    "language": "Language of the document",
    "score": "Score of the document",
}


def format_with_columns(entry: Entry, reading: ReadOptions) -> Format:
    """Return the format of rows whose columns are named: that of the profile, or as detected, or else JSON Lines."""
    try:
        named = format_of_reading(entry, "auto", reading)
        fmt, _ = detect(entry) if named == "auto" else named_format(named)
    except UsageError:
        fmt, _ = named_format("jsonl")
    if not (fmt.reader and fmt.reader.has_columns):
        raise UsageError(f"{entry.path} is {fmt.name}, which has no column profiles: remove --columns and --text-field")
    return fmt


def explain(found: Survey, fmt: Format, entry: Entry, prefix: str, reading: ReadOptions) -> None:
    """Say in a survey what the fields of a column profile mean, and which languages its paths name.

    Raises `BadInput` for the first row that is none, such as an array, if the survey found no records in its file for that.
    """
    options = CheckOptions(reading=reading)
    shards = fmt.plan(entry, options).shards
    _refuse_bad_rows(found, fmt, shards, prefix, options)
    columns = next((shard.payload for shard in shards if isinstance(shard.payload, ColumnProfile)), None)
    if columns is None:
        return
    paths = [each.url for shard in shards for each in shard.files.values()]
    labels = {label for path in paths if (label := columns.language_of_path(path))}
    found.languages |= {label.replace("_", "-") for label in labels}
    found.evidence["columns"] = columns.name or "the fields that options name"
    fields = asdict(columns.fields)
    meanings = {path_to(name): _MEANINGS[role] for role, name in reversed(fields.items()) if name is not None}
    found.record_sets = [
        replace(each, fields=list(_explained(each.fields, meanings))) if each.fields else each
        for each in found.record_sets
    ]


def _refuse_bad_rows(found: Survey, fmt: Format, shards: Sequence[Shard], prefix: str, options: CheckOptions) -> None:
    assert fmt.reader is not None
    for shard in shards:
        for each in shard.files.values():
            seen = found.evidence["files"].get(prefix + each.path, {})
            # Records in other compression are not described, however good.
            is_described = seen.get("encodingFormat") == _JSON_LINES and codec_of_name(each.name) in ("plain", "gzip")
            if is_described and "records" not in seen:
                rejected = (row for row in fmt.reader.read(shard, options) if isinstance(row, Rejected))
                if (first := next(rejected, None)) is not None:
                    raise BadInput(first.finding)


def _explained(
    fields: Sequence[FieldOf], meanings: Mapping[tuple[str, ...], str], above: tuple[str, ...] = ()
) -> Iterator[FieldOf]:
    for each in fields:
        path = (*above, each.name)
        inner = list(_explained(each.fields, meanings, path))
        yield replace(each, fields=inner, description=meanings.get(path, each.description))
