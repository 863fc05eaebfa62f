"""The rule set that the modules of this package add to."""

from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)
