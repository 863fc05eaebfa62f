"""`verify` of a release on a web server: with ranges and without, and of answers that end early."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from remote.web import Web, web_server
from support import SAMPLE, run_cli

import corpusfmt
from corpusfmt.io.stores import RETRIES
from corpusfmt.pipeline.choices import Selection

pytestmark = pytest.mark.skipif("CORPUSFMT_REMOTE" not in os.environ, reason="CORPUSFMT_REMOTE is not set")
TEXT = "de/de.txt.gz"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built") / "out"
    corpusfmt.build(SAMPLE, root, selection=Selection(languages=["af", "de", "en"]))
    return root


@pytest.fixture
def release(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release that a test may change."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(RETRIES, "2")
    return Path(shutil.copytree(built, tmp_path / "served" / "release"))


@pytest.fixture(params=[True, False], ids=["ranges", "no ranges"])
def web(request: pytest.FixtureRequest, release: Path) -> Iterator[Web]:
    with web_server(release.parent, ranges=request.param) as found:
        yield found


def test_a_release_on_a_web_server(web: Web, release: Path) -> None:
    done = run_cli("verify", f"{web.url}/release", "--output-format", "json")
    report = json.loads(done.stdout)
    files = json.loads((release / "MANIFEST.json").read_bytes())["files"]
    assert (done.returncode, report["findings"], report["coverage"]["shards_seen"]) == (0, [], len(files))
    assert report["coverage"]["bytes"] == sum(each["size"] for each in files.values())
    assert [each["rule"] for each in report["coverage"]["not_run"]] == ["MAN203"]
    assert {name for name, _ in web.asked} >= {f"release/{path}" for path in files}


def test_what_differs_on_a_web_server(web: Web, release: Path) -> None:
    (release / TEXT).write_bytes((release / TEXT).read_bytes()[:-1])
    path = release / "en/en.txt.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    (release / "af/af.txt.gz").unlink()
    expected = [("af/af.txt.gz", "MAN201"), (TEXT, "MAN205"), ("en/en.txt.gz", "MAN204")]
    for options, some in (([], expected), (["--quick"], expected[:2])):
        done = run_cli("verify", f"{web.url}/release", "--output-format", "json", *options)
        report = json.loads(done.stdout)
        assert done.returncode == 1
        assert [(each["location"]["path"], each["rule"]) for each in report["findings"]] == some
        assert report["results"]["fetch"] == [path for path, _ in some]


def test_an_answer_that_ends_early_is_asked_for_again(web: Web) -> None:
    web.cuts[f"release/{TEXT}"] = 2
    done = run_cli("verify", f"{web.url}/release")
    assert done.returncode == 0
    assert [name for name, _ in web.asked].count(f"release/{TEXT}") == 3


def test_a_server_that_always_ends_early(web: Web) -> None:
    web.cuts[f"release/{TEXT}"] = 99
    done = run_cli("verify", f"{web.url}/release")
    assert done.returncode == 3
    assert done.stdout.startswith(f"{TEXT}: GEN001".encode())
    assert done.stdout.endswith(f"Download again (1):\n  {TEXT}\n".encode())
    assert b"internal error" not in done.stderr


def test_a_server_that_only_redirects(web: Web, tmp_path: Path) -> None:
    web.only_redirects = True
    for command, name, options in (
        ("validate", "release", []),
        ("verify", "release/MANIFEST.json", []),
        ("build", "release", ["-o", str(tmp_path / "out")]),
    ):
        done = run_cli(command, f"{web.url}/release", *options)
        said = f"cannot read {web.url}/{name}: its address only leads elsewhere; correct the address"
        assert (done.returncode, done.stderr.decode()) == (2, f"error: {said}\n")
