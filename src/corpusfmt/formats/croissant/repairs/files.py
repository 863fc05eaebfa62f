"""Internal: Repairs of CRO3xx: files and sets of files; files next to the description are measured."""

from __future__ import annotations

import ast
import re
from base64 import b64decode
from collections.abc import Iterator

from corpusfmt.formats.croissant.model.graph import FileObject, Resource
from corpusfmt.formats.croissant.repairs.document import parent_of
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Review, repairs
from corpusfmt.formats.croissant.rules.distribution import file_of_page
from corpusfmt.io.paths import Entry, is_uri
from corpusfmt.io.streams import facts_of
from corpusfmt.model import Edit, Finding

#: The media type of a suffix.
_TYPES = {
    "csv": "text/csv", "tsv": "text/tab-separated-values", "txt": "text/plain", "json": "application/json",
    "jsonl": "application/jsonlines", "ndjson": "application/jsonlines", "parquet": "application/x-parquet",
    "zip": "application/zip", "tar": "application/x-tar", "tgz": "application/gzip", "gz": "application/gzip",
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "wav": "audio/x-wav", "mp3": "audio/mpeg", "flac": "audio/flac", "mp4": "video/mp4", "pdf": "application/pdf",
    "xml": "application/xml", "html": "text/html", "md": "text/markdown", "warc": "application/warc",
}  # fmt: skip
_SUFFIXES = {kind: suffix for suffix, kind in reversed(_TYPES.items())}
_ARCHIVES = ("application/zip", "application/x-tar", "application/gzip", "application/x-gzip", "git+https")


def _suffix(text: object) -> str:
    found = re.search(r"\.([A-Za-z0-9]{1,8})$", text) if isinstance(text, str) else None
    return found.group(1).lower() if found else ""


