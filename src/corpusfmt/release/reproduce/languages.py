"""Internal: Compare what inputs contributed to a release: for each variant and language, input by input in their order.

Of a deduplicated release a line may rightly be missing from the stretch of an input: if the release has it before that
stretch, where an earlier input has contributed it. The stretch begins with the first record of the input. If a release does
not name records, it begins after the last line of the input before, which is rebuilt for that, or where most lines
of the input are together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.formats.general import barred, broken_stream
from corpusfmt.io.paths import Entry
from corpusfmt.manifest.model import NAME, Manifest
from corpusfmt.model import Fault, Location, Problem
from corpusfmt.pipeline.package.variants import variants
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.release.reproduce.compare import Comparison
from corpusfmt.release.reproduce.locate import NOWHERE, Places, Seen, by_common_shift, densest, scan
from corpusfmt.release.reproduce.parts import Broken, Stream, Unit, line_by_line, units
from corpusfmt.release.reproduce.rebuild import (
    Choice,
    Hashes,
    Layout,
    Lines,
    Neighbours,
    Rebuilt,
    lines_of,
    written_alone,
)
from corpusfmt.release.reproduce.request import Made
from corpusfmt.release.reproduce.rules import LINE_ADDED, RULES
from corpusfmt.release.reproduce.shuffled import out_of_place, unshuffle
from corpusfmt.rules import Grading, Judge

# Lines of rebuilt inputs that are looked for in one pass over the release.
_LINES_A_PASS = 2_000_000


def needs_neighbours(recipe: Recipe) -> bool:
    """Return whether the input before each is needed to find where its lines begin."""
    return any(each.deduplicated and not Layout(recipe, each).has_ids for each in variants(recipe))


def _passes(ready: Sequence[Rebuilt]) -> Iterator[list[Rebuilt]]:
    """Yield inputs in groups whose lines fit into memory."""
    group: list[Rebuilt] = []
    lines = 0
    for each in ready:
        own = sum(each.processed.stored.values())
        if group and lines + own > _LINES_A_PASS:
            yield group
            group, lines = [], 0
        group.append(each)
        lines += own
    if group:
        yield group


class _Ends(Struct):
    """What is known of where inputs end in a language: inputs up to a number end before a place; bounds by input."""

    number: int = -1
    place: int = 0
    at_least: dict[int, int] = field(default_factory=dict)


class _Stretch(Struct, frozen=True):
    """An input and a language: its lines in it, and where they are in the release."""

    layout: Layout
    label: str
    streams: Sequence[Stream]
    input: Rebuilt
    lines: Lines
    seen: Seen

    @property
    def ids(self) -> list[str]:
        """The ids of the documents, if the release names them."""
        names = self.lines.records if self.layout.has_ids else ()
        return [self.layout.id_of(record, self.label) for record in names if record]

    @property
    def own_units(self) -> Places:
        """The number of the unit of each line among those of the input."""
        if self.layout.kinds[0] == "lines" and not self.layout.has_rows:
            return np.arange(len(self.lines.hashes), dtype=np.int64)
        return np.repeat(np.arange(len(self.lines.counts), dtype=np.int64), self.lines.counts)


class Comparing(Struct):
    """Compares rebuilt inputs; `compared` are their numbers, without those that only show where others begin."""

    root: Entry
    manifest: Manifest
    made: Made
    judge: Judge
    folder: Path
    compared: frozenset[int]
    neighbours: Neighbours
    _ends: dict[tuple[str, str], _Ends] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def run(self, ready: Sequence[Rebuilt]) -> None:
        """Compare inputs, and what is left if all were rebuilt."""
        layouts = [Layout(self.made.recipe, each) for each in variants(self.made.recipe)]
        for group in _passes(ready):
            for layout in layouts:
                for label in sorted({label for each in group for label in each.processed.stored}):
                    self._guarded(self._language, layout, label, group)
        for layout in layouts:
            for label in sorted({label for name, label in self._ends if name == layout.variant.name}):
                self._guarded(self._rest, layout, label)
        if self._is_adjacent(-1, len(self.made.inputs)):
            self._report_strays()

    def _guarded(self, function: Callable[..., None], layout: Layout, label: str, *more: object) -> None:
        """Report a file that cannot be read, and go on with the next language."""
        path = layout.names(label, None)[0]
        try:
            function(layout, label, *more)
        except Broken as broken:
            self._report(broken_stream(Location(broken.path), broken.fault))
        except OSError as error:
            self._report(barred(error, Location(path)))

    def _report(self, fault: Fault) -> None:
        self.judge.report(fault.type, fault.problem)

    def _language(self, layout: Layout, label: str, group: Sequence[Rebuilt]) -> None:
        streams = layout.streams(self.root, self.manifest.files, label)
        self._known.update(part.path for stream in streams for part in stream.parts)
        own = {each.number: lines_of(each, label) for each in group if label in each.processed.stored}
        ids = {layout.id_of(record, label) for each in own.values() for record in each.records}
        seen = scan(layout, streams, [each.hashes for each in own.values()], sorted(ids))
        seed = self.made.recipe.output.shuffle_seed
        if seed is not None:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                unshuffle(seen, seed, Path(folder))
        ends = self._ends.setdefault((layout.variant.name, label), _Ends())
        for each in group:
            if each.number in own:
                lines = own[each.number]
                places = seen.places(lines.hashes)
                if each.number in self.compared:
                    of = _Stretch(layout, label, streams, each, lines, seen)
                    start, taken = self._contribution(of)
                    if start is not None:
                        ends.number, ends.place = each.number, start + taken
                if (places != NOWHERE).any():
                    ends.at_least[each.number] = int(places.max()) + 1

    def _is_adjacent(self, number: int, other: int) -> bool:
        """Return whether all inputs between two are compared."""
        return all(each in self.compared for each in range(number + 1, other))

    def _contribution(self, of: _Stretch) -> tuple[int | None, int]:
        """Compare the contribution of an input to a language; return where it begins and the number of its documents.

        Records of an input may be in an earlier one, too, whose lines then seem to be its own. So nothing is reported
        before the input right before it was rebuilt: lines up to the last one of that input are of others.
        """
        start = self._start(of, 0)
        trial = Judge(RULES, Grading(), version="", path=NAME)
        taken = self._input(of, start, trial)
        ends = self._ends[of.layout.variant.name, of.label]
        if trial.tally.counts and start is not None and of.ids and not self._is_adjacent(ends.number, of.input.number):
            bound = self._end_before(of)
            if bound > start:
                start = self._start(of, bound)
                trial = Judge(RULES, Grading(), version="", path=NAME)
                taken = self._input(of, start, trial)
        self.judge.tally.merge(trial.tally)
        return start, taken

    def _end_before(self, of: _Stretch) -> int:
        """Return the place after the last line that the release has of the input before."""
        before = self.neighbours.get(of.input.number - 1)
        if before is None or of.label not in before.processed.stored:
            return 0
        hashes = lines_of(before, of.label).hashes
        return int(scan(of.layout, of.streams, [hashes], ()).places(hashes).max()) + 1

    def _start(self, of: _Stretch, bound: int) -> int | None:
        """Return where the stretch of an input begins, not before `bound`; None if nothing shows it."""
        ends = self._ends[of.layout.variant.name, of.label]
        if self._is_adjacent(ends.number, of.input.number):
            return ends.place
        named = sorted({place for each in of.ids for place in of.seen.ids[each] if place >= bound})
        if named:
            return densest(np.array(named, dtype=np.int64))
        places = of.seen.places(of.lines.hashes)
        if not of.layout.variant.deduplicated:
            return by_common_shift(of.own_units, places, of.seen.counts(of.lines.hashes))
        if of.ids:
            return None
        there = np.sort(places[places >= max(bound, ends.at_least.get(of.input.number - 1, 0))])
        is_new = np.diff(there, prepend=NOWHERE) > 0
        return densest(there[is_new], up_to_the_last=True)

    def _input(self, of: _Stretch, start: int | None, judge: Judge) -> int:
        """Compare the stretch of an input from a place on; return the number of its documents."""
        stays = _stays(of.layout, of.lines, of.seen.places(of.lines.hashes), start)
        if not stays.any():
            return 0
        records = [of.layout.id_of(record, of.label) for record in _kept(of.lines, stays)]
        taken = []
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            for role, stream in enumerate(written_alone(of.input, of.layout, of.label, stays, folder)):
                path = of.layout.names(of.label, None)[role]
                comparison = Comparison(judge, of.input.origin.name, path)
                expected = _named(units(stream), records)
                if start is None:
                    taken.append(comparison.run(expected, iter(())))
                elif self.made.recipe.output.shuffle_seed is not None:
                    taken.append(self._shuffled(of, comparison, expected, of.lines.hashes[stays], start, folder))
                else:
                    sizes = of.seen.metadata_sizes if stream.kind == "metadata" else of.seen.sizes
                    taken.append(comparison.run(expected, units(of.streams[role], skip=start, sizes=sizes)))
        return taken[0] if taken else 0

    def _shuffled(
        self,
        of: _Stretch,
        comparison: Comparison,
        expected: Iterator[Unit],
        hashes: Hashes,
        start: int,
        folder: Path,
    ) -> int:
        seed = self.made.recipe.output.shuffle_seed
        assert seed is not None
        found = out_of_place(of.streams[0], of.seen, hashes, start, seed, folder)
        for number, unit in enumerate(line_by_line(expected)):
            if number in found.missing:
                comparison.lacks(unit, found.missing[number])
        if found.moved:
            comparison.disordered(found.moved, found.first)
        return len(hashes)

    def _rest(self, layout: Layout, label: str) -> None:
        """Report what follows the last input of a release."""
        ends = self._ends[layout.variant.name, label]
        if self.made.recipe.output.shuffle_seed is None and self._is_adjacent(ends.number, len(self.made.inputs)):
            for stream in layout.streams(self.root, self.manifest.files, label):
                comparison = Comparison(self.judge, "any input", stream.parts[0].path if stream.parts else NAME)
                comparison.added(units(stream, skip=ends.place))

    def _report_strays(self) -> None:
        """Report files with documents in languages that no input has, once all inputs were rebuilt."""
        for path, each in self.manifest.files.items():
            if each.documents and path not in self._known:
                problem = Problem("no input has text of this file", Location(path), "build the release again")
                self.judge.report(LINE_ADDED, problem)


def _stays(layout: Layout, lines: Lines, places: Places, start: int | None) -> Choice:
    """Return which lines of an input should be in its stretch: those that are nowhere before it."""
    if not layout.variant.deduplicated:
        return np.ones(len(places), dtype=np.bool_)
    stays: Choice = (places == NOWHERE) & ~lines.repeated
    return stays if start is None else stays | ((places >= start) & ~lines.repeated)


def _kept(lines: Lines, stays: Choice) -> list[str]:
    """Return the records of the documents that keep a line."""
    ends = np.cumsum([0, *lines.counts])
    kept = np.concatenate([[0], np.cumsum(stays)])
    counts = kept[ends[1:]] - kept[ends[:-1]]
    return [record for record, count in zip(lines.records, counts, strict=True) if count]


def _named(found: Iterator[Unit], records: Sequence[str]) -> Iterator[Unit]:
    """Yield units with the ids of their records, as far as these are known."""
    for number, unit in enumerate(found):
        yield replace(unit, record=records[number] if number < len(records) else "")
