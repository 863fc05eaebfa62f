"""Plans of builds: arithmetic from given rates, and tasks, scratch and output next to those of real builds."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support import LONG_LINE, REPOSITORY, SAMPLE, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.engine.progress import Progress
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline import plan as planning
from corpusfmt.pipeline.intake.inputs import inputs_named
from corpusfmt.pipeline.plan import Plan, Rates, measured, plan_of, sample_of, saved_rates
from corpusfmt.pipeline.process.store import Size
from corpusfmt.pipeline.recipe import load_recipe

SCHEMA = json.loads(resource("schemas", "plan/plan.schema.json").read_bytes())
RATES = Rates(
    "oscar-1.1",
    inputs=2,
    bytes=1000,
    cpu_seconds={"process": 3.0, "compact": 0.5, "dedup": 1.0, "package": 2.0},
    lines={"de": 10, "en": 30},
    text=Size(documents=9, lines=50, text_bytes=4000),
    stored_bytes=600,
    output_bytes=700,
    memory_bytes=10**8,
)


def checked(found: Any, part: str = "") -> Any:
    """Return what conforms to the published schema."""
    schema = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{part}"} if part else SCHEMA
    Draft202012Validator(schema).validate(found)
    return found


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_SECONDS", 3600.0)  # this machine may stand still for a minute


def stages_of(plan: Plan) -> dict[str, tuple[int, float, float]]:
    return {each.name: (each.tasks, each.cpu_seconds, each.longest_task_seconds) for each in plan.stages}


def test_a_plan_of_few_inputs() -> None:
    plan = plan_of(load_recipe("oscar-1.1"), 4, 2000, RATES, jobs=4)
    # Both languages fit into one task.
    assert stages_of(plan) == {"process": (4, 6.0, 1.5), "dedup": (1, 2.0, 2.0), "package": (1, 4.0, 4.0)}
    assert (plan.scratch_bytes, plan.output_bytes, plan.memory_bytes) == (1200 + 80 * 8, 1400, 10**8 + 40 * 64)
    assert plan.cpu_hours == round(12 / 3600, 6)
    assert plan.hours == round((1.5 + 2 + 4) / 3600, 6)


def test_a_plan_of_many_inputs() -> None:
    plan = plan_of(load_recipe("oscar-1.1"), 1000, 10**8, RATES, jobs=10)
    # 1,000,000 and 3,000,000 lines: one range of hashes of German, two of English; 16 groups of 64 inputs; shares of 500,000 lines.
    assert stages_of(plan) == {
        "process": (1000, 300_000.0, 300.0),
        "compact": (16, 50_000.0, 3200.0),
        "dedup": (3, 100_000.0, 37_500.0),
        "divide": (2 * 16, 80_000.0, 3750.0),
        "package": (2 + 6, 200_000.0, 25_000.0),
    }
    # Ten workers join ten of the groups at a time.
    assert plan.scratch_bytes == 60_000_000 * (1 + 10 / 16) + 4_000_000 * 8
    assert plan.memory_bytes == 10**8 + (1_500_000 - 40) * 64
    assert plan.hours == round((30_000 + 5_000 + 37_500 + 8_000 + 25_000) / 3600, 6)


@pytest.mark.parametrize(
    ("inputs", "size", "said"),
    [
        (10**14, 1000, "100,000,000,000,000 inputs, and plan takes at most 10,000,000:"),
        (1, 10**400, "000 bytes, and plan takes at most"),
        (1, 10**17, "kept lines, and plan takes at most 1,000,000,000,000: plan a part of it"),
    ],
    ids=["inputs", "bytes", "lines"],
)
def test_a_build_that_is_too_large_is_not_planned(inputs: int, size: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(load_recipe("oscar-1.1"), inputs, size, RATES, jobs=1)


@pytest.mark.parametrize(
    ("recipe", "keep_original", "tasks", "scratch"),
    [
        ("goclassy-2019", False, {"process": 2, "package": 1}, 600),
        ("dolma", False, {"process": 2, "dedup": 1, "package": 1}, 600 + 320),
        ("oscar-1.0", True, {"process": 2, "dedup": 1, "package": 2}, 600 + 320),
        ("oscar-1.0-shuffled", True, {"process": 2, "dedup": 1, "package": 2}, 600 + 320 + 2 * (4000 + 50 * 11)),
    ],
)
def test_the_recipe_decides_on_stages_and_scratch(
    recipe: str, keep_original: bool, tasks: dict[str, int], scratch: int
) -> None:
    chosen = load_recipe(recipe, {"deduplication": {"keep-original": True}} if keep_original else {})
    plan = plan_of(chosen, 2, 1000, RATES, jobs=1)
    assert {each.name: each.tasks for each in plan.stages} == tasks
    assert plan.scratch_bytes == scratch
    assert plan.assumptions[-1] == "the rates are those of the recipe oscar-1.1"


def built(inputs: Path, out: Path, **options: Any) -> tuple[dict[str, int], int, int]:
    """Return what a real build takes: tasks by stage, the most bytes of scratch, bytes of output."""
    scratch = [0]

    def see(_stage: str, _progress: Progress) -> None:
        scratch.append(sum(map(len, tree(out / ".corpusfmt").values())))

    log = out.with_suffix(".jsonl")
    corpusfmt.build(inputs, out, log=log, progress=see, **options)
    events = map(json.loads, log.read_bytes().split(b"\n")[:-1])
    tasks = {each["stage"]: each["tasks"] for each in events if each["event"] == "stage-end"}
    return tasks, max(scratch), sum(map(len, tree(out).values()))


@pytest.mark.parametrize("recipe", ["dolma", "goclassy-2019"])
def test_a_build_of_the_sample_takes_what_is_planned(tmp_path: Path, recipe: str) -> None:
    rates = measured([str(SAMPLE)], load_recipe(recipe), recipe, keep_original=False)
    plan = plan_of(load_recipe(recipe), rates.inputs, rates.bytes, rates, jobs=1)
    tasks, scratch, output = built(SAMPLE, tmp_path / "out", recipe=recipe)
    assert {each.name: each.tasks for each in plan.stages} == tasks
    assert plan.output_bytes == output
    assert scratch / 1.5 <= plan.scratch_bytes <= 1.5 * scratch


def test_a_larger_build_takes_what_is_planned(tmp_path: Path) -> None:
    rng = random.Random(3)
    words = LONG_LINE.split(" ")
    for number in range(70):
        lines = (" ".join(rng.sample(words, len(words))) for _ in range(40))
        wet_file(
            tmp_path / "wet" / f"{number:02}.warc.wet.gz", [wet_record(number, "".join(f"{each}\n" for each in lines))]
        )
    arrivals = inputs_named([str(tmp_path / "wet")])
    recipe = load_recipe("oscar-1.1", {"deduplication": {"keep-original": True}})
    sample = [str(tmp_path / "wet" / f"{number:02}.warc.wet.gz") for number in range(10)]
    rates = measured(sample, recipe, "oscar-1.1", keep_original=True)
    plan = plan_of(recipe, len(arrivals), sum(each.input.size for each in arrivals), rates, jobs=1)
    tasks, scratch, output = built(tmp_path / "wet", tmp_path / "out", keep_original=True)
    assert (
        {each.name: each.tasks for each in plan.stages}
        == tasks
        == {"process": 70, "compact": 2, "dedup": 1, "package": 2}
    )
    # Statistics, card and manifest do not grow with the inputs as text does.
    assert output / 2 <= plan.output_bytes <= 2 * output
    assert scratch / 2 <= plan.scratch_bytes <= 2 * scratch


def test_measured_rates_are_saved_and_used_again(tmp_path: Path) -> None:
    saved = tmp_path / "rates.json"
    first = run_cli("plan", SAMPLE, "--save-rates", saved, "--jobs", "3", "--output-format", "json")
    assert (first.returncode, first.stderr) == (0, b"")
    plan = checked(json.loads(first.stdout))
    rates = checked(json.loads(saved.read_bytes()), "rates")
    assert plan["rates"] == rates
    assert (plan["inputs"], rates["inputs"], plan["input_bytes"]) == (2, 2, rates["bytes"])
    assert rates["lines"].keys() >= {"de", "en", "zh"}
    assert all(rates["cpu_seconds"][stage] > 0 for stage in ("process", "compact", "dedup", "package"))
    second = run_cli("plan", SAMPLE, "--rates", saved, "--jobs", "3", "--output-format", "json")
    assert second.stdout == first.stdout


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    blocks = (REPOSITORY / "docs" / "how-to" / "plan.md").read_text("utf-8").split("```")[1::2]
    (rates,) = (each.removeprefix("json\n") for each in blocks if each.startswith("json\n"))
    checked(json.loads(rates), "rates")
    (tmp_path / "rates.json").write_text(rates)
    (shown,) = (each.removeprefix("\n$ corpusfmt ") for each in blocks if each.startswith("\n$ corpusfmt "))
    command, _, output = shown.partition("\n")
    done = run_cli(*command.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, output, b"")


def test_inputs_of_unknown_size_are_as_large_as_the_others(tmp_path: Path) -> None:
    (tmp_path / "rates.json").write_bytes(msgspec.json.encode(RATES))
    (tmp_path / "wet").mkdir()
    for name, size in {"a": 100, "b": 300}.items():
        (tmp_path / "wet" / f"{name}.warc.wet.gz").write_bytes(bytes(size))
    names = "".join(f"{name}.warc.wet.gz\n" for name in "abc")
    (tmp_path / "wet.paths").write_text(names)
    given = ("plan", "wet.paths", "--base", "wet", "--rates", "rates.json", "--output-format", "json")
    for more, size in ((), 600), (("--mean-size", "1kB"), 1400):
        plan = json.loads(run_cli(*given, *more, cwd=tmp_path).stdout)
        assert (plan["inputs"], plan["input_bytes"]) == (3, size)
        assert plan["assumptions"][-1].startswith("1 input of unknown size: ")


def test_the_sample_is_of_inputs_near_the_mean_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"a": 10, "b": 50, "c": 60, "d": 200}.items():
        (tmp_path / f"{name}.wet").write_bytes(bytes(size))
    arrivals = list(inputs_named([str(tmp_path)]))
    for most, chosen in {10: "c", 110: "bc", 1000: "abcd"}.items():
        monkeypatch.setattr(planning, "_MOST_SAMPLE_BYTES", most)
        assert sample_of(arrivals) == [str(tmp_path / f"{name}.wet") for name in chosen]


def test_pages_are_generated_without_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_FILES", 2)
    monkeypatch.setattr(planning, "_FILE_BYTES", 60_000)
    first, second = (measured([], load_recipe("oscar-1.1"), "oscar-1.1", keep_original=False) for _ in range(2))
    assert (first.inputs, first.generated, first.lines) == (2, True, second.lines)
    assert sum(first.lines.values()) > 50
    plan = plan_of(load_recipe("oscar-1.1"), 2, first.bytes, first, jobs=1)
    assert plan.assumptions[-1].startswith("the sample was generated; ")


def test_a_sample_that_takes_too_long_or_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe("oscar-1.1")
    (tmp_path / "a.warc.wet").write_bytes(b"<html>")
    with pytest.raises(Incomplete, match=r"^none of 1 inputs could be read"):
        measured([str(tmp_path)], recipe, "oscar-1.1", keep_original=False)
    monkeypatch.setattr(planning, "_SECONDS", 1e-9)
    with pytest.raises(Incomplete, match=r"^the sample was not built within 1e-09 seconds: name a smaller one"):
        measured([str(SAMPLE)], recipe, "oscar-1.1", keep_original=False)


WRONG: Mapping[str, tuple[tuple[str, ...], str]] = {
    "nothing": ((), "plan needs either inputs, or --inputs N with --mean-size SIZE"),
    "both": (("a.wet", "--inputs", "2"), "plan needs either inputs, or --inputs N with --mean-size SIZE"),
    "no size": (("--inputs", "2"), "the sizes of the inputs are unknown: add --mean-size SIZE, like 150MB"),
    "stdin": (("-",), "plan does not read standard input: name files, or use --inputs N with --mean-size SIZE"),
    "rates and sample": (("a", "--rates", "r", "--measure", "s"), "--rates measures nothing: remove --measure and"),
    "no such recipe": (("--inputs", "2", "--mean-size", "1", "--recipe", "x"), "unknown recipe 'x'"),
    "no such input": (("missing.wet",), "path missing.wet does not exist"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_says_what_to_do(tmp_path: Path, name: str) -> None:
    arguments, said = WRONG[name]
    done = run_cli("plan", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bytes": 0}, r"Expected `int` >= 1 - at `\$.bytes`"),
        ({"schema": "corpusfmt-rates/2"}, r"at `\$.schema`"),
        ({"cpu_seconds": {"fetch": 1}}, "fetch"),
        ({"lines": {"de": -1}}, r"Expected `int` >= 0"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_a_file_without_rates_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "rates.json"
    path.write_text(json.dumps(msgspec.to_builtins(RATES) | change))
    with pytest.raises(
        UsageError, match=rf"^{path} has no rates \(.*{said}.*\): save some with `corpusfmt plan --save-rates`$"
    ):
        saved_rates(str(path))
    with pytest.raises(UsageError, match=r"^cannot read the rates "):
        saved_rates(str(tmp_path / "missing.json"))
