"""Internal: Stages `compact` and `dedup`: join many containers into few, and find lines that repeat earlier ones."""
