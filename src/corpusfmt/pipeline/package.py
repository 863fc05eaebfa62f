"""Stage `package`: the documents of one language as the files of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import msgspec

from corpusfmt.formats import named_format
from corpusfmt.formats.parts import write_parts
from corpusfmt.formats.provenance import metadata_of
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import Container
from corpusfmt.model import Document
from corpusfmt.pipeline.dedup import first_occurrences
from corpusfmt.pipeline.process import StoredDocument, stored_documents
from corpusfmt.pipeline.recipe import Output
from corpusfmt.pipeline.size import Size, size_of

_SOURCE = "common-crawl"


@dataclass(frozen=True, slots=True)
class PackageTask:
    """Some languages over all containers, given in input order; `aside` is this task's own folder.

    `drops` are the containers that say which lines go, none where all stay.
    """

    labels: tuple[str, ...]
    containers: tuple[Path, ...]
    drops: tuple[Path, ...]
    output: Output
    destination: Path
    aside: Path


class Packaged(msgspec.Struct):
    """What one language became: files by path below the output, and its size."""

    files: dict[str, FileFacts]
    final: Size


def package(task: PackageTask) -> dict[str, Packaged]:
    """Write the parts of each language, and for OSCAR its checksum list."""
    with ExitStack() as stack:
        containers = [stack.enter_context(Container(path)) for path in task.containers]
        drops = [stack.enter_context(Container(path)) for path in task.drops]
        return {label: _package(task, label, containers, drops) for label in task.labels}


def _package(task: PackageTask, label: str, containers: Sequence[Container], drops: Sequence[Container]) -> Packaged:
    fmt, version = named_format(task.output.format)
    writer = fmt.writers[version or fmt.versions[-1]]
    final = Size()
    folder = writer.folder(label)
    documents = _documents(label, containers, drops, final)
    files = write_parts(
        writer,
        (writer.item(_document(label, stored)).value for stored in documents),
        stem=label,
        part_bytes=task.output.part_bytes,
        folder=task.destination / folder,
        aside=task.aside,
    )
    files |= writer.seal(task.destination / folder, files, task.aside)
    return Packaged({f"{folder}/{name}": facts for name, facts in files.items()}, final)


def _documents(
    label: str, containers: Sequence[Container], drops: Sequence[Container], final: Size
) -> Iterator[StoredDocument]:
    for number, container in enumerate(containers):
        stays = first_occurrences(drops, label, number)
        first = 0
        for documents in stored_documents(container, label):
            kept = list(_kept(documents, stays, first))
            final += size_of([document.text for document in kept])
            yield from kept
            first += sum(document.lines for document in documents)


def _kept(documents: Sequence[StoredDocument], stays: bytes, first: int) -> Iterator[StoredDocument]:
    """Yield what stays of documents; the first line of the first one has the number `first`."""
    for document in documents:
        following = first + document.lines
        if stays.find(0, first, following) < 0:
            yield document
        elif stays.find(1, first, following) >= 0 or following > len(stays):
            choice = stays[first:following].ljust(document.lines, b"\1")
            text = b"".join(line + b"\n" for line in compress(document.text.split(b"\n"), choice))
            yield StoredDocument(document.headers, choice.count(1), text)
        first = following


def _document(label: str, stored: StoredDocument) -> Document:
    record_id = stored.headers.get("warc-record-id", "").strip("<>")
    return Document(
        id=f"{record_id}#{label}",
        text=stored.text[:-1].decode(),
        source=_SOURCE,
        lang=label,
        created=stored.headers.get("warc-date"),
        metadata=metadata_of({"version": "1.1", "record": {"headers": stored.headers}}, language=label),
    )
