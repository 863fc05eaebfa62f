"""Internal: The tasks of a conversion: shards to parts, shards to containers, containers to parts."""

from __future__ import annotations

import posixpath
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.attributes import forget_language
from corpusfmt.conversion.documents import Documents, Reading
from corpusfmt.conversion.layout import path_of
from corpusfmt.conversion.options import Losses
from corpusfmt.conversion.repeats import First, Identified, identified, noting_keys, repeated_in
from corpusfmt.conversion.stored import STORED, Sections, as_array, stored_sections
from corpusfmt.engine.stored import aside_of
from corpusfmt.formats import Shard, named_format
from corpusfmt.formats.parts import Batch, RowBlock, Writer, write_parts
from corpusfmt.io.compress import CompressionName, FileFacts
from corpusfmt.io.loading import Seen
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import Entry, PointerFile, reason_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import facts_of
from corpusfmt.io.witness import witnessing
from corpusfmt.model import Document, Incomplete, Location

T = TypeVar("T")
_encoded = msgspec.msgpack.Encoder().encode

_RENAMED = {"`_dedup` in the name of a text that repeats a line": 1}


class Target(Struct, frozen=True):
    """Format and location of the output; crosses processes. `sets` are its attribute sets."""

    format: str
    destination: Place
    compression: CompressionName
    sets: tuple[str, ...] = ()

    @property
    def writer(self) -> Writer[Any]:
        fmt, version = named_format(self.format)
        writer = fmt.writers[version]
        return writer.with_sets(self.sets) if self.sets and writer.with_sets else writer


class DirectTask(Struct, frozen=True):
    """Shards that become one part, or parts of about `part_bytes`; `language` is None if the target has no such folders.

    `state` is the folder with the state of a `run`. `repeats` is the folder with the documents to reject.
    """

    reading: Reading
    shards: tuple[Shard, ...]
    target: Target
    folder: str
    stem: str
    part: int | None
    part_bytes: int | None
    language: str | None
    state: Path
    run: str
    repeats: Path | None = None

    @property
    def index(self) -> int:
        """The place of the task in the order of the source's shards."""
        return self.shards[0].index

    @property
    def name(self) -> str:
        return f"{self.index:06d}"

    @property
    def aside(self) -> Path:
        return aside_of(self.state, self.name, self.run)

    @property
    def keys(self) -> Path | None:
        """The folder for the hashes of the documents' names, if these must be unique."""
        return None if self.target.writer.key is None else self.state / "keys" / self.name


class SortTask(Struct, frozen=True):
    """Shards to store in a container by language, in the form of the target."""

    reading: Reading
    shards: tuple[Shard, ...]
    target: Target
    container: Path
    aside: Path


class PackTask(Struct, frozen=True):
    """One language over all containers, in source order; `folder` and `target_folder` are named for it."""

    target: Target
    folder: str
    target_folder: str
    containers: tuple[Path, ...]
    part_bytes: int
    aside: Path


class Converted(Struct):
    """Result of a task: plain data for a marker.

    `read` are the files of the source; `folders` has the sorted bytes by folder, `quarantined` the files of rejected records.
    """

    files: dict[str, FileFacts] = {}
    read: dict[str, FileFacts] = {}
    documents: int = 0
    rejected: int = 0
    cut: list[str] = []
    losses: dict[str, int] = {}
    folders: dict[str, int] = {}
    quarantined: dict[str, FileFacts] = {}

    def count(self, documents: Documents) -> None:
        """Add what was read of a shard."""
        self.documents += documents.taken
        self.rejected += documents.rejected
        self.cut += documents.cut
        self.quarantined |= documents.quarantined


def summed(results: Iterable[Converted], losses: Mapping[str, int]) -> Converted:
    """Return all results as one, with other losses. Many files have the same columns: these are one object."""
    whole, all_losses = Converted(), Counter[str]()
    columns: dict[bytes, Seen] = {}
    for result in results:
        for path, facts in result.files.items():
            if facts.columns is not None:
                alike = columns.setdefault(_encoded(facts.columns), facts.columns)
                facts = replace(facts, columns=alike)  # noqa: PLW2901
            whole.files[path] = facts
        whole.read |= result.read
        whole.documents += result.documents
        whole.rejected += result.rejected
        whole.cut += result.cut
        all_losses.update(result.losses)
    all_losses.update(losses)
    whole.losses = dict(all_losses)
    return whole


@contextmanager
def _result(task: DirectTask | SortTask) -> Iterator[Converted]:
    """Provide the result of a task, with the facts of all files of the source when the block ends, also of those that were
    read otherwise than from first to last byte.

    Raises `Incomplete` for one that cannot be read again, or has changed: a manifest without it would be another one. Pointers are not read.
    """
    result = Converted()
    files: list[Entry] = []
    if task.reading.format != STORED.name:
        files = [file for shard in task.shards for file in shard.files.values()]
    # A store would be asked for them.
    versions = ["" if file.is_remote else file.version for file in files]
    with witnessing() as read:
        yield result
    result.read = {seen.path: seen.facts for seen in read.values()}
    for entry, version in zip(files, versions, strict=True):
        if entry.url in read:
            continue
        try:
            result.read[entry.path] = facts_of(entry)
        except PointerFile:
            continue
        except OSError as error:
            said = f"{entry.path}: cannot be read again for its digest: {reason_of(error)}"
            raise Incomplete(f"{said}; restore the file, then run the same command again") from error
        if version and entry.version != version:
            raise Incomplete(f"{entry.path}: changed while it was read; run the same command again")


