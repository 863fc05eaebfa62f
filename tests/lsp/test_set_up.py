"""What docs/how-to/editors.md says for editors that are not run here: their settings name a server that starts, and schemas."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from documentation.sessions import code_for
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from support import FIXTURES, REPOSITORY

SETTINGS = code_for("tests/lsp/test_set_up.py")["docs/how-to/editors.md"]
HELIX = tomllib.loads(SETTINGS[0])
CODE, SCHEMAS, TOML = map(json.loads, SETTINGS[1:])


def server_of(*command: str) -> str:
    """Start a server as an editor does, and return the name that it gives itself."""

    async def started() -> str:
        client = LanguageClient("test", "1")
        stop: Callable[[], Awaitable[None]] = client.stop
        await client.start_io(str(Path(sys.executable).parent / command[0]), *command[1:])
        said = await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
        await client.shutdown_async(None)
        client.exit(None)
        await stop()
        assert said.server_info
        return said.server_info.name

    return asyncio.run(started())


def test_helix_starts_the_server_for_json() -> None:
    (language,) = HELIX["language"]
    assert language["name"] == "json"
    assert {*HELIX["language-server"]} < {*language["language-servers"]}
    server = HELIX["language-server"]["corpusfmt"]
    assert server_of(server["command"], *server["args"]) == "corpusfmt"


def test_vs_code_starts_the_server_for_json() -> None:
    assert CODE["glspc.server.languageId"] == ["json"]
    assert server_of(CODE["glspc.server.command"], *CODE["glspc.server.commandArguments"]) == "corpusfmt"


@pytest.mark.parametrize(("case", "fits"), [("valid/complete", True), ("invalid/name-by-language-a-number", False)])
def test_the_schema_for_vs_code_is_of_descriptions(case: str, fits: bool) -> None:
    (schema,) = SCHEMAS["json.schemas"]
    path = REPOSITORY / "schemas" / "croissant" / "1.1" / Path(schema["url"]).name
    validator: Any = jsonschema.Draft202012Validator(json.loads(path.read_bytes()))
    description = json.loads((FIXTURES / "croissant" / "1.1" / case / "input.json").read_bytes())
    assert validator.is_valid(description) is fits


def test_the_schema_of_settings_is_where_its_address_says() -> None:
    ((pattern, address),) = TOML["evenBetterToml.schema.associations"].items()
    assert re.fullmatch(pattern, "/home/me/project/corpusfmt.toml")
    path = address.removeprefix("https://raw.githubusercontent.com/corpusfmt/corpusfmt/main/")
    assert json.loads((REPOSITORY / path).read_bytes())["title"]
