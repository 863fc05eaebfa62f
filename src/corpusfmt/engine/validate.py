"""Internal: Validate a path: plan, check every shard, check the dataset as a whole."""

from __future__ import annotations

import random
import re
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import are_spare, default_jobs, executor_factory, placed, placed_columns, prepare
from corpusfmt.engine.progress import ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, now, run_tasks
from corpusfmt.engine.sharing import WHOLE, Judging, Validation, Whole, Work, profiles_of
from corpusfmt.formats import (
    CheckOptions,
    Format,
    Plan,
    ReadOptions,
    Shard,
    ShardResult,
    all_formats,
    description_in,
    detect,
    modules_of,
    named_format,
    refuse_barred,
)
from corpusfmt.formats.columns import format_of_reading
from corpusfmt.formats.general import LIMIT_REACHED, NOTHING_TO_CHECK, barred, within_limits
from corpusfmt.formats.whole import judge_equal_files, judge_numbers
from corpusfmt.hub.rules import RULES as HUB_RULES
from corpusfmt.io.limits import LimitReached, Meter, meter, within
from corpusfmt.io.paths import Entry, copies, entry_of, printable, walk
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.stores import redirected_from
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.io.witness import witnessing
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.manifest.rules import judge_of
from corpusfmt.model import (
    BadInput,
    Checked,
    Coverage,
    Incomplete,
    Known,
    Location,
    Problem,
    Report,
    Severity,
    Tally,
    UsageError,
)
from corpusfmt.options import like, takes_options
from corpusfmt.profiles import load_profile, profile_names
from corpusfmt.report.saved import Baseline, load_baseline
from corpusfmt.rules import NOT_JUDGED, Grading, Judge, selects
from corpusfmt.wording import unknown

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from corpusfmt.engine.cache import Cache
    from corpusfmt.engine.release import CheckedRelease

# Most shards of a sample that a report lists.
_MOST_LISTED = 10_000
_TABLE = re.compile(r"\.(csv|tsv|jsonl|ndjson|parquet)(\.\w+)?$", re.IGNORECASE)


def sample_of(shards: Sequence[Shard], share: float | None, seed: int) -> Sequence[Shard]:
    """Return the shards to check: all, or a share, at least one, chosen by the seed. Raises `UsageError`."""
    if share is None:
        return shards
    if not 0 < share <= 1:
        raise UsageError(f"sample is {share:g}, expected a share above 0 and at most 1, like 0.01")
    chosen = random.Random(seed).sample(range(len(shards)), min(max(1, round(len(shards) * share)), len(shards)))
    return [shards[number] for number in sorted(chosen)]


def grading(asked: Judging | Validation) -> Grading:
    """Return the caller's grading. Raises `UsageError` for an unknown profile or rule."""
    select, ignore, overrides = asked.select, asked.ignore, asked.overrides
    profiles = tuple(map(load_profile, dict.fromkeys(profiles_of(asked.profile))))
    own = [grade.rules for each in profiles if each.name not in profile_names() for grade in each.grades]
    named_rules = [*own, *(override.rules for override in overrides)]
    selectors = (*select, *ignore, *(code for rules in named_rules for code in rules))
    for selector in selectors:
        known = [rule for rules in (MANIFEST_RULES, HUB_RULES, *(fmt.rules for fmt in all_formats())) for rule in rules]
        if not selector or not any(selects(selector, rule) for rule in known):
            names = [name for rule in known for name in (rule.code, rule.slug)]
            raise UsageError(unknown("rule", selector, names, "`corpusfmt rule` lists codes and slugs"))
    return Grading(profiles, tuple(select), tuple(ignore), tuple(overrides))


class Examined(Struct, frozen=True):
    """What a run over a corpus gave: its report, the shards, and what is known of its files, where that was asked for."""

    report: Report
    format: str
    version: str
    shards: Sequence[Shard] = ()
    release: CheckedRelease | None = None


