"""Domains equal those of a plain dictionary, however they are spilled and merged."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import jsonschema
import pytest
from conversion.rows import document, write_rows
from publicsuffixlist import PublicSuffixList
from support import REPOSITORY, run_cli, unmeasured

import corpusfmt
from corpusfmt.statistics import domains, run
from corpusfmt.statistics.domains import registered

SCHEMA = json.loads((REPOSITORY / "schemas/stats/stats.schema.json").read_bytes())


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("WWW.Example.CO.UK", "example.co.uk"),
        ("example.com.", "example.com"),
        ("me.github.io", "github.io"),
        ("a.b.unknown", "b.unknown"),
        ("www.例え.jp", "xn--r8jz45g.jp"),
        ("xn--r8jz45g.jp", "xn--r8jz45g.jp"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("a_b.example.de", "example.de"),
        ("a..example.de", None),
        ("a%20b.de", None),
        ("", None),
        (".", None),
        ("x" * 64 + ".de", None),
        ("ä" * 100 + ".de", None),
        ("\udc80.de", None),
    ],
)
def test_registered_domains(host: str, domain: str | None) -> None:
    assert registered(host) == domain


def test_addresses_that_name_a_host(tmp_path: Path) -> None:
    named = ["https://u:p@a.de:8080/x@y", "HTTP://A.de?q", "<http://a.de#x>", "ftp://a.de"]
    others = [
        "a.de",
        "http://",
        "mailto:x@a.de",
        "https:///x",
        "http://" + "x." * 2_000 + "de/",
        "//a.de",
        "\x00://a.de",
    ]
    rows = [document(number, metadata={"url": url}) for number, url in enumerate([*named, *others, 7, None])]
    write_rows(tmp_path / "documents/a.jsonl.gz", [*rows, document(99), document(98, metadata=None)])
    found = corpusfmt.stats(tmp_path, count=["domains"]).domains
    assert found is not None
    assert (found.documents, found.without, found.distinct) == (4, 11, 1)
    assert [row[:2] for row in found.most] == [("a.de", 4)]


def corpus_of(root: Path, shards: int, documents: int) -> dict[str, tuple[int, int]]:
    """Write documents of many domains; return documents and bytes by domain, counted by a plain loop."""
    random = Random(3)
    suffixes = PublicSuffixList(only_icann=True)
    number: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for shard in range(shards):
        rows = []
        for place in range(documents):
            host = f"{random.choice('wxyz')}.d{int(random.paretovariate(0.4)) % 997}.{random.choice(['de', 'co.uk', 'com'])}"
            text = "ä" * random.randrange(9)
            rows.append(document(1_000 * shard + place, text=text, metadata={"url": f"http://{host}/{place}"}))
            name = suffixes.privatesuffix(urlsplit(f"http://{host}/").hostname or "") or ""
            number[name] += 1
            size[name] += len(text.encode())
        write_rows(root / f"documents/{shard}.jsonl.gz", rows)
    return {name: (number[name], size[name]) for name in sorted(number, key=lambda name: (-size[name], name))}


@pytest.mark.parametrize(("rows_a_run", "jobs"), [(7, 2), (1 << 17, 1)])
def test_domains_match_a_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_a_run: int, jobs: int
) -> None:
    monkeypatch.setattr(run, "_BYTES_A_TASK", 1)
    monkeypatch.setattr(domains, "_ROWS_A_RUN", rows_a_run)
    monkeypatch.setattr(domains, "_MOST_LISTED", 20)
    known = corpus_of(tmp_path / "in", 6, 200)
    found = corpusfmt.stats(tmp_path / "in", count=[], domains=tmp_path / "all.csv", jobs=jobs)
    assert found.domains is not None
    assert (found.domains.documents, found.domains.without, found.domains.distinct) == (1_200, 0, len(known))
    assert found.domains.most == [(name, *each) for name, each in known.items()][:20]
    listed = list(csv.reader((tmp_path / "all.csv").read_text().split("\n")[:-1]))
    assert listed == [["domain", "documents", "bytes"], *([name, *map(str, each)] for name, each in known.items())]
    jsonschema.validate(found.to_dict(), SCHEMA)


def test_domains_are_shown(tmp_path: Path) -> None:
    rows = [document(number, text="a" * number, metadata={"url": f"http://{number % 2}.de/"}) for number in range(1, 6)]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [*rows, document(9)])
    done = run_cli("stats", "in", "--count", "none", "--domains", "all.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode()
    assert "\ndomain  documents  bytes\n1.de            3      9\n0.de            2      6\n\n" in shown
    assert "2 domains, 1 document without one\n" in shown
    assert (tmp_path / "all.csv").read_bytes() == b"domain,documents,bytes\n1.de,3,9\n0.de,2,6\n"


def test_a_file_of_domains_that_cannot_be_written_is_named_first(tmp_path: Path) -> None:
    done = run_cli("stats", "nowhere", "--domains", tmp_path / "no/all.csv")
    assert (done.returncode, b"does not exist" in done.stderr) == (2, True)


def test_a_full_temporary_folder_is_named(tmp_path: Path) -> None:
    for shard in range(2):
        urls = [f"http://{shard}-{number}-{'x' * 50}.de/" for number in range(1_000)]
        rows = [document(number, metadata={"url": url}) for number, url in enumerate(urls)]
        write_rows(tmp_path / f"in/documents/{shard}.jsonl.gz", rows)
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "from corpusfmt.statistics import run; run._BYTES_A_TASK = 1\n"
        "from corpusfmt.cli import main; main()"
    )
    arguments = [sys.executable, "-c", code, "stats", str(tmp_path / "in"), "--count", "domains"]
    environment = unmeasured() | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(arguments, capture_output=True, check=False, env=environment)
    full = f"the folder for temporary files, {tmp_path}: free some space there, or set TMPDIR\n"
    assert (done.returncode, done.stderr.decode()) == (3, f"error: disk I/O error: {full}")
