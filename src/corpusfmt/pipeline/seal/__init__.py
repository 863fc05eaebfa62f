"""Internal: The end of a build: what was made of what, written last; and how a corpus shows that it is finished."""
