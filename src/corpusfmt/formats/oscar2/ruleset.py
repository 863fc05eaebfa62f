"""The registry that the modules of this format add their rules to."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

#: Releases by schema 2, which differ in the names of a few fields of `metadata`.
VERSIONS = ("22.01", "23.01")
RULES = RuleSet(GENERAL, versions=VERSIONS)

LAYOUT = "oscar-schema-v2#layout"
RECORD = "oscar-schema-v2#jsonl-files"
