"""What is repeated when a store fails, how often, and where reading goes on."""

from __future__ import annotations

import errno
import io
import logging
import random
import socket
import sys

import pytest

from corpusfmt.description.provenance import Release, revision_as_source
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.revisions import pinned, revision_of
from corpusfmt.io.stores import CutShort, StoreFailure, StoreFile, Unreadable, may_pass, persistently, soon
from corpusfmt.model import UsageError
from corpusfmt.wording import masked

DATA = bytes(range(256)) * 40


class ClientPayloadError(Exception):
    """As aiohttp calls a body that ended too early."""


class ClientError(Exception):
    """As botocore calls a refusal; also with the response of other libraries."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


class HttpError(Exception):
    """As gcsfs calls one."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Take no time."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


@pytest.mark.parametrize(
    "error",
    [
        ClientPayloadError(),
        *(ClientError(status) for status in (408, 429, 500, 502, 503, 504)),
        HttpError(503),
        OSError(errno.EBUSY, "SlowDown"),
        ConnectionResetError(),
        TimeoutError(),
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        CutShort(),
    ],
    ids=repr,
)
def test_failures_that_may_pass(error: Exception) -> None:
    left = [error, error]

    def fail_twice() -> str:
        if left:
            raise left.pop()
        return "done"

    assert may_pass(error)
    assert persistently("ask", fail_twice) == "done"


