"""How fast `corpusfmt verify` reads a release, as a ratio to `sha256sum` over the same files; its peak memory.

python benchmarks/verify.py [MEGABYTES [FOLDER]] (default: 8 files, 800 MB together, in the temporary folder). Times are the best of
five turns, those of `verify` without the 0.2 seconds in which it starts, which a run over no files takes.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 8
TURNS = 5
MEASURED = (
    "import resource, sys; from corpusfmt.cli import main\n"
    "try: main()\n"
    "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
)


def make(root: Path, megabytes: int) -> None:
    (root / "documents").mkdir(parents=True)
    (root / "documents/a.jsonl").write_text('{"id":"1","text":"t","source":"s","added":"2024-01-01"}\n')
    for number in range(FILES):
        with (root / f"{number}.bin").open("wb") as file:
            for _ in range(megabytes // FILES):
                file.write(random.randbytes(1_000_000))
    subprocess.run([sys.executable, "-m", "corpusfmt", "seal", str(root)], check=True, stdout=subprocess.DEVNULL)


def timed(command: list[str]) -> tuple[float, float, int]:
    """Return seconds of processor and wall-clock time, and the number on the last line of standard error."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, int(done.stderr.split()[-1] or 0) if done.stderr else 0


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as temporary:
        os.environ["XDG_CACHE_HOME"] = temporary
        root = Path(temporary) / "release"
        make(root, megabytes)
        verify = [sys.executable, "-c", MEASURED, "verify", str(root)]
        commands = {
            "sha256sum": ["sha256sum", *map(str, sorted(root.glob("*.bin")))],
            "verify --quick": [*verify, "--quick"],
            "verify --jobs 1": [*verify, "--jobs", "1"],
            "verify --jobs 2": [*verify, "--jobs", "2"],
        }
        turns = [{name: timed(command) for name, command in commands.items()} for _ in range(TURNS)]
    best = {name: [min(turn[name][each] for turn in turns) for each in (0, 1, 2)] for name in commands}
    start = best["verify --quick"]
    cpu = best["verify --jobs 1"][0] - start[0]
    walls = [best[f"verify --jobs {jobs}"][1] - start[1] for jobs in (1, 2)]
    print(f"sha256sum: {megabytes / best['sha256sum'][0]:,.0f} MB/s of processor time")
    print(f"verify:    {megabytes / cpu:,.0f} MB/s, {best['sha256sum'][0] / cpu:.2f} of sha256sum")
    print(f"two at one time: {walls[0] / walls[1]:.2f} times as fast")
    print(f"peak memory: {max(turn['verify --jobs 2'][2] for turn in turns) / 1024:.0f} MB")


if __name__ == "__main__":
    main()