@takes_options(Validation)
def validate(path: str | Path, asked: Validation) -> Report:
    """Check a corpus or a description against its format and report every deviation.

    `path` is a file or folder, local or in any store that fsspec serves. `profile` is the name of a profile, a TOML file,
    or a list of them; `columns` is a column profile for JSON Lines or text, by its name or file, and `field`
    names fields of rows, as for `convert`. With `jobs` None the input decides the number of workers. `sample` is the
    share of shards to check, up to 1.0, chosen by `seed`; the report says so, and in `results["sample"]` which. `baseline` is a saved report, whose occurrences are not reported again. `maps`
    names local copies of files in a Croissant description, by `@id`. Links that lead out of `path` are followed only with
    `follow_links`. A run that reaches one of `limits` is incomplete.

    Never raises for bad data, and never fetches anything that is not at `path`. Raises `UsageError` for a missing path, an
    unknown format, profile, rule or engine, or a file that is not a report.
    """
    return validated(path, asked)


def validated(
    path: str | Path | Entry, asked: Validation, *, part: Whole = WHOLE, cache: Cache | None = None
) -> Report:
    """Validate a path. With `part`, only some shards are checked, for a part of the run, or none, if the parts of
    the run are given. With `cache`, what checks of shards give is kept, and shards that have not changed are not checked again.
    """
    engine, follow_links = asked.engine, asked.follow_links
    entry = path if isinstance(path, Entry) else entry_of(str(path), follow_links=follow_links)
    entry = replace(entry, url=entry.url if entry.is_remote else placed(engine, entry.url))
    maps = {name: placed(engine, copy) for name, copy in asked.maps.items()}
    options = like(
        CheckOptions,
        asked,
        grading=grading(asked),
        blocklist=_existing(None if asked.blocklist is None else placed(engine, asked.blocklist)),
        maps=copies(maps, follow_links=follow_links),
        reading=replace(like(ReadOptions, asked), columns=placed_columns(engine, asked.columns)),
    )
    report = examine(entry, options, asked, part=part, cache=cache).report
    profiles = ", ".join(map(str, profiles_of(asked.profile)))
    report.arguments = revision_of(entry.url) | redirected_from(entry.shown)
    report.arguments |= {"paths": [entry.shown], "format": asked.format, "profile": profiles}
    note_sample(report, asked.sample, asked.seed)
    return report


def note_sample(report: Report, share: float | None, seed: int) -> None:
    """Add to a report which shards were checked, each by its first file, if they are a sample."""
    if report.coverage.sampled:
        listed = [each.paths[0] for each in report.shards[:_MOST_LISTED] if each.paths]
        report.results["sample"] = {"share": share, "seed": seed, "shards": listed}


