"""Commands on S3 (moto's server, behind a proxy that fails) write what they write locally. `make remote-test` runs this."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

import pytest
from remote.faults import Answer, Faults, Request
from remote.s3 import BUCKET, KILLS, Store, digests, listed, serving
from support import DEEP, corpus, run_cli

from corpusfmt.io.stores import RETRIES
from corpusfmt.manifest.model import ListedFile, manifest_pieces

pytestmark = pytest.mark.skipif("CORPUSFMT_REMOTE" not in os.environ, reason="CORPUSFMT_REMOTE is not set")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with serving(Faults()) as found:
        yield found


def test_outputs_are_those_of_a_disk(store: Store, wet: Path, local: Path, tmp_path: Path) -> None:
    store.run("build", wet, "-o", f"{BUCKET}/corpus", "--jobs", 2, cwd=tmp_path)
    built = store.objects("corpus")
    assert digests(built) == digests(corpus(local / "corpus"))
    assert built.keys() == listed(built)
    store.run("convert", f"{BUCKET}/corpus", f"{BUCKET}/dolma", "--to", "dolma", cwd=tmp_path)
    assert digests(store.objects("dolma")) == digests(corpus(local / "dolma"))
    store.run("describe", f"{BUCKET}/dolma", "-o", f"{BUCKET}/described.json", cwd=tmp_path)
    assert store.objects("described.json")[""] == (local / "described.json").read_bytes()
    store.run("compare", f"{BUCKET}/corpus", local / "corpus", "--fail-on-change", "added,removed", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_report_in_the_store_is_that_of_a_disk(store: Store, local: Path, tmp_path: Path) -> None:
    store.run("convert", local / "corpus", f"{BUCKET}/reported", "--to", "dolma", cwd=tmp_path)
    store.run("validate", f"{BUCKET}/reported", "--report", f"json={BUCKET}/reports/a.json")
    store.run("validate", local / "dolma", "--report", f"json={tmp_path}/b.json")
    found, expected = json.loads(store.objects("reports/a.json")[""]), json.loads((tmp_path / "b.json").read_bytes())
    for name in ("verdict", "findings", "coverage"):
        assert found[name] == expected[name]
    assert store.objects("reports").keys() == {"a.json"}


def test_a_corpus_in_the_store_is_validated_in_parts(store: Store, local: Path, tmp_path: Path) -> None:
    for path, data in corpus(local / "dolma").items():
        store.put(f"parted/{path}", data)
    place = f"{BUCKET}/parted"
    # A conversion describes no place that it was published at.
    store.run("validate", place, "--profile", "strict", "--report", f"json={tmp_path}/alone.json", status=1)
    for number in (1, 2):
        part = f"part={BUCKET}/parts/{number}.jsonl"
        store.run("validate", place, "--profile", "strict", "--shard", f"{number}/2", "--report", part)
    for name, data in store.objects("parts").items():
        (tmp_path / name).write_bytes(data)
    parts = sorted(tmp_path.glob("*.jsonl"))
    store.run("report", "merge", *parts, "--report", f"json={tmp_path}/joined.json", status=1)
    found, expected = (json.loads((tmp_path / f"{name}.json").read_bytes()) for name in ("joined", "alone"))
    assert found | {"started": "", "finished": ""} == expected | {"started": "", "finished": ""}


def test_kills(store: Store, wet: Path, local: Path, tmp_path: Path) -> None:
    """Builds are killed until they have been killed often enough; each that ends is compared."""
    chosen = random.Random(3)
    kills = builds = 0
    while kills < KILLS:
        name, seconds = f"killed-{builds}", 1.0
        builds += 1
        while True:
            process = store.command("build", wet, "-o", f"{BUCKET}/{name}", "--jobs", 2, cwd=tmp_path)
            try:
                process.communicate(timeout=seconds * chosen.uniform(0.5, 1.5))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1
                seconds *= 1.5
            else:
                assert process.returncode == 0
                break
        built = store.objects(name)
        assert digests(built) == digests(corpus(local / "corpus"))
        assert built.keys() == listed(built)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_object_is_put_anew(store: Store, wet: Path, local: Path, tmp_path: Path) -> None:
    for attempt in count():
        name = f"changed-{attempt}"
        command = ("build", wet, "-o", f"{BUCKET}/{name}", "--jobs", 1)
        process = store.command(*command, cwd=tmp_path)
        while not {"stats.json", "README.md"}.intersection(paths := store.paths(name)):  # when all texts are there
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if "MANIFEST.json" not in store.paths(name):
            break
    for path in (path for path in paths if path.endswith(".txt.gz")):
        data = bytearray(store.objects(name)[path])
        data[len(data) // 2] ^= 1
        store.put(f"{name}/{path}", bytes(data))
    store.run(*command, cwd=tmp_path)
    assert digests(store.objects(name)) == digests(corpus(local / "corpus"))


def test_of_several_that_put_an_object_if_there_is_none_one_succeeds(store: Store) -> None:
    for number in range(5):
        # The client may add at its end that it left a connection open.
        won = json.loads(store.run(f"{BUCKET}/claims/{number}", code=_CLAIM).splitlines()[0])
        assert won.count(True) == 1
        assert store.objects("claims")[str(number)] == f"process {won.index(True)}".encode()


_CLAIM = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from corpusfmt.io.outputs import StorePath
with ThreadPoolExecutor(6) as threads:
    print(json.dumps(list(threads.map(StorePath(sys.argv[1]).create, [f"process {each}".encode() for each in range(6)]))))
"""


