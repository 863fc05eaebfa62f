"""The pages of the site, before it is built: all of them are reachable, and every rule has an example that is a fixture."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_rules
import pytest
from support import REPOSITORY
from website import examples, pages, reference, rules
from website.commands import commands

import corpusfmt
from corpusfmt.cli.catalogue import known_rules

EXAMPLES = {path.stem: path.read_text("utf-8") for path in (REPOSITORY / pages.EXAMPLES).glob("*.md")}


def listed(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from listed(each)


def test_every_page_is_in_the_navigation_once() -> None:
    settings = tomllib.loads((Path(pages.__file__).with_name("zensical.toml")).read_text("utf-8"))
    generated = {path for path in reference.pages() if path.endswith("/index.md") or "/" not in path}
    written = {*pages.written(), *map(pages.place, pages.notebooks())}
    assert sorted(listed(settings["project"]["nav"])) == sorted({*written, *generated, "rules/index.md"})


def test_every_format_says_what_real_data_gets_wrong() -> None:
    for page in (REPOSITORY / "docs" / "formats").glob("*.md"):
        _, found, section = page.read_text("utf-8").partition("\n## Common defects of ")
        assert found, page.name
        assert re.search(r"\b[A-Z]{3}\d{3}\b", section.partition("\n## ")[0]), page.name


def test_a_link_to_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("See [it](there.md).\n", "utf-8")
    monkeypatch.setattr(pages, "REPOSITORY", tmp_path)
    with pytest.raises(ValueError, match=r"page\.md: `there\.md` leads to there\.md, which does not exist"):
        pages.adapted("page.md", "page.md")


def test_links_lead_to_pages_rules_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs/a").mkdir(parents=True)
    for name in ("docs/rules.md", "docs/b.md", "x.toml", "README.md"):
        (tmp_path / name).touch()
    (tmp_path / "docs/a/c.md").write_text(
        "[r](../rules.md#osc205-checksum-mismatch) [b](../b.md#one) [x](../../x.toml) [home](../../README.md)\n"
        "<!-- note -->\n```\n[code](none.md)\n```\n",
        "utf-8",
    )
    monkeypatch.setattr(pages, "REPOSITORY", tmp_path)
    assert pages.adapted("docs/a/c.md", "a/c.md") == (
        "[r](../rules/OSC205.md) [b](../b.md#one) [x](https://github.com/corpusfmt/corpusfmt/blob/main/x.toml)"
        " [home](../index.md)\n```\n[code](none.md)\n```\n"
    )


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return rules.pages()


def test_every_rule_has_a_page_with_a_failing_example_and_its_repair(made: dict[str, str]) -> None:
    for code in known_rules():
        page = made[f"rules/{code}.md"]
        for head in ("Why", "Example", "Fix"):
            assert f"\n## {head}\n" in page, code
        for head in ("Failing example", "Fixed version"):
            assert page.count(f"\n## {head}\n") == 1, code


def test_an_example_that_is_no_fixture_prints_the_rule_and_its_fixed_version_does_not() -> None:
    """`make docs` runs their commands, and compares what is printed."""
    assert EXAMPLES.keys() <= known_rules().keys()
    for code, text in EXAMPLES.items():
        failing, _, fixed = text.partition("\n## Fixed version\n")
        assert re.search(rf"^(?!\$).*\b{code} ", failing.partition("## Failing example\n")[2], re.MULTILINE), code
        assert "\n$ corpusfmt " in fixed.replace("\n$ PYTHONPATH=$PWD/plugin ", "\n$ "), code
        assert f"{code} " not in fixed, code


def test_an_example_fires_and_its_fixed_version_does_not() -> None:
    for code in known_rules():
        if shown := examples.example(code):
            case, repaired = shown
            assert code in case.codes
            if repaired:
                assert repaired.codes < case.codes
                assert code not in repaired.codes
                assert list(examples.difference(case, repaired)), code


def test_a_retired_rule_keeps_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = make_rules.listed()
    monkeypatch.setattr(make_rules, "listed", lambda: [*lines, ["OLD101", "gone", "0.1.0", "retired"]])
    assert rules.pages()["rules/OLD101.md"].startswith("# OLD101 gone\n\nThis rule was added in 0.1.0")


def test_references_have_everything_once() -> None:
    made = reference.pages()
    for words, command in commands().items():
        page = made[f"commands/{words.replace(' ', '-')}.md"]
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert len(re.findall(rf"^\| <code>(?:-\w, )?{parameter.opts[0]}[ <,]", page, re.MULTILINE)) == 1, (
                    words,
                    parameter.name,
                )
    assert sorted(re.findall(r"^### (\w+)$", made["python.md"], re.MULTILINE)) == sorted(
        {*corpusfmt.__all__} - {"__version__"}
    )
    assert not re.findall(r"^\| .* \|  \|$", made["settings.md"], re.MULTILINE), "each key has a meaning"
    linked = re.findall(r"schemas/(\S+\.schema\.json)\)", "".join(made.values()))
    assert sorted(linked) == sorted(
        path.relative_to(REPOSITORY / "schemas").as_posix() for path in (REPOSITORY / "schemas").rglob("*.schema.json")
    )


def test_no_page_names_a_folder_of_this_machine(made: dict[str, str]) -> None:
    for path, page in (made | reference.pages()).items():
        assert str(REPOSITORY) not in page, path