def examine(
    entry: Entry,
    options: CheckOptions,
    asked: Validation,
    *,
    sealing: bool = False,
    part: Whole = WHOLE,
    cache: Cache | None = None,
) -> Examined:
    """Check a corpus; with `sealing`, every file is hashed, and an existing manifest is not read. `part` and `cache` are
    as in `validated`.
    """
    started = now()
    baseline = asked.baseline
    known = baseline if isinstance(baseline, Baseline) else load_baseline(baseline) if baseline else Baseline()
    options = replace(options, grading=replace(options.grading, known=known.occurrences), limits=options.limits.begun())
    # What the run reads, in any process.
    meter = Meter(options.limits)
    found = _format_and_options(entry, options, asked.format, meter)
    if isinstance(found, Report):
        found.started, found.finished = started, now()
        return Examined(found, found.format, "")
    fmt, options = found
    prepare(asked.engine, asked.jobs, *modules_of(fmt.name))
    with temporary_folder() as scratch:
        options = replace(options, scratch=scratch)
        try:
            with within(meter):
                plan = fmt.plan(entry, options)
        except LimitReached as limit:
            judge = fmt.judge(options, options.version, ".")
            judge.report(LIMIT_REACHED, limit.problem)
            plan = Plan(options.version, [], judge.tally)
        options = replace(options, version=plan.version)
        run = _Run(fmt, options, meter, part)
        manifest_judge = judge_of(options)
        release = None
        if entry.kind == "directory":
            from corpusfmt.engine.release import release_at  # noqa: PLC0415 - a file is not a release

            with within_limits(manifest_judge, "."), within(meter):
                release = release_at(entry, fmt, plan.shards, manifest_judge, sealing=sealing, data=options.data)
        shards, coverage = sample_of(plan.shards, asked.sample, asked.seed), plan.coverage
        coverage.shards_total = len(plan.shards)
        work = Work(shards, scratch, (fmt, plan.version, options))
        here = [shards[position] for position in part.positions(work.sizes)]
        sizes = array("q", (shard.size for shard in here))
        workers = asked.jobs or default_jobs(sum(sizes), len(sizes))
        open_executor = executor_factory(asked.engine, workers)
        if options.grading.loading and part.judges and fmt.descriptions is None:
            from corpusfmt.hub.load import require_datasets  # noqa: PLC0415 - seldom needed

            require_datasets()  # rather than after the shards
        # A baseline may be large: a worker gets only the part about its shard.
        alone = replace(options, grading=replace(options.grading, known={}))
        kept = None if cache is None else cache.for_run(fmt, here, alone, asked.engine)
        hashing = release is not None and release.needs_digests
        with ShardProgress(asked.progress, sizes) as shown:
            outcomes = run_tasks(
                partial(_check_task, fmt.name, alone, hashing, kept, are_spare(asked.engine, asked.jobs, len(here))),
                [(here[0], known.occurrences)] if len(shards) == len(here) == 1 else _divided(known.occurrences, here),
                open_executor,
                window=workers * RESULTS_WAITING_A_WORKER,
                finished=shown.finished,
                meter=meter,
                gauge=shown.gauge,
                shared=scratch,
            )
            before = meter.read
            checked: list[Checked] = []
            facts: list[object] = []
            is_whole = True
            try:
                # No generators: a shard is checked on the stack of who takes its result.
                # Strict: after the last outcome comes the limit that the run has reached, if any.
                pairs = zip(here, outcomes, strict=True)
                ended = (_ended(fmt, options, shard, outcome) for shard, outcome in pairs)
                for position, result in part.results(work, ended, meter):
                    shard = shards[position]
                    plan.tally.merge(result.tally)
                    coverage.add(result.coverage)
                    coverage.shards_seen += 1
                    coverage.checked[fmt.name] += len(shard.files)
                    checked.append(Checked(tuple(each.path for each in shard.files.values()), result.seconds))
                    if result.facts is not None:
                        facts.append(result.facts)
                    if release is not None:
                        release.take(shard, result)
            except LimitReached as limit:
                judge = fmt.judge(options, plan.version, ".")
                reason = f"{limit.reason}; {coverage.shards_seen:,} of {len(shards):,} shards were read"
                judge.report(LIMIT_REACHED, LimitReached(reason, limit.hint).problem)
                plan.tally.merge(judge.tally)
                is_whole = False
            outcomes.close()
            if kept is not None:
                kept.trim()
            coverage.sampled = len(shards) < len(plan.shards)
            if part.judges:
                shown.compared(0)
                _judge_whole(
                    run, entry, plan, facts, shown, sealed=release is not None and release.manifest is not None
                )
            facts.clear()
            if is_whole:
                if part.judges and release is not None and fmt.descriptions is None:
                    _check_description(run, release.found.files, plan)
                if part.judges:
                    _note_idle_profiles(run, entry, coverage)
                _judge_files(run, entry, plan, checked, release, manifest_judge, open_executor, workers)
            part.keep(scratch, meter.read - before)
        plan.tally.merge(manifest_judge.tally)
        coverage.add(manifest_judge.coverage)
        report = Report(fmt.name, plan.version, plan.tally, coverage, shards=checked)
    unmatched = [known.entry(*key) for key in report.tally.settle(known.reason)]
    if not report.has_gaps and coverage.shards_seen == coverage.shards_total:
        rules = [*fmt.rules, *MANIFEST_RULES, *HUB_RULES]
        if "croissant" in coverage.checked:
            rules += named_format("croissant")[0].rules
        report.unmatched = [*options.grading.unmatched(rules, report.tally), *unmatched]
    report.started, report.finished = started, now()
    return Examined(report, fmt.name, plan.version, plan.shards, release)