def convert_shards(task: DirectTask) -> Converted:
    """Write the parts of one stem."""
    writer = task.target.writer
    losses = Losses(task.reading.options.on_loss)
    repeated = repeated_in(task.repeats) if task.repeats else None
    batch = writer.batch if task.part_bytes is None and not task.target.sets else None
    with _result(task) as result:
        documents = _documents_of(task, result, losses, repeated, batch)
        found: Iterator[tuple[str, Document | Batch]] = ((each.path, document) for each, document in documents)
        if writer.key is not None and (keys := task.keys) is not None:
            found = noting_keys(found, writer.key, keys, task.index, task.aside)
        files = write_parts(
            writer,
            _items(writer, found, losses),
            stem=task.stem,
            part=task.part,
            part_bytes=task.part_bytes,
            compression=task.target.compression,
            folder=task.target.destination / task.folder,
            aside=task.aside,
            renaming=lambda: losses.add(_RENAMED, Location(path_of(task.shards[0]))),
        )
    result.files = {f"{task.folder}/{name}" if task.folder else name: facts for name, facts in files.items()}
    result.losses = dict(losses.counts)
    return result


def _documents_of(
    task: DirectTask,
    result: Converted,
    losses: Losses,
    repeated: Iterator[First | None] | None = None,
    batch: type[Batch] | None = None,
) -> Generator[tuple[Documents, Any]]:
    """Yield the documents of all shards with their reader, and add the reader's counts to the result."""
    for shard in task.shards:
        with Documents(task.reading, shard, losses, task.aside, repeated) as documents:
            for document in documents.of_language(task.language, batch):
                yield documents, document
        result.count(documents)


class IdentifyTask(Struct, frozen=True):
    """Documents of a finished task, by sorted numbers from 0, whose names may not be unique."""

    task: DirectTask
    rows: array[int]


def identify(asked: IdentifyTask) -> Identified:
    """Read documents again and return their names."""
    return identified(_asked_for(asked))


def _asked_for(asked: IdentifyTask) -> Iterator[tuple[int, tuple[str, str], Location]]:
    task = asked.task
    key = task.target.writer.key
    assert key is not None
    # Rejected records were written when the shard was first read.
    again = replace(task, reading=replace(task.reading, quarantine=task.aside / "rejected"))
    wanted = iter(asked.rows)
    row = next(wanted, None)
    with closing(_documents_of(again, Converted(), Losses("allow"))) as read:
        for number, (documents, document) in enumerate(read):
            if number == row:
                yield number, key(document), documents.place_of(document)
                row = next(wanted, None)
            if row is None:
                return


def sort_shards(task: SortTask) -> Converted:
    """Store the documents of shards by language, as items of the target's writer."""
    writer = task.target.writer
    losses = Losses(task.reading.options.on_loss)
    with _result(task) as result, publish(task.container, sync="data") as file:
        sections = Sections(file, as_array)
        for shard in task.shards:
            prefix = f"{shard.corpus}/" if shard.corpus else ""
            with Documents(task.reading, shard, losses, task.aside) as documents:
                for found in documents.of_language(None, RowBlock):
                    for language, item in _by_language(writer, found, documents, losses):
                        sections.add(prefix + language, _encoded(item))
            result.count(documents)
        sections.finish()
    result.losses, result.folders = dict(losses.counts), dict(sections.bytes)
    return result


def _by_language(
    writer: Writer[T], found: Document | RowBlock, documents: Documents, losses: Losses
) -> Sequence[tuple[str, T]]:
    if isinstance(found, RowBlock):
        items = writer.of_rows(found.data, documents.language_name) or ()
        found.taken = len(items)
        return items
    assert found.lang is not None
    return [(found.lang, _item(writer, found, documents.path, losses))]


def pack_language(task: PackTask) -> Converted:
    """Write the parts of one language."""
    writer = task.target.writer
    result = Converted()
    folder = writer.folder(task.target_folder)
    files = write_parts(
        writer,
        _restored(task, writer, result),
        stem=posixpath.basename(task.folder),
        part_bytes=task.part_bytes,
        compression=task.target.compression,
        folder=task.target.destination / folder,
        aside=task.aside,
    )
    result.files = {f"{folder}/{name}": facts for name, facts in files.items()}
    return result


def _restored(task: PackTask, writer: Writer[T], result: Converted) -> Iterator[T | Batch]:
    decode = msgspec.msgpack.Decoder(GenericAlias(list, (writer.kind,))).decode
    for path in task.containers:
        for section in stored_sections(path, task.folder):
            items = decode(section)
            result.documents += len(items)
            yield from items


def _items(writer: Writer[T], documents: Iterable[tuple[str, Document | Batch]], losses: Losses) -> Iterator[T | Batch]:
    """Yield items for the writer, and batches as they are. Raises `BadInput` for a loss that is not accepted."""
    for path, document in documents:
        yield document if isinstance(document, Batch) else _item(writer, document, path, losses)


def _item(writer: Writer[T], document: Document, path: str, losses: Losses) -> T:
    if document.attribute_rows and writer.with_sets is None:
        forget_language(document)
    item = writer.item(document)
    if item.losses:
        losses.add(item.losses, Location(path, record=document.id))
    return item.value
