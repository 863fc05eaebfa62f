"""Settings that are found, not named: in the working directory and its parents, never in the data."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import make_settings
import pytest
from support import FIXTURES, run_cli

from corpusfmt.engine.config import find_config

CASE = FIXTURES / "croissant" / "1.1" / "invalid" / "value-and-source" / "input.json"
IGNORING = 'ignore = ["CRO429"]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a folder of data and a folder to work in."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "data" / "croissant.json").write_bytes(CASE.read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "folder", "said"),
    [
        ("corpusfmt.toml", IGNORING, ".", "settings: corpusfmt.toml\n"),
        ("corpusfmt.toml", IGNORING, "work", "settings: ../corpusfmt.toml\n"),
        (
            "pyproject.toml",
            f"[project]\nname = 'x'\n[tool.corpusfmt]\n{IGNORING}",
            "work",
            "settings: ../pyproject.toml\n",
        ),
    ],
)
@pytest.mark.parametrize("command", ["validate", "fix"])
def test_settings_are_found_and_named(
    project: Path, name: str, text: str, folder: str, said: str, command: str
) -> None:
    (project / name).write_text(text, "utf-8")
    ended = run_cli(command, project / "data", cwd=project / folder)
    assert (ended.returncode, ended.stderr.decode()) == (0, said)
    assert b"VALID: 0 errors, 0 warnings; 1 ignored (CRO429)" in ended.stdout


@pytest.mark.parametrize(
    ("place", "arguments", "folder"),
    [
        ("data/corpusfmt.toml", ["../data"], "work"),
        ("data/corpusfmt.toml", ["."], "data"),
        ("corpusfmt.toml", [".."], "work"),
        ("corpusfmt.toml", ["../data", "--config", "none"], "work"),
        ("../corpusfmt.toml", ["data"], "."),
        ("other/corpusfmt.toml", ["data"], "."),
    ],
)
def test_what_does_not_count(tmp_path: Path, place: str, arguments: list[str], folder: str) -> None:
    project = tmp_path / "project"
    for name in (".git", "data", "work", "other"):
        (project / name).mkdir(parents=True)
    (project / "data" / "croissant.json").write_bytes(CASE.read_bytes())
    (project / place).write_text(IGNORING, "utf-8")
    ended = run_cli("validate", "--format", "croissant", *arguments, cwd=project / folder)
    if arguments != [".."]:
        assert (ended.returncode, ended.stderr) == (1, b"")
    assert b"settings" not in ended.stderr


@pytest.mark.parametrize("name", ["loop", "n" * 300, "missing/file"])
def test_a_path_that_leads_nowhere_is_said_to(project: Path, name: str) -> None:
    (project / "work" / "loop").symlink_to("loop")
    (project / "corpusfmt.toml").symlink_to("corpusfmt.toml")
    ended = run_cli("validate", name, cwd=project / "work")
    assert ended.returncode in (2, 3)
    assert b"internal error" not in ended.stderr


def test_the_nearest_settings_count_and_pyproject_of_others_may_be_broken(project: Path) -> None:
    (project / "corpusfmt.toml").write_text("profile = 'nothing'\n", "utf-8")
    (project / "work" / "pyproject.toml").write_text("not TOML\n", "utf-8")
    (project / "work" / "corpusfmt.toml").write_text(IGNORING, "utf-8")
    ended = run_cli("validate", "../data", cwd=project / "work")
    assert (ended.returncode, ended.stderr) == (0, b"settings: corpusfmt.toml\n")


def test_a_fault_in_found_settings_is_an_error_of_one_line(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.corpusfmt]\nignored = []\n", "utf-8")
    ended = run_cli("validate", "data", cwd=project)
    assert ended.returncode == 2
    said = ended.stderr.decode().split("\n")
    assert said[0] == "settings: pyproject.toml"
    assert said[1].endswith("pyproject.toml: unknown field `ignored` (did you mean `ignore`?)")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user")
def test_settings_of_another_user_do_not_count(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "corpusfmt.toml").write_text(IGNORING, "utf-8")
    monkeypatch.chdir(project)
    assert find_config([]) == project / "corpusfmt.toml"
    os.chown(project / "corpusfmt.toml", 12345, -1)
    assert find_config([]) is None


@pytest.mark.parametrize("text", ["tool = 3\n", "[[tool]]\n", "# [tool.corpusfmt]\ntool = 3\n"])
def test_a_project_whose_tools_are_no_table_has_no_settings(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text, "utf-8")
    for named in ([], ["--config", "pyproject.toml"]):
        ended = run_cli("validate", "data", *named, cwd=project)
        assert (ended.returncode, ended.stderr.decode().replace("settings: pyproject.toml\n", "")) == (1, "")


def test_settings_of_others_that_may_not_be_read_do_not_count(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = project / "corpusfmt.toml"
    found.write_text(IGNORING, "utf-8")
    (project / "work" / "pyproject.toml").write_text("[tool.corpusfmt]\n", "utf-8")
    opened = Path.open

    def refused(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.name == "pyproject.toml":  # permissions do not bind root
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refused)
    monkeypatch.chdir(project / "work")
    assert find_config([]) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "profile = 'strict'",
        "profile = ['strict', 'hub']\nselect = ['CRO']\nignore = ['CRO429']\nfail-on = 'never'\nfollow-links = true",
        "map = { a = 'b' }\n[limit]\nexpansion = 1000\ntotal-bytes = '20GB'\ntimeout = 3600",
        "[[rule]]\nrules = ['CRO429']\nseverity = 'ignore'\nreason = 'known'\npaths = ['*']",
        "[describe]\nname = 'x'\ncreator = ['y']\ndate-published = '2024-01-31'\nin-language = ['de']",
        "paths = ['a']\nformat = 'jsonl'\ncolumns = 'c4'\nfield = { text = 'body' }\ndata = true\nbaseline = 'b.json'\noutput-format = 'json'",
        "[[rule]]\nrules = ['CRO429']\nseverity = 'ignore'\nreason = 'known'\nuntil = '2999-01-31'",
        "paths = 'a'",
        "profil = 'strict'",
        "profile = 3",
        "profile = [3]",
        "fail-on = 'eror'",
        "select = 'CRO'",
        "follow-links = 'yes'",
        "limit = { expansion = 0.5 }",
        "limit = { total-bytes = 5 }",
        "limit = { timeout = 0 }",
        "limit = { max-expansion = 5 }",
        "field = { date = 'day' }",
        "map = { a = 1 }",
        "[[rule]]\nrules = ['CRO429']\nseverity = 'fatal'\nreason = 'known'",
        "[[rule]]\nrules = ['CRO429']\nseverity = 'ignore'",
        "[[rule]]\nrules = ['CRO429']\nseverity = 'ignore'\nreason = ' '",
        "[describe]\nlicence = 'x'",
        "[describe]\ncreator = 'y'",
    ],
)
def test_the_schema_allows_what_the_reader_takes(project: Path, text: str) -> None:
    (project / "corpusfmt.toml").write_text(text, "utf-8")
    ended = run_cli("validate", "data", cwd=project)
    schema = json.loads(make_settings.SCHEMA.read_text("utf-8"))
    allows = jsonschema.Draft202012Validator(schema).is_valid(tomllib.loads(text))
    assert allows is (ended.returncode != 2), ended.stderr.decode()


def test_the_schema_is_that_of_the_type_and_explains_each_key() -> None:
    assert make_settings.SCHEMA.read_text("utf-8") == make_settings.text(), "run make rules"
    schema = json.loads(make_settings.text())
    for table in (schema, *schema["$defs"].values()):
        assert all(each["description"] for each in table["properties"].values())


def test_an_unknown_key_is_answered_with_one_like_it(project: Path) -> None:
    (project / "corpusfmt.toml").write_text("[[rule]]\nrule = ['CRO429']\n", "utf-8")
    said = run_cli("validate", "data", cwd=project).stderr.decode()
    assert "unknown field `rule` in `rule[0]` (did you mean `rules`?)" in said


def test_a_folder_of_an_own_layout_needs_no_arguments(project: Path) -> None:
    folder = project / "own"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.jsonl").write_bytes(b'{"doc": "1", "body": "x"}\n')
    settings = "paths = ['data']\nformat = 'jsonl'\nfield = { text = 'body', id = 'doc' }\noutput-format = 'concise'\n"
    (folder / "corpusfmt.toml").write_text(settings, "utf-8")
    for here in (folder, folder / "data"):
        done = run_cli("validate", cwd=here)
        assert (done.returncode, done.stdout) == (0, b"VALID: 0 errors, 0 warnings\n"), done.stderr
    (folder / "corpusfmt.toml").write_text(f"{settings}baseline = 'known.json'\n", "utf-8")
    assert b"baseline not used, since other files would be read" in run_cli("validate", cwd=folder).stderr


@pytest.mark.parametrize(("until", "status"), [("2999-01-31", 0), ("2020-01-31", 1)])
def test_an_entry_counts_until_its_last_day(until: str, status: int, project: Path) -> None:
    (project / "rows").mkdir()
    (project / "rows" / "a.jsonl").write_bytes(b'{"id": "1", "text": "x"}\n{"id": "2"}\n')
    (project / "corpusfmt.toml").write_text(
        f"format = 'jsonl'\n[[rule]]\nrules = ['JSL301']\nseverity = 'ignore'\nreason = 'known'\nuntil = {until}\n",
        "utf-8",
    )
    done = run_cli("validate", "rows", cwd=project)
    assert done.returncode == status
    assert (f"ended on {until}: remove it, or move `until`" in done.stderr.decode()) == bool(status)


def test_without_settings_the_working_folder_is_validated(project: Path) -> None:
    (project / "empty").mkdir()
    alone, named = (run_cli("validate", *paths, cwd=project / "empty") for paths in ([], ["."]))
    assert (alone.returncode, alone.stderr) == (named.returncode, named.stderr)
