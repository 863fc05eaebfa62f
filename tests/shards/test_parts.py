"""Parts of a run, joined in any order, are the run: the same bytes in every output format. Damaged ones are refused.

`make parts-test` divides the runs over all fixtures; the ordinary suite takes some.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from support import FIXTURES, gzipped, run_cli
from test_fixtures import CASES, expected_of, input_of, name_of

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.engine.parts import CHECKS, PartWriter, append_scratch, parts_at
from corpusfmt.engine.shares import Share
from corpusfmt.engine.sharing import Asked, Validation
from corpusfmt.engine.validate import validate, validated
from corpusfmt.io.limits import Limits
from corpusfmt.model import Report, UsageError
from corpusfmt.report import RENDERERS

EVERY = "CORPUSFMT_PARTS" in os.environ
TWICE = FIXTURES / "dolma/1.0/invalid/id-twice-in-two-files-gz/input"
ACROSS = FIXTURES / "oscar/1.1/invalid/dedup-across-parts/input"
ROWS = FIXTURES / "jsonl/1.0/valid/array-of-rows/input"
RELEASE = FIXTURES / "release/1/invalid/files-swapped/input"

Lines = list[dict[str, Any]]


def seen(report: Report) -> dict[str, str]:
    """Return a report in all output formats, without times."""
    report.started = report.finished = ""
    rendered = {name: corpusfmt.render(report, name) for name in RENDERERS}
    rendered["junit"] = re.sub(r' time="[0-9.]+"', "", rendered["junit"])
    return rendered


def divided(folder: Path, path: Path, of: int, **arguments: Any) -> list[str]:
    """Validate a path in parts; return their files in no order."""
    files = []
    for number in range(1, of + 1):
        files.append(str(folder / f"{number}-of-{of}"))
        with open(files[-1], "wb") as file:
            part = PartWriter(file, Share(number, of), CHECKS)
            part.ask(Asked(paths=[str(path)]))
            part.next_input()
            validated(path, Validation(**arguments), part=part)
            part.end()
    random.Random(of).shuffle(files)
    return files


def joined(files: Sequence[str], path: Path, **arguments: Any) -> Report:
    parts = parts_at(files, CHECKS)
    parts.next_input()
    return validated(path, Validation(**arguments), part=parts)


@pytest.mark.parametrize("case", CASES if EVERY else CASES[::74], ids=name_of)
def test_parts_in_any_order_are_one_run(case: Path, tmp_path: Path) -> None:
    arguments = dict(expected_of(case)["arguments"])
    if "blocklist" in arguments:
        arguments["blocklist"] = case / arguments["blocklist"]
    # Few fixtures have more than two tasks to share.
    some = {arguments.get("profile", "standard"): (1, 3), "strict": (7,)}
    for profile, numbers in (dict.fromkeys(some, (3,)) if EVERY else some).items():
        asked = arguments | {"profile": profile}
        alone = seen(validate(input_of(case), **asked))
        for of in numbers:
            files = divided(tmp_path, input_of(case), of, **asked)
            assert seen(joined(files, input_of(case), **asked)) == alone


@pytest.mark.parametrize("path", [TWICE, ACROSS, RELEASE], ids=["dolma", "oscar", "release"])
@pytest.mark.parametrize(
    "more",
    [{"sample": 0.5}, {"ignore": ["DOL3", "OSC3"]}, {"max_per_rule": 1}, {"jobs": 2}],
    ids=["sample", "ignore", "max-per-rule", "jobs"],
)
def test_options_apply_as_in_one_run(path: Path, more: dict[str, Any], tmp_path: Path) -> None:
    asked = {"dedup": True, **more}
    assert seen(joined(divided(tmp_path, path, 3, **asked), path, **asked)) == seen(validate(path, **asked))


@pytest.mark.parametrize("path", [TWICE, ACROSS, RELEASE], ids=["dolma", "oscar", "release"])
def test_a_baseline_suppresses_what_it_does_in_one_run(path: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    base.write_text(corpusfmt.render(validate(path, dedup=True), "json"))
    asked: dict[str, Any] = {"baseline": base, "profile": "strict", "dedup": True}
    again = joined(divided(tmp_path, path, 2, **asked), path, **asked)
    assert sum(each["count"] for each in again.suppressed) > 0
    assert seen(again) == seen(validate(path, **asked))


def cli_parts(folder: Path, of: int, *words: str) -> list[str]:
    for number in range(of, 0, -1):
        done = run_cli("validate", *words, "--shard", f"{number}/{of}", "--report", f"part={number}.part", cwd=folder)
        assert (done.returncode, done.stderr) == (0, b"")
    return [f"{number}.part" for number in range(1, of + 1)]


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    for name, path in (("dolma", TWICE), ("oscar", ACROSS), ("release", RELEASE)):
        shutil.copytree(path, tmp_path / name)
    return tmp_path


def timeless(data: bytes) -> bytes:
    return re.sub(rb'"(started|finished)": "[0-9TZ:-]+"', b"", data)


def test_the_command_joins_parts_of_several_inputs(corpora: Path) -> None:
    (corpora / "settings.toml").write_text(
        'fail-on = "never"\n[[rule]]\nrules = ["DOL313"]\nseverity = "warning"\nreason = "known"\n'
    )
    words = ["dolma", "oscar", "rel*", "--config", "settings.toml"]
    alone = run_cli("validate", *words, "--output-format", "json", cwd=corpora)
    parts = cli_parts(corpora, 2, *words)
    found = run_cli("report", "merge", *parts, "--output-format", "json", "--report", "junit=junit.xml", cwd=corpora)
    assert timeless(found.stdout) == timeless(alone.stdout)
    assert json.loads(found.stdout)["regraded"] == [{"rule": "DOL313", "reason": "known", "count": 1}]
    assert (found.returncode, found.stderr) == (alone.returncode, b"") == (0, b"")
    assert (corpora / "junit.xml").read_text().startswith("<?xml")


def test_the_command_fails_as_one_run_does(corpora: Path) -> None:
    parts = cli_parts(corpora, 2, "dolma")
    alone, found = run_cli("validate", "dolma", cwd=corpora), run_cli("report", "merge", *parts, cwd=corpora)
    assert (found.returncode, found.stdout, found.stderr) == (1, alone.stdout, b"")
    (corpora / "dolma").rename(corpora / "moved")
    assert run_cli("report", "merge", *parts, cwd=corpora).stderr == b"error: path dolma does not exist\n"
    assert run_cli("report", "merge", *parts, "--path", "moved", cwd=corpora).stdout == alone.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shard", "1/2"], "--shard writes a part of a report, and nothing else: add --report part=FILE alone"),
        (["--report", "part=x"], "--report part=FILE is for a share of a run: add --shard I/N, or name another format"),
        (["--shard", "3/2", "--report", "part=x"], "--shard is '3/2', expected i/n with i from 1 to n, like 3/8"),
        (
            ["-", "--format", "jsonl", "--shard", "1/2", "--report", "part=x"],
            "--shard does a share of a corpus, and standard input belongs to one process: name files",
        ),
    ],
)
def test_wrong_usage(words: list[str], said: str, corpora: Path) -> None:
    done = run_cli("validate", *(["dolma", *words] if "-" not in words else words), cwd=corpora)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"error: {said}\n")
    assert not (corpora / "x").exists()


def test_parts_that_do_not_make_up_one_run_are_refused(corpora: Path) -> None:
    one, two, three = cli_parts(corpora, 3, "dolma")
    for name, other in {"strict": ["--profile", "strict"], "of-4": ["--shard", "1/4"]}.items():
        words = ["dolma", "--shard", "1/3", *other, "--report", f"part={name}"]
        assert run_cli("validate", *words, cwd=corpora).returncode == 0
    for given, status, said in [
        ([two], 3, "2 parts of 3 missing: 1, 3; run the shard with `--shard 1/3`"),
        ([one, two, two, three], 2, "2.part and 2.part are both part 2 of 3: name one of them"),
        (["strict", two, three], 2, "2.part and strict are of different runs, with other `profile`: join the parts of one run"),
        (["of-4", two, three], 2, "2.part and of-4 are of different runs, with other `shard`: join the parts of one run"),
        ([one, two, "none"], 2, "part none is not a file on this machine"),
    ]:  # fmt: skip
        done = run_cli("report", "merge", *given, cwd=corpora)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (status, b"", f"error: {said}\n")
    for name in ("a", "c"):  # one that has grown, and one more
        path = corpora / f"dolma/documents/{name}.jsonl.gz"
        before = path.read_bytes() if path.exists() else None
        path.write_bytes((before or b"") + gzipped(b""))
        done = run_cli("report", "merge", one, two, three, cwd=corpora)
        assert done.stderr == b"error: 1.part is of other files than there are now: run all shards again\n"
        if before is not None:
            path.write_bytes(before)


def test_the_bytes_of_all_parts_count_as_in_one_run(tmp_path: Path) -> None:
    limits = Limits(total_bytes=1200)
    found = joined(divided(tmp_path, TWICE, 2, limits=limits), TWICE, limits=limits)
    assert (validate(TWICE, limits=limits).verdict, found.verdict) == ("incomplete", "incomplete")
    assert found.findings[0].message == (
        "read 1,434 uncompressed bytes, more than --limit total-bytes (1,200); 2 of 2 shards were read"
    )


def test_a_part_that_a_limit_ended_early_makes_the_report_incomplete(corpora: Path) -> None:
    words = ["dolma", "--limit", "total-bytes=1", "--report", "part=1.part", "--shard"]
    assert run_cli("validate", *words, "1/1", cwd=corpora).returncode == 3
    done = run_cli("report", "merge", "1.part", cwd=corpora)
    alone = run_cli("validate", *words[:3], "--jobs", "1", cwd=corpora)
    assert (done.returncode, done.stdout, done.stderr) == (3, alone.stdout, b"")


def test_the_lines_conform_to_the_schema(tmp_path: Path) -> None:
    schemas = [
        json.loads(resource("schemas", f"report/{name}.schema.json").read_bytes()) for name in ("part", "report")
    ]
    registry = referencing.Registry().with_resource(
        "report.schema.json", referencing.Resource.from_contents(schemas[1])
    )
    check = jsonschema.Draft202012Validator(schemas[0], registry=registry).validate
    kinds = set()
    for path, most in ((TWICE, None), (ROWS, None), (ACROSS, 1_000), (RELEASE, None)):
        limits = Limits(total_bytes=most)
        for file in divided(tmp_path, path, 1, limits=limits, ignore=["OSC309"], dedup=True, profile="hub"):
            for line in Path(file).read_bytes().split(b"\n")[:-1]:
                check(json.loads(line))
                kinds.add(json.loads(line)["kind"])
    assert kinds == schemas[0]["$defs"].keys() - {"count", "sha256", "by_reason"}


def test_what_parts_have_read_is_not_read_again(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    for name in ("a", "b", "c"):
        (corpus / "documents").mkdir(parents=True, exist_ok=True)
        row = {"id": name, "text": f"a text of {name}", "source": "s"}
        (corpus / f"documents/{name}.jsonl").write_text(json.dumps(row) + "\n")
    (corpus / "NOTES").write_bytes(b"how it was made\n")
    assert run_cli("seal", corpus, "--format", "dolma").returncode == 0
    alone = seen(validate(corpus, profile="strict"))
    files = divided(tmp_path, corpus, 2, profile="strict")
    (corpus / "documents/b.jsonl").write_text('{"id": 123, "text": "a text of b", "source": "s"}\n')
    (corpus / "NOTES").write_bytes(b"how it was faked")
    found = joined(files, corpus, profile="strict")
    assert seen(found) == alone
    assert "MAN204" in validate(corpus, profile="strict").by_rule.keys() - found.by_rule.keys()


def test_how_a_corpus_is_loaded_is_judged_where_parts_are_joined(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "documents").mkdir(parents=True)
    for name, value in {"a": 1, "b": "x", "c": None}.items():
        row = {"id": name, "text": f"a text of {name}", "source": "s", "x": value}
        (corpus / f"documents/{name}.jsonl").write_text(json.dumps(row) + "\n")
    alone = seen(validate(corpus, profile="hub"))
    found = joined(divided(tmp_path, corpus, 2, profile="hub"), corpus, profile="hub")
    assert seen(found) == alone
    assert "HUB202" in found.by_rule


def test_a_flipped_bit_or_a_lost_end_is_noticed(tmp_path: Path) -> None:
    file = Path(divided(tmp_path, TWICE, 1)[0])
    whole = file.read_bytes()
    chosen = random.Random(1)
    damaged = [whole[:-1], *(whole[: chosen.randrange(len(whole))] for _ in range(20))]
    for _ in range(150):
        bits = bytearray(whole)
        bits[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        damaged.append(bytes(bits))
    for data in damaged:
        file.write_bytes(data)
        with pytest.raises(UsageError, match="is damaged"):
            joined([str(file)], TWICE)


def test_a_part_writes_only_below_the_temporary_folder(tmp_path: Path) -> None:
    for path in ("../outside", str(tmp_path / "outside")):
        with pytest.raises(UsageError, match="which leads elsewhere"):
            append_scratch({"path": path, "data": ""}, tmp_path / "scratch")
