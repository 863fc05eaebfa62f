"""How fast `corpusfmt verify` reads a release, as a ratio to `sha256sum` over the same files; its peak memory.

python benchmarks/verify.py [MEGABYTES [FOLDER]] (default: 8 files, 800 MB together, in the temporary folder). Times are the best of
five turns, those of `verify` without the 0.2 seconds in which it starts, which a run over no files takes.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import Command, race, rates

FILES = 8
TURNS = 5


def make(root: Path, megabytes: int) -> None:
    (root / "documents").mkdir(parents=True)
    (root / "documents/a.jsonl").write_text('{"id":"1","text":"t","source":"s","added":"2024-01-01"}\n')
    for number in range(FILES):
        with (root / f"{number}.bin").open("wb") as file:
            for _ in range(megabytes // FILES):
                file.write(random.randbytes(1_000_000))
    subprocess.run([sys.executable, "-m", "corpusfmt", "seal", str(root)], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as temporary:
        root = Path(temporary) / "release"
        make(root, megabytes)
        verify = [sys.executable, "-m", "corpusfmt", "verify", str(root)]
        commands: dict[str, Command] = {
            "sha256sum": ["sha256sum", *map(str, sorted(root.glob("*.bin")))],
            "verify, one worker": [*verify, "--jobs", "1"],
            "verify, two workers": [*verify, "--jobs", "2"],
        }
        quick: dict[str, Command] = {
            name: ["true"] if name == "sha256sum" else [*verify, "--quick"] for name in commands
        }
        rates(
            f"{megabytes} MB in {FILES} files, best of {TURNS}",
            race("verify", commands, TURNS, megabytes=megabytes, XDG_CACHE_HOME=temporary),
            megabytes,
            tiny=race("verify, start", quick, TURNS, XDG_CACHE_HOME=temporary),
            references={"x sha256sum": "sha256sum"},
            pairs={"verify, two workers": "verify, one worker"},
        )


if __name__ == "__main__":
    main()
