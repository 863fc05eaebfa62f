"""The judge: stamps severities, skips dependants, survives rules that raise, and counts exactly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support import REPOSITORY

from corpusfmt.formats.general import GENERAL
from corpusfmt.io.limits import LimitReached, Limits, limited
from corpusfmt.model import Coverage, Location, Problem, Report, Severity, Tally, Verdict
from corpusfmt.rules import Grade, Grading, Judge, Override, Profile, RuleSet

RULES = RuleSet(GENERAL)
STRICT = Profile("strict", grades=(Grade(("TST101",), Severity.ERROR, "the letter", minor=True),))


@dataclass(frozen=True, slots=True)
class Number:
    at: Location
    value: int


@RULES.rule("TST101", "odd-number", on=Number, grades={"minor": Severity.WARNING, "2.0": None})
def odd_number(number: Number) -> Iterator[Problem]:
    """A number is odd."""
    if number.value % 2:
        yield Problem(f"`{number.value}`", number.at, minor=number.value < 10)


@RULES.rule("TST102", "odd-and-large", on=Number, requires=("TST101",))
def odd_and_large(number: Number) -> Iterator[Problem]:
    """A number is large; of odd ones that is no news."""
    if number.value > 100:
        yield Problem("large", number.at, count=number.value)


@RULES.rule("TST103", "raises", on=Number)
def raises(number: Number) -> Iterator[Problem]:
    """A rule of ours that fails on seven."""
    if number.value == 7:
        raise ZeroDivisionError("seven")
    yield from ()


@dataclass(frozen=True, slots=True)
class Long:
    at: Location
    value: str


@RULES.rule("TST104", "too-long", on=Long)
def too_long(long: Long) -> Iterator[Problem]:
    """A value is long."""
    yield Problem(f"`{long.value}`, expected less", long.at, f"shorten `{long.value}`")


def judged(*values: int, version: str = "1.0", grading: Grading | None = None, cap: int = 10) -> Judge:
    judge = Judge(RULES, grading or Grading(), version=version, path="shard", cap=cap)
    for line, value in enumerate(values, 1):
        judge.check(Number(Location("shard", line), value))
    return judge


def found(judge: Judge) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity.value) for finding in judge.tally.findings]


def report_of(judge: Judge) -> Report:
    return Report("test", "1.0", judge.tally, Coverage(1, 1))


def test_clean_subjects_say_so() -> None:
    judge = judged(2)
    assert judge.check(Number(Location("shard"), 4))
    assert not judge.check(Number(Location("shard"), 11))


def test_severity_follows_version_profile_and_case() -> None:
    assert found(judged(11)) == [("TST101", "error")]
    assert found(judged(3)) == [("TST101", "warning")]
    assert found(judged(3, grading=Grading((STRICT,)))) == [("TST101", "error")]
    assert found(judged(3, version="2.0")) == []


def test_dependants_are_skipped_and_said_so() -> None:
    judge = judged(200, 11, 300)
    assert found(judge) == [("TST102", "error"), ("TST101", "error")]
    assert judge.coverage.rules_not_run == {"TST102": "needs TST101"}


def test_a_rule_that_is_ignored_still_guards_its_dependants() -> None:
    judge = judged(11, 200, grading=Grading(ignore=("TST101",)))
    assert found(judge) == []
    assert "TST102" in judge.coverage.rules_not_run


def test_a_rule_that_raises_never_looks_valid() -> None:
    judge = judged(7, 2, grading=Grading(select=("TST102",), ignore=("GEN",)))
    assert found(judge) == [("GEN000", "error")]
    assert "seven" in judge.tally.findings[0].message
    assert report_of(judge).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize(("count", "ends"), [(255, False), (256, True)])
def test_the_time_is_asked_for_every_so_many_findings(count: int, ends: bool) -> None:
    judge = judged()
    with limited(Limits(timeout=60, ends=0.0), interrupting=False):
        for _ in range(count - 1):
            judge.check(Number(Location("shard"), 11))
        if ends:
            with pytest.raises(LimitReached, match=r"`timeout` \(60 seconds\)"):
                judge.check(Number(Location("shard"), 11))
        else:
            judge.check(Number(Location("shard"), 11))


def test_selection_by_prefix_and_slug_and_overrides_by_path() -> None:
    assert found(judged(11, grading=Grading(select=("TST1",)))) == [("TST101", "error")]
    assert found(judged(11, grading=Grading(select=("odd-number",)))) == [("TST101", "error")]
    assert found(judged(11, grading=Grading(select=("TST102",)))) == []
    elsewhere = Override(("TST101",), None, "known", ("other/*",))
    here = Override(("odd-number",), Severity.INFO, "known", ("sh*",))
    assert found(judged(11, grading=Grading(overrides=(elsewhere, here)))) == [("TST101", "info")]


def test_counts_are_exact_whatever_is_kept() -> None:
    judge = judged(*[11] * 50, cap=3)
    assert len(judge.tally.findings) == 3
    assert report_of(judge).by_rule == {"TST101": 50}
    assert report_of(judge).by_path == {"shard": {"TST101": 50}}
    assert report_of(judged(200)).by_rule == {"TST102": 200}


def test_merged_tallies_count_and_cap_as_one() -> None:
    whole = Tally(cap=3)
    for _ in range(4):
        whole.merge(judged(11, 13).tally)
    assert (len(whole.findings), sum(whole.counts.values())) == (3, 8)


def test_a_baseline_forgives_what_it_counted_and_no_more() -> None:
    for known, reported, suppressed in ((2, 0, 2), (1, 1, 1), (9, 0, 2)):
        tally = judged(11, 13, grading=Grading(known={("TST101", "shard"): known})).tally
        assert tally.settle("known") == []
        assert (sum(tally.counts.values()), len(tally.findings)) == (reported, reported)
        assert tally.suppressed == {("TST101", "shard", "known"): suppressed}
    crashed = judged(7, grading=Grading(known={("GEN000", "shard"): 9})).tally
    assert crashed.settle("known") == []
    assert "GEN000" in crashed


def test_what_is_new_is_kept_behind_what_is_known() -> None:
    grading = Grading(known={("TST101", "shard"): 10_000, ("TST101", "gone"): 1})
    tally = judged(*[11] * 10_000, 17, grading=grading, cap=3).tally
    assert tally.settle("known") == [("TST101", "gone")]
    assert [each.message for each in tally.findings] == [judged(17).tally.findings[0].message]
    assert tally.counts == {("TST101", Severity.ERROR, "shard"): 1}


def test_what_several_workers_found_is_settled_as_one() -> None:
    whole = Tally(cap=3, known={("TST101", "shard"): 3})
    for _ in range(2):
        whole.merge(judged(11, 13, grading=Grading(known=whole.known)).tally)
    assert whole.settle("known") == []
    assert (sum(whole.counts.values()), len(whole.findings)) == (1, 1)


def test_ten_thousand_known_findings_in_a_thousand_files_leave_room_for_a_new_one() -> None:
    known = {("TST101", str(number)): 10 for number in range(1_001)}
    whole = Tally(known=known)
    for number in range(1_003):
        judge = Judge(RULES, Grading(known=known), version="1.0", path="shard")
        for _ in range(10):
            judge.check(Number(Location(str(number)), 11))
        whole.merge(judge.tally)
    assert whole.settle("known") == []
    assert {each.location.path for each in whole.findings} == {"1001", "1002"}
    assert (len(whole.findings), sum(whole.suppressed.values())) == (20, 10_010)


def test_what_settings_leave_out_is_counted_by_reason() -> None:
    assert judged(11, 11, 3, grading=Grading(ignore=("TST9", "TST101"))).tally.suppressed == {
        ("TST101", "shard", "ignored (TST101)"): 3
    }
    assert judged(11, grading=Grading(select=("TST102",))).tally.suppressed == {("TST101", "shard", "not selected"): 1}
    dropped = Override(("TST101",), None, "an old dump")
    milder = Override(("TST101",), Severity.INFO, "an old dump")
    assert judged(11, grading=Grading(overrides=(dropped,))).tally.suppressed == {("TST101", "shard", "an old dump"): 1}
    assert judged(11, grading=Grading(overrides=(milder,))).tally.regraded == {("TST101", "shard", "an old dump"): 1}


def test_settings_that_match_nothing_are_named() -> None:
    elsewhere = Override(("TST101",), None, "gone", ("other/*",))
    grading = Grading(ignore=("TST102", "TST9"), overrides=(elsewhere,))
    judge = judged(200, grading=grading)
    assert grading.unmatched(RULES, judge.tally) == ["ignored rule TST9", "override of TST101 in other/* (gone)"]


def test_long_values_are_clipped_and_places_are_not() -> None:
    at = Location("p" * 300, pointer="/" + "q" * 300, record="r" * 300)
    judge = Judge(RULES, Grading(), version="1.0", path="shard")
    judge.check(Long(at, "v" * 3_000_000))
    (finding,) = judge.tally.findings
    assert "[3,000,000 characters]" in finding.message
    assert max(len(finding.message), len(finding.hint)) < 300
    assert (finding.location.path, finding.location.pointer) == (at.path, at.pointer)
    assert finding.location.record is not None
    assert len(finding.location.record) <= 200


def test_verdicts() -> None:
    assert report_of(judged(2)).verdict is Verdict.VALID
    assert report_of(judged(3)).verdict is Verdict.VALID
    assert report_of(judged(11)).verdict is Verdict.INVALID
    assert Report("test", "", Tally(), Coverage(1, 2)).verdict is Verdict.INCOMPLETE


def test_a_code_is_registered_once() -> None:
    with pytest.raises(ValueError, match="TST101"):
        RULES.rule("TST101", "again", on=Number)(odd_number)


def test_what_is_taken_back_is_said_in_one_order() -> None:
    orders = set()
    for hashes in "12345":
        program = (
            "from unit.test_rules import judged; judge = judged(1, 102, 7); judge.retract('shard', 'broken'); "
            "print([code for _, code, _ in judge.coverage.not_run])"
        )
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(REPOSITORY / "tests")}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        orders.add(done.stdout)
    assert orders == {b"['TST102', 'GEN000', 'TST101']\n"}


@pytest.mark.parametrize("key", ["strict", "", "minor/1.0", "1.0-minor", "1.0/", "strict/minor", "error"])
def test_a_grade_for_what_there_is_not_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="expected a version or its minor case"):
        RuleSet().finding("XYZ101", "x", "", grades={key: None})


def test_a_rule_may_be_graded_for_versions_and_minor_cases() -> None:
    for key in ("1.0", "minor", "1.0/minor", "22.01/minor"):
        RuleSet().finding("XYZ101", "x", "", grades={key: None})


def test_a_rule_is_graded_for_versions_of_its_format() -> None:
    rules = RuleSet(versions=("1.0", "1.1"))
    rules.finding("XYZ101", "x", "", grades={"1.1/minor": None, "minor": None})
    with pytest.raises(ValueError, match=r"rule XYZ102 is graded for `1\.2/minor`"):
        rules.finding("XYZ102", "y", "", grades={"1.2/minor": None})


def test_what_a_rule_requires_is_a_rule_of_its_format() -> None:
    rules = RuleSet(GENERAL)
    rules.finding("XYZ101", "x", "", requires=("GEN201", "XYZ102"))
    with pytest.raises(ValueError, match="rule XYZ101 requires XYZ102, expected the code of a rule of this format"):
        rules.complete()
    rules.finding("XYZ102", "y", "")
    rules.complete()


def test_a_rule_is_not_asked_of_a_subject_on_which_another_has_fired() -> None:
    rules = RuleSet()

    @rules.rule("XYZ101", "negative", on=Number)
    def negative(number: Number) -> Iterator[Problem]:
        if number.value < 0:
            yield Problem("negative", number.at)

    @rules.rule("XYZ102", "odd", on=Number, unless=("XYZ101",))
    def odd(number: Number) -> Iterator[Problem]:
        if number.value % 2:
            yield Problem("odd", number.at)

    rules.complete()
    judge = Judge(rules, Grading(), version="1.0", path="shard")
    assert [judge.check(Number(Location("a", value), value)) for value in (-1, 1, 2)] == [False, False, True]
    assert [(each.code, each.location.line) for each in judge.tally.findings] == [("XYZ101", -1), ("XYZ102", 1)]
    assert not judge.coverage.not_run


@pytest.mark.parametrize("unless", ["XYZ102", "XYZ103"], ids=["a later rule", "another subject"])
def test_a_rule_waits_for_earlier_rules_over_its_subject_only(unless: str) -> None:
    rules = RuleSet()
    rules.finding("XYZ103", "z", "")
    rules.rule("XYZ101", "x", on=Number, unless=(unless,))(lambda _number: iter(()))
    rules.rule("XYZ102", "y", on=Number)(lambda _number: iter(()))
    with pytest.raises(
        ValueError, match=f"XYZ101 has `unless` {unless}, expected the code of an earlier rule over Number"
    ):
        rules.complete()


def test_a_rule_over_a_class_judges_its_subclasses() -> None:
    class Large(Number):
        pass

    rules = RuleSet()
    rules.rule("XYZ101", "any", on=Number)(lambda number: iter([Problem("any", number.at)]))
    rules.rule("XYZ102", "large", on=Large)(lambda number: iter([Problem("large", number.at)]))
    judge = Judge(rules, Grading(), version="1.0", path="shard")
    judge.check(Large(Location("a", 1), 1))
    judge.check(Number(Location("a", 2), 1))
    assert [(each.code, each.location.line) for each in judge.tally.findings] == [
        ("XYZ102", 1),
        ("XYZ101", 1),
        ("XYZ101", 2),
    ]


def test_a_subject_that_no_rule_judges_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="no rule of this format checks int"):
        Judge(RULES, Grading(), version="1.0", path="shard").check(7)


def test_readers_report_findings_of_a_type() -> None:
    rules = RuleSet(versions=("1.0", "2.0"))
    gap = rules.finding("XYZ101", "gap", "", grades={"2.0": None, "minor": Severity.INFO})
    after = rules.finding("XYZ102", "after-the-gap", "", requires=("XYZ101",))
    other = RuleSet().finding("XYZ101", "gap", "")
    at = Location("a", 3)
    for version, expected in (("1.0", [("XYZ101", "error"), ("XYZ101", "info")]), ("2.0", [("XYZ102", "error")])):
        judge = Judge(rules, Grading(), version=version, path="a")
        judge.report(gap, Problem("a gap", at, count=2), times=3)
        judge.report(gap, Problem("a small gap", at, minor=True))
        judge.report(after, Problem("behind it", at))
        assert found(judge) == expected
        assert judge.coverage.not_run == ({("a", "XYZ102", "needs XYZ101"): 1} if version == "1.0" else {})
        with pytest.raises(ValueError, match="XYZ101 is not a rule of this format"):
            judge.report(other, Problem("a gap", at))
