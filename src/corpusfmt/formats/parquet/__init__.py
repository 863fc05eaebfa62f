"""Internal: Parquet: a table with a column of texts as a source, documents as columns as a target."""
