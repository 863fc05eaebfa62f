"""Write all that a release publishes to a folder, the same bytes each time: `make release`.

These are the sdist, a wheel for each platform and one without kernels, bills of materials, a statement and the digests of all.

The kernels are compiled here for every platform, by Zig's Clang with the C library of the target. Since they use the limited API
alone, the headers of any Python of that version will do; `python3.def` is what they may import from it on Windows.
"""

import base64
import contextlib
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import abi3info
from abi3info.models import PyVersion

from publishing import sbom
from setup import EXACT, HARDENED, HARDENED_LINK, KERNELS

PROJECT = Path(__file__).parents[1]
# Zig's linker keeps code apart from data by itself.
ELF = (*(flag for flag in HARDENED_LINK if "separate-code" not in flag), "-Wl,--version-script=only.map")
MACH_O = ("-Wl,-undefined,dynamic_lookup",)
#: The platform of a wheel, the target of the compiler, options, and how the compiled kernels are named.
PLATFORMS = {
    "manylinux2014_x86_64.manylinux_2_17_x86_64": ("x86_64-linux-gnu.2.17", ("-fcf-protection", *ELF), ".abi3.so"),
    "manylinux2014_aarch64.manylinux_2_17_aarch64": ("aarch64-linux-gnu.2.17", ELF, ".abi3.so"),
    "musllinux_1_2_x86_64": ("x86_64-linux-musl", ("-fcf-protection", *ELF), ".abi3.so"),
    "musllinux_1_2_aarch64": ("aarch64-linux-musl", ELF, ".abi3.so"),
    "macosx_11_0_x86_64": ("x86_64-macos.11.0", MACH_O, ".abi3.so"),
    "macosx_11_0_arm64": ("aarch64-macos.11.0", MACH_O, ".abi3.so"),
    "win_amd64": ("x86_64-windows-gnu", ("python3.lib",), ".pyd"),
}
ZIG = (sys.executable, "-m", "ziglang")
#: What `Python.h` asks of a compiler for a 64-bit platform, whichever this machine is.
PYCONFIG = """\
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define HAVE_SSIZE_T 1
#ifdef _WIN32
#define MS_WINDOWS
#define MS_WIN64
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#endif
"""


