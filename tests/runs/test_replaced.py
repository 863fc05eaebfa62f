"""An output never replaces a file that the command reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import SAMPLE, run_cli, tree

import corpusfmt
from corpusfmt.pipeline.recipe import recipe_text

DATA = "de/de.txt.gz"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "corpus"
    assert run_cli("build", SAMPLE, "-o", out).returncode == 0
    return out


@pytest.fixture
def corpus(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "corpus"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["validate", "{}", "--report", "json={}/" + DATA], "--report"),
        (["validate", "{}", "--report", "json={}/" + DATA, "--jobs", "2"], "--report"),
        (["validate", "{}", "--report", "json={}/link"], "--report"),
        (["validate", "{}", "--report", "json={}/MANIFEST.json"], "--report"),
        (["describe", "{}", "-o", "{}/" + DATA], "--output"),
        (["describe", "{}", "--evidence", "{}/" + DATA], "--evidence"),
        (["stats", "{}", "--domains", "{}/" + DATA], "the domains"),
        (["stats", "{}", "--report", "json={}/de/de_meta.jsonl.gz"], "--report"),
        (["stats", "{}", "--shard", "1/2", "--report", "part={}/" + DATA], "--report"),
        (["stats", "{}", "-o", "{}/" + DATA], "--output"),
        (["validate", "{}", "-o", "{}/" + DATA], "--output"),
        (["validate", "{}", "--shard", "1/1", "--report", "part={}/" + DATA], "--report"),
        (["compare", "{}", "{}", "-o", "{}/" + DATA], "--output"),
        (["verify", "{}", "-o", "{}/" + DATA], "--output"),
        (["datasheet", "{}", "-o", "{}/" + DATA], "--output"),
        (["compare", "{}", "{}", "--report", "json={}/" + DATA], "--report"),
        (["verify", "{}", "--report", "json={}/" + DATA], "--report"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_file_that_is_read_is_not_replaced(corpus: Path, built: Path, words: list[str], named: str) -> None:
    if "json={}/link" in words:
        words = [*words[:-1], f"json={corpus.with_name('linked')}/{DATA}"]
        corpus.with_name("linked").symlink_to(corpus)
    done = run_cli(*(word.replace("{}", str(corpus)) for word in words))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {named} is ".encode())
    assert b", which is also read: choose another path\n" in done.stderr
    assert tree(corpus) == tree(built)


def test_a_file_that_an_option_names_is_not_replaced(corpus: Path, tmp_path: Path) -> None:
    recipe, report, statistics, part = (tmp_path / name for name in ("recipe.toml", "report", "statistics", "part"))
    recipe.write_text(recipe_text("oscar-1.1"))
    run_cli("validate", corpus, "--report", f"json={report}")
    run_cli("stats", corpus, "--report", f"json={statistics}")
    run_cli("stats", corpus, "--shard", "1/1", "--report", f"part={part}")
    before = tree(tmp_path)
    commands: list[list[str | Path]] = [
        ["build", SAMPLE, "-o", tmp_path / "out", "--recipe", recipe, "--log", recipe],
        ["validate", corpus, "--baseline", report, "--report", f"json={report}"],
        ["report", "render", report, "-o", report],
        ["stats", "--merge", part, "--report", f"json={part}"],
        ["stats", "--merge", part, "--domains", part],
        ["datasheet", corpus, "--stats", statistics, "-o", statistics],
        ["describe", corpus, "--rai", recipe, "-o", recipe],
    ]
    for words in commands:
        done = run_cli(*words)
        assert (done.returncode, b"which is also read: choose another path\n" in done.stderr) == (2, True), words
        assert tree(tmp_path) == before, words


def test_python_replaces_nothing_that_it_reads(corpus: Path, built: Path, tmp_path: Path) -> None:
    wet = Path(shutil.copytree(SAMPLE, tmp_path / "wet"))
    refused = r"which is also read: choose another path"
    for jobs in (1, 2):
        with pytest.raises(corpusfmt.UsageError, match=refused):
            corpusfmt.stats(corpus, domains=corpus / DATA, jobs=jobs)
    with pytest.raises(corpusfmt.UsageError, match=refused):
        corpusfmt.build(wet, tmp_path / "out", log=min(wet.glob("*.wet.gz")))
    with pytest.raises(corpusfmt.UsageError, match="is inside the source"):
        corpusfmt.convert(corpus, corpus / "de", to="dolma")
    assert tree(corpus) == tree(built)
    assert tree(wet) == tree(SAMPLE)
    assert not (tmp_path / "out").exists()
    assert corpusfmt.stats(corpus).total.documents  # what one call would replace, the next may read


def test_the_log_of_a_build_is_none_of_its_inputs(tmp_path: Path) -> None:
    wet = Path(shutil.copytree(SAMPLE, tmp_path / "wet"))
    one = min(wet.glob("*.wet.gz"))
    done = run_cli("build", wet, "-o", tmp_path / "out", "--log", one)
    assert (done.returncode, b"which is also read" in done.stderr) == (2, True)
    assert tree(wet) == tree(SAMPLE)


def test_data_of_a_description_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert run_cli("describe", tmp_path, "-o", tmp_path / "data.csv").returncode == 2
    assert run_cli("describe", tmp_path, "-o", tmp_path / "croissant.json").returncode == 0
    done = run_cli("validate", tmp_path, "--data", "--report", f"json={tmp_path / 'data.csv'}")
    assert (done.returncode, b"which is also read" in done.stderr) == (2, True)
    assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"


def test_what_the_same_command_has_written_is_replaced(corpus: Path) -> None:
    commands: list[list[str | Path]] = [
        ["describe", corpus, "-o", corpus / "croissant.json"],
        ["stats", corpus, "--report", f"json={corpus / 'stats.json'}"],
    ]
    for words in commands:
        assert [run_cli(*words).returncode for _ in range(2)] == [0, 0]
