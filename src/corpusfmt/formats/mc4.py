"""Internal: mC4 and C4: JSON Lines with the text of a page, its address and the time of its crawl; paths have the language."""

from __future__ import annotations

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.columns import best_columns
from corpusfmt.formats.describing import FieldOf
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.columned import ColumnRecords
from corpusfmt.formats.rows.format import row_format, row_rules
from corpusfmt.rules import RuleSet

VERSION = "3.1"
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "MCF")
_NAMES = dict.fromkeys(("text", "timestamp", "url"), "")


class Pages(ColumnRecords):
    """Pages of one language. The time of the crawl is not the creation time of the page, so it stays in the metadata."""

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        (file,) = shard.files.values()
        super().__init__(replace(shard, payload=best_columns(_NAMES, file.url)), options)


FORMAT = row_format(
    "mc4",
    "mC4: JSON Lines with text, timestamp and url",
    RULES,
    FILES,
    version=VERSION,
    file_name=r".*\.json\.gz",
    fields=[
        FieldOf("text", "sc:Text", {"column": "text"}, "Text of the page"),
        FieldOf("timestamp", "sc:DateTime", {"column": "timestamp"}, "When the page was crawled"),
        FieldOf("url", "sc:URL", {"column": "url"}, "Address of the page"),
    ],
    records=Pages,
)
