"""Internal: Croissant: descriptions of datasets for machine learning, versions 1.0 and 1.1."""
