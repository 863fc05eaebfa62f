"""Internal: Plain text: documents that blank lines separate, or a document in each file."""
