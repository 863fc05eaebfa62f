"""Internal: Stores that fsspec serves. A failure that may pass is retried, and every other one becomes an `OSError`.

Any library raises exceptions of its own for the same failures. Here is decided which of them may pass.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Self, TypeVar

from corpusfmt.model import CorpusfmtError, Incomplete, UsageError
from corpusfmt.wording import MOST_OF_A_MESSAGE, clipped, masked, plain

T = TypeVar("T")

#: The variable with the number of times that a request is repeated.
RETRIES = "CORPUSFMT_STORE_RETRIES"
#: What may show the version of an object, most exact first.
VERSION_KEYS = ("ETag", "etag", "blob_id", "LastModified", "mtime")
# The pauses between them add up to half a minute.
_RETRIES = 7
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 16.0
# Some libraries repeat requests for half a minute by themselves.
_SOON_SECONDS = 10.0
_ENDS: ContextVar[float | None] = ContextVar("ends", default=None)
_SKIPPED_BYTES = 1 << 20
_READING = {"find", "glob", "info", "isdir", "ls"}
# A single failure is common in a large store; from this one on, the user should know.
_WORTH_A_WARNING = 3

# HTTP statuses of a store that is busy, restarting or behind a proxy.
_PASSING_STATUSES = {408, 425, 429, 500, 502, 503, 504}
_PASSING_ERRNOS = {
    *(errno.EAGAIN, errno.EBUSY, errno.EIO, errno.EPIPE, errno.ETIMEDOUT, errno.ECONNABORTED, errno.ECONNREFUSED),
    *(errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, getattr(errno, "EREMOTEIO", errno.EIO)),
}
# Classes of aiohttp, botocore, httpx, huggingface_hub, requests, socket and fsspec, none of which may be imported for this.
_PASSING_NAMES = {
    *("ClientConnectionError", "ClientPayloadError", "ServerDisconnectedError", "ServerTimeoutError"),
    *("ConnectionClosedError", "EndpointConnectionError", "HTTPClientError", "IncompleteReadError"),
    *("ResponseParserError", "ResponseStreamingError", "ChunkedEncodingError", "ConnectionError", "Timeout"),
    *("NetworkError", "RemoteProtocolError", "TimeoutException", "IncompleteRead", "FSTimeoutError", "gaierror"),
}

# The cause of what aiohttp raises, with a status of its own, for what is no answer of HTTP.
_NO_ANSWER = "HttpProcessingError"

# What a server does that sends clients in circles, or to another place of which it says nothing.
_REDIRECTED = {"TooManyRedirects", "RecursionError", "NonHttpUrlRedirectClientError", "InvalidUrlRedirectClientError"}
_LEADS_ELSEWHERE = "its address only leads elsewhere"

#: What to do without credentials, by scheme.
CREDENTIALS = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`",
    "hf": "set HF_TOKEN, or run `hf auth login`",
}
CREDENTIALS |= {"s3a": CREDENTIALS["s3"], "gcs": CREDENTIALS["gs"]}
_NO_CREDENTIALS = {
    *("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound"),
    *("DefaultCredentialsError", "RefreshError", "LocalTokenNotFoundError", "TokenRetrievalError"),
}
_MISSING = {"RepositoryNotFoundError", "NoSuchBucket"}


#: Where web servers redirected this process to, by the address that was asked for; without credentials.
REDIRECTED: dict[str, str] = {}


def redirected_from(shown: str) -> dict[str, dict[str, str]]:
    """Return what a report says of redirections from a place to other servers, nothing if there were none."""
    place = re.sub("(?<=://)[^/]*@", "", shown)
    found = {asked: there for asked, there in REDIRECTED.items() if asked.startswith(place)}
    return {"redirects": found} if found else {}


class StoreFailure(OSError):
    """A store failed; the text has the type and message of the library's exception."""

    def __str__(self) -> str:
        return str(self.strerror)


class Unreadable(StoreFailure):
    """An object cannot be read: `filename` is its URL, and the reason has the remedy, if one is known."""

    def __str__(self) -> str:
        return f"cannot read {self.filename}: {self.strerror}"


class CutShort(OSError):
    """A store sent fewer bytes than the object has."""


class Elsewhere(Exception):
    """A web server redirects to another origin."""


class BadAnswer(Exception):
    """An answer cannot be used, and the same request would give it again."""


class TooLarge(BadAnswer):
    """An answer has more bytes or names than can be read."""


class Encoded(BadAnswer):
    """An answer is in an encoding that was not asked for."""


def store_failure(error: Exception) -> OSError:
    """Return a library's exception as an `OSError`, because it is a failure of the network or store, not a bug."""
    is_answer = getattr(error, "response", None) is not None
    if isinstance(error, OSError) and not is_answer:
        return error
    if isinstance(error, Elsewhere | BadAnswer):
        return StoreFailure(errno.EIO, str(error))
    return StoreFailure(errno.EIO, _LEADS_ELSEWHERE if _is_redirected(error) else one_line(error))


