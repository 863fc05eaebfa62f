"""Run a command in this process and print the packages that it imported and its fsyncs, as JSON: `counted.py WORDS...`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable


def main() -> None:
    """Count."""
    syncs = 0

    def counting(function: Callable[[int], None]) -> Callable[[int], None]:
        def call(descriptor: int) -> None:
            nonlocal syncs
            syncs += 1
            function(descriptor)

        return call

    os.fsync, os.fdatasync = counting(os.fsync), counting(os.fdatasync)  # type: ignore[assignment]
    from corpusfmt.cli import main as command

    sys.argv = ["corpusfmt", *sys.argv[1:]]
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            command()
        except SystemExit as ended:
            if ended.code:
                errors.flush()
                os.write(2, errors.buffer.getvalue())
                raise
    tops = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
    foreign = sorted(name for name in tops - sys.stdlib_module_names - {"corpusfmt"} if not name.startswith("_"))
    print(json.dumps({"packages": foreign, "fsyncs": syncs}))


if __name__ == "__main__":
    main()
