"""Internal: OSCAR by schema 2, the releases 22.01 and 23.01: JSON Lines of content, WARC headers and metadata."""

from __future__ import annotations

from typing import Any

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.oscar2.describe import DESCRIBERS
from corpusfmt.formats.oscar2.layout import detect, plan
from corpusfmt.formats.oscar2.read import RECORDS
from corpusfmt.formats.oscar2.ruleset import RULES, VERSIONS
from corpusfmt.formats.rows.reading import ROWS
from corpusfmt.io.keys import FewKeys

FORMAT = Format(
    name="oscar2",
    summary="OSCAR 22.01 and 23.01 (schema 2): JSON Lines with content, WARC headers and metadata",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=RECORDS.check,
    reads_only_its_files=True,
    documents_role=ROWS,
    finish=RECORDS.judge_ids,
    facts=tuple[str, Any, FewKeys | None],
    reader=Reader(RECORDS.read, source_name="oscar"),
    aliases={"oscar-2": "", **{f"oscar-{version}": version for version in VERSIONS}},
    describers=DESCRIBERS,
)
