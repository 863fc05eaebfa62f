"""The local files behind a description, judged in one pass over each: presence, size, digest, columns, row widths."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import BinaryIO

from corpusfmt.formats.croissant.archives import READ_SIZE, ArchiveFault, is_archive, members
from corpusfmt.formats.croissant.globs import matches
from corpusfmt.formats.croissant.graph import Description, Extract, Field, FileObject, FileSet, RecordSet
from corpusfmt.formats.croissant.jsonpath import Step, jsonpath_fault, parse_path, select
from corpusfmt.formats.croissant.jsontree import JsonFault, decode, parse
from corpusfmt.formats.croissant.rules.distribution import escapes, size_in_bytes
from corpusfmt.formats.croissant.rules.files import DataFault
from corpusfmt.io.lines import Line, lines
from corpusfmt.io.paths import Entry, entry_of, open_input, reason_of, walk
from corpusfmt.io.streams import StreamFault, codec_of_name, open_chunks
from corpusfmt.model import UsageError

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_DELIMITERS = {"text/csv": ",", "text/tsv": "\t", "text/tab-separated-values": "\t"}
#: A JSON file has to be held whole, so larger ones are only counted and hashed.
MAX_JSON = 64 * 1024 * 1024
# Sizes given with a unit are rounded by whoever wrote them.
_ROUNDING = 0.05


@dataclass(slots=True)
class _Facts:
    """What one pass over a file found."""

    size: int
    digests: dict[str, str]
    header: list[str] | None = None
    width_faults: int = 0
    first_width_fault: tuple[int, int] | None = None


@dataclass
class Storage:
    """Checks the files of one description, which lie beside it."""

    description: Description
    folder: str
    faults: list[DataFault] = field(default_factory=list)
    bytes_read: int = 0
    #: Files on the web, which are not fetched.
    elsewhere: int = 0
    #: JSON files that were only counted and hashed, being larger than `MAX_JSON`.
    too_large: int = 0
    _names: dict[int, list[str]] = field(default_factory=dict)

    def check(self) -> None:
        """Go through the files that lie here, what is inside of archives, and the file sets."""
        files = [view for view in self.description.views.values() if isinstance(view, FileObject)]
        for file in files:
            if not file.containers:
                self._top(file, [each for each in files if file in self._containers(each)])
        for view in self.description.views.values():
            if isinstance(view, FileSet):
                self._file_set(view)

    def _containers(self, view: FileObject | FileSet) -> list[FileObject]:
        found = (self.description.view_of(value) for value in view.containers)
        return [each for each in found if isinstance(each, FileObject)]

    def _fault(
        self, kind: str, view: FileObject | FileSet | Extract, name: str, message: str, hint: str, count: int = 1
    ) -> None:
        self.faults.append(DataFault(kind, f"{view.title}: {message}", view.place(name), hint, count))

    def _entry(self, file: FileObject, path: str) -> Entry | None:
        name = "sc:contentUrl"
        if _HAS_SCHEME.match(path):
            self.elsewhere += 1
            return None
        if path.startswith(("/", "\\")) or escapes(path):
            self._fault(
                "missing", file, name, f"`{path}` leaves the folder of the description", "put the file beside it"
            )
            return None
        try:
            entry = entry_of(f"{self.folder}/{path}" if self.folder else path)
        except UsageError:
            self._fault(
                "missing", file, name, f"no file `{path}` beside the description", "add it, or correct the path"
            )
            return None
        except (OSError, ValueError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            self._fault("missing", file, name, f"`{path}` cannot be read: {reason}", "make it readable")
            return None
        if entry.kind not in ("file", "directory"):
            self._fault("missing", file, name, f"`{path}` is no regular file", "put the file itself there")
            return None
        return entry

    def _top(self, file: FileObject, contained: list[FileObject]) -> None:
        path = file.text("sc:contentUrl")
        entry = self._entry(file, path) if path else None
        if entry is None:
            return
        if entry.kind == "directory":
            names = [each.path for each in walk(entry.url) if each.kind == "file"]
            self._names[id(file)] = names
            for each in contained:
                self._in_folder(each, entry, set(names))
            return
        try:
            with open_input(entry.url) as source:
                head = source.read(512)
            self._judge(file, self._facts(file, _raw(entry), entry.name))
            if is_archive(head) and (contained or self._is_container(file)):
                self._archive(file, entry, contained)
        except OSError as error:
            self._fault(
                "missing", file, "sc:contentUrl", f"`{path}` cannot be read: {reason_of(error)}", "make it readable"
            )

    def _is_container(self, file: FileObject) -> bool:
        views = self.description.views.values()
        return any(isinstance(view, FileSet) and file in self._containers(view) for view in views)

    def _in_folder(self, file: FileObject, folder: Entry, names: set[str]) -> None:
        path = str(PurePosixPath(file.text("sc:contentUrl") or ""))
        if path in names:
            entry = Entry(path, f"{folder.url}/{path}", "file")
            self._judge(file, self._facts(file, _raw(entry), path))
        elif not escapes(path):
            self._fault("missing", file, "sc:contentUrl", f"no file `{path}` in its container", "correct the path")

    def _archive(self, file: FileObject, entry: Entry, contained: list[FileObject]) -> None:
        wanted = {str(PurePosixPath(each.text("sc:contentUrl") or "")): each for each in contained}
        names: list[str] = []
        try:
            for member in members(lambda: open_input(entry.url), entry.size):
                names.append(member.path)
                inner = wanted.pop(member.path, None)
                if inner is not None:
                    self._judge(inner, self._facts(inner, member.chunks, member.path))
        except ArchiveFault as fault:
            message = f"`{entry.name}` does not read to its end: {fault}"
            self._fault("corrupt", file, "sc:contentUrl", message, "fetch or pack it again")
            return
        self._names[id(file)] = names
        for path, missing in wanted.items():
            if not escapes(path):
                message = f"no member `{path}` in `{entry.name}`"
                self._fault("missing", missing, "sc:contentUrl", message, "correct the path inside the container")

    def _facts(self, file: FileObject, chunks: Iterable[bytes], name: str) -> _Facts:
        """Read a file once: its digests are those of the stored bytes, its table that of what they decompress to."""
        hashes = {each: hashlib.new(each, usedforsecurity=False) for each in ("sha256", "md5") if _digest(file, each)}
        size = 0

        def passing() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                size += len(chunk)
                for each in hashes.values():
                    each.update(chunk)
                yield chunk

        stream = passing()
        facts = _Facts(0, {})
        delimiter = next((_DELIMITERS[kind] for kind in file.formats if kind in _DELIMITERS), None)
        if delimiter is not None and self._columns_of(file):
            self._read_table(file, _decompressed(stream, name), delimiter, facts)
        paths = self._paths_of(file) if "application/json" in file.formats else {}
        if paths:
            self._read_json(file, _decompressed(stream, name), paths)
        for _ in stream:
            pass
        self.bytes_read += size
        facts.size = size
        facts.digests = {name: each.hexdigest() for name, each in hashes.items()}
        return facts

    def _read_table(self, file: FileObject, chunks: Iterable[bytes], delimiter: str, facts: _Facts) -> None:
        csv.field_size_limit(1 << 30)
        rows = csv.reader(_text_lines(chunks), delimiter=delimiter)
        try:
            header = next(rows, None)
            facts.header = header or []
            width = len(facts.header)
            for row in rows:
                if len(row) != width and row:
                    facts.width_faults += 1
                    facts.first_width_fault = facts.first_width_fault or (rows.line_num, len(row))
        except (csv.Error, UnicodeDecodeError, StreamFault) as error:
            message = f"the table does not read to its end: {error}"
            self._fault("corrupt", file, "sc:contentUrl", message, "write it again as UTF-8")

    def _read_json(self, file: FileObject, chunks: Iterable[bytes], paths: dict[str, dict[str, list[Step]]]) -> None:
        data = bytearray()
        try:
            for chunk in chunks:
                data += chunk
                if len(data) > MAX_JSON:
                    self.too_large += 1
                    return
            tree, _ = parse(decode(bytes(data))[0])
        except (JsonFault, StreamFault) as error:
            message = f"the JSON does not read to its end: {error}"
            self._fault("corrupt", file, "sc:contentUrl", message, "write it again as UTF-8")
            return
        for record_set, steps_of in paths.items():
            selected = {path: select(tree, steps) for path, steps in steps_of.items()}
            counts = {path: len(values) for path, values in selected.items() if values is not None}
            if len(set(counts.values())) > 1:
                told = ", ".join(f"`{path}` gives {number}" for path, number in list(counts.items())[:4])
                message = f"for record set `{record_set}`, {told} values"
                self._fault("ragged", file, "sc:contentUrl", message, "complete the objects, with null for no value")

    def _paths_of(self, file: FileObject) -> dict[str, dict[str, list[Step]]]:
        """Return the JSON paths that each record set takes out of a file, for its fields of one value."""
        found: dict[str, dict[str, list[Step]]] = {}
        for view in self.description.views.values():
            if not isinstance(view, Field) or view.record_set is None or view.is_true("cr:repeated"):
                continue
            if not isinstance(view.parent, RecordSet):
                continue
            for source in view.sources:
                if any(target is file for target in source.target_views()):
                    for literal in (each for extract in source.extracts for each in extract.texts("cr:jsonPath")):
                        if jsonpath_fault(literal.value) is None:
                            paths = found.setdefault(view.record_set.id or view.record_set.title, {})
                            paths[literal.value] = parse_path(literal.value)
        return found

    def _columns_of(self, file: FileObject) -> list[tuple[Extract, str]]:
        found = []
        for view in self.description.views.values():
            for source in view.sources if isinstance(view, Field) else ():
                if any(target is file for target in source.target_views()):
                    found += [(each, literal.value) for each in source.extracts for literal in each.texts("cr:column")]
        return found

    def _judge(self, file: FileObject, facts: _Facts) -> None:
        said = size_in_bytes(file.text("sc:contentSize") or "")
        if said is not None:
            size, exact = said
            if abs(size - facts.size) > (0 if exact else max(size, facts.size) * _ROUNDING):
                message = f"{facts.size} bytes, `contentSize` says {size}"
                self._fault("size", file, "sc:contentSize", message, f'write "{facts.size} B"')
        for name, actual in facts.digests.items():
            if _digest(file, name) != actual:
                message = f"the {name} is `{actual}`, the description says `{_digest(file, name)}`"
                key = "sc:sha256" if name == "sha256" else "cr:md5"
                self._fault("digest", file, key, message, f'write "{actual}", if the file is the right one')
        if facts.header is not None:
            self._judge_table(file, facts, facts.header)

    def _judge_table(self, file: FileObject, facts: _Facts, header: list[str]) -> None:
        for extract, column in self._columns_of(file):
            if column not in header:
                likely = next((name for name in header if name.lower().strip() == column.lower().strip()), None)
                hint = f"did you mean `{likely}`?" if likely else f"the columns are {', '.join(header[:20])}"
                self._fault("column", extract, "cr:column", f"no column `{column}` in `{file.node.written_id}`", hint)
        if facts.first_width_fault is not None:
            line, width = facts.first_width_fault
            message = f"a row of {width} cells in line {line}, the header has {len(header)}"
            hint = "quote cells that hold the delimiter or a line end"
            self._fault("width", file, "sc:contentUrl", message, hint, facts.width_faults)

    def _file_set(self, view: FileSet) -> None:
        containers = self._containers(view)
        if any(id(each) not in self._names for each in containers) or (view.containers and not containers):
            return  # a container that is not here, or not whole, is told of by itself
        includes = [literal.value for literal in view.texts("cr:includes")]
        excludes = [literal.value for literal in view.texts("cr:excludes")]
        if not includes:
            return
        seen = 0
        for path in self._paths_in(containers):
            seen += 1
            if any(matches(each, path) for each in includes) and not any(matches(each, path) for each in excludes):
                return
        message = f"`{'`, `'.join(includes)}` selects none of {seen} files"
        self._fault("empty", view, "cr:includes", message, "`*` stays within a folder, `**/` crosses them")

    def _paths_in(self, containers: list[FileObject]) -> Iterator[str]:
        """Yield the paths in containers; without any, those beside the description."""
        for each in containers:
            yield from self._names[id(each)]
        if not containers:
            yield from (entry.path for entry in walk(self.folder or ".") if entry.kind == "file")


def _digest(file: FileObject, name: str) -> str | None:
    """Return a digest that a description gives, where it can be one."""
    text = file.text("sc:sha256") if name == "sha256" else file.text("cr:md5") or file.text("sc:md5")
    length = 64 if name == "sha256" else 32
    return text.lower() if text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else None


def _raw(entry: Entry) -> Iterator[bytes]:
    with open_input(entry.url) as file:
        while data := file.read(READ_SIZE):
            yield data


class _Chunked:
    """Chunks as a file to read from, for the decompressors."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._chunks, b"")


def _decompressed(chunks: Iterator[bytes], name: str) -> Iterable[bytes]:
    if codec_of_name(name) == "plain":
        return chunks
    source: BinaryIO = _Chunked(chunks)  # type: ignore[assignment]
    return open_chunks(source, name)


def _text_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    first = True
    for line in lines(chunks):
        if isinstance(line, Line):
            data = line.data.removeprefix(b"\xef\xbb\xbf") if first else line.data
            first = False
            yield data.decode("utf-8") + "\n"