_QUERY = re.compile(r"""(?<=\S)\?[^\s"'<>]+""")


def one_line(error: BaseException) -> str:
    """Return the type and message of an exception as one line, without queries and credentials of URLs."""
    said = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return clipped(masked(_QUERY.sub("", said)), MOST_OF_A_MESSAGE)


def before_work_error(said: str, error: BaseException) -> UsageError | Incomplete:
    """Return the error of a command that cannot begin: the user asked for what is not there, or the store is at fault."""
    cause: BaseException | None = error
    while cause is not None:
        if may_pass(cause) or isinstance(cause, BadAnswer) or (status_of(cause) or 0) >= 500:
            return Incomplete(said)
        cause = cause.__cause__
    return UsageError(said)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that the exception of a library stands for, if it has one."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        known = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return known if isinstance(known, int) else None
    for holder, name in ((response, "status_code"), (response, "status"), (error, "status"), (error, "code")):
        found = getattr(holder, name, None)
        if isinstance(found, int):
            return found
    return None


def may_pass(error: BaseException) -> bool:
    """Return whether the same request may succeed later: the network or the store failed, not the request."""
    status = status_of(error)
    if _is_redirected(error):
        return False
    if _NO_ANSWER in {each.__name__ for each in type(error.__cause__).__mro__}:
        return True
    if status is not None and 400 <= status < 600:
        return status in _PASSING_STATUSES
    if isinstance(error, ConnectionError | TimeoutError | CutShort):
        return True
    if not _PASSING_NAMES.isdisjoint(each.__name__ for each in type(error).__mro__):
        return True
    return type(error) is OSError and error.errno in _PASSING_ERRNOS


def remedy_for(scheme: str, error: BaseException) -> str:
    """Return what the user can do about the failure of a store, nothing if that is unknown."""
    names = {each.__name__ for each in type(error).__mro__}
    status, said = status_of(error), str(error)
    credentials = CREDENTIALS.get(scheme, "check the credentials")
    if not names.isdisjoint(_NO_CREDENTIALS):
        return credentials
    if "RequestTimeTooSkewed" in said or "request time and the" in said:
        return "set the clock of this machine"
    if not names.isdisjoint(_MISSING) or isinstance(error, FileNotFoundError) or status == 404:
        return "create the bucket or repository, or correct its name"
    if isinstance(error, PermissionError) or status in {401, 403}:
        return f"ask for the right to list, read, write and delete there, or {credentials}"
    if _is_redirected(error):
        return "correct the address" if scheme in {"http", "https"} else "correct the endpoint or the region"
    if may_pass(error):
        return "check the network, the endpoint and the state of the service"
    return ""


def with_remedy(scheme: str, error: OSError) -> str:
    """Return the reason of a failure of a store, with what the user can do about it, if that is known."""
    said = masked(error.strerror or str(error) or type(error).__name__)
    # One library's exception may be the cause of another's, and only one of them says what it stands for.
    remedy = (error.__cause__ and remedy_for(scheme, error.__cause__)) or remedy_for(scheme, error)
    return f"{said.removesuffix('.')}; {remedy}" if remedy and remedy not in said else said


async def refuse_redirection(response: Any) -> None:
    """Raise for an answer of a web server that the client did not follow, because it does not say where to."""
    if 300 <= response.status < 400:
        from aiohttp import ClientResponseError  # noqa: PLC0415 - an extra

        raise ClientResponseError(response.request_info, response.history, status=response.status)


def _is_redirected(error: BaseException | None) -> bool:
    causes = set[int]()
    while error is not None and id(error) not in causes:
        if type(error).__name__ in _REDIRECTED or 300 <= (status_of(error) or 0) < 400:
            return True
        causes.add(id(error))
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def soon() -> Iterator[None]:
    """Repeat requests for some seconds only: before any work is done, the user should not wait long for an answer."""
    token = _ENDS.set(time.monotonic() + _SOON_SECONDS)
    try:
        yield
    finally:
        _ENDS.reset(token)


def _repeats() -> int:
    """Return how often a request is repeated. Raises `UsageError` for a setting that is not a number."""
    asked = os.environ.get(RETRIES, "")
    if asked and not asked.isdecimal():
        raise UsageError(f"{RETRIES} is not a number from 0: set it to one, or unset it")
    return int(asked or _RETRIES)


def persistently(what: str, call: Callable[[], T]) -> T:
    """Return the result of a request, repeated with growing random pauses while its failure may pass.

    Raises `OSError` for any failure; `what` names the request in the log.
    """
    most = _repeats()
    repeat = 0
    while True:
        try:
            return call()
        except CorpusfmtError:  # the time is up
            raise
        except Exception as error:
            failure = store_failure(error)
            ends = _ENDS.get()
            is_late = ends is not None and time.monotonic() > ends
            if repeat == most or is_late or not may_pass(error):
                if failure is error:
                    raise  # with its cause, the answer of the store
                raise failure from error
        repeat += 1
        _pause(what, failure, repeat, most)


