"""Results that are kept give the same report as checks, and only for the same bytes, names, options and code."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shards.test_parts import seen
from support import run_cli
from test_fixtures import CASES, expected_of, input_of, name_of

from corpusfmt.engine import cache as module
from corpusfmt.engine import validate as validating
from corpusfmt.engine.keeping import FOLDER, Cache
from corpusfmt.engine.validate import validate
from corpusfmt.formats import formats
from corpusfmt.io.limits import Limits
from corpusfmt.model import UsageError

EVERY = "CORPUSFMT_PARTS" in os.environ


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shards that were checked."""
    names: list[str] = []
    check = validating.check_shard

    def noted(format_name: str, options: Any, shard: Any) -> Any:
        names.append(shard.name)
        return check(format_name, options, shard)

    monkeypatch.setattr(validating, "check_shard", noted)
    return names


def cache_in(folder: Path, *data: str) -> Cache:
    return Cache(folder / FOLDER, data, 0, True)


@pytest.mark.parametrize("case", CASES if EVERY else CASES[::46], ids=name_of)
def test_a_hit_is_a_miss_in_every_output(case: Path, tmp_path: Path, checks: list[str]) -> None:
    arguments = dict(expected_of(case)["arguments"])
    if "blocklist" in arguments:
        arguments["blocklist"] = case / arguments["blocklist"]
    for profile in dict.fromkeys((arguments.get("profile", "standard"), "strict", "hub")):
        asked = arguments | {"profile": profile}
        alone = seen(validate(input_of(case), **asked))
        first = seen(validate(input_of(case), cache=cache_in(tmp_path), **asked))
        checks.clear()
        report = validate(input_of(case), cache=cache_in(tmp_path), **asked)
        assert alone == first == seen(report)
        is_kept = report.format in formats() and formats()[report.format].reads_only_its_files
        if is_kept and report.verdict.value == "valid":
            assert checks == []


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
    "fail fast": lambda *_: {"fail_fast": True, "ignore": ["DOL305"]},
    "code": lambda _, patch: patch.setattr(module, "_digest_of_code", lambda: "other"),
    "libraries": lambda _, patch: patch.setattr(module, "_libraries", lambda: ["other"]),
    "version": lambda _, patch: patch.setattr(module, "VERSION", "9"),
    "key": lambda folder, patch: patch.setenv("XDG_CACHE_HOME", str(folder / "of another user")),
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


def test_entries_that_are_damaged_or_of_others_do_not_count(corpus: Path, tmp_path: Path, checks: list[str]) -> None:
    expected = seen(validate(corpus, cache=cache_in(tmp_path)))
    entries = sorted((tmp_path / FOLDER).glob("*.result"))
    whole = entries[0].read_bytes()
    for damage in (b"", whole[:-1], whole[:40], whole.replace(b"DOL305", b"DOL306"), whole[:32] + b"[" * 100_000):
        for each in entries:
            each.write_bytes(damage)
        checks.clear()
        assert seen(validate(corpus, cache=cache_in(tmp_path))) == expected
        assert len(checks) == 2
    entries[0].unlink()
    os.mkfifo(entries[0])
    entries[1].unlink()
    entries[1].symlink_to("/dev/zero")
    assert seen(validate(corpus, cache=cache_in(tmp_path))) == expected


def test_a_run_that_counts_what_it_reads_reads_all_of_it(corpus: Path, tmp_path: Path) -> None:
    limits = Limits(max_total_bytes=4_900)
    expected = seen(validate(corpus, limits=limits))
    for _ in range(2):
        assert seen(validate(corpus, limits=limits, cache=cache_in(tmp_path))) == expected


def test_a_cache_is_never_inside_the_data_nor_behind_a_link(corpus: Path, tmp_path: Path) -> None:
    inside = Cache(corpus / FOLDER, [str(corpus)], 0)
    assert validate(corpus, cache=inside).verdict.value == "invalid"
    assert not (corpus / FOLDER).exists()
    (tmp_path / FOLDER).symlink_to(corpus)
    assert validate(corpus, cache=Cache(tmp_path / FOLDER, [], 0)).verdict.value == "invalid"
    assert sorted(each.name for each in corpus.iterdir()) == ["documents"]
    with pytest.raises(UsageError, match="is a link"):
        validate(corpus, cache=cache_in(tmp_path))


def test_the_least_recently_used_entries_are_removed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate(corpus, cache=cache_in(tmp_path))
    entries = sorted((tmp_path / FOLDER).glob("*.result"))
    os.utime(entries[1], (0, 0))
    (tmp_path / FOLDER / ".corpusfmt-00.partial").touch()
    os.utime(tmp_path / FOLDER / ".corpusfmt-00.partial", (0, 0))
    (tmp_path / FOLDER / "mine").touch()
    monkeypatch.setattr(module, "MOST_BYTES", entries[0].stat().st_size)
    validate(corpus / "documents" / "0.jsonl.gz", cache=cache_in(tmp_path), select=["GEN104"])
    left = {each.name for each in (tmp_path / FOLDER).iterdir()}
    assert entries[1].name not in left
    assert {"mine", ".gitignore"} <= left
    assert ".corpusfmt-00.partial" not in left


def test_the_command_keeps_results_if_asked_and_never_in_ci(corpus: Path, tmp_path: Path) -> None:
    def run(*options: str, **environment: str) -> tuple[int, bytes]:
        done = run_cli(
            "validate", corpus, *options, cwd=tmp_path, env={"XDG_CACHE_HOME": str(tmp_path / "user"), **environment}
        )
        return done.returncode, done.stdout + done.stderr

    expected = run(CI="")
    assert run("--no-cache", CI="") == run(CI="true") == expected
    assert not (tmp_path / FOLDER).exists()  # the files are small
    for jobs in ("1", "2"):
        assert run("--cache", "--jobs", jobs, CI="true") == expected
    assert (tmp_path / FOLDER / ".gitignore").read_text().endswith("*\n")
    assert len(list((tmp_path / FOLDER).glob("*.result"))) == 2
    (tmp_path / "corpusfmt.toml").write_text("cache = false\n")
    assert run()[0] == expected[0]
    inside = run_cli("validate", ".", "--cache", "--config", "none", cwd=corpus)
    assert (inside.returncode, inside.stderr[:16]) == (2, b"error: --cache: ")
