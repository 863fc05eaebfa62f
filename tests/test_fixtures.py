"""Every fixture folder is a test: its `input` gives exactly the findings of `expected.json`.

The functions in `fixtures/*/*cases.py` make the folders, which are also packed as an archive for other validators.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures import cases, conformance, make
from support import FIXTURES, REPOSITORY, run_cli, tree, zstd

import corpusfmt
from corpusfmt.formats import formats
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Finding, Report, Verdict

CASES = sorted(path.parent for path in FIXTURES.glob("*/*/*/*/expected.json"))


def name_of(case: Path) -> str:
    return case.relative_to(FIXTURES).as_posix()


def expected_of(case: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((case / "expected.json").read_text("utf-8"))
    return expected


def input_of(case: Path) -> Path:
    """Return the folder `input`, or the one file of that name with a suffix."""
    folder = case / "input"
    return folder if folder.is_dir() else next(iter(sorted(case.glob("input.*"))))


def report_of(case: Path, **more: Any) -> Report:
    """Validate a case as its `expected.json` says."""
    arguments = expected_of(case)["arguments"] | more
    if "blocklist" in arguments:
        arguments["blocklist"] = case / arguments["blocklist"]
    return corpusfmt.validate(input_of(case), **arguments)


def summary_of(finding: Finding) -> dict[str, Any]:
    at = finding.location
    return {
        "rule": finding.code,
        "severity": finding.severity.value,
        "path": at.path,
        "line": at.line,
        "count": finding.count,
    }


def shown(finding: Finding) -> dict[str, Any]:
    """Return all that users see of a finding beside what `expected.json` declares."""
    at = finding.location
    place = {"column": at.column, "byte": at.byte, "pointer": at.pointer, "record": at.record}
    seen = {"rule": finding.code, "path": at.path, "line": at.line, "message": finding.message, "hint": finding.hint}
    return seen | {name: value for name, value in place.items() if value is not None}


def order(record: dict[str, Any]) -> tuple[str, str, int, int]:
    return record["rule"], record["path"], record["line"] or 0, record["count"]


@cache
def pins_of(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return, for each case of a format, the findings as users saw them when they were last reviewed."""
    lines = (FIXTURES / name / "findings.jsonl").read_bytes().split(b"\n")[:-1]
    return {record["case"]: record["findings"] for record in map(json.loads, lines)}


def pinned(case: Path) -> list[dict[str, Any]]:
    name, _, rest = name_of(case).partition("/")
    return pins_of(name).get(rest, [])


@cache
def found_cases() -> dict[str, bytes]:
    return make.files_by_cases(FIXTURES)


def test_there_are_cases_and_nothing_else() -> None:
    assert CASES
    assert {path.split("/")[0] for path in found_cases()} == set(cases.names())


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_case(case: Path) -> None:
    expected = expected_of(case)
    report = report_of(case)
    assert sorted(map(summary_of, report.findings), key=order) == sorted(expected["findings"], key=order)
    assert [shown(finding) for finding in report.findings] == pinned(case)
    assert (report.verdict is Verdict.VALID) == (not report.counts["error"] and not report.coverage.gaps)
    assert not set(expected.get("near_misses", ())) & report.by_rule.keys()
    assert ("valid" in case.parts) == (not report.counts["error"])


def test_no_two_formats_claim_the_same_input() -> None:
    for case in CASES:
        entry = entry_of(str(input_of(case)))
        # In a folder, a description goes with any of them.
        apart = [
            fmt
            for fmt in formats().values()
            if not (fmt.is_general or (fmt.descriptions and entry.kind == "directory"))
        ]
        claims = [fmt.name for fmt in apart if fmt.detect(entry)]
        assert len(claims) <= 1, f"{name_of(case)}: {claims}"