def _pause(what: str, failure: OSError, repeat: int, most: int) -> None:
    import logging  # noqa: PLC0415 - rarely needed
    import random  # noqa: PLC0415

    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** (repeat - 1), _LONGEST_PAUSE_SECONDS)
    pause = longest * random.uniform(0.5, 1.0)
    # An answer that comes soon needs no others before it.
    level = logging.WARNING if repeat >= _WORTH_A_WARNING and _ENDS.get() is None else logging.INFO
    log = logging.getLogger("corpusfmt")
    # A store chooses the names of its objects and what it answers.
    told, said = plain(masked(what)), plain(masked(str(failure)))
    log.log(level, "%s failed (%s), repeated in %.1f s (%d of %d)", told, said, pause, repeat, most)
    time.sleep(pause)


class Guarded:
    """A file system of fsspec whose methods persist, and fail like local ones."""

    def __init__(self, served: Any) -> None:
        self.served = served

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.served, name)
        if not callable(attribute):
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            what = f"{name} {arguments[0] if arguments else ''}"
            try:
                return persistently(what, lambda: attribute(*arguments, **options))
            except FileNotFoundError:
                raise
            except OSError as error:
                if name not in _READING or error.filename is not None:
                    raise
                url = str(self.served.unstrip_protocol(arguments[0]))
                said = with_remedy(url.partition("://")[0], error)
                raise Unreadable(error.errno or errno.EIO, said, masked(url)) from error.__cause__ or error

        return call

    def opened(self, path: str, url: str) -> StoreFile:
        """Open a file for reading bytes; its URL is for messages."""
        return StoreFile(partial(self.served.open, path, "rb"), url)


class StoreFile:
    """An object opened for reading. After a failure, or fewer bytes than it has, reading continues where it was.

    Of a web server that does not give parts of a file, it is read from the start again.
    """

    def __init__(self, open_object: Callable[..., Any], url: str) -> None:
        self._open = open_object
        self._is_stream = False
        self._url = url
        self._file = self._persistently("open", open_object)
        self._is_whole = True
        self._position = 0
        self.size: int | None = getattr(self._file, "size", None)
        self._version = _version_of(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return `size` bytes, or the rest if there are fewer; of a stream of unknown length, perhaps fewer."""
        left = None if size is None or size < 0 else size
        parts = []
        while left != 0:
            wanted = -1 if left is None else left
            data = self._persistently("read", partial(self._read, wanted))
            parts.append(data)
            if left is not None:
                left -= len(data)
            if not data or (left is not None and self.size is None):
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer; return the number of bytes."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to another position, and return it."""
        if whence == 2 and self.size is None:
            self._position = self._local(lambda: self._file.seek(offset, whence))
            return self._position
        start = (0, self._position, self.size or 0)[whence]
        self._position = max(0, start + offset)
        if self._is_stream:
            self._is_whole = False
        else:
            self._local(lambda: self._file.seek(self._position))
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def close(self) -> None:
        """Close the file."""
        with suppress(Exception):  # nothing was written
            self._file.close()

    def _read(self, size: int) -> bytes:
        if not self._is_whole:
            self._reopen()
        self._is_whole = False
        try:
            data: bytes = self._file.read(size)
        except ValueError:  # what fsspec raises without parts
            if self._is_stream or self._file.closed:
                raise
            self._is_stream = True
            self._reopen()
            data = self._file.read(size)
        if not data and size and self.size is not None and self._position < self.size:
            raise CutShort(errno.EIO, f"{self._position:,} of {self.size:,} bytes arrived")
        self._is_whole = True
        self._position += len(data)
        return data

    def _reopen(self) -> None:
        self.close()
        # Without blocks, fsspec reads on.
        self._file = self._open(block_size=0) if self._is_stream else self._open()
        if _version_of(self._file) != self._version:
            raise StoreFailure(errno.ESTALE, "it changed while it was read")
        if self._is_stream:
            left = self._position
            while left and (skipped := self._file.read(min(left, _SKIPPED_BYTES))):
                left -= len(skipped)
        elif self._position:
            self._local(lambda: self._file.seek(self._position))
        self._is_whole = True

    def _persistently(self, doing: str, call: Callable[[], T]) -> T:
        try:
            return persistently(f"{doing} {self._url}", call)
        except FileNotFoundError:
            raise
        except OSError as error:
            said = with_remedy(self._url.partition("://")[0], error)
            raise Unreadable(error.errno or errno.EIO, said, self._url) from error.__cause__ or error

    def _local(self, call: Callable[[], int]) -> int:
        """Return the result of an operation that makes no request."""
        try:
            return call()
        except Exception as error:
            raise store_failure(error) from error


def _version_of(file: Any) -> object:
    details = getattr(file, "details", None)
    known = details if isinstance(details, dict) else {}
    return next((known[key] for key in VERSION_KEYS if known.get(key)), None)
