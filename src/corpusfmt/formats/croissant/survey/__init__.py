"""Internal: The content of a folder of any files: the kind of each file, its records, and the types of their values."""
