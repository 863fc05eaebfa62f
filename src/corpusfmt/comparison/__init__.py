"""Internal: Compare two releases of a corpus: which documents were added, removed, changed or moved.

Tasks of `reading` read each document once and keep digests of its name and its parts, as sorted runs (`io.runs`). Tasks of
`matching` match one range of digests at a time, first by name, then by text. `result` is the outcome,
`render` prints it, `run` combines all of them, and compares the statements of manifests and descriptions.
"""

from corpusfmt.comparison.run import compare

__all__ = ["compare"]
