"""Internal: Stage `process`: one WET file read, its lines cleaned, filtered, classified and stored by language."""
