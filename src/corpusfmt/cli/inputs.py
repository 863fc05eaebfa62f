"""Internal: Inputs named on the command line: globs, standard input, and one report over several inputs."""

from __future__ import annotations

import os
import posixpath
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from corpusfmt.cli.console import detail, mention, warn
from corpusfmt.io.paths import Entry, is_pattern, matching, printable, without_query
from corpusfmt.io.streams import codec_of_content
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import Checked, Coverage, Finding, Report, Tally, UsageError
from corpusfmt.options import fields_of, pairs

if TYPE_CHECKING:
    from corpusfmt.engine.config import Config
    from corpusfmt.io.limits import Limits
    from corpusfmt.report.saved import Baseline


def limits_of(given: Mapping[str, Any], settings: Config | None = None) -> Limits:
    """Return the limits from the options, else the settings, else the defaults. Raises `UsageError`."""
    from corpusfmt.io.limits import AWAITING, NAMES, named_limits

    typed = pairs("--limit", given.get("limits", ()), NAMES)
    limits = named_limits({**({} if settings is None else msgspec.to_builtins(settings.limit)), **typed})
    AWAITING.set(limits.begun())
    return limits


#: The value of `--config` for no settings at all.
NO_SETTINGS = "none"


_SUFFIX_OF_FORMAT = {"dolma": ".jsonl", "jsonl": ".jsonl", "text": ".txt", "croissant": ".json"}
_SUFFIX_OF_CODEC = {"plain": "", "gzip": ".gz", "zstd": ".zst", "bzip2": ".bz2", "xz": ".xz", "lz4": ".lz4"}
_HEAD = 8


@contextmanager
def standard_input(paths: Sequence[str], format_name: str) -> Iterator[list[tuple[str, str]]]:
    """Provide (shown, path) pairs in which a temporary file with the content of standard input replaces `-`."""
    if "-" not in paths:
        yield [(path, path) for path in paths]
        return
    suffix = _SUFFIX_OF_FORMAT.get(format_name.partition("-")[0])
    if suffix is None:
        raise UsageError("standard input has no file name: add --format dolma, jsonl, text or croissant")
    with temporary_folder() as folder:
        head = sys.stdin.buffer.read(_HEAD)
        spooled = folder / f"standard-input{suffix}{_SUFFIX_OF_CODEC[codec_of_content(head)]}"
        with spooled.open("wb") as file:
            file.write(head)
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [(path, str(spooled) if path == "-" else path) for path in paths]


def expanded(given: Sequence[tuple[str, str]], *, follow_links: bool) -> Iterator[tuple[str, Entry]]:
    """Expand globs that the shell left; the name of a folder ends with `/` then.

    Raises `UsageError` for an unusable path and for a glob that matches nothing.
    """
    for shown, path in given:
        several = is_pattern(path)
        for entry in matching(path, follow_links=follow_links):
            name = printable(without_query(entry.url if several else shown)).rstrip("/")
            yield f"{name}/" if entry.kind == "directory" else name, entry


def one_report(reports: Sequence[tuple[str, Report]], baseline: Baseline) -> Report:
    """Return one report over several inputs, whose paths begin with the inputs as they were named.

    The name of a folder ends with `/`.
    """
    if len(reports) == 1:
        return reports[0][1]
    tally, coverage = Tally(max(report.tally.cap for _, report in reports)), Coverage()
    for shown, report in reports:
        tally.merge(_below(shown, report.tally))
        coverage.add(_coverage_below(shown, report.coverage))
    kinds = {(report.format, report.version) for _, report in reports}
    name, version = kinds.pop() if len(kinds) == 1 else ("several", "")
    whole = Report(name, version, tally, coverage, started=reports[0][1].started, finished=reports[-1][1].finished)
    whole.arguments = {"paths": [shown for shown, _ in reports]}
    whole.arguments |= {name: reports[0][1].arguments.get(name, "") for name in ("format", "profile")}
    for what in ("revisions", "redirects"):
        if found := {name: to for _, each in reports for name, to in each.arguments.get(what, {}).items()}:
            whole.arguments[what] = found
    whole.unmatched = _unmatched([report for _, report in reports], whole, baseline)
    whole.shards = [
        Checked(tuple(_join(shown, path) for path in shard.paths), shard.seconds)
        for shown, report in reports
        for shard in report.shards
    ]
    return whole


