"""Internal: OSCAR 1.0 and 1.1: layout, checksum lists, text, and the metadata of 1.1."""
