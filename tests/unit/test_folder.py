"""A folder is judged by everything in it: its data, and what is said of them next to them; and all commands read the data."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples
from support import FIXTURES, run_cli

import corpusfmt
from corpusfmt.model import Document, Report, UsageError, Verdict

DETAILS: dict[str, Any] = {
    "license": "https://opensource.org/license/mit",
    "creator": "Example",
    "url": "https://example.org",
    "date_published": "2024-01-31",
}
ZERO = "0" * 64


def described(folder: Path) -> Path:
    (folder / "croissant.json").write_text(json.dumps(corpusfmt.describe(folder, **DETAILS)), "utf-8")
    return folder


def jsonl(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return folder


def errors(report: Report) -> list[tuple[str, str]]:
    return sorted({(each.code, each.location.path) for each in report.findings if each.severity == "error"})


def bad(kind: str, folder: Path) -> tuple[str, str]:
    """Write a corpus with one defect; return its rule and its file."""
    folder.mkdir(parents=True)
    match kind:
        case "jsonl":
            jsonl(folder, '{"text":"one"}', '{"text":5}')
            return "JSL301", "a.jsonl"
        case "parquet":
            pq.write_table(pa.table({"text": ["one", None]}), folder / "a.parquet")
            return "PQT301", "a.parquet"
        case "text":
            (folder / "a.txt").write_bytes(b"one\n\nf\xfcnf\n")
            return "GEN201", "a.txt"
        case "dolma":
            (folder / "documents").mkdir()
            (folder / "documents/a.jsonl.gz").write_bytes(gzip.compress(b'{"id":"a","text":5,"source":"s"}\n'))
            return "DOL305", "documents/a.jsonl.gz"
        case _:
            (folder / "af").mkdir()
            (folder / "af/af.txt.gz").write_bytes(gzip.compress(b"one\n\nf\xfcnf\n"))
            return "GEN201", "af/af.txt.gz"


KINDS = ("jsonl", "parquet", "text", "dolma", "oscar")


@pytest.mark.parametrize("name", ["croissant.json", "metadata.json"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_description_hides_no_error_of_the_data(kind: str, name: str, tmp_path: Path) -> None:
    expected = bad(kind, tmp_path / "a")
    before = corpusfmt.validate(tmp_path / "a")
    assert expected in errors(before)
    (jsonl(tmp_path / "b", '{"text":"one"}') / "a.jsonl").rename(tmp_path / "b/one.jsonl")
    described(tmp_path / "b")
    (tmp_path / "b/croissant.json").rename(tmp_path / "a" / name)
    after = corpusfmt.validate(tmp_path / "a")
    assert after.format == before.format == kind
    assert errors(after) == errors(before)
    assert after.coverage.documents == before.coverage.documents
    assert {kind, "croissant"} <= after.coverage.checked.keys()
    alone = corpusfmt.validate(tmp_path / "a" / name)
    assert (alone.format, alone.verdict) == ("croissant", Verdict.VALID)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"{", "CRO103"), (b"[]", "CRO105"), (b"\xff", "CRO101"), (b'{"@context":{},"@type":"Dataset"}', "CRO205")],
)
def test_the_description_of_a_corpus_is_checked_as_by_itself(content: bytes, code: str, tmp_path: Path) -> None:
    (jsonl(tmp_path / "a", '{"text":"one"}') / "croissant.json").write_bytes(content)
    report = corpusfmt.validate(tmp_path / "a")
    alone = corpusfmt.validate(tmp_path / "a/croissant.json", format="croissant")
    of_description = [each for each in report.findings if each.location.path == "croissant.json"]
    assert of_description == alone.findings
    assert report.format == "jsonl"
    assert report.verdict == alone.verdict


def test_a_report_names_what_was_checked(tmp_path: Path) -> None:
    folder = described(jsonl(tmp_path / "a", '{"text":"one"}'))
    (folder / "README.md").write_text("# Texts\n", "utf-8")
    checked = {"jsonl": 1, "croissant": 1, "card": 1}
    report = corpusfmt.validate(folder)
    assert report.to_dict()["coverage"]["checked"] == checked
    line = "checked: jsonl 1 file, croissant 1, card 1"
    for name in ("full", "markdown", "html"):
        assert line in corpusfmt.render(report, name)
    (tmp_path / "report.json").write_text(corpusfmt.render(report, "json"), "utf-8")
    assert line in run_cli("report", "render", tmp_path / "report.json").stdout.decode()
    assert corpusfmt.validate(folder / "a.jsonl").coverage.checked == {"jsonl": 1}


def test_a_folder_without_a_corpus_is_a_description(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.csv").write_text("text\none\n", "utf-8")
    described(tmp_path / "a")
    (tmp_path / "a/SHA256SUMS").write_text(f"{ZERO}  a.csv\n", "utf-8")
    report = corpusfmt.validate(tmp_path / "a")
    assert report.format == "croissant"
    assert errors(report) == [("MAN304", "SHA256SUMS")]


def test_the_records_of_a_description_are_checked_with_data(tmp_path: Path) -> None:
    folder = described(jsonl(tmp_path / "a", '{"text":"one"}'))
    jsonl(folder, '{"text":"two"}')
    assert errors(corpusfmt.validate(folder)) == [("MAN303", "croissant.json")]
    assert [code for code, _ in errors(corpusfmt.validate(folder, data=True))] == ["CRO603"]


LISTS = [
    ("SHA256SUMS", "{digest}  a.jsonl\n", []),
    ("SHA256SUMS", "{digest} *a.jsonl\n", []),
    ("sha256.txt", "# of all files\n\nSHA256 (a.jsonl) = {digest}\r\n", []),
    ("a.jsonl.sha256", "{digest}\n", []),
    ("SHA256SUMS", f"{ZERO}  a.jsonl\n", [("error", 1, "SHA-256 of `a.jsonl` is")]),
    ("sums/x_sha256.txt", f"{ZERO}  ../a.jsonl\n", [("error", 1, "SHA-256 of `a.jsonl` is")]),
    ("a.jsonl.sha256", f"{ZERO}\n", [("error", 1, "SHA-256 of `a.jsonl` is")]),
    ("SHA256SUMS", "{digest}  a.jsonl\n" + f"{ZERO}  b.jsonl\n", [("error", 2, "`b.jsonl` is missing")]),
    ("SHA256SUMS", f"{ZERO}  ../../etc/passwd\n", [("error", 1, "`../../etc/passwd` is missing")]),
    ("SHA256SUMS", "{digest}  a.jsonl\nabc  a.jsonl\n", [("warning", 2, "not a line of `sha256sum`")]),
    ("MD5SUMS", "{md5}  a.jsonl\n", []),
    ("md5sum.txt", "MD5 (a.jsonl) = {md5}\n", []),
    ("a.jsonl.sha1", "{sha1}\n", []),
    ("SHA512SUMS", "{sha512} *a.jsonl\n{md5}  a.jsonl\n", []),
    ("MD5SUMS", f"{ZERO[:32]}  a.jsonl\n", [("error", 1, "MD5 of `a.jsonl` is")]),
    ("sha1sums.txt", f"SHA1 (a.jsonl) = {ZERO[:40]}\n", [("error", 1, "SHA-1 of `a.jsonl` is")]),
    ("a.jsonl.sha512", f"{ZERO}{ZERO}\n", [("error", 1, "SHA-512 of `a.jsonl` is")]),
    ("a.jsonl.md5", f"{ZERO[:31]}\n", [("warning", 1, "not a line of `md5sum`")]),
]


@pytest.mark.parametrize(("name", "content", "found"), LISTS)
def test_each_checksum_list_is_compared_with_the_files(
    name: str, content: str, found: list[tuple[str, int, str]], tmp_path: Path
) -> None:
    folder = jsonl(tmp_path / "a", '{"text":"one"}')
    data = (folder / "a.jsonl").read_bytes()
    for algorithm in ("md5", "sha1", "sha256", "sha512"):
        digest = hashlib.new(algorithm, data).hexdigest()
        content = content.replace("{digest}" if algorithm == "sha256" else f"{{{algorithm}}}", digest)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content.encode())
    report = corpusfmt.validate(folder)
    seen = [(each.severity, each.location.line, each.message) for each in report.findings]
    assert [(severity, line) for severity, line, _ in seen] == [each[:2] for each in found]
    assert all(message.startswith(each[2]) for (*_, message), each in zip(seen, found, strict=True))
    assert all(each.code == "MAN304" and each.location.path == name and each.hint for each in report.findings)
    assert report.coverage.checked["checksum list"] == 1


@pytest.mark.parametrize("sealed", [False, True])
def test_a_file_is_read_once_for_a_kind_of_digest_and_not_beyond_a_sample(
    sealed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "a" / name).write_text(f'{{"text":"{name}"}}\n', "utf-8")
    lines = "".join(f"{ZERO[:32]}  {name}\n" * 3 for name in ("a.jsonl", "b.jsonl"))
    (tmp_path / "a/MD5SUMS").write_text(lines + f"{ZERO[:40]}  a.jsonl\n", "utf-8")
    if sealed:
        corpusfmt.seal(tmp_path / "a")
    read: list[str] = []
    new = hashlib.new

    def noted(kind: str, **options: Any) -> Any:
        read.append(kind)
        return new(kind, **options)

    monkeypatch.setattr(hashlib, "new", noted)
    report = corpusfmt.validate(tmp_path / "a")
    assert (read, len(report.findings)) == (["md5", "md5", "sha1"], 7)
    read.clear()
    sampled = corpusfmt.validate(tmp_path / "a", sample=0.5)
    (seen,) = sampled.results["sample"]["shards"]
    assert read == (["md5", "sha1"] if seen == "a.jsonl" else ["md5"])


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("name", ["SHA256SUMS", "MD5SUMS", "af/af.md5"])
def test_a_format_with_lists_of_its_own_judges_only_those(name: str, sealed: bool, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "oscar/1.1/valid/warcinfo/input", tmp_path / "a")
    path = os.path.relpath("af/af.txt.gz", Path(name).parent)
    (tmp_path / "a" / name).write_text(f"{ZERO[: 64 if 'SHA' in name else 32]}  {path}\n", "utf-8")
    report = corpusfmt.seal(tmp_path / "a") if sealed else corpusfmt.validate(tmp_path / "a")
    assert ("MAN304", name) in errors(report)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("README.md", "---\nconfigs:\n- config_name: a\n  data_files: b*.jsonl\n---\n", "MAN305"),
        ("README.md", f"`a.jsonl` has the SHA-256 {ZERO}\n", "MAN305"),
        ("stats.json", '{"documents": 2}', "MAN302"),
        ("stats.json", '{"documents": 1}', ""),
    ],
)
def test_what_is_said_next_to_the_data_is_compared_with_them(
    name: str, content: str, code: str, tmp_path: Path
) -> None:
    (jsonl(tmp_path / "a", '{"text":"one"}') / name).write_text(content, "utf-8")
    assert errors(corpusfmt.validate(tmp_path / "a")) == ([(code, name)] if code else [])


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_reads_the_data(kind: str, tmp_path: Path) -> None:
    documents = [Document(str(number), f"Text {number}.", "web", "de") for number in range(3)]
    corpusfmt.write(documents, tmp_path / "a", to=kind, on_loss="allow")
    plain = [each.text for each in corpusfmt.read(tmp_path / "a")]
    counted = corpusfmt.stats(tmp_path / "a").to_dict()
    described(tmp_path / "a")
    assert [each.text for each in corpusfmt.read(tmp_path / "a")] == plain
    assert corpusfmt.stats(tmp_path / "a").to_dict() == counted
    assert corpusfmt.compare(tmp_path / "a", tmp_path / "a").as_json()["documents"]["same"] == 3
    corpusfmt.convert(tmp_path / "a", tmp_path / "b", to="jsonl", on_loss="allow")
    assert [each.text.strip() for each in corpusfmt.read(tmp_path / "b")] == [text.strip() for text in plain]
    assert b"Text 0." in run_cli("show", tmp_path / "a", "-n", "1").stdout


@pytest.mark.parametrize(
    ("profile", "kind", "status", "reason"),
    [
        ("hub", "text", 3, "none is for the rows of text files"),
        ("hub", "jsonl", 0, ""),
        ("neurips-2026", "jsonl", 3, "neurips-2026 is for Croissant descriptions, and there is none"),
        ("common-crawl", "text", 3, "common-crawl is for Croissant descriptions, and there is none"),
        ("strict", "text", 0, ""),
        ("letter", "jsonl", 0, ""),
    ],
)
def test_a_profile_that_judged_nothing_says_so(
    profile: str, kind: str, status: int, reason: str, tmp_path: Path
) -> None:
    corpusfmt.write([Document("a", "One text.", "web", "de")], tmp_path / "a", to=kind, on_loss="allow")
    for each in (tmp_path / "a").glob("*.*"):
        if each.name in {"croissant.json", "MANIFEST.json", "README.md"}:
            each.unlink()
    report = corpusfmt.validate(tmp_path / "a", profile=profile)
    assert report.verdict is (Verdict.INCOMPLETE if reason else Verdict.VALID)
    assert [why for _, _, why in report.coverage.gaps] == ([reason] if reason else [])
    done = run_cli("validate", tmp_path / "a", "--profile", profile)
    assert done.returncode == status
    assert reason in done.stdout.decode()


@pytest.mark.parametrize(
    "tables", [{"a.csv": "n,m\n1,2\n", "b.csv": "n,k\n1,2\n"}, {"a.jsonl": '{"n": 1}\n', "b.jsonl": '{"k": "x"}\n'}]
)
def test_a_description_does_not_hide_that_the_hub_cannot_load_tables(tables: dict[str, str], tmp_path: Path) -> None:
    for name, rows in tables.items():
        (tmp_path / name).write_text(rows)
    assert corpusfmt.validate(tmp_path, profile="hub").by_rule["HUB201"]
    described(tmp_path)
    report = corpusfmt.validate(tmp_path, profile="hub")
    reason = "hub judges tables only by their format: name it with --format"
    assert ([why for _, _, why in report.coverage.gaps], report.verdict) == ([reason], Verdict.INCOMPLETE)
    assert corpusfmt.validate(tmp_path / "croissant.json", profile="hub").verdict is Verdict.VALID
    assert corpusfmt.validate(tmp_path, profile="hub", format="jsonl").by_rule["HUB201"]


@pytest.mark.parametrize("suffix", ["gz", "zst", "xz", "bz2", "lz4"])
@pytest.mark.parametrize("damage", ["head", "start", "nothing", "large"])
def test_a_description_does_not_hide_that_nothing_can_be_decompressed(suffix: str, damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    corpusfmt.write([Document("1", "One text.", "web", "de")], folder, to="jsonl", on_loss="allow")
    (file,) = (folder / "data").iterdir()
    data = file.read_bytes()
    file.unlink()
    (folder / "MANIFEST.json").unlink()
    damaged = {"head": b"\xfe" + data[1:], "start": b"\xfe", "nothing": b"", "large": b"\xfe\0" * 4096}[damage]
    (folder / "data" / f"a.jsonl.{suffix}").write_bytes(damaged)
    report = corpusfmt.validate(folder)
    assert (report.format, report.verdict) == ("jsonl", Verdict.INVALID)
    assert report.by_rule["GEN101"]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)


@examples(20)
@example(kind="jsonl", texts=["0"], has_description=True, damage=0)
@example(kind="mc4", texts=["0"], has_description=True, damage=1)
@given(
    kind=st.sampled_from([*KINDS, "mc4"]),
    texts=st.lists(TEXTS, min_size=1, max_size=6),
    has_description=st.booleans(),
    damage=st.none() | st.integers(0, 10_000),
)
def test_what_is_valid_is_read_counted_and_described_alike(
    kind: str, texts: list[str], has_description: bool, damage: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("folder") / "a"
    if kind == "mc4":
        rows = ({"text": text, "timestamp": "2020-01-01T00:00:00Z", "url": "https://example.org"} for text in texts)
        folder.mkdir()
        with gzip.open(folder / "c4-de.tfrecord-00000-of-00001.json.gz", "wt", encoding="utf-8") as shard:
            shard.writelines(f"{json.dumps(row)}\n" for row in rows)
        if has_description:
            described(folder)
    else:
        documents = [Document(str(n), text, "web", "de") for n, text in enumerate(texts)]
        corpusfmt.write(documents, folder, to=kind, on_loss="allow")
    for name in ("MANIFEST.json", "README.md", *(() if has_description else ("croissant.json",))):
        (folder / name).unlink(missing_ok=True)
    if damage is not None:
        files = sorted(each for each in folder.rglob("*") if each.is_file())
        file = random.Random(damage).choice(files)
        data = bytearray(file.read_bytes())
        data[damage % len(data)] ^= 1 << damage % 8
        file.write_bytes(data)
    try:
        report = corpusfmt.validate(folder)
    except UsageError:
        return  # damaged beyond recognition
    if report.verdict is Verdict.VALID:
        count = report.coverage.documents
        assert sum(1 for _ in corpusfmt.read(folder)) == count
        assert corpusfmt.stats(folder).to_dict()["documents"] == count
        assert corpusfmt.describe(folder)["@type"] == "sc:Dataset"
        corpusfmt.convert(folder, folder.with_name("b"), to="jsonl", on_loss="allow")
        assert corpusfmt.validate(folder.with_name("b")).coverage.documents == count
    else:
        assert damage is not None, corpusfmt.render(report)


@pytest.mark.parametrize("option", ["dedup", "blocklist"])
def test_an_option_without_effect_is_refused(option: str, tmp_path: Path) -> None:
    folder = jsonl(tmp_path / "a", '{"text":"one"}')
    (tmp_path / "block").write_text("1\n", "utf-8")
    value: dict[str, Any] = {option: tmp_path / "block" if option == "blocklist" else True}
    with pytest.raises(UsageError, match=f"a is jsonl, and `{option}` applies only to"):
        corpusfmt.validate(folder, format="jsonl", **value)


def test_an_option_of_one_format_selects_it(tmp_path: Path) -> None:
    folder = jsonl(tmp_path / "a", '{"id":"1","text":"one"}')
    (tmp_path / "block").write_text("1\n", "utf-8")
    assert corpusfmt.validate(folder).format == "jsonl"
    report = corpusfmt.validate(folder, blocklist=tmp_path / "block")
    assert report.format == "dolma"
    assert ("DOL314", "a.jsonl") in errors(report)
    assert corpusfmt.validate(folder, dedup=True).format == "oscar"


@pytest.mark.parametrize("url", ["a.csv", "./a.csv"])
def test_a_folder_of_tables_is_judged_by_them(url: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.csv").write_text("text,n\none,1\n", "utf-8")
    description = described(tmp_path / "a") / "croissant.json"
    text = description.read_text("utf-8")
    description.write_text(text.replace('"contentUrl": "a.csv"', f'"contentUrl": "{url}"'), "utf-8")
    assert f'"contentUrl": "{url}"' in description.read_text("utf-8")
    report = corpusfmt.validate(tmp_path / "a")
    assert (report.format, report.verdict, report.coverage.documents) == ("croissant", Verdict.VALID, 1)
    (tmp_path / "a/a.csv").write_text("text,n\none,x\n", "utf-8")
    assert {code for code, _ in errors(corpusfmt.validate(tmp_path / "a"))} == {"CRO603", "CRO609"}
    assert corpusfmt.validate(tmp_path / "a/croissant.json").verdict is Verdict.VALID
