"""The pipeline from WET to a release: what is kept, what is named, and the same bytes every time."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from support import LONG_LINE, SAMPLE, gzipped, run_cli, tree, unmeasured, warc_record, wet_file, wet_record
from warcio.archiveiterator import ArchiveIterator

import corpusfmt
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.containers import ContainerWriter
from corpusfmt.model import UsageError
from corpusfmt.pipeline.dedup import (
    Bucket,
    CompactTask,
    DedupTask,
    buckets,
    compact,
    dedup,
    first_occurrences,
    keys_of,
    sorted_keys,
)
from corpusfmt.pipeline.process import store, wet
from corpusfmt.pipeline.process.wet import Batch, WetRecord, wet_batches
from corpusfmt.pipeline.recipe import load_recipe, recipe_names

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."


def assert_strictly_valid(report: corpusfmt.Report) -> None:
    """Assert that a strict check of all files finds only what the author of a corpus has yet to say in its description."""
    errors = sorted(each.code for each in report.findings if each.severity == "error")
    assert errors == ["CRO207", "CRO208", "CRO209", "CRO210"], corpusfmt.render(report)
    assert (report.counts["error"], report.verdict.value, not report.coverage.gaps) == (4, "invalid", True)


def strict_records(path: Path) -> list[WetRecord]:
    with path.open("rb") as file:
        return [record for batch in wet_batches(file, path.name) for record in batch.records()]


def odd_records(path: Path) -> list[WetRecord]:
    """Read a file as one of which no record is canonical."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wet, "wet_records", lambda _, at: ([], b"", b"", 0, at))
        return strict_records(path)


def warcio_records(path: Path) -> list[WetRecord]:
    with path.open("rb") as file:
        records = [
            WetRecord(
                msgspec.json.encode({name.lower(): value for name, value in each.rec_headers.headers}),
                each.content_stream().read(),
            )
            for each in ArchiveIterator(file)
            if each.rec_type == "conversion"
        ]
    return list(Batch.of(records).records())


def test_the_sample_builds_and_is_valid(oscar_corpus: Path) -> None:
    assert_strictly_valid(corpusfmt.validate(oscar_corpus, profile="strict", dedup=True))
    assert corpusfmt.validate(oscar_corpus).verdict.value == "valid"
    manifest = json.loads((oscar_corpus / "MANIFEST.json").read_bytes())
    assert [each["name"] for each in manifest["inputs"]] == sorted(path.name for path in SAMPLE.iterdir())
    assert not (oscar_corpus / ".corpusfmt").exists()


def test_checksum_lists_please_sha256sum(oscar_corpus: Path) -> None:
    for folder in (oscar_corpus / "en", oscar_corpus / "de"):
        done = subprocess.run(
            ["sha256sum", "-c", f"{folder.name}_sha256.txt"], cwd=folder, capture_output=True, check=False
        )
        assert done.returncode == 0
        assert done.stdout.count(b": OK") == 2


@pytest.mark.parametrize("recipe", recipe_names())
def test_the_same_bytes_for_any_number_of_jobs(tmp_path: Path, recipe: str) -> None:
    inputs = [tmp_path / name for name in ("b.warc.wet.gz", "a.warc.wet.gz")]
    numbers = iter(range(100))
    for path in inputs:
        wet_file(
            path, [wet_record(next(numbers), f"{LONG_LINE}\n{GERMAN} {n}\n{LONG_LINE} {n % 7}\n") for n in range(20)]
        )
    for jobs in (1, 2):
        report = corpusfmt.build(inputs[:: 3 - 2 * jobs], tmp_path / str(jobs) / "out", recipe=recipe, jobs=jobs)
        assert report.verdict.value == "valid"
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    if recipe != "goclassy-2019":  # no format of its own
        report = corpusfmt.validate(tmp_path / "1" / "out", profile="strict", dedup=recipe != "dolma")
        assert_strictly_valid(report)


