"""Internal: How inputs come: listed, watched or downloaded, within the bound on scratch space; each is taken once."""
