"""Run the code of a page: `python -m documentation.sessions PAGE...` also writes what the commands print into it.

A page is a session in a folder of its own. Its blocks run in their order:

- a block that begins with `$ ` is run by a shell, and what it prints is compared; a line `…` stands for any lines;
- `sh` must succeed, `python` must not raise.

Comments before a block say more:

- `<!-- setup: COMMANDS -->` runs commands that readers do not see; `$REPOSITORY` is this repository, `$OSCAR` and `$DOLMA` are corpora
  of its sample.
- `<!-- file: NAME -->` writes the block to a file that later commands read, `<!-- output -->` compares it with what the `python` before it printed,
  `<!-- continues -->` runs `python` after the one before it, `<!-- one command -->` says that further lines with `$ ` are output, and
  `<!-- script -->` before the settings of a CI host or a container runs the scripts in it that begin with `corpusfmt`.
- `<!-- with: OLD => NEW; … -->` replaces names and sizes before the block runs, and puts them back into what is printed.
- `<!-- make TARGET runs this -->` says what is needed: only that target runs the block, together with the rest of its page.
- `<!-- tests/….py runs this -->` names the test that runs the block in its own way, and `<!-- .ci/run makes this -->` says that its targets
  are made there. Such blocks are `checked`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

import yaml
from documentation.commands import faults
from msgspec import Struct
from support import REPOSITORY

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "tests/fixtures/README.md")),
        *(REPOSITORY / "docs").rglob("*.md"),
    ]
    if path.name != "rules.md"
)
_PART = re.compile(
    r"^ *<!-- *(?P<comment>.*?) *-->$|^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_TESTED = re.compile(r"(tests/\S+\.py) runs this\b")
_TARGET = re.compile(r"make (\S+) runs this")
_MADE = ".ci/run makes this"


# What a run that takes longer than half a minute prints meanwhile.
_HEARTBEAT = re.compile(r"^[a-z]+: [\d,]+ of [\d,]+, \d+ %, .*\n", re.MULTILINE)
_SECONDS = 300  # bounds a command: only one that hangs takes as long


class Wrong(AssertionError):
    """A block that does not do what its page says."""


class Marks(Struct, frozen=True):
    """What the comments before a block say."""

    comments: Sequence[str] = ()

    def __contains__(self, comment: str) -> bool:
        return comment in self.comments

    def value(self, name: str) -> str:
        """Return what follows `NAME:` in a comment, or nothing."""
        return next((each.partition(":")[2].strip() for each in self.comments if each.startswith(f"{name}:")), "")

    def _matching(self, pattern: re.Pattern[str]) -> str:
        return next((found[1] for each in self.comments if (found := pattern.match(each))), "")

    @property
    def target(self) -> str:
        """The target that runs the block; empty for the session of each page."""
        return self._matching(_TARGET)

    @property
    def test(self) -> str:
        """The test that runs the block in its own way."""
        return self._matching(_TESTED)

    def replacements(self, environment: dict[str, str]) -> list[tuple[str, str]]:
        pairs = [each.split(" => ") for each in self.value("with").split("; ") if each]
        return [(old, Template(new).safe_substitute(environment)) for old, new in pairs]


def blocks(text: str) -> Iterator[tuple[re.Match[str], Marks]]:
    """Yield the blocks and the setups of a page, each with the comments before it."""
    comments: list[str] = []
    for part in _PART.finditer(text):
        if part["comment"] is None or part["comment"].startswith("setup:"):
            yield part, Marks(tuple(comments))
            comments = []
        else:
            comments.append(part["comment"])


def way_of(block: re.Match[str], marks: Marks) -> str:
    """Return how a block is tested; empty if it is not."""
    if block["comment"] is not None:
        return "setup"
    if marks.test:
        return "tested"
    if _MADE in marks:
        return "made"
    if block["code"].lstrip().startswith("$ "):
        return "console"
    if marks.value("file"):
        return "file"
    return next((each for each in ("output", "script") if each in marks), block["language"])


def pages_of(target: str) -> list[str]:
    """Return the pages with a block that only this target runs."""
    return [
        name
        for name in PAGES
        if any(marks.target == target for _, marks in blocks((REPOSITORY / name).read_text("utf-8")))
    ]


def code_for(test: str) -> dict[str, list[str]]:
    """Return the blocks, by page, that a test runs in its own way."""
    found: dict[str, list[str]] = {}
    for name in PAGES:
        for block, marks in blocks((REPOSITORY / name).read_text("utf-8")):
            if marks.test == test:
                found.setdefault(name, []).append(block["code"])
    return found


def unmade(block: re.Match[str]) -> list[str]:
    """Return the commands of a block that `.ci/run` does not run as targets; one begins with a group of targets."""
    run = re.findall(r"^(?: *|part )make ([^>|&\n]+)", (REPOSITORY / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    made = tuple(word for targets in run for word in targets.split() if re.fullmatch(r"[a-z][a-z-]*", word))
    commands = [line.partition("#")[0].split() for line in block["code"].splitlines()]
    return [
        " ".join(each)
        for each in commands
        if each[:1] != ["make"] or not all("=" in word or word.startswith(made) for word in each[1:])
    ]


def scripts(block: re.Match[str]) -> Iterator[str]:
    """Yield the scripts in the settings of a CI host that run `corpusfmt`, without the environment of the host."""
    strings = (
        re.findall(r"\bsh '(.*)'", block["code"])
        if block["language"] == "groovy"
        else _strings(yaml.safe_load(block["code"]))
    )
    found = [
        each.replace("venv/bin/", "") for each in strings if re.search(r"^(?:venv/bin/)?corpusfmt ", each, re.MULTILINE)
    ]
    if not found:
        raise Wrong(f"no script runs corpusfmt in\n{block['code']}")
    yield from found


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def checked(block: re.Match[str]) -> None:
    """Check what can be known of a block that is run elsewhere: syntax, and the names of commands and options. Raises `Wrong`."""
    code, language = block["code"], block["language"]
    if language == "python":
        compile(code, "block", "exec", dont_inherit=True)
    elif language == "yaml":
        list(yaml.safe_load_all(code))
    elif language == "toml":
        tomllib.loads(code)
    elif language == "lua":
        # Debian: lua5.4. Elsewhere this is the one language that is not checked.
        if parser := shutil.which("luac5.4") or shutil.which("luac"):
            done = subprocess.run([parser, "-p", "-"], input=code.encode(), capture_output=True, check=False)
            if done.returncode:
                raise Wrong(f"{done.stderr.decode()} in\n{code}")
    elif language == "sh" or code.startswith("$ "):
        script = code if language == "sh" else "".join(re.findall(r"^\$ ((?:.*\\\n)*.*\n)", code, re.MULTILINE))
        if wrong := list(faults(script)):
            raise Wrong(f"{'; '.join(wrong)} in\n{code}")


def rewritten(text: str, folder: Path, environment: dict[str, str], target: str = "") -> str:
    """Run a page in a folder, with the blocks of a target, and return it with what its commands print now. Raises `Wrong`."""
    made, end, printed, code = [], 0, "", ""
    here = folder  # until a block changes it

    def run(*command: str, checked: bool = True, warnings: bool = True) -> str:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            # Not pipes, which what a command left running would keep open.
            both = output if warnings else errors
            done = subprocess.Popen(
                command,
                cwd=here,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=both,
                start_new_session=True,
            )
            try:
                done.wait(_SECONDS)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(done.pid, signal.SIGKILL)
                done.wait()
            for each in (output, errors):
                each.seek(0)
            said = _HEARTBEAT.sub("", output.read().decode())
            if checked and done.returncode:
                raise Wrong(f"{command[-1]}\nexit status {done.returncode}\n{said}{errors.read().decode()}")
        return said

    def shell(command: str, *, checked: bool = True) -> str:
        nonlocal here
        with tempfile.NamedTemporaryFile() as left_in:
            ending = f"trap 'pwd > {left_in.name}' EXIT\n"
            printed = run("bash", "-euc" if checked else "-uc", ending + command, checked=checked)
            here = Path(left_in.read().decode().strip() or here)
        return printed

    for block, marks in blocks(text):
        way = way_of(block, marks)
        if marks.target not in {"", target}:
            continue
        changed = marks.replacements(environment)
        if name := marks.value("file"):
            (here / name).write_text(block["code"], "utf-8")
        if way == "setup":
            shell(block["comment"].removeprefix("setup:"))
        elif way == "sh":
            shell(_replaced(block["code"], changed))
        elif way == "python":
            code = f"{code}\n{block['code']}" if "continues" in marks else block["code"]
            printed = run("python", "-c", _replaced(code, changed), warnings=False)
        elif way == "script":
            for command in scripts(block):
                shell(_replaced(command, changed))
        elif way in {"console", "output"}:
            now = printed if way == "output" else "".join(_session(_commands(block, marks), shell, changed))
            made += [text[end : block.start("code")], now]
            end = block.end("code")
    return "".join([*made, text[end:]])


def _replaced(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _commands(block: re.Match[str], marks: Marks) -> list[str]:
    """Return the commands of a block, each with its output."""
    return [block["code"]] if "one command" in marks else re.split(r"^(?=\$ )", block["code"], flags=re.MULTILINE)[1:]


def _session(parts: Iterable[str], shell: Callable[..., str], changed: list[tuple[str, str]]) -> Iterator[str]:
    """Yield commands, each with what it prints; as it was, where that stands for the same."""
    back = [(new, old) for old, new in changed if new]
    for part in parts:
        command = re.match(r"\$ (?:.*\\\n)*.*\n", part)
        assert command is not None
        before = part[command.end() :]
        text = before.rstrip("\n")
        now = _replaced(shell(_replaced(command[0][2:], changed), checked=False), back).rstrip("\n")
        ending = before[len(text) :] or "\n"
        yield command[0] + (before if re.fullmatch(pattern_of(text), now) else now + ending if now else ending[1:])


def pattern_of(text: str) -> str:
    """Return an expression for what a page shows, in which a line `…` stands for any lines."""
    return "\n".join(r"(?:.*\n)*.*" if line == "…" else re.escape(line) for line in text.split("\n"))


def environment_in(folder: Path, corpora: Path, programs: Path = Path(sys.executable).parent) -> dict[str, str]:
    """Return the variables of a session: the commands of this environment, or those in another folder, come first."""
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
        "REPOSITORY": str(REPOSITORY),
        "OSCAR": str(corpora / "oscar"),
        "DOLMA": str(corpora / "dolma"),
    }


def make_corpora(folder: Path) -> None:
    """Build the sample and convert it, for all pages."""
    corpusfmt = [sys.executable, "-m", "corpusfmt"]
    sample = str(REPOSITORY / "pipeline" / "sample")
    for command in (["build", sample, "-o", "oscar"], ["convert", "oscar", "dolma", "--to", "dolma"]):
        subprocess.run([*corpusfmt, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        make_corpora(Path(made))
        for name in names:
            page = REPOSITORY / name
            with tempfile.TemporaryDirectory() as folder:
                text = rewritten(page.read_text("utf-8"), Path(folder), environment_in(Path(folder), Path(made)))
            page.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
