"""Internal: The command line: one file a command; the only place of the package that prints or exits."""

__all__ = ["main"]


def main() -> None:
    """Run the command line: the entry point of the installed script."""
    # Before anything is imported that Python has not loaded anyway.
    from corpusfmt.safe_path import drop_working_folder

    drop_working_folder()
    # Worker processes import the script that started them: they must not pay for a command line that they never use.
    from corpusfmt.cli.app import main as run

    run()
