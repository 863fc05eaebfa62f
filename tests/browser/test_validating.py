"""The page that validates in a browser, in Chromium: `make browser`. It says what the command line says, and requests nothing.

CORPUSFMT_PAGE names the folder of a site with the page.
"""

from __future__ import annotations

import base64
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
from typing import Any, ClassVar

import pytest
from browser.opened import AXE, CHROMIUM, PYTHON, driven, seen
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


#: What an element or a link that runs would need.
HOSTILE = "</title></script><img src=x onerror=alert(1)><a href=javascript:alert(1)>"


class Site(SimpleHTTPRequestHandler):
    """Serves a folder, and keeps what it is asked for."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *_: object) -> None:
        self.asked.append(self.path)


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


def copied(path: Path, folder: Path) -> Path:
    """Return a copy of a file in a folder of its own, as it is dropped on the page."""
    folder.mkdir()
    return Path(shutil.copy(path, folder / path.name))


def content(data: bytes) -> str:
    return base64.b64encode(data).decode()


def description(size: int) -> bytes:
    """Return a real description with as many fields as make this size."""
    made = json.loads((FIXTURES / "croissant/samples/valid/credit-g/metadata.json").read_bytes())
    fields = made["recordSet"][0]["field"]
    for field in list(fields):
        if len(json.dumps(made, indent=2)) < size:
            fields.append(field | {name: f"{field[name]}-2" for name in ("@id", "name")})
    return json.dumps(made, indent=2).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what is opened in the page."""
    folder = tmp_path_factory.mktemp("validating")
    descriptions = [copied(path, folder / f"{number:03}") for number, path in enumerate(DESCRIPTIONS)]
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
        "deep.json": b"[" * 100_000,
        "bomb.jsonl.gz": gzipped(bytes(200_000_000)),
    }
    for name, data in others.items():
        (folder / name).write_bytes(data)
    (folder / "large.jsonl").write_bytes(dolma(_LARGE_BYTES))
    whole = SAMPLE.read_text("utf-8")
    hostile = whole.replace("a good film", HOSTILE)
    given = {
        "first": str(SAMPLE),
        "descriptions": [(path.name, content(path.read_bytes())) for path in descriptions],
        "at 30 kB": ("metadata.json", content(description(30_000))),
        "typed": [whole[: len(whole) * share // 40] for share in range(41)],
        "fixable": str(FIXABLE),
        "others": [str(folder / name) for name in others],
        "hostile": (f"{HOSTILE}.json", content(hostile.encode())),
        "gone": str(copied(SAMPLE, folder / "gone")),
        "large": str(folder / "large.jsonl"),
    }
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(folder: Path, address: str) -> Iterator[subprocess.Popen[bytes]]:
    with driven("validating", CHROMIUM, address, str(AXE), str(folder)) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def reported(folder: Path, running: object) -> list[str]:
    """Return what the command line reports of each description."""
    return [as_reported(folder / f"{number:03}" / path.name) for number, path in enumerate(DESCRIPTIONS)]


@pytest.fixture(scope="module")
def found(running: subprocess.Popen[bytes], reported: object) -> dict[str, Any]:
    found = seen(running)
    times = {name: sorted(found[name]) for name in ("ms", "ms at 30 kB")}
    print({name: found[name] for name in ("shown after", "ready after", "at first", "large", "longest frame in ms")})
    print({name: f"median {each[len(each) // 2]:.0f}, most {each[-1]:.0f}" for name, each in times.items()})
    print(f"load average: {os.getloadavg()[0]:.1f}")
    return found


def as_reported(path: Path, *options: str) -> str:
    """Return what the command line reports of a file in its folder."""
    ended = run_cli("validate", path.name, "--output-format", "json", *options, cwd=path.parent)
    return _TIME.sub("", ended.stdout.decode()) or ended.stderr.decode()


def test_reports_are_those_of_the_command_line(reported: list[str], found: dict[str, Any]) -> None:
    said = [_TIME.sub("", each) for each in found["reports"]]
    assert [
        path.relative_to(FIXTURES).as_posix()
        for path, each, expected in zip(DESCRIPTIONS, said, reported, strict=True)
        if expected.replace("--format", "Format") not in {each, f"error: {each}\n"}
    ] == []


def test_neurips_is_one_click(folder: Path, found: dict[str, Any]) -> None:
    number = len(DESCRIPTIONS) - 1
    last = folder / f"{number:03}" / DESCRIPTIONS[number].name
    assert _TIME.sub("", found["for NeurIPS"]) == as_reported(last, "--profile", "neurips-2026")


def test_a_link_carries_settings_and_nothing_else(address: str, found: dict[str, Any]) -> None:
    assert found["link"] == f"{address}#profile=neurips-2026"
    assert found["settings"] == [["neurips-2026", "auto"], ["standard", "auto"], ["standard", "auto"]]


def test_the_last_state_that_was_typed_is_the_one_that_is_checked(found: dict[str, Any]) -> None:
    assert found["typed"] == found["at first"]["said"]


def test_the_fixed_file_is_that_of_the_command_line(tmp_path: Path, found: dict[str, Any]) -> None:
    copy = tmp_path / FIXABLE.name
    shutil.copy(FIXABLE, copy)
    run_cli("fix", copy)
    assert found["fixed"] == copy.read_text("utf-8")
    assert found["repaired"].startswith("Fixes: ")


def test_the_example_is_mended(found: dict[str, Any]) -> None:
    errors = [int(found[name].split()[1]) for name in ("example", "applied")]
    assert errors[0] > errors[1], (found["example"], found["applied"])
    assert "corpusfmt" not in found["example"], "nothing has to be installed"
    assert (found["line"], found["left"]) == (int(found["place"]), False)
    assert found["difference"] > 0


def test_the_report_is_shown_and_used(found: dict[str, Any]) -> None:
    assert found["rows"] > 0


def test_other_files_are_checked_and_broken_ones_reported(folder: Path, found: dict[str, Any]) -> None:
    names = ("gzip", "zstd", "oscar", "oscar in zstd", "truncated", "binary", "empty", "half", "deep", "bomb")
    said = dict(zip(names, found["others"], strict=True))
    assert {said[name] for name in names[:4]} == {"VALID: 0 errors, 0 warnings"}
    assert said["binary"].startswith("no known format recognises program")
    assert said["deep"].startswith("no known format recognises deep.json")
    for name in ("truncated", "empty", "half", "bomb"):
        assert re.match(r"INVALID|INCOMPLETE|no known format", said[name]), (name, said[name])
        assert "bug of corpusfmt" not in said[name]


def test_names_and_contents_of_files_are_text(found: dict[str, Any]) -> None:
    findings = json.loads(found["hostile"])["findings"]
    assert any(HOSTILE in each["message"] for each in findings)
    assert HOSTILE.replace("/", "_") in findings[0]["location"]["path"]
    assert (found["hostile elements"], found["heard"]) == (0, [])


def test_a_file_that_is_gone_is_reported(found: dict[str, Any]) -> None:
    assert found["gone"].startswith("input.json cannot be read: it may be a folder, or gone (NotFoundError)")


def test_a_new_worker_takes_the_place_of_a_broken_one(found: dict[str, Any]) -> None:
    assert found["after a crash"] == found["at first"]["said"]


def test_a_page_that_cannot_load_says_so(found: dict[str, Any]) -> None:
    assert len(found["faulty"]) == 8
    for said in found["faulty"].values():
        assert said.startswith("failed: The checks could not be loaded ("), found["faulty"]
        assert said.endswith(". Reload the page, or install corpusfmt and run `corpusfmt validate`."), found["faulty"]


def test_a_large_file_does_not_stop_the_page(found: dict[str, Any]) -> None:
    assert found["large"]["said"] == "VALID: 0 errors, 0 warnings"
    assert found["frames"] > 10
    assert found["stopped"] == "Stopped."
    assert found["after a stop"] == found["at first"]["said"]


def test_nothing_is_requested_once_it_is_loaded(found: dict[str, Any]) -> None:
    assert (found["requests"], found["heard"]) == ([], [])
    asked = Site.asked
    assert asked.index("/validate/?ended") == asked.index("/validate/?loaded") + 1
    ways = ["XMLHttpRequest", "WebSocket", "EventSource", "import"]
    assert (found["refused"], found["refused in the worker"]) == ([*ways, "fetch"], ways)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, found: dict[str, Any]) -> None:
    assert found[f"violations, {scheme}"] == []
