"""Write the pages of the site and its configuration into a folder: `python -m website FOLDER`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from website import notebooks, pages, reference, rules

SETTINGS = Path(__file__).parent / "zensical.toml"


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    texts = pages.written() | rules.pages() | reference.pages()
    contents = {path: text.encode() for path, text in texts.items()} | notebooks.contents()
    for path, content in contents.items():
        target = folder / "pages" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    shutil.copytree(pages.REPOSITORY / pages.IMAGES, folder / "pages" / pages.place(pages.IMAGES))
    shutil.copy(SETTINGS, folder)
    shutil.copy(SETTINGS.with_name("site.css"), folder / "pages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
