"""Internal: Dolma: documents as JSON Lines, and sets of attributes that line up with them row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Format, Mend, Reader
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.dolma.check import check, finish
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS, NameKind, detect, kind_of_name, plan
from corpusfmt.formats.dolma.read import attribute_sets, blocks, read
from corpusfmt.formats.dolma.rowfiles import NO_FINAL_NEWLINE
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.parts import EncodedRows, Item, Loaded, RowBlock, Writer
from corpusfmt.formats.rows.writing import Row, RowsWriter, fields_of, names, text_bytes
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.lines import open_line, with_newline
from corpusfmt.io.paths import Entry, walk
from corpusfmt.io.text import json_object
from corpusfmt.model import Document

# Endings that every tool reads, for others with the same meaning.
_ENDINGS = {
    ".ndjson": ".jsonl", ".ndjson.gz": ".jsonl.gz", ".ndjson.zst": ".jsonl.zst", ".jsonl.zstd": ".jsonl.zst",
    ".json.zstd": ".json.zst",
}  # fmt: skip
_KINDS = (".jsonl", ".json")
_APPENDED = "LF appended; what was there before stays, byte by byte"


def mends(entry: Entry, options: CheckOptions) -> Iterator[Mend]:
    """Yield the files of a corpus that should end otherwise, have another name, or not be there."""
    for shard in plan(entry, options).shards:
        for file in shard.files.values():
            is_wanted = file.kind == "file" and options.grading.judged(NO_FINAL_NEWLINE, VERSION, file.path)[0]
            if is_wanted and json_object(open_line(file)) is not None:
                yield Mend(file, codes=(NO_FINAL_NEWLINE.code,), pieces=partial(with_newline, file), note=_APPENDED)
    if entry.kind != "directory":
        return
    files = {each.path: each for each in walk(entry) if each.kind == "file"}
    for path, file in list(files.items()):
        parts = path.split("/")
        if not {DOCUMENTS, ATTRIBUTES} & set(parts[:-1]):
            continue
        kind = kind_of_name(file.name)
        if kind is NameKind.LEFTOVER:
            yield Mend(file, None, ("DOL103",), safe=not file.size)
        elif kind is NameKind.UNUSUAL:
            yield from _renamed(file, _usual(file.name), "DOL102", files)
        elif ATTRIBUTES in parts[:-1]:
            yield from _renamed(file, _like_documents(path, files), "DOL401", files)


def _renamed(file: Entry, name: str, code: str, files: dict[str, Entry]) -> Iterator[Mend]:
    path = file.path.removesuffix(file.name) + name
    if name and name != file.name and path not in files:
        files[path] = file  # another file may be likely to get this name, too
        yield Mend(file, None, (code,), to=name)


def _usual(name: str) -> str:
    for ending, usual in _ENDINGS.items():
        if name.endswith(ending):
            return name.removesuffix(ending) + usual
    return ""


def _like_documents(path: str, files: dict[str, Entry]) -> str:
    """Return the name of the documents of an attributes file, if it differs only in `.json` and `.jsonl`."""
    base, _, rest = f"/{path}".rpartition(f"/{ATTRIBUTES}/")
    name = path.rpartition("/")[2]
    for kind, other in (_KINDS, _KINDS[::-1]):
        for codec in ("", ".gz", ".zst"):
            if not name.endswith(kind + codec):
                continue
            likely = name.removesuffix(kind + codec) + other + codec
            for below in _below_a_set(rest.rpartition("/")[0]):
                folder = "/".join(step for step in (base.strip("/"), DOCUMENTS, below) if step)
                if f"{folder}/{likely}" in files and f"{folder}/{name}" not in files:
                    return likely
    return ""


def _below_a_set(folder: str) -> Iterator[str]:
    """Yield the possible folders of documents: the name of a set may have slashes."""
    while folder:
        folder = folder.partition("/")[2]
        yield folder


def _item(document: Document, *, sets: Sequence[str]) -> Item[Row]:
    rows = document.attribute_rows
    return Item(Row(fields_of(document), [rows[name] for name in sets] if sets else ()))


def _paths(stem: str, part: int | None, *, sets: Sequence[str]) -> list[str]:
    """Return the paths of one part: documents, then each attribute set."""
    (name,) = names(stem, part)
    return [f"{DOCUMENTS}/{name}", *(f"{ATTRIBUTES}/{each}/{name}" for each in sets)]


def _with_sets(sets: Sequence[str]) -> Writer[Row]:
    with_names = replace(DOLMA, item=partial(_item, sets=sets), names=partial(_paths, sets=sets), batch=None)
    return replace(with_names, folder=lambda _: "")


def _loaded(path: str) -> Loaded | None:
    top, _, rest = path.partition("/")
    if top == DOCUMENTS:
        return Loaded("", DOCUMENTS, "a document")
    if top != ATTRIBUTES:
        return None
    name = rest.partition("/")[0]
    return Loaded(f"attributes-{name}", f"{ATTRIBUTES}/{name}", f"the attributes `{name}` of a document, by its id")


def _key(document: Document) -> tuple[str, str]:
    return document.source or "", document.id


DOLMA = Writer(
    item=partial(_item, sets=()),
    open_part=RowsWriter,
    names=names,
    by_language=False,
    folder=lambda name: f"{DOCUMENTS}/{name}" if name else DOCUMENTS,
    loaded=_loaded,
    with_sets=_with_sets,
    key=_key,
    text_bytes=text_bytes,
    batch=EncodedRows,
)


_ID = FieldOf("id", "sc:Text", {"column": "id"}, "Identifier, unique within its source")
_TEXT = FieldOf("text", "sc:Text", {"column": "text"}, "Text of the document")
# Described only if they occur.
_OPTIONAL_FIELDS = (
    FieldOf("source", "sc:Text", {"column": "source"}, "Where the document comes from"),
    FieldOf("added", "sc:DateTime", {"column": "added"}, "When the document was taken into the corpus"),
    FieldOf("created", "sc:DateTime", {"column": "created"}, "When the document was made"),
    FieldOf("language", "sc:Text", {"column": "metadata"}, "Language of the document", "$.language"),
    FieldOf("url", "sc:URL", {"column": "metadata"}, "Address that the document comes from", "$.url"),
)


def _documents(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    files = [path for path in paths if "attributes" not in path.split("/")]
    occurring = [each for each in _OPTIONAL_FIELDS if each.name in contents.fields]
    yield rows_of(files, contents, (_ID, _TEXT, *occurring))


DESCRIBERS: Mapping[str, Describer] = {
    VERSION: Describer("Documents in the Dolma format", _documents, fields=(_ID, _TEXT, *_OPTIONAL_FIELDS))
}


FORMAT = Format(
    name="dolma",
    summary="Dolma documents and attributes: JSON Lines, paired row by row",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    documents_role=DOCUMENTS,
    finish=finish,
    facts=FewKeys,
    reader=Reader(
        read,
        batches={RowBlock: blocks},
        by_row=True,
        attribute_sets=attribute_sets,
        unread_rules={"DOL402": "attributes files of no documents"},
        pairing_rules=frozenset({"DOL401"}),
        missing_rules=frozenset({"DOL109", "DOL410"}),
    ),
    writers={VERSION: DOLMA},
    describers=DESCRIBERS,
    mends=mends,
    own_option="blocklist",
)
