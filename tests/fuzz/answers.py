"""A tree on a web server, some of whose answers are mutated: their status, headers, lengths, bodies, or where they lead."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

from fuzz.trees import Tree
from security.hostile import Answer, Request, file, page, redirect, serving

_STATUS = (200, 204, 206, 301, 304, 400, 403, 404, 416, 429, 500, 503)
_TYPES = ("text/html", "TEXT/HTML; charset=utf-7", "application/json", "application/gzip", "multipart/byteranges", "")
_TARGETS = (
    "{here}",
    "{here}x",
    "//{host}/",
    "/..",
    "file:///etc/passwd",
    "data:,x",
    "http://127.0.0.2:9/",
    "http://[",
    "\x7f",
)
_LINKS = (
    "../x",
    "?C=N",
    "/",
    "//127.0.0.2:9/a.jsonl",
    "http://[",
    "a%00b",
    "%2e%2e/%2e%2e/etc/passwd",
    "a.jsonl#x",
    "",
)
_LENGTHS = ("0", "1", "-1", "x", "99999999999999999999", "1e3")


@contextmanager
def served(tree: Tree, seed: str, log: Path) -> Iterator[str]:
    """Serve the files of a tree, by the same answers for the same seed; yield host and port."""
    files = {f"/{path}" if path else "/input": data for path, data in tree.items() if isinstance(data, bytes)}
    folders: dict[str, set[str]] = {}
    for path in files:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            name = parts[depth] + ("/" if depth + 1 < len(parts) else "")
            folders.setdefault("/".join(parts[:depth]), set()).add(name)

    def answer(request: Request) -> None:
        path = unquote(request.path.partition("?")[0]).rstrip("/")
        honest: Answer
        if path in files:
            honest = file(files[path])
        elif path in folders:
            honest = page(*map(quote, sorted(folders[path])))
        else:
            honest = lambda request: request.whole(b"", 404)  # noqa: E731 - one of three
        rng = random.Random(f"{seed}/{request.command}/{path}")
        # Else a client waits for what was said to come; `begin` says it, else it asks again where nobody listens.
        request.close_connection = True
        (honest if rng.random() < 0.6 else _mutated(rng, files.get(path, b""), honest))(request)

    with serving(answer, log) as host:
        yield host


def _mutated(rng: random.Random, data: bytes, honest: Answer) -> Answer:
    kind = rng.choice(("status", "type", "length", "encoded", "cut", "ranges", "redirect", "page", "raw"))
    if kind == "status":
        status = rng.choice(_STATUS)
        return lambda request: request.whole(data, status)
    if kind == "type":
        return file(data, Content_Type=rng.choice(_TYPES))
    if kind == "length":
        length = rng.choice((str(len(data) + rng.randrange(-3, 4)), rng.choice(_LENGTHS)))
        return lambda request: request.whole(data, Content_Length=length)
    if kind == "encoded":
        packed = gzip.compress(data, mtime=0) if rng.random() < 0.5 else data
        return lambda request: request.whole(packed, Content_Encoding=rng.choice(("gzip", "br", "x", "identity, gzip")))
    if kind == "cut":
        kept = data[: rng.randrange(len(data) + 1)]
        return lambda request: request.whole(kept, Content_Length=str(len(data)))
    if kind == "ranges":
        said = rng.choice(("bytes 0-0/1", "bytes 5-2/9", "x", f"bytes 0-9/{1 << 60}", "bytes */0"))
        return lambda request: request.whole(data, 206, Content_Range=said)
    if kind == "redirect":
        target = rng.choice(_TARGETS)
        return lambda request: redirect(target.replace("{here}", request.path))(request)
    if kind == "page":
        return page(*rng.sample(_LINKS, 3))
    raw = rng.choice((b"HTTP/9.9 200\r\n\r\n", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\nA" + b"a" * 70_000, b"\0" * 100))

    def without_http(request: Request) -> None:
        request.wfile.write(raw)

    return without_http if rng.random() < 0.7 else honest