def test_a_large_file_is_put_in_parts_and_appears_whole(store: Store, tmp_path: Path) -> None:
    data = random.Random(1).randbytes(20_000_000)
    (tmp_path / "large").write_bytes(data)
    put = "import sys, pathlib; from corpusfmt.io.outputs import StorePath; StorePath(sys.argv[2]).put(pathlib.Path(sys.argv[1]))"
    for name in ("b c%25ü.bin", "b.bin", "a//b/../c", "a//b"):
        store.run(tmp_path / "large", f"{BUCKET}/large/{name}", code=put)
        assert store.objects("large").pop(name) == data


def shards(store: Store, folder: Path, *words: object, kill: int) -> None:
    """Run three shards at one time in folders of their own; `kill` is the one that is killed as soon as the run has begun."""
    running = []
    for number in (1, 2, 3):
        (folder / str(number)).mkdir(parents=True)
        running.append(store.command(*words, "--shard", f"{number}/3", cwd=folder / str(number)))
    while running[kill].poll() is None and ".corpusfmt/run" not in store.paths(
        str(words[-3]).removeprefix(f"{BUCKET}/")
    ):
        time.sleep(0.05)
    os.killpg(running[kill].pid, signal.SIGKILL)
    for number, process in enumerate(running):
        out, errors = process.communicate(timeout=300)
        assert process.returncode in {0, -signal.SIGKILL if number == kill else 0}, (out + errors).decode()


def test_shards_that_share_a_state_write_what_one_run_does(
    store: Store, wet: Path, local: Path, tmp_path: Path
) -> None:
    shared = ["--state", tmp_path / "state"]
    built, converted = f"{BUCKET}/shared", f"{BUCKET}/shared-dolma"
    shards(store, tmp_path / "build", "build", wet, "-o", built, *shared, kill=0)
    said = store.run("build", wet, "-o", built, "--shard", "1/3", cwd=tmp_path, status=2)
    assert f"{built} belongs to a run whose state is in {tmp_path / 'state'} on " in said
    assert "; shards of one run need one --state, in a folder that all of them see" in said
    store.run("build", wet, "-o", built, *shared, "--finish")
    found = store.objects("shared")
    assert digests(found) == digests(corpus(local / "corpus"))
    assert found.keys() == listed(found)
    assert "nothing to do, the run is finished" in store.run("build", wet, "-o", built, *shared, "--shard", "3/3")
    shards(store, tmp_path / "convert", "convert", built, "--to", "dolma", converted, *shared, kill=1)
    store.run("convert", built, converted, "--to", "dolma", *shared, "--finish")
    assert digests(store.objects("shared-dolma")) == digests(corpus(local / "dolma"))
    assert not (tmp_path / "state").exists()


