"""The server for agents, asked by the client of its protocol's library over standard input and output."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from documentation.sessions import code_for
from support import FIXTURES, run_cli, tree


def answers(root: Path, *asked: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """Return for each call whether it failed, and its text."""
    from mcp import Client, StdioServerParameters, stdio_client  # takes a second, in every worker

    (settings,) = code_for("tests/cli/test_mcp.py")["docs/how-to/editors.md"]
    server = json.loads(settings)["mcpServers"]["corpusfmt"]
    command = str(Path(sys.executable).parent / server["command"])
    server = StdioServerParameters(command=command, args=server["args"], cwd=root)

    async def talk() -> list[tuple[bool, str]]:
        async with Client(stdio_client(server)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {
                "validate",
                "explain",
                "fix",
                "describe",
            }
            results = [await client.call_tool(name, arguments) for name, arguments in asked]
            return [
                (bool(each.is_error), "".join(getattr(part, "text", "") for part in each.content)) for each in results
            ]

    return asyncio.run(talk())


def test_an_agent_validates_explains_fixes_and_describes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "croissant/1.0/invalid/conformsto-missing", tmp_path / "d")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/a.xyz").write_bytes(b"odd")
    before = tree(tmp_path)
    path = "d/input.json"
    validated, explained, fixed, described, *refused = answers(
        tmp_path,
        ("validate", {"path": path}),
        ("explain", {"rule": "CRO102"}),
        ("fix", {"path": path, "unsafe": True}),
        ("describe", {"path": "d"}),
        ("validate", {"path": "../outside"}),
        ("validate", {"path": "http://127.0.0.1:9/croissant.json"}),
        ("explain", {"rule": "CRO1O2"}),
        ("validate", {"path": "odd"}),
    )
    assert validated == (False, run_cli("validate", path).stdout.decode())
    assert json.loads(explained[1])["code"] == "CRO102"
    assert fixed[0] is False
    assert json.loads(described[1])["@type"] == "sc:Dataset"
    assert [failed for failed, _ in refused] == [True] * 4
    assert "is not below" in refused[0][1]
    assert "unknown rule 'CRO1O2'" in refused[2][1]
    assert "name one with `format` (" in refused[3][1]
    assert tree(tmp_path) == before
