"""References that are generated: commands, settings, recipes, schemas and the Python interface."""

from __future__ import annotations

import enum
import inspect
import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

import make_settings
import msgspec

import corpusfmt
from corpusfmt.cli.commands import sections_of
from corpusfmt.pipeline.recipe import recipe_names, recipe_text
from website.commands import commands
from website.pages import REPOSITORY, SOURCE

_SCHEMAS = REPOSITORY / "schemas"


def pages() -> dict[str, str]:
    """Return the generated references by path on the site."""
    made = dict(_commands()) | dict(_schemas())
    made["settings.md"] = _joined(_settings())
    made["bundled-recipes.md"] = _joined(_recipes())
    made["python.md"] = _joined(_python())
    return made


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text for a cell of a table, on one line, without markup of HTML."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def _commands() -> Iterator[tuple[str, str]]:
    lines = ["# Commands", "", "`corpusfmt COMMAND --help` prints the same.", "", "| command | purpose |", "|---|---|"]
    for words, command in commands().items():
        name = words.replace(" ", "-")
        yield f"commands/{name}.md", _joined(_command(words, command))
        lines.append(f"| [{words}]({name}.md) | {_cell(command.get_short_help_str(limit=200))} |")
    yield "commands/index.md", "\n".join(lines) + "\n"


def _command(words: str, command: Any) -> Iterator[str]:
    context = command.make_context(words, [], resilient_parsing=True)
    context.info_name = f"corpusfmt {words}"
    yield from (f"# corpusfmt {words}", "", "```text", command.get_usage(context), "```", "")
    yield inspect.cleandoc(command.help or "").replace("\b\n", "")
    for panel, records in sections_of(command, context).items():
        yield from ("", f"## {panel}", "", "| | |", "|---|---|")
        yield from (f"| {_code(names)} | {_cell(meaning)} |" for names, meaning in records)


def _code(text: str) -> str:
    """Return code in a cell of a table, where a bar would end the cell."""
    line = re.sub(r"\s+", " ", text)
    return f"<code>{escape(line).replace('|', '&#124;')}</code>"


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "Settings are in `corpusfmt.toml`, or `[tool.corpusfmt]` of `pyproject.toml`, in the working directory or above, or in `--config"
    yield "FILE`. They are for `validate`, `fix` and `describe`; options on the command line override them."
    yield "An unknown key is an error. An editor completes and checks keys by the [schema](schemas/settings-settings.md)."
    yield from _tables(make_settings.tables(), {"Config": "Keys", "RuleTable": "[[rule]]", "Details": "[describe]"})


def _recipes() -> Iterator[str]:
    yield "# Bundled recipes"
    yield ""
    yield "What `corpusfmt recipe NAME` prints; [recipes](recipes.md) explains them, their keys are those of the [schema](schemas/recipe-recipe.md)."
    for name in recipe_names():
        yield from ("", f"## {name}", "", "```toml", recipe_text(name).rstrip("\n"), "```")


def _schemas() -> Iterator[tuple[str, str]]:
    lines = [
        "# Schemas",
        "",
        "Published contracts, as JSON Schema. Their keys are explained where they have a description.",
    ]
    lines += ["", "| schema | |", "|---|---|"]
    for path in sorted(_SCHEMAS.rglob("*.schema.json")):
        name = path.relative_to(_SCHEMAS).as_posix()
        slug = name.removesuffix(".schema.json").replace("/", "-")
        schema = json.loads(path.read_text("utf-8"))
        lines.append(f"| [{name}]({slug}.md) | {_cell(schema['title'])} |")
        yield f"schemas/{slug}.md", _joined(_schema(name, schema))
    yield "schemas/index.md", "\n".join(lines) + "\n"


def _schema(name: str, schema: Any) -> Iterator[str]:
    yield f"# {name}"
    yield ""
    yield f"{schema['title']}. [The file]({SOURCE}/schemas/{name})."
    yield from _tables({"$defs": {"": schema} | schema.get("$defs", {})}, {"": "Properties"})


def _tables(schema: Any, titles: dict[str, str]) -> Iterator[str]:
    """Yield a section for each object of a schema."""
    for name, each in schema["$defs"].items():
        yield from ("", f"## {titles.get(name, name)}")
        if each.get("description"):
            yield from ("", each["description"].replace("<", "&lt;"))
        if not each.get("properties"):
            yield from ("", f"{_type(each)}")
            continue
        yield from ("", "| key | type | required | meaning |", "|---|---|---|---|")
        for key, value in _properties(each):
            required = "yes" if key in each.get("required", ()) else ""
            yield f"| `{key}` | {_cell(_type(value))} | {required} | {_cell(value.get('description', ''))} |"


