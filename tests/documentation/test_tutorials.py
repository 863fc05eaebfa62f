"""The notebooks of the documentation run from start to finish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support import REPOSITORY

TUTORIALS = REPOSITORY / "docs" / "tutorials"


def outputs_of(path: Path) -> list[Any]:
    """Run a notebook where it is, and return what its cells show."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "stored without outputs"
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(path.parent)}}).execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_the_corpus_is_read_counted_plotted_validated_and_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    found = outputs_of(TUTORIALS / "inspect.ipynb")
    printed = "".join(output.text for output in found if output.output_type == "stream" and output.name == "stdout")
    data = [output.data for output in found if output.output_type in {"display_data", "execute_result"}]
    assert [output for output in found if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert "<th>lang</th><td>fi</td>" in data[1]["text/html"], "a document displays itself"
    assert "76 languages, 54,225 words, 0.0% of lines repeated\n" in printed
    assert sum("image/png" in each for each in data) == 2
    assert "valid {'error': 0, 'warning': 0," in printed
    assert "fi.txt.gz:" in printed
    assert printed.endswith("152 of 152 data files are the same\n")
