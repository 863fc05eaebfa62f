"""The page that validates in a browser, in Chromium: `make browser`. It says what the command line says, and requests nothing.

CORPUSFMT_PAGE names the folder of a site with the page.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser.opened import AXE, CHROMIUM, PYTHON
from support import FIXTURES, gzipped, run_cli, zstd

SITE = os.environ.get("CORPUSFMT_PAGE", "")
pytestmark = pytest.mark.skipif(not (PYTHON and SITE), reason="CORPUSFMT_BROWSER or CORPUSFMT_PAGE is not set")

DESCRIPTIONS = sorted(
    {*FIXTURES.glob("croissant/*/*/*/input.json"), *FIXTURES.glob("croissant/*/*/*/input/metadata.json")}
)
SAMPLE = FIXTURES / "croissant/1.1/invalid/annotation-a-string/input.json"
FIXABLE = FIXTURES / "croissant/1.0/invalid/array-shape-in-1-0/input.json"
_TIME = re.compile(r'"(?:started|finished)": "[^"]*"')
_LARGE_BYTES = 99_000_000


class Site(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, *arguments: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that does not mind a page that is closed while it loads."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    handler = partial(Site, directory=SITE)
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/validate/"
        server.shutdown()
        thread.join()


def dolma(size: int) -> bytes:
    """Return a shard of Dolma of at most this size."""
    text = "All human beings are born free and equal in dignity and rights. " * 40
    row = {"text": text, "source": "web", "added": "2024-01-02T03:04:05.000Z", "created": "2023-01-02T03:04:05.000Z"}
    rest = json.dumps(row).encode()[1:] + b"\n"
    rows = (b'{"id": "%08d", ' % number + rest for number in range(size // (len(rest) + 20)))
    return b"".join(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what is opened in the page: every description in a folder of its own, as it is dropped there."""
    folder = tmp_path_factory.mktemp("validating")
    descriptions = []
    for number, path in enumerate(DESCRIPTIONS):
        copy = folder / f"{number:03}" / path.name
        copy.parent.mkdir()
        shutil.copy(path, copy)
        descriptions.append(str(copy))
    shard, text = (
        dolma(1_000_000),
        ("A line that is long enough to be kept in a corpus of OSCAR. " * 3 + "\n").encode() * 9,
    )
    others = {
        "shard.jsonl.gz": gzipped(shard),
        "shard.jsonl.zst": zstd.compress(shard),
        "af.txt.gz": gzipped(text),
        "af.txt.zst": zstd.compress(text),
        "truncated.jsonl.gz": gzipped(shard)[:1000],
        "program": bytes(range(256)) * 4096,
        "empty.json": b"",
        "ü <b>&.json": b'{"@context": ',
    }
    for name, content in others.items():
        (folder / name).write_bytes(content)
    (folder / "deep.json").write_bytes(b"[" * 100_000)
    (folder / "large.jsonl").write_bytes(dolma(_LARGE_BYTES))
    whole = SAMPLE.read_text("utf-8")
    given = {
        "first": str(SAMPLE),
        "descriptions": descriptions,
        "typed": [whole[: len(whole) * share // 40] for share in range(41)],
        "fixable": str(FIXABLE),
        "others": [str(folder / name) for name in others],
        "deep": str(folder / "deep.json"),
        "large": str(folder / "large.jsonl"),
    }
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path, address: str) -> dict[str, Any]:
    command = [PYTHON, str(Path(__file__).with_name("validating.py")), CHROMIUM, address, str(AXE), str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr.decode()
    seen: dict[str, Any] = json.loads(done.stdout)
    print({name: seen[name] for name in ("shown after", "ready after", "at first", "large", "longest frame in ms")})
    print(
        f"seconds of a check: median {sorted(seen['seconds'])[len(seen['seconds']) // 2]:.3f}, most {max(seen['seconds']):.3f}"
    )
    return seen


def as_reported(path: Path, *options: str) -> str:
    """Return what the command line reports of a file in its folder."""
    ended = run_cli("validate", path.name, "--output-format", "json", *options, cwd=path.parent)
    return _TIME.sub("", ended.stdout.decode()) or ended.stderr.decode()


def test_reports_are_those_of_the_command_line(folder: Path, found: dict[str, Any]) -> None:
    assert len(found["reports"]) == len(DESCRIPTIONS)
    differ = []
    for number, path in enumerate(DESCRIPTIONS):
        copy = folder / f"{number:03}" / path.name
        said = _TIME.sub("", found["reports"][number])
        expected = as_reported(copy)
        if expected not in {said, f"error: {said}\n"}:
            differ.append(path.relative_to(FIXTURES).as_posix())
    assert differ == []


def test_neurips_is_one_click(folder: Path, found: dict[str, Any]) -> None:
    number = len(DESCRIPTIONS) - 1
    last = folder / f"{number:03}" / DESCRIPTIONS[number].name
    assert _TIME.sub("", found["for NeurIPS"]) == as_reported(last, "--profile", "neurips-2026")


def test_a_link_carries_settings(address: str, found: dict[str, Any]) -> None:
    assert found["link"] == f"{address}#profile=neurips-2026"
    assert found["profile of the link"] == "neurips-2026"


def test_the_last_state_that_was_typed_is_the_one_that_is_checked(found: dict[str, Any]) -> None:
    assert found["typed"] == found["at first"]["said"]


def test_the_fixed_file_is_that_of_the_command_line(tmp_path: Path, found: dict[str, Any]) -> None:
    copy = tmp_path / FIXABLE.name
    shutil.copy(FIXABLE, copy)
    run_cli("fix", copy)
    assert found["fixed"] == copy.read_text("utf-8")
    assert found["repaired"].startswith("Repaired: ")


def test_the_report_is_shown_and_used(found: dict[str, Any]) -> None:
    assert found["rows"] > 0


def test_other_files_are_checked_and_broken_ones_reported(folder: Path, found: dict[str, Any]) -> None:
    names = ("gzip", "zstd", "oscar", "oscar in zstd", "truncated", "binary", "empty", "half")
    said = dict(zip(names, found["others"], strict=True))
    assert {said[name] for name in names[:4]} == {"VALID: 0 errors, 0 warnings"}
    assert said["binary"].startswith("no known format recognises program")
    for name in ("truncated", "empty", "half"):
        assert re.match(r"INVALID|INCOMPLETE|no known format", said[name]), (name, said[name])
        assert "bug of corpusfmt" not in said[name]


def test_bottomless_nesting_is_reported_as_on_the_command_line(folder: Path, found: dict[str, Any]) -> None:
    assert f"error: {found['deep']}\n" == as_reported(folder / "deep.json")


def test_a_large_file_does_not_stop_the_page(found: dict[str, Any]) -> None:
    assert found["large"]["said"] == "VALID: 0 errors, 0 warnings"
    assert found["frames"] > 10
    assert found["stopped"] == "Stopped."
    assert found["after a stop"]["said"] == found["at first"]["said"]


def test_nothing_is_requested_once_it_is_loaded(found: dict[str, Any]) -> None:
    assert (found["requests"], found["heard"]) == ([], []), "not even for a new worker, after a stop"
    assert found["refused"] == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, found: dict[str, Any]) -> None:
    assert found[f"violations, {scheme}"] == []
