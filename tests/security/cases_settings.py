"""Settings that come with the data: they neither decide how it is judged nor open a file elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from croissant.documents import document
from security.attacks import Attack, Outcome

_SECRET = "TOPSECRET"
_SETTINGS = """
ignore = ["DOL304", "CRO601"]
fail-on = "never"
follow-links = true
[map]
"x.csv" = "../outside/secret.csv"
[describe]
license = "https://example.org/of-the-data"
"""

_Make = Callable[[Path], None]


def _dataset(folder: Path) -> None:
    """Two documents, of which one has no text, and a link that leads out."""
    (folder / "data/documents/deep").mkdir(parents=True)
    good, bad = '{"id":"1","text":"t","source":"s"}\n', '{"id":"2","source":"s"}\n'
    (folder / "data/documents/a.jsonl").write_text(good + bad, "utf-8")
    (folder / "data/documents/deep/b.jsonl").write_text(good + bad, "utf-8")
    (folder / "outside/s.jsonl").write_text(f'{{"id":"7","text":"x","source":"{_SECRET}","x":1}}\n', "utf-8")
    (folder / "data/documents/z.jsonl").symlink_to("../../outside/s.jsonl")
    (folder / "data/corpusfmt.toml").write_text(_SETTINGS, "utf-8")


def _in_a_project_file(folder: Path) -> None:
    _dataset(folder)
    (folder / "data/corpusfmt.toml").unlink()
    settings = _SETTINGS.replace("[map]", "[tool.corpusfmt.map]").replace("[describe]", "[tool.corpusfmt.describe]")
    (folder / "data/pyproject.toml").write_text(f"[tool.corpusfmt]{settings}", "utf-8")


def _with_attributes(folder: Path) -> None:
    _dataset(folder)
    (folder / "data/attributes").mkdir()
    (folder / "data/corpusfmt.toml").rename(folder / "data/documents/corpusfmt.toml")


def _behind_a_link(folder: Path) -> None:
    _dataset(folder)
    (folder / "data/documents").rename(folder / "data/parts")
    (folder / "data/documents").symlink_to("parts")


def _settings_behind_a_link(folder: Path) -> None:
    _dataset(folder)
    (folder / "data/corpusfmt.toml").rename(folder / "settings.toml")
    (folder / "data/corpusfmt.toml").symlink_to("../settings.toml")


def _description(folder: Path) -> None:
    (folder / "outside/secret.csv").write_text(f"a\n{_SECRET}\n", "utf-8")
    table = {"@type": "cr:FileObject", "@id": "x.csv", "name": "x.csv", "contentUrl": "x.csv"}
    table |= {"encodingFormat": "text/csv", "sha256": "1" * 64}
    (folder / "data/below").mkdir()
    for place in ("croissant.json", "below/croissant.json"):
        (folder / "data" / place).write_text(json.dumps(document(distribution=[table])), "utf-8")
    (folder / "data/corpusfmt.toml").write_text(_SETTINGS.replace(', "CRO601"', ""), "utf-8")


def _above(profile: str = "") -> _Make:
    """Make settings above what is named: in a repository of strangers, of which a part is checked."""

    def make(folder: Path) -> None:
        _dataset(folder)
        (folder / "data/documents").rename(folder / "data/texts")
        (folder / "outside/profile.toml").write_text("summary = 'x'\n", "utf-8")
        more = f'profile = "{profile}"\n' if profile else ""
        (folder / "data/corpusfmt.toml").write_text(f"{more}follow-links = true\n", "utf-8")

    return make


def _is_judged(*rules: str, status: int) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status == status, outcome.text
        assert outcome.rules >= set(rules)
        assert _SECRET not in outcome.text

    return promise


_in_full = _is_judged("DOL304", "GEN002", status=3)


def _has_no_licence_of_the_data(outcome: Outcome) -> None:
    assert outcome.status != 2, outcome.text
    assert b"of-the-data" not in outcome.output()


def _is_not_followed(outcome: Outcome) -> None:
    assert outcome.status == 3, outcome.text
    assert "GEN002" in outcome.text


def _says_what_does_not_count(outcome: Outcome) -> None:
    _in_full(outcome)
    assert b"follow-links not used" in outcome.stderr
    assert b"add --config corpusfmt.toml" in outcome.stderr


def _asks_for_the_profile(outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.text
    assert b"a file: to use it, add --config corpusfmt.toml" in outcome.stderr


def _validate(name: str, make: _Make, *arguments: str, promise: Callable[[Outcome], None], cwd: str = "data") -> Attack:
    return Attack(f"settings-{name}", make, ("validate", *arguments, "--output-format", "json"), promise, cwd)


ATTACKS = [
    _validate("documents", _dataset, "documents", promise=_in_full),
    _validate("file", _dataset, "documents/a.jsonl", promise=_is_judged("DOL304", status=1)),
    _validate("pattern", _dataset, "documents/[a]*.jsonl", promise=_is_judged("DOL304", status=1)),
    _validate("below", _dataset, "documents/deep", promise=_is_judged("DOL304", status=1)),
    _validate("from-inside", _dataset, ".", promise=_in_full, cwd="data/documents"),
    _validate("project", _in_a_project_file, "documents", promise=_in_full),
    _validate("attributes", _with_attributes, "deep", promise=_is_judged("DOL304", status=1), cwd="data/documents"),
    _validate("linked-documents", _behind_a_link, "documents/a.jsonl", promise=_is_judged("DOL304", status=1)),
    _validate("linked-settings", _settings_behind_a_link, "documents", promise=_in_full),
    _validate("map", _description, "croissant.json", "--data", promise=_is_judged("CRO601", status=1)),
    _validate("map-above", _description, "below/croissant.json", "--data", promise=_is_judged("CRO601", status=0)),
    _validate("links-above", _above(), "texts", promise=_says_what_does_not_count),
    _validate("profile-above", _above("../outside/profile.toml"), "texts", promise=_asks_for_the_profile),
    Attack("settings-fix", _dataset, ("fix", "documents", "--diff"), _is_not_followed, "data"),
    Attack("settings-describe", _dataset, ("describe", "documents"), _has_no_licence_of_the_data, "data"),
]
