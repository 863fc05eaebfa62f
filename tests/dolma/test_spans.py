"""Spans that reach beyond the text: what they measure instead, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from dolma.corpus import Json, check, encoded, write

from corpusfmt.model import Finding

URL = "https://example.org/a/path/that/is/longer/than/the/text"


def finding_on(span: list[float], fields: Json, folder: Path) -> Finding:
    """Return the one finding on the one span of a document whose text is `short`."""
    document = {"id": "1", "text": "short", "source": "web", **fields}
    row = {"id": "1", "attributes": {"a__b__c": [span]}}
    files = {"documents/a.jsonl": encoded([document]), "attributes/pii/a.jsonl": encoded([row])}
    (finding,) = check(write(folder, files)).findings
    return finding


@pytest.mark.parametrize(
    "fields",
    [
        {"url": URL},
        {"metadata": {"url": URL}},
        {"metadata": {"urls": ["https://example.org", URL]}},
        {"metadata": {"links": [[], [{"to": URL}]]}},
    ],
    ids=["field", "metadata", "list", "object in lists"],
)
def test_a_deduplication_key_may_stand_anywhere_in_a_document(fields: Json, tmp_path: Path) -> None:
    finding = finding_on([0, len(URL), 1], fields, tmp_path / "measured")
    assert (finding.code, finding.location.pointer) == ("DOL607", "/attributes/a__b__c/0")
    assert finding.message == f"the span [0, {len(URL)}] measures a deduplication key, not the text"
    assert finding_on([0, len(URL) - 1, 1], fields, tmp_path / "not").code == "DOL604"


@pytest.mark.parametrize(
    "documents", [[{"id": "1"}], [{"id": "1", "text": 5}], [{"id": "1"}, {"id": "2", "text": "b"}]]
)
def test_spans_are_judged_beside_a_document_without_text(documents: list[Json], tmp_path: Path) -> None:
    rows = [{"id": each["id"], "attributes": {"a__b__c": [["0", 5, 1.0]]}} for each in documents[:1]]
    rows += [{"id": each["id"], "attributes": {"a__b__c": [[0, 1, 1.0]]}} for each in documents[1:]]
    files = {
        "documents/a.jsonl": encoded([{"source": "web", "added": "2026-01-01", **each} for each in documents]),
        "attributes/pii/a.jsonl": encoded(rows),
    }
    found = [(each.code, each.location.line) for each in check(write(tmp_path, files)).findings]
    assert ("DOL602", 1) in found
