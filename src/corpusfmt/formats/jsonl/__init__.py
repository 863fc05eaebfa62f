"""Internal: JSON Lines of any shape: rows with a text, whose other fields a column profile or options name."""
