"""Inputs that are built again: what was changed in a release and sealed with it is found, and what is rightly missing is not."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support import LONG_LINE, run_cli, wet_file, wet_record

import corpusfmt
from corpusfmt.io.paths import entry_of
from corpusfmt.manifest.model import NAME, Manifest, pieces_of
from corpusfmt.manifest.read import read_manifest
from corpusfmt.model import UsageError
from corpusfmt.pipeline.options import Selection
from corpusfmt.pipeline.recipe import recipe_names
from corpusfmt.release.reproduce.request import Request, chosen, made_of
from corpusfmt.release.reproduce.rules import RULES
from corpusfmt.release.verify import verify
from corpusfmt.rules import Grading, Judge

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."
ADDED = f"{LONG_LINE} This line is here to poison what is trained on it."
Json = dict[str, Any]


def write_inputs(folder: Path, files: int, records: int) -> Path:
    """Write WET files of which many lines are repeated, in a file and in later ones."""
    folder.mkdir()
    lot = random.Random(7)
    numbers = iter(range(files * records))
    for file in range(files):
        pages = []
        for number in (next(numbers) for _ in range(records)):
            own = [f"{base} {number}" for base in (LONG_LINE, GERMAN)]
            common = [f"{lot.choice((LONG_LINE, GERMAN))} {lot.randrange(20)}x" for _ in range(3)]
            lines = [*own, *common]
            lot.shuffle(lines)
            pages.append(wet_record(number, "".join(f"{line}\n" for line in lines)))
        wet_file(folder / f"{file}.warc.wet.gz", pages)
    return folder


def rebuilt(root: Path, inputs: Path, count: int, seed: int = 0, **options: Any) -> corpusfmt.Report:
    return verify(root, quick=True, rebuild=Request(count, [str(inputs)], seed, **options), jobs=1)


def found(root: Path, inputs: Path, count: int, seed: int = 0) -> list[tuple[str, str]]:
    return [(each.code, str(each.location)) for each in rebuilt(root, inputs, count, seed).findings]


def seal_again(root: Path) -> None:
    """Seal as a forger does: the manifest matches the files and still says what they were built of."""
    manifest = manifest_of(root)
    files = {}
    for name, entry in manifest.files.items():
        data = (root / name).read_bytes()
        files[name] = replace(entry, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    made_of = {name: each for name, each in manifest.whole.items() if name in {"tool", "recipe", "model", "inputs"}}
    pieces = pieces_of(files, made_of, manifest.head.format, manifest.head.version)
    (root / NAME).write_bytes(b"".join(pieces))


def manifest_of(root: Path) -> Manifest:
    found = read_manifest(entry_of(str(root / NAME)), Judge(RULES, Grading(), version="", path="."))
    assert found is not None
    return found


def lines_in(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).split(b"\n")


def write_lines(path: Path, lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def seed_of(root: Path, number: int) -> int:
    """Return a seed that chooses this input first."""
    request = Request(1, [])
    made = made_of(manifest_of(root), request)
    return next(seed for seed in range(99) if chosen(made, Request(1, [], seed)) == [number])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("small") / "in", files=4, records=6)


def text_file(root: Path) -> Path:
    found = (path for path in sorted(root.rglob("*")) if path.name.startswith(("en.", "en_dedup")))
    return next(path for path in found if "attributes" not in path.parts)


VARIANTS = [(name, False) for name in recipe_names()] + [("oscar-1.1", True), ("oscar-1.0-shuffled", True)]


@pytest.mark.parametrize(("recipe", "keep"), VARIANTS)
def test_every_recipe_is_rebuilt_and_a_changed_character_found(
    recipe: str, keep: bool, inputs: Path, tmp_path: Path
) -> None:
    root = tmp_path / "out"
    corpusfmt.build(inputs, root, recipe=recipe, keep_original=keep)
    for count, seed in ((1, 0), (1, 1), (2, 3), (4, 0)):
        report = rebuilt(root, inputs, count, seed)
        assert report.findings == []
        assert len(report.results["rebuilt"]["inputs"]) == count
    path = text_file(root)
    lines = lines_in(path)
    number = next(number for number, line in enumerate(lines) if b"conscience. 20" in line)
    lines[number] = lines[number].replace(b"conscience. 20", b"conscience, 20")
    write_lines(path, lines)
    seal_again(root)
    report = rebuilt(root, inputs, 4)
    assert {(each.code, each.location.path, each.location.line) for each in report.findings} == {
        ("REP201", path.relative_to(root).as_posix(), number + 1)
    }
    assert "conscience, 20" in report.findings[0].message
    assert "conscience. 20" in report.findings[0].message
    assert "`3.warc.wet.gz`" in report.findings[0].message


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three inputs of 1,000 documents each, and their release."""
    folder = tmp_path_factory.mktemp("large")
    inputs = write_inputs(folder / "in", files=3, records=500)
    corpusfmt.build(inputs, folder / "out")
    return inputs, folder / "out"


