"""Wrong or unusual usage, answered in one line that says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from support import LONG_LINE, SAMPLE, gzipped, run_cli, wet_file, wet_record

from corpusfmt.engine.config import load_config
from corpusfmt.model import UsageError

LONG = "x" * 900_000
_CUT = r"x{87} … \[900,000 characters\] … x{87}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            f'profile = "{LONG}"',
            f"unknown profile '{_CUT}'; known: standard, blind, common-crawl, hub, letter, mlcroissant, neurips-2026, strict, or the path of a file `NAME.toml`",
        ),
        (f'fail-on = "{LONG}"', f"configuration: fail-on is '{_CUT}', expected one of error, warning, never"),
        (f'select = ["{LONG}"]', f"unknown rule '{_CUT}'; `corpusfmt rule` lists codes and slugs"),
        (f'describe.date-published = "{LONG}"', ".{,2000}"),
        (f"{LONG} = 1", ".{,2000}"),
    ],
)
def test_a_long_setting_is_not_repeated_whole(settings: str, message: str, tmp_path: Path) -> None:
    config = tmp_path / "corpusfmt.toml"
    config.write_text(settings, "utf-8")
    done = run_cli("validate", tmp_path, "--config", config)
    assert done.returncode == 2
    assert re.fullmatch(f"error: {message}\n", done.stderr.decode())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (b"\nprofil = 'strict'", "configuration {}: unknown field `profil`"),
        (b"limit.timeout = 'long'", "configuration {}: `limit.timeout` is a text, expected a number"),
        (b"select = ['\xff']", "configuration {}: 'utf-8' codec can't decode byte 0xff in position 11"),
        (b"\n" + b".".join([b"a"] * 16) + b" = 1", "configuration {}: unknown field `a`"),
        (
            b"\n" + b".".join([b"a"] * 17) + b" = 1",
            "configuration {}: the key on line 2 has more than 16 parts, more than any setting",
        ),
        (
            b'[[rule]]\nrules = ["DOL313"]\nseverity = "fatal"\nreason = "known"',
            "configuration: unknown severity 'fatal'; known: ignore, error, warning, info",
        ),
        (
            b'[[rule]]\nrules = ["DOL313", "GEN2"]\nseverity = "error"\nreason = " "',
            "configuration: the entry for DOL313, GEN2 needs a `reason`",
        ),
    ],
)
def test_settings_that_cannot_be_are_told_with_what_is_wrong(settings: bytes, said: str, tmp_path: Path) -> None:
    config = tmp_path / "corpusfmt.toml"
    config.write_bytes(settings)
    with pytest.raises(UsageError) as raised:
        assert load_config(config).overrides
    assert str(raised.value).startswith(said.format(config))


def test_a_long_argument_is_not_repeated_whole(tmp_path: Path) -> None:
    done = run_cli("validate", tmp_path, "--limit", f"expansion={LONG[:100_000]}")
    assert done.returncode == 2
    assert len(done.stderr) < 3_000


def test_one_of_anything_is_told_as_one(tmp_path: Path) -> None:
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    built = run_cli("build", tmp_path / "a.warc.wet.gz", "-o", tmp_path / "o").stdout.decode()
    assert built.startswith(f"1 of 1 WET file -> {tmp_path / 'o'}\n  1 document, 1 line, ")
    assert " of text\n  1 language\n" in built
    converted = run_cli("convert", tmp_path / "o", tmp_path / "d", "--to", "dolma").stdout.decode()
    assert converted == f"1 shard -> {tmp_path / 'd'}: 1 document in 1 file\n"


@pytest.mark.parametrize("option", ["-o", "--output"])
@pytest.mark.parametrize("output_format", ["full", "html", "sarif"])
def test_a_saved_report_is_rendered_into_a_file(option: str, output_format: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzipped(b'{"id": "1", "text": "x"}\n'))
    run_cli("validate", tmp_path / "a.jsonl.gz", "--report", f"json={tmp_path / 'run.json'}")
    arguments = ("report", "render", tmp_path / "run.json", "--output-format", output_format)
    shown = run_cli(*arguments)
    done = run_cli(*arguments, option, tmp_path / "shown")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "shown").read_bytes() == shown.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_how_far_a_run_is(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x", "source": "s"}\n')
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "corpusfmt", "validate", "a.jsonl", "--output-format", "concise"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=end) as run:
        os.close(end)
        shown = b""
        with suppress(OSError):  # how Linux says that nobody writes to it any more
            while piece := os.read(terminal, 65536):
                shown += piece
        os.close(terminal)
        assert run.stdout is not None
        assert run.stdout.read() == b"VALID: 0 errors, 0 warnings\n"
    assert run.returncode == 0
    assert b"validating 1 of 1" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("term", "links"), [("xterm-256color", 3), ("dumb", 0), ("linux", 0)])
def test_a_terminal_gets_codes_as_links_and_a_file_does_not(term: str, links: int, tmp_path: Path) -> None:
    (tmp_path / "\x1b]8;;\x07 a.jsonl").write_bytes(b'{"id": "1", "text": "caf\xe9", "source": "s"}\n')
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "corpusfmt", "validate", ".", "--format", "jsonl", "--report", "full=report.txt"]
    environment = {**os.environ, "TERM": term, "NO_COLOR": "1", "COLUMNS": "400"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=end, stderr=subprocess.DEVNULL) as run:
        os.close(end)
        shown = b""
        with suppress(OSError):
            while piece := os.read(terminal, 65536):
                shown += piece
        os.close(terminal)
    assert run.returncode == 1
    link = rb"\x1b]8;;https://corpusfmt\.github\.io/latest/rules/(\w+)/\x1b\\(\1)\x1b]8;;\x1b\\"
    assert len(re.findall(link, shown)) == links
    bare = re.sub(link, rb"\2", shown).replace(b"\r\n", b"\n")
    assert b"\x1b" not in bare, "nothing of the file's name is an escape"
    assert bare == (tmp_path / "report.txt").read_bytes()


WITHOUT_MODEL = """
from corpusfmt.langid import _model_file
_model_file.find_spec = lambda _: None  # as where the package is not installed
from corpusfmt.cli import main
main()
"""


def test_a_recipe_that_there_is_not_is_told_before_a_missing_model(tmp_path: Path) -> None:
    def build(*arguments: str) -> str:
        command = [sys.executable, "-c", WITHOUT_MODEL, "build", str(SAMPLE), "-o", str(tmp_path / "out"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        return done.stderr

    assert build("--recipe", "nope").startswith("error: unknown recipe 'nope'; known: ")
    assert build() == (
        "error: no language identification model: run `pip install 'corpusfmt[build]'`, which contains lid.176.ftz, "
        "or name a model\n"
    )


@pytest.mark.parametrize("name", ["full", "concise", "grouped", "json", "jsonl"])
def test_text_is_for_the_terminal_and_everything_else_utf_8(name: str, tmp_path: Path) -> None:
    path = tmp_path / "café.jsonl"
    path.write_bytes(b"{}\n")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = run_cli("validate", path, "--format", "dolma", "--output-format", name, env=environment)
    assert "café.jsonl" in done.stdout.decode("utf-8" if name.startswith("json") else "latin-1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["validat", "."], "error: no such command 'validat' (did you mean `validate`?)"),
        (["check", "."], "error: no such command 'check' (did you mean `validate`?)"),
        (["explain", "OSC201"], "error: no such command 'explain' (did you mean `rule`?)"),
        (["validate", ".", "--json"], "error: no such option: --json (did you mean `--output-format json`?)"),
        (["convert", "a", "b", "--json"], "error: no such option: --json\n"),
        (["report", "check", "."], "error: no such command 'check'\n"),
        (["validate", ".", "--profil", "strict"], "error: no such option: --profil (did you mean `--profile`?)"),
        (
            ["convert", "a", "b", "--prefer", "x"],
            "error: no such option: --prefer (did you mean `--prefer-attributes`?)",
        ),
        (["validate", ".", "--output", "github"], "error: --output names a file: write --output-format github"),
        (["validate", ".", "--ignore", "osc201"], "error: unknown rule 'osc201' (did you mean `OSC201`?); "),
        (["--versoin"], "error: no such option: --versoin (did you mean `--version`?)"),
        (["validate", ".", "--profile", "strickt"], "error: unknown profile 'strickt' (did you mean `strict`?); "),
        (["validate", ".", "--format", "osca"], "error: unknown format 'osca' (did you mean `oscar`?); "),
        (["rule", "short-sentnce"], "error: unknown rule 'short-sentnce' (did you mean `short-sentence`?); "),
        (["rule", "XYZ999"], "error: unknown rule 'XYZ999'; "),
    ],
    ids=lambda each: each[-1] if isinstance(each, list) else "",
)
def test_a_name_that_is_misspelt_is_answered_with_one_like_it(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = run_cli(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
