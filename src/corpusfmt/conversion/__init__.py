"""Internal: Convert a corpus from any readable format to any writable one, through a stream of documents.

`options` has the user's options, `way` the two formats, `layout` decides which shards become which files. `direct` or
`by_language` write these by tasks of `stages`, which run in workers: there `documents` reads a shard, and `attributes`
merges and splits attributes. `seal` and `report` end a conversion. `run` puts them together. `writing` begins with the documents
of a caller, which `stored` keeps.
"""
