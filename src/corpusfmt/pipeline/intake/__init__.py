"""Internal: Take inputs, each once, within the limit on scratch space."""
