"""The forms of an output: both variants of a release, shuffled lines, attributes, hashes, compressors."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline.test_build import assert_strictly_valid
from support import LONG_LINE, REPOSITORY, SAMPLE, of_data, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.containers import ContainerWriter
from corpusfmt.langid import Classifier
from corpusfmt.model import Severity, UsageError, Verdict
from corpusfmt.pipeline.choices import Selection
from corpusfmt.pipeline.dedup import DedupTask, buckets, dedup, first_occurrences, keys_of, sorted_keys
from corpusfmt.pipeline.recipe import HashName, recipe_text

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."


def recipe_file(folder: Path, base: str, *changes: tuple[str, str]) -> str:
    """Write a recipe that differs from a bundled one in some lines; return its path."""
    text = recipe_text(base)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{len(list(folder.glob('*.toml')))}.toml"
    path.write_text(text)
    return str(path)


def wet_inputs(folder: Path) -> Path:
    """Make two WET files of two languages with repetitions in and across records and files."""
    folder.mkdir()
    rng = random.Random(8)
    for name in "ab":
        records = []
        for number in range(30):
            lines = [f"{rng.choice([LONG_LINE, GERMAN])} {rng.randrange(25)}" for _ in range(rng.randrange(6))]
            records.append(wet_record(number + 100 * (name == "b"), "".join(f"{line}\n" for line in lines)))
        wet_file(folder / f"{name}.warc.wet.gz", records)
    return folder


def texts(root: Path) -> dict[str, bytes]:
    return {path.name: gzip.decompress(path.read_bytes()) for path in sorted(root.rglob("*.txt.gz"))}


VARIANTS = {
    "oscar-1.1": ("packaged_nondedup", "packaged"),
    "oscar-1.0": ("unshuffled/original", "unshuffled/deduplicated"),
    "oscar-1.0-shuffled": ("shuff-orig", "shuff-dedup"),
}


def assert_statistics_are_those_counted(corpus: Path) -> None:
    own = json.loads((corpus / "stats.json").read_bytes())
    jsonschema.validate(own, json.loads((REPOSITORY / "schemas/stats/stats.schema.json").read_bytes()))
    del own["build"]
    assert own | {"path": str(corpus)} == corpusfmt.stats(corpus, count=[]).to_dict()


@pytest.mark.parametrize("recipe", ["dolma", "oscar-1.0", "oscar-1.1"])
def test_the_statistics_of_a_build_are_those_that_stats_counts(tmp_path: Path, recipe: str) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "out", recipe=recipe)
    assert_statistics_are_those_counted(tmp_path / "out")


@pytest.mark.parametrize("recipe", VARIANTS)
def test_both_variants_are_what_each_alone_would_be(tmp_path: Path, recipe: str) -> None:
    inputs = wet_inputs(tmp_path / "wet")
    corpusfmt.build(inputs, tmp_path / "final", recipe=recipe)
    original = recipe_file(tmp_path, recipe, ("lines = true", "lines = false"))
    corpusfmt.build(inputs, tmp_path / "original", recipe=original)
    for jobs in (1, 2):
        corpusfmt.build(inputs, tmp_path / f"{jobs}" / "both", recipe=recipe, keep_original=True, jobs=jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    both = tmp_path / "1" / "both"
    for folder, alone in zip(VARIANTS[recipe], ("original", "final"), strict=True):
        for language in ("de", "en"):
            assert tree(both / folder / language) == tree(tmp_path / alone / language)
    of_both, of_final = (json.loads((root / "stats.json").read_bytes()) for root in (both, tmp_path / "final"))
    assert of_both["build"] == of_final["build"]
    assert of_both["variants"][VARIANTS[recipe][1]] == of_final["variants"][""]
    assert_statistics_are_those_counted(both)
    assert_statistics_are_those_counted(tmp_path / "final")
    report = corpusfmt.validate(both, profile="strict")
    assert_strictly_valid(report)
    assert report.coverage.shards_seen == 4
    assert corpusfmt.validate(both / "croissant.json", data=True).verdict.value == "valid"
    assert set(json.loads((both / "MANIFEST.json").read_bytes())["files"]) == {
        path for path in tree(both) if path != "MANIFEST.json"
    }


def test_the_state_of_an_unfinished_run_is_no_language_of_a_release_of_two_variants(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "in")
    (inputs / "c.warc.wet.gz").write_bytes(b"broken")
    report = corpusfmt.build(inputs, tmp_path / "out", recipe="oscar-1.0", keep_original=True)
    assert report.verdict is Verdict.INCOMPLETE
    assert (tmp_path / "out" / ".corpusfmt").is_dir()
    found = corpusfmt.validate(tmp_path / "out")
    assert [(each.code, each.severity, each.location.path) for each in of_data(found)] == [
        ("OSC109", Severity.WARNING, ".corpusfmt")
    ]


def test_offsets_are_those_of_each_variant(tmp_path: Path) -> None:
    wet_file(
        tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n" * 2), wet_record(2, f"{LONG_LINE}\n{LONG_LINE}!\n")]
    )
    corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out", keep_original=True)
    rows = {
        folder: [
            (row["offset"], row["nb_sentences"])
            for row in map(json.loads, gzip.decompress((tmp_path / "out" / folder / "en/en_meta.jsonl.gz").read_bytes()).split(b"\n")[:-1])
        ]
        for folder in VARIANTS["oscar-1.1"]
    }  # fmt: skip
    assert rows == {"packaged_nondedup": [(0, 2), (3, 2)], "packaged": [(0, 1), (2, 1)]}


def test_the_option_needs_a_recipe_with_room_for_two_variants(tmp_path: Path) -> None:
    done = run_cli("build", SAMPLE, "--output", tmp_path / "out", "--recipe", "dolma", "--keep-original")
    assert (done.returncode, b"`oscar-1.1` or `oscar-1.0` with `keep-original`" in done.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_shuffled_lines_are_the_lines_of_the_documents_in_another_order(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "wet")
    other = recipe_file(tmp_path, "oscar-1.0-shuffled", ("shuffle-seed = 2019", "shuffle-seed = 7"))
    for name, recipe in (("documents", "oscar-1.0"), ("one", "oscar-1.0-shuffled"), ("other", other)):
        corpusfmt.build(inputs, tmp_path / name, recipe=recipe)
    documents, one, another = (texts(tmp_path / name) for name in ("documents", "one", "other"))
    assert list(one) == ["de_dedup.txt.gz", "en_dedup.txt.gz"]
    for name, text in one.items():
        lines = [line for line in documents[name].split(b"\n") if line]
        assert len(lines) > 20
        assert b"\n\n" not in text
        assert text.endswith(b"\n")
        orders = [lines, text.split(b"\n")[:-1], another[name].split(b"\n")[:-1]]
        assert len({tuple(sorted(order)) for order in orders}) == 1
        assert len({tuple(order) for order in orders}) == 3


def test_parts_of_shuffled_lines_are_cut_between_lines(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "wet")
    small = recipe_file(tmp_path, "oscar-1.0-shuffled", ("500_000_000", "1000"))
    corpusfmt.build(inputs, tmp_path / "whole", recipe="oscar-1.0-shuffled")
    corpusfmt.build(inputs, tmp_path / "out", recipe=small)
    parts = len(list((tmp_path / "out/en").glob("*.txt.gz")))
    assert parts > 2
    joined = b"".join(texts(tmp_path / "out/en")[f"en_part_{number + 1}.txt.gz"] for number in range(parts))
    assert joined == texts(tmp_path / "whole/en")["en_dedup.txt.gz"]
    assert_strictly_valid(corpusfmt.validate(tmp_path / "out", profile="strict", dedup=True))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


def test_attributes_say_the_language_and_probability_of_each_line(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "wet")
    recipe = recipe_file(tmp_path, "dolma", ("500_000_000", "4000"))
    corpusfmt.build(inputs, tmp_path / "out", recipe=recipe)
    files = sorted((tmp_path / "out" / "documents").rglob("*.gz"))
    assert len(files) > 3
    classifier = Classifier()
    for path in files:
        below = path.relative_to(tmp_path / "out" / "documents")
        paired = rows(tmp_path / "out" / "attributes" / "corpusfmt_langid" / below)
        for document, own in zip(rows(path), paired, strict=True):
            assert "attributes" not in document
            assert (own["id"], own["source"]) == (document["id"], document["source"])
            ((key, spans),) = own["attributes"].items()
            assert key == "corpusfmt_langid__line__score"
            lines = document["text"].split("\n")
            assert [document["text"][start:end].removesuffix("\n") for start, end, _ in spans] == lines
            assert "".join(document["text"][start:end] for start, end, _ in spans) == document["text"]
            guesses = classifier.predict(lines)
            assert [score for _, _, score in spans] == [round(guess.score, 5) for guess in guesses]
            assert {guess.label for guess in guesses} == {below.parts[0]}
    report = corpusfmt.validate(tmp_path / "out", profile="strict")
    assert {each.severity for each in of_data(report)} <= {"info"}, corpusfmt.render(report)


def test_documents_of_dolma_keep_the_headers_of_their_record(tmp_path: Path) -> None:
    path = wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    corpusfmt.build(path, tmp_path / "out", recipe="dolma")
    (document,) = rows(tmp_path / "out/documents/en/en.jsonl.gz")
    own = json.loads(document["metadata"].pop("oscar"))
    identity, url, date = (
        "urn:uuid:00000000-0000-4000-8000-000000000001",
        "http://site-1.example/",
        "2018-11-12T17:28:45Z",
    )
    assert document == {
        "id": f"{identity}#en",
        "text": LONG_LINE,
        "source": "common-crawl",
        "created": date,
        "metadata": {"language": "en", "url": url},
    }
    assert own == {
        "version": "1.1",
        "record": {
            "headers": {
                "warc-type": "conversion",
                "warc-target-uri": url,
                "warc-date": date,
                "warc-record-id": f"<{identity}>",
                "content-type": "text/plain",
                "content-length": str(len(LONG_LINE) + 1),
            }
        },
    }


def test_filters_leave_each_line_its_own_probability(tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "all", recipe="dolma")
    recipe = recipe_file(tmp_path, "dolma", ("lines = true", "lines = false"))
    corpusfmt.build(SAMPLE, tmp_path / "some", recipe=recipe, selection=Selection(min_lines=3, languages=["fr"]))
    assert [path.name for path in (tmp_path / "some" / "documents").iterdir()] == ["fr"]
    every, some = (
        [
            [
                (line, score)
                for line, (_, _, score) in zip(
                    document["text"].split("\n"), own["attributes"]["corpusfmt_langid__line__score"], strict=True
                )
            ]
            for document, own in zip(
                rows(tmp_path / name / "documents/fr/fr.jsonl.gz"),
                rows(tmp_path / name / "attributes/corpusfmt_langid/fr/fr.jsonl.gz"),
                strict=True,
            )
        ]
        for name in ("all", "some")
    )
    assert min(map(len, some)) >= 3 > min(map(len, every))
    scores = dict(pair for document in every for pair in document)
    assert len(set(scores.values())) > 1
    assert all(scores[line] == score for document in some for line, score in document)


def test_documents_are_the_same_with_and_without_attributes(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "wet")
    plain = recipe_file(tmp_path, "dolma", ("language-scores = true", "language-scores = false"))
    corpusfmt.build(inputs, tmp_path / "with", recipe="dolma")
    corpusfmt.build(inputs, tmp_path / "without", recipe=plain)
    assert tree(tmp_path / "with" / "documents") == tree(tmp_path / "without" / "documents")
    assert not (tmp_path / "without" / "attributes").exists()


@pytest.mark.parametrize("name", ["isal-0", "zlib-1", "zlib-9"])
def test_a_compressor_changes_the_bytes_and_not_the_content(tmp_path: Path, oscar_corpus: Path, name: str) -> None:
    done = run_cli("build", SAMPLE, "--output", tmp_path / "out", "--compression", name)
    assert done.returncode == 0
    assert texts(tmp_path / "out") == texts(oscar_corpus)
    manifest = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())
    assert (manifest["compressor"], manifest["recipe"]["output"]["compression"]) == (name, name)
    for path in (tmp_path / "out").rglob("*.gz"):
        data = path.read_bytes()
        assert data != (oscar_corpus / path.relative_to(tmp_path / "out")).read_bytes()
        assert data[3:8] == bytes(5), "no name, no time"
    assert_strictly_valid(corpusfmt.validate(tmp_path / "out", profile="strict"))


def test_without_isal_a_recipe_that_asks_for_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.io.compress._isal", None)
    with pytest.raises(UsageError, match="isal is not available on this platform: use a zlib level instead of isal-2"):
        corpusfmt.build(SAMPLE, tmp_path / "out", compression="isal-2")
    assert not (tmp_path / "out").exists()


def test_another_compressor_does_not_resume(tmp_path: Path) -> None:
    inputs = wet_inputs(tmp_path / "in")
    (inputs / "c.warc.wet.gz").write_bytes(b"broken")
    assert corpusfmt.build(inputs, tmp_path / "out").verdict is Verdict.INCOMPLETE
    other = tree(tmp_path / "out" / "en")
    (inputs / "c.warc.wet.gz").unlink()
    # What was read is kept; no file of the other compressor is.
    report = corpusfmt.build(inputs, tmp_path / "out", compression="zlib-1")
    assert report.results["resumed"] == {"taken_over": 2, "read": 0}
    corpusfmt.build(inputs, tmp_path / "new", compression="zlib-1")
    assert tree(tmp_path / "out") == tree(tmp_path / "new")
    assert tree(tmp_path / "out" / "en") != other
    with Workplace.at(tmp_path / "used", "another").claimed():
        pass
    with pytest.raises(UsageError, match="other inputs or settings"):
        corpusfmt.build(inputs, tmp_path / "used", compression="zlib-1")
    with pytest.raises(UsageError, match=r'`output.compression` is "lz4-1", expected'):
        corpusfmt.build(SAMPLE, tmp_path / "none", compression="lz4-1")


@pytest.mark.parametrize("a_bucket", [7, 2_000_000])
def test_either_hash_drops_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a_bucket: int) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._LINES_A_BUCKET", a_bucket)
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 1)
    inputs = wet_inputs(tmp_path / "wet")
    recipe = recipe_file(tmp_path, "oscar-1.1", ('hash = "siphash_128"', 'hash = "xxh64"'))
    corpusfmt.build(inputs, tmp_path / "short", recipe=recipe)
    corpusfmt.build(inputs, tmp_path / "long")
    assert tree(tmp_path / "short" / "en") == tree(tmp_path / "long" / "en")
    assert (
        json.loads((tmp_path / "long" / "MANIFEST.json").read_bytes())["recipe"]["deduplication"]["hash"]
        == "siphash_128"
    )


def wide(value: int) -> bytes:
    return value.to_bytes(16, "big")


def narrow(value: int) -> bytes:
    return value.to_bytes(8, "big")


def of_any_words(rng: random.Random) -> int:
    """Return a hash whose words are often those of another one."""
    word = [0, 1, 2**63, 2**64 - 1]
    return rng.choice(word) << 64 | rng.choice(word)


@pytest.mark.parametrize(
    ("name", "value", "encode"),
    [("xxh64", lambda rng: rng.choice([0, 5, 2**63, 2**64 - 1, rng.getrandbits(64)]), narrow), ("siphash_128", of_any_words, wide)],
)  # fmt: skip
@pytest.mark.parametrize("a_bucket", [3, 1000])
def test_repetitions_are_those_of_whole_hashes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: HashName,
    value: Callable[[random.Random], int],
    encode: Callable[[int], bytes],
    a_bucket: int,
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._LINES_A_BUCKET", a_bucket)
    rng = random.Random(4)
    for _ in range(20):
        inputs = [[value(rng) for _ in range(rng.randrange(12))] for _ in range(3)]
        flat = [each for hashes in inputs for each in hashes]
        stay = iter([int(each not in flat[:place]) for place, each in enumerate(flat)])
        expected = [bytes(next(stay) for _ in hashes) for hashes in inputs]
        paths = []
        for number, hashes in enumerate(inputs):
            paths.append(tmp_path / f"{number}.box")
            with paths[-1].open("wb") as file:
                container = ContainerWriter(file)
                container.add(keys_of("en"), sorted_keys(b"".join(map(encode, hashes)), name))
                container.finish()
        task = DedupTask(tuple(buckets("en", len(flat))), tuple(paths), tmp_path / "drops.box", name)
        assert dedup(task).dropped == len(flat) - len(set(flat))
        found = [first_occurrences([task.drops], "en", number) for number in range(3)]
        for stays, right in zip(found, expected, strict=True):
            assert stays.ljust(len(right), b"\1") == right
