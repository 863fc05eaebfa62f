"""For formats: Writing a corpus: numbered parts, streams that grow to a size and are then continued in the next
file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

from msgspec import Struct, field

from corpusfmt.io.compress import COMPRESSION, CompressionName, FileFacts
from corpusfmt.io.publish import publish_all, writing
from corpusfmt.model import Document

#: How many folders may stand above that of a language, where a target has those: variants of a release lie side by side.
FOLDERS_ABOVE = 2

#: Files beside the data that belong to a release without being part of its format.
ROOT_FILES = re.compile(
    r"croissant\.json|stats\.(json|md)|MANIFEST\.json|metadata_schema\.json|(README|LICENSE)([.-].*)?"
    r"|.+\.(sig|asc|sigstore(\.json)?)",
    re.IGNORECASE,
)

T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")


class Part(Protocol[T_contra]):
    """A part being written into one or more open files."""

    @property
    def text_bytes(self) -> int:
        """Bytes of text so far."""

    def add(self, item: T_contra, /) -> None: ...

    def finish(self) -> list[FileFacts]:
        """End the files; return size and digest of each, in the order in which they were given."""


class Writer(Struct, Generic[T], frozen=True):
    """How corpora of one version of a format are laid out and written, as a frozen record of functions."""

    #: Turn a document into what a part takes; say what the format cannot hold of it.
    item: Callable[[Document], Item[T]]
    #: Start a part in open files, compressed in the named way.
    open_part: Callable[[Sequence[BinaryIO], CompressionName], Part[T]]
    #: Give the file names of a part by the stem of its shard and its number, None where there is a single part.
    names: Callable[[str, int | None], Sequence[str]]
    #: Whether a folder holds the documents of one language, whose code it is named for.
    by_language: bool
    #: Give the path, below the root, of a folder of files (where by_language, of a language).
    folder: Callable[[str], str]
    #: Write what a folder needs besides its parts (a checksum list), by way of a folder for unfinished files; return
    #: those files' facts by name.
    seal: Callable[[Path, Mapping[str, FileFacts], Path], dict[str, FileFacts]]
    #: Give the writer for documents with attribute sets of these names: its folder is the root, its stems are paths. None
    #: for formats that have no room for attribute sets.
    with_sets: Callable[[Sequence[str]], Writer[T]] | None = None
    #: Give what names a document, where no two documents of a corpus may have the same: its source and its id.
    key: Callable[[Document], tuple[str, str]] | None = None
    #: Give the stem under which a single part can be published, by its first file and a folder for unfinished files: another
    #: where the name would promise what the part does not keep.
    stem_kept: Callable[[str, Path, Path], str] = lambda stem, _file, _aside: stem
    #: Whether files are compressed in the way that `open_part` is told.
    gzip: bool = True
    #: Make an item of a crawled text and its headers, a JSON object, as they stand; None where there is more to do.
    crawled: Callable[[bytes, bytes], T | None] = lambda _text, _headers: None
    #: Make an item of a line that belongs to no document any more; None for formats that have no room for such lines.
    line: Callable[[bytes], T] | None = None
    #: Write text without repeated lines, where the names of files say that it is.
    deduplicated: Writer[T] | None = None


class Item(Struct, Generic[T], frozen=True):
    """A document in the shape of its target, and by reason how many things the target cannot hold."""

    value: T
    losses: Mapping[str, int] = field(default_factory=dict)


def write_parts(
    writer: Writer[T],
    items: Iterable[T],
    *,
    stem: str,
    part: int | None = None,
    part_bytes: int | None = None,
    compression: CompressionName = COMPRESSION,
    folder: Path,
    aside: Path,
    renaming: Callable[[], None] = lambda: None,
) -> dict[str, FileFacts]:
    """Write items into parts of about `part_bytes` of text, and publish all once the last is whole.

    A single part has the number `part`. Without `part_bytes` there is no other. `aside` is a folder of this call's own,
    on the file system of `folder`. `renaming` is called before a part is published under another stem, because its name
    would promise what it does not keep. Returns the files by name. Nothing is published without items.
    """
    aside.mkdir(parents=True, exist_ok=True)
    files_a_part = len(writer.names(stem, None))
    parts: list[list[FileFacts]] = []
    with writing(folder / writer.names(stem, part)[0]), ExitStack() as stack:
        current: Part[T] | None = None
        for item in items:
            if current is None:
                paths = [_aside(aside, len(parts), number) for number in range(files_a_part)]
                files = [stack.enter_context(path.open("wb")) for path in paths]
                current = writer.open_part(files, compression)
            current.add(item)
            if part_bytes is not None and current.text_bytes >= part_bytes:
                parts.append(_ended(current, stack, files))
                current = None
        if current is not None:
            parts.append(_ended(current, stack, files))
    if len(parts) == 1 and part is None:
        kept = writer.stem_kept(stem, _aside(aside, 0, 0), aside)
        if kept != stem:
            renaming()
            stem = kept
    moves, facts = {}, {}
    for number, written in enumerate(parts):
        for stream, name in enumerate(writer.names(stem, part if len(parts) == 1 else number + 1)):
            moves[_aside(aside, number, stream)] = folder / name
            facts[name] = written[stream]
    publish_all(moves, aside=aside)
    return facts


def _aside(folder: Path, part: int, stream: int) -> Path:
    return folder / f"{part:06d}-{stream}.partial"


def _ended(part: Part[T], stack: ExitStack, files: Sequence[BinaryIO]) -> list[FileFacts]:
    facts = part.finish()
    for file in files:
        file.flush()
        os.fsync(file.fileno())
    stack.close()
    return facts
