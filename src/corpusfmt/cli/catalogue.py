"""Internal: `corpusfmt rule`, `recipe`, `formats` and `detect`: what corpusfmt knows, and what it takes a path for."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from corpusfmt.cli.console import say, write
from corpusfmt.cli.outcome import guarded
from corpusfmt.model import Check, Rule, UsageError
from corpusfmt.wording import clipped, plain

Rules = Annotated[
    list[str],
    typer.Argument(
        metavar="[CODE|SLUG]...",
        help="Rules to explain: codes, beginnings of codes, slugs; without any, all are listed.",
    ),
]


def known_rules() -> dict[str, list[tuple[str, Rule]]]:
    """Return every rule by its code, with the name of each format or command that runs it."""
    from corpusfmt.conversion.rules import RULES as CONVERSION
    from corpusfmt.formats import all_formats
    from corpusfmt.pipeline.rules import RULES as WET

    known: dict[str, list[tuple[str, Rule]]] = {}
    owners = [(fmt.name, fmt.rules) for fmt in all_formats()]
    for owner, rules in [*owners, ("build", WET), ("convert", CONVERSION)]:
        for each in rules:
            known.setdefault(each.code, []).append((owner, each))
    return known


@guarded
def rule(names: Rules = []) -> None:  # noqa: B006
    """List the rules, or explain some: why, an example, the fix."""
    known = known_rules()
    if not names:
        for code, owners in sorted(known.items()):
            print(f"{code}  {owners[0][1].severity:<7}  {owners[0][1].slug}")
        return
    for name in names:
        prefix = name.upper()
        meant = [
            owners for code, owners in sorted(known.items()) if code.startswith(prefix) or name == owners[0][1].slug
        ]
        if not name or not meant:
            raise UsageError(f"unknown rule {clipped(name)!r}; `corpusfmt rule` lists codes and slugs")
        for owners in meant:
            _explain([owner for owner, _ in owners], owners[0][1])


def _explain(owners: list[str], rule: Rule) -> None:
    print(f"{rule.code} {rule.slug}")
    grades = "".join(f"; {key}: {grade or 'not applicable'}" for key, grade in rule.grades.items())
    print(f"{rule.severity}{grades} · {', '.join(owners)}")
    if rule.spec:
        print(f"specification: {rule.spec}")
    if rule.requires:
        print(f"needs: {', '.join(sorted(rule.requires))}")
    if isinstance(rule, Check) and rule.unless:
        print(f"unless: {', '.join(sorted(rule.unless))}")
    print(f"\n{inspect.cleandoc(rule.explanation)}\n")


@guarded
def recipe(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The recipe to print; without it, all are listed.")
    ] = None,
) -> None:
    """List the recipes of `corpusfmt build`, or print one with the source of each choice."""
    from corpusfmt.pipeline.recipe import recipe_names, recipe_text

    text = recipe_text(name) if name else "\n".join(recipe_names())
    write(plain(line) for line in text.split("\n"))


@guarded
def formats() -> None:
    """List the formats and their versions."""
    from corpusfmt import formats as registry

    for fmt in registry.all_formats():
        print(f"{fmt.name:<10}  {', '.join(fmt.versions):<14}  {plain(fmt.summary)}")
    for refusal in registry.further_formats().refused:
        say(refusal)


@guarded
def detect(path: Annotated[str, typer.Argument(metavar="PATH")]) -> None:
    """Say which format a path has, and what shows it."""
    from corpusfmt import formats as registry
    from corpusfmt.io.paths import entry_of

    fmt, detection = registry.detect(entry_of(path))
    say(f"{f'{fmt.name} {detection.version}'.rstrip()}: {detection.evidence}")
