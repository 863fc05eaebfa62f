"""What the engines of users print."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import SAMPLE, run_cli

HERE = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}


@pytest.mark.skipif(os.name == "nt", reason="forks")
def test_a_pool_of_processes_ends_in_silence(tmp_path: Path) -> None:
    done = run_cli("build", SAMPLE, "-o", tmp_path / "out", "--engine", "py:runs.pools:forked", "--jobs", "2", env=HERE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_factory_that_returns_no_executor_is_wrong_usage(tmp_path: Path) -> None:
    done = run_cli("build", SAMPLE, "-o", tmp_path / "out", "--engine", "py:runs.pools:number", "--jobs", "2", env=HERE)
    said = b"error: cannot open engine py:runs.pools:number: number returned int, expected an Executor of concurrent.futures\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.deep
def test_a_store_that_is_down_may_be_tried_again(tmp_path: Path) -> None:
    pytest.importorskip("s3fs")
    down = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    done = run_cli("validate", "s3://bucket/corpus", env=os.environ | down, cwd=tmp_path)
    assert done.returncode == 3
    assert b"; check the network, the endpoint and the state of the service\n" in done.stderr
