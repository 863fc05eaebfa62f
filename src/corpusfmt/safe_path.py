"""Internal: Keep the working folder, which may contain a stranger's data, off `sys.path`.

Import only modules that Python has loaded already: any other could come from that folder.
"""

import os
import sys
from _thread import allocate_lock

_ENVIRONMENT = ("PYTHONSAFEPATH", "PYTHONPATH")


def drop_working_folder() -> None:
    """Remove the working folder from `sys.path`, where empty and relative entries of `PYTHONPATH` put it.

    Absolute entries of `PYTHONPATH` stay, even if they are the working folder.
    """
    entries = _python_path()
    named = {os.path.abspath(entry) for entry in entries if os.path.isabs(entry)}
    dropped = {os.path.abspath(entry) for entry in entries} - named
    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and entry not in dropped]


def drop_relative_entries() -> None:
    """Remove the entries of `sys.path` that are relative to the current working folder."""
    sys.path[:] = filter(os.path.isabs, sys.path)


def _python_path() -> list[str]:
    text = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return text.split(os.pathsep) if text else []


def can_start_safely() -> bool:
    """Return whether child Python processes can be kept from importing from the working folder."""
    return bool(sys.flags.safe_path or not sys.flags.ignore_environment)


class SafeStarts:
    """While any thread is inside, Python processes that this one starts import nothing from the working folder.

    `multiprocessing` starts some of them with `python -c`, which looks there first, and passes `sys.path` to others.
    """

    _lock = allocate_lock()
    _entered = 0
    _environment: dict[str, str | None]
    _relative: list[tuple[int, str]]

    def __enter__(self) -> None:
        cls = type(self)
        with self._lock:
            if not cls._entered:
                cls._environment = {name: os.environ.get(name) for name in _ENVIRONMENT}
                cls._relative = [(index, entry) for index, entry in enumerate(sys.path) if not os.path.isabs(entry)]
                absolute = os.pathsep.join(filter(os.path.isabs, _python_path()))
                _set_environment({"PYTHONSAFEPATH": "1", "PYTHONPATH": absolute or None})
                drop_relative_entries()
            cls._entered += 1

    def __exit__(self, *_: object) -> None:
        cls = type(self)
        with self._lock:
            cls._entered -= 1
            if not cls._entered:
                _set_environment(cls._environment)
                for index, entry in cls._relative:
                    sys.path.insert(index, entry)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
