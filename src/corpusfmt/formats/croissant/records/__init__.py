"""Records behind a description: read from local files as a stream."""
