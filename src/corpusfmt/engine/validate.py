"""Internal: Validate a path: plan, check every shard, judge the whole."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from corpusfmt.engine.executors import default_jobs, executor_factory, prepare
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, now, run_tasks
from corpusfmt.formats import (
    CheckOptions,
    Format,
    Plan,
    Shard,
    ShardResult,
    all_formats,
    detect,
    modules_of,
    named_format,
    refuse_barred,
)
from corpusfmt.formats.general import LIMIT_REACHED, NOTHING_TO_CHECK, barred, within_limits
from corpusfmt.io.limits import DEFAULT_LIMITS, LimitReached, Limits, Meter, within
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.model import BadInput, Checked, Coverage, Known, Location, Problem, Report, Severity, Tally, UsageError
from corpusfmt.report.saved import Baseline, load_baseline
from corpusfmt.rules import PROFILES, Grading, Override, selects
from corpusfmt.wording import clipped

_SAMPLE_SEED = 20181112


def grading(
    *,
    profile: str = "standard",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    overrides: Sequence[Override] = (),
) -> Grading:
    """Return the grading that the caller asks for. Raises `UsageError` for an unknown profile or rule."""
    if profile not in PROFILES:
        raise UsageError(f"unknown profile {clipped(profile)!r}; known: {', '.join(PROFILES)}")
    selectors = (*select, *ignore, *(code for override in overrides for code in override.rules))
    for selector in selectors:
        if not selector or not any(selects(selector, rule) for fmt in all_formats() for rule in fmt.rules):
            raise UsageError(f"unknown rule {clipped(selector)!r}; `corpusfmt rule` lists codes and slugs")
    return Grading(profile, tuple(select), tuple(ignore), tuple(overrides))


def validate(
    path: str | Path | Entry,
    *,
    format: str = "auto",  # noqa: A002 - the name that users type
    profile: str = "standard",
    data: bool = False,
    dedup: bool = False,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    jobs: int | None = 1,
    engine: str | None = None,
    blocklist: str | Path | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    max_per_rule: int = 10,
    sample: float | None = None,
    overrides: Sequence[Override] = (),
    baseline: Baseline | str | Path | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Check a corpus or a description against its format and report every deviation.

    `path` is a file or folder, local or of any store that fsspec serves; `jobs` None means as many workers as the input
    deserves; `sample` is the share of shards to look at, which is then said in the report; `baseline` is a saved report,
    and what it counted is not reported again. What links lead to outside of `path` is read only with `follow_links`;
    `limits` bound what may be read, and a run that they end is incomplete.

    Never raises for bad data, and never fetches anything that is not at `path`. Raises `UsageError` for a missing path, an
    unknown format, profile, rule or engine, or a file that is not a report.
    """
    started = now()
    known = baseline if isinstance(baseline, Baseline) else load_baseline(baseline) if baseline else Baseline()
    entry = path if isinstance(path, Entry) else entry_of(str(path), follow_links=follow_links)
    options = CheckOptions(
        grading=replace(
            grading(profile=profile, select=select, ignore=ignore, overrides=overrides), known=known.occurrences
        ),
        dedup=dedup,
        data=data,
        blocklist=_existing(blocklist),
        max_line_bytes=max_line_bytes,
        max_per_rule=max_per_rule,
        limits=limits.begun(),
    )
    # What the run reads, in whatever process.
    meter = Meter(options.limits)
    named = None if format == "auto" else named_format(format)
    try:
        refuse_barred(entry)
        with within(meter):
            fmt, version = named or _detected(entry)
    except (BadInput, LimitReached) as unread:
        tally = Tally(max_per_rule)
        tally.add(unread.finding)
        name = named[0].name if named else "unknown"
        return Report(name, "", tally, Coverage(shards_total=1), started=started, finished=now())
    prepare(engine, jobs, *modules_of(fmt.name))
    with tempfile.TemporaryDirectory(prefix="corpusfmt-") as scratch:
        options = replace(options, version=version, scratch=Path(scratch))
        plan = _planned(fmt, entry, options, meter)
        options = replace(options, version=plan.version)
        report = _check_all(fmt, plan, options, meter, jobs=jobs, engine=engine, sample=sample, progress=progress)
    _settle(report, fmt, options.grading, known)
    report.started, report.finished = started, now()
    return report


def _detected(entry: Entry) -> tuple[Format, str]:
    fmt, detection = detect(entry)
    return fmt, detection.version


def _planned(fmt: Format, entry: Entry, options: CheckOptions, meter: Meter) -> Plan:
    try:
        with within(meter):
            return fmt.plan(entry, options)
    except LimitReached as limit:
        judge = fmt.judge(options, options.version, ".")
        judge.report(LIMIT_REACHED, limit.problem)
        return Plan(options.version, [], judge.tally)


