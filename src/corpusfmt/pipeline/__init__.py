"""Internal: The reference pipeline: WET files in, a conforming corpus out.

`intake` gives inputs to stages, each a pure function of its files: `process` (one WET file), `dedup` (one language),
`package` (one language); `seal` writes what says that a corpus is whole. `run` puts them together.
"""
