"""A web server on the loopback interface, with or without ranges, whose answers may end early."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class Web:
    """A web server of a folder: with or without ranges, and `cuts` says how often an answer ends halfway.

    `only_redirects` answers every request with a redirection that does not say where to.
    """

    def __init__(self, root: Path, *, ranges: bool) -> None:
        self.root, self.ranges = root, ranges
        self.cuts: dict[str, int] = {}
        self.only_redirects = False
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        if self.only_redirects:
            handler.send_response(301)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        name = handler.path.lstrip("/")
        path = self.root / name
        if not path.is_file():
            handler.send_error(404)
            return
        data = path.read_bytes()
        asked = _RANGE.fullmatch(handler.headers.get("Range") or "") if self.ranges else None
        if asked:
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            handler.send_response(200)
        if self.ranges:
            handler.send_header("Accept-Ranges", "bytes")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if with_body:
            self.asked.append((name, handler.headers.get("Range") or ""))
            cut = self.cuts.get(name, 0)
            self.cuts[name] = max(0, cut - 1)
            handler.wfile.write(data[: len(data) // 2] if cut else data)
            handler.close_connection = True


@contextmanager
def web_server(root: Path, *, ranges: bool) -> Iterator[Web]:
    web = Web(root, ranges=ranges)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.answer(self, with_body=True)

        def do_HEAD(self) -> None:
            web.answer(self, with_body=False)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    web.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield web
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
