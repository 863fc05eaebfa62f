"""The rule set that the modules of this package add to."""

from corpusfmt.formats.croissant.version import VERSIONS
from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL, versions=VERSIONS)
