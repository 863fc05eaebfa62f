"""Change the code, one small thing at a time, and see whether a test fails: `python -m mutants.run`, from `make mutants`.

`--record` runs all tests once and notes which lines each of them reaches, in its own process and in those it starts. Then
each mutant of a seeded sample gets a fresh process, in which the tests that reach its line run until one fails, the fastest
of each file first. What was tried is kept in build/mutants/results.json. It is not tried again while its module stays as it is,
but for survivors that other tests reach now: `--record FILE...` adds those of some files.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice, zip_longest
from math import ceil
from pathlib import Path
from typing import Any

from mutants.operators import Mutant, mutants

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_PACKAGE = _ROOT / "src" / "corpusfmt"
_RESULTS = _ROOT / "build" / "mutants"
_REACHED = _RESULTS / "reached"
_DURATIONS = _RESULTS / "durations.json"
#: What is mutated, by the name of a row of the table.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "model, rules": ("model.py", "rules.py"),
    "io": ("io/*.py",),
    "engine": ("engine/*.py",),
    "report": ("report/*.py",),
    "formats, shared": ("formats/*.py", "formats/rows/*.py"),
    "OSCAR": ("formats/oscar/**/*.py", "formats/oscar2/**/*.py"),
    "Dolma": ("formats/dolma/**/*.py",),
    "Croissant": ("formats/croissant/**/*.py",),
    "pipeline": ("pipeline/**/*.py",),
}
# Tests may look at each other's time, at processes and at the whole tree of files: a mutant says nothing to them.
_LEFT_OUT = ("tests/mutants/", "tests/fuzz/", "tests/test_meta.py", "tests/test_contributing.py")
# What modules declare is tested here, through the lists of it.
_DECLARED = "tests/test_rules.py"
#: Mutants that no test can notice, each with the reason: by module, line of code and what the change makes of it.
EQUIVALENT: Mapping[tuple[str, str, str], str] = {
    (module, each["line"], each["after"]): each["reason"]
    for module, listed in tomllib.loads((_HERE / "equivalent.toml").read_text("utf-8")).items()
    for each in listed
}
_MOST_SECONDS_OF_TESTS = 40.0
_LONG_TEST = 1.0
_MEMORY = 6 << 30
_ENVIRONMENT = {"PYTHONPATH": str(_HERE / "hook"), "PYTHONDONTWRITEBYTECODE": "1"}
# The status of a process that failed before its tests began.
_BROKEN = 70


@dataclass(frozen=True)
class Result:
    """What came of a mutant: killed (by which test), timeout, survived, or unreached by any test."""

    mutant: Mutant
    group: str
    outcome: str
    by: str
    tests: int
    seconds: float
    #: Tells whether other tests would be run now.
    tests_digest: str = ""


def record(tests: Sequence[str] = ()) -> None:
    """Run tests, all of them or the files that are named, and note what each of them reaches."""
    _RESULTS.mkdir(parents=True, exist_ok=True)
    known = json.loads(_DURATIONS.read_text("utf-8")) if tests and _DURATIONS.exists() else {}
    _DURATIONS.write_text(
        json.dumps({test: known[test] for test in known if not test.startswith(tuple(tests))}), "utf-8"
    )
    settings = _RESULTS / "coveragerc"
    settings.write_text(
        f"[run]\nsource_pkgs = corpusfmt\ndata_file = {_REACHED}\nparallel = true\npatch = subprocess\n"
    )
    environment = {**os.environ, "CORPUSFMT_DURATIONS": str(_DURATIONS), "PYTHONPATH": "tests"}
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "mutants.recorder", *tests]
    command += [f"--ignore={each.rstrip('/')}" for each in _LEFT_OUT]
    command += [f"--cov-config={settings}", "--cov=corpusfmt", "--cov-context=test", "--cov-report="]
    command += ["--cov-append"] if tests else []
    done = subprocess.run(command, cwd=_ROOT, env=environment, check=False)
    if done.returncode > 1:  # a test that fails may have failed for the time that recording takes
        raise SystemExit(f"pytest ended with status {done.returncode}")


def reached() -> dict[str, dict[int, set[str]]]:
    """Return the tests that reach each line, by module (path below the package)."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    from coverage.numbits import numbits_to_nums

    with sqlite3.connect(_REACHED) as data:
        rows = data.execute(
            "select path, context, numbits from line_bits join file on file.id = file_id join context on context.id = context_id"
        )
        for path, context, numbits in rows:
            module = path.partition("/src/corpusfmt/")[2]
            test = re.sub(r"\|(setup|run|teardown)$", "", context)
            if "::" in test:
                for line in numbits_to_nums(numbits):
                    found[module][line].add(test)
    return found


