"""Internal: Bounds of what the clients of stores read whole: listings, parts of objects, errors. By themselves they have none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, cast

from corpusfmt.io.stores import Elsewhere, Encoded, TooLarge
from corpusfmt.wording import masked

_MOST_WHOLE = 64 * 1024 * 1024
_MOST_OF_AN_ERROR = 1024 * 1024
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


def bounds_of(protocol: str) -> dict[str, Any]:
    """Return the options of fsspec with which the client of a store keeps the bounds. Raises `ImportError` without it."""
    from fsspec.config import conf  # noqa: PLC0415 - slow to import, and rarely needed

    given = conf.get(protocol, {})
    if protocol == "hf":
        _bound_hub()
        return {}
    if protocol.startswith("s3"):
        return {"config_kwargs": given.get("config_kwargs", {}) | {"http_session_cls": _s3_session()}}
    return {"session_kwargs": given.get("session_kwargs", {}) | {"response_class": response_class()}}


def most_of(headers: Any) -> int:
    """Return the most bytes that are read whole of the answer to a request with these headers."""
    asked = _RANGE.fullmatch(headers.get("Range", ""))
    return max(int(asked[2]) - int(asked[1]) + 1, _MOST_OF_AN_ERROR) if asked else _MOST_WHOLE


def too_large(most: int) -> TooLarge:
    """Return the error of an answer that has more bytes."""
    return TooLarge(f"the answer has more than the {most:,} bytes that can be read of it")


async def upto(response: Any, most: int) -> bytes:
    """Return the content of an answer of aiohttp. Raises `TooLarge`."""
    data = bytearray()
    while part := await response.content.read(1 << 16):
        data += part
        if len(data) > most:
            response.close()
            raise too_large(most)
    return bytes(data)


class _Whole:
    """The content of an answer of aiohttp, bounded where it is read whole."""

    def __init__(self, response: Any) -> None:
        self._response, self._content = response, response.content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def read(self, size: int = -1) -> bytes:
        if size >= 0:
            return cast("bytes", await self._content.read(size))
        return await upto(self._response, most_of(self._response.request_info.headers))


@cache
def response_class() -> type[Any]:
    """Return the class of bounded answers for sessions of aiohttp."""
    from aiohttp import ClientResponse  # noqa: PLC0415 - an extra

    class Bounded(ClientResponse):
        async def start(self, connection: Any) -> ClientResponse:
            await super().start(connection)
            self.content = cast("Any", _Whole(self))
            return self

        async def read(self) -> bytes:
            if self._body is None:
                self._body = await self.content.read()
            return self._body

    return Bounded


@cache
def _s3_session() -> type[Any]:
    from aiobotocore.httpsession import AIOHTTPSession  # noqa: PLC0415 - an extra

    bounded = response_class()

    class Session(AIOHTTPSession):  # type: ignore[misc]
        async def _get_session(self, proxy_url: str | None) -> Any:
            session = await super()._get_session(proxy_url)
            session._response_class = bounded  # noqa: SLF001 - it has no argument for it
            return session

    return Session


@cache
def _bound_hub() -> None:
    """Let the client of the Hub, one for the whole process, keep the bounds."""
    hub = import_module("huggingface_hub")
    module = import_module("huggingface_hub.utils._http")

    def client() -> Any:
        made = module.default_client_factory()
        made.headers["Accept-Encoding"] = "identity"
        made.event_hooks["response"] += [_stay, _bound]
        return made

    hub.set_client_factory(client)


def _stay(response: Any) -> None:
    """Refuse a redirection or a next page of the Hub's API that is elsewhere: the client would send the token along."""
    asked = response.request.url
    for leads_to in (response.headers.get("Location"), response.links.get("next", {}).get("url")):
        there = asked.join(leads_to or "")
        if asked.path.startswith("/api/") and (there.scheme, there.netloc) != (asked.scheme, asked.netloc):
            raise Elsewhere(f"{masked(str(asked))} leads to {masked(str(there))}, which is elsewhere")


def _bound(response: Any) -> None:
    """Bound an answer of httpx, unless it is an object that is read as a stream."""
    request = response.request
    if "Range" not in request.headers and not request.url.path.startswith("/api/"):
        return
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Encoded(f"the answer is encoded with {response.headers['Content-Encoding']}, which was not asked for")
    most = most_of(request.headers)
    stream: Any = import_module(type(response).__module__.partition(".")[0]).SyncByteStream

    class Bounded(stream):  # type: ignore[misc]
        def __init__(self, whole: Any) -> None:
            self._whole = whole

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in self._whole:
                size += len(part)
                if size > most:
                    raise too_large(most)
                yield part

        def close(self) -> None:
            self._whole.close()

    response.stream = Bounded(response.stream)
