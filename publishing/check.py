"""Check the packages in a folder before anybody is given them: `make check-dist`, with `TAG=v1.2.3` those of a release.

A release has a wheel for each platform of `publishing/build.py`. Compiled kernels are read as ELF, Mach-O or PE: what machine they are
for, what they import and export, and how they are hardened.
"""

import io
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pefile
from elftools.elf.elffile import ELFFile
from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename

from publishing.build import PLATFORMS

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src" / "corpusfmt"
(VERSION,) = re.findall(r'^VERSION = "(.+)"$', (SOURCE / "_version.py").read_text("utf-8"), re.MULTILINE)
KERNELS = {path.parent.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("_native.cpp")}
PURE = ("py3", "none", "any")
BIN = Path(sys.executable).parent


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
        yield from (f"{path.name}: {fault}" for fault in _faults_of_wheel(path, described))
    if tag:
        kinds = ("py3-none-any", *(f"cp311-abi3-{platform}" for platform in PLATFORMS))
        wanted = {f"corpusfmt-{VERSION}-{kind}.whl" for kind in kinds}
        yield from (f"{name} is missing" for name in sorted(wanted - {path.name for path in wheels}))
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


def _faults_of_wheel(path: Path, described: bytes) -> Iterator[str]:
    _, version, _, tags = parse_wheel_filename(path.name)
    if str(version) != VERSION:
        yield f"the version is {version}, expected {VERSION}"
    pure = {(tag.interpreter, tag.abi, tag.platform) for tag in tags} == {PURE}
    if not pure and {(tag.interpreter, tag.abi) for tag in tags} != {("cp311", "abi3")}:
        yield "expected a wheel for cp311-abi3"
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        if wheel.read(f"corpusfmt-{VERSION}.dist-info/METADATA") != described:
            yield "other metadata than in the sdist"
        kernels = {name: wheel.read(name) for name in names if name.endswith((".so", ".pyd"))}
    sources = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi"), SOURCE / "py.typed"]
    wanted = {f"corpusfmt/{path.relative_to(SOURCE).as_posix()}" for path in sources}
    for shipped in ("schemas", "pipeline"):
        files = (each for each in (PROJECT / shipped).rglob("*") if each.is_file() and "__pycache__" not in each.parts)
        wanted |= {f"corpusfmt/_data/{each.relative_to(PROJECT).as_posix()}" for each in files}
    wanted |= {f"corpusfmt-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")}
    yield from (f"it lacks {name}" for name in sorted(wanted - names))
    platforms = {tag.platform for tag in tags}
    if min(platforms).startswith("linux_"):  # of this machine's compiler, if it has one: no index takes it
        return
    if {name.rpartition("/")[0] for name in kernels} != (set() if pure else KERNELS):
        yield f"it has the kernels {sorted(kernels)}, expected {[] if pure else sorted(KERNELS)}"
    for name, content in kernels.items():
        yield from (f"{name}: {fault}" for fault in faults_of_kernel(content, min(platforms)))
    if kernels and "win_amd64" not in platforms and not any(b"__stack_chk_fail" in each for each in kernels.values()):
        yield "no kernel has a stack protector"
    if kernels:
        yield from _faults_that_others_see(path, platforms)


def faults_of_kernel(content: bytes, platform: str) -> Iterator[str]:
    """Yield what a compiled kernel, of a wheel for a platform, has that it should not have, or lacks."""
    try:
        seen = dict(READERS[content[:2]](content))
    except KeyError:
        yield f"not ELF, Mach-O or PE: it begins with {content[:4].hex()}"
        return
    kind = "elf" if "linux" in platform else "mach-o" if platform.startswith("macosx") else "pe"
    machine = "x86_64" if platform.endswith(("x86_64", "amd64")) else "arm64"
    if seen.pop("machine") != f"{kind} {machine}":
        yield f"not for {platform}"
    yield from (f"it lacks {fact}" for fact, holds in seen.items() if not holds)


