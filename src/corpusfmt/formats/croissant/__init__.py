"""Internal: Croissant: descriptions of data sets for machine learning, by the specification of 1.0."""
