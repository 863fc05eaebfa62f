"""The rules of Croissant, a module for each group of codes."""

from corpusfmt.formats.croissant.rules import data, dataset, distribution, document, files, records
from corpusfmt.formats.croissant.rules.registry import RULES

__all__ = ["RULES", "data", "dataset", "distribution", "document", "files", "records"]