def _unmatched(reports: Sequence[Report], whole: Report, baseline: Baseline) -> list[str]:
    """Return the settings and baseline entries that matched nothing in any input, if all inputs were read."""
    if whole.has_gaps or whole.coverage.shards_seen < whole.coverage.shards_total:
        return []
    common = set.intersection(*(set(report.unmatched) for report in reports))
    from corpusfmt.report.saved import ENTRY

    settings = [each for each in reports[0].unmatched if each in common and not each.startswith(ENTRY)]
    matched = {(code, path) for code, path, reason in whole.tally.suppressed if reason == baseline.reason}
    return settings + [baseline.entry(*key) for key in baseline.occurrences if key not in matched]


def base_of(inputs: Sequence[tuple[str, Entry]]) -> str:
    """Return the base of the paths in a report, relative to the root of the repository or to the working folder."""
    shown, entry = inputs[0]
    if entry.is_remote:
        return (entry if entry.kind == "directory" else entry.folder()).shown
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    base = here
    if len(inputs) == 1 and shown != "-":
        base = here / (entry.url if entry.kind == "directory" else Path(entry.url).parent)
    base = Path(os.path.normpath(base))
    return base.relative_to(root).as_posix() if base.is_relative_to(root) else base.as_posix()


def _below(root: str, tally: Tally) -> Tally:
    moved = Tally(tally.cap)
    moved.findings.extend(_moved(root, finding) for finding in tally.findings)
    moved.counts.update({(code, severity, _join(root, path)): n for (code, severity, path), n in tally.counts.items()})
    moved.suppressed.update({(code, _join(root, path), why): n for (code, path, why), n in tally.suppressed.items()})
    moved.regraded.update({(code, _join(root, path), why): n for (code, path, why), n in tally.regraded.items()})
    return moved


def _coverage_below(root: str, coverage: Coverage) -> Coverage:
    moved = replace(coverage, not_run=Counter(), gaps=Counter())
    moved.not_run.update({(_join(root, path), rule, why): n for (path, rule, why), n in coverage.not_run.items()})
    moved.gaps.update({(_join(root, path), what, why): n for (path, what, why), n in coverage.gaps.items()})
    return moved


def _moved(root: str, finding: Finding) -> Finding:
    at = replace(finding.location, path=_join(root, finding.location.path))
    return replace(finding, problem=replace(finding.problem, at=at))


def _join(root: str, path: str) -> str:
    folder = posixpath.dirname(root)
    if path in {".", posixpath.basename(root.rstrip("/"))}:
        return root.rstrip("/")
    joined = posixpath.join(folder, path)
    return posixpath.normpath(joined) if path.startswith("../") else joined


def settings_of(config: str | None, inputs: Sequence[str] = ()) -> Config:
    """Return the settings of `--config`, or those found in the working directory and its parents, which are named."""
    from corpusfmt.engine.config import Config, find_config, load_config, opens_no_more

    if config is not None:
        return Config() if config == NO_SETTINGS else load_config(config)
    if (found := find_config(inputs)) is None:
        detail("settings: none found")
        left = find_config(())
        if left is not None and not any(left.is_relative_to(os.path.realpath(each)) for each in inputs):
            mention(
                f"settings: none; {os.path.relpath(left)} is in the folder of the data: to use it, name it by --config"
            )
        return Config()
    name = os.path.relpath(found)
    mention(f"settings: {name}")
    settings, unused = opens_no_more(load_config(name), name)
    for table in settings.rule:
        if table.is_over:
            warn(f"{name}: the entry for {', '.join(table.rules)} ended on {table.until}: remove it, or move `until`")
    if unused:
        warn(
            f"{name}: {' and '.join(unused)} not used, since other files would be read: to use it, add --config {name}"
        )
    return settings


def settings_name(config: str | None, inputs: Sequence[str]) -> str:
    """Return the path of the settings that `settings_of` reads, "" if there are none."""
    from corpusfmt.engine.config import find_config

    found = find_config(inputs) if config is None else config
    return "" if found in {None, NO_SETTINGS} else printable(os.path.relpath(found))


def paths_of(config: str | None, paths: Sequence[str]) -> list[str]:
    """Return the paths to validate: those that are given, else those of the settings, else the working folder."""
    from corpusfmt.engine.config import find_config, load_config

    if paths:
        return list(paths)
    if config is None and (found := find_config(())) is not None:
        config = os.path.relpath(found)
    return list(load_config(config).paths if config not in {None, NO_SETTINGS} else ()) or ["."]


def with_settings(settings: Config, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command where they are given, else those of the settings; both name rules to ignore, and fields."""
    ignored = [*given.get("ignore", ()), *settings.ignore]
    fields = {**msgspec.to_builtins(settings.field), **fields_of(given.get("field", ()))}
    return {**settings.options(), **given, "ignore": ignored, "field": fields}
