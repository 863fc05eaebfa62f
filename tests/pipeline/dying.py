"""Runs shards, and runs that finish them, which kill themselves, one after the other, each at a call of a function.

Arguments: INPUTS OUTPUT SHARD|finish:MODULE:FUNCTION:COUNT...; prints how they ended.
"""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import corpusfmt


def armed(module: str, function: str, count: str) -> None:
    """Let this process die when a function is called for the COUNTth time."""
    place: Any = import_module(module)
    *outer, name = function.split(".")
    for each in outer:
        place = getattr(place, each)
    real, calls = getattr(place, name), []

    def dying(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == int(count):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)

    setattr(place, name, dying)


def killed(run: Callable[..., object], *points: str) -> None:
    """Call a function for a shard, or to finish, which dies at one point each; print how they ended."""
    for point in points:
        shard, _, where = point.partition(":")
        child = os.fork()
        if not child:
            armed(*where.split(":"))
            run(**({"finish": True} if shard == "finish" else {"shard": shard}))
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()  # before the next fork


def main(inputs: str, output: str, *points: str) -> None:
    # Few inputs suffice for all stages.
    import_module("corpusfmt.pipeline.dedup")._SMALLEST_GROUP = 3  # type: ignore[attr-defined]
    killed(lambda **part: corpusfmt.build(inputs, output, **part), *points)


if __name__ == "__main__":
    main(*sys.argv[1:])
