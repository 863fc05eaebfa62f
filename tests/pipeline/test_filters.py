"""What the filters keep and count."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tracemalloc
from itertools import chain, repeat
from pathlib import Path

import pytest
from support import LONG_LINE, SAMPLE, run_cli, wet_file, wet_record

import corpusfmt
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline.choices import Selection
from corpusfmt.pipeline.process.filters import Addresses, AddressList, addresses, loaded_list

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."


@pytest.mark.parametrize(
    ("entry", "url", "named"),
    [
        ("example.org", "http://example.org/", True),
        ("example.org", "https://www.EXAMPLE.org./page", True),
        ("example.org", "http://user@example.org:8080?q=1", True),
        ("example.org", "http://badexample.org/", False),
        ("example.org", "http://example.org.example.com/", False),
        ("www.example.org", "http://example.org/", False),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        ("xn--bcher-kva.example", "http://bücher.example/", True),
        ("example.org:8080", "http://example.org/", False),
        ("http://example.org/a/", "https://example.org/a/b", True),
        ("example.org/a/", "http://example.org/a/b", True),
        ("http://example.org/a/", "http://example.org/a", False),
        ("http://example.org/a", "http://example.org/abc", True),
        ("http://example.org/a", "http://example.org/A", False),
        ("http://example.org/a", "http://www.example.org/a", False),
        ("http://example.org", "http://example.org/page", True),
        ("http://example.org", "http://www.example.org/page", False),
        ("http://example.org:81/", "http://example.org/", False),
        ("http://example.org/?id=", "http://example.org/?id=7", True),
        ("example.org", "", False),
        ("example.org", "no address\n", False),
    ],
)
def test_what_an_entry_names(entry: str, url: str, named: bool) -> None:
    assert (url in AddressList([entry])) is named


def test_a_list_names_what_its_entries_name() -> None:
    rng = random.Random(9)
    hosts = [f"{rng.choice('ab')}.{rng.choice('cd')}{rng.randrange(9)}.example" for _ in range(60)]
    entries = [host if rng.random() < 0.5 else f"http://{host}/{rng.choice('xy')}" for host in hosts[:30]]
    urls = [f"http://{host}/{rest}" for host in {*hosts, "example"} for rest in ("", "x", "xy", "y?")]
    expected = [any(url in AddressList([entry]) for entry in entries) for url in urls]
    listed = AddressList(entries)
    assert [url in listed for url in urls] == expected
    assert 20 < sum(expected) < len(urls) - 20


def test_repeated_entries_take_no_memory() -> None:
    tracemalloc.start()
    try:
        listed = AddressList(chain(repeat("example.org", 25_000), repeat("http://example.com/a", 25_000)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "http://example.com/ab" in listed
    assert peak < 1_000_000


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    both = f"{LONG_LINE} {{0}}\n{LONG_LINE} {{0}}.\n{GERMAN} {{0}}\nshort\n"
    records = [wet_record(number, both.format(number)) for number in range(3)]
    return wet_file(tmp_path / "a.warc.wet.gz", records)


def test_each_filter_drops_and_counts(tmp_path: Path, wet: Path) -> None:
    (tmp_path / "deny.txt").write_text("# adult sites\n\nsite-1.example\n")
    (tmp_path / "allow.txt").write_text("http://site-0.example/\nsite-1.example\n")
    plain = {"too short": 3}
    for number, (selection, lines, dropped) in enumerate(
        [
            (Selection(), 9, plain),
            (Selection(min_lines=2), 6, plain | {"in a document of too few lines": 3}),
            (Selection(languages=["de"]), 3, plain | {"in a language not asked for": 6}),
            (Selection(exclude_languages=["de"]), 6, plain | {"in a language not asked for": 3}),
            (
                Selection(languages=["de", "en"], exclude_languages=["de"]),
                6,
                plain | {"in a language not asked for": 3},
            ),
            (Selection(deny_urls=str(tmp_path / "deny.txt")), 6, {"too short": 2, "at a denied address": 4}),
            (Selection(allow_urls=str(tmp_path / "allow.txt")), 6, {"too short": 2, "at no allowed address": 4}),
            (
                Selection(allow_urls=str(tmp_path / "allow.txt"), deny_urls=str(tmp_path / "deny.txt")),
                3,
                {"too short": 1, "at a denied address": 4, "at no allowed address": 4},
            ),
        ]
    ):
        out = tmp_path / str(number)
        report = corpusfmt.build(wet, out, selection=selection)
        assert report.results["stats"]["total"]["final"]["lines"] == lines
        assert report.results["dropped"] == dropped
        assert json.loads((out / "MANIFEST.json").read_bytes())["inputs"][0]["records"] == 3
        assert report.verdict.value == "valid"
    lists = json.loads((out / "MANIFEST.json").read_bytes())["addresses"]
    assert {kind: each["entries"] for kind, each in lists.items()} == {"allow": 2, "deny": 1}


def test_filters_of_a_recipe_and_options_above_them(tmp_path: Path, wet: Path) -> None:
    recipe = tmp_path / "mine.toml"
    text = (SAMPLE.parent / "oscar-1.1.toml").read_text()
    recipe.write_text(text + '\n[filter]\nmin-lines = 2\nlanguages = ["en", "de"]\n')
    assert (
        corpusfmt.build(wet, tmp_path / "1", recipe=str(recipe)).results["dropped"]["in a document of too few lines"]
        == 3
    )
    done = run_cli(
        "build", wet, "-o", tmp_path / "2", "--recipe", recipe, "--min-lines", "1", "--exclude-languages", "de,fr"
    )
    assert done.returncode == 0
    assert b"3 in other languages" in done.stdout
    manifest = json.loads((tmp_path / "2" / "MANIFEST.json").read_bytes())
    assert manifest["recipe"]["filter"] == {
        "min-lines": 1,
        "languages": ["en", "de"],
        "exclude-languages": ["de", "fr"],
    }
    recipe.write_text(text + "\n[filter]\nmin-lines = 0\n")
    with pytest.raises(UsageError, match=r"`filter.min-lines` is 0, expected an integer from 1"):
        corpusfmt.build(wet, tmp_path / "3", recipe=str(recipe))
    with pytest.raises(UsageError, match="`min_lines` is 0, expected at least 1"):
        corpusfmt.build(wet, tmp_path / "3", selection=Selection(min_lines=0))


def test_a_list_of_addresses_is_known_by_its_content(tmp_path: Path, wet: Path) -> None:
    out = tmp_path / "out"
    listed = tmp_path / "deny.txt"
    listed.write_text("example.com\n")
    options = ("build", wet, "--output", out, "--deny-urls", listed)
    code = "import corpusfmt.pipeline.run as run, os; run.packaged = lambda *_: os._exit(9)\n"
    interrupted = [sys.executable, "-c", f"{code}from corpusfmt.cli import main; main()", *map(str, options)]
    assert subprocess.run(interrupted, check=False).returncode == 9
    listed.write_text("example.org\n")
    assert subprocess.run(interrupted, check=False).returncode == 9
    (tmp_path / "moved.txt").write_text("example.org\n")
    done = run_cli(*options[:-1], tmp_path / "moved.txt")
    assert (done.returncode, b"(inputs kept: 1, read: 0)" in done.stderr) == (0, True)
    shutil.rmtree(out)
    listed.write_text("example.com\n")
    assert subprocess.run(interrupted, check=False).returncode == 9
    done = run_cli(*options[:-1], tmp_path / "moved.txt")
    assert (done.returncode, b"(inputs kept: 0, read: 1)" in done.stderr) == (0, True)


def test_what_cannot_be_a_filter(tmp_path: Path, wet: Path) -> None:
    with pytest.raises(UsageError, match="language unknown to the model: xx, zz; known: af, als, am"):
        corpusfmt.build(wet, tmp_path / "out", selection=Selection(languages=["xx", "en", "zz"]))
    for option in ("--languages", "--exclude-languages"):  # as of a variable of a shell that is not set
        done = run_cli("build", wet, "--output", tmp_path / "out", option, "")
        assert done.stderr.decode() == f"error: {option} names no language: name one, or leave the option out\n"
        assert done.returncode == 2
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\n")
    for name in ("missing.txt", "empty.txt", "binary.txt"):
        with pytest.raises(UsageError, match=name):
            corpusfmt.build(wet, tmp_path / "out", selection=Selection(deny_urls=str(tmp_path / name)))
    assert not (tmp_path / "out").exists()


def test_a_list_that_changes_during_a_run_stops_it(tmp_path: Path) -> None:
    path = tmp_path / "deny.txt"
    path.write_text("example.org\n")
    known = addresses(str(path))
    assert known == Addresses(str(path), known.sha256 if known else "", 1)
    path.write_text("example.com\n")
    with pytest.raises(Incomplete, match="has changed"):
        loaded_list(known.path, known.sha256)
