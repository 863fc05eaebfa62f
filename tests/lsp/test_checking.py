"""What a check of a text gives an editor."""

from __future__ import annotations

import pytest

from corpusfmt.engine.sharing import Judging
from corpusfmt.formats import named_format
from corpusfmt.lsp import server


def test_rules_of_other_distributions_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """`rules_of` has only the rules of this package."""
    monkeypatch.setattr(server, "rules_of", lambda _codes: {})
    checked = server.check('{"@context": {}, "@type": "sc:Dataset"', "/nowhere/croissant.json", "", Judging())
    known = {rule.code: rule for rule in named_format("croissant")[0].rules}
    assert {each.code for each in checked.findings} == {"CRO101"}
    assert checked.rules == {"CRO101": known["CRO101"]}
