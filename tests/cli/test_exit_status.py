"""Every exit status of the contract, by doing it; and output that pipes and people can use."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from support import LONG_LINE, gzipped, run_cli, tree

from corpusfmt.cli.catalogue import known_rules

DOCUMENT = {"id": "1", "text": "text", "source": "test"}


def dolma(folder: Path, *rows: object) -> Path:
    (folder / "documents").mkdir(parents=True)
    data = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "documents" / "0.jsonl.gz").write_bytes(gzipped(data.encode()))
    return folder


def test_1_findings_and_what_counts_as_failure(tmp_path: Path) -> None:
    bad = dolma(tmp_path / "bad", DOCUMENT, DOCUMENT)
    done = run_cli("validate", bad)
    assert done.returncode == 1
    assert b"documents/0.jsonl.gz:2: DOL313 error duplicate-document-id" in done.stdout
    assert run_cli("validate", bad, "--fail-on", "never").returncode == 0
    assert run_cli("validate", bad, "--ignore", "DOL313").returncode == 0
    warned = dolma(tmp_path / "warned", DOCUMENT | {"added": "yesterday"})
    assert run_cli("validate", warned).returncode == 0
    assert run_cli("validate", warned, "--fail-on", "warning").returncode == 1


def test_3_what_could_not_be_read(tmp_path: Path) -> None:
    corpus = dolma(tmp_path / "d", DOCUMENT)
    (corpus / "documents" / "1.jsonl").symlink_to(corpus / "documents")
    (corpus / "documents" / "2.jsonl").symlink_to("/proc/self/mem")
    done = run_cli("validate", corpus)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 3
    assert b"INCOMPLETE" in done.stdout


def test_3_only_where_everything_was_asked_for(tmp_path: Path) -> None:
    corpus = dolma(tmp_path / "d", DOCUMENT)
    (corpus / "documents" / "1.jsonl").write_text(json.dumps(DOCUMENT | {"id": "2"}) + "\n")
    done = run_cli("validate", corpus, "--sample", "50%")
    assert (done.returncode, b"NO ERRORS IN A SAMPLE: 1 of 2 shards seen" in done.stdout) == (0, True)
    assert run_cli("validate", corpus, "--sample", "50%", "--require-complete").returncode == 3


def test_130_interrupted() -> None:
    command = [sys.executable, "-m", "corpusfmt", "validate", "--format", "dolma", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        run.stdin.write(b"\n" * 1_000_000)  # more than a pipe holds: now it is being read
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=60)
    assert (run.returncode, stderr) == (130, b"interrupted\n")


def test_standard_input_is_one_file(tmp_path: Path) -> None:
    row = json.dumps(DOCUMENT).encode() + b"\n"
    for data in (row, gzipped(row)):
        assert run_cli("validate", "--format", "dolma", "-", stdin=data).returncode == 0
    assert run_cli("validate", "--format", "dolma", "-", stdin=row * 2).returncode == 1


def test_several_paths_and_globs_are_one_report(tmp_path: Path) -> None:
    dolma(tmp_path / "one", DOCUMENT)
    dolma(tmp_path / "two", DOCUMENT, DOCUMENT)
    for paths in (("one", "two"), ("*",)):
        done = run_cli("validate", *paths, "--output-format", "json", cwd=tmp_path)
        report = json.loads(done.stdout)
        assert (done.returncode, report["coverage"]["shards_seen"]) == (1, 2)
        assert [each["location"]["path"] for each in report["findings"]] == ["two/documents/0.jsonl.gz"]


def test_reports_baseline_and_rendering(tmp_path: Path) -> None:
    bad = dolma(tmp_path / "bad", DOCUMENT, DOCUMENT)
    saved = tmp_path / "run.jsonl"
    done = run_cli("validate", bad, "--report", f"jsonl={saved}", "--report", f"junit={tmp_path / 'junit.xml'}")
    assert done.returncode == 1
    assert b"<failure" in (tmp_path / "junit.xml").read_bytes()
    assert run_cli("validate", bad, "--baseline", saved).returncode == 0
    rendered = run_cli("report", "render", saved, "--output-format", "markdown")
    assert b"| `DOL313 duplicate-document-id` | error | 1 |" in rendered.stdout


def test_a_configuration_regrades_with_a_reason(tmp_path: Path) -> None:
    bad = dolma(tmp_path / "bad", DOCUMENT, DOCUMENT)
    config = tmp_path / "corpusfmt.toml"
    config.write_text('[[rule]]\nrules = ["DOL313"]\nseverity = "warning"\npaths = ["documents/*"]\nreason = "known"\n')
    assert run_cli("validate", bad, "--config", config).returncode == 0
    for wrong in ('reason = ""', "", 'reason = "known"\nseverities = 1'):
        config.write_text(f'[[rule]]\nrules = ["DOL313"]\nseverity = "warning"\n{wrong}\n')
        assert run_cli("validate", bad, "--config", config).returncode == 2


def test_a_reader_that_goes_away_is_no_error_of_ours(tmp_path: Path) -> None:
    rows = [DOCUMENT | {"id": str(number), "text": 7} for number in range(50)]
    command = f"{sys.executable} -m corpusfmt validate {dolma(tmp_path / 'd', *rows)} --max-per-rule 50 | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_every_rule_is_listed_and_explained() -> None:
    listed = run_cli("rule").stdout.decode().split("\n")[:-1]
    known = known_rules().keys()
    assert {line.split()[0] for line in listed} == known
    explained = run_cli("rule", "DOL313", "invalid-utf8").stdout.decode()
    assert "DOL313 duplicate-document-id" in explained
    assert "Fix:" in explained
    assert {"CNV101", "CRO701", "GEN101", "WET101"} <= known


def test_conversion_stops_at_a_bad_record_or_sets_it_aside(tmp_path: Path) -> None:
    source = dolma(tmp_path / "d", DOCUMENT, {"id": 2, "text": "two", "source": "test"}, DOCUMENT | {"id": "3"})
    done = run_cli("convert", source, tmp_path / "out", "--to", "dolma")
    assert done.returncode == 1
    assert b"documents/0.jsonl.gz:2: DOL302" in done.stderr
    assert not [path for path in tree(tmp_path / "out") if not path.startswith(".corpusfmt/")]
    done = run_cli("convert", source, tmp_path / "kept", "--to", "dolma", "--on-bad-record", "quarantine")
    assert done.returncode == 0
    assert b"rejected: 1 record," in done.stdout
    (rejected,) = tree(tmp_path / "kept-quarantine").values()
    assert json.loads(rejected)["rule"] == "DOL302"


def test_describe_writes_what_validates(tmp_path: Path) -> None:
    source = dolma(tmp_path / "d", DOCUMENT | {"text": LONG_LINE})
    described = tmp_path / "croissant.json"
    options = ("--license", "https://example.org/licence", "--creator", "Example", "--url", "https://example.org")
    assert run_cli("describe", source, "-o", described, "--date-published", "2024-01-31", *options).returncode == 0
    assert run_cli("validate", described, "--profile", "strict").returncode == 0