@pytest.mark.parametrize(
    "error",
    [
        *(ClientError(status) for status in (400, 403, 404, 412)),
        HttpError(401),
        PermissionError("Access Denied"),
        FileNotFoundError("no such key"),
        OSError(errno.EINVAL, "InvalidBucketName"),
        ValueError("a bug"),
        StoreFailure(errno.ESTALE, "changed"),
    ],
    ids=repr,
)
def test_failures_that_stay(error: Exception, pauses: list[float]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(OSError, match=str(error.args[-1])) as raised:
        persistently("ask", fail)
    assert pauses == []
    assert raised.value is error or str(raised.value).startswith(type(error).__name__)


def _always() -> None:
    raise ConnectionResetError("gone")


def test_repeats_are_bounded_and_logged(pauses: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "corpusfmt")
    with pytest.raises(ConnectionResetError):
        persistently("put s3://b/x", _always)
    assert len(pauses) == 7
    assert all(0.125 * 2**each <= pause <= 0.25 * 2**each for each, pause in enumerate(pauses))
    assert [each.levelno for each in caplog.records] == [logging.INFO] * 2 + [logging.WARNING] * 5
    assert caplog.messages[0].startswith("put s3://b/x failed (gone), repeated in 0.")
    assert caplog.messages[-1].endswith("(7 of 7)")


def test_what_a_store_says_cannot_command_a_terminal(pauses: list[float], caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise ConnectionResetError("\x9b2J")

    with pytest.raises(ConnectionResetError):
        persistently("read s3://b/\x1b]0;title\x07\n::error::", refuse)
    assert pauses
    for message in caplog.messages:
        assert message.isprintable()
        assert message.startswith(r"read s3://b/\x1b]0;title\x07\n::error:: failed (\x9b2J), repeated in ")


@pytest.mark.parametrize(("asked", "repeats"), [("0", 0), ("2", 2), ("", 7)])
def test_the_number_of_repeats_can_be_set(
    asked: str, repeats: int, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORPUSFMT_STORE_RETRIES", asked)
    with pytest.raises(ConnectionResetError):
        persistently("ask", _always)
    assert len(pauses) == repeats


def test_what_a_library_has_repeated_for_long_is_not_repeated_before_work(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 30))
    monkeypatch.setattr("corpusfmt.io.stores.time.monotonic", lambda: next(clock))
    with soon(), pytest.raises(ConnectionResetError):
        persistently("ask", _always)
    assert pauses == []


def test_a_number_of_repeats_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUSFMT_STORE_RETRIES", "often")
    with pytest.raises(UsageError, match="CORPUSFMT_STORE_RETRIES is not a number from 0"):
        persistently("ask", _always)


class Flaky(io.BytesIO):
    """An object whose requests fail, or end too early, in a third of all cases."""

    size = len(DATA)
    chosen = random.Random(5)

    def read(self, size: int | None = -1, /) -> bytes:
        fate = self.chosen.random()
        if fate < 0.15:
            raise ClientPayloadError
        data = super().read(size)
        return data[: len(data) // 2] if fate < 0.3 and self.seek(-len(data) + len(data) // 2, 1) >= 0 else data


@pytest.mark.parametrize("sizes", [(1000,), (-1,), (7, 300, 5000)])
def test_reading_goes_on_where_it_was(sizes: tuple[int, ...]) -> None:
    for _ in range(20):
        file = StoreFile(lambda: Flaky(DATA), "object")
        found = b""
        while data := file.read(sizes[len(found) % len(sizes)]):
            found += data
        assert found == DATA
        assert (file.seek(-100, 2), file.read(10), file.tell()) == (len(DATA) - 100, DATA[-100:-90], len(DATA) - 90)
        buffer = bytearray(20)
        assert (file.seek(5), file.readinto(buffer), bytes(buffer)) == (5, 20, DATA[5:25])


def test_an_object_that_changes_while_it_is_read() -> None:
    versions = iter("ab")

    class Versioned(io.BytesIO):
        size = 10

        def __init__(self) -> None:
            super().__init__(b"12345")
            self.details = {"ETag": next(versions)}

    file = StoreFile(Versioned, "s3://b/object")
    assert file.read(5) == b"12345"
    with pytest.raises(Unreadable, match="cannot read s3://b/object: it changed while it was read"):
        file.read(5)


def test_a_stream_that_ends_too_early_for_good(pauses: list[float]) -> None:
    class Short(io.BytesIO):
        size = 10

    file = StoreFile(lambda: Short(b"12345"), "s3://b/object")
    assert file.read(5) == b"12345"
    with pytest.raises(Unreadable, match="s3://b/object: 5 of 10 bytes arrived; check the network"):
        file.read(5)
    assert len(pauses) == 7


def test_an_answer_is_one_line_without_signatures() -> None:
    class Refused(OSError):
        """As huggingface_hub calls an answer."""

        response = object()

    def fail() -> None:
        raise Refused(
            "403 Forbidden.\n\nCannot access content at: https://cdn.example.org/a?Signature=secret&Key=x.\nWhy?"
        )

    with pytest.raises(StoreFailure) as raised:
        persistently("ask", fail)
    said = "Refused: 403 Forbidden. Cannot access content at: https://cdn.example.org/a Why?"
    assert str(raised.value) == raised.value.strerror == said


@pytest.mark.parametrize("url", ["hf://datasets/owner", "hf://owner", "hf://datasets//x", "hf://"])
def test_no_repository_on_the_hub(url: str) -> None:
    with pytest.raises(UsageError, match=r"expected hf://datasets/OWNER/NAME\[@REVISION\]\[/PATH\]"):
        pinned(url, None)


def test_the_revision_of_a_pinned_address() -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    assert revision_of(f"hf://datasets/o/n@{commit}/data/a@b.jsonl") == {"revisions": {"hf://datasets/o/n": commit}}
    assert revision_of("s3://bucket/o@n") == revision_of("data/a@b") == revision_of("hf://buckets/o/n") == {}
    assert pinned("hf://buckets/owner/name/x", None) == "hf://buckets/owner/name/x"


def test_the_extra_for_the_hub_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        UsageError, match=r"hf://datasets/o/n needs a missing package .*: run `pip install 'corpusfmt\[hf\]'`"
    ):
        entry_of("hf://datasets/o/n")


def test_a_description_names_the_commit_of_its_source() -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    source = Entry("n", f"hf://datasets/o/n@{commit}", "directory")
    assert revision_as_source(source) == {"prov:wasDerivedFrom": [{"@id": source.url}]}
    assert revision_as_source(Entry("n", "s3://bucket/n", "directory")) == {}
    whole = {"tool": {}, "inputs": [], "conversion": {"revisions": {"hf://datasets/o/n": commit}}}
    release = Release({}, whole, {})
    assert release.provenance["prov:wasDerivedFrom"] == [{"@id": source.url}]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("get https://u:p@a.example/x?k=v&sig=1#z, then", "get https://u:***@a.example/x?k=***&sig=***#***, then"),
        ("s3://b/*.jsonl? and HTTP://p:p@w@h/?t", "s3://b/*.jsonl? and HTTP://p:***@h/?***"),
        # A client quotes what a store sent; each of these took hours.
        ("x" * 1_000_000 + "://a?b=c", "x" * 1_000_000 + "://a?b=***"),
        ("://" * 400_000, "://" * 400_000),
        ("x://?" + "." * 1_000_000 + "a", "x://?" + "." * 1_000_000 + "a"),
        ("://:" * 400_000 + "@", "://***@"),
    ],
    ids=["query", "wildcard", "scheme", "slashes", "dots", "colons"],
)
def test_credentials_are_masked_in_texts_of_any_length(text: str, shown: str) -> None:
    assert masked(text) == shown
