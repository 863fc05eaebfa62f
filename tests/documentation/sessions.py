"""Run the code of a page: `python -m documentation.sessions PAGE...` also writes what the commands print into it.

A page is a session in a folder of its own. Its blocks run in their order:

- a block that begins with `$ ` is run by a shell, and what it prints is compared; a line `…` stands for any lines;
- `sh` must succeed, `python` must not raise, `toml`, `json` and `yaml` must be read.

A comment before a block says more: `<!-- file: NAME -->` writes the block to a file; `<!-- output -->` compares it with what the
`python` before it printed; `<!-- continues -->` runs `python` after the one before it; `<!-- one command -->` says that further lines with `$ ` are output; `<!-- not run: REASON -->` leaves it
out, as does `<!-- tests/… runs this … -->`, and then it is only `checked`. `<!-- script -->` before the
settings of a CI host runs the scripts in it that begin with `corpusfmt`. `<!-- setup: COMMANDS -->` runs commands that readers do not see. `$REPOSITORY` is this
repository, `$OSCAR` and `$DOLMA` are corpora of its sample.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import yaml
from documentation.commands import faults
from support import REPOSITORY

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").rglob("*.md")]
    if path.name != "rules.md"
)
_PART = re.compile(
    r"^ *<!-- *(?P<comment>.*?) *-->$|^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_SKIPPED = re.compile(r"not run: \S|\S+\.py runs this")
_PARSERS: dict[str, Callable[[str], object]] = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}


class Wrong(AssertionError):
    """A block that does not do what its page says."""


def blocks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the blocks and the setups of a page, each with the comment before it."""
    comment = ""
    for part in _PART.finditer(text):
        if part["comment"] is None or part["comment"].startswith("setup:"):
            yield part, comment
            comment = ""
        else:
            comment = part["comment"]


def way_of(block: re.Match[str], comment: str) -> str:
    """Return how a block is tested; empty if it is not."""
    if block["comment"] is not None:
        return "setup"
    if _SKIPPED.match(comment):
        return "skipped"
    if block["code"].lstrip().startswith("$ "):
        return "console"
    return comment if comment in {"output", "script"} else block["language"]


def parsed(block: re.Match[str]) -> None:
    """Read a block of data. Raises `Wrong` if it cannot be read; JSON may be members of an object."""
    code = block["code"]
    try:
        _PARSERS[block["language"]](f"{{{code}}}" if block["language"] == "json" and code.lstrip()[0] == '"' else code)
    except (ValueError, yaml.YAMLError) as error:
        raise Wrong(f"{error} in\n{code}") from error


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
    """Check what can be known of a block that is not run: syntax, and the names of commands and options. Raises `Wrong`."""
    code, language = block["code"], block["language"]
    if language == "python":
        compile(code, "block", "exec", dont_inherit=True)
    elif language == "yaml":
        list(yaml.safe_load_all(code))
    elif language in _PARSERS:
        parsed(block)
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


def rewritten(text: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a page in a folder, and return it with what its commands print now. Raises `Wrong` for one that fails."""
    made, end, printed, code = [], 0, "", ""

    def run(*command: str, checked: bool = True) -> str:
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as done:
            try:
                output = done.communicate(timeout=120)[0].decode()
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(done.pid, signal.SIGKILL)  # what a command left running
        if checked and done.returncode:
            raise Wrong(f"{command[-1]}\nexit status {done.returncode}\n{output}")
        return output

    def shell(command: str, *, checked: bool) -> str:
        return run("bash", "-euc" if checked else "-uc", command, checked=checked)

    for block, comment in blocks(text):
        way = way_of(block, comment)
        if comment.startswith("file: "):
            (folder / comment.removeprefix("file: ")).write_text(block["code"], "utf-8")
        if way == "setup":
            shell(block["comment"].removeprefix("setup:"), checked=True)
        elif way == "sh":
            shell(block["code"], checked=True)
        elif way == "python":
            code = f"{code}\n{block['code']}" if comment == "continues" else block["code"]
            printed = run("python", "-c", code)
        elif way == "script":
            for command in scripts(block):
                shell(command, checked=True)
        elif way in _PARSERS:
            parsed(block)
        elif way in {"console", "output"}:
            now = printed if way == "output" else "".join(_session(_commands(block, comment), shell))
            made += [text[end : block.start("code")], now]
            end = block.end("code")
    return "".join([*made, text[end:]])


def _commands(block: re.Match[str], comment: str) -> list[str]:
    """Return the commands of a block, each with its output."""
    return [block["code"]] if comment == "one command" else re.split(r"^(?=\$ )", block["code"], flags=re.MULTILINE)[1:]


def _session(parts: Iterable[str], shell: Callable[..., str]) -> Iterator[str]:
    """Yield commands, each with what it prints; as it was, where that stands for the same."""
    for part in parts:
        command = re.match(r"\$ (?:.*\\\n)*.*\n", part)
        assert command is not None
        before = part[command.end() :]
        text = before.rstrip("\n")
        now = shell(command[0][2:], checked=False).rstrip("\n")
        shown = "\n".join(r"(?:.*\n)*.*" if line == "…" else re.escape(line) for line in text.split("\n"))
        ending = before[len(text) :] or "\n"
        yield command[0] + (before if re.fullmatch(shown, now) else now + ending if now else ending[1:])


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
