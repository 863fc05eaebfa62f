"""Statistics equal those of plain loops over the files, with any number of workers; what is broken is named."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from conversion.rows import beside, document, write_rows
from stats.uax29 import is_word, segments
from support import FIXTURES, REPOSITORY, SAMPLE, gzipped, run_cli

import corpusfmt
from corpusfmt import BadInput, Document, LimitReached, UsageError
from corpusfmt.engine import run as engine
from corpusfmt.formats.dolma import glance
from corpusfmt.statistics import count, measuring, run
from corpusfmt.statistics.measuring import Measuring
from corpusfmt.statistics.options import OPTIONAL
from corpusfmt.statistics.sizes import COARSE, FINE, QUANTILES, Sketch

SCHEMA = json.loads((REPOSITORY / "schemas/stats/stats.schema.json").read_bytes())


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_BYTES_A_TASK", 1)


def rows_of_dolma(root: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((root / "documents").rglob("*.gz")):
        yield from map(json.loads, gzip.decompress(path.read_bytes()).split(b"\n")[:-1])


def plain_counts(texts: list[str]) -> dict[str, Any]:
    """Count with the simplest code."""
    lines = [line for text in texts for line in text.split("\n") if line]
    return {
        "total": {
            "documents": len(texts),
            "lines": sum(text.count("\n") + (text[-1:] not in {"", "\n"}) for text in texts),
            "words": sum(is_word(segment) for text in texts for segment in segments(text)),
            "characters": sum(map(len, texts)),
            "bytes": sum(len(text.encode()) for text in texts),
        },
        "repeated": {
            "documents": (len(texts), len(texts) - len(set(texts))),
            "lines": (len(lines), len(lines) - len(set(lines))),
        },
        "most": {line: number for line, number in Counter(lines).items() if number > 1},
    }


@pytest.fixture(scope="module")
def expected(dolma_corpus: Path) -> dict[str, Any]:
    return plain_counts([row["text"] for row in rows_of_dolma(dolma_corpus)])


def assert_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {name: found[name] for name in expected["total"]} == expected["total"]
    repeats = found["repeats"]
    assert {name: (repeats[name]["compared"], repeats[name]["repeated"]) for name in repeats} == expected["repeated"]
    most = repeats["lines"]["most"]
    assert [each["count"] for each in most] == sorted(expected["most"].values(), reverse=True)[: len(most)]
    assert len(most) == min(len(expected["most"]), 20)
    for each in most:
        # Long lines are clipped.
        assert each["count"] in {n for line, n in expected["most"].items() if line.startswith(each["line"][:20])}


@pytest.mark.parametrize("to", ["oscar", "dolma", "parquet", "jsonl"])
def test_counts_equal_those_of_a_plain_loop_in_each_format(
    to: str, oscar_corpus: Path, dolma_corpus: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    path = {"oscar": oscar_corpus, "dolma": dolma_corpus}.get(to, tmp_path / to)
    if not path.exists():
        corpusfmt.convert(dolma_corpus, path, to=to)
    found = corpusfmt.stats(path, count=["words", "repeats"], jobs=2).to_dict()
    jsonschema.validate(found, SCHEMA)
    assert_equal(found, expected)
    assert found["coverage"]["whole_shards"] == found["coverage"]["shards"] > 10
    rows = list(rows_of_dolma(dolma_corpus))
    assert {name: size["documents"] for name, size in found["languages"].items()} == Counter(
        row["metadata"]["language"] for row in rows
    )
    assert found["created"] == dict(sorted(Counter(row["created"][:7] for row in rows).items()))


def test_the_number_of_workers_makes_no_difference(dolma_corpus: Path) -> None:
    one, two, five = (corpusfmt.stats(dolma_corpus, count=["words", "repeats"], jobs=jobs) for jobs in (1, 2, 5))
    assert one.to_dict() == two.to_dict() == five.to_dict()


@pytest.mark.parametrize("made", ["dolma_corpus", "oscar_corpus"])
def test_the_kernels_make_no_difference(
    made: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = request.getfixturevalue(made)
    found = corpusfmt.stats(corpus, count=OPTIONAL)
    monkeypatch.setattr(glance, "_BUILT", False)
    monkeypatch.setattr(measuring, "_BUILT", False)
    assert corpusfmt.stats(corpus, count=OPTIONAL).to_dict() == found.to_dict()


def test_metadata_of_other_types_is_not_counted(tmp_path: Path) -> None:
    record = {"metadata": {"identification": {"prob": 0.5}}}
    metadata: list[dict[str, Any]] = [
        {},
        {"url": None, "language": 7, "language_score": 0, "oscar": record},
        {
            "url": "https://a.example.org/1",
            "language": "de",
            "oscar": record,
            "dump": 3,
            "file_path": "CC-MAIN-2020-16",
        },
        {"url": 1, "language_score": 0.25, "oscar": [], "snapshot": "CC-MAIN-2021-04", "dump": None},
    ]
    write_rows(
        tmp_path / "documents/a.jsonl.gz", [document(place, metadata=each) for place, each in enumerate(metadata)]
    )
    found = corpusfmt.stats(tmp_path, count=["domains"])
    assert (found.language_scores.number, found.language_scores.total) == (3, 0.75)
    assert found.snapshots == {"CC-MAIN-2020-16": 1, "CC-MAIN-2021-04": 1}
    assert [*found.by_language] == ["", "de"]


def test_lines_repeat_across_shards_and_the_empty_ones_do_not_count(tmp_path: Path) -> None:
    texts = [["a\n\nb", "a"], ["b\na\n", "a"], ["c\r", "\n\n"]]
    for number, shard in enumerate(texts):
        write_rows(
            tmp_path / f"documents/{number}.jsonl.gz",
            [document(10 * number + place, text=text) for place, text in enumerate(shard)],
        )
    found = corpusfmt.stats(tmp_path, count=["repeats"], jobs=2)
    assert found.repeated_lines is not None
    assert found.repeated_documents is not None
    assert (found.repeated_lines.compared, found.repeated_lines.repeated) == (7, 4)
    assert found.repeated_lines.most == [("a", 4), ("b", 2)]
    assert (found.repeated_documents.compared, found.repeated_documents.repeated) == (6, 1)
    assert (found.total.lines, found.total.bytes) == (10, 14)
    assert found.scripts is None
    assert "words" not in found.to_dict()


def fields(found: corpusfmt.Statistics) -> tuple[dict[str, int], ...]:
    return dict(found.created), dict(found.added), dict(found.snapshots)


def test_dates_snapshots_scores_sources_and_variants(tmp_path: Path) -> None:
    rows = [
        document(1, source="a", created="2020-03-29T09:00:00Z", metadata={"language": "de", "language_score": 0.5}),
        document(2, source="a", created="2020-03", metadata={"dump": "CC-MAIN-2020-16"}),
        document(3, source="b", created="2020-13-01", added="2021-01-01"),
        document(4, source="b", metadata={"cc_segment": "crawl-data/CC-MAIN-2020-16/x.gz", "language_score": 1}),
    ]
    write_rows(tmp_path / "documents/a.jsonl.gz", rows)
    found = corpusfmt.stats(tmp_path, count=[])
    assert fields(found) == ({"2020-03": 2, "…": 1}, {"2021-01": 1}, {"CC-MAIN-2020-16": 2})
    assert {name: size.documents for name, size in found.by_source.items()} == {"a": 2, "b": 2}
    scores = found.language_scores
    assert (scores.number, scores.least, scores.most, scores.total) == (2, 0.5, 1, 1.5)
    oscar2 = FIXTURES / "oscar2/22.01/valid/content-empty/input"
    assert corpusfmt.stats(oscar2, count=[]).language_scores.number > 0


def test_attributes_are_counted_embedded_or_in_sets(tmp_path: Path) -> None:
    for shard in range(2):
        rows = [
            document(10 * shard + number, attributes={"q": [[0, 1, 0.5 * number], [1, 2, 10**40]], "n": [], "t": 1})
            for number in range(1, 4)
        ]
        write_rows(tmp_path / f"documents/{shard}.jsonl.gz", rows)
        write_rows(tmp_path / f"attributes/s/{shard}.jsonl.gz", [beside(row, q=[[0, 3, shard]]) for row in rows])
    found = corpusfmt.stats(tmp_path, count=["attributes"]).to_dict()
    jsonschema.validate(found, SCHEMA)
    kept = {
        name: (each["documents"], each["spans"], each["values"].get("min"), each["values"].get("max"))
        for name, each in found["attributes"].items()
    }
    assert kept == {"n": (6, 0, None, None), "q": (6, 12, 0.5, 1.5), "s/q": (6, 6, 0, 1), "t": (6, 0, None, None)}
    shown = run_cli("stats", tmp_path, "--count", "attributes").stdout.decode()
    assert (
        """
