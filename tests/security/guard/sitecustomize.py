"""Loaded by every Python process of an attacked command: writes down what no dataset may make it do.

Forked workers inherit the hook, spawned ones load it again. It imports only what Python has loaded by now: anything else
could come from the dataset.
"""

import os
import sys

_LOG = "CORPUSFMT_GUARD_LOG"
_FORBIDDEN = "CORPUSFMT_GUARD_FORBIDDEN"
# `os.open` and `io.open` alike; a folder is opened to be listed.
_OPENS = {"open", "os.scandir", "os.listdir"}
_NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}


def _note(line: str) -> None:
    descriptor = os.open(os.environ[_LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode("utf-8", "backslashreplace") + b"\n")
    os.close(descriptor)


def _address(arguments: tuple[object, ...]) -> object:
    return arguments[1] if len(arguments) > 1 else arguments[0]


def _is_named(event: str, arguments: tuple[object, ...]) -> bool:
    """Return whether a connection is to a store that the user named."""
    place = arguments[1] if event == "socket.connect" else arguments[:2]
    text = ":".join(map(str, place[:2])) if isinstance(place, tuple) else ""
    return text in os.environ.get("CORPUSFMT_GUARD_STORES", "").split()


_REAL: dict[bytes, bytes] = {}


def _real(path: bytes) -> bytes:
    """Return where a path leads, without asking again of each folder above it: a walk has asked of those before."""
    parent, name = os.path.split(path)
    known = _REAL.get(parent)
    if known is None or name in {b"", b".", b".."} or os.path.islink(path):  # noqa: PTH114 - imports nothing
        found = os.path.realpath(path)
    else:
        found = os.path.join(known, name)  # noqa: PTH118
    _REAL[path] = found
    return found


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in _OPENS and isinstance(arguments[0], (str, bytes)):
        forbidden = os.environ.get(_FORBIDDEN)  # a server of forks has none
        if forbidden and _real(os.fsencode(arguments[0])).startswith(os.fsencode(forbidden)):
            _note(f"open {os.fsdecode(arguments[0])}")
    elif event in _NETWORK and _is_named(event, arguments):
        pass
    elif event in _NETWORK and not isinstance(_address(arguments), (str, bytes)):
        # A local socket, as multiprocessing uses, has a path for an address.
        _note(f"{event} {_address(arguments)}")
        raise ConnectionRefusedError("no network here")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        _note(f"{event} {arguments[0]}")
        raise ConnectionRefusedError("no network here")


sys.addaudithook(_watch)
