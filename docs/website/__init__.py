"""The documentation site: `make docs` writes its pages from docs/, the registries and the fixtures, and builds them strictly."""
