"""`--sample N` checks N documents, chosen by the seed, with their true places; its report never looks like a complete one."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from support import run_cli

from corpusfmt.engine.validate import sample_of, validate
from corpusfmt.formats import Shard, named_format
from corpusfmt.io.lines import Block, Draw, LongLine, blocks
from corpusfmt.io.paths import Entry
from corpusfmt.model import Report

ROWS = 500


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three files of different sizes, in which every source is a number; each has an attributes file that is too short."""
    folder = tmp_path / "corpus"
    for number in range(3):
        rows = [{"id": f"{number}-{row}", "source": row, "text": "s"} for row in range(ROWS * (number + 1))]
        attributes = [{"id": row["id"], "attributes": {}} for row in rows[1:]]
        for place, some in ((f"documents/{number}.jsonl.gz", rows), (f"attributes/a/{number}.jsonl.gz", attributes)):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            data = "".join(f"{json.dumps(row)}\n" for row in some).encode()
            (folder / place).write_bytes(gzip.compress(data, mtime=0))
    return folder


def places(report: Report) -> list[tuple[str, int | None, int | None]]:
    return sorted((each.location.path, each.location.line, each.location.byte) for each in report.findings)


@pytest.mark.parametrize("jobs", [1, 2])
def test_so_many_documents_are_checked_at_their_places(corpus: Path, jobs: int) -> None:
    whole = places(validate(corpus, max_per_rule=100_000, ignore=["DOL5"]))
    samples = [
        validate(corpus, sample=number, seed=seed, jobs=jobs, max_per_rule=999)
        for number, seed in ((300, 1), (300, 1), (300, 2), (70, 1))
    ]
    found = [places(each) for each in samples]
    assert [len(each) for each in found] == [300, 300, 300, 70]
    assert [each.coverage.documents for each in samples] == [300, 300, 300, 70]
    assert found[0] == found[1] != found[2]
    assert all(set(each) <= set(whole) for each in found)
    assert {path for path, *_ in found[0]} == {f"documents/{number}.jsonl.gz" for number in range(3)}
    assert samples[0].results["sample"]["documents"] == 300


def test_small_shards_are_many_enough_for_the_sample(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for number in range(40):
        rows = (json.dumps({"id": f"{number}-{row}", "source": "s", "text": "a"}) + "\n" for row in range(2))
        (tmp_path / "documents" / f"{number}.jsonl").write_text("".join(rows), "utf-8")
    for wanted in (1, 7, 40):
        assert validate(tmp_path, sample=wanted, seed=wanted).coverage.documents == wanted


def test_of_large_shards_there_is_one_for_each_hundred_documents() -> None:
    fmt, _ = named_format("dolma")
    shards = [
        Shard(number, str(number), {fmt.documents_role: Entry(f"{number}.jsonl", "", "file", 10_000_000)})
        for number in range(50)
    ]
    for wanted, chosen in ((70, 1), (100, 1), (101, 2), (1_000, 10), (100_000, 50)):
        sample = sample_of(fmt, shards, wanted, seed=1)
        assert (len(sample.shards), sum(sample.counts.values())) == (chosen, wanted)


def test_the_report_says_what_was_not_checked(corpus: Path) -> None:
    ended = run_cli(
        "validate", corpus / "documents" / "0.jsonl.gz", "--sample", "20", "--seed", "3", "--ignore", "DOL307"
    )
    assert (ended.returncode, ended.stdout.decode().splitlines()[-5:]) == (
        0,
        [
            "  not checked: .: other documents, files next to documents, and the corpus as a whole (--sample)",
            "  suppressed: DOL307: ignored (DOL307), 20 times",
            "  dolma 1.0 · 1 of 1 shard · 20 documents · 21.8 kB",
            "NO ERRORS IN A SAMPLE: 20 documents in 1 of 1 shards seen, 0 errors, 0 warnings; 1 not checked, 20 ignored (DOL307).",
            "Sample of 20 documents in 1 of 1 shard (--seed 3): 0.jsonl.gz",
        ],
    )
    assert run_cli("validate", corpus, "--sample", "20", "--ignore", "DOL307", "--require-complete").returncode == 3
    assert run_cli("validate", corpus, "--sample", "20").returncode == 1


def test_documents_that_cannot_be_checked_apart_are_checked_by_shard(oscar_corpus: Path) -> None:
    whole = validate(oscar_corpus)
    part = validate(oscar_corpus, sample=10, seed=2)
    assert 10 <= part.coverage.documents < whole.coverage.documents
    assert (part.verdict.value, part.coverage.sampled) == ("incomplete", True)
    every = validate(oscar_corpus, sample=100_000)
    assert (every.verdict, every.coverage.sampled) == (whole.verdict, False)


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        ("0", "expected a number"),
        ("-1", "expected a number"),
        ("100001", "from 1 to 100,000"),
        ("1e3", "expected a number"),
    ],
)
def test_sizes_that_no_sample_has(size: str, hint: str, corpus: Path) -> None:
    ended = run_cli("validate", corpus, f"--sample={size}")
    assert ended.returncode == 2
    assert hint in ended.stderr.decode()
    part = run_cli("validate", corpus, "--sample=5", "--shard", "1/2", "--report", f"part={corpus.parent}/p")
    assert part.returncode == 2


def lines_of(draw: Draw, data: bytes, step: int) -> list[Any]:
    chunks = (data[start : start + step] for start in range(0, len(data), step))
    return list(draw.of(blocks(chunks, 50)))


def test_each_line_has_the_same_chance_whatever_the_blocks_are() -> None:
    data = b"".join(b"%d\n" % number for number in range(40)) + b"x" * 60 + b"\nlast"
    counts = dict.fromkeys(range(1, 43), 0)
    for seed in range(2_000):
        draw = Draw(5, str(seed))
        drawn = lines_of(draw, data, 7)
        if seed < 20:
            assert drawn == lines_of(draw, data, 64) == lines_of(draw, data, 1_000)
        assert len(drawn) == 5
        for each in drawn:
            counts[each.line] += 1
            if isinstance(each, Block):
                assert data[each.byte :].startswith(each.data)
                assert each.data.endswith(b"\n") or each.data == b"last"
            else:
                assert isinstance(each, LongLine)
    # 2,000 samples of 5 of 42: the standard deviation is 14.5.
    assert all(abs(count - 2_000 * 5 / 42) < 5 * 14.5 for count in counts.values())
    assert [each.line for each in lines_of(Draw(100, ""), data, 7)] == list(range(1, 43))


def test_memory_does_not_grow_with_the_file() -> None:
    block = b"x" * 999 + b"\n"
    tracemalloc.start()
    drawn = list(Draw(10, "").of(Block(block * 100, number * 100 + 1, number * 100_000) for number in range(300)))
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert len(drawn) == 10
