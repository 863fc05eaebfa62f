"""The command line: one file a command; the only place of the package that prints or exits."""

__all__ = ["main"]


def main() -> None:
    """Run the command line: the entry point of the installed script."""
    # Worker processes import the script that started them: they must not pay for a command line that they never use.
    from corpusfmt.cli.app import main as run

    run()
