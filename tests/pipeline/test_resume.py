"""A resumed run uses everything from the unfinished one that is still valid, nothing else, and no other run's files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import LONG_LINE, corpus, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.workplace import Workplace
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline.choices import Selection

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах, они наделены разумом и совестью, вот."
BROKEN = "2.warc.wet.gz"

Stop = Callable[..., None]


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    """Five inputs that share lines; each has a language or two."""
    folder = tmp_path / "wet"
    for number in range(5):
        text = "".join(f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(20))
        other = GERMAN if number % 2 else RUSSIAN
        wet_file(
            folder / f"{number}.warc.wet.gz", [wet_record(number * 10, text), wet_record(number * 10 + 1, f"{other}\n")]
        )
    return folder


@pytest.fixture
def stop(wet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Start a run that stops once a step of it is reached: `packaged` all inputs are stored, `seal` all is published."""

    def started(step: str, *inputs: Path, **options: Any) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(f"corpusfmt.pipeline.run.{step}", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                corpusfmt.build(inputs or wet, tmp_path / "out", **options)

    return started


def resumed(tmp_path: Path, *inputs: Path, **options: Any) -> tuple[int, int]:
    """Go on in the destination; compare with a run of its own; return how many inputs were taken over and read."""
    out = tmp_path / "out"
    report = corpusfmt.build(inputs, out, **options)
    shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
    corpusfmt.build(inputs, tmp_path / "fresh" / "out", **options)
    assert corpus(out) == corpus(tmp_path / "fresh" / "out")
    counts = report.results["resumed"]
    return counts["taken_over"], counts["read"]


@pytest.mark.parametrize("step", ["packaged", "seal"])
@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, (5, 0)),
        ({"jobs": 2}, (5, 0)),
        ({"compression": "zlib-9"}, (5, 0)),
        ({"recipe": "small.toml"}, (5, 0)),
        ({"keep_original": True}, (0, 5)),
        ({"selection": Selection(min_lines=3)}, (0, 5)),
        ({"selection": Selection(languages=["de"])}, (0, 5)),
        ({"recipe": "oscar-1.0"}, (0, 5)),
        ({"recipe": "dolma"}, (0, 5)),
        ({"recipe": "goclassy-2019"}, (0, 5)),
    ],
    ids=str,
)
def test_another_choice_runs_again_what_depends_on_it(
    tmp_path: Path, wet: Path, stop: Stop, step: str, options: dict[str, Any], counts: tuple[int, int]
) -> None:
    if options.get("recipe") == "small.toml":
        text = run_cli("recipe", "oscar-1.1").stdout.decode().replace("500_000_000", "1000")
        (tmp_path / "small.toml").write_text(text)
        options = {"recipe": str(tmp_path / "small.toml")}
    stop(step)
    assert resumed(tmp_path, wet, **options) == counts
    assert not (tmp_path / "out" / ".corpusfmt").exists()


@pytest.mark.parametrize("step", ["packaged", "seal"])
def test_one_input_more_or_fewer_is_read_or_left_alone(tmp_path: Path, wet: Path, stop: Stop, step: str) -> None:
    inputs = sorted(wet.iterdir())
    stop(step, *inputs[1:])
    assert resumed(tmp_path, *inputs) == (4, 1)
    shutil.rmtree(tmp_path / "out")
    stop(step, *inputs)
    assert resumed(tmp_path, *inputs[1:]) == (4, 0)


@pytest.mark.parametrize("data", [None, b"", b"no key"])
def test_a_key_that_is_gone_is_drawn_anew(tmp_path: Path, wet: Path, stop: Stop, data: bytes | None) -> None:
    stop("packaged")
    key = tmp_path / "out" / ".corpusfmt" / "key"
    before = key.read_bytes()
    if data is None:
        key.unlink()
    else:
        key.write_bytes(data)
    stop("seal")
    assert key.read_bytes() not in {before, data}
    assert resumed(tmp_path, wet) == (5, 0)