def noticing(mutant: Mutant, lines: Mapping[str, Mapping[int, set[str]]], declared: Iterable[str]) -> set[str]:
    """Return the tests that may notice a mutant: those that reach its line.

    What runs when a module is imported runs once in a process, in whatever test comes first. What comes of it is used by all
    tests that reach functions of the package, and by the `declared` ones, of what modules declare. A line of a function may be of that kind,
    too: it is reached by the very tests that the first line is. What no test is seen to reach may run in a process that is
    ended before it tells.
    """
    of_module = lines.get(mutant.module, {})
    reaching = of_module.get(mutant.line, set())
    if mutant.in_function and reaching and reaching != of_module[min(of_module)]:
        return reaching
    package = Path(mutant.module).parent
    beside = [of_other for module, of_other in lines.items() if Path(module).parent == package]
    found = {test for of_other in beside for tests in of_other.values() for test in tests}
    return found.union(declared)


@cache
def _mutants_of(module: str, source: bytes) -> tuple[Mutant, ...]:
    return tuple(mutants(module, source))


def sample(size: int, seed: int) -> list[tuple[str, Mutant]]:
    """Return mutants of every module, more of those that have more, but not as many times more."""
    found: list[tuple[str, bytes, list[Mutant]]] = []
    for group, patterns in GROUPS.items():
        for path in sorted({path for pattern in patterns for path in _PACKAGE.glob(pattern)}):
            source = path.read_bytes()
            found.append((group, source, list(_mutants_of(path.relative_to(_PACKAGE).as_posix(), source))))
    total = sum(len(each) ** 0.5 for _, _, each in found)
    chosen = []
    for group, source, each in found:
        random.Random(seed).shuffle(each)
        programs = (mutant for mutant in each if mutant.is_program(source))
        chosen += [(group, mutant) for mutant in islice(programs, ceil(size * len(each) ** 0.5 / total))]
    random.Random(seed).shuffle(chosen)
    return chosen


def in_order(tests: set[str], durations: Mapping[str, float]) -> list[str]:
    """Return tests, as many as the time for one mutant allows: for half of it of every file in turn, then the fastest of all.

    Those that take long come last: each of them has the time of a hundred others.
    """
    fastest = sorted(tests & durations.keys(), key=lambda test: (durations[test], test))
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in fastest:
        if durations[test] <= _LONG_TEST:
            by_file[test.partition("::")[0]].append(test)
    in_turn = (test for turn in zip_longest(*by_file.values()) for test in turn if test is not None)
    chosen: dict[str, None] = {}
    seconds = 0.0
    for candidates, until in ((in_turn, _MOST_SECONDS_OF_TESTS / 2), (fastest, _MOST_SECONDS_OF_TESTS)):
        for test in candidates:
            if test in chosen:
                continue
            if chosen and seconds + durations[test] > until:
                break
            seconds += durations[test]
            chosen[test] = None
    return list(chosen)


def _preload() -> None:
    """Import what tests import and mutants cannot change: a process forked from here has it."""
    for name in (
        "pytest",
        "hypothesis",
        "numpy",
        "msgspec",
        "jsonschema",
        "pyld",
        "typer",
        "rich",
        "isal",
        "xxhash",
        "fsspec",
        "warcio",
    ):
        importlib.import_module(name)


