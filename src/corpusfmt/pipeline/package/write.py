"""Internal: Stage `package`: write the documents of one language as the files of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.pipeline.package.counting import Counting, Counts
from corpusfmt.pipeline.package.divide import Position, Span, sections_of
from corpusfmt.pipeline.package.items import folder_of, items_at_once
from corpusfmt.pipeline.package.shuffle import shuffled
from corpusfmt.pipeline.package.variants import Form, Variant, form_of, sets_of, writer_of
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.recipe import Output, Step

# Documents that are written together, or one by one if one of them is unusual.
_AT_ONCE = 32


class PackageTask(Struct, frozen=True):
    """Some languages over all containers, in input order; `aside` is the task's temporary folder.

    `drops` are the containers with the lines to drop, if any; `variant` is the corpus to write. With a `span`, only these parts
    are written, of one language, and not what belongs to all of its parts.
    """

    labels: tuple[str, ...]
    containers: tuple[Path, ...]
    drops: tuple[Path, ...]
    output: Output
    variant: Variant
    destination: Place
    aside: Path
    steps: tuple[Step, ...] = ()
    span: Span | None = None


class Packaged(Struct):
    """Result of a language: files by path below the output, and the counts of its documents by the root of their variant."""

    files: dict[str, FileFacts]
    counts: dict[str, Counts]


def package(task: PackageTask) -> dict[str, Packaged]:
    """Write the parts of each language and, for OSCAR, its checksum list."""
    form = form_of(task.output.format)
    return {label: _package(task, form, label) for label in task.labels}


def _package(task: PackageTask, form: Form, label: str) -> Packaged:
    output = task.output
    writer = writer_of(form, output, task.variant, task.steps)
    counting = Counting()
    folder = folder_of(writer, task.variant, label)
    files = write_parts(
        writer,
        _items(writer, form, label, counting, task),
        # Next to attribute sets, the folder of a language's documents is part of the stem.
        stem=f"{label}/{label}" if sets_of(output, task.steps) else label,
        before=None if task.span is None else task.span.before,
        part_bytes=output.part_bytes,
        compression=output.compressor,
        folder=task.destination / folder,
        aside=task.aside,
    )
    if task.span is None and writer.seal is not None:
        files |= writer.seal(task.destination / folder, files, task.aside)
    counts = {task.variant.root: counting.counts()}
    return Packaged({f"{folder}/{name}".lstrip("/"): facts for name, facts in files.items()}, counts)


def joined(task: PackageTask, results: Sequence[Packaged], aside: Path) -> Packaged:
    """Return the result of a language whose parts several tasks like this have written; write what belongs to all of them."""
    (label,) = task.labels
    writer = writer_of(form_of(task.output.format), task.output, task.variant, task.steps)
    folder = folder_of(writer, task.variant, label)
    whole, counting = Packaged({}, {}), Counting()
    for each in results:
        whole.files |= each.files
        counting.merge(each.counts[task.variant.root])
    whole.counts[task.variant.root] = counting.counts()
    aside.mkdir(parents=True, exist_ok=True)
    if writer.seal is not None:
        own = {path.removeprefix(f"{folder}/"): facts for path, facts in whole.files.items()}
        for name, facts in writer.seal(task.destination / folder, own, aside).items():
            whole.files[f"{folder}/{name}"] = facts
    return whole


def _items(writer: Writer[Any], form: Form, label: str, counting: Counting, task: PackageTask) -> Iterator[Any]:
    documents = _documents(task, label)
    if task.output.shuffle_seed is None:
        for some in documents:
            for stored in some:
                counting.add(stored.text)
                if form.is_dated:
                    counting.date(stored.headers)
            yield from items_at_once(writer, form.source, label, some, task.output, task.steps)
        return
    assert writer.line is not None
    lines = (line for some in documents for stored in some for line in stored.text[:-1].split(b"\n"))
    for line in shuffled(lines, task.output.shuffle_seed, task.aside):
        counting.add(line + b"\n")
        yield writer.line(line)


def _documents(task: PackageTask, label: str) -> Iterator[list[StoredDocument]]:
    """Yield the documents, some at a time."""
    start, end = (task.span.start, task.span.end) if task.span else (Position(0), None)
    last = len(task.containers) - 1 if end is None else end.container
    for number in range(start.container, last + 1):
        first = start if number == start.container else Position(number)
        sections = sections_of(task.containers[number], number, label, task.drops, first)
        for section, (_, documents) in enumerate(sections, first.section):
            begin = start.document if start.place == (number, section) else 0
            is_last = end is not None and end.place == (number, section)
            stop = end.document if end is not None and is_last else len(documents)
            kept = [document for document in documents[begin:stop] if document is not None]
            for at in range(0, len(kept), _AT_ONCE):
                yield kept[at : at + _AT_ONCE]
            if is_last:
                return
