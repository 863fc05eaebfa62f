"""Internal: The records of a description, streamed from local files."""

#: The `source` of documents from records without one.
SOURCE = "croissant"
