"""Internal: `corpusfmt validate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from corpusfmt.cli.console import detail, is_verbose, summarise
from corpusfmt.cli.inputs import limits_of, paths_of, settings_name, settings_of, with_settings
from corpusfmt.cli.outcome import UNFINISHED, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.engine.sharing import WHOLE, Asked, Whole
from corpusfmt.model import Report, UsageError
from corpusfmt.options import made, maps_of
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.cli import options
    from corpusfmt.engine.cache import Cache
    from corpusfmt.engine.config import Config
    from corpusfmt.engine.shares import Share
    from corpusfmt.io.paths import Entry


class Keeps(Enum):
    """Which runs keep the results of their checks."""

    NOTHING = 0
    LARGE = 1
    ALL = 2


# Checking fewer bytes takes about as long as looking whether they have changed.
_WORTH_KEEPING = 64 << 20
# The output format of a share.
_PART = "part"


@guarded
def command(
    paths: options.Paths = [],  # noqa: B006 - nothing mutates it
    given: Annotated[Mapping[str, Any], Asked] = {},
    config: options.ConfigFile = None,
    cache: options.CacheOption = None,
    report: options.Reports = [],  # noqa: B006 - typer needs a value
    shard: options.ShardOfReport = None,
) -> None:
    """Check corpora and descriptions against their format. Every deviation is reported with its location."""
    from corpusfmt.cli.excerpt import excerpts
    from corpusfmt.engine.shares import share_of
    from corpusfmt.report import FOR_TERMINALS
    from corpusfmt.report.saved import Baseline, load_baseline

    share = share_of(shard, engine=given.get("engine"))
    maps = maps_of(given.get("maps", ()))
    paths = paths_of(config, paths)
    settings = settings_of(config, [*paths, *map(str, maps.values())])
    values = with_settings(settings, given)
    output_format = values.get("output_format", "full")
    if share is None:
        if any(each.partition("=")[0] == _PART for each in report):
            raise UsageError("--report part=FILE is for a share of a run: add --shard I/N, or name another format")
        check_outputs(output_format, report)
    known = load_baseline(values["baseline"]) if "baseline" in values else Baseline()
    if "seed" in given and "sample" not in given:
        raise UsageError("--seed chooses a sample: add --sample, like 1%, or remove it")
    data = values.get("data") or bool(maps)
    asked = made(
        Asked,
        values | {"data": data, "maps": {**(settings.map if data else {}), **maps}},
        paths=paths,
        settings=settings_name(config, [*paths, *map(str, maps.values())]),
        jobs=given.get("jobs"),
        limits=limits_of(given, settings),
        baseline=known.name,
        known=[(*key, count) for key, count in known.occurrences.items()],
    )
    keeps = _keeps(cache, settings)
    if share is not None:
        raise SystemExit(_write_part(asked, share, report, keeps))
    whole = checked(asked, keeps=keeps)
    for each in whole.shards if is_verbose() else ():
        detail(f"checked {', '.join(each.paths)}: {each.seconds:.2f} s")
    write_reports(whole, output_format, report, excerpts(asked.paths, follow_links=asked.follow_links))
    if output_format in FOR_TERMINALS:
        _say_sample(whole)
    raise SystemExit(exit_status(whole, asked.fail_on, require_complete=asked.require_complete))


def checked(asked: Asked, part: Whole = WHOLE, *, keeps: Keeps = Keeps.NOTHING) -> Report:
    """Return the report of a run; `part` is as in `engine.validated`."""
    from corpusfmt.cli.inputs import base_of, expanded, one_report, standard_input
    from corpusfmt.engine.validate import note_sample, validated
    from corpusfmt.io.paths import printable
    from corpusfmt.report.saved import Baseline

    known = Baseline(str(asked.baseline), {(code, path): count for code, path, count in asked.known})
    reports: list[tuple[str, Report]] = []
    with standard_input(asked.paths, asked.format) as given, shown_progress("validating") as progress:
        inputs = list(expanded(given, follow_links=asked.follow_links))
        cache = _cache(keeps, inputs)
        for shown, path in inputs:
            part.next_input()
            baseline = known if len(inputs) == 1 else known.below(shown)
            here = replace(asked, baseline=baseline, progress=progress)
            reports.append((shown, validated(path, here, part=part, cache=cache)))
    whole = one_report(reports, known)
    note_sample(whole, asked.sample, asked.seed)
    whole.arguments |= {"paths": list(map(printable, asked.paths)), "base": base_of(inputs)}
    if asked.settings:
        whole.arguments["settings"] = asked.settings
    return whole


def _keeps(option: bool | None, settings: Config) -> Keeps:
    wanted = settings.cache if option is None else option
    if wanted is None:
        return Keeps.NOTHING if os.environ.get("CI") else Keeps.LARGE
    return Keeps.ALL if wanted else Keeps.NOTHING


def _cache(keeps: Keeps, inputs: Sequence[tuple[str, Entry]]) -> Cache | None:
    if keeps is Keeps.NOTHING or any(shown == "-" for shown, _ in inputs):
        return None
    is_asked = keeps is Keeps.ALL
    if not is_asked and all(each.kind == "file" and each.size < _WORTH_KEEPING for _, each in inputs):
        return None
    from corpusfmt.engine.cache import Cache
    from corpusfmt.io.paths import users_cache

    if (folder := users_cache()) is not None:
        return Cache(folder / "verdicts", 0 if is_asked else _WORTH_KEEPING, is_asked)
    if is_asked:
        raise UsageError("--cache: no home folder is known: set XDG_CACHE_HOME to an absolute path")
    return None


def _write_part(asked: Asked, share: Share, reports: Sequence[str], keeps: Keeps) -> int:
    """Check a share of the shards, and write what that gave; return the exit status."""
    from corpusfmt.engine.parts import CHECKS, PartWriter
    from corpusfmt.io.publish import output_at, publish

    if "-" in asked.paths:
        raise UsageError("--shard does a share of a corpus, and standard input belongs to one process: name files")
    kind, _, path = reports[0].partition("=") if len(reports) == 1 else ("", "", "")
    if kind != _PART or path in {"", "-"}:
        raise UsageError("--shard writes a part of a report, and nothing else: add --report part=FILE alone")
    with publish(output_at(path, "--report")) as file:
        part = PartWriter(file, share, CHECKS)
        part.ask(asked)
        found = checked(asked, part, keeps=keeps)
        part.end()
    seen = f"{found.coverage.shards_seen:,} of {plural(found.coverage.shards_total, 'shard')}"
    counts = f"{plural(found.counts['error'], 'error')}, {plural(found.counts['warning'], 'warning')}"
    summarise(f"part {share}: {seen} checked, {counts}; join all parts with `corpusfmt report merge`")
    return UNFINISHED if found.has_gaps else 0


# Shards of a sample that are named in a text.
_MOST_NAMED = 5


def _say_sample(report: Report) -> None:
    if found := report.results.get("sample"):
        coverage, shards = report.coverage, found["shards"]
        more = f" and {coverage.shards_seen - _MOST_NAMED:,} more" if coverage.shards_seen > _MOST_NAMED else ""
        seen = f"{coverage.shards_seen:,} of {plural(coverage.shards_total, 'shard')}"
        summarise(f"Sample of {seen} (--seed {found['seed']}): {', '.join(shards[:_MOST_NAMED])}{more}")
