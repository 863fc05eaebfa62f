"""Check the packages in a folder before anybody is given them: `make check-dist`, with `TAG=v1.2.3` those of a release."""

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src" / "corpusfmt"
(VERSION,) = re.findall(r'^VERSION = "(.+)"$', (SOURCE / "_version.py").read_text("utf-8"), re.MULTILINE)


def faults(folder: Path, tag: str) -> Iterator[str]:
    """Yield what is wrong with the packages of this version in a folder, or with their release under a tag."""
    sdists, wheels = sorted(folder.glob("*.tar.gz")), sorted(folder.glob("*.whl"))
    if [path.name for path in sdists] != [f"corpusfmt-{VERSION}.tar.gz"] or not wheels:
        yield f"one sdist of {VERSION} and its wheels, expected in {folder}: {[path.name for path in (*sdists, *wheels)]}"
        return
    with tarfile.open(sdists[0]) as archive:
        member = archive.extractfile(f"corpusfmt-{VERSION}/PKG-INFO")
        assert member is not None
        described = member.read()
    yield from _faults_of_metadata(described)
    for path in wheels:
        yield from (f"{path.name}: {fault}" for fault in _faults_of_wheel(path, described, released=bool(tag)))
    if tag:
        yield from _faults_of_release(tag)


def _faults_of_metadata(described: bytes) -> Iterator[str]:
    try:
        metadata = Metadata.from_email(described, validate=True)
    except ExceptionGroup as group:
        yield from (str(each) for each in group.exceptions)
        return
    if str(metadata.version) != VERSION:
        yield f"the metadata are those of {metadata.version}, expected {VERSION}"
    # An index shows the README where the files beside it are not.
    yield from (
        f"a link that leads nowhere: {link}"
        for link in re.findall(r"\]\((?!https?:|#)[^)]*\)", metadata.description or "")
    )


def _faults_of_wheel(path: Path, described: bytes, *, released: bool) -> Iterator[str]:
    _, version, _, tags = parse_wheel_filename(path.name)
    if str(version) != VERSION:
        yield f"the version is {version}, expected {VERSION}"
    if {(tag.interpreter, tag.abi) for tag in tags} != {("cp311", "abi3")}:
        yield "expected a wheel for cp311-abi3"
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        if wheel.read(f"corpusfmt-{VERSION}.dist-info/METADATA") != described:
            yield "other metadata than in the sdist"
    sources = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi"), SOURCE / "py.typed"]
    wanted = {f"corpusfmt/{path.relative_to(SOURCE).as_posix()}" for path in sources}
    for shipped in ("schemas", "pipeline"):
        files = (each for each in (PROJECT / shipped).rglob("*") if each.is_file() and "__pycache__" not in each.parts)
        wanted |= {f"corpusfmt/_data/{each.relative_to(PROJECT).as_posix()}" for each in files}
    wanted |= {f"corpusfmt-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")}
    yield from (f"it lacks {name}" for name in sorted(wanted - names))
    for source in SOURCE.rglob("_native.cpp") if released else ():
        folder = source.parent.relative_to(SOURCE.parent).as_posix()
        if not any(name.startswith(f"{folder}/_native.") and name.endswith((".so", ".pyd")) for name in names):
            yield f"it lacks what {folder}/_native.cpp compiles to"


def _faults_of_release(tag: str) -> Iterator[str]:
    if tag != f"v{VERSION}":
        yield f"the tag is {tag}, expected v{VERSION}"
    heading = re.search(r"^## .*$", (PROJECT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if heading is None or not re.fullmatch(rf"## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)", heading[0]):
        yield f"CHANGELOG.md begins with `{heading and heading[0]}`, expected `## {VERSION} (YYYY-MM-DD)`"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]), *sys.argv[2:] or [""]))
    print("\n".join(found) or f"the packages of {VERSION} are ready to upload")
    sys.exit(bool(found))
