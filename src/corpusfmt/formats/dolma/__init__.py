"""Internal: Dolma: documents as JSON Lines, and sets of attributes that line up with them row by row."""
