"""Internal: The rules of JSON Lines that all formats of rows share; those of rows and files are next to what they judge."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.files import path_rule
from corpusfmt.formats.rows.format import row_rules
from corpusfmt.rules import RuleSet

VERSION = "1.0"
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "JSL")
path_rule(RULES, "JSL106")
