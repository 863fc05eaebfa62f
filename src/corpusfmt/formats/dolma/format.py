"""Internal: Dolma: documents as JSON Lines, and sets of attributes that line up with them row by row."""

from __future__ import annotations

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.batches import RowBlock
from corpusfmt.formats.dolma.check import check, finish
from corpusfmt.formats.dolma.describe import DESCRIBERS
from corpusfmt.formats.dolma.layout import DOCUMENTS, detect, plan
from corpusfmt.formats.dolma.mend import mends
from corpusfmt.formats.dolma.read import attribute_sets, blocks, read, texts
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.dolma.write import DOLMA
from corpusfmt.io.keys import FewKeys

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
