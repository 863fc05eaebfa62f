"""Internal: The version, defined only here."""

VERSION = "0.1.0"
