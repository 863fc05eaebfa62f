"""Internal: Stages `compact` and `dedup`: many containers joined into few, and the lines found that repeat an
earlier one.
"""