attribute  documents  spans  min    50%  max  mean
n                  6      0
q                  6     12  0.5  1.004  1.5     1
s/q                6      6    0      0    1   0.5
t                  6      0
"""
        in shown
    )


def test_rows_of_too_many_values_are_rejected_as_they_are_judged(tmp_path: Path) -> None:
    many = [[0, 1, 0.5]] * 250_001
    rows = [document(1), document(2, metadata={"x": many})]
    write_rows(tmp_path / "documents/a.jsonl.gz", rows)
    write_rows(tmp_path / "attributes/s/a.jsonl.gz", [beside(rows[0], q=many), beside(rows[1], q=[])])
    found = corpusfmt.stats(tmp_path)
    assert (found.total.documents, found.rejected) == (0, 2)
    judged = corpusfmt.validate(tmp_path).findings
    assert [(each.code, each.location.path) for each in judged] == [
        ("GEN301", "attributes/s/a.jsonl.gz"),
        ("GEN301", "documents/a.jsonl.gz"),
    ]


def test_scores_that_are_no_confidence_are_not_counted(tmp_path: Path) -> None:
    scores = [10**40, -(10**400), True, "0.5", None, 1e300, [0.5], {"prob": 1}, 0.25]
    rows = [document(number, metadata={"language_score": score}) for number, score in enumerate(scores)]
    rows.append(document(99, metadata={"oscar": {"metadata": {"identification": {"prob": 10**40}}}}))
    write_rows(tmp_path / "documents/a.jsonl.gz", rows)
    found = corpusfmt.stats(tmp_path, count=[])
    assert (found.language_scores.number, found.language_scores.total) == (1, 0.25)


def test_what_is_broken_is_named_and_the_rest_counted(dolma_corpus: Path, tmp_path: Path) -> None:
    rows = [document(number) for number in range(300)]
    write_rows(tmp_path / "documents/a.jsonl.gz", rows)
    write_rows(
        tmp_path / "documents/b.jsonl.gz", [document(number, salt=str(number) * 99) for number in range(900, 2_900)]
    )
    whole = (tmp_path / "documents/b.jsonl.gz").read_bytes()
    (tmp_path / "documents/b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    bad = [json.dumps(document(2_901)).encode(), b'{"id":', b"[]"]
    (tmp_path / "documents/c.jsonl.gz").write_bytes(gzipped(b"\n".join(bad) + b"\n"))
    found = corpusfmt.stats(tmp_path, count=["words", "repeats"])
    assert [(each.code, each.location.path) for each in found.broken] == [("GEN101", "documents/b.jsonl.gz")]
    assert (found.shards, found.whole_shards, found.rejected, found.is_complete) == (3, 2, 2, False)
    assert 301 < found.total.documents < 2_301
    read = corpusfmt.read(tmp_path, on_error="skip")
    texts: list[str] = []
    with contextlib.suppress(BadInput):
        texts.extend(each.text for each in read)
    assert found.total.documents == len(texts)
    jsonschema.validate(found.to_dict(), SCHEMA)
    done = run_cli("stats", tmp_path, "--count", "none")
    shown = done.stdout.decode()
    assert done.returncode == 3
    assert "documents/b.jsonl.gz: GEN101 " in shown
    assert "2 records not counted:\ndocuments/c.jsonl.gz:2:7: GEN301 " in shown
    assert shown.endswith("2 of 3 shards whole\n")


@pytest.mark.parametrize("bits", [FINE, COARSE])
@pytest.mark.parametrize(
    "draw",
    [
        lambda random: int(random.expovariate(1 / 3_000)),
        lambda random: int(random.lognormvariate(6, 3)),
        lambda random: random.randint(0, 300),
        lambda random: random.gauss(0, 1) ** 3,
        lambda random: random.uniform(0.99, 1.03),
    ],
)
def test_quantiles_are_within_their_error_however_they_are_merged(draw: Callable[[Random], float], bits: int) -> None:
    random = Random(7)
    numbers = [draw(random) for _ in range(20_000)]
    whole, merged = Sketch(bits), Sketch(bits)
    whole.add(numbers)
    for start in range(0, len(numbers), 3_001):
        part = Sketch(bits)
        part.add(numbers[start : start + 3_001])
        merged.merge(part)
    assert (merged.least, merged.most) == (min(numbers), max(numbers))
    assert merged.as_json() | {"total": 0, "mean": 0} == whole.as_json() | {"total": 0, "mean": 0}
    ordered = sorted(numbers)
    for share, value in whole.quantiles().items():
        exact = ordered[math.ceil(float(share) * len(ordered)) - 1]
        assert abs(value - exact) <= abs(exact) * whole.error, (share, value, exact)
        if isinstance(exact, int) and abs(exact) < 1 << bits:
            assert value == exact
    assert list(whole.quantiles()) == [str(each) for each in QUANTILES]


@pytest.mark.parametrize("number", [10**15, -(10**15), 2**63 - 1, -(2**63)])
def test_the_sum_of_large_integers_is_exact(number: int) -> None:
    found = Sketch()
    found.add([number] * 20_000)
    assert found.total == 20_000 * number


def test_documents_without_text_do_not_wait_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count, "_BATCH_BYTES", 10_000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id":"1","text":""}\n' * 1_000)
    batches: list[int] = []

    class Noting(Measuring):
        def lengths(self, data: bytes, ends: bytes) -> dict[str, array[int]]:
            batches.append(len(ends) // 8)
            return super().lengths(data, ends)

    monkeypatch.setattr(count, "Measuring", Noting)
    assert corpusfmt.stats(tmp_path, format="jsonl").total.documents == 1_000
    assert max(batches) <= 200


def test_nothing_has_no_quantiles() -> None:
    assert Sketch().as_json() == {"number": 0}


TEXT = """\
language  documents  lines  words  characters  bytes
all               3      5      8          32     39
de                2      4      6          25     26
none              1      1      2           7     13

