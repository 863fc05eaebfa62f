"""Mutants are small changes of the code, and the tests of a line notice them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants.operators import mutants
from mutants.run import EQUIVALENT, GROUPS, digest_of, fail_anyway, in_order, is_settled, noticing, reason_of, sample
from support import REPOSITORY

import corpusfmt


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("c = a < b", {"(a <= b)"}),
        ("c = a and not b", {"(a or not b)", "(b)"}),
        ("if a(): pass", {"(not a())"}),
        ("a = True", {"False"}),
        ("a = 'é' + x", {"'XXé'", "('é' - x)"}),
        ("def f(a: 'A' = 1) -> 'B':\n    'Docs.'\n    return a", {"0", "2", "return None"}),
        ("f(a, b, c=1)", {"(f(b, a, c=1))", "0", "2", "pass"}),
        ("isinstance(a, b)", {"pass"}),
        ("max(a, b)", {"pass"}),
        ("def f(): return False", {"True"}),
        ("raise E(f'{a} is {1}')", {"pass", "f'XX{a} is {1}'"}),
        ("import a\nassert a == 1\n__all__ = ['a']", set()),
    ],
)
def test_changes(code: str, expected: set[str]) -> None:
    source = f"# é\n{code}\n".encode()
    found = list(mutants("m.py", source))
    assert {each.after for each in found} == expected
    assert all(each.is_program(source) and each.applied(source) != source for each in found)


@pytest.mark.deep
def test_the_sample_has_mutants_of_every_module() -> None:
    chosen = sample(1000, 1)
    assert len(chosen) >= 1000
    assert {group for group, _ in chosen} == set(GROUPS)
    assert sample(50, 1) == sample(50, 1)


def test_what_runs_at_import_is_noticed_by_tests_of_the_package() -> None:
    source = b"LIMIT = 1\ndef f(a=2):\n    return 3\n    return 4\n    return 5\n"
    of_module = {1: {"first"}, 3: {"t::m"}, 4: {"first"}}
    reached = {"p/m.py": of_module, "p/n.py": {7: {"t::n"}}, "q/o.py": {1: {"t::o"}}}
    found = {each.before: noticing(each, reached, ["t::declared"]) for each in mutants("p/m.py", source)}
    assert found["3"] == {"t::m"}
    # What a module calls as it is imported, and what no test is seen to reach, is for all of them, too.
    for each in "1245":
        assert found[each] == {"first", "t::m", "t::n", "t::declared"}


def test_what_is_listed_as_equivalent_is_a_mutant() -> None:
    package = Path(corpusfmt.__file__).parent
    for module in {module for module, _, _ in EQUIVALENT}:
        found = {(each.line, each.after) for each in mutants(module, (package / module).read_bytes())}
        reasons = {reason_of(module, line, after) for line, after in found}
        assert reasons >= {reason for (listed, _, _), reason in EQUIVALENT.items() if listed == module}


def test_the_fastest_test_of_each_file_comes_first() -> None:
    durations = {"a::1": 0.2, "a::2": 0.1, "b::1": 0.5, "c::1": 5.0, "d::1": 100.0}
    assert in_order({"a::1", "a::2", "b::1", "c::1", "z::1"}, durations) == ["a::2", "b::1", "a::1", "c::1"]
    assert in_order({"d::1"}, durations) == ["d::1"]


def test_half_of_the_time_is_for_the_fastest_of_all() -> None:
    slow = {f"slow{number}::1": 0.9 for number in range(60)}
    durations = slow | {f"fast::{number}": 0.001 for number in range(500)}
    chosen = in_order(set(durations), durations)
    assert len(chosen) == 500 + 43
    assert chosen[0] == "fast::0"
    assert chosen[1] in slow


def test_survivors_are_tried_again_where_other_tests_reach_them() -> None:
    survived = {"outcome": "survived", "tests_digest": digest_of(["a::1", "b::1"])}
    assert is_settled(survived, ["b::1", "a::1"])
    assert not is_settled(survived, ["a::1", "b::1", "b::2"])
    assert is_settled({**survived, "outcome": "killed"}, ["b::2"])
    assert not is_settled(None, [])


@pytest.mark.deep
def test_what_fails_without_a_mutant_kills_none() -> None:
    this = "tests/mutants/test_mutants.py"
    assert fail_anyway([f"{this}::test_the_fastest_test_of_each_file_comes_first"]) == ""
    assert fail_anyway([f"{this}::test_there_is_none_of_this_name"])


@pytest.mark.deep
def test_tests_run_on_the_code_as_it_is_before_any_mutant() -> None:
    """In a process of its own, as there is one that runs tests here."""
    code = (
        "import sys; from mutants.operators import mutants; from mutants.run import complaint; "
        "print(complaint(next(mutants('_version.py', b'VERSION = 1')), sys.argv[1:]))"
    )
    this = "tests/mutants/test_mutants.py::test_the_fastest_test_of_each_file_comes_first"
    for test, said in ((this, ""), (f"{this}_of_all", "ERROR: not found")):
        command = [sys.executable, "-c", code, test]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert said in done.stdout
        assert bool(said) == bool(done.stdout.strip())


def test_processes_of_commands_run_the_mutant(tmp_path: Path) -> None:
    mutant = tmp_path / "_version.py"
    mutant.write_text('VERSION = "mutant"\n')
    hook = REPOSITORY / "tests" / "mutants" / "hook"
    environment = {**os.environ, "PYTHONPATH": str(hook), "CORPUSFMT_MUTANT": f"corpusfmt._version={mutant}"}
    command = [sys.executable, "-m", "corpusfmt", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout == b"corpusfmt mutant\n"


def test_a_package_whose_own_module_is_a_mutant_has_its_others(tmp_path: Path) -> None:
    mutant = tmp_path / "__init__.py"
    mutant.write_bytes(Path(corpusfmt.__file__).read_bytes() + b"\n__version__ = 'mutant'\n")
    hook = REPOSITORY / "tests" / "mutants" / "hook"
    environment = {**os.environ, "PYTHONPATH": str(hook), "CORPUSFMT_MUTANT": f"corpusfmt={mutant}"}
    command = [sys.executable, "-c", "import corpusfmt, corpusfmt.model; print(corpusfmt.__version__)"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout == b"mutant\n"