def _properties(schema: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the properties of an object, and those of objects in it that have no name of their own."""
    for key, value in schema.get("properties", {}).items():
        if isinstance(value, dict):
            yield before + key, value
            yield from _properties(value, f"{before}{key}.")


def _type(schema: Any) -> str:
    """Return what a schema allows, in words."""
    if not isinstance(schema, dict):
        return ""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f"`{json.dumps(schema['const'], ensure_ascii=False)}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each, ensure_ascii=False)}`" for each in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(filter(None, map(_type, schema[several])))
    kind = schema.get("type", "")
    if kind == "array" and _type(schema.get("items")):
        return f"array of {_type(schema['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _python() -> Iterator[str]:
    yield "# Python"
    yield ""
    yield "Every public name of `corpusfmt`; [stability](stability.md) says what may change. `corpusfmt.langid` has"
    yield "[its own page](langid.md)."
    names = [name for name in corpusfmt.__all__ if name != "__version__"]
    for title, chosen in (
        ("Functions", [name for name in names if inspect.isfunction(getattr(corpusfmt, name))]),
        ("Classes", [name for name in names if not inspect.isfunction(getattr(corpusfmt, name))]),
    ):
        yield from ("", f"## {title}")
        for name in chosen:
            yield from ("", f"### {name}", "", *_member(name, getattr(corpusfmt, name)))


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type) and issubclass(value, enum.Enum):
        yield inspect.cleandoc(value.__doc__ or "")
        yield from ("", "Values: " + ", ".join(f"`{each.value}`" for each in value) + ".")
        return
    yield from ("```python", _signature(name, value), "```", "", inspect.cleandoc(value.__doc__ or ""))
    for member, each in vars(value).items() if isinstance(value, type) else ():
        function = each.fget if isinstance(each, property) else each.__func__ if isinstance(each, classmethod) else each
        if not member.startswith("_") and inspect.isfunction(function) and function.__doc__:
            shown = f"{name}.{member}" if isinstance(each, property) else _signature(f"{name}.{member}", function)
            yield from ("", "```python", shown, "```", "", inspect.cleandoc(function.__doc__))


def _signature(name: str, value: Any) -> str:
    """Return how something is called, an argument on each line if there are many."""
    if isinstance(value, type) and issubclass(value, Exception) and value.__init__ is Exception.__init__:
        return f"class {name}"
    if isinstance(value, type) and issubclass(value, msgspec.Struct):
        fields = [f"{field.name}: {_named(field.type)}{_default(field)}" for field in msgspec.structs.fields(value)]
        returned = ""
    else:
        signature = inspect.signature(value)
        star = next((each for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY), None)
        fields = []
        for each in signature.parameters.values():
            if each is star:
                fields.append("*")
            if each.name != "self":
                fields.append(_argument(each))
        returned = (
            ""
            if isinstance(value, type) or signature.return_annotation is signature.empty
            else f" -> {signature.return_annotation}"
        )
    line = f"{name}({', '.join(fields)}){returned}"
    return line if len(line) <= 100 else f"{name}(\n" + "".join(f"    {field},\n" for field in fields) + f"){returned}"


def _argument(parameter: inspect.Parameter) -> str:
    """Return a parameter as it is declared; a `Struct` as default has its own defaults."""
    annotated = str(parameter.replace(default=parameter.empty)).replace("'", "")
    if parameter.default is parameter.empty:
        return annotated
    default = parameter.default
    return f"{annotated} = {f'{type(default).__name__}()' if isinstance(default, msgspec.Struct) else repr(default)}"


def _named(kind: Any) -> str:
    """Return a type as it is written."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return re.sub(r"\b(?:typing|collections|collections\.abc|corpusfmt(?:\.\w+)*|pathlib|enum)\.(?=[A-Z]\w*)", "", text)


def _default(field: Any) -> str:
    if field.default is not msgspec.NODEFAULT:
        return f" = {field.default.value if isinstance(field.default, enum.Enum) else field.default!r}"
    return " = …" if field.default_factory is not msgspec.NODEFAULT else ""
