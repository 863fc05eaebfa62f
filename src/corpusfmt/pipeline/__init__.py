"""Internal: The reference pipeline, from WET files to a conforming corpus.

`intake` feeds inputs to the stages, each a pure function of its files: `process` (one WET file), `dedup` (one language),
`package` (one language). `seal` writes the files that mark a corpus as complete. `run` puts them together.
"""
