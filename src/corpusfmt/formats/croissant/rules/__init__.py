"""Internal: The rules of Croissant that decide over a description, a module for each group of codes."""

from corpusfmt.formats.croissant.rules import data, dataset, distribution, document, records

__all__ = ["data", "dataset", "distribution", "document", "records"]
