"""VALID means VALID: what is not reported, not checked or not there is counted, named and never silent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import gzipped, run_cli

import corpusfmt
from corpusfmt.model import Verdict


def rows(path: Path, count: int, **fields: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = [{"id": f"{path.name}-{number}", "text": "text"} | fields for number in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in found))


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout.decode().split("\n")[-2]


def saved(corpus: Path, path: Path) -> Path:
    run_cli("validate", corpus, "--report", f"json={path}")
    return path


def test_a_new_finding_among_ten_thousand_known_ones_is_shown(tmp_path: Path) -> None:
    corpus = tmp_path / "d"
    rows(corpus / "documents/old.jsonl", 10_000)
    rows(corpus / "documents/same.jsonl", 10)
    base = saved(corpus, tmp_path / "base.json")
    rows(corpus / "documents/new.jsonl", 10)
    with (corpus / "documents/old.jsonl").open("a") as file:
        file.write('{"id":"appended","text":"text"}\n')
    for jobs in ("1", "2"):
        done = run_cli("validate", corpus, "--baseline", base, "--jobs", jobs)
        assert done.returncode == 1
        assert last_line(done) == (
            "INVALID: 11 errors, 0 warnings; 10,010 known from base.json. Explain one with `corpusfmt rule DOL306`."
        )
        assert b"DOL306 error missing-source: `source` is missing (11 times in 2 files, first here)" in done.stdout
        text = run_cli("validate", corpus, "--baseline", base, "--output-format", "grouped").stdout.decode()
        assert "1  documents/old.jsonl:10001  `source` is missing" in text
        assert "10  documents/new.jsonl:1  `source` is missing" in text
        assert "documents/same.jsonl" not in text


def test_a_baseline_counts_what_it_knows_and_names_what_is_gone(tmp_path: Path) -> None:
    corpus = tmp_path / "d"
    rows(corpus / "documents/a.jsonl", 12)
    rows(corpus / "documents/b.jsonl", 3)
    base = saved(corpus, tmp_path / "base.json")
    rows(corpus / "documents/b.jsonl", 3, source="s")
    report = json.loads(run_cli("validate", corpus, "--baseline", base, "--output-format", "json").stdout)
    assert report["suppressed"] == [{"rule": "DOL306", "reason": "known from base.json", "count": 12}]
    assert report["unmatched"] == ["baseline entry DOL306 in documents/b.jsonl"]
    assert (report["verdict"], report["counts"]["error"]) == ("valid", 0)
    assert corpusfmt.validate(corpus, baseline=base).suppressed == report["suppressed"]


def test_a_baseline_of_several_inputs(tmp_path: Path) -> None:
    for name, count in (("one", 4), ("two", 5)):
        rows(tmp_path / name / "documents/a.jsonl", count)
    done = run_cli("validate", "one", "two", "--report", "json=base.json", cwd=tmp_path)
    assert done.returncode == 1
    rows(tmp_path / "two/documents/a.jsonl", 6)
    done = run_cli("validate", "one", "two", "--baseline", "base.json", cwd=tmp_path)
    assert b"two/documents/a.jsonl:6: DOL306" in done.stdout
    assert b"INVALID: 1 error, 0 warnings; 9 known from base.json." in done.stdout
    assert b"matched nothing" not in done.stdout
    rows(tmp_path / "one/documents/a.jsonl", 1, source="s")
    done = run_cli("validate", "one", "two", "--baseline", "base.json", cwd=tmp_path)
    assert b"  matched nothing: baseline entry DOL306 in one/documents/a.jsonl\n" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--ignore", "DOL,GEN"), "5 ignored (DOL)"),
        (("--ignore", "DOL306"), "5 ignored (DOL306)"),
        (("--select", "OSC"), "5 not selected"),
        (("--config", "corpusfmt.toml"), "5 ignored: an old dump"),
    ],
)
def test_what_is_left_out_is_in_the_last_line_and_in_every_report(
    options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    rows(tmp_path / "d/documents/a.jsonl", 5)
    table = '[[rule]]\nrules = ["missing-source"]\nseverity = "ignore"\nreason = "an old dump"\n'
    (tmp_path / "corpusfmt.toml").write_text(table)
    done = run_cli("validate", "d", *options, "--require-complete", cwd=tmp_path)
    assert (done.returncode, last_line(done)) == (0, f"VALID: 0 errors, 0 warnings; {told}")
    outputs = ("json", "jsonl", "html", "markdown", "junit", "sarif", "gitlab", "github", "grouped", "concise")
    run_cli("validate", "d", *options, *(f"--report={each}={each}" for each in outputs), cwd=tmp_path)
    for output in outputs:
        text = (tmp_path / output).read_text("utf-8")
        assert told.partition(" ")[2].removeprefix("ignored: ") in text
        assert "DOL306" in text or output == "github"


def test_settings_that_match_nothing_are_named(tmp_path: Path) -> None:
    rows(tmp_path / "d/documents/a.jsonl", 1)
    table = '[[rule]]\nrules = ["DOL306"]\nseverity = "warning"\npaths = ["{}"]\nreason = "an old dump"\n'
    (tmp_path / "corpusfmt.toml").write_text(table.format("gone/*") + table.format("documents/*"))
    done = run_cli("validate", "d", "--config", "corpusfmt.toml", "--ignore", "DOL5", cwd=tmp_path)
    lines = done.stdout.decode().split("\n")
    assert "  regraded: DOL306: an old dump" in lines
    assert "  matched nothing: ignored rule DOL5" in lines
    assert "  matched nothing: override of DOL306 in gone/* (an old dump)" in lines


def test_what_was_not_run_is_named_for_each_file(tmp_path: Path) -> None:
    corpus = tmp_path / "d"
    row = json.dumps({"id": "1", "text": "text", "source": "s"}) + "\n"
    for part in "abc":
        for name in (f"documents/{part}.jsonl.gz", f"attributes/x/{part}.jsonl.gz"):
            (corpus / name).parent.mkdir(parents=True, exist_ok=True)
            (corpus / name).write_bytes(gzipped(row.encode())[:-4])
    outputs = ("full", "concise", "grouped", "markdown", "html", "junit", "sarif", "gitlab", "github", "json")
    run_cli("validate", corpus, *(f"--report={each}={tmp_path / each}" for each in outputs))
    for output in outputs:
        text = (tmp_path / output).read_text("utf-8")
        for part in "abc":
            assert any(
                f"attributes/x/{part}.jsonl.gz" in line and ("not run" in line or "skipped" in line)
                for line in text.split("\n")
            ) or (output == "json" and f'"path": "attributes/x/{part}.jsonl.gz"' in text)


@pytest.mark.parametrize("format_name", ["dolma", "oscar", "parquet"])
def test_nothing_at_all_is_never_valid(format_name: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    done = run_cli("validate", tmp_path / "d", "--format", format_name)
    assert done.returncode == 1
    assert last_line(done).startswith("INVALID: 1 error")


def test_empty_standard_input_is_never_valid() -> None:
    done = run_cli("validate", "-", "--format", "dolma", stdin=b"")
    assert done.returncode == 1
    assert b".: GEN104 error nothing-to-check: no documents found, nothing was checked\n" in done.stdout
    assert run_cli("validate", "-", "--format", "dolma", "--ignore", "GEN104", stdin=b"").returncode == 0
    assert run_cli("validate", "-", "--format", "croissant", stdin=b"").returncode == 1


def test_quarantine_of_a_source_that_breaks_off_is_incomplete(tmp_path: Path) -> None:
    corpus = tmp_path / "d"
    (corpus / "documents").mkdir(parents=True)
    row = {"text": "text", "source": "s"}
    data = "".join(json.dumps(row | {"id": str(number)}) + "\n" for number in range(2_000))
    (corpus / "documents/a.jsonl.gz").write_bytes(gzipped(data.encode())[:-500])
    quarantine = ("--to", "dolma", "--on-bad-record", "quarantine")
    done = run_cli("convert", corpus, tmp_path / "out", *quarantine)
    assert done.returncode == 3
    assert b"truncated: documents/a.jsonl.gz; the number of missing documents is unknown" in done.stdout
    report = corpusfmt.convert(corpus, tmp_path / "again", to="dolma", on_bad_record="quarantine")
    assert report.verdict is Verdict.INCOMPLETE


def test_data_that_is_not_there_to_be_checked_is_a_gap(tmp_path: Path) -> None:
    case = Path(__file__).parents[1] / "fixtures/croissant/1.0/valid/files/input"
    done = run_cli("validate", case, "--data")
    assert done.returncode == 0
    assert last_line(done) == "INCOMPLETE: 1 of 1 shards seen, 0 errors, 0 warnings; 1 not checked."
    assert (
        b"  not checked: metadata.json: data (1 file is on the web, and nothing is fetched: --map names local copies)\n"
        in done.stdout
    )
    assert run_cli("validate", case, "--data", "--require-complete").returncode == 3


def test_reports_on_standard_output_and_in_folders_that_are_not_there(tmp_path: Path) -> None:
    rows(tmp_path / "d/documents/a.jsonl", 1)
    done = run_cli("validate", "d", "--output-format", "concise", "--report", "jsonl=-", cwd=tmp_path)
    lines = done.stdout.decode().split("\n")
    assert lines[1].startswith("INVALID: ")
    assert [json.loads(line)["kind"] for line in lines[2:-1]] == ["run", "finding", "summary"]
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    done = run_cli("validate", "d", "--report", "json=no/such/report.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, b"error: folder no/such for --report does not exist\n")


@pytest.mark.parametrize("count", [1, 5_000])
@pytest.mark.parametrize(("source", "status"), [({}, 1), ({"source": "s"}, 0)])
def test_a_reader_that_has_seen_enough_does_not_change_the_verdict(
    count: int, source: dict[str, str], status: int, tmp_path: Path
) -> None:
    rows(tmp_path / "d/documents/a.jsonl", count, added="yesterday", **source)
    options = f"--max-per-rule {count} -q --output-format concise"
    command = f"{sys.executable} -m corpusfmt validate {tmp_path}/d {options} --report json={tmp_path}/r.json"
    script = f"set -o pipefail; {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (status, b"")
    assert json.loads((tmp_path / "r.json").read_bytes())["counts"]["warning"] == count


@pytest.mark.parametrize("command", ["rule", "formats"])
def test_a_reader_that_reads_nothing_is_no_error(command: str) -> None:
    script = f"{sys.executable} -m corpusfmt {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_text_is_limited_and_info_is_on_request(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.jsonl").write_text("".join(f'{{"text": "a", "x": {n}e999}}\n' for n in range(1, 131)))
    command = "validate", tmp_path / "d", "--format", "jsonl", "--max-per-rule", "130"
    few, all_of_them = (run_cli(*command, *options).stdout.decode() for options in ((), ("-v",)))
    assert few.count("GEN303 error number-out-of-range:") == 100
    assert "\n… 30 more findings are not shown (GEN303): -v shows more\n        130 GEN303 error" in few
    assert (all_of_them.count("GEN303 error number-out-of-range:"), "more findings" in all_of_them) == (130, False)


def test_annotations_are_relative_to_the_repository(tmp_path: Path) -> None:
    rows(tmp_path / "data/d/documents/a b.jsonl", 1)
    (tmp_path / ".git").mkdir()
    for folder, given in ((tmp_path, "data/d"), (tmp_path / "data", "d"), (tmp_path / "data/d", "documents/a b.jsonl")):
        options = ("--format", "dolma", "--output-format")
        github = run_cli("validate", given, *options, "github", cwd=folder).stdout
        assert b"::error file=data/d/documents/a b.jsonl,line=1," in github
        (run,) = json.loads(run_cli("validate", given, *options, "sarif", cwd=folder).stdout)["runs"]
        place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "data/d/documents/a%20b.jsonl", "uriBaseId": "SRCROOT"}
        (issue, *_) = json.loads(run_cli("validate", given, *options, "gitlab", cwd=folder).stdout)
        assert issue["location"]["path"] == "data/d/documents/a b.jsonl"
