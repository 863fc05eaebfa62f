"""The reference pipeline: WET files in, a conforming corpus out.

Stages, each a pure function of its files: `process` (one WET file), `dedup` (one language), `package` (one language).
"""