class _Run(Struct, frozen=True):
    """In what format something is checked, how, and what part of it."""

    fmt: Format
    options: CheckOptions
    meter: Meter
    part: Whole


def _format_and_options(
    entry: Entry, options: CheckOptions, name: str, meter: Meter
) -> tuple[Format, CheckOptions] | Report:
    """Return the format of a name at a path, and the options for it; a report if nothing can be checked. Raises `UsageError`."""
    named = None if name == "auto" else named_format(name)
    try:
        refuse_barred(entry)
        with within(meter):
            chosen = format_of_reading(entry, name, options.reading)
            if chosen == "auto":
                chosen = next((fmt.name for fmt in _with_own_option(options)), chosen)
            named = named or (None if chosen == "auto" else named_format(chosen))
            if named is None:
                fmt, detection = detect(entry)
                version = detection.version
            else:
                fmt, version = named
    except (BadInput, LimitReached) as unread:
        tally = Tally(options.max_per_rule)
        tally.add(unread.finding)
        return Report(named[0].name if named else "unknown", "", tally, Coverage(shards_total=1))
    except UsageError:
        from corpusfmt.hub.check import without_data  # noqa: PLC0415 - seldom needed

        with within(meter):
            judge = without_data(entry, options) if named is None else None
        if judge is None:
            raise
        return Report("unknown", "", judge.tally, judge.coverage)
    is_folder = entry.kind == "directory"
    if is_folder and fmt.descriptions is not None and not options.data:
        from corpusfmt.manifest.beside import describes_files  # noqa: PLC0415 - seldom needed

        # A folder is judged by everything in it.
        with within(meter):
            options = replace(options, data=describes_files(entry))
    shown = printable(entry.path)
    for other in _with_own_option(options):
        if other.name != fmt.name:
            option = f"--{other.own_option}"
            raise UsageError(f"{shown} is {fmt.name}, and {option} applies only to {other.name}: remove {option}")
    if options.maps and fmt.records is None and not (is_folder and description_in(entry.child)):
        raise UsageError(f"{shown} is {fmt.name}, and --map applies only to Croissant: remove --map")
    if options.reading.columns is not None and not (fmt.reader and fmt.reader.has_columns):
        raise UsageError(f"{fmt.name} has no column profiles: remove --columns, or add --format jsonl, parquet or text")
    if options.reading.field and not (fmt.reader and fmt.reader.has_columns and fmt.reader.names_fields):
        raise UsageError(f"{fmt.name} has fixed field names: leave them out, or add --format jsonl or parquet")
    return fmt, replace(options, version=version, wanted_version=named[1] if named else "")


def _with_own_option(options: CheckOptions) -> list[Format]:
    """Return the formats that have an option of their own which was given."""
    if not (options.dedup or options.blocklist):
        return []
    return [fmt for fmt in all_formats() if fmt.own_option and getattr(options, fmt.own_option)]


def _check_description(run: _Run, files: Mapping[str, Entry], plan: Plan) -> None:
    """Check the description of a corpus as one by itself; `files` are those of the folder, by path.

    Its records are those of the corpus, which have been counted.
    """
    found = description_in(files.get)
    if found is None:
        return
    fmt, entry = found
    options = replace(run.options, version="", wanted_version="")
    with within(run.meter):
        described = fmt.plan(entry, options)
        for shard in described.shards:
            result = check_shard(fmt.name, replace(options, version=described.version), shard)
            plan.tally.merge(result.tally)
            plan.coverage.add(replace(result.coverage, documents=0, bytes=0))
            plan.coverage.checked[fmt.name] += 1


