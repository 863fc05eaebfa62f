"""Put a built site next to the versions that were published before: `python -m website.publish SITE FOLDER VERSION`.

`FOLDER/VERSION` and `FOLDER/latest` are the site, `versions.json` is for the list of versions on each page, and `schemas` are at their
addresses. `latest` stays with the newest version if an older one is published again.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from packaging.version import Version

from website.pages import REPOSITORY

_HOME = '<!doctype html><meta charset="utf-8"><title>corpusfmt</title><meta http-equiv="refresh" content="0; url=latest/">\n'


def main(site: Path, folder: Path, version: str) -> None:
    """Publish a version. Raises `InvalidVersion` if it is not one, before anything is written."""
    known = {version, *(path.parent.name for path in folder.glob("*/search.json") if path.parent.name != "latest")}
    ordered = sorted(known, key=Version, reverse=True)
    for name in (version, *(["latest"] if ordered[0] == version else [])):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(site, folder / name)
    shutil.copytree(REPOSITORY / "schemas", folder / "schemas", dirs_exist_ok=True)
    aliases = {ordered[0]: ["latest"]}
    listed = [{"version": each, "title": each, "aliases": aliases.get(each, [])} for each in ordered]
    (folder / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    (folder / "index.html").write_text(_HOME, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
