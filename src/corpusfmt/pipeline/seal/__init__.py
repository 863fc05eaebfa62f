"""Internal: The end of a build: statistics, description and manifest, written last, which mark a finished corpus."""
