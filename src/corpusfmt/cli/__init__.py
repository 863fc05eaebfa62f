"""Internal: The command line, one file per command. Only this package prints or exits."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line (entry point of the installed script)."""
    # Before any import of a module that Python has not loaded yet.
    from corpusfmt.safe_path import drop_working_folder

    drop_working_folder()
    # A standard stream that the caller closed is a null device: its number would be that of the next file opened.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    # No command uses linear algebra. Its threads in numpy take CPU time, and a process with threads cannot be forked.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Of a request that is repeated, the Hub's library would print two lines each time, from the first on.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    from corpusfmt.cli.console import leave_unread, print_version, warn

    try:
        if sys.argv[1:] == ["--version"]:
            # Importing typer takes several times as long as starting Python.
            print_version()
        else:
            # Worker processes import the script that started them and must not pay for a command line they never use.
            from corpusfmt.cli.running import run

            run(sys.argv[1:])
    except OSError as error:
        # Help or the version on a full device: commands report their own.
        warn(f"error: standard output: {error.strerror}")
        leave_unread()
        raise SystemExit(3) from None
