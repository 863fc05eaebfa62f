"""Corpora that many tests read, built once a run of a worker."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest
from hypothesis import settings
from strategies import MORE, examples
from support import DEEP, SAMPLE

import corpusfmt

# The same examples in every run: a test that fails has been broken by a change. How long an example takes says more about
# the machine than about the code.
settings.register_profile("corpusfmt", examples(100), deadline=None, derandomize=not MORE, print_blob=True)
settings.load_profile("corpusfmt")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests also wait, for commands that they kill, stop or let run out of time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


# Tests publish thousands of small files, and each is synced: on a disk they mostly wait. Those of links and of what may be read
# need a folder outside of /dev, from which nothing is read through a link.
_ON_DISK = frozenset({"security", "test_maps.py", "test_paths.py", "test_validate.py"})
_MEMORY = Path("/dev/shm")
_ENOUGH_MEMORY = 1 << 30
# Workers inherit the variable, and a temporary folder in memory.
_DISK = os.environ.setdefault("CORPUSFMT_DISK", gettempdir())


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let all temporary files of this run be in memory, those of commands, too."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in the background of a shell, which commands would inherit
        signal.signal(signal.SIGINT, signal.default_int_handler)
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH_MEMORY
    if in_memory and not config.option.basetemp:  # a worker has one in that of the process that started it
        folder = TemporaryDirectory(dir=_MEMORY, prefix="corpusfmt-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        Path(folder.name).chmod(0o1777)  # as that of the system, for commands that run as somebody else
        os.environ["TMPDIR"] = folder.name
        config.option.basetemp = f"{folder.name}/pytest-0"
    # No test finds what an earlier run of it has kept.
    kept = TemporaryDirectory(prefix="corpusfmt-", ignore_cleanup_errors=True)
    config.add_cleanup(kept.cleanup)
    os.environ["XDG_CACHE_HOME"] = kept.name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is marked so to `make deep`."""
    if not DEEP:
        left = [item for item in items if item.get_closest_marker("deep")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder of the test's own."""
    on_disk = not _ON_DISK.isdisjoint({request.path.name, request.path.parent.name})
    parent = _DISK if on_disk else tmp_path_factory.getbasetemp()
    with TemporaryDirectory(dir=parent, prefix="corpusfmt-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture(scope="session")
def oscar_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample as OSCAR 1.1."""
    folder = tmp_path_factory.mktemp("built") / "oscar"
    assert corpusfmt.build(SAMPLE, folder).verdict.value == "valid"
    return folder


@pytest.fixture(scope="session")
def dolma_corpus(oscar_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as Dolma."""
    folder = tmp_path_factory.mktemp("converted") / "dolma"
    corpusfmt.convert(oscar_corpus, folder, to="dolma")
    return folder