def _try(mutant: Mutant, tests: Sequence[str], folder: Path) -> int:
    """Fork a process that runs the tests on the mutant; return its id."""
    source = folder / Path(mutant.module).name
    source.write_bytes(mutant.applied((_PACKAGE / mutant.module).read_bytes()))
    name = "corpusfmt." + mutant.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        os.chdir(_ROOT)
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ |= _ENVIRONMENT | {
            "CORPUSFMT_MUTANT": f"{name}={source}",
            "CORPUSFMT_FAILED": str(folder / "failed"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
        }
        sys.dont_write_bytecode = True
        hook = importlib.util.spec_from_file_location("mutant_hook", _HERE / "hook" / "sitecustomize.py")
        assert hook is not None
        assert hook.loader is not None
        hook.loader.exec_module(importlib.util.module_from_spec(hook))
        import pytest

        options = [
            "-x",
            "-q",
            "--tb=no",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:cov",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",  # of what was imported before the fork
            "-p",
            "mutants.recorder",
        ]
        os._exit(pytest.main([*options, f"--basetemp={folder / 'tmp'}", "--hypothesis-seed=0", *tests]))
    except BaseException:
        traceback.print_exc()
        os._exit(_BROKEN)


def complaint(mutant: Mutant, tests: Sequence[str]) -> str:
    """Return what pytest says where tests fail, run as those of a mutant are, that undoes its change."""
    import tempfile

    source = (_PACKAGE / mutant.module).read_bytes()
    unchanged = replace(mutant, after=source[mutant.start : mutant.end].decode())
    with tempfile.TemporaryDirectory(prefix="corpusfmt-mutant-", ignore_cleanup_errors=True) as folder:
        _, status = os.waitpid(_try(unchanged, tests, Path(folder)), 0)
        return (Path(folder) / "log").read_text("utf-8", "replace") if status else ""


def run(chosen: Sequence[tuple[str, Mutant]], done: dict[str, Any], workers: int) -> Iterator[tuple[str, Result]]:
    """Try mutants, some at a time, and yield what came of each that was not tried before."""
    import tempfile

    lines = reached()
    durations: dict[str, float] = json.loads(_DURATIONS.read_text("utf-8"))
    declared = [test for test in durations if test.startswith(_DECLARED)]
    _preload()
    for _, mutant in chosen:
        if tests := in_order(noticing(mutant, lines, declared), durations):
            if said := complaint(mutant, tests[:1]):
                raise SystemExit(f"tests fail on the code as it is:\n{said}")
            break
    pending = list(chosen)
    # Their parameters are taken from the code, so that a mutant may give them other names: such a test runs with all of them.
    renamed: set[str] = set()
    running: dict[int, tuple[str, Mutant, list[str], float, float, tempfile.TemporaryDirectory[str]]] = {}
    while pending or running:
        while pending and len(running) < workers:
            group, mutant = pending.pop(0)
            in_turn = in_order(noticing(mutant, lines, declared), durations)
            tests = list(dict.fromkeys(name if (name := _function(test)) in renamed else test for test in in_turn))
            known = done.get(key_of(mutant))
            if is_settled(known, tests) or (known and reason_of(mutant.module, mutant.line, mutant.after)):
                continue
            if not tests:
                yield key_of(mutant), Result(mutant, group, "unreached", "", 0, 0.0, digest_of(tests))
                continue
            folder = tempfile.TemporaryDirectory(prefix="corpusfmt-mutant-", ignore_cleanup_errors=True)
            limit = time.monotonic() + 30 + 5 * sum(durations[test] for test in in_turn)
            child = _try(mutant, tests, Path(folder.name))
            running[child] = (group, mutant, tests, time.monotonic(), limit, folder)
        for child in list(running):
            group, mutant, tests, started, limit, folder = running[child]
            ended, status = os.waitpid(child, os.WNOHANG)
            late = time.monotonic() > limit
            if not ended and not late:
                continue
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            if not ended:
                os.waitpid(child, 0)
            log = (Path(folder.name) / "log").read_text("utf-8", "replace")
            if ended and os.waitstatus_to_exitcode(status) == _BROKEN:
                raise SystemExit(log)
            if missing := {name for name in map(_function, tests) if f"ERROR: not found: {_ROOT / name}\n" in log}:
                if missing <= renamed:
                    raise SystemExit(f"tests have changed since they were recorded: use --record\n{log}")
                renamed |= missing
                pending.insert(0, (group, mutant))
                del running[child]
                folder.cleanup()
                continue
            failed = Path(folder.name) / "failed"
            by = failed.read_text("utf-8") if failed.exists() else f"status {status}"
            outcome = "timeout" if not ended else "killed" if status else "survived"
            del running[child]
            folder.cleanup()
            seconds = time.monotonic() - started
            yield (
                key_of(mutant),
                Result(
                    mutant,
                    group,
                    outcome,
                    by if outcome == "killed" else "",
                    len(tests),
                    round(seconds, 1),
                    digest_of(tests),
                ),
            )
        time.sleep(0.02)


def _function(test: str) -> str:
    """Return the name of a test without its parameters."""
    return test.partition("[")[0]


def digest_of(tests: Sequence[str]) -> str:
    """Return what tells whether tests are the same."""
    return hashlib.sha256("\n".join(sorted(tests)).encode()).hexdigest()[:12]


def is_settled(result: Mapping[str, Any] | None, tests: Sequence[str]) -> bool:
    """Tell whether a mutant need not be tried again: it was killed, or survived these very tests."""
    if result is None:
        return False
    return result["outcome"] in {"killed", "timeout"} or result.get("tests_digest") == digest_of(tests)


def fail_anyway(tests: Sequence[str]) -> str:
    """Run tests without a mutant as they are run with one; return what pytest says of those that fail."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:cov", *tests]
    environment = os.environ | _ENVIRONMENT
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def key_of(mutant: Mutant) -> str:
    """Return what names a mutant as long as its module does not change."""
    digest = hashlib.sha256((_PACKAGE / mutant.module).read_bytes()).hexdigest()[:12]
    return f"{mutant.module} {digest} {mutant.start} {mutant.end} {mutant.after}"


def reason_of(module: str, line: int, after: str) -> str:
    """Return why a mutant is equivalent to the code, if it is listed as that."""
    code = (_PACKAGE / module).read_text("utf-8").split("\n")[line - 1].strip()
    return EQUIVALENT.get((module, code, after), "")


def _outcome(result: Mapping[str, Any]) -> str:
    if result["outcome"] in {"killed", "timeout"}:
        return "killed"
    mutant = result["mutant"]
    return "equivalent" if reason_of(mutant["module"], mutant["line"], mutant["after"]) else "survived"


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the rows of the table in docs/testing.md."""
    yield "| modules | mutants | equivalent | killed | survived | killed of the others |"
    yield "|---|--:|--:|--:|--:|--:|"
    counts: dict[str, Counter[str]] = {group: Counter() for group in [*GROUPS, "all"]}
    for result in results:
        for group in (result["group"], "all"):
            counts[group][_outcome(result)] += 1
    for group, found in counts.items():
        if total := found["killed"] + found["survived"]:
            share = f"{100 * found['killed'] / total:.0f} %"
            cells = (group, found.total(), found["equivalent"], found["killed"], found["survived"], share)
            yield f"| {' | '.join(map(str, cells))} |"


def survivors(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each mutant that no test noticed, with the reason where none could."""
    for result in sorted(results, key=lambda each: (each["mutant"]["module"], each["mutant"]["line"])):
        if result["outcome"] in {"survived", "unreached"}:
            mutant = result["mutant"]
            change = f"{' '.join(mutant['before'].split())[:70]} -> {' '.join(mutant['after'].split())[:70]}"
            reason = reason_of(mutant["module"], mutant["line"], mutant["after"])
            said = f"equivalent ({reason})" if reason else result["outcome"]
            yield f"{mutant['module']}:{mutant['line']}: {said}, {mutant['operator']}: {change}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--record", nargs="*", metavar="FILE", help="see first what tests reach: all, or those of files"
    )
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="try so many of the sample, and no more")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.record is not None or not _REACHED.exists():
        record(options.record or ())
    kept = _RESULTS / "results.json"
    done: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    chosen = sample(options.size, options.seed)[: options.only]
    started = time.monotonic()
    for tried, (key, result) in enumerate(run(chosen, done, options.jobs), 1):
        done[key] = asdict(result)
        kept.write_text(json.dumps(done, indent=1), "utf-8")
        if tried % 50 == 0:
            print(f"{tried} mutants in {time.monotonic() - started:,.0f} s", flush=True)
    results = [done[key_of(mutant)] for _, mutant in chosen]
    for line in [*survivors(results), "", *table(results)]:
        print(line)
    durations: Mapping[str, float] = json.loads(_DURATIONS.read_text("utf-8"))
    if said := fail_anyway(sorted({each["by"] for each in results if each["by"] in durations})):
        print(f"\nThese tests killed mutants, but fail without one, too:\n{said}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
