"""The built kernels, which parse strangers' bytes, have what a compiler offers against memory errors, and so does any wheel."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corpusfmt

KERNELS = sorted(Path(corpusfmt.__file__).parent.rglob("_native*.so"))
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="ELF is the format of Linux"),
    pytest.mark.skipif(not KERNELS, reason="the kernels were not compiled"),
    pytest.mark.skipif(shutil.which("readelf") is None, reason="there is no readelf (binutils)"),
]
_ENDBR64 = b"\xf3\x0f\x1e\xfa"


def read(kernel: Path, *options: str) -> str:
    return subprocess.run(["readelf", "-W", *options, kernel], check=True, capture_output=True, text=True).stdout


def segments(kernel: Path) -> list[tuple[str, int, int, int, str]]:
    """Return kind, offset, address, size in the file and flags of each segment."""
    line = r"^  (\w+) +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ ([RWE ]{3})"
    found = re.findall(line, read(kernel, "--program-headers"), re.MULTILINE)
    return [(kind, int(offset, 16), int(at, 16), int(size, 16), flags) for kind, offset, at, size, flags in found]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.parent.name)
def test_a_kernel_is_hardened(kernel: Path) -> None:
    found = segments(kernel)
    assert "GNU_RELRO" in {kind for kind, *_ in found}
    assert {flags for kind, *_, flags in found if kind == "GNU_STACK"} == {"RW "}
    # Code has pages of its own: neither written to, nor shared with the headers and constants at the start of the file.
    assert [flags for kind, *_, flags in found if kind == "LOAD"] == ["R  ", "R E", "R  ", "RW "]
    assert re.search(r"FLAGS\) +BIND_NOW|FLAGS_1\) +Flags:.* NOW", read(kernel, "--dynamic"))
    symbols = read(kernel, "--dyn-syms")
    assert re.search(r" __stack_chk_fail\b", symbols)
    assert re.search(r" __memcpy_chk\b", symbols) or "musl" in read(kernel, "--dynamic")  # which has no such functions
    assert ".symtab" not in read(kernel, "--sections")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86-64")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.parent.name)
def test_jumps_lead_only_to_marked_instructions(kernel: Path) -> None:
    start = re.search(r"^ *\d+: (\w+) .* PyInit__native$", read(kernel, "--dyn-syms"), re.MULTILINE)
    assert start is not None
    place = int(start[1], 16)
    (offset,) = (
        offset + place - at
        for kind, offset, at, size, _ in segments(kernel)
        if kind == "LOAD" and at <= place < at + size
    )
    assert kernel.read_bytes()[offset:].startswith(_ENDBR64)
