"""A web server on loopback that answers as no honest one would."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

ROW = b'{"id":"1","text":"a","source":"s"}\n'
#: So much of an endless answer; nobody may read it all.
_ENDLESS = 2 << 30
_PIECE = ROW * 30_000


class Request(BaseHTTPRequestHandler):
    """A request, which an `Answer` answers."""

    protocol_version = "HTTP/1.1"
    answer: ClassVar[Answer]
    asked: ClassVar[Path]
    stopped: ClassVar[threading.Event]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.asked.open("a", encoding="utf-8") as log:
            log.write(json.dumps([self.command, self.path, dict(self.headers)]) + "\n")
        try:
            type(self).answer(self)
        except ConnectionError:
            self.close_connection = True

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - named by `http.server`

    def log_message(self, *_: object) -> None: ...

    def begin(self, status: int = 200, **headers: Any) -> None:
        """Send a status and headers, whose names have `_` for `-`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def whole(self, data: bytes, status: int = 200, **headers: Any) -> None:
        """Send an honest answer."""
        said: dict[str, Any] = {"Content_Length": str(len(data))}
        self.begin(status, **said | headers)
        if self.command == "GET":
            self.wfile.write(data)


Answer = Callable[[Request], None]


def endless(piece: bytes = _PIECE, *, chunked: bool = False, status: int = 200, **headers: Any) -> Answer:
    """Return an answer without end."""
    if chunked:
        headers["Transfer_Encoding"] = "chunked"

    def answer(request: Request) -> None:
        request.begin(status, **headers)
        if request.command == "GET":
            frame = b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
            for _ in range(_ENDLESS // len(piece)):
                if request.stopped.is_set():
                    break
                request.wfile.write(frame)
        request.close_connection = True

    return answer


def bomb(**headers: Any) -> Answer:
    """Return an answer that a client would expand a thousandfold."""
    return endless(_expanding(), Content_Encoding="gzip", **headers)


@cache
def _expanding() -> bytes:
    return gzip.compress(bytes(64 << 20), 9)


def dripping(data: bytes, **headers: Any) -> Answer:
    """Return an answer of which a byte comes now and then."""

    def answer(request: Request) -> None:
        request.begin(**headers)
        while request.command == "GET" and not request.stopped.wait(0.1):
            request.wfile.write(data)

    return answer


def page(*names: str) -> Answer:
    """Return an index page."""
    text = "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()
    return lambda request: request.whole(text, Content_Type="text/html")


def redirect(to: str, status: int = 302) -> Answer:
    """Return a redirection; `{host}` in it stands for this server."""

    def answer(request: Request) -> None:
        request.whole(b"", status, Location=to.format(host=request.headers["Host"]))

    return answer


def of_path(answers: Mapping[str, Answer], otherwise: Answer | None = None) -> Answer:
    """Return the answer by the path that is asked for, by default 404."""

    def answer(request: Request) -> None:
        found = answers.get(request.path.partition("?")[0], otherwise)
        if found is None:
            request.whole(b"", 404)
        else:
            found(request)

    return answer


def file(data: bytes, **headers: Any) -> Answer:
    """Return a file, of which the server also gives parts."""

    def answer(request: Request) -> None:
        asked = request.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if not asked[1]:
            honest: dict[str, Any] = {"Content_Type": "application/json", "Accept_Ranges": "bytes"}
            request.whole(data, **honest | headers)
            return
        first, last = int(asked[0]), min(int(asked[2] or len(data)), len(data) - 1)
        part = data[first : last + 1]
        request.whole(part, 206, Content_Range=f"bytes {first}-{last}/{len(data)}", **headers)

    return answer


@contextmanager
def serving(answer: Answer, asked: Path) -> Iterator[str]:
    """Serve an answer to all requests, which are logged as lines of JSON; yield host and port."""
    stop = threading.Event()
    handler = type("Handler", (Request,), {"answer": staticmethod(answer), "asked": asked, "stopped": stop})
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        stop.set()
        server.shutdown()
        serving.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that do not read to the end."""