def test_first_occurrence_in_input_order_stays(tmp_path: Path) -> None:
    other = LONG_LINE.replace("human", "living")
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n{other}\n{LONG_LINE}\n")])
    wet_file(tmp_path / "b.warc.wet.gz", [wet_record(2, f"{other}\n"), wet_record(3, f"{LONG_LINE}\n{LONG_LINE}!\n")])
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    text = gzip.decompress((tmp_path / "out/en/en.txt.gz").read_bytes()).decode()
    assert text == f"{LONG_LINE}\n{other}\n\n{LONG_LINE}!\n\n"
    assert report.results["dropped"] == {"repeated in its language": 3}
    stats = report.results["stats"]["languages"]["en"]
    assert (stats["original"]["documents"], stats["final"]["documents"]) == (3, 2)
    rows = [
        json.loads(row)
        for row in gzip.decompress((tmp_path / "out/en/en_meta.jsonl.gz").read_bytes()).split(b"\n")[:-1]
    ]
    assert [(row["offset"], row["nb_sentences"]) for row in rows] == [(0, 2), (3, 1)]
    assert rows[1]["headers"]["warc-record-id"].endswith("003>")


def test_the_tables_have_the_sizes_before_and_after_deduplication(tmp_path: Path) -> None:
    german, english = len(GERMAN.encode()), len(LONG_LINE)
    pages = [wet_record(1, f"{GERMAN}\n"), wet_record(2, f"{LONG_LINE}\n" * 12), wet_record(3, f"{LONG_LINE}\n")]
    wet_file(tmp_path / "a.warc.wet.gz", pages)
    corpusfmt.build(tmp_path, tmp_path / "out")
    tables = (tmp_path / "out" / "stats.md").read_text("utf-8").split("\n")
    assert tables[0] == f"oscar 1.1, 2 documents, {german + english} bytes of text, 2 shards."
    at = tables.index(
        "| built | documents, original | documents, final | lines, original | lines, final | bytes, original | bytes, final |"
    )
    assert tables[at + 2 : at + 6] == [
        f"| all | 3 | 2 | 14 | 2 | {german + 13 * english + 11:,} | {german + english} |",
        f"| `de` | 1 | 1 | 1 | 1 | {german} | {german} |",
        f"| `en` | 2 | 1 | 13 | 1 | {13 * english + 11:,} | {english} |",
        "",
    ]


def test_dropped_lines_are_counted_by_reason(tmp_path: Path) -> None:
    latin = LONG_LINE.encode() + b" caf\xe9\n"
    digits = b"0123456789 " * 12 + b"\n"
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, latin + b"short\n" + digits + LONG_LINE.encode() + b"\n")])
    dropped = corpusfmt.build(tmp_path, tmp_path / "out").results["dropped"]
    assert dropped == {"invalid UTF-8": 1, "too short": 1, "uncertain language": 1}


def test_the_length_bound_counts_code_points(tmp_path: Path) -> None:
    russian = "Все люди рождаются свободными и равными в своем достоинстве и правах, они наделены разумом и совестью."
    line = russian[:101]
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{line}\n{line[:-1]}\n")])
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert report.results["stats"]["total"]["final"]["lines"] == 1
    again = corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out-1.0", recipe="oscar-1.0")
    assert again.results["stats"]["total"]["final"]["lines"] == 2


