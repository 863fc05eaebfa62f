"""Convert a corpus: any format that can be read into any that can be written, one stream of documents between them.

`options` says what is asked for, `layout` which shards become which files, `documents` reads a shard, `attributes` merges
and splits what is known about documents, `stages` are the tasks that run in workers, `run` puts them together.
"""

from corpusfmt.conversion.run import convert

__all__ = ["convert"]
