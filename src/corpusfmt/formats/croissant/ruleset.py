"""Internal: The set of Croissant rules, to which the modules of `rules` and `data` add."""

from corpusfmt.formats.croissant.model.version import VERSIONS
from corpusfmt.formats.general import GENERAL
from corpusfmt.model import Severity
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL, versions=VERSIONS)

WARNING = Severity.WARNING
#: The grade of rules whose milder case is a warning.
MILDER = {"minor": WARNING}
