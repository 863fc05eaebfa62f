"""Internal: Count a corpus: plan, count shards in workers, add up, find repeats."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import convert, to_builtins

from corpusfmt.conversion.layout import Corpus, corpus_at, count_unread, together, unread_files
from corpusfmt.conversion.options import Losses
from corpusfmt.engine.executors import Workers, default_jobs, placed, prepare
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import results_of
from corpusfmt.engine.sharing import WHOLE, Whole, Work
from corpusfmt.formats import ReadOptions
from corpusfmt.formats.columns import refuse_fields
from corpusfmt.io.keys import DEFAULT_MEMORY, Place, repeated
from corpusfmt.io.limits import Meter, limited
from corpusfmt.io.paths import noting_outputs, printable
from corpusfmt.io.publish import output_at
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import BadInput, Document, Json, UsageError
from corpusfmt.options import like, takes_options
from corpusfmt.statistics.count import (
    DOCUMENTS,
    DOMAINS,
    LINES,
    TOKENIZER,
    CountTask,
    count_shards,
    documents_of,
)
from corpusfmt.statistics.domains import domains_in, public_suffix_list
from corpusfmt.statistics.options import OPTIONAL, Asked, Counting
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.sizes import (
    LENGTHS,
    UNITS_ASKED_FOR,
    Count,
    Counted,
    Repeats,
    Size,
    Sketch,
    TokenizerFile,
    kept_tokenizer,
)
from corpusfmt.wording import clipped, unknown

if TYPE_CHECKING:
    from corpusfmt.engine.parts import Kind, Parts

#: What is counted only if asked for.
_MOST_REPEATED = 20
_BYTES_A_TASK = 8 * 1024 * 1024
_TASKS = 1_000
# For sorting, in bytes; more only if there would be more than some dozens of ranges of hashes, for each of which all runs are read.
_LEAST_MEMORY = 24 * 1024 * 1024


@takes_options(Counting)
def stats(path: str | Path, asked: Counting) -> Statistics:
    """Return statistics of a corpus in any format, from one pass in bounded memory.

    `count` names optional counts, which take longer: `words` (with scripts), `domains`, `repeats` of lines and documents, and `attributes`.
    `domains` is a CSV file for all domains, which are then counted. `tokenizer` is the `tokenizer.json` of a tokenizer, whose tokens
    are then counted.
    `record_set`, `columns` and `field` are as for `convert`. The result does not depend on `jobs` or `engine`.
    Records that are not documents, and the rest of files that cannot be read to their ends, are not counted, and listed.

    Raises `UsageError` for a path without documents and wrong arguments, `BadInput` for a layout that cannot be read, and
    `Incomplete` (or its subclass `LimitReached`) if the run did not finish.
    """
    return statistics_of(str(path), asked)


@noting_outputs()
def statistics_of(path: str, asked: Counting, part: Whole = WHOLE) -> Statistics:
    """Count like `stats`, as a whole or as a part of a run."""
    for name in asked.count:
        if name not in OPTIONAL:
            raise UsageError(unknown("statistic", name, OPTIONAL))
    engine, tokenizer = asked.engine, asked.tokenizer
    listed = None if asked.domains is None else output_at(asked.domains, "the domains")
    part.next_input()
    known = convert(part.planned.get("tokenizer"), TokenizerFile | None)
    wanted = {*asked.count, *(["domains"] if listed else []), *(["tokens"] if tokenizer or known else [])}
    limits = asked.limits.begun()
    prepare(engine, asked.jobs, "corpusfmt.statistics.count")
    reading = like(ReadOptions, asked)
    with limited(limits) as planned:
        corpus = corpus_at(
            placed(engine, path),
            asked.format,
            reading,
            to="count",
            stops=False,
            or_else="",
            follow_links=asked.follow_links,
        )
    refuse_fields(corpus.format, reading)
    path = corpus.entry.url if revision_of(corpus.entry.url) else path  # with the commit
    jobs = asked.jobs or default_jobs(sum(shard.size for shard in corpus.shards), len(corpus.shards))
    with temporary_folder() as scratch, Workers(engine, jobs) as workers:
        used = kept_tokenizer(tokenizer, scratch / TOKENIZER) if tokenizer else known
        for name in (LINES, DOCUMENTS, DOMAINS):
            (scratch / name).mkdir()
        part.ask(
            like(Asked, asked, path=path, count=sorted(set(asked.count)), columns=reading.columns, field=reading.field)
        )
        tasks = list(_tasks(corpus, scratch, frozenset(wanted)))
        none = Size({unit: Sketch() for unit in LENGTHS if unit not in UNITS_ASKED_FOR or unit in wanted})
        about = (corpus.format.name, corpus.plan.version, wanted, used)
        work, meter = Work([task.shards for task in tasks], scratch, about), Meter(limits, planned.read)
        here = [tasks[position] for position in part.positions(work.sizes)]
        sizes = [sum(shard.size for shard in task.shards) for task in here]
        names = [task.shards[0].name for task in here]
        results = results_of("counting", count_shards, here, names, sizes, workers, meter, asked.progress, scratch)
        counted = Counted(none)
        for _, each in part.results(work, results, meter):
            counted.merge(each)
        found = _statistics(corpus, printable(path), counted, wanted)
        found.tokenizer = used
        part.keep(scratch, meter.read)
        if not part.judges:
            return found
        with limited(limits.of_own_files):
            if "domains" in wanted:
                found.domains = domains_in(scratch / DOMAINS, found.total.documents, listed)
            if "repeats" in wanted:
                found.repeated_documents = _repeats_in(scratch / DOCUMENTS, found.total.documents)
                found.repeated_lines = _repeats_in(scratch / LINES, counted.compared_lines, tasks, _MOST_REPEATED)
    return found


def joined(
    parts: Parts, domains: str | Path | None = None, progress: Callable[[Progress], None] | None = None
) -> Statistics:
    """Return the statistics of a run from all its parts, which are those of one process."""
    from corpusfmt.engine.parts import refuse_masked  # noqa: PLC0415 - ordinary runs need none

    refuse_masked(parts.asked.path)
    return statistics_of(parts.asked.path, like(Counting, parts.asked, domains=domains, progress=progress), parts)


def kind_of_parts() -> Kind[Counted]:
    """Return how parts of statistics are written and read."""
    from corpusfmt.engine.parts import Kind  # noqa: PLC0415 - ordinary runs need none

    def planned(about: Any) -> Json:
        name, version, count, tokenizer = about
        domains = public_suffix_list() if "domains" in count else ""
        return {"format": name, "version": version, "domains": domains, "tokenizer": tokenizer}

    def record(_: Any, counted: Counted) -> Json:
        return {"counted": to_builtins(counted, str_keys=True)}

    def result(_: Any, record: Json) -> Counted:
        return convert(
            record["counted"],
            Counted,
            str_keys=True,
            dec_hook=lambda _, value: Counter(convert(value, dict[str, Count])),
        )

    others = "tokenizers or lists of domains"
    return Kind("corpusfmt-stats-part/1", "stats", Asked, planned, record, result, others)


def _tasks(corpus: Corpus, scratch: Path, count: frozenset[str]) -> Iterator[CountTask]:
    """Yield the tasks: shards in order, several small ones together."""
    side_by_side = len({shard.corpus for shard in corpus.shards}) > 1
    least = max(_BYTES_A_TASK, sum(shard.size for shard in corpus.shards) // _TASKS)
    for task, shards in enumerate(together(corpus.shards, least, _TASKS)):
        yield CountTask(corpus.format.name, corpus.options, tuple(shards), task, count, scratch, side_by_side)


def _statistics(corpus: Corpus, path: str, counted: Counted, count: Container[str]) -> Statistics:
    losses = Losses("allow")
    count_unread(corpus.reader, corpus.plan, losses)
    counted.left_out += losses.counts
    kind = (corpus.format.name, corpus.plan.version)
    found = Statistics.of(counted, path, kind, len(corpus.shards), attributes="attributes" in count)
    found.unread = unread_files(corpus.entry, corpus.reader, corpus.plan)
    return found


def _repeats_in(folder: Path, compared: int, tasks: Sequence[CountTask] = (), most: int = 0) -> Repeats:
    """Return the repeats among the hashes in a folder, with the `most` most repeated lines of `tasks`."""
    found = Repeats(compared)
    largest: list[tuple[int, Place]] = []
    for group in repeated(folder, min(DEFAULT_MEMORY, max(_LEAST_MEMORY, compared))):
        found.repeated += len(group) - 1
        if most:
            shard, row = next(iter(group))
            # Of equal numbers, the earlier line wins.
            heapq.heappush(largest, (len(group), (-shard, -row)))
            if len(largest) > most:
                heapq.heappop(largest)
    places = [((-shard, -row), number) for number, (shard, row) in sorted(largest, reverse=True)]
    lines = _lines_at([place for place, _ in places], {task.number: task for task in tasks})
    found.most = [(lines[place], number) for place, number in places if place in lines]
    return found


def _lines_at(places: Sequence[Place], tasks: Mapping[int, CountTask]) -> dict[Place, str]:
    """Return lines by task and number, read again."""
    found: dict[Place, str] = {}
    for number in {number for number, _ in places}:
        wanted = {row for of, row in places if of == number}
        first, last = 0, max(wanted)
        for shard in tasks[number].shards:
            try:
                for document in documents_of(tasks[number], shard):
                    if not isinstance(document, Document):
                        continue
                    lines = document.text.split("\n")
                    found |= {
                        (number, row): clipped(lines[row - first]) for row in wanted if 0 <= row - first < len(lines)
                    }
                    first += len(lines)
                    if first > last:
                        break
            except BadInput:
                continue
            if first > last:
                break
    return found
