"""Internal: Repairs of findings about a description, as edits of its text: a function for each rule with a repair."""

from corpusfmt.formats.croissant.repairs import dataset, document, files, records

__all__ = ["dataset", "document", "files", "records"]
