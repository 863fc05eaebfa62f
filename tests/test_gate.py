"""`action.yml` and `.pre-commit-hooks.yaml`, run the way that a runner of Actions and pre-commit run them.

A composite action is a list of scripts, an environment each, and files to which they append. All of that is real here,
except that the step that installs corpusfmt is replaced by a link to the environment of these tests: only
`make action-test` runs it, and pre-commit, too, and takes what is needed from the package index.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from documentation.sessions import code_for
from support import FIXTURES, REPOSITORY, gzipped, run_cli

from corpusfmt.wording import leading

ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))
_INSTALLS = "CORPUSFMT_ACTION" in os.environ
_EXPRESSION = re.compile(r"\$\{\{ ([a-z]+)\.([a-z_.]+) \}\}")
_ROW = b'{"id":"%d","text":"All human beings are born free.","source":"s"}\n'
_CODE = (
    "from pathlib import Path; Path(__file__).with_name('executed').touch()\nraise SystemExit('code of the dataset')\n"
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash")


@dataclass
class Ended:
    status: int
    outputs: dict[str, str]
    summary: str
    printed: str


@dataclass
class Runner:
    """A machine with a checked-out repository, `workspace`, in which the steps of the action are run."""

    root: Path
    installs: bool = False

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    def uses(self, **given: str) -> Ended:
        known = {name: declared.get("default", "") for name, declared in ACTION["inputs"].items()}
        assert known.keys() >= given.keys()
        contexts = {
            "inputs": known | given,
            "github": {"action_path": str(REPOSITORY)},
            "runner": {"temp": str(self.root / "temp")},
        }
        files = {name: self.root / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_bytes(b"")
        install, validate = ACTION["runs"]["steps"]
        printed = ""
        environment = self.root / "temp" / "corpusfmt"
        if self.installs:
            status, printed = self._run(install, contexts, files)
            if status:
                return Ended(status, {}, "", printed)
        elif not environment.exists():
            environment.symlink_to(sys.prefix)
        status, said = self._run(validate, contexts, files)
        lines = files["GITHUB_OUTPUT"].read_text("utf-8").split("\n")[:-1]
        steps = {validate["id"]: {"outputs": dict(line.split("=", 1) for line in lines)}}
        outputs = {name: _evaluated(each["value"], {"steps": steps}) for name, each in ACTION["outputs"].items()}
        return Ended(status, outputs, files["GITHUB_STEP_SUMMARY"].read_text("utf-8"), printed + said)

    def _run(self, step: Mapping[str, Any], contexts: Mapping[str, Any], files: Mapping[str, Path]) -> tuple[int, str]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input would become a part of the script"
        script = self.root / "script.sh"
        script.write_text(step["run"], "utf-8")
        environment = {name: _evaluated(value, contexts) for name, value in step["env"].items()}
        environment |= {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.root),
            **{name: str(file) for name, file in files.items()},
        }
        environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        ended = subprocess.run(
            command,
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return ended.returncode, ended.stdout.decode()


def _evaluated(text: str, contexts: Mapping[str, Any]) -> str:
    """Return a text with its expressions replaced; what a step has not set is empty, as it is for a runner."""

    def value_of(match: re.Match[str]) -> str:
        value = contexts[match[1]]
        for name in match[2].split("."):
            value = value.get(name, "") if name != match[2] else value[name]
        assert isinstance(value, str)
        return value

    return _EXPRESSION.sub(value_of, text)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    for folder in ("workspace", "temp"):
        (tmp_path / folder).mkdir()
    return Runner(tmp_path)


def _corpus(folder: Path, *numbers: int) -> None:
    (folder / "documents").mkdir(parents=True)
    rows = b"".join(_ROW % number for number in numbers)
    (folder / "documents" / "0.jsonl.gz").write_bytes(gzipped(rows))


def test_a_valid_corpus_passes_and_gives_its_reports(runner: Runner) -> None:
    _corpus(runner.workspace / "release", 1, 2)
    ended = runner.uses(path="release")
    assert ended.status == 0, ended.printed
    assert {name: ended.outputs[name] for name in ("verdict", "errors", "warnings", "status")} == {
        "verdict": "valid",
        "errors": "0",
        "warnings": "0",
        "status": "0",
    }
    for name in ("sarif", "json", "markdown"):
        assert Path(ended.outputs[name]).stat().st_size
    assert ended.summary == Path(ended.outputs["markdown"]).read_text("utf-8")


def shown(page: str, number: int) -> Any:
    """Return the settings that a page shows."""
    return yaml.safe_load(code_for("tests/test_gate.py")[page][number])


def uses_of(steps: list[dict[str, Any]], runner: Runner) -> Ended:
    """Run the step with the action; the steps after it may only use what it puts out."""
    (ours,) = (each for each in steps if each["uses"].startswith("corpusfmt/"))
    ended = runner.uses(**ours["with"])
    for name in re.findall(rf"steps\.{ours.get('id')}\.outputs\.(\w+)", str(steps)):
        assert Path(ended.outputs[name]).exists()
    return ended


def test_the_step_of_the_tutorial(runner: Runner) -> None:
    steps = shown("docs/tutorials/gate-in-ci.md", 0)["jobs"]["validate"]["steps"]
    _corpus(runner.workspace / "data", 1, 1)
    (runner.workspace / "corpusfmt.toml").write_text('ignore = ["DOL313"]\n', "utf-8")
    ended = uses_of(steps, runner)
    assert (ended.status, ended.outputs["verdict"]) == (0, "valid"), ended.printed


def test_the_steps_of_the_page(runner: Runner) -> None:
    _corpus(runner.workspace / "release" / "oscar", 1, 1)
    options = ["--license", "https://example.org/license", "--creator", "Example", "--url", "https://example.org/"]
    options += ["--date-published", "2024-01-31", "--output", "release/croissant.json"]
    assert run_cli("describe", "release/oscar", *options, cwd=runner.workspace).returncode == 0
    (runner.workspace / "corpusfmt.toml").write_text('ignore = ["DOL313"]\n', "utf-8")
    ended = uses_of(shown("docs/gate.md", 0), runner)
    assert (ended.status, ended.outputs["verdict"]) == (0, "valid"), ended.printed
    assert "file=release/croissant.json" in ended.printed


def test_findings_are_annotations_and_status_1(runner: Runner) -> None:
    _corpus(runner.workspace / "release", 1, 1, 1)
    ended = runner.uses(path="release")
    assert (ended.status, ended.outputs["status"]) == (1, "1"), ended.printed
    assert (ended.outputs["verdict"], ended.outputs["errors"]) == ("invalid", "2")
    assert "::error " in ended.printed
    assert "DOL313" in ended.summary


@pytest.mark.parametrize(
    "given",
    [
        {"path": "release", "profile": "nope"},
        {"path": "release", "config": "nope.toml"},
        {"path": "release", "baseline": "nope.json"},
        {"path": "release", "arguments": "--nope"},
        {"path": "nope"},
        {"path": ""},
    ],
    ids=str,
)
def test_wrong_usage_is_status_2_without_a_report(runner: Runner, given: dict[str, str]) -> None:
    _corpus(runner.workspace / "release", 1)
    ended = runner.uses(**given)
    assert (ended.status, ended.outputs["status"]) == (2, "2"), ended.printed
    assert (ended.outputs["verdict"], ended.outputs["json"], ended.summary) == ("", "", "")


def test_every_path_is_a_name_whatever_is_in_it(runner: Runner) -> None:
    names = ["two words", "--config=c", "$(touch executed)", "`touch executed`", "a; touch executed", "\"'", "${HOME}"]
    for name in names:
        _corpus(runner.workspace / name, 1)
    ended = runner.uses(path="\n".join(names) + "\n")
    assert (ended.status, ended.outputs["verdict"]) == (0, "valid"), ended.printed
    assert not (runner.workspace / "executed").exists()


@pytest.mark.parametrize("name", ["profile", "config", "baseline", "arguments", "path"])
def test_no_input_is_run(runner: Runner, name: str) -> None:
    _corpus(runner.workspace / "release", 1)
    ended = runner.uses(**{"path": "release", name: "$(touch executed)`touch executed`; touch executed #"})
    assert ended.status == 2, ended.printed
    assert not (runner.workspace / "executed").exists()


def test_config_baseline_and_arguments_are_heeded(runner: Runner) -> None:
    _corpus(runner.workspace / "release", 1, 1)
    settings = runner.workspace / "gate settings.toml"
    settings.write_text('ignore = ["DOL313"]\n', "utf-8")
    assert runner.uses(path="release", config=settings.name).status == 0
    known = runner.workspace / "known.json"
    known.write_bytes(run_cli("validate", "release", "--output-format", "json", cwd=runner.workspace).stdout)
    assert runner.uses(path="release", baseline=known.name).status == 0
    assert runner.uses(path="release", arguments="--fail-on\nnever\n\n--jobs=1").status == 0
    assert runner.uses(path="release", profile="strict").status == 1


def _with_code(workspace: Path) -> None:
    for module in ("venv", "pip", "ensurepip", "setuptools", "json", "re", "corpusfmt", "sitecustomize", "threading"):
        (workspace / f"{module}.py").write_text(_CODE, "utf-8")


def test_code_in_the_working_folder_is_not_run(runner: Runner) -> None:
    _corpus(runner.workspace, 1)
    _with_code(runner.workspace)
    ended = runner.uses(path=".", arguments="--jobs=2")
    assert ended.status == 0, ended.printed
    assert not (runner.workspace / "executed").exists()


@pytest.mark.skipif(not _INSTALLS, reason="installs from a package index: `make action-test` runs it")
def test_it_installs_itself_from_the_lock(tmp_path: Path) -> None:
    for folder in ("workspace", "temp"):
        (tmp_path / folder).mkdir()
    runner = Runner(tmp_path, installs=True)
    _corpus(runner.workspace, 1, 1)
    _with_code(runner.workspace)
    ended = runner.uses(path=".", python=str(Path(sys.base_prefix) / "bin" / "python3"))
    assert ended.status == 1, ended.printed
    assert ended.outputs["verdict"] == "invalid"
    assert not (runner.workspace / "executed").exists()
    installed = tmp_path / "temp" / "corpusfmt" / "bin" / "corpusfmt"
    printed = subprocess.run([installed, "--version"], check=True, capture_output=True).stdout
    assert printed == run_cli("--version").stdout


def test_a_python_that_is_too_old_ends_with_a_word(runner: Runner) -> None:
    old = runner.root / "python"
    old.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    old.chmod(0o755)
    runner.installs = True
    ended = runner.uses(path=".", python=str(old))
    assert ended.status == 3
    assert "::error::corpusfmt needs Python 3.11" in ended.printed


@pytest.mark.parametrize("failing", ["--requirement", "--no-deps"])
def test_an_installation_that_fails_is_no_finding(runner: Runner, failing: str) -> None:
    pip = f'#!/bin/sh\ncase "$*" in *{failing}*) echo no network; exit 1;; esac\n'
    python = runner.root / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *venv*)\n'
        f"  mkdir -p '{runner.root}/temp/corpusfmt/bin'\n"
        f"  cp '{runner.root}/pip' '{runner.root}/temp/corpusfmt/bin/python';;\nesac\n",
        "utf-8",
    )
    (runner.root / "pip").write_text(pip, "utf-8")
    for script in (python, runner.root / "pip"):
        script.chmod(0o755)
    runner.installs = True
    ended = runner.uses(path=".", python=str(python))
    assert ended.status == 3, ended.printed
    assert "no network\n::error::corpusfmt could not be installed" in ended.printed


def hooked(*names: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the hook on files as pre-commit does: its entry in words, its arguments, the names."""
    command = [*shlex.split(HOOK["entry"]), *HOOK.get("args", ()), *names]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", ["--config=c", "--report=html=written", "-h", "--ignore=CRO"])
