"""A proxy in front of a store that fails: statuses 500 and 503, answers that are lost, bodies that end too early, and objects
that are listed late.
"""

from __future__ import annotations

import http.client
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_OF_THIS_CONNECTION = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Faults:
    """Which requests fail: shares of all, from a seed. `count` has how many did, by kind. Objects are listed `late` seconds late."""

    def __init__(self, failing: float = 0.1, cut: float = 0.05, seed: int = 1, late: float = 0.0) -> None:
        self.failing = failing
        self.cut = cut
        self.late = late
        self.count: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def next(self) -> str:
        """Return what happens to the next request."""
        with self._lock:
            found = self._random.random()
            kind = "answered"
            if found < self.failing:
                kind = self._random.choice(["500", "503", "lost"])
            elif found < self.failing + self.cut:
                kind = "cut"
            self.count[kind] += 1
            return kind

    def answered(self, request: Request, ask: Callable[[Request], Answer]) -> Answer:
        """Return the store's answer to a request."""
        return ask(request)


@contextmanager
def proxy(port: int, faults: Faults) -> Iterator[int]:
    """Serve a proxy of a local port; yield its own."""

    class Handler(_Handler):
        behind = port
        failing = faults

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that were killed, or do not read an answer to its end."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behind: int
    failing: Faults

    def log_message(self, *_: Any) -> None: ...

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.failing.next()
        if kind in {"500", "503"}:
            self._answer(int(kind), {}, f"<Error><Code>{_CODES[kind]}</Code></Error>".encode())
            return
        sent = {name: value for name, value in self.headers.items() if name.lower() not in {"connection", "expect"}}
        request = Request(self.command, self.path, sent, body)
        status, headers, data = self.failing.answered(request, self._ask)
        if self.failing.late and b"<ListBucketResult" in data:
            data = self._without_new(data)
            headers.pop("Content-Length", None)
        if kind == "lost":  # after the request was carried out
            self.close_connection = True
            return
        self._answer(status, headers, data, sent=len(data) // 2 if kind == "cut" else len(data))

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815 - named by `http.server`

    def _ask(self, request: Request) -> Answer:
        with closing(http.client.HTTPConnection("127.0.0.1", self.behind, timeout=60)) as connection:
            connection.request(request.method, request.path, request.body, request.headers)
            response = connection.getresponse()
            data = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in _OF_THIS_CONNECTION}
        if request.method == "HEAD":
            kept["Content-Length"] = response.getheader("Content-Length") or "0"
        return Answer(response.status, kept, data)

    def _without_new(self, listing: bytes) -> bytes:
        """Return a listing without the objects that were put a moment ago."""
        edge = datetime.now(UTC) - timedelta(seconds=self.failing.late)

        def kept(entry: re.Match[bytes]) -> bytes:
            if datetime.fromisoformat(entry[1].decode()) < edge:
                return entry[0]
            self.failing.count["late"] += 1
            return b""

        return re.sub(
            rb"<Contents>(?:(?!</Contents>).)*<LastModified>(.*?)</LastModified>.*?</Contents>",
            kept,
            listing,
            flags=re.DOTALL,
        )

    def _answer(self, status: int, headers: dict[str, str], data: bytes, sent: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:sent])
        if sent is not None and sent < len(data):
            self.close_connection = True


_CODES = {"500": "InternalError", "503": "SlowDown"}
