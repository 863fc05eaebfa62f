"""Take the screenshots that the docs show: `python -m browser.screenshots FOLDER PYTHON CHROMIUM`, for `make screenshots`.

PYTHON has playwright.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FIXTURES, SAMPLE, run_cli

import corpusfmt


def main(folder: Path, python: str, chromium: str) -> None:
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        corpus, report, sheet = (Path(scratch) / name for name in ("oscar", "report.html", "datasheet.html"))
        corpusfmt.build(SAMPLE, corpus)
        run_cli("seal", corpus, "--attest")
        run_cli("datasheet", corpus, "-o", sheet)
        damaged = FIXTURES / "dolma/1.0/invalid"
        inputs = sorted(str(each.relative_to(damaged)) for each in damaged.glob("*/input"))
        run_cli("validate", *inputs[:60], "--report", f"html={report}", cwd=damaged)
        for page, place in ((report, "h1"), (sheet, "#languages")):
            for scheme in ("light", "dark"):
                target = folder / f"{page.stem}-{scheme}.png"
                shot = Path(__file__).with_name("shoot.py")
                subprocess.run([python, str(shot), chromium, page.as_uri(), place, scheme, str(target)], check=True)


main(Path(sys.argv[1]), *sys.argv[2:])
