"""Internal: Take inputs, each once: listed, watched or downloaded, within the limit on scratch space."""
