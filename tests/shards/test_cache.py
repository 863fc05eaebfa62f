"""Results that are kept give the same report as checks, and only for the same bytes, names, options and code."""

from __future__ import annotations

import gzip
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shards.test_parts import seen
from support import run_cli
from test_fixtures import CASES, expected_of, input_of, name_of

from corpusfmt.engine import cache as module
from corpusfmt.engine import validate as validating
from corpusfmt.engine.cache import Cache
from corpusfmt.engine.sharing import Validation
from corpusfmt.engine.validate import validated
from corpusfmt.formats import formats
from corpusfmt.io.limits import Limits
from corpusfmt.model import Report, UsageError

EVERY = "CORPUSFMT_PARTS" in os.environ


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shards that were checked."""
    names: list[str] = []
    check = validating.check_shard

    def noted(format_name: str, options: Any, shard: Any, **hashing: bool) -> Any:
        names.append(shard.name)
        return check(format_name, options, shard, **hashing)

    monkeypatch.setattr(validating, "check_shard", noted)
    return names


def validate(path: Path, cache: Cache | None = None, **options: Any) -> Report:
    return validated(path, Validation(**options), cache=cache)


def cache_in(folder: Path) -> Cache:
    return Cache(folder / "verdicts", 0, True)


@pytest.mark.parametrize("case", CASES if EVERY else CASES[::46], ids=name_of)
def test_a_hit_is_a_miss_in_every_output(case: Path, tmp_path: Path, checks: list[str]) -> None:
    arguments = dict(expected_of(case)["arguments"])
    if "blocklist" in arguments:
        arguments["blocklist"] = case / arguments["blocklist"]
    alone = seen(validate(input_of(case), **arguments))
    first = seen(validate(input_of(case), cache=cache_in(tmp_path), **arguments))
    checks.clear()
    report = validate(input_of(case), cache=cache_in(tmp_path), **arguments)
    assert alone == first == seen(report)
    is_kept = report.format in formats() and formats()[report.format].reads_only_its_files
    if is_kept and report.verdict.value == "valid":
        assert not set(checks) - {"croissant.json"}  # a description beside the data is not kept


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two files with a defect each, one of which is repeated between them."""
    folder = tmp_path / "corpus"
    (folder / "documents").mkdir(parents=True)
    for number in range(2):
        rows: list[dict[str, object]] = [
            {"id": f"{number}-{row}", "source": "s", "text": "a text"} for row in range(50)
        ]
        rows[7] |= {"id": "twice"}
        rows[9] |= {"text": 3}
        data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        (folder / "documents" / f"{number}.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
    return folder


def rewritten(path: Path) -> None:
    data = gzip.decompress(path.read_bytes()).replace(b"a text", b"another", 1)
    path.write_bytes(gzip.compress(data, mtime=0))


CHANGES: dict[str, Callable[[Path, pytest.MonkeyPatch], dict[str, Any] | None]] = {
    "profile": lambda *_: {"profile": "strict"},
    "ignored": lambda *_: {"ignore": ["DOL305"]},
    "longest line": lambda *_: {"max_line_bytes": 10_000},
    "most findings": lambda *_: {"max_per_rule": 3},
    "code": lambda _, patch: patch.setattr(module, "_digest_of_code", lambda: "other"),
    "libraries": lambda _, patch: patch.setattr(module, "_libraries", lambda: ["other"]),
    "version": lambda _, patch: patch.setattr(module, "VERSION", "9"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_check_depends_on_is_part_of_the_name(
    change: Callable[[Path, pytest.MonkeyPatch], dict[str, Any] | None],
    corpus: Path,
    tmp_path: Path,
    checks: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(2):
        validate(corpus, cache=cache_in(tmp_path))
    assert len(checks) == 2
    validate(corpus, cache=cache_in(tmp_path), **(change(tmp_path, monkeypatch) or {}))
    assert len(checks) == 4


def test_only_what_has_changed_is_checked_again(corpus: Path, tmp_path: Path, checks: list[str]) -> None:
    before = seen(validate(corpus, cache=cache_in(tmp_path)))
    assert "twice" in before["json"]
    checks.clear()
    rewritten(corpus / "documents" / "1.jsonl.gz")
    assert seen(validate(corpus, cache=cache_in(tmp_path))) == seen(validate(corpus, jobs=1))
    assert checks[0] == "documents/1.jsonl.gz"
    assert len(checks) == 3
    checks.clear()
    (corpus / "documents" / "0.jsonl.gz").rename(corpus / "documents" / "2.jsonl.gz")
    validate(corpus, cache=cache_in(tmp_path))
    assert len(checks) == 2


def test_a_file_that_changes_during_its_check_is_checked_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, path = validating.check_shard, corpus / "documents" / "0.jsonl.gz"
    whole = path.read_bytes()
    rows = gzip.decompress(whole).replace(b'"text": 3', b'"text": "a text"')
    path.write_bytes(gzip.compress(rows, mtime=0))

    def disturbed(*arguments: Any, **named: Any) -> Any:
        result = check(*arguments, **named)
        path.write_bytes(whole)
        return result

    monkeypatch.setattr(validating, "check_shard", disturbed)
    assert "0.jsonl.gz:10" not in seen(validate(path, cache=cache_in(tmp_path)))["concise"]
    assert list((tmp_path / "verdicts").glob("*.result")) == []
    monkeypatch.setattr(validating, "check_shard", check)
    assert "0.jsonl.gz:10" in seen(validate(path, cache=cache_in(tmp_path)))["concise"]


def test_entries_that_a_crash_cut_off_do_not_count(corpus: Path, tmp_path: Path, checks: list[str]) -> None:
    expected = seen(validate(corpus, cache=cache_in(tmp_path)))
    for length in (0, 40, -1):
        for each in (tmp_path / "verdicts").glob("*.result"):
            each.write_bytes(each.read_bytes()[:length])
        checks.clear()
        assert seen(validate(corpus, cache=cache_in(tmp_path))) == expected
        assert len(checks) == 2


def test_a_run_that_counts_what_it_reads_reads_all_of_it(corpus: Path, tmp_path: Path) -> None:
    limits = Limits(total_bytes=4_900)
    expected = seen(validate(corpus, limits=limits))
    for _ in range(2):
        assert seen(validate(corpus, limits=limits, cache=cache_in(tmp_path))) == expected


def test_a_folder_of_results_that_comes_with_the_data_does_not_count(
    corpus: Path, tmp_path: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = seen(validate(corpus, cache=cache_in(tmp_path)))
    (tmp_path / "verdicts").rename(corpus / ".corpusfmt_cache")
    monkeypatch.chdir(corpus)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert (run_cli("validate", ".", "--cache").returncode, len(checks)) == (1, 2)
    assert seen(validate(corpus, cache=cache_in(tmp_path))) == expected
    assert len(checks) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX systems")
def test_only_the_user_can_read_results(corpus: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        validate(corpus, cache=cache_in(tmp_path))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "verdicts").iterdir()}
    assert (stat.S_IMODE((tmp_path / "verdicts").stat().st_mode), modes) == (0o700, {0o600})


def test_a_cache_that_cannot_be_written_is_an_error_only_if_asked(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "verdicts").touch()
    assert validate(corpus, cache=Cache(tmp_path / "verdicts", 0)).verdict.value == "invalid"
    with pytest.raises(UsageError, match=r"`cache`: .*verdicts"):
        validate(corpus, cache=cache_in(tmp_path))


def test_the_least_recently_used_entries_are_removed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate(corpus, cache=cache_in(tmp_path))
    entries = sorted((tmp_path / "verdicts").glob("*.result"))
    os.utime(entries[1], (0, 0))
    (tmp_path / "verdicts" / ".corpusfmt-00.partial").touch()
    os.utime(tmp_path / "verdicts" / ".corpusfmt-00.partial", (0, 0))
    (tmp_path / "verdicts" / "mine").touch()
    monkeypatch.setattr(module, "MOST_BYTES", entries[0].stat().st_size)
    validate(corpus / "documents" / "0.jsonl.gz", cache=cache_in(tmp_path), select=["GEN104"])
    left = {each.name for each in (tmp_path / "verdicts").iterdir()}
    assert entries[1].name not in left
    assert "mine" in left
    assert ".corpusfmt-00.partial" not in left


def test_the_command_keeps_results_if_asked_and_never_in_ci(corpus: Path, tmp_path: Path) -> None:
    def run(*options: str, **environment: str) -> tuple[int, bytes]:
        done = run_cli(
            "validate", corpus, *options, cwd=tmp_path, env={"XDG_CACHE_HOME": str(tmp_path / "user"), **environment}
        )
        return done.returncode, done.stdout + done.stderr

    expected, folder = run(CI=""), tmp_path / "user" / "corpusfmt" / "verdicts"
    assert run("--no-cache", CI="") == run(CI="true") == expected
    assert not folder.exists()  # the files are small
    for jobs in ("1", "2"):
        assert run("--cache", "--jobs", jobs, CI="true") == expected
    assert len(list(folder.glob("*.result"))) == 2
    (tmp_path / "corpusfmt.toml").write_text("cache = false\n")
    assert run()[0] == expected[0]
    homeless = run("--no-cache", XDG_CACHE_HOME="", HOME=""), run("--cache", XDG_CACHE_HOME="relative")
    assert [(status, b"error: --cache: no home" in said) for status, said in homeless] == [(1, False), (2, True)]
