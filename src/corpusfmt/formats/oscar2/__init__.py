"""Internal: OSCAR by schema 2, the releases 22.01 and 23.01: JSON Lines of content, WARC headers and metadata."""
