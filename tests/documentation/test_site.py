"""The built site: `make docs`. Every link leads somewhere, nothing comes from elsewhere, and search finds each rule.

CORPUSFMT_SITE names the folder of the built pages.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from browser.opened import BROWSER, CHROMIUM, driven, seen

from corpusfmt.cli.catalogue import known_rules
from corpusfmt.report.view import address_of

SITE = Path(os.environ.get("CORPUSFMT_SITE", ""))
HOME = "https://corpusfmt.github.io/latest/"
pytestmark = pytest.mark.skipif(not SITE.name, reason="CORPUSFMT_SITE is not set")


class Page(HTMLParser):
    """The places of a page that links lead to, its links, and what a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in {"canonical", "prev", "next"}:
            self.loaded.append(values["href"])
        elif "src" in values:
            self.loaded.append(values["src"])


@cache
def page(path: str) -> Page:
    return Page(SITE / path)


def paths() -> list[str]:
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))


def target_of(path: str, link: str) -> str:
    """Return the file to which a link of a page leads; the page for unknown addresses is served at any of them."""
    base = "" if path == "404.html" else posixpath.dirname(path)
    address = unquote(urlsplit(link).path).removeprefix("/latest/" if path == "404.html" else "")
    found = posixpath.normpath(posixpath.join(base, address)) if address else path
    return posixpath.normpath(f"{found}/index.html") if (SITE / found).is_dir() else found


def test_every_link_leads_to_a_place_on_a_page() -> None:
    dead = []
    for path in paths():
        for link in page(path).links:
            if not urlsplit(link).scheme:
                target = target_of(path, link)
                place = unquote(urlsplit(link).fragment)
                there = (SITE / target).is_file()
                if not there or (place and target.endswith(".html") and place not in page(target).places):
                    dead.append(f"{path}: {link}")
    assert dead == []


def test_pages_load_nothing_from_elsewhere() -> None:
    for path in paths():
        for address in page(path).loaded:
            assert not urlsplit(address).netloc, f"{path} loads {address}"
            assert (SITE / target_of(path, address)).is_file(), f"{path} loads {address}"
    for style in SITE.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", style.read_text("utf-8")) == []


def test_links_to_the_project_lead_to_files_that_exist() -> None:
    source = "https://github.com/corpusfmt/corpusfmt/"
    repository = Path(__file__).parents[2]
    for path in paths():
        for link in page(path).links:
            if link.startswith((f"{source}blob/main/", f"{source}tree/main/")):
                assert (repository / link.removeprefix(source).split("/", 2)[2].partition("#")[0]).exists(), path


def index() -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((SITE / "search.json").read_text("utf-8"))["items"]
    return items


@cache
def words_of_sections() -> list[tuple[str, list[str], set[str]]]:
    """Return where each section is, the words of its title, and all its words, as the search of the site splits them."""
    separator = re.compile(json.loads((SITE / "search.json").read_text("utf-8"))["config"]["separator"])

    def split(text: str) -> list[str]:
        return [word.lower() for word in separator.split(re.sub(r"<[^>]*>", " ", text)) if word]

    return [(each["location"], split(each["title"]), {*split(each["title"]), *split(each["text"])}) for each in index()]


def search(query: str) -> list[str]:
    """Return the pages that have all words of a query, those with the most of them in the title first."""
    asked = set(re.split(r"[\s-]+", query.lower()))
    found = [(len(asked & set(title)), place) for place, title, words in words_of_sections() if asked <= words]
    return [place.partition("#")[0] for _, place in sorted(found, key=lambda each: -each[0])]


def test_every_rule_has_a_page_that_search_finds_by_code_and_slug() -> None:
    for code, owners in known_rules().items():
        place = f"rules/{code}/"
        assert address_of(owners[0][1]) == HOME + place
        assert (SITE / place / "index.html").is_file()
        assert search(code)[0] == place
        assert place in search(owners[0][1].slug)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("SHA-256 differs checksum list", "OSC205"),
        ("double encoded", "GEN202"),
        ("truncated gzip corrupt", "GEN101"),
        ("pointer Git LFS", "GEN105"),
        ("target cannot represent data of the source", "CNV101"),
    ],
)
def test_search_finds_a_rule_by_words(words: str, code: str) -> None:
    assert f"rules/{code}/" in search(words)


@BROWSER
def test_search_in_chromium_finds_rules() -> None:
    names = {"OSC205": "OSC205", "short-sentence": "OSC305"}
    words = {"double encoded": "GEN202", "truncated gzip corrupt": "GEN101"}
    handler = partial(SimpleHTTPRequestHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        found = seen(driven("searching", CHROMIUM, address, *names, *words))
        server.shutdown()
    first = found["first"]
    assert [query for query, code in names.items() if first[query][0] != f"/rules/{code}/"] == []
    assert [query for query, code in words.items() if f"/rules/{code}/" not in first[query]] == []
    assert [each for each in found["requests"] if not each.startswith((address, "blob:", "data:"))] == []
