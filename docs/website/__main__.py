"""Write the pages of the site and its configuration into a folder: `python -m website FOLDER`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from corpusfmt._version import VERSION
from website import notebooks, pages, reference, rules, terminal

SETTINGS = Path(__file__).parent / "zensical.toml"


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    texts = pages.written() | rules.pages() | reference.pages()
    contents = {path: terminal.coloured(text).encode() for path, text in texts.items()} | notebooks.contents()
    for path, content in contents.items():
        target = folder / "pages" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    shutil.copytree(pages.REPOSITORY / pages.IMAGES, folder / "pages" / pages.place(pages.IMAGES))
    shutil.copy(SETTINGS, folder)
    shutil.copy(SETTINGS.with_name("site.css"), folder / "pages")
    header = folder / "overrides/partials/source.html"
    header.parent.mkdir(parents=True)
    header.write_text(SETTINGS.with_name("source.html").read_text("utf-8").replace("VERSION", VERSION), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
