"""Internal: The rules of Croissant: one set that the modules of `rules` and `data` add to."""

from corpusfmt.formats.croissant.model.version import VERSIONS
from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL, versions=VERSIONS)