def test_a_destination_belongs_to_one_run(store: Store, wet: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    process = store.command("build", wet, "-o", f"{BUCKET}/taken", cwd=one)
    while process.poll() is None and ".corpusfmt/run" not in store.paths("taken"):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    said = store.run("build", wet, "-o", f"{BUCKET}/taken", cwd=other, status=2)
    assert f"{BUCKET}/taken belongs to a run whose state is in {one}/" in said
    store.run("build", wet, "-o", f"{BUCKET}/taken", cwd=one)
    assert [*one.iterdir(), *other.iterdir()] == []


@pytest.mark.parametrize(
    ("place", "changes", "said", "status"),
    [
        ("s3://nothing/x", {}, "does not exist; create the bucket or repository, or correct its name", 2),
        (
            "s3://bucket/x",
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": "/nowhere"},
            "set AWS_PROFILE",
            2,
        ),
        ("s3://bucket/x", {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}, "check the network", 3),
    ],
    ids=["bucket", "credentials", "endpoint"],
)
def test_a_store_that_cannot_be_used(
    place: str, changes: dict[str, str], said: str, status: int, store: Store, wet: Path, tmp_path: Path
) -> None:
    environment = {name: value for name, value in (store.environment | changes).items() if value}
    environment |= {"AWS_MAX_ATTEMPTS": "1", RETRIES: "1"}
    for arguments in (
        ("build", wet, "-o", place),
        ("describe", wet, "-o", f"{place}/described.json"),
        ("validate", place, "-q"),
        ("validate", f"{place}/*", "-q"),
        ("validate", wet, "-q", "--config", place),
        ("verify", place),
    ):
        found = store.run(*arguments, status=status, env=environment, cwd=tmp_path)
        assert found.count("\n") == 1
        assert place in found
        assert said in found
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_down(store: Store, local: Path, tmp_path: Path) -> None:
    """Ends every command in one line that names the place, before any work."""
    environment = store.environment | {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "1",
        RETRIES: "0",
    }
    place, corpus = "s3://bucket/x", local / "corpus"
    for words in (
        ("validate", corpus, "--report", f"json={place}/report.json"),
        ("validate", corpus, "--baseline", f"{place}/report.json"),
        ("fix", place),
        ("convert", place, "out", "--to", "dolma"),
        ("convert", corpus, place, "--to", "dolma"),
        ("compare", place, corpus),
        ("describe", place),
        ("records", f"{place}/croissant.json"),
        ("show", place),
        ("stats", place),
        ("stats", corpus, "--domains", f"{place}/domains"),
        ("datasheet", place, "-o", "sheet.html"),
        ("build", place, "-o", "out"),
        ("build", place, "-o", "out", "--recipe", f"{place}/recipe.toml"),
        ("detect", place),
        ("rule", "-o", f"{place}/rules"),
        ("report", "render", f"{place}/report.json"),
    ):
        done = run_cli(*words, cwd=tmp_path, env=environment)
        said = (done.stdout + done.stderr).decode()
        assert (done.returncode, said.count("\n")) == (3, 1), said
        assert place in said
        assert "check the network" in said
    assert list(tmp_path.iterdir()) == []


def test_nothing_at_a_path_of_a_bucket(store: Store) -> None:
    assert store.run("validate", f"{BUCKET}/none", status=2) == f"error: path {BUCKET}/none does not exist\n"
    assert store.run("validate", f"{BUCKET}/none/*", status=2) == f"error: no path matches {BUCKET}/none/*\n"


def test_objects_that_may_be_listed_but_not_read(store: Store, local: Path, tmp_path: Path) -> None:
    class Closed(Faults):
        """Refuses to give the content of objects."""

        def answered(self, request: Request, ask: Callable[[Request], Answer]) -> Answer:
            if request.method != "GET" or ".gz" not in request.path:
                return ask(request)
            refusal = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            return Answer(403, {"Content-Type": "application/xml"}, refusal)

    with serving(Closed(0, 0)) as closed:
        for path, data in corpus(local / "dolma").items():
            closed.put(f"closed/{path}", data)
        for words in (("validate", "-q"), ("describe",), ("stats",)):
            said = closed.run(*words, f"{BUCKET}/closed", status=3, cwd=tmp_path)
            assert ".gz" in said
            assert "Access Denied; ask for the right to list, read, write and delete there, or set AWS_PROFILE" in said


class _Refusing(Faults):
    """Refuses requests whose path contains a text, as S3 does for a reason."""

    code, message, text = "", "", ""

    def answered(self, request: Request, ask: Callable[[Request], Answer]) -> Answer:
        if self.text not in request.path:
            return ask(request)
        said = f"<Error><Code>{self.code}</Code><Message>{self.message}</Message></Error>"
        return Answer(403, {"Content-Type": "application/xml"}, said.encode())


REFUSALS = (
    ("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", "set AWS_PROFILE"),
    ("SignatureDoesNotMatch", "The request signature we calculated does not match.", "set AWS_PROFILE"),
    ("AccessDenied", "Access Denied", "ask for the right to list, read, write and delete there"),
    (
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
        "set the clock of this machine",
    ),
)


def test_a_store_that_refuses(wet: Path, tmp_path: Path) -> None:
    faults = _Refusing(0, 0)
    with serving(faults) as store:
        words = ["build", wet, "-o", f"{BUCKET}/corpus", "-q"]
        for faults.code, faults.message, remedy in REFUSALS:
            # Before any work, and once the corpus is being written.
            for faults.text, status, place in (
                ("/bucket", 2, f"{BUCKET}/corpus"),
                ("/en/", 3, f"{BUCKET}/corpus/en/en.txt.gz"),
            ):
                said = store.run(*words, status=status, cwd=tmp_path)
                assert said.count("\n") == 1
                assert place in said
                assert faults.message.removesuffix(".") in said
                assert remedy in said
        faults.text = "nothing of this"
        store.run(*words, cwd=tmp_path)
        assert store.objects("corpus").keys() == listed(store.objects("corpus"))


class _Elsewhere(BaseHTTPRequestHandler):
    """Answers every request with a redirection that leads nowhere."""

    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None: ...


def test_a_server_that_only_redirects(store: Store, wet: Path, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = store.environment | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}"}
        place = f"{BUCKET}/x"
        for doing, *arguments in (("read", "validate", place), ("list", "build", wet, "-o", place)):
            said = store.run(*arguments, "-q", status=2, env=environment, cwd=tmp_path)
            reason = "its address only leads elsewhere; correct the endpoint or the region"
            assert said == f"error: cannot {doing} {place}: {reason}\n"
        server.shutdown()


def test_a_store_that_lists_objects_late(wet: Path, local: Path, tmp_path: Path) -> None:
    with serving(Faults(failing=0, cut=0, late=2)) as store:
        store.run("build", wet, "-o", f"{BUCKET}/corpus", cwd=tmp_path)
        assert digests(store.objects("corpus")) == digests(corpus(local / "corpus"))
        store.run("convert", local / "corpus", f"{BUCKET}/dolma", "--to", "dolma", cwd=tmp_path)
        assert digests(store.objects("dolma")) == digests(corpus(local / "dolma"))
        assert store.faults.count["late"]
        store.faults.late = 1000
        words = ["convert", local / "corpus", f"{BUCKET}/unlisted", "--to", "dolma", "-q"]
        said = store.run(*words, status=3, env=store.environment | {RETRIES: "2"}, cwd=tmp_path)
        first = "documents/de/de.jsonl.gz was put and is not listed"
        assert said.startswith(f"error: cannot list {BUCKET}/unlisted: {first}; check the network, ")
        assert said.count("\n") == 1
        store.faults.late = 0
        store.run(*words, cwd=tmp_path)
        assert digests(store.objects("unlisted")) == digests(corpus(local / "dolma"))


def test_a_release_in_the_store_is_verified(store: Store, local: Path) -> None:
    for path, data in corpus(local / "corpus").items():
        store.put(f"release/{path}", data)
    place = f"{BUCKET}/release"
    assert "without reading" not in store.run("verify", place)  # no object was put with that checksum
    for path, data in corpus(local / "corpus").items():
        store.put(f"release/{path}", data, ChecksumAlgorithm="SHA256")
    said = store.run("verify", place)
    assert "VALID: 0 errors" in said
    assert "by the digest that the store keeps, without reading:" in said
    store.put("release/en/en.txt.gz", b"x")
    store.put("release/more.txt", b"x")
    said = store.run("verify", place, "--output-format", "concise", status=1)
    assert "en/en.txt.gz: MAN205" in said
    assert "more.txt: MAN203" in said


class _Large(Faults):
    """Lists many objects in pages, and says the digest of any of them without having them."""

    objects: ClassVar[dict[str, bytes]] = {}

    def answered(self, request: Request, ask: Callable[[Request], Answer]) -> Answer:
        place = urlsplit(request.path)
        asked = dict(parse_qsl(place.query))
        if request.method == "HEAD" and (data := self.objects.get(place.path.removeprefix("/bucket/"))) is not None:
            digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
            return Answer(200, {"x-amz-checksum-sha256": digest, "Content-Length": str(len(data))}, b"")
        if asked.get("list-type") != "2" or "delimiter" in asked:
            return ask(request)
        paths, at = [*self.objects], int(asked.get("continuation-token", "0"))
        said = "".join(
            f"<Contents><Key>{path}</Key><Size>{len(self.objects[path])}</Size></Contents>"
            for path in paths[at : at + 1000]
        )
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{at + 1000}</NextContinuationToken>"
        said += more if at + 1000 < len(paths) else ""
        return Answer(200, {"Content-Type": "application/xml"}, f"<ListBucketResult>{said}</ListBucketResult>".encode())


@pytest.mark.parametrize("quick", [True] if not DEEP else [True, False])
def test_many_objects_are_verified_in_little_memory(quick: bool) -> None:
    data = {f"many/d/{number // 1000}/{number}.txt": b"%d" % number for number in range(100_000)}
    files = {
        path.removeprefix("many/"): ListedFile(len(each), hashlib.sha256(each).hexdigest())
        for path, each in sorted(data.items())
    }
    with serving(_Large(0, 0)) as store:
        manifest = b"".join(manifest_pieces(files, {}, "", ""))
        store.put("many/MANIFEST.json", manifest)
        # What the console of S3 makes of a folder is no file.
        changed = {"many/d/0/": b"", "many/d/0/0.txt": b"12", "many/d/0/more.txt": b"", "many/MANIFEST.json": manifest}
        _Large.objects = data | changed
        program = (
            f"import corpusfmt, re; report = corpusfmt.verify('s3://bucket/many', quick={quick});"
            "print([(each.code, each.location.path) for each in report.findings]);"
            "print(re.search('VmHWM: *(.*) kB', open('/proc/self/status').read())[1])"
        )
        said, memory = store.run(code=program).splitlines()
    assert said == "[('MAN203', 'd/0/more.txt'), ('MAN204', 'd/0/0.txt')]"
    assert int(memory) < 200_000


def test_the_store_has_failed_in_every_way(store: Store) -> None:
    assert store.faults.count.keys() >= {"500", "503", "lost", "cut"}
