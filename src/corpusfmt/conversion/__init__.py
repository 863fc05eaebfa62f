"""Internal: Convert a corpus: any format that can be read into any that can be written, one stream of documents
between them.

`options` says what is asked for, `way` from which format to which, `layout` which shards become which files. `direct` or
`by_language` makes these by tasks of `stages`, which run in workers: there `documents` reads a shard, and `attributes` merges
and splits what is known about documents. `seal` and `report` end a conversion, `run` puts it together.
"""

from corpusfmt.conversion.run import convert

__all__ = ["convert"]
