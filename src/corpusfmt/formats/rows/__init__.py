"""Internal: A toolkit for row formats: JSON Lines with one object per line."""
