"""Runs shards that kill themselves, one after the other, each at a call of a function, and lets a minute pass in between.

Arguments: INPUTS OUTPUT SHARDS MODULE:FUNCTION:COUNT...; prints how the shards ended.
"""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
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


def killed(output: str, shard: Callable[[int], object], *points: str) -> None:
    """Run shards that die at one point each, and let a minute pass after each; print how they ended."""
    for number, point in enumerate(points):
        child = os.fork()
        if not child:
            armed(*point.split(":"))
            shard(number)
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()  # before the next fork
        for each in (Path(output) / ".corpusfmt" / "array" / "members").iterdir():
            os.utime(each, (0, 0))


def main(inputs: str, output: str, shards: str, *points: str) -> None:
    # Few inputs suffice for all stages.
    import_module("corpusfmt.pipeline.dedup.compact")._SMALLEST_GROUP = 3  # type: ignore[attr-defined]
    killed(
        output,
        lambda number: corpusfmt.build(inputs, output, shard=f"{number % int(shards) + 1}/{shards}", wait=0),
        *points,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