source   documents  lines  words  characters  bytes
all              3      5      8          32     39
"a | b"          2      4      6          25     26
c                1      1      2           7     13

of a document  min  5%  25%  50%  75%  95%  max  mean
lines            1   1    1    2    2    2    2     2
words            2   2    2    2    4    4    4     3
characters       7   7    7    7   18   18   18    11
bytes            7   7    7   13   19   19   19    13

script  letters
Latn         18
Cyrl          6

repeats    compared  repeated   share
documents         3         0   0.00%
lines             5         1  20.00%

most repeated lines  times
eins                     2

0 domains, 3 documents without one
in: dolma 1.0, 3 documents, 39 bytes of text, 1 shard
"""


def test_outputs(tmp_path: Path) -> None:
    rows = [
        document(1, text="eins\nzwei drei vü!", source="a | b", metadata={"language": "de"}),
        document(2, text="eins\n42", source="a | b", metadata={"language": "de"}),
        document(3, text="раз три", source="c", metadata=None),
    ]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", rows)
    done = run_cli(
        "stats", "in", "--count", "all", "--report", "json=stats.json", "--report", "markdown=stats.md", cwd=tmp_path
    )
    assert (done.returncode, done.stdout.decode()) == (0, TEXT)
    found = json.loads((tmp_path / "stats.json").read_bytes())
    jsonschema.validate(found, SCHEMA)
    assert found == corpusfmt.stats(tmp_path / "in", count=OPTIONAL).to_dict() | {"path": "in"}
    markdown = (tmp_path / "stats.md").read_text("utf-8")
    assert markdown.startswith("in: dolma 1.0, 3 documents, 39 bytes of text, 1 shard.\n\n| language | documents |")
    assert "| `a \\| b` | 2 |" in markdown or "| `a &#124; b` | 2 |" in markdown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--count", "sizes"], "unknown statistic 'sizes'; known: words, domains, repeats, attributes"),
        (["--output-format", "html"], "unknown output format 'html'; known: text, json, markdown"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, dolma_corpus: Path) -> None:
    done = run_cli("stats", dolma_corpus, *arguments)
    assert (done.returncode, message in done.stderr.decode()) == (2, True), done.stderr


def test_what_has_no_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        corpusfmt.stats(tmp_path)
    assert run_cli("stats", "-").returncode == 2


def test_statistics_display_themselves_on_one_line(tmp_path: Path) -> None:
    corpusfmt.write([Document("1", "ä")], tmp_path / "out", to="dolma")
    assert repr(corpusfmt.stats(tmp_path / "out")) == "<Statistics dolma 1.0: 1 documents, 2 bytes>"


def test_a_finding_is_reported_once(tmp_path: Path) -> None:
    """Here the metadata of all documents of a language are missing."""
    corpus = tmp_path / "corpus"
    assert run_cli("build", SAMPLE, "-o", corpus).returncode == 0
    (corpus / "my" / "my_meta.jsonl.gz").unlink()
    (corpus / "de" / "de.txt.gz").write_bytes(b"")
    for jobs in (1, 2):
        found = corpusfmt.stats(corpus, jobs=jobs).to_dict()["coverage"]
        assert [each["path"] for each in found["findings"]] == ["de/de.txt.gz", "my/my.txt.gz"]
        assert (found["rejected"] > 2, found["whole_shards"]) == (True, found["shards"] - 2)


def test_the_file_of_a_task_that_was_killed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [document(1)])
    monkeypatch.setattr(engine, "run_tasks", lambda *_, **__: iter([engine.Late()]))
    with pytest.raises(LimitReached) as late:
        corpusfmt.stats(tmp_path / "in", limits=corpusfmt.Limits(timeout=60))
    assert late.value.finding.location.path == "documents/a.jsonl.gz"


def test_no_field_may_be_none(tmp_path: Path) -> None:
    write_rows(tmp_path / "documents/a.jsonl.gz", [document(1)])
    assert corpusfmt.stats(tmp_path, field=None).total.documents == 1  # type: ignore[arg-type]
