"""Internal: OSCAR 1.0 and 1.1: layout, checksum lists, text, and for 1.1 the metadata records."""