FRAMING = "write records with CRLF header lines and Content-Length in bytes"
# What becomes of a whole file, and what is said of that.
BROKEN: dict[str, tuple[Callable[[bytes], bytes], str, str, str]] = {
    "cut.warc.wet.gz": (
        lambda whole: whole[: len(whole) // 2],
        "GEN101",
        "gzip member 2 has no end mark: the file is truncated",
        "copy or write the truncated file again",
    ),
    "flipped.warc.wet.gz": (
        lambda whole: whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        "GEN101",
        "gzip member 2 cannot be decoded: ",
        "copy or write the file again",
    ),
    "page.warc.wet.gz": (
        lambda _: b"<!doctype html><html>Service unavailable</html>",
        "GEN101",
        "not a gzip stream: the file starts with 3c 21 64 6f",
        "copy or write the file again",
    ),
    "zipped-page.warc.wet.gz": (
        lambda _: gzipped(b"<!doctype html><html>Service unavailable</html>"),
        "WET101",
        "not a WARC file: the file starts with b'<!doctype html><'",
        "fetch the file again",
    ),
    "empty.warc.wet.gz": (
        lambda _: b"",
        "GEN101",
        "a 0-byte file is not a gzip stream",
        "copy or write the truncated file again",
    ),
    "no-record.warc.wet.gz": (
        lambda _: gzipped(b""),
        "WET101",
        "not a WARC file: the file is empty",
        "fetch the file again",
    ),
    "lf-only.warc.wet": (
        lambda whole: gzip.decompress(whole).replace(b"\r\n", b"\n"),
        "WET102",
        "header lines end with LF, expected CRLF",
        FRAMING,
    ),
    "length.warc.wet": (
        lambda whole: gzip.decompress(whole).replace(b"Content-Length: 1", b"Content-Length: 2"),
        "WET102",
        "record 1 is followed by b'.0\\r\\n': its Content-Length is wrong",
        FRAMING,
    ),
    "huge-length.warc.wet": (
        lambda whole: re.sub(rb"Content-Length: ", b"Content-Length: 99999999", gzip.decompress(whole)),
        "WET102",
        "record 1 has 9,999,999,916 bytes, expected at most 33,554,432",
        FRAMING,
    ),
    "response.warc.wet": (
        lambda _: warc_record("response", b"HTTP/1.1 200 OK\r\n\r\n<p>page</p>"),
        "WET103",
        "contains `response` records: a WARC file of fetched pages, not a WET file of their text",
        "use the WET file of the same crawl: plain text in `conversion` records",
    ),
    "cut-plain.warc.wet": (
        lambda whole: gzip.decompress(whole)[:-200],
        "WET102",
        "record 2 has a header that does not end: the file is truncated",
        FRAMING,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_and_the_rest_is_built(tmp_path: Path, name: str) -> None:
    spoil, code, message, hint = BROKEN[name]
    whole = wet_file(tmp_path / "whole.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    (tmp_path / name).write_bytes(spoil(whole.read_bytes()))
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert report.verdict.value == "incomplete"
    (finding,) = report.findings
    assert (finding.code, finding.location.path, finding.hint) == (code, name, hint)
    assert finding.message.startswith(message)
    assert (report.coverage.shards_seen, report.coverage.shards_total) == (1, 2)
    assert report.results["stats"]["total"]["final"]["lines"] == 1
    manifest = json.loads((tmp_path / "out/MANIFEST.json").read_bytes())
    ((left_out, reason),) = (
        (each["name"], each["quarantined"]) for each in manifest["inputs"] if "quarantined" in each
    )
    assert left_out == name
    assert reason.removesuffix(")") in finding.message


def test_harmless_oddities_are_kept(tmp_path: Path) -> None:
    body = f"{LONG_LINE} \u0085 \u2028 \x00\n{GERMAN}\r\n".encode() + ("Words and words. " * 8000).encode()
    records = [wet_record(1, b""), wet_record(2, body), warc_record("metadata", b"fetchTimeMs: 1")]
    wet_file(tmp_path / "a.warc.wet.gz", records)
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert report.verdict.value == "valid"
    english = gzip.decompress((tmp_path / "out/en/en.txt.gz").read_bytes())
    assert f"{LONG_LINE} \u0085 \u2028 \x00\n".encode() in english
    assert corpusfmt.validate(tmp_path / "out").verdict.value == "valid"


def test_no_kept_line_at_all(tmp_path: Path) -> None:
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, "short\n")])
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert report.results["stats"]["total"]["final"]["documents"] == 0
    assert sorted(tree(tmp_path / "out")) == ["MANIFEST.json", "README.md", "croissant.json", "stats.json", "stats.md"]


def test_the_readers_and_warcio_give_the_same_records(tmp_path: Path) -> None:
    sample = SAMPLE / "UDHR-20181112172845-00000.warc.wet.gz"
    assert strict_records(sample) == odd_records(sample) == warcio_records(sample)
    rng = random.Random(5)
    records = [wet_record(n, rng.randbytes(rng.randrange(3000))) for n in range(60)]
    path = wet_file(tmp_path / "random.warc.wet.gz", records)
    assert strict_records(path) == odd_records(path) == warcio_records(path)
    assert len(strict_records(path)) == 60


def test_parts_are_cut_between_documents(tmp_path: Path) -> None:
    lines = [f"{LONG_LINE} {n}" for n in range(40)]
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(n, f"{line}\n") for n, line in enumerate(lines)])
    recipe = tmp_path / "small.toml"
    recipe.write_text((SAMPLE.parent / "oscar-1.1.toml").read_text().replace("500_000_000", "1000"))
    corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out", recipe=str(recipe))
    parts = sorted(
        (tmp_path / "out/en").glob("en_part_*.txt.gz"), key=lambda path: int(re.findall(r"\d+", path.name)[0])
    )
    assert len(parts) > 2
    assert "".join(gzip.decompress(part.read_bytes()).decode() for part in parts) == "".join(
        f"{line}\n\n" for line in lines
    )
    assert corpusfmt.validate(tmp_path / "out").verdict.value == "valid"


