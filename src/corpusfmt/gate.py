"""Internal: The steps of a release, from a TOML file: the commands, their order, and the steps that each requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from corpusfmt._resources import resource
from corpusfmt.io.paths import COPY_HERE, read_named, refuse_remote
from corpusfmt.io.toml import complaints_of, decoded_toml
from corpusfmt.model import Json, UsageError
from corpusfmt.wording import markdown as code

SUMMARY = "gate"
_MOST_BYTES = 1024 * 1024
_DESCRIPTION = "croissant.json"
_SUFFIXES = {"json": "json", "markdown": "md", "html": "html", "sarif": "sarif"}


class Kind(Struct, frozen=True):
    """A step: its reports, and the steps that must have succeeded before it, if they are part of the release.

    `command` is what it runs, if that has another name.
    """

    reports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ("build", "convert")
    is_always_run: bool = False
    shows_findings: bool = False
    command: tuple[str, ...] = ()


#: In the order in which they are run.
KINDS = {
    "build": Kind(needs=()),
    "convert": Kind(needs=()),
    "describe": Kind(),
    "seal": Kind(needs=("build", "convert", "describe")),
    # `validate` reads the manifest, too, so it comes after.
    "validate": Kind(("json", "markdown", "html", "sarif"), is_always_run=True, shows_findings=True),
    "compare": Kind(("json", "markdown", "html")),
    # Nothing is signed that has not passed.
    "attest": Kind(needs=("build", "convert", "describe", "seal", "validate", "compare"), command=("seal", "--attest")),
    "verify": Kind(("json", "markdown"), needs=("seal", "attest"), shows_findings=True),
}


class ReleaseStep(Struct, frozen=True):
    """A command: its name and arguments, the names of its reports, and the steps that it needs."""

    name: str
    arguments: tuple[str, ...]
    reports: tuple[str, ...]
    needs: tuple[str, ...]


class Plan(Struct, frozen=True):
    """The steps of a release. They run in `folder`; `corpus` is the path in the file."""

    corpus: str
    folder: Path
    reports: Path
    steps: tuple[ReleaseStep, ...]


class Done(Struct, frozen=True):
    """A step with its exit status, or with the reason why it was not run."""

    step: ReleaseStep
    status: int | None
    reason: str = ""


def plan_of(path: Path, reports: Path | None, output_format: str) -> Plan:
    """Return the steps that a file names; `reports` overrides its folder of reports.

    Raises `UsageError` for a file that cannot be read or is not as `schemas/gate/release.schema.json` has it.
    """
    refuse_remote(path, "the file of a release", COPY_HERE)
    try:
        text = read_named(path, _MOST_BYTES, "the file").decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    found = decoded_toml(text, str(path))
    if complaints := complaints_of(found, resource("schemas", "gate/release.schema.json").read_bytes()):
        raise UsageError(f"{path}: {'; '.join(complaints)}")
    if "build" in found and "convert" in found:
        raise UsageError(f"{path}: a corpus is either built or converted: leave out [build] or [convert]")
    folder = path.absolute().parent
    target = (folder / found.get("reports", "reports")) if reports is None else reports.absolute()
    corpus = (folder / found["corpus"]).resolve()
    if target.resolve() == corpus or corpus in target.resolve().parents:
        raise UsageError(f"the reports would be in the corpus, {found['corpus']}: name another folder")
    named = {name: kind for name, kind in KINDS.items() if name in found or kind.is_always_run}
    # As the steps see it, which are run in that folder.
    shown = target.relative_to(folder) if target.is_relative_to(folder) else target
    steps = [_step(name, kind, found, shown, output_format) for name, kind in named.items()]
    return Plan(found["corpus"], folder, target, tuple(steps))


def _step(name: str, kind: Kind, found: Mapping[str, Any], reports: Path, output_format: str) -> ReleaseStep:
    options = dict(found.get(name, {}))
    corpus: str = found["corpus"]
    before, after = _operands(name, options, corpus)
    if name == "validate":
        options.setdefault("profile", "strict")
    files = tuple(f"{name}.{_SUFFIXES[each]}" for each in kind.reports)
    arguments = [*(kind.command or [name]), *_as_arguments(options), *before]
    arguments += [f"--report={each}={reports / file}" for each, file in zip(kind.reports, files, strict=True)]
    if kind.shows_findings:
        arguments.append(f"--output-format={output_format}")
    return ReleaseStep(name, (*arguments, "--", *after), (f"{name}.txt", *files), kind.needs)


def _operands(name: str, options: Json, corpus: str) -> tuple[list[str], list[str]]:
    """Remove the keys of a step that are not options of its command; return more options, and the arguments after options."""
    if name == "build":
        return [f"--output={corpus}"], _listed(options.pop("inputs"))
    if name == "convert":
        return [], [options.pop("input"), corpus]
    if name == "describe":
        return [f"--output={corpus}/{_DESCRIPTION}"], [corpus]
    if name == "compare":
        return [], [options.pop("previous"), corpus]
    return [], [corpus]


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _as_arguments(options: Json) -> list[str]:
    arguments = []
    for name, value in options.items():
        if isinstance(value, bool):
            arguments += [f"--{name}"] if value else []
        else:
            arguments += [f"--{name}={each}" for each in (value if isinstance(value, list) else [value])]
    return arguments


def reason_not_to_run(step: ReleaseStep, done: Sequence[Done]) -> str:
    """Return why a step is not run, "" if it is run."""
    for each in done:
        if each.step.name in step.needs and each.status != 0:
            return f"{each.step.name} {'failed' if each.status is not None else 'was not run'}"
    return ""


def worst(done: Sequence[Done]) -> int:
    """Return the greatest exit status."""
    return max((each.status for each in done if each.status is not None), default=0)


def as_json(plan: Plan, done: Sequence[Done]) -> Json:
    """Return the summary of a run in the form of `schemas/gate/gate.schema.json`."""
    steps = [
        {
            "name": each.step.name,
            "command": ["corpusfmt", *each.step.arguments],
            "status": each.status,
            "reason": each.reason,
            "reports": _there(plan, each.step),
        }
        for each in done
    ]
    return {"schema": "corpusfmt-gate/1", "corpus": plan.corpus, "status": worst(done), "steps": steps}


def as_markdown(plan: Plan, done: Sequence[Done]) -> str:
    """Return the summary of a run as a table."""
    status = worst(done)
    lines = [f"## corpusfmt gate: {'passed' if not status else f'failed, exit status {status}'}", ""]
    lines += ["| step | exit status | reports |", "|---|---|---|"]
    for each in done:
        shown = str(each.status) if each.status is not None else f"not run: {each.reason}"
        lines.append(f"| {each.step.name} | {shown} | {', '.join(map(code, _there(plan, each.step)))} |")
    # Other reports may follow.
    return "\n".join([*lines, "", ""])


def _there(plan: Plan, step: ReleaseStep) -> list[str]:
    return [name for name in step.reports if (plan.reports / name).is_file()]
