"""Internal: Records behind a description: read from local files as a stream."""

#: The `source` of documents whose records have none.
SOURCE = "croissant"