def test_a_hash_at_the_edge_of_a_bucket_is_in_one_of_them(tmp_path: Path) -> None:
    edge = 1 << 62
    all_hashes = (0, edge - 1, edge, 2 * edge - 1, 2 * edge, 3 * edge, 4 * edge - 1)
    paths = tmp_path / "0.box", tmp_path / "1.box"
    for path in paths:
        with path.open("wb") as file:
            container = ContainerWriter(file)
            hashes = b"".join(each.to_bytes(8, "big") for each in all_hashes)
            container.add(keys_of("en"), sorted_keys(hashes, "xxh64"))
            container.finish()
    for number, repeated in enumerate([[0, 1], [2, 3], [4], [5, 6]]):
        drops = tmp_path / f"{number}-drops.box"
        found = dedup(DedupTask((Bucket("en", number, 4, 7),), paths, drops, "xxh64"))
        assert found.dropped == len(repeated)
        assert first_occurrences([drops], "en", 0) == b""
        stays = first_occurrences([drops], "en", 1)
        assert [line for line, stay in enumerate(stays) if not stay] == repeated


def test_many_buckets_drop_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{LONG_LINE} {n % 30}" for n in range(100)]
    for name in ("a", "b"):
        wet_file(tmp_path / f"{name}.warc.wet.gz", [wet_record(n, f"{line}\n") for n, line in enumerate(lines)])
    corpusfmt.build(tmp_path, tmp_path / "one" / "out")
    monkeypatch.setattr("corpusfmt.pipeline.dedup._LINES_A_BUCKET", 7)
    assert len(buckets("en", 200)) > 20
    corpusfmt.build(tmp_path, tmp_path / "many" / "out")
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


def test_compaction_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wet"
    folder.mkdir()
    for name in range(7):
        lines = [f"{GERMAN if n % 3 else LONG_LINE} {n} {name % 3}" for n in range(20)]
        wet_file(folder / f"{name}.warc.wet.gz", [wet_record(n, f"{line}\n") for n, line in enumerate(lines)])
    corpusfmt.build(folder, tmp_path / "apart" / "out")
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 2)
    monkeypatch.setattr("corpusfmt.pipeline.dedup._LINES_HELD", 3)
    stages = []
    corpusfmt.build(folder, tmp_path / "joined" / "out", progress=lambda stage, _: stages.append(stage))
    assert stages.count("compact") == 1 + 4  # told at its start, and of each task
    assert tree(tmp_path / "apart") == tree(tmp_path / "joined")


