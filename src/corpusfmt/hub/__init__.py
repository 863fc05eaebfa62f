"""Internal: What `datasets` and the Hub make of a folder: the files that are read, as which tables, and the types of columns."""