@pytest.mark.parametrize("case", CASES[::7], ids=name_of)
def test_a_baseline_knows_what_it_counted(case: Path, tmp_path: Path) -> None:
    report = report_of(case)
    saved = tmp_path / "base.json"
    saved.write_text(corpusfmt.render(report, "json"), "utf-8")
    again = report_of(case, baseline=saved)
    assert (again.findings, again.unmatched) == ([], [])
    assert sum(each["count"] for each in again.suppressed) == sum(report.counts.values())
    assert {each["reason"] for each in again.suppressed} == ({"known from base.json"} if report.findings else set())


@pytest.mark.parametrize("case", CASES[::17], ids=name_of)
def test_command_line_says_the_same(case: Path) -> None:
    expected = expected_of(case)
    options = []
    for name, value in expected["arguments"].items():
        if value is True:
            options.append(f"--{name}")
        elif name == "blocklist":
            options.append(f"--{name}={case / value}")
        else:
            options.append(f"--{name}={','.join(value) if isinstance(value, list) else value}".replace("_", "-"))
    done = run_cli("validate", input_of(case), "--output-format", "jsonl", *options)
    records = [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]
    assert [record["kind"] for record in records[:1] + records[-1:]] == ["run", "summary"]
    found = [(record["rule"], record["location"]["path"]) for record in records[1:-1]]
    assert sorted(found) == sorted((each["rule"], each["path"]) for each in expected["findings"])
    assert done.returncode == (1 if records[-1]["counts"]["error"] else 0)
    assert done.stderr == b""


@pytest.mark.parametrize("name", cases.names())
def test_the_tree_is_what_the_cases_make(name: str) -> None:
    made = cases.files_of(name)
    found = {path: data for path, data in found_cases().items() if path.startswith(f"{name}/")}
    assert found.keys() - made.keys() == set(), "no case makes these: see make fixtures"
    assert make.stale(made, found) == [], "run make fixtures"


MADE = {"dolma/1.0/valid/small/expected.json": b"{}\n", "dolma/1.0/valid/small/input/a.jsonl": b"{}\n"}


def test_the_tree_gets_what_is_new_or_changed(tmp_path: Path) -> None:
    assert sorted(make.write(MADE, tmp_path)) == sorted(MADE)
    assert tree(tmp_path) == MADE
    assert make.write(MADE, tmp_path) == []
    more = MADE | {"dolma/1.0/valid/small/input/a.jsonl": b"[]\n", "dolma/1.0/invalid/new/expected.json": b"{}\n"}
    assert make.write(more, tmp_path) == [
        "dolma/1.0/valid/small/input/a.jsonl",
        "dolma/1.0/invalid/new/expected.json",
    ]
    assert tree(tmp_path) == more


@pytest.mark.parametrize(
    ("path", "removed"),
    [
        ("dolma/1.0/valid/small/input/by-hand.jsonl", "dolma/1.0/valid/small/input/by-hand.jsonl"),
        ("dolma/1.0/valid/renamed/expected.json", "dolma/1.0/valid/renamed"),
        ("dolma/1.0/valid/small/input/a.py", "dolma/1.0/valid/small/input/a.py"),
        ("new/notes.txt", "new/notes.txt"),
    ],
)
def test_what_no_case_makes_is_named_and_left(path: str, removed: str, tmp_path: Path) -> None:
    make.write(MADE, tmp_path)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(b"mine")
    with pytest.raises(SystemExit) as refused:
        make.write(dict.fromkeys(MADE, b"changed"), tmp_path)
    assert tree(tmp_path) == MADE | {path: b"mine"}
    lines = str(refused.value).split("\n")
    assert f"  {path}" in lines
    assert [line for line in lines if "git rm" in line] == [f"  git rm -r tests/fixtures/{removed}"]


def test_what_is_kept_by_hand_is_no_stray(tmp_path: Path) -> None:
    kept = (
        "README.md",
        "cases.py",
        "dolma/findings.jsonl",
        "croissant/samples/valid/a/metadata.json",
        "langid/udhr.tsv.gz",
    )
    by_hand = dict.fromkeys(kept, b"mine")
    make.write(by_hand, tmp_path)
    assert make.write(MADE, tmp_path) == list(MADE)
    assert tree(tmp_path) == MADE | by_hand


