"""Published versions of the site stay, each in its folder; addresses without a version lead to the newest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.version import InvalidVersion
from support import REPOSITORY, tree
from website.publish import main


def site(folder: Path, text: str) -> Path:
    (folder / "rules").mkdir(parents=True)
    (folder / "search.json").write_text("{}")
    (folder / "rules" / f"{text}.html").write_text(text)
    return folder


def test_versions_stay_and_latest_is_the_newest(tmp_path: Path) -> None:
    target = tmp_path / "published"
    for version in ("0.9.0", "0.10.0", "0.9.1", "0.9.0"):
        main(site(tmp_path / f"{version}-{len(list(tmp_path.iterdir()))}", version), target, version)
    listed = json.loads((target / "versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.10.0", ["latest"]),
        ("0.9.1", []),
        ("0.9.0", []),
    ]
    assert tree(target / "latest") == tree(target / "0.10.0")
    assert (target / "0.9.0" / "rules" / "0.9.0.html").read_text() == "0.9.0"
    assert "url=latest/" in (target / "index.html").read_text()


def test_a_version_takes_the_place_of_its_last_publication(tmp_path: Path) -> None:
    main(site(tmp_path / "one", "one"), tmp_path / "published", "1.0.0")
    main(site(tmp_path / "two", "two"), tmp_path / "published", "1.0.0")
    assert sorted(tree(tmp_path / "published" / "latest")) == ["rules/two.html", "search.json"]


def test_schemas_are_at_the_addresses_that_they_state(tmp_path: Path) -> None:
    main(site(tmp_path / "one", "one"), tmp_path / "published", "1.0.0")
    for path in (REPOSITORY / "schemas").rglob("*.schema.json"):
        address = json.loads(path.read_text("utf-8")).get("$id", "")
        if address.startswith("https://corpusfmt.github.io/"):
            assert (tmp_path / "published" / address.removeprefix("https://corpusfmt.github.io/")).is_file(), address


def test_what_is_not_a_version_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidVersion):
        main(site(tmp_path / "one", "one"), tmp_path / "published", "../elsewhere")
    assert not (tmp_path / "published").exists()
