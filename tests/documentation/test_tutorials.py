"""The notebooks of the documentation run from start to finish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import REPOSITORY
from website import notebooks

SOURCE = "docs/tutorials/inspect.ipynb"


@pytest.mark.deep
def test_the_corpus_is_read_counted_plotted_validated_and_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    stored = json.loads((REPOSITORY / SOURCE).read_bytes())
    assert any(cell.get("outputs") for cell in stored["cells"]), "stored with outputs"
    notebook = notebooks.executed(REPOSITORY / SOURCE)
    found = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = "".join(output.text for output in found if output.output_type == "stream" and output.name == "stdout")
    data = [output.data for output in found if output.output_type in {"display_data", "execute_result"}]
    assert [output for output in found if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert "<th>lang</th><td>fi</td>" in data[1]["text/html"], "a document displays itself"
    assert "76 languages, 54,225 words, 0.0% of lines repeated\n" in printed
    assert sum("image/png" in each for each in data) == 2
    assert "valid {'error': 0, 'warning': 5," in printed
    assert "fi.txt.gz:" in printed
    assert printed.endswith("152 of 152 data files are the same\n")
    on_site = notebooks.page(notebook, SOURCE)
    assert [name for name, data in on_site.items() if data.startswith(b"\x89PNG")] == [
        "tutorials/inspect-1.png",
        "tutorials/inspect-2.png",
    ]
    text = on_site["tutorials/inspect.md"].decode()
    assert text.startswith("# Inspect a corpus\n")
    assert "\n\nThis page is the notebook [inspect.ipynb](https://" in text
    assert "\n```text\n152 of 152 data files are the same\n```\n" in text
