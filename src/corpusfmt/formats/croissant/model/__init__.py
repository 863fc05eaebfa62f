"""Internal: The model of a description: its JSON tree, JSON-LD expansion, graph, and the specification's tables."""
