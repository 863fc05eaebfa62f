"""docs/errata/croissant.md says what corpusfmt does with its documents, and what mlcroissant does: `make mlcroissant`."""

from __future__ import annotations

import json
import os

import make_errata
import pytest

PYTHON = os.environ.get("CORPUSFMT_MLCROISSANT")


def test_the_page_says_what_corpusfmt_does() -> None:
    assert len({each["title"] for each in make_errata.ERRATA}) == 58
    assert make_errata.PAGE.read_text("utf-8") == make_errata.page(), "run make rules"


def test_the_document_without_additions_has_no_findings_and_is_loaded() -> None:
    titles = {each["title"]: number for number, each in enumerate(make_errata.ERRATA)}
    number = titles["Wikidata has three namespaces"]
    assert make_errata.found_by_corpusfmt(number) == ["no findings"]
    assert make_errata.found_by_mlcroissant(number) == ["loads it"]


def test_an_issue_has_the_whole_document() -> None:
    text = make_errata.issue(0)
    document = json.loads(text.split("```json\n")[1].split("```")[0])
    assert document["@context"]["@vocab"] == "http://schema.org/"
    assert document["recordSet"][0]["field"][1]["@id"] == "films/title"


@pytest.mark.skipif(PYTHON is None, reason="CORPUSFMT_MLCROISSANT is not set")
def test_the_page_says_what_mlcroissant_does() -> None:
    assert PYTHON is not None
    assert json.loads(make_errata.ANSWERS.read_text("utf-8")) == make_errata.asked_of_mlcroissant(PYTHON)
