"""Tasks run in order of their tasks on every engine, and dead workers do not take the run down."""

from __future__ import annotations

import errno
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from support import Inline, corpus

from corpusfmt.engine.executors import Workers, default_jobs, executor_factory, stop
from corpusfmt.engine.processes import can_fork, open_pool
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import Died, run_tasks
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.publish import publish_bytes
from corpusfmt.io.temporary import locked
from corpusfmt.model import Incomplete, Json, UsageError


def double(number: int) -> int:
    return 2 * number


def slow_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0)
    return number


def die_on(fatal_and_number: tuple[int, int]) -> int:
    fatal, number = fatal_and_number
    if fatal == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(marker_and_number: tuple[Path, int]) -> int:
    marker, number = marker_and_number
    if number == 2 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def half_a_result(how_and_marker: tuple[signal.Signals, Path]) -> int:
    """Let a worker end, or stop, between the length of its first result and the result."""
    how, marker = how_and_marker

    def send(self: Connection, data: bytes) -> None:
        os.write(self.fileno(), struct.pack("!i", len(data)))
        marker.touch()
        os.kill(os.getpid(), how)

    if not marker.exists():
        pytest.MonkeyPatch().setattr(Connection, "_send_bytes", send)
    return 1


def fail_on_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def own_executor(jobs: int) -> Inline:
    assert jobs == 2
    return Inline()


@pytest.mark.parametrize("engine", ["serial", "processes", "py:unit.test_run:own_executor"])
def test_results_come_in_task_order(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    ended: list[tuple[int, object]] = []
    results = run_tasks(
        slow_first,
        range(9),
        executor_factory(engine, 2),
        window=3,
        finished=lambda index, result: ended.append((index, result)),
    )
    assert list(results) == list(range(9))
    assert sorted(ended) == [(number, number) for number in range(9)]


def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    tasks = [(tmp_path / "died", number) for number in range(6)]
    assert list(run_tasks(die_once, tasks, executor_factory("processes", 2), window=4)) == list(range(6))


def test_a_worker_that_dies_in_the_middle_of_a_result_costs_nothing(tmp_path: Path) -> None:
    task = signal.SIGKILL, tmp_path / "died"
    assert list(run_tasks(half_a_result, [task], executor_factory("processes", 2), window=4)) == [1]


def test_a_worker_that_is_stopped_in_the_middle_of_a_result_does_not_keep_a_run_alive(tmp_path: Path) -> None:
    marker = tmp_path / "stopped"
    pool = open_pool(2)
    pool.submit(half_a_result, (signal.SIGSTOP, marker))
    while not marker.exists():
        time.sleep(0.01)
    stopping = threading.Thread(target=stop, args=(pool,), daemon=True)
    stopping.start()
    stopping.join(30)
    assert not stopping.is_alive()


def test_a_task_that_always_kills_its_worker_is_told_alone() -> None:
    tasks = [(2, number) for number in range(6)]
    results = list(run_tasks(die_on, tasks, executor_factory("processes", 2), window=4))
    assert isinstance(results[2], Died)
    assert [result for result in results if not isinstance(result, Died)] == [0, 1, 3, 4, 5]


def exhaust_on(fatal_and_number: tuple[int, int]) -> int:
    fatal, number = fatal_and_number
    return len(bytearray(2**62)) if fatal == number else number


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_task_that_takes_more_memory_than_there_is_is_told(engine: str) -> None:
    tasks = [(2, number) for number in range(6)]
    results = list(run_tasks(exhaust_on, tasks, executor_factory(engine, 2), window=4))
    assert results == [0, 1, Died("not enough memory"), 3, 4, 5]


def test_an_executor_that_is_whole_serves_all_tasks() -> None:
    opened: list[Inline] = []

    def open_executor() -> Inline:
        opened.append(Inline())
        return opened[-1]

    assert list(run_tasks(double, range(9), open_executor, window=3)) == list(range(0, 18, 2))
    assert len(opened) == 1


class Breaking(Inline):
    """Takes so many tasks, and then no more."""

    def __init__(self, tasks: int) -> None:
        self.left = tasks

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if not self.left:
            raise BrokenExecutor
        self.left -= 1
        return super().submit(fn, *args, **kwargs)


def test_a_task_that_an_executor_does_not_take_is_given_to_the_next() -> None:
    assert list(run_tasks(double, range(9), lambda: Breaking(2), window=10)) == list(range(0, 18, 2))


def test_an_exception_of_a_task_is_raised() -> None:
    with pytest.raises(ValueError, match="three"):
        list(run_tasks(fail_on_three, range(6), executor_factory("processes", 2), window=4))


def fail_after_the_next(path: Path) -> None:
    """Raise as the second task at once, as the first one only after that."""
    second = path.with_name("second")
    if path == second:
        path.touch()
        raise ValueError("second")
    while not second.exists():
        time.sleep(0.001)
    raise ValueError("first")


def test_of_several_exceptions_that_of_the_first_task_is_raised(tmp_path: Path) -> None:
    tasks = [tmp_path / "first", tmp_path / "second", tmp_path / "second"]
    for window in (2, 4):
        with pytest.raises(ValueError, match="first"):
            list(run_tasks(fail_after_the_next, tasks, executor_factory("processes", 2), window=window))
        (tmp_path / "second").unlink()


def fail_second(path: Path) -> None:
    """Raise as the second task, and take a while as the first."""
    path.touch()
    if path.name == "1":
        raise ValueError("second")
    time.sleep(0.5)


def test_after_an_exception_nothing_more_is_begun(tmp_path: Path) -> None:
    tasks = (tmp_path / str(number) for number in range(9))
    with pytest.raises(ValueError, match="second"):
        list(run_tasks(fail_second, tasks, executor_factory("processes", 2), window=2))
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}