def _note_idle_profiles(run: _Run, root: Entry, coverage: Coverage) -> None:
    """Record the profiles that add rules of which none is for what was found; grades alone are those of rules that ran."""
    is_described = "croissant" in coverage.checked
    # Tables next to a description are checked as it says; how they are loaded is judged of data only.
    tables = root.kind == "directory" and run.fmt.descriptions and run.options.grading.loading
    has_tables = tables and any(_TABLE.search(each.path) for each in walk(root) if each.kind == "file")
    for each in run.options.grading.profiles:
        judges = (each.requirements and is_described) or (each.loading and run.fmt.descriptions is None)
        if (each.requirements or each.loading) and not judges:
            needed = "Croissant descriptions" if each.requirements else "data"
            coverage.gap(".", NOT_JUDGED, f"{each.name} is for {needed}, and there is none")
        elif each.loading and has_tables:
            coverage.gap(".", NOT_JUDGED, f"{each.name} judges tables only by their format: name it with --format")


def _judge_files(
    run: _Run,
    root: Entry,
    plan: Plan,
    checked: Sequence[Checked],
    release: CheckedRelease | None,
    manifest_judge: Judge,
    open_executor: Callable[[], Executor | None],
    workers: int,
) -> None:
    """Judge how a folder is loaded, if that is asked for, and whether it is what its manifest says.

    For a part, only a share of the files is read, and nothing is judged.
    """
    fmt, options, meter, part = run.fmt, run.options, run.meter, run.part
    if options.grading.loading and part.judges and fmt.descriptions is None:
        from corpusfmt.hub.check import check_loading  # noqa: PLC0415 - seldom needed

        paths = frozenset(path for each in checked for path in each.paths)
        sampled = paths if plan.coverage.sampled else None
        loading_judge = check_loading(root, plan.shards, sampled, options, meter)
        plan.tally.merge(loading_judge.tally)
        plan.coverage.add(loading_judge.coverage)
    if release is not None:
        from corpusfmt.engine.release import hash_unread, judge_release, judge_unsealed  # noqa: PLC0415
        from corpusfmt.manifest.beside import role_of_record  # noqa: PLC0415

        unseen: set[str] = set()
        if not part.judges or len(checked) < len(plan.shards):
            unseen = {entry.path for shard in plan.shards for entry in shard.files.values()}
            if part.judges:
                unseen -= {path for each in checked for path in each.paths}
        with within_limits(manifest_judge, "."):
            unread = hash_unread(release, open_executor, workers, meter, unseen, part)
            if part.judges and release.manifest is not None:
                judge_release(release, fmt, plan.version, manifest_judge, plan.tally, unread)
            elif part.judges and release.named is not None:
                loading = options.grading.loading
                judge_unsealed(release, fmt, plan.version, manifest_judge, unread, loading=loading)
            beside = Counter(map(role_of_record, release.records)) + Counter(manifest=int(release.manifest is not None))
            del beside["croissant"]  # which is checked by itself, too
            plan.coverage.checked.update(beside)


def _judge_whole(
    run: _Run, root: Entry, plan: Plan, facts: Sequence[object], shown: ShardProgress, *, sealed: bool
) -> None:
    fmt, options = run.fmt, run.options
    judge = fmt.judge(options, plan.version, ".")
    plain_documents = fmt.reader is not None and fmt.reader.plan is None
    try:
        with within_limits(judge, "."), within(run.meter, options.limits.of_read_files, shown.compared):
            fmt.finish(plan, facts, judge, options)
            if plain_documents and root.kind == "directory":
                judge_numbers(plan, fmt.documents_role, judge)
            # Files of a manifest are told by their digests.
            if plain_documents and not (sealed or plan.coverage.sampled):
                of_empty = {rule.code for rule in fmt.rules if rule.slug == "empty-file"}
                empty = {path for code, _, path in plan.tally.counts if code in of_empty}
                empty |= {path for code, path, _ in plan.tally.suppressed if code in of_empty}
                judge_equal_files(plan, fmt.documents_role, empty, judge)
    except (Incomplete, UsageError):
        raise
    except Exception as error:
        judge.crash("the dataset-level check", error)
    coverage = plan.coverage
    looked_at = coverage.documents or coverage.gaps or coverage.sampled
    severities = {severity for tally in (plan.tally, judge.tally) for _, severity, _ in tally.counts}
    if plain_documents and not (looked_at or Severity.ERROR in severities):
        problem = Problem("no documents found, nothing was checked", Location("."), "check how the input was made")
        judge.report(NOTHING_TO_CHECK, problem)
    plan.tally.merge(judge.tally)
    plan.coverage.add(judge.coverage)


