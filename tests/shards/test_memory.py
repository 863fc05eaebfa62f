"""What a validation's own process needs for each shard."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

# Another process: what is imported and cached in this one depends on the tests before.
_PEAK = """
import sys, tracemalloc, corpusfmt
first, root = sys.argv[1:]
assert corpusfmt.validate(first).verdict == "valid"
tracemalloc.start()
report = corpusfmt.validate(root)
print(tracemalloc.get_traced_memory()[1])
assert report.verdict == "valid" and report.coverage.documents == len(report.shards), report.findings
"""
_TEXT = "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience."


def _row(number: int) -> bytes:
    return json.dumps({"id": f"{number}", "text": _TEXT, "source": "s"}).encode() + b"\n"


def dolma(root: Path, number: int) -> None:
    folder = root / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"part-{number:06}.jsonl").write_bytes(_row(number))


def dolma_with_attributes(root: Path, number: int) -> None:
    dolma(root, number)
    folder = root / "attributes" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    row = {"id": f"{number}", "source": "s", "attributes": {"a__tagger__x": [[0, 5, 1.0]]}}
    (folder / f"part-{number:06}.jsonl").write_bytes(json.dumps(row).encode() + b"\n")


def oscar(root: Path, number: int) -> None:
    folder = root / "en"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{_TEXT} {number}"
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
            checksums.write(f"{sha256(packed).hexdigest()}  {name}\n")


@pytest.mark.deep
@pytest.mark.parametrize(("make", "most"), [(dolma, 1_500), (dolma_with_attributes, 3_000), (oscar, 3_000)])
def test_a_shard_takes_little_memory(make: Callable[[Path, int], None], most: int, tmp_path: Path) -> None:
    def peak(number: int) -> int:
        root = tmp_path / f"{number}"
        for each in range(number):
            make(root, each)
        command = [sys.executable, "-c", _PEAK, str(tmp_path / "1"), str(root)]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    make(tmp_path / "1", 0)
    few, many = 600, 1_800
    assert (peak(many) - peak(few)) / (many - few) < most