def test_no_byte_depends_on_the_key(tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for out, key in (("a", bytes(16)), ("b", b"\xff" * 16)):
        monkeypatch.setattr(Workplace, "key", lambda _, key=key: key)
        corpusfmt.build(wet, tmp_path / out / "out")
    assert corpus(tmp_path / "a" / "out") == corpus(tmp_path / "b" / "out")


def test_inputs_are_the_same_under_another_name(tmp_path: Path, wet: Path, stop: Stop) -> None:
    stop("packaged", wet.parent)
    manifest = (tmp_path / "out", *sorted(wet.iterdir()))
    assert resumed(tmp_path, *manifest[1:]) == (5, 0)


def test_a_file_of_the_same_size_and_time_is_another_one(tmp_path: Path, wet: Path, stop: Stop) -> None:
    plain = gzip.decompress((wet / "0.warc.wet.gz").read_bytes())
    path = wet / "0.warc.wet"
    path.write_bytes(plain)
    (wet / "0.warc.wet.gz").unlink()
    stop("seal")
    known = path.stat()
    path.write_bytes(plain.replace(b"human", b"woman"))
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (known.st_size, known.st_mtime_ns)
    assert resumed(tmp_path, wet) == (4, 1)
    (taken, *_) = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert taken["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_input_that_changes_while_the_run_goes_on_is_no_input_of_it(tmp_path: Path, wet: Path) -> None:
    path = wet / "0.warc.wet.gz"

    def change(stage: str, _step: object) -> None:
        if stage == "package":
            wet_file(path, [wet_record(1, f"{LONG_LINE}\n")])

    with pytest.raises(
        Incomplete, match=r"1 input changed after being read, like .*0\.warc\.wet\.gz: run the same command again"
    ):
        corpusfmt.build(wet, tmp_path / "out", progress=change)
    assert not (tmp_path / "out" / "MANIFEST.json").exists()
    assert resumed(tmp_path, wet) == (4, 1)


@pytest.mark.parametrize("step", ["packaged", "seal"])
def test_nothing_stays_of_a_language_that_is_gone(tmp_path: Path, wet: Path, stop: Stop, step: str) -> None:
    stop(step)
    for number in (1, 3):
        wet_file(wet / f"{number}.warc.wet.gz", [wet_record(number, f"{LONG_LINE} {number}\n")])
    assert resumed(tmp_path, wet) == (3, 2)
    assert not (tmp_path / "out" / "de").exists()
    assert (tmp_path / "out" / "ru").exists()


def test_files_that_were_published_without_a_marker_are_known(tmp_path: Path, wet: Path, stop: Stop) -> None:
    stop("seal")
    for marker in (tmp_path / "out" / ".corpusfmt" / "package").iterdir():
        marker.unlink()  # as if the run had been killed between the two
    assert resumed(tmp_path, wet / "0.warc.wet.gz") == (1, 0)
    assert not (tmp_path / "out" / "de").exists()


def test_files_of_others_are_left_alone(tmp_path: Path, wet: Path, stop: Stop) -> None:
    out = tmp_path / "out"
    stop("seal")
    (out / "de" / "notes.txt").write_text("mine")
    (out / "README.md").write_text("mine")
    corpusfmt.build(wet / "0.warc.wet.gz", out)
    assert sorted(path.name for path in (out / "de").iterdir()) == ["notes.txt"]
    assert (out / "README.md").exists()


def test_a_published_file_that_is_gone_is_made_again(tmp_path: Path, wet: Path, stop: Stop) -> None:
    stop("seal")
    (tmp_path / "out" / "de" / "de_meta.jsonl.gz").unlink()
    assert resumed(tmp_path, wet) == (5, 0)


def test_a_folder_that_was_moved_goes_on_where_it_is(tmp_path: Path, wet: Path, stop: Stop) -> None:
    stop("seal")
    (tmp_path / "out").rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "out")
    before = tree(tmp_path / "out")
    corpusfmt.build(wet / "0.warc.wet.gz", tmp_path / "moved")
    assert not (tmp_path / "moved" / "de").exists()
    assert tree(tmp_path / "out") == before


def test_a_repaired_input_is_all_that_is_read(tmp_path: Path, wet: Path) -> None:
    out = tmp_path / "out"
    whole = (wet / BROKEN).read_bytes()
    (wet / BROKEN).write_bytes(whole[:-20])
    done = run_cli("build", wet, "--output", out)
    assert done.returncode == 3
    hint = f"1 input excluded: after repairs, run the same command again to read only those, or remove {out}/.corpusfmt"
    assert hint in done.stderr.decode()
    assert corpusfmt.validate(out).verdict.value == "valid"
    done = run_cli("build", wet, "--output", out)  # nothing was repaired
    assert (done.returncode, b"(inputs kept: 4, read: 1)" in done.stderr) == (3, True)
    (wet / BROKEN).write_bytes(whole)
    assert resumed(tmp_path, wet) == (4, 1)
    assert not (out / ".corpusfmt").exists()


def test_settling_for_what_is_there(tmp_path: Path, wet: Path) -> None:
    out = tmp_path / "out"
    (wet / BROKEN).write_bytes(b"")
    assert run_cli("build", wet, "--output", out).returncode == 3
    shutil.rmtree(out / ".corpusfmt")
    report = corpusfmt.validate(out)
    assert (report.verdict.value, "OSC109" in report.by_rule) == ("valid", False)
    with pytest.raises(UsageError, match="contains a finished corpus: remove it or choose another folder"):
        corpusfmt.build(wet, out)


def test_a_corpus_is_not_sealed_while_it_changes(tmp_path: Path, wet: Path, stop: Stop) -> None:
    out = tmp_path / "out"
    (wet / BROKEN).write_bytes(b"")
    corpusfmt.build(wet, out)
    assert (out / "MANIFEST.json").exists()
    stop("seal", wet / "0.warc.wet.gz")
    assert not (out / "MANIFEST.json").exists()


@pytest.mark.parametrize("damage", ["gone", "cut", "empty"])
@pytest.mark.parametrize("stage", ["process", "compact", "dedup"])
def test_what_is_missing_between_the_stages_is_made_again(
    tmp_path: Path, wet: Path, stop: Stop, stage: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 2)
    if stage == "process":  # containers are removed when they have been joined
        monkeypatch.setattr("corpusfmt.pipeline.stages.remove_joined", lambda _: None)
    stop("seal")
    box = min((tmp_path / "out" / ".corpusfmt" / stage).glob("*.box"))
    data = box.read_bytes()
    if damage == "gone":
        box.unlink()
    else:
        box.write_bytes(data[:-9] if damage == "cut" else b"")
    for path in (tmp_path / "out" / ".corpusfmt" / "package").iterdir():
        path.unlink()
    # A joined container is made of two inputs, whose own it replaces.
    assert resumed(tmp_path, wet) == ((3, 2) if stage == "compact" else (5, 0))


@pytest.mark.parametrize("step", ["packaged", "seal"])
def test_containers_are_removed_when_they_have_been_joined(
    tmp_path: Path, wet: Path, stop: Stop, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 2)
    stop(step)
    state = tmp_path / "out" / ".corpusfmt"
    assert len(list((state / "process").glob("*.json"))) == 5
    assert len(list((state / "process").glob("*.box"))) == (5 if step == "packaged" else 0)
    assert resumed(tmp_path, wet) == (5, 0)


def test_inputs_are_read_again_if_others_are_joined(
    tmp_path: Path, wet: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 2)
    stop("seal")
    inputs = sorted(wet.iterdir())
    # Of the groups 0 1, 2 3, 4 the first remains.
    assert resumed(tmp_path, *inputs[:2], *inputs[3:]) == (2, 2)


def test_containers_stay_that_may_be_joined_otherwise(
    tmp_path: Path, wet: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 2)
    (wet / BROKEN).write_bytes(b"")
    stop("seal")
    assert len(list((tmp_path / "out" / ".corpusfmt" / "process").glob("*.box"))) == 4


@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_stored_of_an_input_that_is_gone_is_removed(
    tmp_path: Path, wet: Path, stop: Stop, damaged: bool
) -> None:
    stop("packaged")
    process = tmp_path / "out" / ".corpusfmt" / "process"
    if damaged:
        min(process.glob("*.json")).write_bytes(b"{}")
    min(wet.iterdir()).unlink()
    stop("packaged")
    assert sorted(path.name[:1] for path in process.iterdir()) == ["1", "1", "2", "2", "3", "3", "4", "4"]
    assert resumed(tmp_path, wet) == (4, 0)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damage_between_the_stages_is_named_and_mended_by_the_next_run(
    tmp_path: Path, wet: Path, stop: Stop, jobs: str
) -> None:
    stop("packaged")
    out = tmp_path / "out"
    box = min((out / ".corpusfmt" / "process").glob("*.box"))
    data = bytearray(box.read_bytes())
    data[30] ^= 1
    box.write_bytes(data)
    done = run_cli("build", wet, "--output", out, "--jobs", jobs)
    assert done.returncode == 3
    said = done.stderr.decode()
    assert said == (
        f"error: {box} was damaged (a section has another checksum) and has been removed; "
        "run the same command again to make it anew\n"
    )
    assert resumed(tmp_path, wet) == (4, 1)