def _divided(known: Known, shards: Iterable[Shard]) -> Iterator[tuple[Shard, Known]]:
    """Yield each shard with its known occurrences."""
    by_path: dict[str, dict[tuple[str, str], int]] = {}
    for key, count in known.items():
        by_path.setdefault(key[1], {})[key] = count
    for shard in shards:
        paths = {entry.path for entry in shard.files.values()} if by_path else ()
        yield shard, {key: count for path in paths for key, count in by_path.get(path, {}).items()}


def _check_task(
    format_name: str,
    options: CheckOptions,
    hashing: bool,
    kept: Cache | None,
    has_spare: bool,
    task: tuple[Shard, Known],
) -> ShardResult:
    shard, known = task
    files = shard.files.values()
    # Frames of zstd share memory: which of them does not fit must not depend on when a thread reads it.
    shares_memory = sum(not each.name.endswith(".gz") for each in files) > 1
    meter().may_read_ahead = has_spare and not shares_memory and not any(each.is_remote for each in files)
    options = replace(options, grading=replace(options.grading, known=known))
    began = time.monotonic()
    if kept is None:
        result = check_shard(format_name, options, shard, hashing=hashing)
    else:
        check = partial(check_shard, format_name, shard=shard, hashing=True)
        result = kept.checked(named_format(format_name)[0], shard, options, check)
    result.seconds = time.monotonic() - began
    return result


def check_shard(format_name: str, options: CheckOptions, shard: Shard, *, hashing: bool = False) -> ShardResult:
    """Check a shard; with `hashing`, also say what was read. An exception becomes a finding, so that no shard is lost."""
    fmt, _ = named_format(format_name)
    with witnessing(hashing) as read:
        try:
            result = fmt.check(shard, options)
        except Exception as error:
            if isinstance(error, Incomplete | UsageError) and not isinstance(error, LimitReached):
                raise
            judge = fmt.judge(options, options.version, shard.name)
            if isinstance(error, LimitReached):
                judge.report(LIMIT_REACHED, error.at(_place(shard)).problem)
            elif isinstance(error, OSError):
                judge.report(*barred(error, Location(_place(shard))))
            else:
                judge.crash("the check of this shard", error, Location(_place(shard)))
            result = ShardResult(judge.tally, judge.coverage)
    result.read = {url: seen.facts for url, seen in read.items()}
    return result


def _ended(fmt: Format, options: CheckOptions, shard: Shard, outcome: ShardResult | Died | Late) -> ShardResult:
    """Return the result of a shard, a finding if its check has none."""
    if isinstance(outcome, ShardResult):
        return outcome
    judge = fmt.judge(options, options.version, shard.name)
    if isinstance(outcome, Late):
        judge.report(LIMIT_REACHED, options.limits.late(_place(shard)).problem)
    else:
        judge.crash("the worker that checked this shard", RuntimeError(outcome.reason), Location(_place(shard)))
    return ShardResult(judge.tally, Coverage())


def _place(shard: Shard) -> str:
    return next((entry.path for entry in shard.files.values()), shard.name)


def _existing(path: str | Path | None) -> str | None:
    if path is not None and not Path(path).is_file():
        raise UsageError(f"file {path} does not exist")
    return None if path is None else str(path)