def test_the_number_of_open_files_does_not_grow(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    names = [f"{number}.box" for number in range(60)]
    for number, name in enumerate(names):
        with (tmp_path / name).open("wb") as file:
            container = ContainerWriter(file)
            container.add(keys_of("en"), sorted_keys(bytes(7) + bytes([number % 7]), "xxh64"))
            container.finish()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/dev/fd"))) + 8, hard))
    try:
        paths = tuple(tmp_path / name for name in names)
        drops = [tmp_path / f"{number}.drops" for number in range(20)]
        for number, path in enumerate(drops):
            dedup(DedupTask((Bucket("en", number, 20, 3),), paths, path, "xxh64"))
        assert [first_occurrences(drops, "en", number) for number in range(60)] == [b""] * 7 + [b"\0"] * 53
        assert compact(CompactTask(tmp_path, tuple(names), tmp_path / "joined", "xxh64")).containers == 60
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_sections_do_not_change_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "one" / "out")
    monkeypatch.setattr(store, "_SECTION_BYTES", 2000)
    corpusfmt.build(SAMPLE, tmp_path / "many" / "out")
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


@pytest.mark.parametrize(
    ("number", "status", "said", "to_all"),
    [(signal.SIGINT, 130, b"interrupted", True), (signal.SIGTERM, 143, b"terminated", False)],
)
def test_interrupted_cleanly(tmp_path: Path, number: signal.Signals, status: int, said: bytes, to_all: bool) -> None:
    out, wet = tmp_path / "out", tmp_path / "wet"
    for name in range(12):
        records = [wet_record(n, f"{LONG_LINE} {name} {n}\n" * 5) for n in range(800)]
        wet_file(wet / f"{name}.warc.wet.gz", records)
    command = [sys.executable, "-m", "corpusfmt", "build", str(wet), "--output", str(out), "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as run:
        while not list((out / ".corpusfmt").glob("process/*.json")) and run.poll() is None:
            time.sleep(0.005)
        (os.killpg if to_all else os.kill)(run.pid, number)
        _, stderr = run.communicate(timeout=60)  # until the last worker has closed it
    assert run.returncode == status
    assert stderr == said + b"; run the same command again to resume\n"
    assert run_cli("build", wet, "--output", out).returncode == 0


def test_a_destination_in_use_is_refused(tmp_path: Path) -> None:
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out")
    with Workplace.at(tmp_path / "used", "another").claimed():
        pass
    before = tree(tmp_path / "used")
    with pytest.raises(UsageError, match="unfinished run of other inputs or settings"):
        corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "used")
    assert tree(tmp_path / "used") == before


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, oscar_corpus: Path) -> None:
    out = tmp_path / "oscar"
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))\n"
        "from corpusfmt.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "build", str(SAMPLE), "--output", str(out)],
        capture_output=True,
        check=False,
        env=unmeasured(),
    )
    assert done.returncode == 3
    assert re.fullmatch(
        rb"error: \[Errno 27\] File too large: '%b/.*'; fix that, then run the same command again to resume\n"
        % re.escape(os.fsencode(out)),
        done.stderr,
    )
    assert not [path for path in tree(out) if ".corpusfmt/" not in path]
    assert run_cli("build", SAMPLE, "--output", out).returncode == 0
    assert tree(out) == tree(oscar_corpus)


def test_unknown_recipes_are_refused() -> None:
    with pytest.raises(UsageError, match="known: "):
        load_recipe("oscar-9")


def test_inputs_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for given in ("missing", "folder"):
        with pytest.raises(UsageError):
            corpusfmt.build(tmp_path / given, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    shutil.copy(SAMPLE / "commoncrawl-one-record.warc.wet.gz", tmp_path / "folder" / "one.warc.wet.gz")
    assert corpusfmt.build(tmp_path / "folder", tmp_path / "out").verdict.value == "valid"
