"""Commands that use S3 on loopback: moto's server, behind a proxy that fails."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remote.faults import Faults, proxy
from support import LONG_LINE, wet_file, wet_record

BUCKET = "s3://bucket"
KILLS = int(os.environ.get("CORPUSFMT_KILLS", "4"))
SECRET = "not-to-be-printed-0123456789"
_LANGUAGES = (
    LONG_LINE,
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt, ja.",
    "Все люди рождаются свободными и равными в своем достоинстве и правах, они наделены разумом и совестью, вот.",
)


class Store:
    """S3 on loopback; `faults` fail what goes through its proxy."""

    def __init__(self, port: int, failing: int, faults: Faults) -> None:
        import s3fs

        self._direct = s3fs.S3FileSystem(key="key", secret=SECRET, endpoint_url=f"http://127.0.0.1:{port}")
        self._direct.mkdir("bucket")
        self.faults = faults
        self.environment = os.environ | {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{failing}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def command(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command that uses the store, in a process group of its own."""
        code: str | None = options.pop("code", None)
        begin = ["-m", "corpusfmt"] if code is None else ["-c", code]
        line = [sys.executable, *begin, *map(str, arguments)]
        environment: dict[str, str] = options.pop("env", self.environment)
        folder: Path | None = options.pop("cwd", None)
        pipe = subprocess.PIPE
        return subprocess.Popen(line, env=environment, cwd=folder, stdout=pipe, stderr=pipe, start_new_session=True)

    def run(self, *arguments: object, status: int = 0, **options: Any) -> str:
        """Run a command; return what it prints."""
        with self.command(*arguments, **options) as process:
            try:
                out, errors = process.communicate(timeout=300)
            finally:
                process.kill()
        said = (out + errors).decode()
        assert process.returncode == status, said
        assert SECRET not in said
        assert "Traceback" not in said
        return said

    def put(self, path: str, data: bytes, **options: str) -> None:
        """Write an object, without the proxy."""
        self._direct.pipe_file(f"bucket/{path}", data, **options)

    def paths(self, prefix: str) -> list[str]:
        """Return the paths of all objects below a prefix, without the proxy."""
        self._direct.invalidate_cache()
        return [name.removeprefix(f"bucket/{prefix}").strip("/") for name in self._direct.find(f"bucket/{prefix}")]

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return all objects below a prefix, by path, without the proxy."""
        return {path: self._direct.cat_file(f"bucket/{prefix}/{path}".rstrip("/")) for path in self.paths(prefix)}


@contextmanager
def serving(faults: Faults) -> Iterator[Store]:
    """Serve S3 through a proxy that fails."""
    from moto.moto_api._internal.models import moto_api_backend
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    moto_api_backend.reset()  # what another server of this process had
    with proxy(port, faults) as failing:
        yield Store(port, failing, faults)
    server.stop()


def wet_files(folder: Path) -> None:
    """Write four WET files of three languages."""
    for number in range(4):
        records = [
            wet_record(number * 10 + place, "".join(f"{line} {number * 7 + each}\n" for each in range(20)))
            for place, line in enumerate(_LANGUAGES)
        ]
        wet_file(folder / f"{number}.warc.wet.gz", records)


def digests(files: dict[str, bytes]) -> dict[str, str]:
    return {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}


def listed(files: dict[str, bytes]) -> set[str]:
    """Return the paths that a corpus should have: those in its manifest, and the manifest."""
    return {*json.loads(files["MANIFEST.json"])["files"], "MANIFEST.json"}