def test_the_hook_takes_every_name_as_a_name(folder: str, tmp_path: Path) -> None:
    invalid = '{"@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0"}'
    names = [f"{folder}/croissant.json", "other/croissant.json"]
    for name, content in zip(
        names, (invalid, invalid.replace("{", '{"@context": "https://schema.org/", ')), strict=True
    ):
        assert re.search(HOOK["files"], name)
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(content, "utf-8")
    # What the name of the first would mean as an option.
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "croissant.json").write_text('ignore = ["CRO", "GEN"]\n', "utf-8")
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    ended = hooked(*names, cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    for name in names:
        assert f"{leading(name)}:1:" in ended.stdout
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*")} == before


def test_the_hook_takes_no_settings_of_the_commit(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/croissant.json").write_text('{"@type": "sc:Dataset", "conformsTo": "x"}', "utf-8")
    (tmp_path / "corpusfmt.toml").write_text('ignore = ["CRO", "GEN"]\n', "utf-8")
    ended = hooked("below/croissant.json", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.fixture(scope="session")
def committing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a machine with git, on which the host of the repository is this clone of it."""
    folder = tmp_path_factory.mktemp("host")
    published = folder / "corpusfmt.git"
    git = ["git", "-C", str(published)]
    subprocess.run(["git", "clone", "--quiet", "--bare", REPOSITORY, published], check=True)
    subprocess.run([*git, "tag", "--force", "v0.1.0"], check=True, stdout=subprocess.DEVNULL)
    settings = {
        f"url.file://{published}.insteadOf": "https://github.com/corpusfmt/corpusfmt",
        "init.defaultBranch": "main",
    }
    settings |= {"user.name": "Example", "user.email": "example@example.org"}
    return {
        **os.environ,
        "PRE_COMMIT_HOME": str(folder / "pre-commit"),
        "GIT_CONFIG_COUNT": str(len(settings)),
        **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())},
    }


@pytest.mark.skipif("CORPUSFMT_PRE_COMMIT" not in os.environ, reason="needs pre-commit: `make action-test` runs it")
@pytest.mark.parametrize(
    ("number", "name", "case"),
    [(1, "croissant.json", "invalid/name-by-language-a-number"), (2, "metadata.json", "valid/delimiter")],
)
def test_pre_commit_lets_no_findings_pass(
    number: int, name: str, case: str, committing: dict[str, str], tmp_path: Path
) -> None:
    def git(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *command], cwd=tmp_path, env=committing, capture_output=True, text=True, check=False
        )

    settings = code_for("tests/test_gate.py")["docs/gate.md"][number]
    (tmp_path / ".pre-commit-config.yaml").write_text(settings, "utf-8")
    git("init", "--quiet")
    subprocess.run([os.environ["CORPUSFMT_PRE_COMMIT"], "install"], cwd=tmp_path, env=committing, check=True)
    (hook,) = yaml.safe_load(settings)["repos"][0]["hooks"]
    options = shlex.split(hook.get("entry", HOOK["entry"]))[2:]
    for chosen, status in ((case, 1), ("valid/complete-strict", 0)):
        shutil.copy(FIXTURES / "croissant" / "1.1" / chosen / "input.json", tmp_path / name)
        git("add", ".")
        committed = git("commit", "--message", "A description")
        told = run_cli("validate", *options, name, cwd=tmp_path)
        assert (committed.returncode, told.returncode) == (status, status), committed.stderr
        assert told.stdout.decode().split("\n")[0] in committed.stderr or not status