def _check_all(
    fmt: Format,
    plan: Plan,
    options: CheckOptions,
    meter: Meter,
    *,
    jobs: int | None,
    engine: str | None,
    sample: float | None,
    progress: Callable[[Progress], None] | None,
) -> Report:
    shards = _sampled(plan.shards, sample)
    total = sum(shard.size for shard in shards)
    workers = jobs or default_jobs(total, len(shards))
    coverage = plan.coverage
    coverage.shards_total = len(plan.shards)
    coverage.sampled = len(shards) < len(plan.shards)
    known = options.grading.known
    # A baseline may be large: a worker is given what it counts in the files of a shard.
    alone = replace(options, grading=replace(options.grading, known={}))
    with ShardProgress(progress, [shard.size for shard in shards]) as shown:
        results = run_tasks(
            partial(_check_task, fmt.name, alone),
            [(shard, known) for shard in shards]
            if len(shards) == 1
            else zip(shards, _divided(known, shards), strict=True),
            executor_factory(engine, workers),
            window=workers * RESULTS_WAITING_A_WORKER,
            finished=shown.finished,
            meter=meter,
            gauge=shown.gauge,
        )
        facts = []
        checked = []
        try:
            for shard, outcome in zip(shards, results, strict=True):
                result = _ended(fmt, shard, options, outcome) if isinstance(outcome, Died | Late) else outcome
                plan.tally.merge(result.tally)
                coverage.add(result.coverage)
                coverage.shards_seen += 1
                checked.append(Checked(tuple(entry.path for entry in shard.files.values()), result.seconds))
                if result.facts is not None:
                    facts.append(result.facts)
        except LimitReached as limit:
            judge = fmt.judge(options, plan.version, ".")
            reason = f"{limit.reason}; {coverage.shards_seen} of {len(shards)} shards were read"
            judge.report(LIMIT_REACHED, LimitReached(reason, limit.hint).problem)
            plan.tally.merge(judge.tally)
        shown.compared(0)
        _judge_whole(fmt, plan, facts, options, meter, shown)
    return Report(fmt.name, plan.version, plan.tally, coverage, shards=checked)


def _judge_whole(
    fmt: Format,
    plan: Plan,
    facts: Sequence[object],
    options: CheckOptions,
    meter: Meter,
    shown: ShardProgress,
) -> None:
    judge = fmt.judge(options, plan.version, ".")
    try:
        with within_limits(judge, "."), within(meter, options.limits.of_read_files, shown.compared):
            fmt.finish(plan, facts, judge, options)
    except Exception as error:
        judge.crash("the dataset-level check", error)
    plain_documents = fmt.reader is not None and fmt.reader.plan is None
    coverage = plan.coverage
    looked_at = coverage.documents or coverage.gaps or coverage.sampled
    if plain_documents and not (looked_at or _has_errors(plan.tally, judge.tally)):
        problem = Problem(
            "no document in the whole input, nothing was checked", Location("."), "check how the input was made"
        )
        judge.report(NOTHING_TO_CHECK, problem)
    plan.tally.merge(judge.tally)
    plan.coverage.add(judge.coverage)


def _has_errors(*tallies: Tally) -> bool:
    return any(severity is Severity.ERROR for tally in tallies for _, severity, _ in tally.counts)


def _settle(report: Report, fmt: Format, grading: Grading, baseline: Baseline) -> None:
    unmatched = [baseline.entry(*key) for key in report.tally.settle(baseline.reason)]
    coverage = report.coverage
    if not report.has_gaps and coverage.shards_seen == coverage.shards_total:
        report.unmatched = [*grading.unmatched(fmt.rules, report.tally), *unmatched]


def _divided(known: Known, shards: Sequence[Shard]) -> Iterator[Known]:
    """Yield for each shard what is known of its files."""
    by_path: dict[str, dict[tuple[str, str], int]] = {}
    for key, count in known.items():
        by_path.setdefault(key[1], {})[key] = count
    for shard in shards:
        paths = {entry.path for entry in shard.files.values()} if by_path else ()
        yield {key: count for path in paths for key, count in by_path.get(path, {}).items()}


def _check_task(format_name: str, options: CheckOptions, task: tuple[Shard, Known]) -> ShardResult:
    shard, known = task
    began = time.monotonic()
    result = check_shard(format_name, replace(options, grading=replace(options.grading, known=known)), shard)
    result.seconds = time.monotonic() - began
    return result


def check_shard(format_name: str, options: CheckOptions, shard: Shard) -> ShardResult:
    """Check one shard in whatever process this is: an exception becomes a finding, never a lost shard."""
    fmt, _ = named_format(format_name)
    try:
        return fmt.check(shard, options)
    except LimitReached as limit:
        judge = fmt.judge(options, options.version, shard.name)
        judge.report(LIMIT_REACHED, limit.at(_place(shard)).problem)
    except OSError as error:
        judge = fmt.judge(options, options.version, shard.name)
        judge.report(*barred(error, Location(_place(shard))))
    except Exception as error:
        judge = fmt.judge(options, options.version, shard.name)
        judge.crash("the check of this shard", error, Location(_place(shard)))
    return ShardResult(judge.tally, judge.coverage)


def _ended(fmt: Format, shard: Shard, options: CheckOptions, outcome: Died | Late) -> ShardResult:
    judge = fmt.judge(options, options.version, shard.name)
    if isinstance(outcome, Late):
        judge.report(LIMIT_REACHED, options.limits.late(_place(shard)).problem)
    else:
        judge.crash("the worker that checked this shard", RuntimeError(outcome.reason), Location(_place(shard)))
    return ShardResult(judge.tally, Coverage())


def _place(shard: Shard) -> str:
    return next((entry.path for entry in shard.files.values()), shard.name)


def _sampled(shards: Sequence[Shard], share: float | None) -> Sequence[Shard]:
    if share is None or share >= 1 or not shards:
        return shards
    if share <= 0:
        raise UsageError("a sample is a share above 0, like 1%")
    count = max(1, round(len(shards) * share))
    chosen = set(random.Random(_SAMPLE_SEED).sample(range(len(shards)), count))
    return [shard for number, shard in enumerate(shards) if number in chosen]


def _existing(path: str | Path | None) -> str | None:
    if path is not None and not Path(path).is_file():
        raise UsageError(f"no such file: {path}")
    return None if path is None else str(path)
