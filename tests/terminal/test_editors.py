"""An editor with the settings of docs/how-to/editors.md shows what the command line reports (`make terminal-test`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documentation.sessions import code_for
from support import FIXTURES, run_cli

# The first settings are for new versions, like the one that `make terminal-test` installs, the second for those of Debian.
EDITORS = [os.environ.get("CORPUSFMT_NVIM"), shutil.which("nvim")]

pytestmark = pytest.mark.skipif("CORPUSFMT_TERMINAL" not in os.environ, reason="CORPUSFMT_TERMINAL is not set")

# Wait for the findings, then print where each is.
SHOW = """
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end)
local found = {}
for _, each in ipairs(vim.diagnostic.get(0)) do
  table.insert(found, { each.user_data.lsp.code, each.lnum + 1 })
end
io.stdout:write(vim.fn.json_encode(found))
vim.cmd("qall!")
"""


@pytest.mark.parametrize("number", [0, 1], ids=["from 0.11", "before"])
def test_neovim_shows_the_findings_of_the_command_line(number: int, tmp_path: Path) -> None:
    editor = EDITORS[number]
    if editor is None:
        pytest.skip("there is no such Neovim")
    shutil.copy(FIXTURES / "croissant/1.1/invalid/name-by-language-a-number/input.json", tmp_path / "croissant.json")
    settings = code_for("tests/terminal/test_editors.py")["docs/how-to/editors.md"][number]
    (tmp_path / "init.lua").write_text(settings)
    (tmp_path / "show.lua").write_text(SHOW)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
    }
    command = [editor, "--headless", "-u", "init.lua", "croissant.json", "-c", "luafile show.lua"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=True)
    report = json.loads(run_cli("validate", "croissant.json", "--output-format", "json", cwd=tmp_path).stdout)
    expected = [[each["rule"], each["location"]["line"]] for each in report["findings"]]
    assert expected
    assert sorted(json.loads(done.stdout)) == sorted(expected)