def parquet(text: str, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": [text]}), sink, **options)
    return sink.getvalue()


TEXT = b"".join(b"%d\n" % (number**3) for number in range(3000))
OTHER = TEXT.replace(b"\n8\n", b"\n9\n")


@pytest.mark.parametrize(
    ("made", "as_good", "other"),
    [
        (gzip.compress(TEXT, 9), gzip.compress(TEXT, 1), gzip.compress(OTHER, 9)),
        (gzip.compress(TEXT, 9)[:-20], gzip.compress(TEXT, 1)[:-20], gzip.compress(OTHER, 9)[:-20]),
        (gzip.compress(TEXT, 9) + b"more", gzip.compress(TEXT, 1) + b"more", gzip.compress(TEXT, 1)),
        (zstd.compress(TEXT, 3), zstd.compress(TEXT, 9), zstd.compress(OTHER, 3)),
        (parquet("a"), parquet("a", compression="zstd"), parquet("b")),
        (parquet("a")[:-20], parquet("a", compression="zstd")[:-20], parquet("a")),
    ],
    ids=["gzip", "gzip cut short", "gzip and more", "zstd", "parquet", "parquet cut short"],
)
def test_bytes_of_another_compressor_are_as_good(made: bytes, as_good: bytes, other: bytes) -> None:
    file, listed = "oscar/1.1/valid/small/input/de.txt.gz", "oscar/1.1/valid/small/input/de_sha256.txt"
    found = {file: as_good, listed: b"f" * 64 + b"  de.txt.gz\n"}
    assert as_good != made
    assert make.stale({file: made, listed: b"0" * 64 + b"  de.txt.gz\n"}, found) == []
    assert make.stale({file: made, listed: b"0" * 64 + b"  nl.txt.gz\n"}, found) == [listed]
    assert make.stale({file: as_good, listed: b"0" * 64 + b"  de.txt.gz\n"}, found) == [listed]
    assert make.stale({file: made}, {file: other}) == [file]


def example_of(heading: str) -> str:
    """Return the example in a section of CONTRIBUTING.md."""
    section = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(example)


def test_a_case_is_one_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.files_of("dolma")
    from fixtures.dolma.cases import CASES as DOLMA

    monkeypatch.setattr(DOLMA, "declared", [])
    exec(compile(example_of("Add a case"), "example_case.py", "exec", dont_inherit=True), {"__name__": "example_case"})
    make.write(DOLMA.files(), tmp_path)
    folders = sorted(tmp_path.glob("*/*/*"))
    assert len(folders) == 2 * 2
    for case in folders:
        report = report_of(case)
        assert list(map(summary_of, report.findings)) == expected_of(case)["findings"]
        assert not set(expected_of(case)["near_misses"]) & report.by_rule.keys()


def keys_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(each)


def test_the_conformance_suite_holds_every_case_and_defines_every_field(tmp_path: Path) -> None:
    archive = conformance.build(tmp_path / "one")
    assert archive.name == f"corpusfmt-conformance-{corpusfmt.__version__}.tar.gz"
    assert archive.read_bytes() == conformance.build(tmp_path / "two").read_bytes()
    with tarfile.open(archive) as packed:
        files = {
            member.name.partition("/")[2]: (packed.extractfile(member) or io.BytesIO()).read() for member in packed
        }
    folders = set(map(name_of, CASES))
    there = {path: data for path, data in tree(FIXTURES).items() if make.case_of(path) in folders}
    assert there.items() <= files.items()
    pins = {f"{name}/findings.jsonl" for name in cases.names()}
    assert files.keys() - there.keys() == {*conformance.BESIDE, conformance.TABLES, *pins}
    readme = files["README.md"].decode()
    used = {
        key
        for path, data in files.items()
        if path.endswith(("expected.json", "findings.jsonl"))
        for line in ([data] if path.endswith(".json") else data.split(b"\n")[:-1])
        for key in keys_in(json.loads(line))
    }
    assert {key for key in used if f"`{key}`" not in readme} == set()
    assert all(f"`{name}`" in readme for name in cases.names())
