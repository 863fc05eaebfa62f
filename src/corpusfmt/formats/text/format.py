"""Internal: Plain text: documents that blank lines separate, or a document in each file."""

from __future__ import annotations

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.describing import Describer, files_of
from corpusfmt.formats.text.layout import detect, plan
from corpusfmt.formats.text.reading import SOURCE, check, document_at, read
from corpusfmt.formats.text.ruleset import RULES, VERSION
from corpusfmt.formats.text.write import TEXTS

FORMAT = Format(
    name="text",
    summary="Plain text: documents between blank lines, or one in each file",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    reader=Reader(read, at=document_at, source_name=SOURCE, has_columns=True),
    writers={VERSION: TEXTS},
    describers={
        VERSION: Describer("Plain text", lambda paths, contents: iter([files_of(paths, contents)]), is_open=True)
    },
    is_general=True,
)
