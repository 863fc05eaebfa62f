"""Internal: `MANIFEST.json`: its content, reading of untrusted ones, and comparison with a release."""
