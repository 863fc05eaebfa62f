"""Internal: mC4: JSON Lines with the text of a page, its address and the time of its crawl; the file is named for
the language.
"""

from __future__ import annotations

import re

from corpusfmt.formats.describing import FieldOf
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.format import row_format, row_rules
from corpusfmt.formats.rows.records import Records, document_of
from corpusfmt.model import Document, Json
from corpusfmt.rules import RuleSet

VERSION = "3.1"
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "MCF")
_NAME = re.compile(r"c4-(?P<language>[a-z]{2,3}(?:-[A-Z][a-z]+)?)(?:-validation)?\.tfrecord-.*")


class Pages(Records):
    """Pages of one language. When one was crawled is not when it was made, so that stays in the metadata."""

    required = ("text", "timestamp", "url")

    def document(self, row: Json, number: int) -> Document:
        named = _NAME.fullmatch(self.shard.name.rpartition("/")[2])
        language = {"language": named["language"]} if named else {}
        return document_of(row | language, "text", None, f"{self.shard.name}:{number}", source=FORMAT.name)


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
