"""What can be checked of commands that are run elsewhere: their syntax, and that their options, targets and files exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache

from support import REPOSITORY
from website.commands import commands

_ENDS = {"&&", "||", "|", ";", "&", "(", ")", ">", ">>", "<", "$(", "2>"}
_VARIABLE = re.compile(r"\w+=\S*")


def faults(script: str) -> Iterator[str]:
    """Yield what is wrong with a script for the shell."""
    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    if done.returncode:
        yield done.stderr.decode()
    for line in script.replace("\\\n", " ").split("\n"):
        yield from faults_in_line(line)


def faults_in_line(line: str) -> Iterator[str]:
    """Yield the names in a line that do not exist: commands and options of ours, targets, files of the repository."""
    for words in _commands(line):
        for word in words:
            if word.startswith("--wrap="):
                yield from faults_in_line(word.removeprefix("--wrap="))
        if words[0] == "corpusfmt":
            yield from _unknown_to_us(words[1:])
        elif words[0] == "make":
            targets = (each for each in words[1:] if "=" not in each and not each.startswith("-"))
            yield from (f"make has no target {each}" for each in targets if each not in _targets())
        elif words[0] in {"python", "pytest"} and len(words) > 1:
            yield from _unknown_to_a_program(words[1:])


def _commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _ENDS:
            if words or not _VARIABLE.fullmatch(word):
                words.append(word)
        elif words:
            yield words
            words = []


def _unknown_to_us(words: list[str]) -> Iterator[str]:
    known = commands()
    name = next((each for each in (" ".join(words[:2]), " ".join(words[:1])) if each in known), None)
    if name is None:
        if words and not words[0].startswith("-") and not any(each.startswith(f"{words[0]} ") for each in known):
            yield f"corpusfmt has no command {words[0]}"
        return
    parameters = [*known[name].params, *known[name].shared_options()]
    options = {"--help", *(option for each in parameters for option in (*each.opts, *each.secondary_opts))}
    for word in words:
        if word == "--":
            return
        if re.match(r"--?[a-zA-Z]", word) and word.partition("=")[0] not in options:
            yield f"corpusfmt {name} has no option {word}"


@cache
def _targets() -> set[str]:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    kernels = {f"fuzz-native-{path.parent.name}" for path in (REPOSITORY / "tests").glob("*/fuzz_native.cpp")}
    return {
        target for line in re.findall(r"^([a-z][\w -]*):", makefile, re.MULTILINE) for target in line.split()
    } | kernels


def _unknown_to_a_program(words: list[str]) -> Iterator[str]:
    module = f"tests/{words[1].replace('.', '/')}.py" if words[0] == "-m" else ""
    path = module or next((each for each in words if re.fullmatch(r"(?:benchmarks|tests|docs)/\S+\.py", each)), "")
    if not path:
        return
    if not (REPOSITORY / path).is_file():
        yield f"{path} does not exist"
        return
    text = (REPOSITORY / path).read_text("utf-8")
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("--") and f'"{option}"' not in text:
            yield f"{path} has no option {option}"
