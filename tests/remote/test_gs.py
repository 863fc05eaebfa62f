"""Google Cloud Storage gives the outputs of one disk: an emulator behind a proxy that fails, and that adds the condition of the
real store which the emulator ignores. `make remote-test` runs this.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from remote.faults import Answer, Faults, Request, proxy
from remote.s3 import digests, wet_files
from security.hostile import Answer as Answering
from security.hostile import bomb, endless, file, of_path, serving
from support import REPOSITORY, corpus

GS = os.environ.get("CORPUSFMT_GS")
pytestmark = pytest.mark.skipif(
    GS is None, reason="CORPUSFMT_GS, the Python of an environment with the emulator, is not set"
)

OBJECTS = "/storage/v1/b/bucket/o"


class Conditions(Faults):
    """Puts only if there is no object, when asked to, like the real store; `refused` counts the others."""

    def __init__(self, failing: float, cut: float) -> None:
        super().__init__(failing, cut)
        self.refused = 0
        self._turn = threading.Lock()

    def answered(self, request: Request, ask: Callable[[Request], Answer]) -> Answer:
        if parse_qs(urlsplit(request.path).query).get("ifGenerationMatch") != ["0"]:
            return ask(request)
        metadata = request.body.split(b"\n\n", 2)[1].partition(b"\n--")[0]
        name = json.loads(metadata)["name"]
        with self._turn:
            if ask(Request("GET", f"{OBJECTS}/{quote(name, safe='')}", {}, b"")).status != 200:
                return ask(request)
            self.refused += 1
        said = {"error": {"code": 412, "message": "At least one of the pre-conditions you specified did not hold."}}
        return Answer(412, {"Content-Type": "application/json"}, json.dumps(said).encode())


class Store:
    """The emulator on loopback, and commands that use it through the proxy."""

    def __init__(self, port: int, failing: int, faults: Conditions) -> None:
        self.port, self.faults = port, faults
        self.environment = os.environ | {
            "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{failing}",
            "PYTHONPATH": str(REPOSITORY / "src"),
        }

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        data = connection.getresponse().read()
        connection.close()
        return data

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return all objects below a prefix, by path."""
        found = json.loads(self.ask("GET", f"{OBJECTS}?prefix={prefix}/")).get("items", ())
        names = [each["name"] for each in found]
        return {
            name.removeprefix(f"{prefix}/"): self.ask("GET", f"{OBJECTS}/{quote(name, safe='')}?alt=media")
            for name in names
        }

    def start(self, *words: object) -> subprocess.Popen[str]:
        assert GS is not None
        pipe = subprocess.PIPE
        command = [GS, "-m", "corpusfmt", *map(str, words)]
        return subprocess.Popen(command, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def run(self, *words: object, status: int = 0) -> str:
        return self.end(self.start(*words), status)

    def end(self, process: subprocess.Popen[str], status: int = 0) -> str:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == status, out + errors
        assert "Traceback" not in out + errors
        assert "gcsfs" not in errors
        return out + errors


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    assert GS is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("emulator")
    command = [GS, "-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        emulator = subprocess.Popen([*command, "--in-memory"], cwd=folder, stdout=log, stderr=log)
    faults = Conditions(failing=0.05, cut=0.02)
    try:
        with proxy(port, faults) as failing:
            found = Store(port, failing, faults)
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with suppress(ConnectionError):
                    found.ask("POST", "/storage/v1/b?project=test", b'{"name": "bucket"}')
                    break
                time.sleep(0.1)
            yield found
    finally:
        emulator.kill()
        emulator.wait()


@pytest.fixture(scope="module")
def local(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs, and the outputs on a disk."""
    folder = tmp_path_factory.mktemp("local")
    wet_files(folder / "wet")
    store.run("build", folder / "wet", "-o", folder / "corpus")
    store.run("convert", folder / "corpus", folder / "dolma", "--to", "dolma")
    return folder


def test_outputs_are_those_of_a_disk(store: Store, local: Path, tmp_path: Path) -> None:
    store.run("build", local / "wet", "-o", "gs://bucket/corpus", "--state", tmp_path / "built")
    store.run("convert", "gs://bucket/corpus", "gs://bucket/dolma", "--to", "dolma", "--state", tmp_path / "converted")
    for name in ("corpus", "dolma"):
        assert digests(store.objects(name)) == digests(corpus(local / name))
    store.run("validate", "gs://bucket/dolma", "--report", "json=gs://bucket/reports/report.json")
    assert b'"verdict"' in store.objects("reports")["report.json"]


def test_shards_that_share_only_the_store(store: Store, local: Path) -> None:
    words = ["build", local / "wet", "-o", "gs://bucket/shared", "--state", "gs://bucket/shared.state"]
    first, *others = [store.start(*words, "--shard", f"{number}/3") for number in (1, 2, 3)]
    with suppress(subprocess.TimeoutExpired):
        first.wait(4)
    first.kill()
    first.communicate()
    for each in others:
        store.end(each)
    store.run(*words, "--finish")
    assert digests(store.objects("shared")) == digests(corpus(local / "corpus"))
    assert store.objects("shared.state") == {}
    assert store.faults.refused
    assert "nothing to do" in store.run(*words)


def test_a_bucket_that_is_missing(store: Store, local: Path, tmp_path: Path) -> None:
    said = store.run("build", local / "wet", "-o", "gs://missing/corpus", "--state", tmp_path, status=2)
    assert said.startswith("error: cannot write below gs://missing/corpus: ")
    assert said.endswith("; create the bucket or repository, or correct its name\n")
    said = store.run("validate", "gs://missing/corpus", status=2)
    assert said.startswith("error: cannot read gs://missing/corpus: ")
    assert said.endswith("; create the bucket or repository, or correct its name\n")
    assert store.run("validate", "gs://bucket/none", status=2) == "error: path gs://bucket/none does not exist\n"


_FOUND = {"kind": "storage#object", "name": "a.jsonl", "bucket": "bucket", "size": "35", "generation": "1"}


@pytest.mark.parametrize("command", ["validate", "verify", "stats", "describe"])
@pytest.mark.parametrize(
    "answer",
    [
        endless(b'{"a":[' + b" " * (1 << 20), Content_Type="application/json"),
        endless(chunked=True, Content_Type="application/json"),
        endless(status=403, Content_Type="application/xml"),
        bomb(Content_Type="application/json"),
        of_path({"/storage/v1/b/bucket/o/a.jsonl": file(json.dumps(_FOUND).encode())}, endless(status=206)),
    ],
    ids=["json", "chunked", "error", "bomb", "parts"],
)
def test_an_answer_without_end_is_not_read_whole(command: str, answer: Answering, tmp_path: Path) -> None:
    assert GS is not None
    place = "gs://bucket/a.jsonl" if command in {"validate", "stats"} else "gs://bucket"
    words = [GS, "-m", "corpusfmt", command, place]
    with serving(answer, tmp_path / "asked") as host:
        environment = {"STORAGE_EMULATOR_HOST": f"http://{host}", "CORPUSFMT_STORE_RETRIES": "0"}
        environment |= {"PYTHONPATH": str(REPOSITORY / "src")}
        with (tmp_path / "said").open("wb") as said:
            process = subprocess.Popen(words, env=os.environ | environment, stdout=said, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    text = (tmp_path / "said").read_text()
    assert process.returncode in {2, 3}, text
    assert "Traceback" not in text
    assert used.ru_maxrss < 512 << 10
