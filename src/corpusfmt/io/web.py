"""Internal: Files of web servers. fsspec's client would read an index page of any size, expand it, and go wherever it is led.

What is read whole has a bound, nothing is expanded, and a redirection leads to another origin only if the user allows it.
"""

from __future__ import annotations

import re
from html import unescape
from logging import getLogger
from typing import Any
from urllib.parse import urljoin

from aiohttp import ClientResponse, ClientResponseError, ClientSession, TraceConfig, TraceRequestRedirectParams
from fsspec.implementations.http import HTTPFileSystem
from yarl import URL

from corpusfmt.io.answers import response_class, upto
from corpusfmt.io.stores import REDIRECTED, Elsewhere, Encoded, TooLarge, refuse_redirection
from corpusfmt.wording import masked, plain

_MOST_OF_A_PAGE = 16 * 1024 * 1024
# Of one listing: a page may list folders whose pages list folders, without end.
_MOST_NAMES, _MOST_LEVELS = 100_000, 100

# Linear in the size of any page.
_LINK = re.compile(r"""<a\s(?:[^<>]{0,4096}?\s)?href\s{0,9}=\s{0,9}["']?([^"'<>\s]{1,4096})""", re.IGNORECASE)
_GONE = {404, 410}
# Of these, servers take the compression for an encoding.
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".tgz", ".zip")


async def _refuse(response: ClientResponse) -> None:
    await refuse_redirection(response)
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"", "identity"} and not response.url.path.lower().endswith(_COMPRESSED):
        response.close()
        raise Encoded(f"the answer is encoded with {encoding}, which was not asked for")


def _target(params: TraceRequestRedirectParams) -> URL:
    try:
        headers = params.response.headers
        found = params.url.join(URL(headers.get("Location") or headers.get("URI") or ""))
        if found.scheme in {"http", "https"} and found.host:
            return found
    except ValueError:
        pass
    params.response.close()
    raise Elsewhere(f"{masked(str(params.url))} redirects to what is not on the web")


async def _stay(_session: ClientSession, _context: object, params: TraceRequestRedirectParams) -> None:
    target = _target(params)
    if target.origin() != params.url.origin():
        params.response.close()
        here, there = masked(str(params.url)), masked(str(target))
        raise Elsewhere(f"{here} redirects to {there}, which is elsewhere; name that address, or add --follow-links")


async def _note(_session: ClientSession, _context: object, params: TraceRequestRedirectParams) -> None:
    target = _target(params)
    here, there = masked(str(params.url)), masked(str(target))
    if target.origin() != params.url.origin() and REDIRECTED.get(here) != there:
        REDIRECTED[here] = there
        getLogger("corpusfmt").warning("%s redirects to %s", plain(here), plain(there))


def _client(on_redirect: Any, given: dict[str, Any]) -> ClientSession:
    traced = TraceConfig()
    traced.on_request_redirect.append(on_redirect)
    given["headers"] = {"Accept-Encoding": "identity"} | dict(given.get("headers") or {})
    given["trace_configs"] = [*given.get("trace_configs", ()), traced]
    own: dict[str, Any] = {"raise_for_status": _refuse, "auto_decompress": False, "response_class": response_class()}
    return ClientSession(**(own | given))


async def within_origin(**given: Any) -> ClientSession:
    """Return a client, for fsspec, that follows redirections within one origin; these are its arguments."""
    return _client(_stay, given)


async def anywhere(**given: Any) -> ClientSession:
    """Return a client, for fsspec, that follows redirections to any web server, and logs them."""
    return _client(_note, given)


class Web(HTTPFileSystem):  # type: ignore[misc]
    """The files of web servers, listed by their index pages."""

    async def _ls_real(self, url: str, detail: bool = True, **_: Any) -> list[Any]:
        folder = url.partition("?")[0].rstrip("/") + "/"
        found = dict.fromkeys(folder + name for name in await self._linked(url))
        if not detail:
            return sorted(found)
        return [{"name": each, "size": None, "type": "directory" if each.endswith("/") else "file"} for each in found]

    async def _linked(self, url: str) -> list[str]:
        """Return the paths below a page that it links to; none if it is not a page."""
        session = await self.set_session()
        async with session.get(self.encode_url(url), **self.kwargs) as response:
            self._raise_not_found_for_status(response, url)
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if kind not in {"", "text/html"}:
                return []
            try:
                page = await upto(response, _MOST_OF_A_PAGE)
            except TooLarge:
                if kind:
                    raise
                return []  # data of a server that says nothing of its type
            base = str(response.url.with_query(None).with_fragment(None)).rstrip("/") + "/"
        links = (urljoin(base, unescape(each)) for each in _LINK.findall(page.decode("utf-8", "ignore")))
        below = (each.removeprefix(base) for each in links if each.startswith(base))
        return [each for each in below if each and not set(each) & set("?#") and ".." not in each.split("/")]

    async def _find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, **kwargs: Any) -> Any:
        found: dict[str, Any] = {}
        level = [path]
        for _ in range(min(maxdepth or _MOST_LEVELS, _MOST_LEVELS)):
            below = []
            for folder in level:
                try:
                    listed = await self._ls(folder, detail=True)
                except FileNotFoundError:
                    continue
                found |= {each["name"]: each for each in listed}
                below += [each["name"] for each in listed if each["type"] == "directory"]
                if len(found) > _MOST_NAMES:
                    raise TooLarge(f"the server lists more than {_MOST_NAMES:,} names")
            level = below
        if level and maxdepth is None:
            raise TooLarge(f"the server lists more than {_MOST_LEVELS} levels of folders")
        kept = {name: found[name] for name in sorted(found) if withdirs or found[name]["type"] == "file"}
        return kept if kwargs.get("detail") else list(kept)

    async def _info(self, url: str, **kwargs: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await super()._info(url, **kwargs)
        except FileNotFoundError as error:
            cause = error.__cause__
            # It says so of any failure, as of a server that is down.
            if cause is None or (isinstance(cause, ClientResponseError) and cause.status in _GONE):
                raise
            raise cause from None
        return found
