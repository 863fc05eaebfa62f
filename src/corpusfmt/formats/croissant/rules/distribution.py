"""Internal: CRO3xx: files and file sets."""

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
    rings,
)
from corpusfmt.formats.croissant.model.nodes import Literal, Node
from corpusfmt.formats.croissant.model.values import escapes, is_absolute
from corpusfmt.formats.croissant.model.wording import around, clip, shown
from corpusfmt.formats.croissant.rules.dataset import misformed
from corpusfmt.formats.croissant.ruleset import MILDER, RULES, WARNING
from corpusfmt.model import Problem

_FILE_OBJECT = "croissant-1.0#fileobject"
#: The checksum of a git repository on the Hub: mlcroissant wants a value.
NO_DIGEST = "https://github.com/mlcommons/croissant/issues/80"
_FILE_SET = "croissant-1.0#fileset"


def strange(stranger: Stranger, names: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the problem with a value of the wrong class."""
    if stranger.name in names:
        holder = stranger.holder
        wanted = " or ".join(f"`{each}`" for each in stranger.expected)
        above = "" if isinstance(holder, Dataset) else f"{holder.title}: "
        types = stranger.value.types if isinstance(stranger.value, Node) else []
        kind = " and ".join(f"`{name}`" for name in types) or shown(stranger.value)
        message = f"{above}`{holder.key(stranger.name)}` contains {kind}, expected {wanted}"
        yield Problem(message, holder.place(stranger.value), f'write `"@type": "{stranger.expected[0]}"`')


@RULES.rule("CRO301", "distribution-type", on=Stranger, spec="croissant-1.0#modified-and-added-properties")
def distribution_type(stranger: Stranger) -> Iterator[Problem]:
    """A value of distribution is neither a FileObject nor a FileSet.

    Why: "Croissant requires the distribution property to have values of type FileObject or FileSet".
    Example: a schema.org DataDownload, or a class in the wrong namespace.
    Fix: write `"@type": "cr:FileObject"` or `"cr:FileSet"`.
    """
    yield from strange(stranger, ("sc:distribution",))


@RULES.rule("CRO302", "contenturl-missing", on=FileObject, spec=_FILE_OBJECT, grades=MILDER)
def contenturl_missing(file: FileObject) -> Iterator[Problem]:
    """A FileObject has no contentUrl. A warning in profile standard inside a container, where mlcroissant accepts it.

    Why: nobody can download the file or identify it in its container.
    Example: a file with only a name and a size.
    Fix: add `contentUrl`; with `containedIn`, it is the path inside the container.
    """
    for _ in file.missing("CRO302"):
        outside = file.lacks("cr:containedIn")
        hint = "add `contentUrl` or `containedIn`" if outside else "add the path inside the container"
        yield file.problem("`contentUrl` is missing", hint, minor=not outside)


def _is_listed(resource: Resource) -> bool:
    """Return whether the files of a set are listed in a manifest: a data source instead of a container."""
    return isinstance(resource, FileSet) and bool(resource.manifests)


@RULES.rule("CRO303", "contenturl-not-relative", on=FileObject, severity=WARNING, spec=_FILE_OBJECT)
def contenturl_not_relative(file: FileObject) -> Iterator[Problem]:
    """The contentUrl of a file in a container is a URL instead of a path.

    Why: "When this property is present, the contentUrl is evaluated as a relative path within the container".
    Example: a file with `containedIn` that repeats the contentUrl of the archive.
    Fix: write the path of the file inside the container.
    """
    if file.containers:
        for literal in file.texts("sc:contentUrl"):
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", literal.value):
                message = f"`contentUrl` is `{clip(literal.value)}`, expected a path inside the container"
                yield file.problem(message, "write the path of the file inside the container", literal)


@RULES.rule("CRO304", "path-escapes-container", on=Resource, spec=_FILE_OBJECT)
def path_escapes_container(resource: Resource) -> Iterator[Problem]:
    """A path or pattern points outside its container.

    Why: a tool that follows the path reads or writes outside the data folder.
    Example: `"contentUrl": "../../etc/passwd"` inside an archive.
    Fix: write a path relative to the container, without `..`.
    """
    names: tuple[str, ...] = ("cr:includes", "cr:excludes")
    if isinstance(resource, FileObject):
        names = ("sc:contentUrl",) if resource.containers else ()
    for name in names:
        for literal in resource.texts(name):
            absolute = name == "sc:contentUrl" and is_absolute(literal.value)
            if absolute or escapes(literal.value):
                how = "is absolute" if absolute else "points outside its container"
                message = f"`{resource.key(name)}` `{literal.value}` {how}"
                yield resource.problem(message, "write a path relative to the container, without `..`", literal)


@RULES.rule("CRO305", "encodingformat-missing", on=Resource, spec=_FILE_OBJECT)
def encodingformat_missing(resource: Resource) -> Iterator[Problem]:
    """A FileObject or FileSet has no encodingFormat. For a FileSet, a warning in profile `letter`: no table lists it
    there.

    Why: readers choose the parser by it.
    Example: a CSV file without `"encodingFormat": "text/csv"`.
    Fix: add the MIME type of the file, or of the files in the set.
    """
    if resource.lacks("sc:encodingFormat") and not _is_listed(resource):
        minor = isinstance(resource, FileSet)
        yield resource.problem("`encodingFormat` is missing", "add the MIME type", minor=minor)


@RULES.rule("CRO306", "encodingformat-mime", on=Resource, severity=WARNING, spec=_FILE_OBJECT)
def encodingformat_mime(resource: Resource) -> Iterator[Problem]:
    """The encodingFormat is not a MIME type. `git+https`, which hosted repositories use, is accepted.

    Why: readers compare it with MIME types.
    Example: `"encodingFormat": "csv"`.
    Fix: write a MIME type such as `text/csv`, `application/json` or `application/x-tar`.
    """
    yield from misformed(resource, "media type", "a MIME type", "write a MIME type such as `text/csv`")


#: The addresses of pages about a file, and those of the file.
PAGES = (
    (r"(https?://(?:www\.)?github\.com/[^/]+/[^/]+)/blob/(.+)", r"\1/raw/\2"),
    (r"(https?://huggingface\.co/(?:datasets/|spaces/)?[^/]+/[^/]+)/blob/(.+)", r"\1/resolve/\2"),
    (r"(https?://[^/]+/.+/-)/blob/(.+)", r"\1/raw/\2"),
    (r"(https?://[^/]+/[^/]+/[^/]+)/src/((?:branch|commit|tag)/.+)", r"\1/raw/\2"),
    (r"https?://drive\.google\.com/file/d/([^/?#]+).*", r"https://drive.google.com/uc?export=download&id=\1"),
)


def file_of_page(url: str) -> str:
    """Return the address of the file that a page of a forge or hub shows, "" if it is no such page."""
    for page, file in PAGES:
        if (match := re.fullmatch(page, url)) is not None:
            return match.expand(file)
    return ""


@RULES.rule("CRO316", "contenturl-page", on=FileObject, severity=WARNING, spec=_FILE_OBJECT)
def contenturl_page(file: FileObject) -> Iterator[Problem]:
    """The contentUrl is the address of a web page about the file.

    Why: a download is the page, in HTML, instead of the file.
    Example: `https://github.com/example/data/blob/main/tea.csv`.
    Fix: write the address of the file itself, as in the hint.
    """
    for literal in file.texts("sc:contentUrl") if "text/html" not in file.formats else ():
        if right := file_of_page(literal.value):
            yield file.problem(f"`contentUrl` is a web page: `{clip(literal.value)}`", f"write `{right}`", literal)


@RULES.rule("CRO307", "sha256-missing", on=FileObject, spec="croissant-1.0#checksums", grades={"1.1/minor": WARNING})
def sha256_missing(file: FileObject) -> Iterator[Problem]:
    """A FileObject outside a container has no checksum, and the dataset is not live. A warning for a manifest.

    Why: a damaged download or a replaced file goes unnoticed, and mlcroissant refuses to load the file. The
    specification says "may provide", so profile `letter` warns.
    Example: a file with only `contentUrl` and `encodingFormat`.
    Fix: add `sha256`; for data that keeps changing, add `"isLiveDataset": true`.
    """
    dataset = file.parent
    live = isinstance(dataset, Dataset) and dataset.is_true("cr:isLiveDataset")
    given = not file.lacks("sc:sha256") or not file.lacks("cr:md5")
    if not given and not live and not file.containers:
        hint = "add the SHA-256 of the file, 64 hexadecimal digits"
        yield file.problem("`sha256` is missing", hint, minor=file in file.description.manifests)


@RULES.rule("CRO308", "sha256-format", on=FileObject, spec=_FILE_OBJECT, severity=WARNING)
def sha256_format(file: FileObject) -> Iterator[Problem]:
    """The sha256 is not 64 hexadecimal digits. A git repository has none: what the Hub writes there is accepted.

    Why: no file can match the value.
    Example: an MD5 of 32 digits, a URL, the word "sha256".
    Fix: write the output of `sha256sum`.
    """
    if file.text("sc:sha256") != NO_DIGEST or "git+https" not in file.formats:
        yield from misformed(file, "sha256", "64 hexadecimal digits", "write the output of `sha256sum`")


@RULES.rule("CRO315", "md5-format", on=FileObject, spec=_FILE_OBJECT, severity=WARNING)
def md5_format(file: FileObject) -> Iterator[Problem]:
    """The md5 is not 32 hexadecimal digits.

    Why: no file can match the value.
    Example: a SHA-256 of 64 digits, a digest in Base64, the word "md5".
    Fix: write the output of `md5sum`, or the SHA-256 of the file as `sha256`.
    """
    yield from misformed(file, "md5", "32 hexadecimal digits", "write the output of `md5sum`")


@RULES.rule("CRO309", "contentsize-format", on=FileObject, spec=_FILE_OBJECT, severity=WARNING)
def contentsize_format(file: FileObject) -> Iterator[Problem]:
    """The contentSize is not a number with an optional unit.

    Why: it "defaults to bytes if a unit is not specified", so it must contain a number.
    Example: `"contentSize": "a lot"`, `" B"`, `"-5 B"`.
    Fix: write the size in bytes, such as `"117743 B"`.
    """
    yield from misformed(file, "size", "a size such as `117743 B`", "write the size in bytes")


@RULES.rule("CRO310", "includes-missing", on=FileSet, spec=_FILE_SET, grades={"1.1": WARNING})
def includes_missing(file_set: FileSet) -> Iterator[Problem]:
    """A FileSet has no `includes` pattern. A warning in version 1.1, where a set "may" specify patterns.

    Why: mlcroissant refuses it; by 1.1, all files of the container belong to the set.
    Example: a FileSet with only `containedIn`.
    Fix: add `includes`, such as `"*.jpg"`.
    """
    if file_set.lacks("cr:includes") and not _is_listed(file_set):
        yield file_set.problem("`includes` is missing", "add a pattern such as `*.jpg`")


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
            return "has an unclosed bracket"
        position = end + 1
    if any("**" in part and part != "**" for part in pattern.split("/")):
        return "has `**` next to other characters of a path segment, where it means the same as `*`"
    return None


def _globs(file_set: FileSet) -> Iterator[tuple[str, Literal]]:
    for name in ("cr:includes", "cr:excludes"):
        for literal in file_set.texts(name):
            yield file_set.key(name), literal


@RULES.rule("CRO311", "glob-invalid", on=FileSet, spec=_FILE_SET, grades=MILDER)
def glob_invalid(file_set: FileSet) -> Iterator[Problem]:
    """A glob pattern is empty or malformed. A malformed pattern is a warning.

    Why: it selects nothing, or other files than it seems to.
    Example: `""`, `"*.[jpg"`, or a list inside a string, `"['a/*.csv', 'b/*.csv']"`.
    Fix: close the bracket; write `**` as a whole path segment, and several patterns as a list of strings.
    """
    for key, literal in _globs(file_set):
        if fault := glob_fault(literal.value):
            message = f"`{key}` `{clip(literal.value)}` {fault}"
            hint = "write a list of strings" if fault is _A_LIST else "correct the pattern"
            yield file_set.problem(message, hint, literal, minor=bool(literal.value.strip()))


@RULES.rule("CRO312", "glob-absolute", on=FileSet, severity=WARNING, spec=_FILE_SET)
def glob_absolute(file_set: FileSet) -> Iterator[Problem]:
    """A glob pattern starts at the root of the file system.

    Why: patterns "are evaluated from the root of the containedIn contents", where no path starts with a slash.
    Example: `"/data/*.jpg"`.
    Fix: remove the leading slash.
    """
    for key, literal in _globs(file_set):
        if is_absolute(literal.value):
            yield file_set.problem(f"`{key}` `{clip(literal.value)}` is absolute", "remove the leading slash", literal)


# The encodingFormat of an archive or a repository.
_CONTAINER = re.compile(r"[/-]zip|tar|tgz|7z|rar|git\+")


@RULES.rule("CRO313", "containedin-missing", on=Description, severity=WARNING, spec=_FILE_SET)
def containedin_missing(description: Description) -> Iterator[Problem]:
    """A FileSet has no `containedIn`, in a description with an archive or a repository.

    Why: a FileSet is "a set of files located in a container"; its patterns are relative to that container.
    Example: a FileSet with only `includes`.
    Fix: name the archive or repository in `containedIn`. In a description without any, the files are next to it.
    """
    resources = [view for view in description.views.values() if isinstance(view, Resource)]
    if not any(_CONTAINER.search(each) for view in resources for each in view.formats):
        return
    for file_set in resources:
        if isinstance(file_set, FileSet) and file_set.lacks("cr:containedIn"):
            hint = "name the archive or repository in `containedIn`"
            yield file_set.problem("`containedIn` is missing", hint)


@RULES.rule("CRO314", "containedin-cycle", on=Description, spec=_FILE_OBJECT)
def containedin_cycle(description: Description) -> Iterator[Problem]:
    """A file contains itself, directly or through other containers.

    Why: there is no archive to unpack first.
    Example: archive a in archive b, and b in a.
    Fix: remove `containedIn` from the outermost file.
    """
    resources = [view for view in description.views.values() if isinstance(view, Resource)]

    def above(view: Resource) -> Iterator[Resource]:
        containers = [description.view_of(value) for value in view.containers]
        containers += [target for manifest in view.manifests for target in manifest.target_views]
        yield from (each for each in containers if isinstance(each, Resource))

    for ring in rings(resources, above):
        hint = "remove `containedIn` from the outermost file"
        yield ring[0].problem(f"contained in itself ({around(ring)})", hint, "cr:containedIn")
