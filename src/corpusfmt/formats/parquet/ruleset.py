"""Internal: The registry that the modules of this format add their rules to."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

VERSION = "1.0"
RULES = RuleSet(GENERAL, versions=(VERSION,))
#: The `source` of documents from another writer's table without sources.
SOURCE = "parquet"