Rows = list[Json]
Texts = list[list[bytes]]


def change(texts: Texts, _rows: Rows, at: int) -> None:
    texts[at][0] = texts[at][0].replace(b"conscience", b"conscienze")


def exchange(texts: Texts, rows: Rows, at: int) -> None:
    texts[at], texts[at + 1] = texts[at + 1], texts[at]
    rows[at], rows[at + 1] = rows[at + 1], rows[at]


def add(texts: Texts, _rows: Rows, at: int) -> None:
    texts[at].append(ADDED.encode())


def add_document(texts: Texts, rows: Rows, at: int) -> None:
    texts.insert(at, [ADDED.encode()])
    rows.insert(at, json.loads(json.dumps(rows[at]).replace("warc-record-id", "x-id")))


def remove(texts: Texts, rows: Rows, at: int) -> None:
    del texts[at], rows[at]


def rename(_texts: Texts, rows: Rows, at: int) -> None:
    rows[at]["headers"]["warc-target-uri"] += "x"


TEXT, META = "en/en.txt.gz", "en/en_meta.jsonl.gz"
CHANGES: list[tuple[Callable[[Texts, Rows, int], None], set[tuple[str, str]]]] = [
    (change, {("REP201", TEXT)}),
    (exchange, {("REP204", TEXT), ("REP204", META)}),
    (add, {("REP203", TEXT), ("REP201", META)}),
    (add_document, {("REP203", TEXT), ("REP203", META)}),
    (remove, {("REP202", TEXT), ("REP202", META)}),
    (rename, {("REP201", META)}),
]


