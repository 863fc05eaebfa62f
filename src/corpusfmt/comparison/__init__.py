"""Internal: Compare two releases of a corpus: which documents were added, removed, changed or moved.

`identity` defines the name of a document and the parts of it that are compared, for every format. Tasks of `reading` read
each document once and keep rows of digests, which `runs` sorts and spills. Tasks of `names` and `texts` match the rows of
one range of digests at a time, first by id, then by text (`matching`). `described` compares the statements of manifests
and descriptions, `result` is the outcome, `render` prints it, `run` combines all of them.
"""

from corpusfmt.comparison.run import compare

__all__ = ["compare"]
