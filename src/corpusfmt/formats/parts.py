"""For formats: Writing a corpus: numbered parts, streams that grow to a size and then continue in the next
file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.io.compress import COMPRESSION, CompressionName, FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish_all, writing
from corpusfmt.model import Document, Json

#: The number of folders that may be above a language's folder in some targets: variants of a release are next to each other.
FOLDERS_ABOVE = 2

#: Names of lists as `sha256sum` and its relatives write them, for many files or for one.
CHECKSUM_LIST = r"(?:.*[._-])?(?P<algorithm>md5|sha-?(?:1|224|256|384|512))(?:sums?)?(?:\.txt)?"

#: Files next to the data that belong to a release but not to its format.
ROOT_FILES = (
    rf"{CHECKSUM_LIST}|"
    r"croissant\.(json|nt|rdf|ttl)|stats\.(json|md)|MANIFEST(\.[a-z]+)?\.json|metadata(_schema)?\.json|(README|LICENSE)([.-].*)?"
    r"|.+\.(sig|asc|sigstore(\.json)?)"
)


class Batch(Struct):
    """Rows of JSON Lines in the form of Dolma, whole lines; `taken` is the number of documents that a part took."""

    data: bytes
    taken: int = 0


class EncodedRows(Batch, kw_only=True):
    """Rows as they are written, by a reader that knows that its documents would become the same.

    `names` has source and id of each, joined by a tab. `like` has one row with the same types in all columns, or all rows;
    the texts in it may be others.
    """

    names: Sequence[bytes]
    like: Sequence[Json]


class RowBlock(Batch, kw_only=True):
    """Rows that were read, to be taken at once or not at all; `each` reads them as documents.

    A part may take documents of the `language` that all of its documents have.
    """

    each: Callable[[], Iterator[Any]]
    language: str = ""


T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")


class Part(Protocol[T_contra]):
    """A part being written into one or more open files."""

    @property
    def text_bytes(self) -> int:
        """Bytes of text so far."""

    def add(self, item: T_contra, /) -> None: ...

    def finish(self) -> list[FileFacts]:
        """End the files; return size and digest of each, in the given order."""


class PartOfBatches(Part[T_contra], Protocol[T_contra]):
    """A part that also takes documents in batches."""

    def add_batch(self, batch: Any, /) -> int:
        """Return the number of documents that were added: all of them or 0."""


class Loaded(Struct, frozen=True):
    """A table that a loader makes of files: its name ("" for the documents), the folder of its files, and what a row is."""

    name: str
    root: str
    rows: str


def is_root_file(name: str) -> bool:
    """Return whether a file in the folder of a release goes with any format."""
    return re.fullmatch(ROOT_FILES, name, re.IGNORECASE) is not None


#: The table of the documents of text files.
TEXT = Loaded("", "", "the text of a document, without its id")


class Writer(Struct, Generic[T], frozen=True):
    """How corpora of one version of a format are laid out and written, as a frozen record of functions."""

    #: Convert a document to an item of a part; return with it what the format cannot represent.
    item: Callable[[Document], Item[T]]
    #: Start a part in open files, compressed by the named codec.
    open_part: Callable[[Sequence[BinaryIO], CompressionName], Part[T]]
    #: Return the file names of a part by the stem of its shard and its number, None for a single part.
    names: Callable[[str, int | None], Sequence[str]]
    #: Whether a folder contains the documents of one language, and its name is the language's code.
    by_language: bool
    #: Return the path, below the root, of a folder of files (with by_language, of a language).
    folder: Callable[[str], str]
    #: Write the files that a folder needs besides its parts (a checksum list), using a folder for unfinished files; return
    #: those files' facts by name. None for formats without such files.
    seal: Callable[[Place, Mapping[str, FileFacts], Path], dict[str, FileFacts]] | None = None
    #: Return the table that contains a file's rows by its path below the root; None for files next to the data.
    loaded: Callable[[str], Loaded | None] = lambda _path: None
    #: Return the writer for documents with attribute sets of these names: its folder is the root, its stems are paths. None
    #: for formats without attribute sets.
    with_sets: Callable[[Sequence[str]], Writer[T]] | None = None
    #: Return the identity of a document, if it must be unique in a corpus: its source and its id.
    key: Callable[[Document], tuple[str, str]] | None = None
    #: Return the stem for publishing a single part, by its first file and a folder for unfinished files: another one
    #: if the name would promise something that the part does not fulfil.
    stem_kept: Callable[[str, Path, Path], str] = lambda stem, _file, _aside: stem
    #: Whether files are compressed by the codec passed to `open_part`.
    gzip: bool = True
    #: Make an item of a crawled text and its headers, a JSON object, both unchanged; None if that is not enough.
    crawled: Callable[[bytes, bytes], T | None] = lambda _text, _headers: None
    #: Return the bytes of text of an item, as parts count them. None for formats whose parts only count what they wrote.
    text_bytes: Callable[[T], int] | None = None
    #: The type of items, by which those that are sorted first are kept, for formats laid out by language.
    kind: type[T] | None = None
    #: Make items of rows of Dolma, each after the language that its metadata have under a name; None for any doubt.
    of_rows: Callable[[bytes, str], Sequence[tuple[str, T]] | None] = lambda _rows, _name: None
    #: Make an item of a line that no longer belongs to a document; None for formats without such lines.
    line: Callable[[bytes], T] | None = None
    #: The kind of batches that parts take; with `EncodedRows`, texts of documents may be an `EncodedText`.
    batch: type[Batch] | None = None
    #: Whether rows without a text are written as they were read.
    takes_tables: bool = False
    #: Write text without repeated lines, if the names of files say so.
    deduplicated: Writer[T] | None = None


def flat_writer(
    item: Callable[[Document], Item[T]],
    open_part: Callable[[Sequence[BinaryIO], CompressionName], Part[T]],
    suffix: str,
    *,
    below: str = "data",
    table: Loaded | None = None,
    **others: Any,
) -> Writer[T]:
    """Return the writer of parts with one file each, in folders below one, whatever their languages are."""
    rows = table or Loaded("", below, "a document")
    return Writer(
        item=item,
        open_part=open_part,
        names=lambda stem, part: [f"{stem}{suffix}" if part is None else f"{stem}_part_{part}{suffix}"],
        by_language=False,
        folder=lambda name: f"{below}/{name}" if name else below,
        loaded=lambda path: rows if path.startswith(f"{below}/") else None,
        **others,
    )


class Item(Struct, Generic[T], frozen=True):
    """A document in the form of its target, and the number of things that the target cannot represent, by reason."""

    value: T
    losses: Mapping[str, int] = field(default_factory=dict)


def write_parts(
    writer: Writer[T],
    items: Iterable[T | Batch],
    *,
    stem: str,
    part: int | None = None,
    before: int | None = None,
    part_bytes: int | None = None,
    compression: CompressionName = COMPRESSION,
    folder: Place,
    aside: Path,
    renaming: Callable[[], None] = lambda: None,
) -> dict[str, FileFacts]:
    """Write items into parts of about `part_bytes` of text, and publish all when the last is complete.

    A single part has the number `part`. `before` is the number of parts that are before these, if other calls write some of the
    stem. Without `part_bytes` there is only one. `aside` is a folder for this task only,
    on the file system of a local `folder`. `renaming` is called before a part is published under another stem, because its name
    would promise something that it does not fulfil. Returns the files by name. Nothing is published without items.
    A batch that was not taken, as one in which a part may end, is passed over; `items` can see that when it goes on.
    """
    # A worker that is taken for dead may still write what another one writes again.
    unfinished = aside / f"parts-{os.urandom(8).hex()}"
    unfinished.mkdir(parents=True)
    files_a_part = len(writer.names(stem, None))
    parts: list[list[FileFacts]] = []
    with writing(folder / writer.names(stem, part)[0]), ExitStack() as stack:
        current: Part[T] | None = None
        count = 0
        for item in items:
            if current is None:
                paths = [_partial(unfinished, len(parts), number) for number in range(files_a_part)]
                files = [stack.enter_context(path.open("wb")) for path in paths]
                current = writer.open_part(files, compression)
                count = 0
            if isinstance(item, Batch):
                if part_bytes is None or current.text_bytes + len(item.data) < part_bytes:
                    item.taken = cast("PartOfBatches[T]", current).add_batch(item)
                count += item.taken
            else:
                current.add(item)
                count += 1
            if part_bytes is not None and current.text_bytes >= part_bytes:
                parts.append(_ended(current, count, stack, files))
                current = None
        if current is not None and count:
            parts.append(_ended(current, count, stack, files))
    if len(parts) == 1 and part is None and before is None:
        kept = writer.stem_kept(stem, _partial(unfinished, 0, 0), unfinished)
        if kept != stem:
            renaming()
            stem = kept
    moves: dict[Path, Place] = {}
    facts = {}
    for number, written in enumerate(parts):
        following = (before or 0) + number + 1
        for stream, name in enumerate(writer.names(stem, part if len(parts) == 1 and before is None else following)):
            moves[_partial(unfinished, number, stream)] = folder / name
            facts[name] = written[stream]
    publish_all(moves, aside=aside)
    shutil.rmtree(unfinished, ignore_errors=True)
    return facts


def _partial(folder: Path, part: int, stream: int) -> Path:
    return folder / f"{part:06d}-{stream}.partial"


def _ended(part: Part[T], items: int, stack: ExitStack, files: Sequence[BinaryIO]) -> list[FileFacts]:
    first, *others = part.finish()
    facts = [replace(first, documents=items), *others]
    for file in files:
        file.flush()
        os.fsync(file.fileno())
    stack.close()
    return facts
