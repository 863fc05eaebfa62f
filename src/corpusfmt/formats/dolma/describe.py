"""Internal: How Dolma corpora are described."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.dolma.ruleset import VERSION

_ID = FieldOf("id", "sc:Text", {"column": "id"}, "Identifier, unique within its source")
_TEXT = FieldOf("text", "sc:Text", {"column": "text"}, "Text of the document")
# Described only if they occur.
_OPTIONAL_FIELDS = (
    FieldOf("source", "sc:Text", {"column": "source"}, "Where the document comes from"),
    FieldOf("added", "sc:DateTime", {"column": "added"}, "When the document was taken into the corpus"),
    FieldOf("created", "sc:DateTime", {"column": "created"}, "When the document was made"),
    FieldOf("language", "sc:Text", {"column": "metadata"}, "Language of the document", "$.language"),
    FieldOf("url", "sc:URL", {"column": "metadata"}, "Address that the document comes from", "$.url"),
)


def _documents(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    files = [path for path in paths if "attributes" not in path.split("/")]
    occurring = [each for each in _OPTIONAL_FIELDS if each.name in contents.fields]
    yield rows_of(files, contents, (_ID, _TEXT, *occurring))


DESCRIBERS: Mapping[str, Describer] = {
    VERSION: Describer("Documents in the Dolma format", _documents, fields=_OPTIONAL_FIELDS)
}
