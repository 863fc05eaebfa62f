"""Commands on a Hub of our own: revisions are pinned and recorded, failures are one line, tokens are never printed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from remote.hub import Hub, Repository, hub_server
from support import corpus, run_cli, tree

import corpusfmt
from corpusfmt.io.stores import RETRIES
from corpusfmt.manifest.model import ListedFile, manifest_pieces

pytestmark = pytest.mark.skipif("CORPUSFMT_REMOTE" not in os.environ, reason="CORPUSFMT_REMOTE is not set")

TOKEN = "hf_never-printed-0123456789"
ADDRESS = "hf://datasets/owner/corpus"
CARD = b"---\nlanguage: [en]\nconfigs:\n- config_name: default\n  data_files: data/*\n---\n# Corpus\n"
FIRST, SECOND = "data/a.jsonl.gz", "data/b c#%é.jsonl.gz"


def rows(*texts: str) -> bytes:
    return gzip.compress(b"".join(json.dumps({"text": f"{text} page"}).encode() + b"\n" for text in texts))


FILES = {"README.md": CARD, FIRST: rows(*map(str, range(200))), SECOND: rows("last")}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_server(TOKEN) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv(RETRIES, "2")
        for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(variable, raising=False)
        found.repositories["owner/corpus"] = Repository()
        found.repositories["owner/corpus"].commit(FILES)
        yield found


def run(*arguments: str | Path, status: int = 0) -> subprocess.CompletedProcess[bytes]:
    done = run_cli(*arguments)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == status, said
    assert TOKEN not in said
    assert "Signature" not in said
    assert "Traceback" not in said
    return done


def report_of(*arguments: str | Path, status: int = 0) -> Any:
    return json.loads(run(*arguments, "--output-format", "json", status=status).stdout)


def folder(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def test_a_repository_is_validated_at_one_commit(hub: Hub) -> None:
    old = hub.repositories["owner/corpus"].main
    new = hub.repositories["owner/corpus"].commit(FILES | {SECOND: b"no rows"})
    for asked, commit, documents in (
        (f"{ADDRESS}@{old}", old, 201),
        (ADDRESS, new, 200),
        (f"{ADDRESS}@main/*/a*", new, 200),
    ):
        hub.asked.clear()
        report = report_of("validate", asked, status=int(asked == ADDRESS))
        assert report["arguments"]["revisions"] == {ADDRESS: commit}
        assert report["arguments"]["base"].startswith(f"{ADDRESS}@{commit}")
        assert report["coverage"]["documents"] == documents
        # Whatever is pushed meanwhile, only the commit is read.
        assert {path.split("/")[5] for path in hub.asked if path.startswith("/datasets/")} == {commit}
        assert sum(path.endswith(("/owner/corpus", "/revision/main")) for path in hub.asked) == (commit == new)


def test_several_inputs_and_python(hub: Hub) -> None:
    hub.repositories["owner/other"] = Repository()
    other = hub.repositories["owner/other"].commit(FILES)
    report = report_of("validate", f"{ADDRESS}/{FIRST}", "hf://datasets/owner/other/data")
    commits = {ADDRESS: hub.repositories["owner/corpus"].main, "hf://datasets/owner/other": other}
    assert report["arguments"]["revisions"] == commits
    assert report["coverage"]["documents"] == 401


def test_a_conversion_and_a_description_name_the_commit(hub: Hub, tmp_path: Path) -> None:
    commit = hub.repositories["owner/corpus"].main
    run("convert", ADDRESS, tmp_path / "out", "--to", "dolma", "--source", "web")
    run("convert", folder(tmp_path / "local", FILES), tmp_path / "same", "--to", "dolma", "--source", "web")
    ours, same = tree(tmp_path / "out"), tree(tmp_path / "same")
    manifest, of_same = (json.loads(files.pop("MANIFEST.json")) for files in (ours, same))
    assert manifest["conversion"].pop("revisions") == {ADDRESS: commit}
    description, of_other = (json.loads(files.pop("croissant.json")) for files in (ours, same))
    assert description["prov:wasDerivedFrom"].pop(0) == {"@id": f"{ADDRESS}@{commit}"}
    assert description == of_other
    for each in (manifest, of_same):
        del each["tree"], each["files"]["croissant.json"]
    assert (manifest, ours) == (of_same, same)
    run("describe", ADDRESS, "-o", tmp_path / "described.json")
    described = json.loads((tmp_path / "described.json").read_bytes())
    assert described["name"] == "corpus"
    assert described["prov:wasDerivedFrom"] == [{"@id": f"{ADDRESS}@{commit}"}]
    run("describe", tmp_path / "out", "-o", tmp_path / "described.json")
    described = json.loads((tmp_path / "described.json").read_bytes())
    assert described["prov:wasDerivedFrom"][0] == {"@id": f"{ADDRESS}@{commit}"}


def test_statistics_name_the_commit(hub: Hub, tmp_path: Path) -> None:
    old = hub.repositories["owner/corpus"].main
    new = hub.repositories["owner/corpus"].commit({"README.md": CARD, FIRST: rows("one")})
    local = folder(tmp_path / "local", FILES)
    for asked, commit, documents in ((f"{ADDRESS}@{old}", old, 201), (ADDRESS, new, 1)):
        hub.asked.clear()
        counted = json.loads(run("stats", asked, "--output-format", "json").stdout)
        assert (counted["documents"], commit in json.dumps(counted)) == (documents, True)
        assert {path.split("/")[5] for path in hub.asked if path.startswith("/datasets/")} == {commit}
        if commit == old:
            same = json.loads(run("stats", local, "--output-format", "json").stdout)
            for name in ("documents", "lines", "words", "characters", "bytes", "lengths"):
                assert counted.get(name) == same.get(name)


def test_a_release_on_the_hub_is_verified_compared_and_shown(hub: Hub, tmp_path: Path) -> None:
    corpusfmt.convert(folder(tmp_path / "in", FILES), tmp_path / "out", to="dolma", source_name="web")
    release = corpus(tmp_path / "out")
    hub.repositories["owner/release"] = Repository()
    commit = hub.repositories["owner/release"].commit(release)
    address = "hf://datasets/owner/release"
    report = report_of("verify", address)
    assert report["arguments"]["revisions"] == {address: commit}
    # Nothing is read of what the Hub knows the digest of.
    read = {path.split("/", 6)[6] for path in hub.asked if path.startswith("/datasets/")}
    of_no_digest = {path for path in release if path.endswith((".json", ".md"))}
    assert read == of_no_digest
    assert report["results"]["by_store"] == len(release) - len(of_no_digest)
    assert set(report["results"]["read"]) == of_no_digest - {"MANIFEST.json"}
    assert (
        b"by the digest that the store keeps, without reading: 2 files; read: README.md, croissant.json"
        in run("verify", address).stdout
    )
    damaged = "documents/a.jsonl.gz"
    hub.repositories["owner/release"].commit(release | {damaged: release[damaged][:-1]})
    assert report_of("verify", f"{address}@{commit}")["verdict"] == "valid"
    report = report_of("verify", address, status=1)
    assert [(each["rule"], each["location"]["path"]) for each in report["findings"]] == [("MAN205", damaged)]
    compared = run("compare", f"{address}@{commit}", tmp_path / "out", "--output-format", "json")
    assert json.loads(compared.stdout)["old"]["path"] == f"{address}@{commit}"
    assert run("show", f"{address}@{commit}", "-n", "1").stdout.count(b'"text":"0 page"') == 1


def test_many_files_are_verified_without_reading_one(hub: Hub) -> None:
    data = {f"d/{number // 1000}/{number}.txt": b"%d" % number for number in range(100_000)}
    files = {path: ListedFile(len(each), hashlib.sha256(each).hexdigest()) for path, each in sorted(data.items())}
    manifest = b"".join(manifest_pieces(files, {}, "", ""))
    hub.repositories["owner/many"] = Repository()
    hub.repositories["owner/many"].commit(data | {"MANIFEST.json": manifest, "d/0/0.txt": b"1"})
    program = (
        "import corpusfmt, re; report = corpusfmt.verify('hf://datasets/owner/many');"
        "print([(each.code, each.location.path) for each in report.findings], report.results['by_store']);"
        "print(re.search('VmHWM: *(.*) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    said, memory = done.stdout.splitlines()
    assert said == "[('MAN204', 'd/0/0.txt')] 100000"
    assert int(memory) < 200_000
    assert not any(path.endswith(".txt") for path in hub.asked if path.startswith("/datasets/"))


def test_answers_that_fail_or_end_early_are_asked_for_again(hub: Hub) -> None:
    commit = hub.repositories["owner/corpus"].main
    hub.cuts[FIRST] = 1
    hub.failing["/api/datasets/owner/corpus"] = [503]
    hub.failing[f"/api/datasets/owner/corpus/tree/{commit}"] = [500]
    hub.failing[f"/stored/datasets/owner/corpus/resolve/{commit}/{SECOND}"] = [503]
    done = run("validate", ADDRESS)
    assert b"201 documents" in done.stdout
    assert done.stderr == b""
    assert not hub.cuts[FIRST]
    assert not any(hub.failing.values())


def test_a_file_that_may_not_be_read(hub: Hub) -> None:
    commit = hub.repositories["owner/corpus"].main
    hub.failing[f"/stored/datasets/owner/corpus/resolve/{commit}/{SECOND}"] = [403] * 99
    done = run("validate", ADDRESS, status=3)
    assert done.stdout.startswith(
        f'"{SECOND}": GEN001 error unreadable: cannot be read: HfHubHTTPError: 403 Forbidden'.encode()
    )
    assert b"200 documents" in done.stdout


@pytest.mark.parametrize(
    ("address", "token", "said"),
    [
        ("owner/none", "", "does not exist or is private: correct the name, or set HF_TOKEN, or run `hf auth login`"),
        ("owner/none", TOKEN, "does not exist or is private: correct the name, or set HF_TOKEN, or run `hf auth login`"),
        ("owner/private", "", "does not exist or is private: correct the name, or set HF_TOKEN, or run `hf auth login`"),
        ("owner/private", "hf_wrong", "does not exist or is private: correct the name, or set HF_TOKEN, or run `hf auth login`"),
        ("owner/gated", "", "is gated: ask for access on its page, then set HF_TOKEN, or run `hf auth login`"),
        ("owner/corpus@v9", "", "has no revision `v9`: name a branch, a tag or a commit, or leave it out"),
        ("owner/a b", "", "is not the name of a repository, expected hf://datasets/OWNER/NAME"),
        ("owner", "", "is not the address of a repository, expected hf://datasets/OWNER/NAME[@REVISION][/PATH]"),
    ],
)  # fmt: skip
def test_a_repository_that_cannot_be_read(
    address: str, token: str, said: str, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repositories |= {"owner/private": Repository(private=True), "owner/gated": Repository(gated=True)}
    for each in ("owner/private", "owner/gated"):
        hub.repositories[each].commit(FILES)
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    named = f"hf://datasets/{address}"
    for arguments in (("validate", named), ("describe", named, "-o", tmp_path / "d.json")):
        assert run(*arguments, status=2).stderr.decode() == f"error: {named.partition('@')[0]} {said}\n"
    if token == TOKEN:
        for each in ("owner/private", "owner/gated"):
            assert b"201 documents" in run("validate", f"hf://datasets/{each}").stdout


def test_a_path_that_is_not_in_the_repository(hub: Hub) -> None:
    done = run("validate", f"{ADDRESS}@main/documents", status=2)
    assert done.stderr.decode() == f"error: path {ADDRESS}@main/documents does not exist\n"


def test_a_hub_that_does_not_answer(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    said = run("validate", ADDRESS, status=3).stderr.decode()
    assert said.startswith(f"error: cannot read {ADDRESS}: ConnectError: ")
    assert said.endswith("; check the network, the endpoint and the state of the service\n")
    assert said.count("\n") == 1
