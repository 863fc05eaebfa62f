"""The Hub on the loopback interface: the endpoints that huggingface_hub asks for revisions, trees and files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_API = re.compile(
    r"/api/datasets/(?P<name>[^/]+/[^/]+)(?:/(?P<what>revision|tree|paths-info|auth-check)(?:/(?P<rest>.*))?)?"
)
_FILE = re.compile(r"/(?P<stored>stored/)?datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.*)")

# So many entries are in a page of a tree.
_PAGE = 1000

Files = dict[str, bytes]


class Repository:
    """A dataset: its commits, and the branch `main`. A gated or private one needs the token."""

    def __init__(self, *, gated: bool = False, private: bool = False) -> None:
        self.commits: dict[str, Files] = {}
        self.main = ""
        self.gated, self.private = gated, private

    def commit(self, files: Files) -> str:
        """Add a commit to `main`; return its name."""
        self.main = hashlib.sha1(repr((self.main, sorted(files.items()))).encode()).hexdigest()
        self.commits[self.main] = files
        return self.main

    def at(self, revision: str) -> str | None:
        named = self.main if revision == "main" else revision
        return named if named in self.commits else None


class Hub:
    """Repositories by name. `failing` has statuses and `cuts` how often a path fails or ends halfway before it is answered."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.repositories: dict[str, Repository] = {}
        self.failing: dict[str, list[int]] = {}
        self.cuts: Counter[str] = Counter()
        self.asked: list[str] = []
        self.url = ""
        self._trees: dict[tuple[str, str, bool], list[dict[str, Any]]] = {}

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        split = urlsplit(handler.path)
        path = unquote(split.path)
        self.asked.append(path)
        failing = self.failing.get(path)
        allowed = handler.headers.get("Authorization") == f"Bearer {self.token}"
        if failing:
            _send(handler, failing.pop(0), b"")
        elif found := _API.fullmatch(path):
            self._answer_facts(handler, found, parse_qs(split.query), allowed)
        elif found := _FILE.fullmatch(path):
            self._answer_file(handler, found, allowed)
        else:
            _refuse(handler, 404, "RepoNotFound")

    def take(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer what `hf upload` asks: a repository, how files are sent, whether a card is right, a commit."""
        known: Any = {}
        _, _, kind, *named = urlsplit(handler.path).path.split("/")
        if handler.headers.get("Authorization") != f"Bearer {self.token}":
            _refuse(handler, 401, "RepoNotFound")
            return
        if kind == "repos":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'owner'}/{asked['name']}"
            self.repositories.setdefault(name, Repository())
            known = {"url": f"{self.url}/datasets/{name}"}
        elif named[2:3] == ["preupload"]:
            known["files"] = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]
        elif named[2:3] == ["commit"]:
            repository = self.repositories["/".join(named[:2])]
            files = [each["value"] for each in map(json.loads, body.splitlines()) if each["key"] == "file"]
            added = {each["path"]: base64.b64decode(each["content"]) for each in files}
            commit = repository.commit(repository.commits.get(repository.main, {}) | added)
            known = {"commitUrl": f"{self.url}/datasets/{named[0]}/{named[1]}/commit/{commit}", "commitOid": commit}
        _send(handler, 200, json.dumps(known).encode(), {"Content-Type": "application/json"})

    def _repository(self, name: str, allowed: bool) -> Repository | None:
        found = self.repositories.get(name)
        return None if found is None or (found.private and not allowed) else found

    def _answer_facts(self, handler: Any, found: re.Match[str], query: Any, allowed: bool) -> None:
        repository = self._repository(found["name"], allowed)
        if repository is None:  # without a token, the Hub says 401 of what is not there
            _refuse(handler, 404 if allowed else 401, "RepoNotFound")
            return
        if found["what"] == "auth-check":
            _refuse(handler, 403, "GatedRepo") if repository.gated and not allowed else _send(handler, 200, b"{}")
            return
        revision, _, inside = (found["rest"] or "main").partition("/")
        commit = repository.at(revision)
        if commit is None:
            _refuse(handler, 404, "RevisionNotFound")
            return
        files, headers = repository.commits[commit], {"Content-Type": "application/json"}
        if found["what"] in {None, "revision"}:
            gated = "manual" if repository.gated else False
            known: Any = {"id": found["name"], "sha": commit, "gated": gated, "private": repository.private}
            known["siblings"] = [{"rfilename": path} for path in files]
        else:
            recursive = query.get("recursive", [""])[0].lower() == "true"
            if (commit, inside, recursive) not in self._trees:
                self._trees[commit, inside, recursive] = [*_tree(files, inside, recursive=recursive)]
            whole, at = self._trees[commit, inside, recursive], int(query.get("cursor", ["0"])[0])
            known = whole[at : at + _PAGE]
            if inside and not known:
                _refuse(handler, 404, "EntryNotFound")
                return
            if at + _PAGE < len(whole):
                following = f"{handler.path.partition('?')[0]}?recursive={recursive}&cursor={at + _PAGE}"
                headers["Link"] = f'<{self.url}{following}>; rel="next"'
        _send(handler, 200, json.dumps(known).encode(), headers)

    def _answer_file(self, handler: BaseHTTPRequestHandler, found: re.Match[str], allowed: bool) -> None:
        repository = self._repository(found["name"], allowed)
        commit = repository and repository.at(found["revision"])
        data = repository.commits[commit].get(found["path"]) if repository and commit else None
        if repository is None or data is None:
            _refuse(handler, 404, "EntryNotFound" if repository else "RepoNotFound")
        elif repository.gated and not allowed:
            _refuse(handler, 403, "GatedRepo")
        elif not found["stored"]:  # as for files in Git LFS
            _send(handler, 302, b"", {"Location": f"{self.url}/stored{handler.path}?Signature=secret-of-the-store"})
        else:
            facts = {"X-Repo-Commit": commit or "", "ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
            self._send_part(handler, found["path"], data, facts)

    def _send_part(self, handler: BaseHTTPRequestHandler, path: str, data: bytes, headers: dict[str, str]) -> None:
        asked = _RANGE.fullmatch(handler.headers.get("Range") or "")
        if asked:
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data = data[first : last + 1]
        cut = self.cuts[path] > 0
        self.cuts[path] -= cut
        _send(handler, 206 if asked else 200, data, headers, sent=len(data) // 2 if cut else None)


def _tree(files: Files, inside: str, *, recursive: bool) -> Iterator[dict[str, Any]]:
    seen = set()
    for path in sorted(files):
        if inside and not path.startswith(f"{inside}/"):
            continue
        steps = path.split("/")
        depth = inside.count("/") + 1 if inside else 0
        for end in range(depth + 1, len(steps)) if recursive else range(depth + 1, min(depth + 2, len(steps))):
            folder = "/".join(steps[:end])
            if folder not in seen:
                seen.add(folder)
                yield {"type": "directory", "oid": hashlib.sha1(folder.encode()).hexdigest(), "size": 0, "path": folder}
        if recursive or len(steps) == depth + 1:
            data = files[path]
            blob = hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()
            known = {"type": "file", "oid": blob, "size": len(data), "path": path}
            if not path.endswith((".json", ".md")):
                known["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            yield known


def _refuse(handler: BaseHTTPRequestHandler, status: int, code: str) -> None:
    _send(handler, status, b'{"error":"no"}', {"X-Error-Code": code, "Content-Type": "application/json"})


def _send(
    handler: Any, status: int, data: bytes, headers: dict[str, str] | None = None, *, sent: int | None = None
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data[:sent])
    handler.close_connection = True


@contextmanager
def hub_server(token: str) -> Iterator[Hub]:
    """Serve an empty hub on loopback."""
    hub = Hub(token)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        def do_POST(self) -> None:
            hub.take(self, self.rfile.read(int(self.headers["Content-Length"])))

        do_HEAD = do_GET  # noqa: N815 - named by `http.server`

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
