"""The toolkit for row formats: what it declares for each, and the resulting formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import REPOSITORY

import corpusfmt
from corpusfmt.formats import CheckOptions, Rejected, formats
from corpusfmt.formats.describing import FieldOf
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.format import row_format, row_rules
from corpusfmt.formats.rows.records import Records
from corpusfmt.formats.rows.writing import rows_writer
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, Document, Json
from corpusfmt.rules import RuleSet


class Texts(Records):
    def document(self, row: Json, number: int) -> Document:
        return Document(f"{self.shard.name}:{number}", row["text"], source="texts")


def test_rules_of_rows_are_explained_as_on_the_page() -> None:
    rules = RuleSet(GENERAL)
    row_rules(rules, "JSL")
    page = (REPOSITORY / "docs" / "rules.md").read_text("utf-8").split("\n### ")
    sections = {section.partition(" ")[0]: section for section in page}
    own = [rule for rule in rules if rule.code.startswith("JSL")]
    assert [rule.code for rule in own] == [f"JSL{number}" for number in (101, 102, 103, 104, 201, 202, 301)]
    for rule in own:
        first = rule.explanation.split("\n")[0]
        assert f"{rule.code} {rule.slug}\n\n*{rule.severity}*\n\n{first}\n" in sections[rule.code]


@pytest.mark.parametrize("writes", [True, False])
def test_a_format_of_rows_has_what_it_was_given(writes: bool) -> None:
    rules = RuleSet(GENERAL)
    found = row_format(
        "texts",
        "Texts: one a row",
        rules,
        row_rules(rules, "XMP"),
        version="2",
        file_name=r".*\.texts",
        fields=[FieldOf("text", "sc:Text", {"column": "text"}, "The text")],
        records=Texts,
        writer=rows_writer("data") if writes else None,
    )
    assert (found.versions, list(found.writers), list(found.describers)) == (("2",), ["2"] if writes else [], ["2"])
    assert found.reader is not None
    assert (found.reader.source_name, found.reader.names_fields, found.is_general) == ("texts", False, False)


def test_rows_are_the_places_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text":"a","id":"1"}\n{"text":"b","id":"2"}\n{"text":"c","id":"1"}\n', "utf-8")
    with pytest.raises(BadInput, match=r"^a\.jsonl:3: CNV106 the id `1` of source `jsonl` also occurs at a\.jsonl:1$"):
        corpusfmt.convert(path, tmp_path / "out", to="dolma", format="jsonl")


def test_equal_rows_are_rejected_each_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":5}\n' * 3)
    fmt, options = formats()["jsonl"], CheckOptions(version="1.0")
    (shard,) = fmt.plan(entry_of(str(tmp_path / "a.jsonl")), options).shards
    assert fmt.reader is not None
    found = [each.finding.location for each in fmt.reader.read(shard, options) if isinstance(each, Rejected)]
    assert [(at.line, at.byte) for at in found] == [(1, 0), (2, 11), (3, 22)]
