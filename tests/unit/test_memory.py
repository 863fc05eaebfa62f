"""What the process of a command needs for each file."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from support import LONG_LINE

import corpusfmt
from corpusfmt.io.compress import FileFacts
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.pipeline.intake.inputs import inputs_named
from corpusfmt.pipeline.intake.report import Usable
from corpusfmt.pipeline.intake.take import Inputs, Taken
from corpusfmt.pipeline.process.store import Processed

# Another process: what is imported and cached in this one depends on the tests before.
_PEAK = """
import json, sys, tracemalloc, corpusfmt
command, first, many, options = sys.argv[1], *map(json.loads, sys.argv[2:])
run = getattr(corpusfmt, command)
run(*first, **options)
tracemalloc.start()
report = run(*many, **options)
print(tracemalloc.get_traced_memory()[1])
assert report.verdict == "valid", report.findings
assert report.coverage.shards_seen == report.coverage.shards_total
"""


def written(path: Path, row: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(row).encode() + b"\n")


def dolma(root: Path, number: int) -> None:
    row = {"id": f"{number}", "text": LONG_LINE, "source": "s", "created": "2024-01-01T00:00:00Z"}
    written(root / f"documents/part-{number:06}.jsonl", row | {"metadata": {"language": "en"}})


def dolma_with_attributes(root: Path, number: int) -> None:
    dolma(root, number)
    row = {"id": f"{number}", "source": "s", "attributes": {"a__tagger__x": [[0, 5, 1.0]]}}
    written(root / f"attributes/a/part-{number:06}.jsonl", row)


def oscar(root: Path, number: int) -> None:
    folder = root / "en"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{LONG_LINE} {number}"
    identity = f"<urn:uuid:00000000-0000-0000-0000-{number:012}>"
    headers = {
        "warc-record-id": identity,
        "warc-refers-to": identity,
        "warc-type": "conversion",
        "warc-date": "2021-03-01T00:00:00Z",
        "warc-target-uri": "https://example.org/",
        "warc-block-digest": "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "content-type": "text/plain",
        "content-length": f"{len(text)}",
        "warc-identified-content-language": "eng",
    }
    row = {"headers": headers, "offset": 0, "nb_sentences": 1}
    with (folder / "en_sha256.txt").open("a") as checksums:
        for name, data in (
            (f"en_part_{number + 1}.txt.gz", text.encode() + b"\n\n"),
            (f"en_meta_part_{number + 1}.jsonl.gz", json.dumps(row).encode() + b"\n"),
        ):
            packed = gzip.compress(data, 1, mtime=0)
            (folder / name).write_bytes(packed)
            checksums.write(f"{hashlib.sha256(packed).hexdigest()}  {name}\n")


def sealed(root: Path, number: int) -> None:
    """Write a file of a release, which is sealed after the last one."""
    row = {"id": f"{number}", "text": f"All human beings {number}", "source": "s", "created": "2024-01-01T00:00:00Z"}
    written(root / f"documents/part-{number:06}.jsonl", row)


def peak(command: str, first: list[str], many: list[str], options: dict[str, str]) -> int:
    words = [command, *map(json.dumps, (first, many, options))]
    return int(subprocess.run([sys.executable, "-c", _PEAK, *words], check=True, capture_output=True).stdout)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("make", "command", "options", "few", "most"),
    [
        (dolma, "validate", {}, 600, 1_500),
        (dolma_with_attributes, "validate", {}, 600, 3_000),
        (oscar, "validate", {}, 600, 3_000),
        # A manifest is never in memory as a whole.
        (sealed, "verify", {}, 1_500, 1_500),
        (sealed, "validate", {}, 1_500, 1_500),
        (dolma, "convert", {"to": "dolma"}, 1_500, 1_500),
        # Documents are sorted by language first: 300 files in a task.
        (dolma, "convert", {"to": "oscar", "language_entry": "language"}, 1_500, 1_500),
        (dolma, "convert", {"to": "jsonl"}, 1_500, 1_500),
        (dolma, "convert", {"to": "text"}, 1_500, 1_500),
    ],
)
def test_a_file_takes_little_memory(
    make: Callable[[Path, int], None],
    command: str,
    options: dict[str, str],
    few: int,
    most: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("of")  # a short path, which each file has

    def arguments(number: int, target: str) -> list[str]:
        root = folder / f"{number}"
        if not root.exists():
            for each in range(number):
                make(root, each)
            if make is sealed:
                corpusfmt.seal(root)
        return [str(root), str(folder / target)] if command == "convert" else [str(root)]

    asked = options | ({"on_loss": "allow"} if command == "convert" else {})
    peaks = [
        peak(command, arguments(1, f"first-{number}"), arguments(number, f"to-{number}"), asked)
        for number in (few, 3 * few)
    ]
    assert (peaks[1] - peaks[0]) / (2 * few) < most
    assert make is not sealed or peaks[0] < 10_000_000


def test_an_input_of_a_build_takes_little_memory(tmp_path: Path) -> None:
    number = 2_000
    for each in range(number):
        (tmp_path / f"CC-MAIN-20240220211055-20240221001055-{each:05}.warc.wet.gz").touch()
    tracemalloc.start()
    try:
        sources = inputs_named([str(tmp_path)])
        known = [each.input for each in sources]
        usable = Usable(Inputs(cast("Any", None), known, {}))
        for one in known:
            usable.add(Taken(one, Processed(sha256=hashlib.sha256(one.key.encode()).hexdigest())))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / number < 1_500


def test_a_manifest_is_written_file_by_file(tmp_path: Path) -> None:
    number = 20_000
    files = {f"documents/part-{each:06}.jsonl": FileFacts(100, "0" * 64, documents=1) for each in range(number)}
    inputs = (
        {"name": f"https://data.example/part-{each:06}.gz", "size": 1, "sha256": "0" * 64} for each in range(number)
    )
    tracemalloc.start()
    try:
        publish_manifest(tmp_path, "notes", files, {"inputs": inputs})
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()
    data = (tmp_path / "MANIFEST.json").read_bytes()
    found = json.loads(data)
    assert (len(found["files"]), len(found["inputs"])) == (number, number)
    assert data == json.dumps(found, indent=2).encode() + b"\n"
