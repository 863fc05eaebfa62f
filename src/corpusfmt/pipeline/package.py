"""Stage `package`: the documents of one language as the files of a release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from corpusfmt.formats import named_format
from corpusfmt.formats.parts import write_parts
from corpusfmt.formats.provenance import metadata_of
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import Container
from corpusfmt.model import Document
from corpusfmt.pipeline.dedup import dropped_lines
from corpusfmt.pipeline.process import StoredDocument, stored_documents
from corpusfmt.pipeline.recipe import Output

_SOURCE = "common-crawl"


@dataclass(frozen=True, slots=True)
class PackageTask:
    """One language over all containers, given in input order; `aside` is this task's own folder."""

    label: str
    containers: tuple[Path, ...]
    drops: tuple[Path, ...]
    output: Output
    destination: Path
    aside: Path


class Size(msgspec.Struct):
    """Documents, lines, words (runs without white space) and bytes of text, line ends included."""

    documents: int = 0
    lines: int = 0
    words: int = 0
    text_bytes: int = 0

    def add(self, lines: list[bytes], words: list[int]) -> None:
        """Count one document: its lines, and the words of each."""
        self.documents += 1
        self.lines += len(lines)
        self.words += sum(words)
        self.text_bytes += sum(map(len, lines)) + len(lines)


class Packaged(msgspec.Struct):
    """What one language became: files by path below the output, and its size before and after deduplication."""

    files: dict[str, FileFacts]
    original: Size
    final: Size


def package(task: PackageTask) -> Packaged:
    """Write the parts of one language, and for OSCAR its checksum list."""
    fmt, version = named_format(task.output.format)
    writer = fmt.writers[version or fmt.versions[-1]]
    original, final = Size(), Size()
    folder = writer.folder(task.label)
    files = write_parts(
        writer,
        (writer.item(_document(task.label, stored)).value for stored in _documents(task, original, final)),
        stem=task.label,
        part_bytes=task.output.part_bytes,
        folder=task.destination / folder,
        aside=task.aside,
    )
    files |= writer.seal(task.destination / folder, files, task.aside)
    return Packaged({f"{folder}/{name}": facts for name, facts in files.items()}, original, final)


def _documents(task: PackageTask, original: Size, final: Size) -> Iterator[StoredDocument]:
    with ExitStack() as stack:
        drops = [stack.enter_context(Container(path)) for path in task.drops]
        for number, path in enumerate(task.containers):
            with Container(path) as container:
                dropped = dropped_lines(drops, number)
                first = 0
                for document in stored_documents(container, task.label):
                    lines = document.lines
                    words = [len(line.split()) for line in lines]
                    original.add(lines, words)
                    if dropped:
                        kept = [place for place in range(len(lines)) if first + place not in dropped]
                        first += len(lines)
                        lines = [lines[place] for place in kept]
                        words = [words[place] for place in kept]
                    if lines:
                        final.add(lines, words)
                        yield StoredDocument(document.headers, lines)


def _document(label: str, stored: StoredDocument) -> Document:
    record_id = stored.headers.get("warc-record-id", "").strip("<>")
    return Document(
        id=f"{record_id}#{label}",
        text=b"\n".join(stored.lines).decode(),
        source=_SOURCE,
        lang=label,
        created=stored.headers.get("warc-date"),
        metadata=metadata_of({"version": "1.1", "record": {"headers": stored.headers}}, language=label),
    )
