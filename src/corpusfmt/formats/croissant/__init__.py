"""Internal: Croissant: descriptions of data sets for machine learning, versions 1.0 and 1.1."""
