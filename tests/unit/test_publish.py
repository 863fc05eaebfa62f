"""Outputs appear whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import tree

from corpusfmt.io.publish import publish, publish_bytes


def test_published_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with publish(target) as file:
        file.write(b"whole")
        assert not target.exists()
    assert tree(tmp_path) == {"new/file": b"whole"}
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    publish_bytes(target, b"old")

    def fail() -> None:
        with publish(target) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert tree(tmp_path) == {"file": b"old"}


def test_a_kill_leaves_nothing_under_the_final_name(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from corpusfmt.io.publish import publish\n"
        "with publish(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('written', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "file"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "file").exists()
