"""Every attack of every `cases_*.py` next to this file, run like a user's command."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from security.attacks import Attack

HERE = Path(__file__).parent

# These take long, or are one of many of their kind that start processes of their own: `make attacks` runs them, and `.ci/run`.
SLOW = frozenset(
    {
        *("baseline-emoji", "baseline-large", "baseline-values", "blocklist", "code-2-workers", "code-build-1"),
        *("code-build-2", "code-convert-1", "code-convert-2", "code-default-workers", "code-describe-1"),
        *("code-describe-2", "code-detect", "code-library-fork-server", "code-library-forked"),
        *("code-library-spawned", "code-module-2", "code-python-path-dot", "code-python-path-empty-first-workers"),
        *("code-python-path-empty-last", "code-python-path-relative", "code-records", "code-render"),
        *("code-repeated-keys", "code-spawned", "csv-cell", "csv-wide", "description-nodes"),
        *("description-nodes-in-full", "description-too-many-nodes-in-full", "dolma-colliding-ids"),
        *("dolma-colliding-ids-of-files", "dolma-emoji", "dolma-emoji-broken", "dolma-emoji-converted"),
        *("dolma-many-findings", "dolma-many-sets", "dolma-values-lists", "dolma-values-numbers"),
        *("dolma-values-objects", "dolma-values-texts", "dolma-zeros-converted", "forged-ascii-json"),
        *("forged-ascii-jsonl", "forged-build", "forged-convert-quarantine", "forged-croissant-concise"),
        *("forged-croissant-github", "forged-croissant-gitlab", "forged-croissant-grouped", "forged-croissant-html"),
        *("forged-croissant-jsonl", "forged-croissant-junit", "forged-croissant-markdown", "forged-croissant-sarif"),
        *("hub-nested-arrays-300", "hub-nested-arrays-400", "join-converted", "join-data", "json-values"),
        *("json-zeros", "lattice-convert", "list-of-paths", "nested-folders", "oscar-values", "page-of-comments"),
        *("page-of-descriptions", "parquet-columns-40000", "parquet-columns-described", "parquet-columns-shown"),
        *("parquet-croissant", "parquet-dictionary", "parquet-list", "parquet-lists-1-40000000"),
        *("parquet-lists-100-400000", "parquet-lists-2-12000000", "parquet-lists-4-3000000", "parquet-lists-checked"),
        *("parquet-value", "pattern-longer-and-longer", "pattern-of-many-fields", "pattern-slow", "rdf-xml-deep"),
        *("recipe-large", "saved-report-large", "settings-large", "store-endless-no-type-validate", "store-no-parts"),
        *("tar-bz2", "tar-bz2-records", "tar-gz", "tar-long-names", "tar-many-members", "tar-pax-global"),
        *("tar-pax-size", "tar-xz", "tar-zst", "time-bad-lines", "time-chain-of-containers"),
        *("time-contexts-in-a-list", "time-dangling-references", "time-data-sets-in-a-graph"),
        *("time-empty-lines-in-attributes", "time-file-sets", "time-file-sets-of-a-folder"),
        *("time-key-of-5000-fields", "time-lines-of-numbers", "time-of-a-library", "time-places-in-a-long-line"),
        *("time-record-sets-drawn-from-each-other", "time-references-in-a-row", "time-references-that-dangle"),
        *("time-ring-of-containers", "time-same-file", "time-string-of-escapes", "time-types-that-the-context-lost"),
        *("time-unknown-names", "time-unknown-types", "turtle-lists-in-lists", "turtle-long-list", "turtle-triples"),
        *("turtle-xml-in-it", "zip-directory", "zip-overlapping", "zstd-skippable-frames", "zstd-window-of-128-mib"),
    }
)


def attacks() -> list[Attack]:
    modules = sorted(path.stem for path in HERE.glob("cases_*.py"))
    found = [attack for module in modules for attack in import_module(f"security.{module}").ATTACKS]
    return [replace(attack, slow=attack.slow or attack.name in SLOW) for attack in found]


@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups and limits of POSIX systems")
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_no_promise_is_broken(attack: Attack, tmp_path: Path) -> None:
    if attack.slow and "CORPUSFMT_ATTACKS" not in os.environ:
        pytest.skip("takes long: CORPUSFMT_ATTACKS is not set")
    outcome = attack.run(tmp_path)
    outcome.keeps_every_promise(attack)
    attack.promise(outcome)


def test_each_attack_has_a_name_of_its_own() -> None:
    names = [attack.name for attack in attacks()]
    assert len(set(names)) == len(names)
    assert set(names) >= SLOW
