"""Internal: Stage `process`: read one WET file; clean, filter and classify its lines, and store them by language."""
