"""Internal: Streams, lines, digests, paths and publishing: every byte that is read or written passes here."""