@pytest.mark.parametrize(("damage", "expected"), CHANGES, ids=lambda each: getattr(each, "__name__", ""))
def test_what_a_forger_changes_among_a_thousand_documents(
    damage: Callable[[Texts, Rows, int], None],
    expected: set[tuple[str, str]],
    large: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    inputs, built = large
    root = tmp_path / "out"
    shutil.copytree(built, root)
    texts = [each.split(b"\n") for each in b"\n".join(lines_in(root / TEXT)).split(b"\n\n")[:-1]]
    rows = [json.loads(row) for row in lines_in(root / META)[:-1]]
    at = next(n for n, row in enumerate(rows) if row["headers"]["warc-record-id"].endswith("000700>"))
    damage(texts, rows, at)
    offset = 0
    for text, row in zip(texts, rows, strict=True):
        row["offset"], row["nb_sentences"] = offset, len(text)
        offset += len(text) + 1
    write_lines(root / TEXT, [line for text in texts for line in (*text, b"")] + [b""])
    encoded = [json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in rows]
    write_lines(root / META, [*encoded, b""])
    seal_again(root)
    report = rebuilt(root, inputs, 1, seed=seed_of(root, 1))
    assert {(each.code, each.location.path) for each in report.findings} == expected
    assert len(report.findings) == len(expected)
    lines = {each.location.path: each.location for each in report.findings}
    if TEXT in lines:
        place = lines[TEXT]
        assert place.line is not None
        assert place.byte == sum(len(line) + 1 for line in lines_in(root / TEXT)[: place.line - 1])
        assert abs(place.line - rows[at]["offset"]) <= 8


def test_a_line_that_another_input_contributed_is_rightly_missing(tmp_path: Path) -> None:
    """Of a copy of an input nothing stays but what is new in it, and the order of that is compared."""
    for recipe in ("oscar-1.1", "oscar-1.0"):
        inputs = write_inputs(tmp_path / recipe, files=2, records=8)
        pages = [wet_record(n, f"{LONG_LINE} {n}\n{GERMAN} new {n}\n") for n in range(16)]
        wet_file(inputs / "1copy.warc.wet.gz", pages)
        root = tmp_path / f"{recipe}-out"
        corpusfmt.build(inputs, root, recipe=recipe)
        for number in range(3):
            assert found(root, inputs, 1, seed_of(root, number)) == []
        path = root / ("de/de.txt.gz" if recipe == "oscar-1.1" else "de/de_dedup.txt.gz")
        lines = lines_in(path)
        at = [number for number, line in enumerate(lines) if b" new " in line]
        lines[at[3]], lines[at[4]] = lines[at[4]], lines[at[3]]
        write_lines(path, lines)
        seal_again(root)
        assert {each for each, _ in found(root, inputs, 1, seed_of(root, 2))} == {"REP204"}


def test_a_language_that_no_input_has(inputs: Path, tmp_path: Path) -> None:
    root = tmp_path / "out"
    corpusfmt.build(inputs, root)
    manifest = json.loads((root / NAME).read_bytes())
    shutil.copytree(root / "en", root / "xx")
    for path, entry in [*manifest["files"].items()]:
        if path.startswith("en/"):
            manifest["files"][path.replace("en/", "xx/")] = entry
    (root / NAME).write_text(json.dumps(manifest))
    assert ("REP203", "xx/en.txt.gz") in found(root, inputs, 4)


def test_inputs_that_cannot_be_compared(inputs: Path, tmp_path: Path) -> None:
    root, folder = tmp_path / "out", tmp_path / "in"
    shutil.copytree(inputs, folder)
    corpusfmt.build(inputs, root)
    (folder / "0.warc.wet.gz").unlink()
    changed = folder / "1.warc.wet.gz"
    changed.write_bytes(changed.read_bytes()[:-1])
    other = folder / "2.warc.wet.gz"
    other.write_bytes(bytes(reversed(other.read_bytes())))
    assert found(root, folder, 4) == [
        ("REP101", "0.warc.wet.gz"), ("REP102", "1.warc.wet.gz"), ("REP102", "2.warc.wet.gz"),
    ]  # fmt: skip


def manifest_with(root: Path, **members: Any) -> None:
    """Replace members of the manifest."""
    manifest = json.loads((root / NAME).read_bytes())
    (root / NAME).write_text(json.dumps(manifest | members))


def test_a_release_that_cannot_be_rebuilt_here_says_what_to_do(inputs: Path, tmp_path: Path) -> None:
    root = tmp_path / "out"
    corpusfmt.build(inputs, root)
    corpusfmt.convert(root, tmp_path / "rows", to="parquet", on_loss="allow")
    with pytest.raises(UsageError, match=r"does not describe a build .*: only what `corpusfmt build` wrote"):
        rebuilt(tmp_path / "rows", inputs, 1)
    with pytest.raises(UsageError, match=r"--deny-urls: name the same"):
        rebuilt(root, inputs, 1, deny_urls=str(_list(tmp_path)))
    with pytest.raises(UsageError, match=r"the backend native: .*none\.bin"):
        rebuilt(root, inputs, 1, model=str(tmp_path / "none.bin"))
    kept = (root / NAME).read_bytes()
    model = json.loads(kept)["model"]
    for members, message in (
        ({"tool": {"name": "corpusfmt", "version": "0.1", "format": 1}}, r"pip install corpusfmt==0\.1"),
        ({"model": {**model, "sha256": "0" * 64}}, r"name the file of that model with --model"),
        ({"inputs": []}, "names no inputs with digests"),
        ({"recipe": {"name": "x"}}, "recipe MANIFEST.json: "),
        ({"recipe": 7}, "does not describe a build"),
        ({"inputs": [{"name": "../../etc/passwd", "size": -1, "sha256": "x"}]}, None),
    ):
        (root / NAME).write_bytes(kept)
        manifest_with(root, **members)
        if message is None:
            assert found(root, inputs, 1) == [("REP101", "../../etc/passwd")]
        else:
            with pytest.raises(UsageError, match=message):
                rebuilt(root, inputs, 1)


def _list(folder: Path) -> Path:
    path = folder / "deny.txt"
    path.write_text("example.org\n")
    return path


def test_lists_of_urls_are_named_again(inputs: Path, tmp_path: Path) -> None:
    root, deny = tmp_path / "out", _list(tmp_path)
    corpusfmt.build(inputs, root, selection=Selection(deny_urls=str(deny)))
    assert rebuilt(root, inputs, 4, deny_urls=str(deny)).findings == []
    with pytest.raises(UsageError, match=r"with the list of SHA-256 .* as --deny-urls"):
        rebuilt(root, inputs, 4)


def test_a_part_that_is_cut_or_not_text(inputs: Path, tmp_path: Path) -> None:
    root = tmp_path / "out"
    corpusfmt.build(inputs, root)
    (root / TEXT).write_bytes((root / TEXT).read_bytes()[:-20])
    (root / META).write_bytes(gzip.compress(b"\n\xff{}\nnull\n"))
    (root / "de/de.txt.gz").unlink()
    report = rebuilt(root, inputs, 4)
    assert {(each.code, each.location.path) for each in report.findings if each.code[:3] != "MAN"} >= {
        ("GEN101", TEXT), ("REP202", "de/de.txt.gz"),
    }  # fmt: skip


def test_the_command(inputs: Path, tmp_path: Path) -> None:
    root = tmp_path / "out"
    corpusfmt.build(inputs, root)
    done = run_cli("verify", root, "--reproduce", "2", "--inputs", inputs, "--output-format", "json")
    assert done.returncode == 0
    results = json.loads(done.stdout)["results"]["rebuilt"]
    assert (len(results["inputs"]), results["of"]) == (2, 4)
    again = run_cli("verify", root, "--reproduce", "2", "--inputs", inputs, "--seed", str(results["seed"]))
    assert f"rebuilt 2 of 4 inputs (--seed {results['seed']}): {', '.join(results['inputs'])}" in again.stdout.decode()
    done = run_cli("verify", root, "--reproduce", "2")
    assert (done.returncode, done.stderr) == (2, b"error: --reproduce needs --inputs: name the folder of the inputs\n")
    done = run_cli("verify", root, "--seed", "1")
    assert done.returncode == 2
    assert b"need --reproduce N" in done.stderr
