"""Internal: All input and output: streams, lines, digests, paths and publishing."""