@repairs("CRO302", safe=False)
def _path_inside(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    node = draft.object_at(pointer)
    names = [each for each in (node.get("name"), node.get("@id")) if isinstance(each, str)]
    path = next((each for each in names if _suffix(each) and not re.search(r"\s|^/|\.\.", each)), None)
    if path is not None and "containedIn" in node:
        yield draft.insert(pointer, "contentUrl", path)


@repairs("CRO303", safe=False)
def _last_of_the_path(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    last = draft.text_at(pointer).rstrip("/").rpartition("/")[2]
    if _suffix(last):
        yield draft.replace(pointer, last)


@repairs("CRO605", safe=False)
def _pattern_of_the_top_folder(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if isinstance(written, str) and re.match(r"(\./)+[^/.]", written):
        yield draft.replace(pointer, re.sub(r"^(\./)+", "", written))


@repairs("CRO305")
def _format_by_suffix(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    node = draft.object_at(pointer)
    for name in ("contentUrl", "name", "@id", "includes"):
        kind = _TYPES.get(_suffix(node.get(name)))
        if kind is not None:
            yield draft.insert(pointer, "encodingFormat", kind)
            return


@repairs("CRO306")
def _media_type(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    kind = _TYPES.get(draft.text_at(pointer).strip().lower().removeprefix("."))
    if kind is not None:
        yield draft.replace(pointer, kind)


def _local_file(draft: Draft, pointer: str) -> Entry | None:
    """Return the file of a FileObject next to the description, None if it is elsewhere or barred."""
    node = draft.object_at(pointer)
    url = node.get("contentUrl")
    if not isinstance(url, str) or is_uri(url) or not url.strip() or "containedIn" in node:
        return None
    try:
        found = draft.folder.child(url)
    except ValueError:
        return None
    return found if found is not None and found.kind == "file" and not url.startswith(("/", "\\")) else None


@repairs("CRO316")
def _file_of_a_page(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    yield draft.replace(pointer, file_of_page(draft.text_at(pointer)))


@repairs("CRO307")
def _digest(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    file = _local_file(draft, pointer)
    if file is not None and draft.reading:
        yield draft.insert(pointer, "sha256", facts_of(file).sha256)


@repairs("CRO308")
def _digest_of_another_form(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    bare = re.sub(r"^sha-?256[:=\s]+", "", written.strip(), flags=re.IGNORECASE) if isinstance(written, str) else ""
    file = _local_file(draft, draft.holder_of(pointer))
    if re.fullmatch(r"[0-9a-fA-F]{64}", bare):
        yield draft.replace(pointer, bare.lower())
    elif re.fullmatch(r"[0-9a-fA-F]{32}", bare) and "md5" not in draft.object_at(parent_of(pointer)):
        yield draft.rename(pointer, "md5")
    elif file is not None and draft.reading:
        edit = draft.replace(pointer, facts_of(file).sha256)
        if re.fullmatch(r"[0-9a-fA-F]{8,}", bare):
            raise Review(edit)  # a digest that was cut, or another one: it may be of another file
        yield edit


@repairs("CRO315")
def _md5_of_another_form(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    text = written.strip() if isinstance(written, str) else ""
    if re.fullmatch(r"[0-9A-Za-z+/]{22}==", text):
        yield draft.replace(pointer, b64decode(text).hex())  # as stores write it
    elif re.fullmatch(r"[0-9a-fA-F]{64}", text) and "sha256" not in draft.object_at(parent_of(pointer)):
        yield draft.rename(pointer, "sha256")


@repairs("CRO309")
def _size(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    file = _local_file(draft, draft.holder_of(pointer))
    if file is None:
        return
    edit = draft.replace(pointer, f"{file.size} B")
    if re.findall(r"\d+", str(draft.at(pointer))) not in ([], [str(file.size)]):
        raise Review(edit)  # the file may be what is wrong, such as a pointer of Git LFS
    yield edit


@repairs("CRO602", "CRO603", safe=False)
def _as_it_is_on_disk(draft: Draft, pointer: str, finding: Finding) -> Iterator[Edit]:
    node = pointer if isinstance(draft.at(pointer), dict) else draft.holder_of(pointer)
    file = _local_file(draft, node)
    if file is None and draft.at(f"{node}/containedIn") is ABSENT:
        return
    if finding.code == "CRO602" and file is not None and draft.at(f"{node}/contentSize") is not ABSENT:
        yield draft.replace(f"{node}/contentSize", f"{file.size} B")
    digest = re.search(r"`([0-9a-f]{64})`", finding.message)
    if finding.code == "CRO603" and digest is not None and draft.at(f"{node}/sha256") is not ABSENT:
        yield draft.replace(f"{node}/sha256", digest.group(1))


@repairs("CRO310", safe=False)
def _pattern_by_format(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    suffix = _SUFFIXES.get(str(draft.object_at(pointer).get("encodingFormat")))
    if suffix is not None:
        yield draft.insert(pointer, "includes", f"*.{suffix}")


@repairs("CRO311")
def _pattern(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    written = draft.at(pointer)
    if not isinstance(written, str):
        return
    if written.startswith("[") and written.endswith("]"):
        try:
            listed = ast.literal_eval(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            listed = None
        if isinstance(listed, list) and listed and all(isinstance(each, str) for each in listed):
            yield draft.replace(pointer, listed)
            return
    if not written.strip():
        raise Review(draft.remove(pointer))
    if "**" in written:
        parts = (part if part == "**" else re.sub(r"\*+", "*", part) for part in written.split("/"))
        yield draft.replace(pointer, "/".join(parts))
    elif "[" in written:
        raise Review(draft.replace(pointer, _with_closed_brackets(written)))


def _with_closed_brackets(pattern: str) -> str:
    """Return a pattern in which brackets that begin no set of characters stand for themselves."""
    sets, end, rest = pattern.rpartition("]")
    return (sets + end).replace("[]", "[[]]") + rest.replace("[", "[[]")


@repairs("CRO312")
def _relative_pattern(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    relative = re.sub(r"^([A-Za-z]:)?[\\/]+", "", draft.text_at(pointer))
    if relative:
        yield draft.replace(pointer, relative)


_OUTSIDE = re.compile(r"^(?:[A-Za-z]:)?(?:\.{0,2}[\\/])+")


@repairs("CRO304", safe=False)
def _path_that_stays_inside(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Remove the start of a path that leads outside, as tools do when they unpack an archive."""
    written = draft.at(pointer)
    inside = _OUTSIDE.sub("", written) if isinstance(written, str) else ""
    if inside and inside != written and ".." not in re.split(r"[\\/]", inside):
        yield draft.replace(pointer, inside)


@repairs("CRO614", safe=False)
def _pattern_of_any_depth(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Write a pattern without a slash so that it matches files at any depth in all readers, as it does here."""
    written = draft.at(pointer)
    for index, each in enumerate(written if isinstance(written, list) else [written]):
        if isinstance(each, str) and each and "/" not in each:
            yield draft.replace(f"{pointer}/{index}" if isinstance(written, list) else pointer, f"**/{each}")


_NO_CONTAINERS = ("text/", "image/", "audio/", "video/")


@repairs("CRO314", safe=False)
def _outermost(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    """Remove a containedIn that names the file itself, or a file that is not a container."""
    view = draft.views.get(parent_of(pointer))
    if not isinstance(view, Resource) or draft.at(pointer) is ABSENT or isinstance(draft.at(pointer), list):
        return
    above = [draft.description.view_of(value) for value in view.containers]
    above += [target for manifest in view.manifests for target in manifest.target_views]
    for each in above:
        is_plain = isinstance(each, FileObject) and any(kind.startswith(_NO_CONTAINERS) for kind in each.formats)
        if each is view or (is_plain and set(view.formats) & set(_ARCHIVES)):
            yield draft.remove(pointer)
            return


@repairs("CRO313", safe=False)
def _container(draft: Draft, pointer: str, _finding: Finding) -> Iterator[Edit]:
    files, own = draft.list_at(parent_of(pointer)), draft.object_at(pointer).get("@id")
    archives = [
        each["@id"]
        for each in files
        if isinstance(each, dict) and each.get("encodingFormat") in _ARCHIVES and isinstance(each.get("@id"), str)
    ]
    if len(archives) == 1 and archives[0] != own:
        yield draft.insert(pointer, "containedIn", {"@id": archives[0]})
