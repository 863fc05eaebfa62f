"""The runner of the conformance suite, which is not in Python, finds what the cases of Croissant expect."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from fixtures.conformance import suite

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_runner_passes_the_suite_and_notices_what_is_otherwise(tmp_path: Path) -> None:
    for path, data in suite().items():
        if "/" not in path or path.startswith("croissant/"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)

    def last_lines(code: int) -> list[str]:
        done = subprocess.run([str(NODE), str(tmp_path / "runner.mjs")], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        return done.stdout.splitlines()

    cases = sum(1 for _ in tmp_path.rglob("expected.json"))
    (said,) = last_lines(0)
    assert said.startswith("CRO117 CRO118 CRO123 CRO205 ")
    assert said.endswith(f" CRO811: {cases} cases, 0 otherwise than expected")
    wrong = tmp_path / "croissant/1.0/valid/url-missing/expected.json"
    expected = json.loads(wrong.read_bytes())
    expected["findings"][0]["line"] += 1
    wrong.write_text(json.dumps(expected))
    assert last_lines(1)[:-1] == ["1.0/valid/url-missing: CRO207 1, expected CRO207 2"]
