"""Internal: Dolma: documents as JSON Lines, and sets of attributes that line up with them row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.dolma.check import check, finish
from corpusfmt.formats.dolma.layout import DOCUMENTS, detect, plan
from corpusfmt.formats.dolma.mend import mends
from corpusfmt.formats.dolma.read import attribute_sets, blocks, read, texts
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.dolma.write import DOLMA
from corpusfmt.formats.parts import RowBlock
from corpusfmt.io.keys import FewKeys

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


FORMAT = Format(
    name="dolma",
    summary="Dolma documents and attributes: JSON Lines, paired row by row",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    documents_role=DOCUMENTS,
    finish=finish,
    facts=FewKeys,
    reader=Reader(
        read,
        texts,
        batches={RowBlock: blocks},
        by_row=True,
        attribute_sets=attribute_sets,
        unread_rules={"DOL402": "attributes files of no documents"},
        pairing_rules=frozenset({"DOL401"}),
        missing_rules=frozenset({"DOL109", "DOL410"}),
    ),
    writers={VERSION: DOLMA},
    describers=DESCRIBERS,
    mends=mends,
    own_option="blocklist",
)
