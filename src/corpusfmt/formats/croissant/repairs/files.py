"""Internal: Repairs of CRO3xx: files and sets of files; files next to the description are measured."""

from __future__ import annotations

import ast
import re
from base64 import b64decode
from collections.abc import Iterator

from corpusfmt.formats.croissant.model.graph import FileObject, Resource
from corpusfmt.formats.croissant.repairs.draft import ABSENT, Draft
from corpusfmt.formats.croissant.repairs.registry import Defect, Review, repairs, rewrites, sure
from corpusfmt.formats.croissant.rules.distribution import file_of_page
from corpusfmt.io.paths import Entry, is_uri
from corpusfmt.io.streams import facts_of
from corpusfmt.model import Edit

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
_NO_CONTAINERS = ("text/", "image/", "audio/", "video/")
_OUTSIDE = re.compile(r"^(?:[A-Za-z]:)?(?:\.{0,2}[\\/])+")


def _suffix(text: object) -> str:
    match = re.search(r"\.([A-Za-z0-9]{1,8})$", text) if isinstance(text, str) else None
    return match[1].lower() if match else ""


@repairs("CRO302", safe=False)
def _path_inside(draft: Draft, at: Defect) -> Iterator[Edit]:
    node = draft.object_at(at.pointer)
    names = [name for name in (node.get("name"), node.get("@id")) if isinstance(name, str)]
    path = next((name for name in names if _suffix(name) and not re.search(r"\s|^/|\.\.", name)), None)
    if path is not None and "containedIn" in node:
        yield draft.insert(at.pointer, "contentUrl", path)


@rewrites("CRO303", safe=False)
def _last_of_the_path(url: str) -> str:
    last = url.rstrip("/").rpartition("/")[2]
    return last if _suffix(last) else ""


@rewrites("CRO605", safe=False)
def _pattern_of_the_top_folder(pattern: str) -> str:
    return re.sub(r"^(\./)+(?=[^/.])", "", pattern)


@repairs("CRO305")
def _format_by_suffix(draft: Draft, at: Defect) -> Iterator[Edit]:
    node = draft.object_at(at.pointer)
    kinds = (_TYPES.get(_suffix(node.get(name))) for name in ("contentUrl", "name", "@id", "includes"))
    if kind := next(filter(None, kinds), None):
        yield draft.insert(at.pointer, "encodingFormat", kind)


@rewrites("CRO306")
def _media_type(written: str) -> str:
    return _TYPES.get(written.strip().lower().removeprefix("."), "")


def _local_file(draft: Draft, pointer: str) -> Entry | None:
    """Return the file of a FileObject next to the description, None if it is elsewhere, barred or out of reach."""
    node = draft.object_at(pointer)
    url = node.get("contentUrl")
    if not isinstance(url, str) or is_uri(url) or not url.strip() or "containedIn" in node:
        return None
    try:
        file = draft.folder.child(url)
    except (ValueError, OSError):
        return None
    return file if file is not None and file.kind == "file" and not url.startswith(("/", "\\")) else None


rewrites("CRO316")(file_of_page)


@repairs("CRO307")
def _digest(draft: Draft, at: Defect) -> Iterator[Edit]:
    file = _local_file(draft, at.pointer)
    if file is not None and draft.reading:
        yield draft.insert(at.pointer, "sha256", facts_of(file).sha256)


@repairs("CRO308")
def _digest_of_another_form(draft: Draft, at: Defect) -> Iterator[Edit]:
    bare = re.sub(r"^sha-?256[:=\s]+", "", at.text.strip(), flags=re.IGNORECASE)
    file = _local_file(draft, draft.holder_of(at.pointer))
    if re.fullmatch(r"[0-9a-fA-F]{64}", bare):
        yield draft.replace(at.pointer, bare.lower())
    elif re.fullmatch(r"[0-9a-fA-F]{32}", bare) and "md5" not in draft.object_at(at.above):
        yield draft.rename(at.pointer, "md5")
    elif file is not None and draft.reading:
        # A digest that was cut, or another one, may be of another file.
        is_no_digest = not re.fullmatch(r"[0-9a-fA-F]{8,}", bare)
        yield from sure(is_no_digest, draft.replace(at.pointer, facts_of(file).sha256))


@repairs("CRO315")
def _md5_of_another_form(draft: Draft, at: Defect) -> Iterator[Edit]:
    text = at.text.strip()
    if re.fullmatch(r"[0-9A-Za-z+/]{22}==", text):
        yield draft.replace(at.pointer, b64decode(text).hex())  # as stores write it
    elif re.fullmatch(r"[0-9a-fA-F]{64}", text) and "sha256" not in draft.object_at(at.above):
        yield draft.rename(at.pointer, "sha256")


