"""Internal: `corpusfmt rule`, `recipe`, `formats` and `detect`."""

from __future__ import annotations

import inspect
import json
from typing import Annotated

import typer

from corpusfmt.cli import completion
from corpusfmt.cli.console import say, write
from corpusfmt.cli.options import TextOrJson
from corpusfmt.cli.outcome import guarded
from corpusfmt.engine.sharing import FollowLinks
from corpusfmt.model import Check, Json, Rule, UsageError
from corpusfmt.report.view import address_of
from corpusfmt.wording import plain, unknown

Rules = Annotated[
    list[str],
    typer.Argument(
        metavar="[CODE|SLUG]...",
        help="Rules to explain: codes, prefixes of codes, or slugs (default: list all).",
        autocompletion=completion.rules,
    ),
]


def known_rules() -> dict[str, list[tuple[str, Rule]]]:
    """Return every rule by code, with the names of the formats and commands that run it."""
    from corpusfmt.conversion.rules import RULES as CONVERSION
    from corpusfmt.formats import all_formats
    from corpusfmt.hub.rules import RULES as HUB
    from corpusfmt.manifest.rules import RULES as MANIFEST
    from corpusfmt.pipeline.rules import RULES as WET

    known: dict[str, list[tuple[str, Rule]]] = {}
    owners = [(fmt.name, fmt.rules) for fmt in all_formats()]
    further = [("release", MANIFEST), ("hub", HUB), ("build", WET), ("convert", CONVERSION)]
    for owner, rules in [*owners, *further]:
        for each in rules:
            known.setdefault(each.code, []).append((owner, each))
    return known


def grades_of(rule: Rule) -> list[str]:
    """Return the grades of a rule by version, for its milder case, and in the bundled profiles."""
    from corpusfmt.profiles import profile_names, shipped_profile

    found = [f"{key}: {grade or 'not applicable'}" for key, grade in rule.grades.items()]
    for name in profile_names():
        grades = {minor: shipped_profile(name).grade_of(rule, minor=minor) for minor in (False, True)}
        for minor, grade in grades.items():
            if grade is not None and grade.minor == minor:
                found.append(f"{name}{'/minor' if minor else ''}: {grade.severity or 'ignored'}")
    return found


@guarded
def rule(
    names: Rules = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    output_format: TextOrJson = "text",
) -> None:
    """List the rules, or explain some with reason, example and fix."""
    chosen = _named(names)
    if output_format == "json":
        write(json.dumps(explained(names), indent=2, ensure_ascii=False).split("\n"), utf8=True)
    elif names:
        for owners in chosen:
            _explain([owner for owner, _ in owners], owners[0][1])
    else:
        for owners in chosen:
            each = owners[0][1]
            print(f"{each.code}  {each.severity:<7}  {each.slug}")


def explained(names: list[str]) -> list[Json]:
    """Return what there is to know of rules, named as for `_named`."""
    return [_record([owner for owner, _ in owners], owners[0][1]) for owners in _named(names)]


def _named(names: list[str]) -> list[list[tuple[str, Rule]]]:
    """Return the rules with a code, the beginning of a code, or a slug, or all. Raises `UsageError` for a name of none."""
    known = known_rules()
    if not names:
        return [owners for _, owners in sorted(known.items())]
    found = []
    for name in names:
        prefix = name.upper()
        meant = [
            owners for code, owners in sorted(known.items()) if code.startswith(prefix) or name == owners[0][1].slug
        ]
        if not name or not meant:
            slugs = [owners[0][1].slug for owners in known.values()]
            raise UsageError(unknown("rule", name, slugs, "`corpusfmt rule` lists codes and slugs"))
        found += meant
    return found


def _record(owners: list[str], rule: Rule) -> Json:
    return {
        "code": rule.code,
        "slug": rule.slug,
        "severity": rule.severity,
        "grades": grades_of(rule),
        "formats": owners,
        "specification": rule.spec,
        "requires": sorted(rule.requires),
        "unless": sorted(rule.unless) if isinstance(rule, Check) else [],
        "explanation": inspect.cleandoc(rule.explanation),
        "url": address_of(rule),
    }


def _explain(owners: list[str], rule: Rule) -> None:
    print(f"{rule.code} {rule.slug}")
    print(f"{'; '.join([rule.severity, *grades_of(rule)])} · {', '.join(owners)}")
    if rule.spec:
        print(f"specification: {rule.spec}")
    if rule.requires:
        print(f"needs: {', '.join(sorted(rule.requires))}")
    if isinstance(rule, Check) and rule.unless:
        print(f"unless: {', '.join(sorted(rule.unless))}")
    print(f"\n{inspect.cleandoc(rule.explanation)}\n")


@guarded
def recipe(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Recipe to print (default: list all).")] = None,
) -> None:
    """List the recipes of `corpusfmt build`, or print one with the sources of its settings."""
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
def detect(
    path: Annotated[str, typer.Argument(metavar="PATH")],
    follow_links: FollowLinks = False,
) -> None:
    """Print the format of a path, and the evidence for it."""
    from corpusfmt import reading

    found = reading.detect(path, follow_links=follow_links)
    say(f"{f'{found.format} {found.version}'.rstrip()}: {found.evidence}")
