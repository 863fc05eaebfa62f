"""The pages that are written by hand: where they are on the site, and where their links lead there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SOURCE = "https://github.com/corpusfmt/corpusfmt/blob/main"
#: Pages outside docs/, and where the site has them; the page of all rules is one page for each rule there.
_ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "tests/fixtures/README.md": "conformance.md",
    "docs/rules.md": "rules/index.md",
}
IMAGES = "docs/images/"
#: Examples of rules that no fixture can show, because they need more than a folder of files: parts of the pages of these rules.
EXAMPLES = "docs/examples/"
#: The site has other pages in their places.
_REPLACED = {"README.md", "docs/rules.md"}
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]*)(#[^)\s]*)?(?=\))")
_COMMENT = re.compile(r"^ *<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)


def written() -> dict[str, str]:
    """Return the pages that are written by hand, by path on the site."""
    docs = [path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs").rglob("*.md")]
    sources = {
        place(path): path
        for path in [*_ELSEWHERE, *sorted(docs)]
        if path not in _REPLACED and not path.startswith(EXAMPLES)
    }
    return {target: adapted(source, target) for target, source in sources.items()}


def notebooks() -> list[str]:
    """Return the paths of the notebooks, which are pages of the site, too."""
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs").rglob("*.ipynb"))


def place(source: str) -> str:
    """Return where the site has a page of the repository."""
    return _ELSEWHERE.get(source) or re.sub(r"\.ipynb$", ".md", source.removeprefix("docs/"))


def adapted(source: str, target: str) -> str:
    """Return a page as `moved` does, without comments."""
    text = (REPOSITORY / source).read_text("utf-8")
    return "".join(part if code else moved(_COMMENT.sub("", part), source, target) for part, code in _parts(text))


def moved(text: str, source: str, target: str) -> str:
    """Return text with its links as they are on the site. Raises `ValueError` for a dead link."""

    def on_site(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        if not (REPOSITORY / path).exists():
            raise ValueError(f"{source}: `{link[0]}` leads to {path}, which does not exist")
        fragment = link[2] or ""
        if path == "docs/rules.md" and fragment:
            code = fragment[1:].partition("-")[0].upper()
            return posixpath.relpath(f"rules/{code}.md", posixpath.dirname(target) or ".")
        if path.endswith((".md", ".ipynb")):
            return posixpath.relpath(place(path), posixpath.dirname(target) or ".") + fragment
        if path.startswith(IMAGES):
            return posixpath.relpath(place(path), posixpath.dirname(target) or ".")
        return f"{SOURCE}/{path}"

    return _LINK.sub(on_site, text)


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield a page in parts, each with whether it is a block of code."""
    end = 0
    for block in _FENCED.finditer(text):
        yield text[end : block.start()], False
        yield block[0], True
        end = block.end()
    yield text[end:], False
