"""Pages whose code needs more than a folder: a store, other libraries, a cluster, an installation.

A comment before such a block names the target that runs it, with the rest of its page: `make remote-test`, `make hub`, …
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
from documentation.sessions import PAGES, blocks, environment_in, make_corpora, pages_of, rewritten
from remote.faults import Faults
from remote.hub import Repository, hub_server
from remote.s3 import serving
from support import REPOSITORY

Variables = dict[str, str]
_SITES = os.pathsep.join(each for each in sys.path if each.endswith("-packages"))
_PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]


@contextmanager
def stores(folder: Path) -> Iterator[Variables]:
    """S3 with the sample, and a Hub with a gated repository, on the loopback interface."""
    with serving(Faults(failing=0, cut=0)) as store, hub_server("hf_0123456789") as hub:
        for path in (REPOSITORY / "pipeline" / "sample").iterdir():
            store.put(f"wet/{path.name}", path.read_bytes())
        for name in ("owner/corpus", "owner/gated"):
            hub.repositories[name] = Repository(gated=name.endswith("gated"))
            hub.repositories[name].commit({"README.md": b"# A corpus\n"})
        own = {name: value for name, value in store.environment.items() if name.startswith("AWS_")}
        yield own | {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "huggingface")}


@contextmanager
def cluster(_: Path) -> Iterator[Variables]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    # Ray's environment has no corpusfmt of its own.
    yield {
        "PORT": str(port),
        "RAY": os.environ["CORPUSFMT_RAY"],
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": str(REPOSITORY / "src"),
    }


def libraries(variable: str) -> Callable[[Path], AbstractContextManager[Variables]]:
    """The libraries of another environment, whose Python also finds corpusfmt, after its own packages."""

    def libraries_in(folder: Path) -> AbstractContextManager[Variables]:
        others = folder / "others"
        others.mkdir()
        sites = [*_SITES.split(os.pathsep), str(REPOSITORY / "src")]
        (others / "sitecustomize.py").write_text(f"import sys\nsys.path += {sites!r}\n")
        programs = Path(os.environ[variable]).parent
        path = f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return nullcontext({"PATH": path, "PYTHONPATH": str(others), "HF_HOME": str(folder), "HF_HUB_OFFLINE": "1"})

    return libraries_in


@contextmanager
def newcomer(folder: Path) -> Iterator[Variables]:
    """A fresh environment, an index with corpusfmt, and the host of the repository."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    said = subprocess.run([programs / "python", *_PIP, "config", "list"], check=True, capture_output=True, text=True)
    indexes = dict(re.findall(r"^(?:global|install|:env:)\.([a-z-]+)='(.*)'$", said.stdout, re.MULTILINE))
    indexes["find-links"] = f"{indexes.get('find-links', '')} {os.environ['CORPUSFMT_INSTALLS']}".strip()
    yield {
        # Python's own variables change the order of what it prints.
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "HOME": str(folder / "page"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        **{f"PIP_{name.upper().replace('-', '_')}": value for name, value in indexes.items()},
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{REPOSITORY}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/corpusfmt/corpusfmt",
    }


# Each target: the variable that it sets, and what it has.
TARGETS: dict[str, tuple[str, Callable[[Path], AbstractContextManager[Variables]]]] = {
    "remote-test": ("CORPUSFMT_REMOTE", stores),
    "engines-test": ("CORPUSFMT_RAY", cluster),
    "hub": ("CORPUSFMT_HUB", libraries("CORPUSFMT_HUB")),
    "mlcroissant": ("CORPUSFMT_MLCROISSANT", libraries("CORPUSFMT_MLCROISSANT")),
    "compared": ("CORPUSFMT_COMPARED", libraries("CORPUSFMT_COMPARED")),
    "benchmarks-test": ("CORPUSFMT_BENCHMARKS", lambda _: nullcontext({"PYTHON": sys.executable})),
    "docs": ("CORPUSFMT_INSTALLS", newcomer),
}


def test_every_target_is_known() -> None:
    named = {marks.target for name in PAGES for _, marks in blocks((REPOSITORY / name).read_text("utf-8"))}
    assert named == {"", *TARGETS}


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    make_corpora(folder)
    return folder


def _needing() -> Iterator[object]:
    for target, (variable, _) in TARGETS.items():
        missing = pytest.mark.skipif(not os.environ.get(variable), reason=f"`make {target}` runs this")
        for name in pages_of(target):
            yield pytest.param(target, name, id=f"{target}-{name}", marks=missing)


@pytest.mark.skipif(sys.platform != "linux", reason="pages use GNU's zcat, truncate and sha256sum")
@pytest.mark.parametrize(("target", "name"), [*_needing()])
def test_a_page_prints_what_its_commands_print(target: str, name: str, corpora: Path, tmp_path: Path) -> None:
    text = (REPOSITORY / name).read_text("utf-8")
    folder = tmp_path / "page"
    folder.mkdir()
    with TARGETS[target][1](tmp_path) as variables:
        assert rewritten(text, folder, environment_in(folder, corpora) | variables, target) == text
