"""A build that has ended: the same command says so and exits 0, any other is refused, and nothing is touched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from langid.fasttext_writer import ModelSpec
from pipeline.test_inputs_of_runs import copies, files  # noqa: F401 - fixtures
from support import SAMPLE, run_cli, tree

import corpusfmt
from corpusfmt.model import UsageError, Verdict
from corpusfmt.pipeline.choices import Selection


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "out"
    assert run_cli("build", SAMPLE, "-o", out).returncode == 0
    return out


def test_the_same_command_has_nothing_to_do(built: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in built.rglob("*")}
    first = corpusfmt.build(SAMPLE, built)
    done = run_cli("build", SAMPLE, "-o", built, "--jobs", "2")
    assert done.returncode == 0
    assert (
        done.stderr.decode()
        == f"nothing to do: {built} already contains the finished corpus of these inputs and options\n"
    )
    assert b"2 of 2 WET files -> " in done.stdout
    assert {path: path.stat().st_mtime_ns for path in built.rglob("*")} == before
    assert (first.verdict, first.results["finished"]) == (Verdict.VALID, True)
    assert first.results["stats"] == json.loads((built / "stats.json").read_bytes())["build"]


def test_the_report_is_that_of_the_build(tmp_path: Path) -> None:
    made = corpusfmt.build(SAMPLE, tmp_path / "out")
    again = corpusfmt.build(SAMPLE, tmp_path / "out", log=tmp_path / "log.jsonl")
    assert again.coverage == made.coverage
    assert again.results == made.results | {"finished": True}
    told = json.loads((tmp_path / "log.jsonl").read_bytes())
    assert told | {"time": ""} == {
        "time": "",
        "event": "nothing-to-do",
        "destination": str(tmp_path / "out"),
        "recipe": "oscar-1.1",
    }


@pytest.mark.parametrize(
    "changes",
    [
        ("--recipe", "oscar-1.0"),
        ("--min-lines", "2"),
        ("--languages", "de"),
        ("--compression", "zlib-9"),
        ("--keep-original",),
        ("--deny-urls", "{deny}"),
        ("--model", "{model}"),
        ("--langid", "fasttext"),
    ],
)
def test_other_choices_are_refused(changes: tuple[str, ...], built: Path, tmp_path: Path) -> None:
    (tmp_path / "deny").write_text("example.org\n")
    (tmp_path / "model").write_bytes(ModelSpec().to_bytes())
    before = tree(built)
    done = run_cli(
        "build", SAMPLE, "-o", built, *(each.format(**{n: tmp_path / n for n in ("deny", "model")}) for each in changes)
    )
    assert done.returncode == 2
    if changes[0] != "--langid":  # stock fastText need not be there
        assert b"contains a finished corpus: remove it or choose another folder" in done.stderr
    assert tree(built) == before


def test_other_inputs_or_missing_files_are_refused(files: Path, copies: Path, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "out"
    corpusfmt.build(copies, out)
    assert corpusfmt.build(files, out).results["finished"]
    one = next(iter(sorted(copies.iterdir())))
    data = one.read_bytes()
    for change in (
        one.unlink,
        lambda: one.write_bytes(data + b"\0"),
        lambda: one.rename(copies / "z.warc.wet.gz"),
    ):
        change()
        with pytest.raises(UsageError, match="contains a finished corpus"):
            corpusfmt.build(copies, out)
        (copies / "z.warc.wet.gz").unlink(missing_ok=True)
        one.write_bytes(data)
    next(out.rglob("*.txt.gz")).unlink()
    with pytest.raises(UsageError, match="contains a finished corpus"):
        corpusfmt.build(copies, out)


def test_a_corpus_without_some_inputs_is_not_finished(copies: Path, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "out"
    (copies / "0.warc.wet.gz").write_bytes(b"")
    corpusfmt.build(copies, out)
    shutil.rmtree(out / ".corpusfmt")
    with pytest.raises(UsageError, match="contains a finished corpus"):
        corpusfmt.build(copies, out)


def test_equal_builds_are_equal_byte_for_byte(built: Path, tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "of another name")
    assert tree(tmp_path / "of another name") == tree(built)
    assert json.loads((built / "croissant.json").read_bytes())["name"] == "oscar-1.1"


LABELS = ("__label__eng_Latn", "__label__fr", "__label__Xx", "__label__zh-Hant", "__label__abcd")


@pytest.mark.parametrize(("name", "held"), [("oscar-1.1", False), ("oscar-1.0", False), ("dolma", True)])
def test_labels_that_the_format_cannot_hold_are_refused_first(name: str, held: bool, tmp_path: Path) -> None:
    model = tmp_path / "model.bin"
    model.write_bytes(ModelSpec(labels=LABELS).to_bytes())
    arguments = ("build", SAMPLE, "-o", tmp_path / "out", "--model", model, "--recipe", name)
    done = run_cli(*arguments)
    if held:
        assert done.returncode == 0
        return
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"error: the format {name} has no name for the languages Xx, abcd, eng_Latn and 1 more: "
        "choose a recipe for another format, like dolma, or exclude them with --exclude-languages\n"
    )
    assert not (tmp_path / "out").exists()
    without = ",".join(label.removeprefix("__label__") for label in LABELS if label != "__label__fr")
    assert run_cli(*arguments, "--exclude-languages", without).returncode == 0


def test_a_label_with_a_path_in_it_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.bin"
    model.write_bytes(ModelSpec(labels=("__label__../../x", "__label__fr")).to_bytes())
    for name in ("dolma", "goclassy-2019"):
        with pytest.raises(UsageError, match=r"has no name for the languages \.\./\.\./x: "):
            corpusfmt.build(SAMPLE, tmp_path / "out", recipe=name, model=str(model))
    corpusfmt.build(SAMPLE, tmp_path / "out", recipe="dolma", model=str(model), selection=Selection(languages=["fr"]))
