"""Internal: `corpusfmt validate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from corpusfmt.cli.console import detail, is_verbose, summarise
from corpusfmt.cli.inputs import field_names, judged_by, limits_of, maps_of, sample_size, settings_of
from corpusfmt.cli.outcome import UNFINISHED, FailOn, Show, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.model import Coverage, Report, Tally, UsageError
from corpusfmt.report.view import View
from corpusfmt.rules import STOPPED
from corpusfmt.wording import clipped, plural

if TYPE_CHECKING:
    from corpusfmt.cli import options
    from corpusfmt.engine.cache import Cache
    from corpusfmt.engine.config import Config
    from corpusfmt.engine.shares import Share
    from corpusfmt.engine.sharing import Asked, Whole
    from corpusfmt.io.paths import Entry


class Keeps(Enum):
    """Which runs keep the results of their checks."""

    NOTHING = 0
    LARGE = 1
    ALL = 2


# What is asked for all inputs together, or said otherwise to `engine.validate`.
_OF_THE_COMMAND = {"paths", "fields", "baseline", "known", "fail_on", "require_complete"}
# The output format of a share.
_PART = "part"


@guarded
def command(
    paths: options.Paths,
    format_name: options.FormatName = "auto",
    profile: options.Profile = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    data: options.Data = False,
    dedup: options.Dedup = False,
    columns: options.ColumnProfile = None,
    text_field: options.TextField = None,
    id_field: options.IdField = None,
    url_field: options.UrlField = None,
    date_field: options.DateField = None,
    language_field: options.LanguageField = None,
    select: options.Select = [],  # noqa: B006
    ignore: options.Ignore = [],  # noqa: B006
    config: options.ConfigFile = None,
    baseline: options.Baseline = None,
    fail_on: options.Fail = None,
    jobs: options.Jobs = None,
    engine: options.Engine = None,
    sample: options.Sample = None,
    seed: options.Seed = None,
    maps: options.Maps = [],  # noqa: B006
    follow_links: options.FollowLinks = False,
    require_complete: options.RequireComplete = False,
    fail_fast: options.FailFast = False,
    max_per_rule: options.MaxPerRule = 10,
    max_line_bytes: options.MaxLineBytes = None,
    max_expansion: options.MaxExpansion = None,
    max_total_bytes: options.MaxTotalBytes = None,
    timeout: options.Timeout = None,
    blocklist: options.Blocklist = None,
    cache: options.CacheOption = None,
    output_format: options.OutputFormat = "full",
    report: options.Reports = [],  # noqa: B006
    max_findings: options.MaxFindings = 100,
    show: options.ShowOption = Show.WARNING,
    shard: options.ShardOf = None,
) -> None:
    """Check corpora and descriptions against their format. Every deviation is reported with its location."""
    from corpusfmt.engine.sharing import Asked
    from corpusfmt.report import FOR_TERMINALS
    from corpusfmt.report.saved import Baseline, load_baseline

    array = None if shard is None else _share(shard, engine, fail_fast=fail_fast)
    if array is None:
        _refuse_part(report)
        check_outputs(output_format, report)
    copies = maps_of(maps)
    settings = settings_of(config, [*paths, *copies.values()])
    known = load_baseline(baseline) if baseline else Baseline()
    asked = Asked(
        paths,
        format=format_name,
        data=data or bool(maps),
        dedup=dedup,
        columns=columns,
        fields=field_names(locals()),
        baseline=known.name,
        known=[(*key, count) for key, count in known.occurrences.items()],
        fail_on=fail_on or _fail_on(settings.fail_on),
        require_complete=require_complete,
        sample=sample_size(sample),
        seed=_seed(seed, sample),
        maps=(settings.map if data or maps else {}) | copies,
        follow_links=follow_links or settings.follow_links,
        max_per_rule=max_per_rule,
        max_line_bytes=max_line_bytes,
        limits=limits_of(max_expansion, max_total_bytes, timeout, settings),
        blocklist=blocklist,
        **judged_by(settings, profile, select, ignore),
    )
    keeps = _keeps(cache, settings)
    if array is not None:
        raise SystemExit(_write_part(asked, array, report, jobs, engine, keeps))
    whole = checked(asked, jobs, engine, fail_fast=fail_fast, keeps=keeps)
    _say_shards(whole)
    write_reports(whole, output_format, report, View(max_findings, show is Show.INFO))
    if output_format in FOR_TERMINALS:
        _say_sample(whole)
    raise SystemExit(exit_status(whole, FailOn(asked.fail_on), require_complete=require_complete))


def checked(
    asked: Asked,
    jobs: int | None,
    engine: str | None,
    part: Whole | None = None,
    *,
    fail_fast: bool = False,
    keeps: Keeps = Keeps.NOTHING,
) -> Report:
    """Return the report of a run; `part` and `fail_fast` are as in `engine.validate`."""
    from corpusfmt.cli.inputs import base_of, expanded, one_report, standard_input
    from corpusfmt.engine.sharing import WHOLE
    from corpusfmt.engine.validate import note_sample, validate
    from corpusfmt.io.paths import printable
    from corpusfmt.report.saved import Baseline

    part = part or WHOLE
    known = Baseline(asked.baseline, {(code, path): count for code, path, count in asked.known})
    reports: list[tuple[str, Report]] = []
    options: Any = {name: value for name, value in asdict(asked).items() if name not in _OF_THE_COMMAND}
    with standard_input(asked.paths, asked.format) as given, shown_progress("validating") as progress:
        inputs = list(expanded(given, follow_links=asked.follow_links))
        cache = _cache(keeps, inputs)
        for shown, path in inputs:
            if fail_fast and reports and STOPPED in reports[-1][1].coverage.reasons:
                reports.append((shown, _unchecked(reports[-1][1])))
                continue
            part.next_input()
            found = validate(
                path,
                **options,
                **asked.fields,
                baseline=known if len(inputs) == 1 else known.below(shown),
                jobs=jobs,
                engine=engine,
                progress=progress,
                part=part,
                fail_fast=fail_fast,
                cache=cache,
            )
            reports.append((shown, found))
    whole = one_report(reports, known)
    note_sample(whole, asked.sample, asked.seed)
    profiles = ", ".join(asked.profile)
    paths = list(map(printable, asked.paths))
    whole.arguments |= {"paths": paths, "format": asked.format, "profile": profiles, "base": base_of(inputs)}
    return whole


def _say_shards(report: Report) -> None:
    for each in report.shards if is_verbose() else ():
        detail(f"checked {', '.join(each.paths)}: {each.seconds:.2f} s")


def _keeps(option: bool | None, settings: Config) -> Keeps:
    wanted = settings.cache if option is None else option
    if wanted is None:
        return Keeps.NOTHING if os.environ.get("CI") else Keeps.LARGE
    return Keeps.ALL if wanted else Keeps.NOTHING


def _cache(keeps: Keeps, inputs: Sequence[tuple[str, Entry]]) -> Cache | None:
    if keeps is Keeps.NOTHING or any(shown == "-" for shown, _ in inputs):
        return None
    from corpusfmt.engine.cache import WORTH_KEEPING, Cache
    from corpusfmt.io.paths import users_cache

    is_asked = keeps is Keeps.ALL
    if (folder := users_cache()) is not None:
        return Cache(folder / "verdicts", 0 if is_asked else WORTH_KEEPING, is_asked)
    if is_asked:
        raise UsageError("--cache: no home folder is known: set XDG_CACHE_HOME to an absolute path")
    return None


def _unchecked(before: Report) -> Report:
    """Return the report on an input that is not checked, because the run has stopped at the one before."""
    coverage = Coverage(shards_total=1)
    coverage.gap(".", "this input", STOPPED)
    return Report(before.format, before.version, Tally(before.tally.cap), coverage)


def _share(shard: str, engine: str | None, *, fail_fast: bool) -> Share | None:
    from corpusfmt.engine.shares import share_of

    if fail_fast:
        raise UsageError("--fail-fast is for one process, and --shard I/N does a share of the work: remove one")
    return share_of(shard, engine=engine)


def _refuse_part(reports: Sequence[str]) -> None:
    if any(each.partition("=")[0] == _PART for each in reports):
        raise UsageError("--report part=FILE is for a share of a run: add --shard I/N, or name another format")


def _write_part(
    asked: Asked, share: Share, reports: Sequence[str], jobs: int | None, engine: str | None, keeps: Keeps
) -> int:
    """Check a share of the shards, and write what that gave; return the exit status."""
    from corpusfmt.engine.parts import CHECKS, PartWriter
    from corpusfmt.io.publish import output_at, publish

    if "-" in asked.paths:
        raise UsageError("--shard does a share of a corpus, and standard input belongs to one process: name files")
    kind, _, path = reports[0].partition("=") if len(reports) == 1 else ("", "", "")
    if kind != _PART or path in {"", "-"}:
        raise UsageError("--shard writes a part of a report, and nothing else: add --report part=FILE alone")
    if isinstance(asked.sample, int):
        raise UsageError(
            "--sample N is for one process, and --shard I/N does a share of the work: name a share, like 1%"
        )
    with publish(output_at(path, "--report")) as file:
        part = PartWriter(file, share, CHECKS)
        part.ask(asked)
        found = checked(asked, jobs, engine, part, keeps=keeps)
        part.end()
    seen = f"{found.coverage.shards_seen:,} of {plural(found.coverage.shards_total, 'shard')}"
    counts = f"{plural(found.counts['error'], 'error')}, {plural(found.counts['warning'], 'warning')}"
    summarise(f"part {share}: {seen} checked, {counts}; join all parts with `corpusfmt report merge`")
    return UNFINISHED if found.has_gaps else 0


def _seed(seed: int | None, sample: str | None) -> int:
    from corpusfmt.engine.validate import SEED

    if seed is not None and sample is None:
        raise UsageError("--seed chooses a sample: add --sample, like 1000 or 1%, or remove it")
    if seed is not None and seed >= 2**63:
        raise UsageError(f"--seed is {seed}, expected a number below 2**63")
    return SEED if seed is None else seed


# Shards of a sample that are named in a text.
_MOST_NAMED = 5


def _say_sample(report: Report) -> None:
    if found := report.results.get("sample"):
        coverage, shards = report.coverage, found["shards"]
        more = f" and {coverage.shards_seen - _MOST_NAMED:,} more" if coverage.shards_seen > _MOST_NAMED else ""
        seen = f"{coverage.shards_seen:,} of {plural(coverage.shards_total, 'shard')}"
        if "documents" in found:
            seen = f"{plural(coverage.documents, 'document')} in {seen}"
        summarise(f"Sample of {seen} (--seed {found['seed']}): {', '.join(shards[:_MOST_NAMED])}{more}")


def _fail_on(setting: str | None) -> FailOn:
    try:
        return FailOn(setting or FailOn.ERROR)
    except ValueError:
        raise UsageError(
            f"configuration: fail-on is {clipped(str(setting))!r}, expected one of {', '.join(FailOn)}"
        ) from None
