"""Run the installed `corpusfmt` with the given arguments, and record the memory of its largest process, and the CPU time."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

# Far above the bound: so that a broken promise is a failed test and not a dead machine.
ADDRESS_SPACE = 6 * 1024 * 1024 * 1024
SCRIPT = Path(sys.executable).with_name("corpusfmt")


def main() -> None:
    """Leave `measured.json` beside the guard's log, and end as the command ended."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    child = os.posix_spawn(SCRIPT, [str(SCRIPT), *sys.argv[1:]], os.environ)
    _, status, own = os.wait4(child, 0)
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "memory": max(own.ru_maxrss, below.ru_maxrss) * 1024,
        "cpu": max(own.ru_utime + own.ru_stime, below.ru_utime + below.ru_stime),
    }
    Path(os.environ["CORPUSFMT_GUARD_LOG"]).with_name("measured.json").write_text(json.dumps(found), "utf-8")
    raise SystemExit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
