"""A finding in a text that is not compressed shows its line, with a caret where the column is known."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from support import FIXTURES, run_cli

BROKEN = (FIXTURES / "croissant/1.0/invalid/container-dangling/input.json").read_bytes()
WIDE = '{"id": "1", "text": "漢字", "source": "s", "x": 1e999}\n'.encode()


@pytest.mark.parametrize(
    ("name", "data", "excerpt"),
    [
        ("a.json", BROKEN, ['    87 | "containedIn": {', "       |                ^"]),
        (
            "a.json",
            json.dumps(json.loads(BROKEN)).encode(),
            [
                '     1 | …": "tables/ratings.csv", "containedIn": {"@id": "al.zip"}, "encodingFormat": "text/csv"}, {"@type": …',
                "       |                                          ^ /distribution/1/containedIn",
            ],
        ),
        (
            "a.jsonl",
            WIDE,
            [
                '     1 | … "1", "text": "漢字", "source": "s", "x": 1e999}',
                f"       | {' ' * 43}^",
            ],
        ),
        (
            "a.jsonl",
            b'{"id": "1", "text": "\xe9\x1b[31m", "source": "s"}\n',
            ['     1 | {"id": "1", "text": "\\xe9\\x1b[31m", "source": "s"}', f"       | {' ' * 21}^"],
        ),
        ("a.json", b'{"@type": "sc:Dataset"}', []),
        ("a.jsonl.gz", gzip.compress(WIDE), []),
    ],
    ids=["description", "on one line", "wide characters", "what cannot be shown", "a whole", "compressed"],
)
def test_the_line_of_a_finding(name: str, data: bytes, excerpt: list[str], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(data)
    for paths in (["d"], [f"d/{name}"], ["d", f"d/{name}"]):
        options = ["--format", "jsonl" if "jsonl" in name else "croissant", "--select", "GEN303,GEN201,CRO131,CRO201"]
        lines = run_cli("validate", *paths, *options, cwd=tmp_path).stdout.decode().splitlines()
        assert [line for line in lines if re.match(r" +\d* \| ", line)] == excerpt, paths


def test_a_file_that_became_a_link_out_of_the_corpus_is_not_quoted(tmp_path: Path) -> None:
    from corpusfmt.cli.excerpt import excerpts
    from corpusfmt.model import Location

    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.jsonl").write_text("data\n")
    excerpt = excerpts([f"{tmp_path}/d"], follow_links=False)
    at = Location("a.jsonl", 1, 0)
    assert list(excerpt(at)) == ["     1 | data"]
    (tmp_path / "d/a.jsonl").unlink()
    (tmp_path / "d/a.jsonl").symlink_to(tmp_path / "secret")
    assert list(excerpt(at)) == []