FORKING = """
import os, sys, threading, time
from corpusfmt.engine.executors import executor_factory

def work(seconds):
    time.sleep(seconds)
    return os.getpid(), os.getppid()

if __name__ == "__main__":
    if "thread" in sys.argv:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    executor = executor_factory("processes", 3)()
    asked = [executor.submit(work, 0.2) for _ in range(3)]
    print(os.getpid(), *sorted({number for each in asked for number in each.result()}), flush=True)
    if "stay" in sys.argv:
        executor.submit(work, 600).result()
    executor.shutdown()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are spawned there")
@pytest.mark.parametrize("threads", [False, True])
def test_only_a_process_of_one_thread_is_forked(tmp_path: Path, threads: bool) -> None:
    script = tmp_path / "forking.py"
    script.write_text(FORKING)
    command: list[str | Path] = [sys.executable, script, *(["thread"] if threads else [])]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    main, *others = map(int, done.stdout.split())
    assert (main in others) is not threads
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are spawned there")
def test_forked_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "forking.py"
    script.write_text(FORKING)
    with subprocess.Popen([sys.executable, script, "stay"], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline()
        run.kill()
        # They hold the pipe as well: it ends when the last of them has ended.
        assert run.communicate(timeout=60)[0] == b""


DEAF = """
import signal
from corpusfmt.engine.executors import executor_factory, stop

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    executor = executor_factory("processes", 1)()
    print([executor.submit(signal.getsignal, each).result().name for each in (signal.SIGTERM, signal.SIGINT)])
    stop(executor)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are spawned there")
