"""Internal: CRO3xx: files and sets of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpusfmt.formats.croissant.model.graph import (
    Dataset,
    Description,
    FileObject,
    FileSet,
    Resource,
    Stranger,
    View,
    rings,
)
from corpusfmt.formats.croissant.model.nodes import Literal, Node
from corpusfmt.formats.croissant.model.values import escapes, is_absolute, size_in_bytes
from corpusfmt.formats.croissant.model.wording import around, clip, shown
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Problem, Severity

_FILE_OBJECT = "croissant-1.0#fileobject"
_FILE_SET = "croissant-1.0#fileset"


def strange(stranger: Stranger, names: tuple[str, ...]) -> Iterator[Problem]:
    """Tell of a value that is not of the class that stands there."""
    if stranger.name in names:
        holder = stranger.holder
        wanted = " or ".join(f"`{each}`" for each in stranger.expected)
        above = "" if isinstance(holder, Dataset) else f"{holder.title}: "
        types = stranger.value.types if isinstance(stranger.value, Node) else []
        found = " and ".join(f"`{each}`" for each in types) or shown(stranger.value)
        message = f"{above}`{holder.key(stranger.name)}` holds {found}, expected {wanted}"
        yield Problem(message, stranger.at, f'write `"@type": "{stranger.expected[0]}"`')


@RULES.rule("CRO301", "distribution-type", on=Stranger, spec="croissant-1.0#modified-and-added-properties")
def distribution_type(stranger: Stranger) -> Iterator[Problem]:
    """A value of distribution is neither a FileObject nor a FileSet.

    Why: "Croissant requires the distribution property to have values of type FileObject or FileSet".
    Example: a schema.org DataDownload, or a class written under the wrong namespace.
    Fix: write `"@type": "cr:FileObject"` or `"cr:FileSet"`.
    """
    yield from strange(stranger, ("sc:distribution",))


@RULES.rule(
    "CRO302", "contenturl-missing", on=FileObject, spec=_FILE_OBJECT,
    grades={"minor": Severity.WARNING, "strict/minor": Severity.ERROR},
)  # fmt: skip
def contenturl_missing(file: FileObject) -> Iterator[Problem]:
    """A FileObject has no contentUrl. Milder (in profile standard) inside a container, where mlcroissant accepts it.

    Why: nobody can get the file, or tell which file of the container it is.
    Example: a file with only a name and a size.
    Fix: add `contentUrl`; with `containedIn` it is the path inside.
    """
    if file.lacks("sc:contentUrl"):
        outside = file.lacks("cr:containedIn")
        hint = "add it, or say what the file is contained in" if outside else "add the path inside the container"
        yield Problem(f"{file.title}: no `contentUrl`", file.at, hint, minor=not outside)


def _is_listed(resource: Resource) -> bool:
    """Tell whether the files of a set are listed in a manifest: in 1.1 a data source may take the place of a container."""
    is_new = isinstance(resource, FileSet) and resource.description.version == "1.1"
    return is_new and any(isinstance(each, Node) and not each.is_reference for each in resource.containers)


def _in_container(file: Resource) -> bool:
    return bool(file.containers)


@RULES.rule("CRO303", "contenturl-not-relative", on=FileObject, severity=Severity.WARNING, spec=_FILE_OBJECT)
def contenturl_not_relative(file: FileObject) -> Iterator[Problem]:
    """Inside a container, the contentUrl is a URL instead of a path.

    Why: "When this property is present, the contentUrl is evaluated as a relative path within the container".
    Example: `containedIn` an archive, and the contentUrl of that archive once more.
    Fix: write the path of the file inside the container.
    """
    if _in_container(file):
        for literal in file.texts("sc:contentUrl"):
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", literal.value):
                message = f"{file.title}: `contentUrl` is `{clip(literal.value)}`, expected a path in the container"
                yield Problem(message, file.place_of(literal), "write the path of the file inside the container")


def _escaping(view: View, name: str) -> Iterator[Problem]:
    for literal in view.texts(name):
        absolute = name == "sc:contentUrl" and is_absolute(literal.value)
        if absolute or escapes(literal.value):
            how = "is absolute" if absolute else "leaves its container"
            message = f"{view.title}: `{view.key(name)}` `{literal.value}` {how}"
            yield Problem(message, view.place_of(literal), "write a path relative to the container, without `..`")


@RULES.rule("CRO304", "path-escapes-container", on=Resource, spec=_FILE_OBJECT)
def path_escapes_container(resource: Resource) -> Iterator[Problem]:
    """A path or pattern leaves the container that it is relative to.

    Why: a tool that follows it reads, or writes, outside of where the data is.
    Example: `"contentUrl": "../../etc/passwd"` inside an archive.
    Fix: write a path relative to the container, without `..`.
    """
    if isinstance(resource, FileObject):
        if _in_container(resource):
            yield from _escaping(resource, "sc:contentUrl")
    else:
        yield from _escaping(resource, "cr:includes")
        yield from _escaping(resource, "cr:excludes")


@RULES.rule(
    "CRO305", "encodingformat-missing", on=Resource, spec=_FILE_OBJECT, grades={"strict/minor": Severity.WARNING}
)
def encodingformat_missing(resource: Resource) -> Iterator[Problem]:
    """A FileObject has no encodingFormat, or (in profile strict milder, as no table has it) a FileSet.

    Why: readers choose by it how to read the file.
    Example: a CSV file without `"encodingFormat": "text/csv"`.
    Fix: add the MIME type of the file, or of the files in the set.
    """
    if resource.lacks("sc:encodingFormat") and not _is_listed(resource):
        message = f"{resource.title}: no `encodingFormat`"
        yield Problem(message, resource.at, "add its MIME type", minor=isinstance(resource, FileSet))


_MIME = re.compile(r"[a-z]+/[a-z0-9][a-z0-9!#$&^_.+-]*(\s*;.*)?", re.IGNORECASE)


@RULES.rule("CRO306", "encodingformat-mime", on=Resource, severity=Severity.WARNING, spec=_FILE_OBJECT)
def encodingformat_mime(resource: Resource) -> Iterator[Problem]:
    """The encodingFormat is no MIME type. `git+https`, as hosted repositories have it, is accepted.

    Why: readers compare it with MIME types.
    Example: `"encodingFormat": "csv"`.
    Fix: write `text/csv`, `application/json`, `application/x-tar` and the like.
    """
    for literal in resource.texts("sc:encodingFormat"):
        url_allowed = resource.description.version == "1.1" and "://" in literal.value
        if literal.value != "git+https" and not url_allowed and not _MIME.fullmatch(literal.value):
            message = f"{resource.title}: `encodingFormat` is `{clip(literal.value)}`, expected a MIME type"
            yield Problem(message, resource.place_of(literal), "write a MIME type such as text/csv")


@RULES.rule(
    "CRO307", "sha256-missing", on=FileObject, spec="croissant-1.0#checksums", grades={"strict": Severity.WARNING}
)
def sha256_missing(file: FileObject) -> Iterator[Problem]:
    """A FileObject outside a container has no checksum, in a data set that is not live.

    Why: a download that went wrong, or a file that was replaced, goes unnoticed; mlcroissant refuses to load it.
    The text of the specification ("may provide") makes it a warning in profile strict.
    Example: a file with only `contentUrl` and `encodingFormat`.
    Fix: add `sha256`; for data that keeps changing say `"isLiveDataset": true`.
    """
    dataset = file.parent
    live = isinstance(dataset, Dataset) and dataset.is_true("cr:isLiveDataset")
    given = not file.lacks("sc:sha256") or not file.lacks("cr:md5") or bool(file.all("sc:md5"))
    if not given and not live and not _in_container(file):
        yield Problem(f"{file.title}: no `sha256`", file.at, "add the SHA-256 of the file, 64 hexadecimal digits")


@RULES.rule(
    "CRO308", "sha256-format", on=FileObject, spec=_FILE_OBJECT,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def sha256_format(file: FileObject) -> Iterator[Problem]:
    """The sha256 is not 64 hexadecimal digits.

    Why: no file can have it.
    Example: an MD5 of 32 digits, a URL, the word "sha256".
    Fix: write the output of `sha256sum`.
    """
    for literal in file.texts("sc:sha256"):
        if not re.fullmatch(r"[0-9a-fA-F]{64}", literal.value):
            message = f"{file.title}: `sha256` is `{clip(literal.value)}`, expected 64 hexadecimal digits"
            yield Problem(message, file.place_of(literal), "write the output of sha256sum")


@RULES.rule(
    "CRO309", "contentsize-format", on=FileObject, spec=_FILE_OBJECT,
    severity=Severity.WARNING, grades={"strict": Severity.ERROR},
)  # fmt: skip
def contentsize_format(file: FileObject) -> Iterator[Problem]:
    """The contentSize is no number with an optional unit.

    Why: it "defaults to bytes if a unit is not specified", so a number must stand there.
    Example: `"contentSize": "a lot"`, `" B"`, `"-5 B"`.
    Fix: write the size in bytes, as in `"117743 B"`.
    """
    for literal in file.texts("sc:contentSize"):
        if size_in_bytes(literal.value) is None:
            message = f"{file.title}: `contentSize` is `{clip(literal.value)}`, expected a size such as `117743 B`"
            yield Problem(message, file.place_of(literal), "write the size in bytes")


@RULES.rule("CRO310", "includes-missing", on=FileSet, spec=_FILE_SET, grades={"strict": Severity.WARNING})
def includes_missing(file_set: FileSet) -> Iterator[Problem]:
    """A FileSet has no pattern of the files to include.

    Why: nothing says which files belong to it; mlcroissant refuses it.
    Example: a FileSet with only `containedIn`.
    Fix: add `includes`, such as `"*.jpg"`.
    """
    if file_set.lacks("cr:includes") and not _is_listed(file_set):
        yield Problem(f"{file_set.title}: no `includes`", file_set.at, 'add a pattern such as "*.jpg"')


_A_LIST = "is a list inside a string"


def glob_fault(pattern: str) -> str | None:
    """Return what is wrong with a glob pattern."""
    if not pattern.strip():
        return "is empty"
    if pattern.startswith(("['", '["')) and pattern.endswith(("']", '"]')) and len(pattern) > len("['']"):
        return _A_LIST
    if pattern.endswith("\\"):
        return "ends with an escape"
    position = 0
    while (position := pattern.find("[", position)) >= 0:
        end = pattern.find("]", position + 2)
        if end < 0:
            return "opens a bracket that nothing closes"
        position = end + 1
    if any("**" in part and part != "**" for part in pattern.split("/")):
        return "has `**` beside other characters of a path segment, where it means no more than `*`"
    return None


def _globs(file_set: FileSet) -> Iterator[tuple[str, Literal]]:
    for name in ("cr:includes", "cr:excludes"):
        for literal in file_set.texts(name):
            yield file_set.key(name), literal


@RULES.rule("CRO311", "glob-invalid", on=FileSet, spec=_FILE_SET, grades={"minor": Severity.WARNING})
def glob_invalid(file_set: FileSet) -> Iterator[Problem]:
    """A glob pattern is empty or, which is milder, not well formed.

    Why: it selects nothing, or not what it looks like.
    Example: `""`, `"*.[jpg"`, a list inside a string as in `"['a/*.csv', 'b/*.csv']"`.
    Fix: close the bracket; write `**` as a whole path segment, and several patterns as a list of strings.
    """
    for key, literal in _globs(file_set):
        fault = glob_fault(literal.value)
        if fault is not None:
            message = f"{file_set.title}: `{key}` `{clip(literal.value)}` {fault}"
            hint = "write a list of strings" if fault is _A_LIST else "correct the pattern"
            yield Problem(message, file_set.place_of(literal), hint, minor=bool(literal.value.strip()))


@RULES.rule("CRO312", "glob-absolute", on=FileSet, severity=Severity.WARNING, spec=_FILE_SET)
def glob_absolute(file_set: FileSet) -> Iterator[Problem]:
    """A glob pattern starts at the root of the file system.

    Why: patterns "are evaluated from the root of the containedIn contents", where no path starts with a slash.
    Example: `"/data/*.jpg"`.
    Fix: leave the first slash out.
    """
    for key, literal in _globs(file_set):
        if is_absolute(literal.value):
            message = f"{file_set.title}: `{key}` `{clip(literal.value)}` is absolute"
            yield Problem(message, file_set.place_of(literal), "leave the first slash out")


@RULES.rule("CRO313", "containedin-missing", on=FileSet, severity=Severity.WARNING, spec=_FILE_SET)
def containedin_missing(file_set: FileSet) -> Iterator[Problem]:
    """A FileSet does not say what its files are contained in.

    Why: it is "a set of files located in a container"; without one the patterns start nowhere.
    Example: a FileSet with only `includes`.
    Fix: add `containedIn` with the archive or folder.
    """
    if file_set.lacks("cr:containedIn"):
        yield Problem(f"{file_set.title}: no `containedIn`", file_set.at, "name the archive or folder")


@RULES.rule("CRO314", "containedin-cycle", on=Description, spec=_FILE_OBJECT, grades={"0.8": None})
def containedin_cycle(description: Description) -> Iterator[Problem]:
    """A file is contained in itself, directly or around a ring.

    Why: nothing can be unpacked first.
    Example: archive a in archive b, and b in a.
    Fix: break the ring at the outermost file.
    """
    resources = [view for view in description.views.values() if isinstance(view, Resource)]

    def above(view: Resource) -> Iterator[Resource]:
        for value in view.containers:
            container = description.view_of(value)
            if isinstance(container, Resource):
                yield container

    for ring in rings(resources, above):
        message = f"{ring[0].title}: contained in itself ({around(ring)})"
        yield Problem(message, ring[0].place("cr:containedIn"), "break the ring at the outermost file")