def main(folder: Path) -> None:
    """Write the packages, their digests and what made them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["SOURCE_DATE_EPOCH"] = time = _printed("git", "log", "-1", "--format=%ct").strip()
    os.environ["CORPUSFMT_PURE"] = "1"
    _printed(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, PROJECT)
    (sdist,), (pure,) = folder.glob("*.tar.gz"), folder.glob("*-py3-none-any.whl")
    repack(sdist, int(time))
    print(pure.name, flush=True)
    with headers() as include, ThreadPoolExecutor(os.cpu_count()) as pool:
        # All at once: while one compiler is linking, or a wheel is packed, another compiles.
        built = {
            platform: pool.map(partial(compiled, target=target, options=options, include=include), KERNELS)
            for platform, (target, options, _) in PLATFORMS.items()
        }
        for platform, (_, _, suffix) in PLATFORMS.items():
            names = (f"corpusfmt/{package.replace('.', '/')}/_native{suffix}" for package in KERNELS)
            print(wheel_with(pure, dict(zip(names, built[platform], strict=True)), platform).name, flush=True)
    sbom.main(folder)
    seal(folder)


def seal(folder: Path) -> None:
    """Write what the packages were made from, an in-toto statement with SLSA provenance, and the digests of all files."""

    def digest(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    repository = "https://github.com/corpusfmt/corpusfmt"
    commit = _printed("git", "rev-parse", "HEAD").strip()
    locks = [PROJECT / "locks/release.txt", PROJECT / "locks/build.txt"]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": each.name, "digest": {"sha256": digest(each)}} for each in sorted(folder.iterdir())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{repository}/blob/main/docs/releasing.md",
                "externalParameters": {"command": "make release", "source": f"git+{repository}@{commit}"},
                "resolvedDependencies": [
                    {"uri": f"git+{repository}", "digest": {"gitCommit": commit}},
                    *({"name": f"locks/{each.name}", "digest": {"sha256": digest(each)}} for each in locks),
                ],
            },
            "runDetails": {"builder": {"id": f"{repository}/blob/main/publishing/build.py"}},
        },
    }
    (folder / "provenance.intoto.json").write_text(json.dumps(statement, indent=2) + "\n", "utf-8")
    sums = "".join(f"{digest(each)}  {each.name}\n" for each in sorted(folder.iterdir()))
    (folder / "SHA256SUMS").write_text(sums, "utf-8")


def repack(sdist: Path, time: int) -> None:
    """Write an archive again without owners, times and the order of this machine."""
    with tarfile.open(sdist) as archive:
        members = [(each, archive.extractfile(each)) for each in sorted(archive, key=lambda each: each.name)]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as written:
            for member, content in members:
                member.mode = 0o755 if member.mode & 0o100 else 0o644
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.mtime, member.pax_headers = time, {}
                written.addfile(member, content)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


@contextlib.contextmanager
def headers() -> Iterator[Path]:
    """Make a folder with all that the kernels need of Python on any platform."""
    with tempfile.TemporaryDirectory() as scratch:
        include = Path(scratch)
        shutil.copytree(sysconfig.get_path("include"), include, dirs_exist_ok=True)
        (include / "pyconfig.h").write_text(PYCONFIG, "utf-8")
        (include / "only.map").write_text("{ global: PyInit__native; local: *; };\n", "utf-8")
        stable = {
            f"{symbol.name}{kind}"
            for table, kind in ((abi3info.FUNCTIONS, ""), (abi3info.DATAS, " DATA"))
            for symbol, item in table.items()
            if item.added <= PyVersion(3, 11) and not item.ifdef
        }
        (include / "python3.def").write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *sorted(stable)]), "utf-8")
        dlltool = (*ZIG, "dlltool", "-m", "i386:x86-64", "-D", "python3.dll", "-d", "python3.def", "-l", "python3.lib")
        _printed(*dlltool, folder=include)
        yield include


def compiled(package: str, target: str, options: Sequence[str], include: Path) -> bytes:
    """Return the kernel of a package, for a target."""
    source = PROJECT / "src/corpusfmt" / package.replace(".", "/") / "_native.cpp"
    output = f"{target}-{package}"  # its folder is in no kernel
    hardening = [flag for flag in HARDENED if flag != "-fcf-protection"]  # x86 has it, by `options`
    command = (*ZIG, "c++", "-target", target, *EXACT, *hardening, "-DPy_LIMITED_API=0x030B0000", "-I.", "-w", "-s")
    _printed(*command, "-shared", "-o", output, source, *options, folder=include)
    return (include / output).read_bytes()


def wheel_with(pure: Path, kernels: Mapping[str, bytes], platform: str) -> Path:
    """Write a wheel for a platform: the pure one with compiled kernels."""
    name, version, *_ = pure.stem.split("-")
    path = pure.with_name(f"{name}-{version}-cp311-abi3-{platform}.whl")
    tags = "".join(f"Tag: cp311-abi3-{each}\n" for each in platform.split("."))
    record = f"{name}-{version}.dist-info/RECORD"
    with zipfile.ZipFile(pure) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        first = source.infolist()[0]
        contents = {each.filename: source.read(each) for each in source.infolist()} | dict(kernels)
        said = contents[f"{name}-{version}.dist-info/WHEEL"].decode()
        said = said.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false").replace("Tag: py3-none-any\n", tags)
        contents[f"{name}-{version}.dist-info/WHEEL"] = said.encode()
        del contents[record]
        lines = [f"{each},sha256={_digest(content)},{len(content)}\n" for each, content in contents.items()]
        contents[record] = "".join([*lines, f"{record},,\n"]).encode()
        for each, content in contents.items():
            entry = zipfile.ZipInfo(each, first.date_time)
            entry.compress_type, entry.external_attr = (
                zipfile.ZIP_DEFLATED,
                (0o100644 | 0o111 * (each in kernels)) << 16,
            )
            wheel.writestr(entry, content)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _printed(*command: str | Path, folder: Path = PROJECT) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
