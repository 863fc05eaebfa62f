"""An id that occurs twice in its source never gets into a Dolma corpus: the run stops, or the later documents are rejected."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import beside, document, lines_of, read_rows, texts, write_rows
from support import LONG_LINE, gzipped, run_cli, tree

import corpusfmt
from corpusfmt.conversion.options import OnBadRecord
from corpusfmt.engine.progress import Progress
from corpusfmt.io import keys
from corpusfmt.model import BadInput

SHARDS = 4


@pytest.fixture
def repeating(tmp_path: Path) -> Path:
    """Four files of ten documents; two ids of the first file come again, one of them in each other file."""
    root = tmp_path / "dolma"
    for shard in range(SHARDS):
        rows = [document(100 * shard + number) for number in range(10)]
        if shard:
            rows[3] = document(7, text=f"another {shard}")
        if shard == 2:
            rows[8] = document(2, text="again")
            rows[9] = document(2, text="same id, other source", source="elsewhere")
        write_rows(root / f"documents/{shard}.jsonl.gz", rows)
        write_rows(root / f"attributes/lid/{shard}.jsonl.gz", [beside(row, lid__number=[[0, 1, 1.0]]) for row in rows])
    return root


def rejected_in(quarantine: Path) -> list[tuple[str, str, int]]:
    lines = [json.loads(line) for path in sorted(quarantine.iterdir()) for line in path.read_bytes().splitlines()]
    return [(line["rule"], line["path"], line["line"]) for line in lines]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_run_stops_and_names_both_places(jobs: int, repeating: Path, tmp_path: Path) -> None:
    done = run_cli("convert", repeating, tmp_path / "out", "--to", "dolma", "--jobs", str(jobs))
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "documents/1.jsonl.gz:4: CNV106 the id `d7` of source `test` also occurs at documents/0.jsonl.gz:8\n"
        "  help: drop one of the two or change its id, then run the command again, "
        "or convert to another folder with --on-bad-record quarantine\n"
    )
    assert not (tmp_path / "out/croissant.json").exists()
    assert (tmp_path / "out/.corpusfmt").is_dir()


def test_a_source_that_was_repaired_goes_on(repeating: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(BadInput, match="CNV106"):
        corpusfmt.convert(repeating, out, to="dolma", merge_attributes=True)
    for shard in range(1, SHARDS):
        rows = [document(100 * shard + number) for number in range(10)]
        write_rows(repeating / f"documents/{shard}.jsonl.gz", rows)
        write_rows(
            repeating / f"attributes/lid/{shard}.jsonl.gz", [beside(row, lid__number=[[0, 1, 1.0]]) for row in rows]
        )
    assert corpusfmt.convert(repeating, out, to="dolma", merge_attributes=True).coverage.documents == 40
    assert corpusfmt.validate(out).verdict == "valid"


@pytest.mark.parametrize("options", [{}, {"part_bytes": 500}, {"merge_attributes": True}])
@pytest.mark.parametrize("batch", [1, 1_000])
def test_later_documents_go_to_quarantine(
    options: dict[str, Any], batch: int, repeating: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "CANDIDATES_AT_A_TIME", batch)
    for jobs in (1, 2):
        out = tmp_path / f"jobs-{jobs}/out"
        report = corpusfmt.convert(repeating, out, to="dolma", on_bad_record="quarantine", jobs=jobs, **options)
        assert (report.coverage.documents, report.results["rejected"]) == (36, 4)
        assert corpusfmt.validate(out).verdict == "valid"
        assert [row["text"] for row in read_rows(out) if row["id"] in {"d2", "d7"} and row["source"] == "test"] == [
            document(2)["text"], document(7)["text"],
        ]  # fmt: skip
        assert len(read_rows(out)) == 36
        assert rejected_in(out.with_name("out-quarantine")) == [
            ("CNV106", "documents/1.jsonl.gz", 4),
            ("CNV106", "documents/2.jsonl.gz", 4),
            ("CNV106", "documents/2.jsonl.gz", 9),
            ("CNV106", "documents/3.jsonl.gz", 4),
        ]
        assert not (out / ".corpusfmt").exists()
    assert tree(tmp_path / "jobs-1") == tree(tmp_path / "jobs-2")


def test_a_file_of_nothing_but_repeated_documents_leaves_none(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / f"dolma/documents/{name}.jsonl.gz", [document(1), document(2)])
    report = corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["files"]) == (2, 1)
    assert set(tree(tmp_path / "out")) == {"MANIFEST.json", "README.md", "croissant.json", "documents/a.jsonl.gz"}


def test_equal_hashes_of_different_ids_are_not_taken_for_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("corpusfmt.conversion.repeats"), "key_hash", lambda _: 7)
    rows = [document(number) for number in range(5)]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    assert corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma").coverage.documents == 5
    write_rows(tmp_path / "dolma/documents/b.jsonl.gz", rows[4:])
    with pytest.raises(BadInput, match=r"b\.jsonl\.gz:1: .*a\.jsonl\.gz:5"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "twice", to="dolma")


@pytest.mark.parametrize("stage", ["identify", "convert"])
def test_a_run_that_ended_at_any_stage_is_resumed(stage: str, repeating: Path, tmp_path: Path) -> None:
    convert = partial(corpusfmt.convert, repeating, to="dolma", on_bad_record="quarantine")
    convert(tmp_path / "whole/out")
    begun: list[str] = []

    def interrupt(name: str, progress: Progress) -> None:
        begun.append(name)
        if name == stage and "identify" in begun and progress.shards == 2:
            raise KeyboardInterrupt

    out = tmp_path / "again/out"
    with pytest.raises(KeyboardInterrupt):
        convert(out, progress=interrupt)
    convert(out)
    assert tree(tmp_path / "again") == tree(tmp_path / "whole")


def test_a_file_that_changes_after_repetition_was_found_is_looked_at_anew(repeating: Path, tmp_path: Path) -> None:
    begun: list[str] = []

    def interrupt(name: str, progress: Progress) -> None:
        begun.append(name)
        if name == "convert" and "identify" in begun:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    convert = partial(corpusfmt.convert, repeating, out, to="dolma", on_bad_record="quarantine", merge_attributes=True)
    with pytest.raises(KeyboardInterrupt):
        convert(progress=interrupt)
    rows = [document(100 * 3 + number) for number in range(10)]
    rows[0] = document(205)
    write_rows(repeating / "documents/3.jsonl.gz", rows)
    write_rows(repeating / "attributes/lid/3.jsonl.gz", [beside(row, lid__number=[[0, 1, 1.0]]) for row in rows])
    convert()
    assert corpusfmt.validate(out).verdict == "valid"
    assert rejected_in(tmp_path / "out-quarantine")[-1] == ("CNV106", "documents/3.jsonl.gz", 1)


def test_other_targets_take_ids_as_they_come(repeating: Path, tmp_path: Path) -> None:
    for target in ("parquet", "oscar"):
        corpusfmt.convert(repeating, tmp_path / target, to=target, on_loss="allow")
        errors = {each.code for each in corpusfmt.validate(tmp_path / target).findings if each.severity == "error"}
        assert errors == ({"GEN401"} if target == "parquet" else set())


def record_of(number: int | None, offset: int) -> bytes:
    if number is None:
        return b'{"headers": 7}\n'
    headers = {
        "warc-record-id": f"<urn:uuid:00000000-0000-4000-8000-{number:012}>",
        "warc-date": "2021-02-24T17:55:29Z",
    }
    return json.dumps({"headers": headers, "offset": offset, "nb_sentences": 1}).encode() + b"\n"


def oscar(root: Path, **parts: list[int | None]) -> Path:
    """Write the parts of a language, with records of these numbers, or without."""
    (root / "de").mkdir(parents=True)
    for name, numbers in parts.items():
        text = b"".join(f"{name} {place} {LONG_LINE}\n\n".encode() for place, _ in enumerate(numbers))
        records = b"".join(record_of(number, 2 * place) for place, number in enumerate(numbers))
        (root / f"de/de_{name}.txt.gz").write_bytes(gzipped(text))
        (root / f"de/de_meta_{name}.jsonl.gz").write_bytes(gzipped(records))
    return root


@pytest.mark.parametrize(
    ("parts", "ids"),
    [
        ({"part_1": [1, 2], "part_2": [1, 3]}, ["1", "2", "part_2:1", "3"]),
        (
            {"part_1": [1], "part_2": [1, 1, 3], "part_3": [3, 1]},
            ["1", "part_2:1", "part_2:2", "3", "part_3:1", "part_3:2"],
        ),
        ({"part_1": [1, 1], "part_2": [2, 1]}, ["1", "part_1:2", "2", "part_2:2"]),
        ({"part_1": [1], "part_2": [2, 1, None, 2, 3, 1]}, ["1", "2", "part_2:2", "part_2:4", "3", "part_2:6"]),
    ],
)
def test_a_record_in_two_parts_of_a_language_has_the_id_of_its_place(
    parts: dict[str, list[int | None]], ids: list[str], tmp_path: Path
) -> None:
    source = oscar(tmp_path / "oscar", **parts)
    rejected = sum(numbers.count(None) for numbers in parts.values())
    on_bad_record: OnBadRecord = "quarantine" if rejected else "stop"
    report = corpusfmt.convert(source, tmp_path / "dolma", to="dolma", on_bad_record=on_bad_record)
    assert report.results["rejected"] == rejected
    assert [row["id"] for row in read_rows(tmp_path / "dolma")] == [
        f"de/de_{each}" if ":" in each else f"urn:uuid:00000000-0000-4000-8000-{each:>012}#de" for each in ids
    ]
    assert corpusfmt.validate(tmp_path / "dolma").counts["error"] == 0
    if not rejected:
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar")
        assert texts(tmp_path / "back/de") == texts(source / "de")
        assert lines_of(tmp_path / "back/de/de_meta_part_2.jsonl.gz") == [
            json.dumps(json.loads(line), separators=(",", ":")).encode()
            for line in lines_of(source / "de/de_meta_part_2.jsonl.gz")
        ]


def test_documents_that_were_never_in_oscar_do_not_change_their_ids(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / f"dolma/documents/{name}.jsonl.gz", [document(1), document(7)])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar", part_bytes=1)
    with pytest.raises(BadInput, match="CNV106 the id `d1` of source `test`"):
        corpusfmt.convert(tmp_path / "oscar", tmp_path / "again", to="dolma")
