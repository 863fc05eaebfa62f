"""Write schemas/settings/settings.schema.json from the type that reads settings: `make rules` after changing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from website.commands import commands

from corpusfmt.engine.config import Config

SCHEMA = Path(__file__).parents[1] / "schemas" / "settings" / "settings.schema.json"


def tables() -> dict[str, Any]:
    """Return the schema of each table. What has no description has the help of the option of the same name."""
    made: dict[str, Any] = msgspec.json.schema(Config)
    known = commands()
    helps = {
        name.removeprefix("--"): parameter.help
        for command in (known["describe"], known["validate"])
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--") and getattr(parameter, "help", None)
    }
    for table in made["$defs"].values():
        for name, each in table["properties"].items():
            each.setdefault("description", helps.get(name, ""))
    return made


def text() -> str:
    """Return the schema of a settings file."""
    others = tables()["$defs"]
    whole = others.pop("Config") | {
        "title": "Settings of corpusfmt: corpusfmt.toml, and [tool.corpusfmt] of pyproject.toml",
        "description": "Settings of `corpusfmt validate`, `fix` and `describe`; options on the command line override them.",
    }
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://corpusfmt.github.io/schemas/settings/settings.schema.json",
    }
    return json.dumps(_without_null(head | whole | {"$defs": others}), indent=2) + "\n"


def _without_null(schema: Any) -> Any:
    """Return a schema without the value null, which TOML does not have, and without the defaults that stand for it."""
    if isinstance(schema, list):
        return [_without_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _without_null(value) for key, value in schema.items() if not (key == "default" and not value)}
    if "anyOf" in found:
        kinds = [each for each in found["anyOf"] if each != {"type": "null"}]
        if len(kinds) == 1:
            del found["anyOf"]
            found |= kinds[0]
    return found


if __name__ == "__main__":
    SCHEMA.parent.mkdir(parents=True, exist_ok=True)
    SCHEMA.write_text(text(), "utf-8")