@repairs("CRO309")
def _size(draft: Draft, at: Defect) -> Iterator[Edit]:
    file = _local_file(draft, draft.holder_of(at.pointer))
    if file is not None:
        # Where the numbers differ, the file may be what is wrong, such as a pointer of Git LFS.
        is_same = re.findall(r"\d+", str(at.value)) in ([], [str(file.size)])
        yield from sure(is_same, draft.replace(at.pointer, f"{file.size} B"))


@repairs("CRO602", "CRO603", safe=False)
def _as_it_is_on_disk(draft: Draft, at: Defect) -> Iterator[Edit]:
    node = at.pointer if isinstance(at.value, dict) else draft.holder_of(at.pointer)
    file = _local_file(draft, node)
    if file is None and draft.at(f"{node}/containedIn") is ABSENT:
        return
    if at.code == "CRO602" and file is not None and draft.at(f"{node}/contentSize") is not ABSENT:
        yield draft.replace(f"{node}/contentSize", f"{file.size} B")
    digest = re.search(r"`([0-9a-f]{64})`", at.message)
    if at.code == "CRO603" and digest is not None and draft.at(f"{node}/sha256") is not ABSENT:
        yield draft.replace(f"{node}/sha256", digest[1])


@repairs("CRO310", safe=False)
def _pattern_by_format(draft: Draft, at: Defect) -> Iterator[Edit]:
    suffix = _SUFFIXES.get(str(draft.object_at(at.pointer).get("encodingFormat")))
    if suffix is not None:
        yield draft.insert(at.pointer, "includes", f"*.{suffix}")


@repairs("CRO311")
def _pattern(draft: Draft, at: Defect) -> Iterator[Edit]:
    pattern = at.value
    if not isinstance(pattern, str):
        return
    if not pattern.strip():
        raise Review(draft.remove(at.pointer))
    if (listed := _written_as_text(pattern)) is not None:
        yield draft.replace(at.pointer, listed)
    elif "**" in pattern:
        parts = (part if part == "**" else re.sub(r"\*+", "*", part) for part in pattern.split("/"))
        yield draft.replace(at.pointer, "/".join(parts))
    elif "[" in pattern:
        # Brackets that begin no set of characters stand for themselves.
        sets, end, rest = pattern.rpartition("]")
        raise Review(draft.replace(at.pointer, (sets + end).replace("[]", "[[]]") + rest.replace("[", "[[]")))


def _written_as_text(pattern: str) -> list[str] | None:
    """Return a list of patterns that is written as a text, as Python does it."""
    if not (pattern.startswith("[") and pattern.endswith("]")):
        return None
    try:
        listed = ast.literal_eval(pattern)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return listed if isinstance(listed, list) and listed and all(isinstance(each, str) for each in listed) else None


@rewrites("CRO312")
def _relative_pattern(pattern: str) -> str:
    return re.sub(r"^([A-Za-z]:)?[\\/]+", "", pattern)


@rewrites("CRO304", safe=False)
def _path_that_stays_inside(path: str) -> str:
    """Remove the start of a path that leads outside, as tools do when they unpack an archive."""
    inside = _OUTSIDE.sub("", path)
    return "" if ".." in re.split(r"[\\/]", inside) else inside


@repairs("CRO614", safe=False)
def _pattern_of_any_depth(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Write a pattern without a slash so that it matches files at any depth in all readers, as it does here."""
    for pointer, pattern in draft.values_at(at.pointer):
        if isinstance(pattern, str) and pattern and "/" not in pattern:
            yield draft.replace(pointer, f"**/{pattern}")


@repairs("CRO314", safe=False)
def _outermost(draft: Draft, at: Defect) -> Iterator[Edit]:
    """Remove a containedIn that names the file itself, or a file that is not a container."""
    view = draft.views.get(at.above)
    if not isinstance(view, Resource) or at.value is ABSENT or isinstance(at.value, list):
        return
    above = [draft.description.view_of(value) for value in view.containers]
    above += [target for manifest in view.manifests for target in manifest.target_views]
    for each in above:
        is_plain = isinstance(each, FileObject) and any(kind.startswith(_NO_CONTAINERS) for kind in each.formats)
        if each is view or (is_plain and set(view.formats) & set(_ARCHIVES)):
            yield draft.remove(at.pointer)
            return


@repairs("CRO313", safe=False)
def _container(draft: Draft, at: Defect) -> Iterator[Edit]:
    files = [file for file in draft.list_at(at.above) if isinstance(file, dict)]
    archives = [file.get("@id") for file in files if file.get("encodingFormat") in _ARCHIVES]
    archives = [archive for archive in archives if isinstance(archive, str)]
    if len(archives) == 1 and archives[0] != draft.object_at(at.pointer).get("@id"):
        yield draft.insert(at.pointer, "containedIn", {"@id": archives[0]})