def test_forked_workers_can_be_ended_whatever_their_parent_does_with_signals(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(DEAF)
    done = subprocess.run([sys.executable, script], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"['SIG_DFL', 'SIG_IGN']\n"


def hold(begun: Path, ended: Path) -> None:
    begun.touch()
    time.sleep(20)
    ended.touch()


def test_what_runs_when_an_executor_is_stopped_is_not_waited_for(tmp_path: Path) -> None:
    executor = open_pool(2)
    held = executor.submit(hold, tmp_path / "begun", tmp_path / "ended")
    while not (tmp_path / "begun").exists():
        assert not held.done()
    stop(executor)
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (
            "threads",
            "unknown engine 'threads'; known: serial, processes, dask[:ADDRESS], ray[:ADDRESS], py:MODULE:FACTORY",
        ),
        (
            "py:no_such_module:factory",
            "cannot open engine py:no_such_module:factory: No module named 'no_such_module'",
        ),
    ],
)
def test_unknown_engines_are_refused(engine: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        list(run_tasks(double, [1], executor_factory(engine, 2), window=1))
    assert str(raised.value) == said


def test_small_input_runs_serially() -> None:
    assert default_jobs(1_000_000, 100) == 1
    assert default_jobs(10_000_000_000, 1) == 1


def stages(folder: Path, engine: str = "serial") -> Stages:
    return Stages(folder, Workers(engine, 1), None)


def touch(path: Path) -> int:
    with path.open("ab") as file:
        file.write(b".")
    return path.stat().st_size


def note(log_and_name: tuple[Path, str]) -> str:
    log, name = log_and_name
    with log.open("a") as file:
        file.write(name)
    return name


def test_several_workers_begin_with_the_longest_task(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [StageTask(name, (log, name), "one") for name in "abcd"]
    for jobs, order in ((1, "abcd"), (2, "bdac")):
        log.write_text("")
        steps = Stages(tmp_path / str(jobs), Workers("serial", jobs), None)
        assert list(steps.run("note", note, tasks, str, [2, 4, 1, 3])) == list("abcd")
        assert log.read_text() == order


def test_a_stage_tells_how_far_it_is_and_what_each_task_gave(tmp_path: Path) -> None:
    shown: list[tuple[str, Progress]] = []
    events: list[tuple[str, Json]] = []
    tasks = [StageTask(name, tmp_path / name, "one") for name in "ab"]

    def run() -> None:
        steps = Stages(
            tmp_path / "state",
            Workers("serial", 1),
            lambda *step: shown.append(step),
            lambda *event: events.append(event),
        )
        steps.run("touch", touch, tasks, int, [3, 4])

    def told(task: str, result: int, resumed: bool) -> tuple[str, Json]:
        return "task-end", {"stage": "touch", "task": task, "resumed": resumed, "result": result}

    for results, resumed in (((1, 1), (False, False)), ((1, 2), (True, False))):
        run()
        assert shown == [("touch", each) for each in (Progress(0, 0, 0, 0), Progress(1, 2, 3, 7), Progress(2, 2, 7, 7))]
        assert events == [
            ("stage-start", {"stage": "touch"}),
            *map(told, "ab", results, resumed),
            ("stage-end", {"stage": "touch", "tasks": 2, "resumed": sum(resumed), "died": 0}),
        ]
        shown.clear()
        events.clear()
        (tmp_path / "state/touch/b.json").unlink()


def test_what_a_stage_has_left_of_other_tasks_is_removed(tmp_path: Path) -> None:
    for names, fingerprint in (("abc", "one"), ("ab", "one"), ("bc", "two")):
        tasks = [StageTask(name, tmp_path / name, fingerprint) for name in names]
        stages(tmp_path / "state").run("touch", touch, tasks, int, [1] * len(names))
        assert sorted(path.stem for path in (tmp_path / "state/touch").iterdir()) == list(names)
        (tmp_path / "state/touch/z.partial").touch()


def test_a_marker_spares_the_task_unless_its_fingerprint_changed(tmp_path: Path) -> None:
    tasks = [StageTask(name, tmp_path / name, "one") for name in ("a", "b")]
    assert list(stages(tmp_path / "state").run("touch", touch, tasks, int, [1, 1])) == [1, 1]
    assert list(stages(tmp_path / "state").run("touch", touch, tasks, int, [1, 1])) == [1, 1]
    tasks[1] = StageTask("b", tmp_path / "b", "two")
    assert list(stages(tmp_path / "state").run("touch", touch, tasks, int, [1, 1])) == [1, 2]
    (tmp_path / "state" / "touch" / "a.json").write_bytes(b'{"fingerprint": "one", "resu')
    assert list(stages(tmp_path / "state").run("touch", touch, tasks, int, [1, 1])) == [2, 2]


def test_a_stage_without_all_its_results_is_incomplete(tmp_path: Path) -> None:
    tasks = [StageTask(str(number), (1, number), "") for number in range(2)]
    with pytest.raises(Incomplete, match="resume"):
        stages(tmp_path, "processes").run("die", die_on, tasks, int, [1, 1])


def test_a_destination_belongs_to_one_run(tmp_path: Path) -> None:
    place = Workplace.at(tmp_path / "out", "me")
    with place.claimed(), pytest.raises(UsageError, match="another run is using"), place.claimed():
        pass
    with place.claimed():
        pass
    with pytest.raises(UsageError, match="unfinished run"), Workplace.at(tmp_path / "out", "another").claimed():
        pass
    with place.claimed():
        place.release()
    assert list((tmp_path / "out").iterdir()) == []
    for name, said in (
        ("file", "is not empty: remove it or choose another folder"),
        ("MANIFEST.json", "contains a finished corpus: remove it or choose another folder"),
    ):
        (tmp_path / "out" / name).touch()
        with pytest.raises(UsageError) as raised, place.claimed():
            pass
        assert str(raised.value) == f"{tmp_path / 'out'} {said}"
    with pytest.raises(UsageError, match="is a file"), Workplace.at(tmp_path / "out" / "file", "me").claimed():
        pass


@pytest.mark.parametrize(("holds", "left"), [((), []), (("file",), [".corpusfmt", "file"])])
def test_a_run_that_has_put_nothing_in_its_folder_can_give_it_up(
    holds: tuple[str, ...], left: list[str], tmp_path: Path
) -> None:
    place = Workplace.at(tmp_path / "out", "me")
    with place.claimed():
        for name in holds:
            (tmp_path / "out" / name).touch()
        place.give_up()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == left


def test_a_folder_knows_what_was_published_in_it_and_withdraws_it(tmp_path: Path) -> None:
    place = Workplace.at(tmp_path / "out", "me")
    with place.claimed():
        for task, path in (("one", "a/file"), ("two", "b/c/file"), ("two", "file")):
            publish_bytes(place.destination / path, b"x", aside=place.state / "aside" / task)
        assert set(place.published()) == {"a/file", "b/c/file", "file"}
    with place.claimed():
        assert list((place.state / "aside").iterdir()) == []
        assert set(place.published()) == {"a/file", "b/c/file", "file"}
        kept = FileFacts(1, "0" * 64)
        place.withdraw_others({"file": kept, "a/file": kept, "b/other": kept})
        assert corpus(tmp_path / "out") == {"a/file": b"x", "file": b"x"}
        assert not (tmp_path / "out" / "b").exists()


@pytest.mark.parametrize(
    ("said", "had"), [(errno.ENOLCK, None), (errno.EOPNOTSUPP, None), (errno.EWOULDBLOCK, False), (errno.EIO, False)]
)
@pytest.mark.skipif(sys.platform == "win32", reason="there are other locks")
def test_a_lock_where_the_file_system_has_none_is_neither_had_nor_refused(
    said: int, had: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int, __: int) -> None:
        raise OSError(said, os.strerror(said))

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / "lock") as mine:
        assert mine is had


def test_a_lock_on_a_file_that_was_removed_is_none(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path) as first:
        path.unlink()
        with locked(path) as second:
            assert (first, second) == (True, True)
            with locked(path) as third:
                assert not third


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_does_not_hold_the_lock(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from corpusfmt.io.temporary import locked\n"
        "with locked(Path(sys.argv[1])) as mine:\n"
        "    started, starts = os.pipe()\n"
        "    child = os.fork()\n"
        "    if child: os.read(started, 1); print(mine, child, flush=True); os._exit(0)\n"
        "    os.write(starts, b'.'); time.sleep(60)\n"
    )
    done = subprocess.Popen([sys.executable, "-c", code, tmp_path / "lock"], stdout=subprocess.PIPE)
    with done:
        assert done.stdout
        mine, child = done.stdout.readline().split()
        done.wait()
        try:
            with locked(tmp_path / "lock") as free:
                assert (mine, free) == (b"True", True)
        finally:
            os.kill(int(child), signal.SIGKILL)


IDLE = """
import os, signal, sys, time
from corpusfmt.engine.executors import Workers

if __name__ == "__main__":
    with Workers("processes", 2) as workers:
        executor = workers.take()
        print(sum(each.result() for each in [executor.submit(len, "ab") for _ in range(8)]))
        time.sleep(0.3)  # until one waits for the next task, and the other for its turn to wait for one
        os.kill(sorted(executor._processes)[int(sys.argv[1])], signal.SIGKILL)
        workers.release(executor)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("which", ["0", "1"])
def test_a_worker_killed_while_it_waits_holds_up_nobody(tmp_path: Path, which: str) -> None:
    script = tmp_path / "idle.py"
    script.write_text(IDLE)
    done = subprocess.run([sys.executable, script, which], capture_output=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"16\n", b"")


READY = """
import sys, threading
from corpusfmt.engine.executors import executor_factory, prepare, stop
from corpusfmt.formats import modules_of

def imported(name):
    return name in sys.modules

if __name__ == "__main__":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    prepare(None, 2, *modules_of(sys.argv[1]))
    executor = executor_factory("processes", 2)()
    print(executor.submit(imported, f"corpusfmt.formats.{sys.argv[1]}.check").result())
    stop(executor)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are spawned there")
@pytest.mark.parametrize("name", ["oscar", "dolma", "croissant"])
def test_workers_of_the_fork_server_have_their_format_at_hand(tmp_path: Path, name: str) -> None:
    script = tmp_path / "ready.py"
    script.write_text(READY)
    done = subprocess.run([sys.executable, script, name], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"True\n", b"")


ENDING = """
import os, signal
from concurrent.futures import BrokenExecutor
from corpusfmt.engine.executors import executor_factory
from corpusfmt.io.paths import is_hidden
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: None)
    with executor_factory("processes", 1)() as executor:
        pid = executor.submit(os.getpid).result()
        os.kill(pid, signal.SIGTERM)
        try:
            executor.submit(is_hidden, "a").result(20)
        except BrokenExecutor:
            print("ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_does_not_take_over_what_its_parent_does_with_signals(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text(ENDING, "utf-8")
    done = subprocess.run([sys.executable, tmp_path / "ending.py"], capture_output=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == (b"ended\n", b"")


def test_a_run_may_open_as_many_files_as_the_system_allows() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        executor_factory("serial", 1)
        most = 1 << 16 if hard == resource.RLIM_INFINITY else min(hard, 1 << 16)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(sys.platform != "linux", reason="workers have a fork server")
def test_a_fork_server_that_is_killed_is_replaced() -> None:
    """It starts workers where this process cannot be forked, because it has threads."""
    from multiprocessing import forkserver

    opened: list[Executor] = []

    def open_executor() -> Executor:
        opened.append(open_pool(2))
        server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
        if len(opened) == 1:  # killed while it is asked for a worker
            os.kill(server, signal.SIGSTOP)
            threading.Timer(1, os.kill, [server, signal.SIGKILL]).start()
        return opened[-1]

    ends = threading.Event()
    threading.Thread(target=ends.wait).start()
    try:
        assert not can_fork()
        assert list(run_tasks(double, range(4), open_executor, window=4)) == [0, 2, 4, 6]
        assert len(opened) == 2
    finally:
        ends.set()