def _read_elf(content: bytes) -> Iterator[tuple[str, object]]:
    elf = ELFFile(io.BytesIO(content))
    segments: dict[str, Any] = {segment.header.p_type: segment for segment in elf.iter_segments()}
    dynamic = [(tag.entry.d_tag, tag) for tag in segments["PT_DYNAMIC"].iter_tags()]
    names = {"EM_X86_64": "x86_64", "EM_AARCH64": "arm64"}
    yield "machine", f"elf {names.get(elf.header.e_machine)}"
    symbols = list(segments["PT_DYNAMIC"].iter_symbols())
    defined = {each.name for each in symbols if each.entry.st_shndx != "SHN_UNDEF"} - {""}
    libraries = {tag.needed for name, tag in dynamic if name == "DT_NEEDED"}
    yield "one exported name", defined == {"PyInit__native"}
    yield (
        "no libraries but the C library",
        all(re.fullmatch(r"lib(c|m|dl|pthread)\.so(\.\d)?|ld-linux-.*", each) for each in libraries),
    )
    yield (
        "full RELRO",
        "PT_GNU_RELRO" in segments and any(name == "DT_FLAGS" and tag.entry.d_val & 8 for name, tag in dynamic),
    )
    yield "a stack without code", not segments["PT_GNU_STACK"].header.p_flags & 1
    yield "code without relocations", "DT_TEXTREL" not in {name for name, _ in dynamic}
    yield (
        "no memory that is written and executed",
        not any(
            segment.header.p_type == "PT_LOAD" and segment.header.p_flags & 3 == 3 for segment in elf.iter_segments()
        ),
    )


def _read_mach_o(content: bytes) -> Iterator[tuple[str, object]]:
    magic, machine, _, kind, count, _, flags, _ = struct.unpack_from("<8I", content)
    commands, at = [], 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", content, at)
        commands.append((command & 0x7FFFFFFF, content[at : at + size]))
        at += size
    names = {0x01000007: "x86_64", 0x0100000C: "arm64"}
    yield "machine", f"mach-o {names.get(machine)}"
    yield "the header of a 64-bit library", magic == 0xFEEDFACF and kind in (6, 8)
    libraries = {body[24:].rstrip(b"\0").decode() for command, body in commands if command == 0xC}
    yield "no libraries but the system's", libraries <= {"/usr/lib/libSystem.B.dylib"}
    yield "a signature, which ARM requires", any(command == 0x1D for command, _ in commands) or machine == 0x01000007
    yield "names bound to one library each", flags & 0x80
    yield (
        "no memory that is written and executed",
        not any(struct.unpack_from("<I", body, 60)[0] & 6 == 6 for command, body in commands if command == 0x19),
    )


def _read_pe(content: bytes) -> Iterator[tuple[str, object]]:
    image = pefile.PE(data=content)
    yield "machine", f"pe {'x86_64' if image.FILE_HEADER.Machine == 0x8664 else None}"
    exports = {each.name for each in image.DIRECTORY_ENTRY_EXPORT.symbols}
    libraries = {each.dll.decode().lower() for each in image.DIRECTORY_ENTRY_IMPORT}
    yield "one exported name", exports == {b"PyInit__native"}
    yield (
        "no libraries but Python's and the system's",
        all(
            re.fullmatch(r"(python3|kernel32|ntdll|advapi32|api-ms-win-crt-[a-z0-9-]+)\.dll", each)
            for each in libraries
        ),
    )
    yield "addresses at random", image.OPTIONAL_HEADER.DllCharacteristics & 0x60 == 0x60
    yield "a stack without code", image.OPTIONAL_HEADER.DllCharacteristics & 0x100
    yield (
        "no memory that is written and executed",
        not any(section.Characteristics & 0xA0000000 == 0xA0000000 for section in image.sections),
    )


READERS = {b"\x7fE": _read_elf, b"\xcf\xfa": _read_mach_o, b"MZ": _read_pe}


def _faults_that_others_see(wheel: Path, platforms: set[str]) -> Iterator[str]:
    done = subprocess.run([BIN / "abi3audit", "--strict", wheel], capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"abi3audit: {done.stdout}{done.stderr}"
    if "manylinux" in wheel.name:  # Zig's name of musl, `libc.so`, is musl's own, but not one that auditwheel knows
        done = subprocess.run([BIN / "auditwheel", "show", wheel], capture_output=True, text=True, check=False)
        told = " ".join(done.stdout.split())
        if not any(f'consistent with the following platform tag: "{platform}"' in told for platform in platforms):
            yield f"auditwheel: {told}{done.stderr}"


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
