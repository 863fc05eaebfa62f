"""Saved statistics of shards add up to those of one run, and what cannot is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from conversion.rows import document, write_rows
from support import REPOSITORY, gzipped, run_cli

import corpusfmt
from corpusfmt import UsageError
from corpusfmt.statistics.saved import merged

SCHEMA = json.loads((REPOSITORY / "schemas/stats/stats.schema.json").read_bytes())
COUNTED = ["words", "domains", "attributes"]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards in `whole`, and each of them alone in `0`, `1` and `2`."""
    root = tmp_path_factory.mktemp("shards")
    random = Random(5)
    for shard in range(3):
        rows = [
            document(
                100 * shard + number,
                text="Wort слово\n" * int(random.paretovariate(0.5)),
                source=random.choice("abc"),
                created=random.choice(["2020-01-01T00:00:00Z", "2021-02-01T00:00:00Z"]),
                metadata={
                    "url": f"http://{random.choice('xyz')}.de",
                    "language": random.choice(["de", "fr"]),
                    "language_score": random.randrange(9) / 8,
                    "dump": f"CC-MAIN-2020-{10 + shard}",
                },
                attributes={"q": [[0, 1, 10**14 * random.randrange(9)]]},
            )
            for number in range(100)
        ]
        name = f"documents/{shard}.jsonl.gz"
        write_rows(root / f"{shard}" / name, rows)
        (root / "whole/documents").mkdir(parents=True, exist_ok=True)
        shutil.copy(root / f"{shard}" / name, root / "whole" / name)
    for shard in range(3):
        assert run_cli(
            "stats", root / f"{shard}", "--count", ",".join(COUNTED), "--report", f"json={root}/{shard}.json"
        )
    return root


def test_shards_add_up_to_the_whole(corpora: Path) -> None:
    whole = corpusfmt.stats(corpora / "whole", count=COUNTED).to_dict()
    files = [corpora / f"{shard}.json" for shard in range(3)]
    paths = [str(corpora / f"{shard}") for shard in range(3)]
    found = merged(files).to_dict()
    jsonschema.validate(found, SCHEMA)
    assert (found["merged"], found["coverage"].pop("not_merged")) == (paths, [])
    assert len(found["merged_contents"]) == 3
    del found["merged"], found["merged_contents"]
    assert found | {"path": whole["path"]} == whole
    done = run_cli("stats", "--merge", *files[:2], "--report", f"json={corpora}/01.json")
    assert (done.returncode, done.stderr) == (0, b"")
    again = merged([corpora / "01.json", files[2]]).to_dict()
    assert again["merged"] == paths
    del again["merged"], again["merged_contents"], again["coverage"]["not_merged"]
    assert again | {"path": whole["path"]} == whole


def test_nothing_is_added_twice_under_another_path(corpora: Path, tmp_path: Path) -> None:
    """Neither a file, nor what another file has been merged from."""
    known = json.loads((corpora / "0.json").read_bytes())
    copy, both = tmp_path / "copy.json", tmp_path / "both.json"
    copy.write_text(json.dumps(known | {"path": "elsewhere"}))
    both.write_text(json.dumps(merged([corpora / "1.json", copy]).to_dict()))
    for other in (copy, both):
        done = run_cli("stats", "--merge", corpora / "0.json", other)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
        assert f"{other} and {corpora / '0.json'} have the same statistics: name one of them" in done.stderr.decode()
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "none.jsonl.gz").write_bytes(gzipped(b""))
    nothing = corpusfmt.stats(tmp_path, format="dolma").to_dict()
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps(nothing))
    assert merged([tmp_path / "a.json", tmp_path / "b.json"]).shards == 2


def test_what_does_not_add_up_is_named(corpora: Path, tmp_path: Path) -> None:
    known = json.loads((corpora / "0.json").read_bytes())
    few, repeats, most = dict(known), dict(known), dict(known)
    few["lengths"] = {name: each for name, each in known["lengths"].items() if name != "words"}
    del few["attributes"], few["scripts"], few["domains"]
    repeats["repeats"] = {"documents": {}, "lines": {}}
    most["domains"] = known["domains"] | {"distinct": 4}
    for name, each in (("few", few), ("repeats", repeats), ("most", most)):
        (tmp_path / f"{name}.json").write_text(json.dumps(each))
    found = merged([corpora / "0.json", tmp_path / "few.json"])
    assert found.not_merged == ["attributes", "domains", "words"]
    assert (found.units, found.scripts, found.attributes) == (["lines", "characters", "bytes"], None, None)
    assert found.total.documents == 2 * known["documents"]
    assert merged([tmp_path / "repeats.json", corpora / "1.json"]).not_merged == ["repeats"]
    assert merged([tmp_path / "most.json", corpora / "1.json"]).not_merged == ["domains"]
    shown = run_cli("stats", "--merge", tmp_path / "most.json", tmp_path / "repeats.json").stdout.decode()
    assert "\nnot merged: domains, repeats\n" in shown


def changed(known: dict[str, Any], *names: str, value: Any) -> dict[str, Any]:
    each = known
    for name in names[:-1]:
        each = each[name]
    each[names[-1]] = value
    return known


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (["schema"], "corpusfmt-stats/2"),
        (["lengths"], {}),
        (["lengths", "lines"], {"number": 1}),
        (["lengths", "lines", "number"], -1),
        (["lengths", "lines", "total"], float("inf")),
        (["lengths", "lines", "total"], 1.7e308),
        (["lengths", "lines", "max"], 1.7e308),
        (["lengths", "lines", "min"], float("nan")),
        (["lengths", "lines", "relative_error"], 0.5),
        (["lengths", "lines", "histogram", "from"], [10**400]),
        (["lengths", "bytes"], {"number": 0}),
        (["lengths", "pages"], {"number": 0}),
        (["languages", "de", "lengths"], 7),
        (["coverage", "broken"], [{"rule": 1}]),
        (["domains", "most"], [["a.de", 1, 1]]),
    ],
)
def test_other_files_are_refused(corpora: Path, tmp_path: Path, names: list[str], value: Any) -> None:
    known = changed(json.loads((corpora / "0.json").read_bytes()), *names, value=value)
    (tmp_path / "bad.json").write_text(json.dumps(known))
    with pytest.raises(UsageError, match=r"bad\.json is not the JSON of `corpusfmt stats`: "):
        merged([tmp_path / "bad.json", corpora / "1.json"])


def test_numbers_whose_sum_would_not_fit_are_refused(corpora: Path, tmp_path: Path) -> None:
    known = json.loads((corpora / "0.json").read_bytes())
    for each in known["lengths"].values():
        each |= {"number": 1 << 62, "histogram": {"from": [1], "count": [1 << 62]}}
    (tmp_path / "bad.json").write_text(json.dumps(known))
    with pytest.raises(UsageError, match=r"bad\.json is not the JSON of `corpusfmt stats`: "):
        merged([tmp_path / "bad.json", tmp_path / "bad.json"])


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_not_statistics_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    done = run_cli("stats", "--merge", "a.json", "a.json", cwd=tmp_path)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
    assert b"a.json is not the JSON of `corpusfmt stats`: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--merge", "a.json"], "name at least two files of statistics to merge"),
        (["--merge", "a.json", "b.json"], "cannot read the statistics a.json: No such file or directory"),
        (["--merge", "a.json", "b.json", "--domains", "c.csv"], "--merge adds up saved numbers: pass --domains where"),
        (["a", "b"], "stats counts one corpus: save the JSON of each and add these up with --merge"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run_cli("stats", *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr.decode()) == (2, True), done.stderr
