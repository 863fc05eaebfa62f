"""Internal: The formats OSCAR 1.0 and 1.1."""

from __future__ import annotations

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.oscar.check import FewRecords, check
from corpusfmt.formats.oscar.dataset import finish
from corpusfmt.formats.oscar.describe import DESCRIBERS
from corpusfmt.formats.oscar.keep import SOURCE
from corpusfmt.formats.oscar.layout import detect, plan
from corpusfmt.formats.oscar.mend import mends
from corpusfmt.formats.oscar.parts import checksum_code
from corpusfmt.formats.oscar.read import document_at, read, rows, texts, unpaired
from corpusfmt.formats.oscar.ruleset import RULES, VERSIONS
from corpusfmt.formats.oscar.write import OSCAR_1_0, OSCAR_1_1
from corpusfmt.formats.parts import EncodedRows

FORMAT = Format(
    name="oscar",
    summary="OSCAR 1.0 (text) and 1.1 (text with metadata): a release, a language, or a part",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    finish=finish,
    facts=FewRecords,
    reader=Reader(
        read,
        texts,
        at=document_at,
        batches={EncodedRows: rows},
        source_name=SOURCE,
        unpaired=unpaired,
        pairing_rules=frozenset({"OSC106"}),
        missing_rules=frozenset({"OSC105", "OSC107"}),
    ),
    writers={"1.0": OSCAR_1_0, "1.1": OSCAR_1_1},
    describers=DESCRIBERS,
    mends=mends,
    judges_list=lambda path: checksum_code(path.rpartition("/")[2]) is not None,
    own_option="dedup",
)
