"""The command line: one file a command; the only place of the package that prints or exits."""

from corpusfmt.cli.app import main

__all__ = ["main"]
