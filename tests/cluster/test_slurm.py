"""A real Slurm on loopback: an array of four shards, one of which is killed and requeued, gives the bytes of one run, and
one that validates gives its report.

`make cluster-test` runs it, where Slurm is installed; it needs root.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from documentation.sessions import code_for, rewritten
from support import FIXTURES, LONG_LINE, run_cli, tree, wet_file, wet_record

import corpusfmt

pytestmark = pytest.mark.skipif("CORPUSFMT_SLURM" not in os.environ, reason="needs Slurm: run `make cluster-test`")

# Bounds of waits: only a Slurm that does not work at all takes as long.
_START_SECONDS, _RUN_SECONDS, _STOP_SECONDS = 60, 600, 30

CONF = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
AuthInfo=cred_expire=30
MessageTimeout=30
CredType=cred/none
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/d
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d.log
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""

# A job, its submission, what it prints, another job and its submission.
JOB, SUBMIT, PRINTED, VALIDATION, SUBMIT_VALIDATION = code_for("tests/cluster/test_slurm.py")["docs/how-to/cluster.md"]

# The second task is killed when it has read one file, and is about to note that of another. The others begin then.
COMMAND = """\
#!/bin/sh
if [ "$SLURM_ARRAY_TASK_ID" = 2 ] && [ ! -e killed ]; then
  {python} -c 'import runpy, dying; dying.armed("corpusfmt.engine.stages", "publish_bytes", "2"); runpy.run_module("corpusfmt", None, "__main__", True)' "$@"
  status=$?
  touch killed
  exit $status
fi
while [ ! -e killed ]; do sleep 0.2; done
exec {python} -m corpusfmt "$@"
"""


class Slurm:
    """A cluster of one node, whose jobs run in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.environment["PATH"] = f"{folder}:{os.environ['PATH']}:/usr/sbin"
        self.environment["PYTHONPATH"] = str(Path(__file__).parents[1] / "pipeline")

    def run(self, *command: str) -> str | None:
        """Return what a command of Slurm's says; None if it fails, as all do while the controller does not answer."""
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=self.environment, capture_output=True, check=True, timeout=_START_SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return done.stdout.decode().strip()

    def await_(self, said: str, *command: str, seconds: int) -> bool:
        """Wait until a command says something; return whether it did in time."""
        ends = time.monotonic() + seconds
        while self.run(*command) != said:
            if time.monotonic() > ends:
                return False
            time.sleep(0.2)
        return True

    def logs(self) -> str:
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("slurm-*.out")])
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in files)


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (one, other)]
    found = Slurm(tmp_path)
    for name in ("ctld", "d"):
        (tmp_path / name).mkdir()
    host = socket.gethostname().partition(".")[0]
    (tmp_path / "slurm.conf").write_text(CONF.format(host=host, ports=ports, folder=tmp_path))
    daemons = [
        subprocess.Popen(command, env=found.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", host])
    ]
    try:
        if not found.await_("idle", "sinfo", "--noheader", "--format=%T", seconds=_START_SECONDS):
            pytest.skip(f"Slurm does not start here: {found.logs()[-500:]}")
        yield found
    finally:
        found.run("scancel", "--user=root")
        found.await_("", "squeue", "--noheader", seconds=_STOP_SECONDS)
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def test_an_array_with_a_killed_task_gives_the_bytes_of_one_run(slurm: Slurm) -> None:
    folder = slurm.folder
    for number in range(12):
        text = "".join(f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(20))
        wet_file(folder / "wet" / f"{number}.warc.wet.gz", [wet_record(number, text)])
    for name, text in (("build.sh", JOB), ("corpusfmt", COMMAND.format(python=sys.executable))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    assert slurm.run("bash", "-euc", SUBMIT) is not None, slurm.logs()
    assert slurm.await_("", "squeue", "--noheader", seconds=_RUN_SECONDS), slurm.logs()
    for path in folder.glob("slurm-1_*.out"):
        # Slurm notes there that it requeues a task, if it comes before the task has ended.
        path.write_text(re.sub(r"^slurmstepd.*JOB REQUEUE.*\n", "", path.read_text(), flags=re.MULTILINE))
    said = {path.name: path.read_text() for path in sorted(folder.glob("slurm-1_*.out"))}
    sys.stdout.write("\n".join(f"$ cat {name}\n{text}" for name, text in said.items()))
    assert [text.count("Killed") for text in said.values()] == [0, 1, 0, 0], slurm.logs()
    for number, text in enumerate(said.values(), 1):
        assert text.endswith(
            f"shard {number}/4: 3 tasks done; once all shards have ended, run the same command with --finish instead of --shard\n"
        )
    page = f"```\n{PRINTED}```\n"
    assert rewritten(page, folder, slurm.environment) == page
    corpusfmt.build(folder / "wet", folder / "alone")
    assert tree(folder / "corpus") == tree(folder / "alone")


def test_an_array_that_validates_gives_the_report_of_one_run(slurm: Slurm) -> None:
    folder = slurm.folder
    shutil.copytree(FIXTURES / "dolma/1.0/invalid/id-twice-in-two-files-gz/input", folder / "corpus")
    for name, text in (
        ("validate.sh", VALIDATION),
        ("corpusfmt", f'#!/bin/sh\nexec {sys.executable} -m corpusfmt "$@"\n'),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    assert slurm.run("bash", "-euc", SUBMIT_VALIDATION) is not None, slurm.logs()
    assert slurm.await_("", "squeue", "--noheader", seconds=_RUN_SECONDS), slurm.logs()
    alone = run_cli("validate", "corpus", "--report", "json=alone.json", cwd=folder)
    assert (folder / "slurm-2.out").read_bytes() == alone.stdout, slurm.logs()
    found, expected = (json.loads((folder / f"{name}.json").read_bytes()) for name in ("report", "alone"))
    assert found | dict.fromkeys(("started", "finished")) == expected | dict.fromkeys(("started", "finished"))
