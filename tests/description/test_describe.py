"""Descriptions contain the files by digest, languages and fields; with the owner's options they are strictly valid."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from description.corpora import CORPORA, TABLES
from description.folders import Folder, write
from pyarrow import parquet
from support import LONG_LINE, gzipped, run_cli, tree, zstd

import corpusfmt
from corpusfmt.formats import named_format
from corpusfmt.formats.describing import Contents, language_in, patterns
from corpusfmt.model import BadInput, UsageError

DETAILS: dict[str, Any] = {
    "license": "https://opensource.org/license/mit",
    "creator": "Example",
    "url": "https://example.org/corpus",
    "date_published": "2024-01-31",
}
DOCUMENT: dict[str, Any] = {"id": "1", "text": LONG_LINE, "source": "test"}


def dolma(root: Path, files: dict[str, list[dict[str, Any]]]) -> Path:
    for name, rows in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzipped(b"".join(json.dumps(row).encode() + b"\n" for row in rows)))
    return root


def fields_of(description: dict[str, Any], record_set: str) -> dict[str, str]:
    (found,) = (each for each in description["recordSet"] if each["name"] == record_set)
    return {field["name"]: field["dataType"] for field in found["field"]}


def includes_of(description: dict[str, Any]) -> list[Any]:
    return [each["includes"] for each in description["distribution"] if each["@type"] == "cr:FileSet"]


@pytest.mark.parametrize("version", ["oscar-1.0", "oscar-1.1", "dolma"])
def test_a_description_is_valid_to_the_letter_and_true_of_the_data(
    version: str, oscar_corpus: Path, dolma_corpus: Path, tmp_path: Path
) -> None:
    corpus = {"oscar-1.1": oscar_corpus, "dolma": dolma_corpus, "oscar-1.0": tmp_path / "corpus"}[version]
    if version == "oscar-1.0":
        corpusfmt.convert(oscar_corpus, corpus, to=version, on_loss="allow")
    description = corpusfmt.describe(corpus, base=corpus, **DETAILS)
    described = {each["contentUrl"]: each for each in description["distribution"] if "contentUrl" in each}
    for path, data in tree(corpus).items():
        if path.endswith(".gz"):
            facts = described.pop(path)
            assert facts["sha256"] == hashlib.sha256(data).hexdigest()
            assert facts["contentSize"] == f"{len(data)} B"
    assert not described
    if version != "dolma":  # languages of the folders, as tags
        assert {"af", "de", "my"} <= set(description["inLanguage"])
        assert "als" not in description["inLanguage"]
    folder = Path(shutil.copytree(corpus, tmp_path / "copy"))
    (folder / "croissant.json").write_text(json.dumps(description))
    for profile in ("strict", "standard"):
        report = corpusfmt.validate(folder / "croissant.json", profile=profile, data=True)
        assert report.counts["error"] == 0, corpusfmt.render(report)
    assert {"CRO214", "CRO217", "CRO218", "CRO219"}.isdisjoint(report.by_rule)


def test_languages_and_fields_are_those_of_every_document(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        DOCUMENT,
        DOCUMENT | {"id": "2", "metadata": {"language": "fr", "url": "https://example.org"}},
    ]
    other = DOCUMENT | {"id": "3", "created": "2020-01-31", "metadata": {"language": "en"}}
    corpus = dolma(tmp_path, {"documents/a/0.jsonl.gz": rows, "documents/1.jsonl.gz": [other]})
    description = corpusfmt.describe(corpus, jobs=2)
    assert description["inLanguage"] == ["en", "fr"]
    assert fields_of(description, "documents") == {
        "id": "sc:Text",
        "text": "sc:Text",
        "source": "sc:Text",
        "language": "sc:Text",
        "url": "sc:URL",
    }
    evidence: list[Any] = []
    corpusfmt.describe(corpus, evidence=evidence.append)
    assert ["`created` is not described" in each for each in evidence[0]["notes"]] == [True]
    assert includes_of(description) == [["documents/*.jsonl.gz", "documents/a/*.jsonl.gz"]]


def test_a_column_profile_explains_fields_and_names_languages(tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    of_madlad, of_pajama = "deu_Latn/clean_docs_v2-00000-of-00001.jsonl.gz", "part.jsonl.gz"
    row = {"text": LONG_LINE, "meta": {"url": "http://a.org/1", "timestamp": "2020-01-31", "language": "en"}}
    for name, rows, language in (
        (of_madlad, [{"text": LONG_LINE}], ["deu"]),
        (of_pajama, [row | {"red_pajama_subset": "common_crawl"}], None),
    ):
        corpus = dolma(root / name[:3], {name: rows})
        description = corpusfmt.describe(corpus, base=corpus, **DETAILS)
        assert description.get("inLanguage") == language
        (records,) = description["recordSet"]
        fields = {each["name"]: each for each in records["field"]}
        assert fields["text"]["description"] == "Text of the document"
        (corpus / "croissant.json").write_text(json.dumps(description))
        report = corpusfmt.validate(corpus / "croissant.json", profile="strict", data=True)
        assert report.counts["error"] == 0, corpusfmt.render(report)
    inner = {each["name"]: each["description"] for each in fields["meta"]["subField"]}
    assert inner["url"] == "Address of the document"
    named = corpusfmt.describe(corpus, field={"text": "red_pajama_subset"}, columns="pile")["recordSet"][0]["field"]
    assert [each["name"] for each in named if each["description"] == "Text of the document"] == ["red_pajama_subset"]
    with pytest.raises(UsageError, match="unknown column profile"):
        corpusfmt.describe(corpus, columns="nope")


def test_details_are_called_as_in_the_command(tmp_path: Path) -> None:
    corpus = dolma(tmp_path, {"documents/0.jsonl.gz": [DOCUMENT]})
    (tmp_path / "croissant.json").unlink(missing_ok=True)
    details: dict[str, Any] = {
        "name": "a",
        "description": "b",
        "license": "https://opensource.org/license/mit",
        "creator": ["c", "d"],
        "publisher": "e",
        "url": "https://example.org",
        "dataset_version": "1.0.0",
        "date_published": "2024-01-31",
        "cite_as": "f",
        "keyword": ["g", "h"],
        "in_language": "br",
    }
    options = [
        f"--{name.replace('_', '-')}={each}"
        for name, value in details.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    done = run_cli("describe", corpus, *options)
    assert (done.returncode, done.stderr) == (0, b"")
    described = corpusfmt.describe(corpus, **details | {"date_published": dt.date(2024, 1, 31)})
    assert described == json.loads(done.stdout)
    assert [each["name"] for each in described["creator"]] == ["c", "d"]
    rare: Any = {"date_created": "2023-01-31", "same_as": "https://example.com", "sd_license": "https://example.org/sd"}
    assert corpusfmt.describe(corpus, **details, **rare)["dateCreated"] == "2023-01-31"


def test_a_detail_that_there_is_not_or_that_cannot_be(tmp_path: Path) -> None:
    corpus = dolma(tmp_path, {"documents/0.jsonl.gz": [DOCUMENT]})
    for name in ("nmae", "datePublished", "version"):
        with pytest.raises(TypeError, match=f"nexpected keyword argument '{name}'"):
            corpusfmt.describe(corpus, **{name: "x"})  # type: ignore[arg-type]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"date_published": "soon"}, "`date_published` is 'soon', expected a date like 2024-01-31"),
        ({"name": 5}, "`name` is 5, expected a text"),
        ({"creator": [5]}, r"`creator` is \[5\], expected texts"),
    ]
    for details, message in wrong:
        with pytest.raises(UsageError, match=message):
            corpusfmt.describe(corpus, **details)


def test_languages_that_are_given_win(tmp_path: Path) -> None:
    corpus = dolma(tmp_path, {"documents/0.jsonl.gz": [DOCUMENT | {"metadata": {"language": "fr"}}]})
    assert corpusfmt.describe(corpus, in_language=["br"])["inLanguage"] == ["br"]
    assert "inLanguage" not in corpusfmt.describe(dolma(tmp_path / "none", {"documents/0.jsonl.gz": [DOCUMENT]}))


def test_attributes_files_are_listed_but_are_no_documents(tmp_path: Path) -> None:
    attributes = {"id": "1", "attributes": {"pii__pii__email": []}}
    corpus = dolma(tmp_path, {"documents/0.jsonl.gz": [DOCUMENT], "attributes/pii/0.jsonl.gz": [attributes]})
    description = corpusfmt.describe(corpus)
    names = [each["name"] for each in description["distribution"] if each["@type"] == "cr:FileObject"]
    assert names == ["attributes/pii/0.jsonl.gz", "documents/0.jsonl.gz"]
    assert includes_of(description) == ["documents/*.jsonl.gz"]


@pytest.mark.parametrize(
    ("rows", "types", "note"),
    [
        ([{"id": 1, "text": "a", "label": 0}], {"id": "sc:Integer", "text": "sc:Text", "label": "sc:Integer"}, None),
        ([DOCUMENT | {"label": 0}], {"label": "sc:Integer", "text": "sc:Text"}, "`label` is none of its fields"),
        ([{"id": "1", "text": None}, {"id": "2", "text": "b"}], {"id": "sc:Text", "text": "sc:Text"}, None),
        (
            [DOCUMENT | {"source": 3}],
            {"source": "sc:Integer", "text": "sc:Text"},
            "0.jsonl.gz:1: `source` is `3`, expected a string",
        ),
        (
            [DOCUMENT, {"id": 2, "text": "", "source": "x"}],
            {"id": "sc:Text", "source": "sc:Text"},
            "`id` is `2`, expected a string",
        ),
    ],
)
def test_rows_that_are_like_dolma_keep_all_their_columns(
    rows: list[dict[str, Any]], types: dict[str, str], note: str | None, tmp_path: Path
) -> None:
    corpus = dolma(tmp_path / "corpus", {"0.jsonl.gz": rows})
    evidence: list[Any] = []
    (records,) = corpusfmt.describe(corpus, evidence=evidence.append)["recordSet"]
    assert {each["name"]: each["dataType"] for each in records["field"]}.items() >= types.items()
    if note is not None:
        assert any(each.startswith("described as any folder, not as dolma") for each in evidence[0]["notes"])
        assert note in evidence[0]["notes"][-1]
        with pytest.raises(BadInput) if "expected" in note else nullcontext():
            described = corpusfmt.describe(corpus, evidence=evidence.append, format="dolma")
            assert [each["name"] for each in described["recordSet"]] == ["documents"]
            assert "`--format jsonl` describes all" in evidence[1]["notes"][-1]
    assert checked(corpus, tmp_path) == {}
    with pytest.raises(UsageError, match="`format` is croissant, whose"):
        corpusfmt.describe(corpus, format="croissant")


def test_a_folder_without_data_is_not_described(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    with pytest.raises(UsageError, match="no dolma data"):
        corpusfmt.describe(tmp_path)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["af/af.txt.gz", "de/de.txt.gz"], ["*/*.txt.gz"]),
        (["af/af_part_1.txt.gz", "af/af_part_2.txt.gz"], ["af/*.txt.gz"]),
        (["af.txt.gz"], ["*.txt.gz"]),
        (["documents/a.json.gz", "documents/b.jsonl.zst"], ["documents/*.json.gz", "documents/*.jsonl.zst"]),
        (["documents/v1.5/a.jsonl"], ["documents/v1.5/*.jsonl"]),
        (["a[1]/a.jsonl"], ["*/*.jsonl"]),
        (["aX/a.jsonl"], ["aX/*.jsonl"]),
        (["plain"], ["*"]),
        ([], []),
    ],
)
def test_patterns(paths: list[str], expected: list[str]) -> None:
    assert patterns(paths) == expected


SETTINGS = """
[describe]
name = "corpus of the file"
description = "What it is"
license = "https://opensource.org/license/mit"
creator = ["One", "Two"]
publisher = ["Three"]
url = "https://example.org/corpus"
dataset-version = "1.2.0"
date-published = 2024-01-31
date-created = "2023-12-24"
date-modified = 2024-02-29
cite-as = "One and Two (2024)"
keyword = ["text", "web"]
same-as = ["https://example.org/mirror"]
sd-license = "https://creativecommons.org/publicdomain/zero/1.0/"
"""


def test_settings_of_a_file_are_overruled_by_options(tmp_path: Path) -> None:
    corpus = dolma(tmp_path / "d", {"documents/0.jsonl.gz": [DOCUMENT | {"metadata": {"language": "fr"}}]})
    (tmp_path / "corpusfmt.toml").write_text(SETTINGS)
    output = tmp_path / "croissant.json"
    options = ("--name", "corpus of the option", "--creator", "Four", "--date-published", "2024-03-01")
    done = run_cli("describe", corpus, "--config", tmp_path / "corpusfmt.toml", "-o", output, *options)
    written = f"2 resources, 1 record set -> {output}\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", written)
    described = json.loads(output.read_bytes())
    assert described["name"] == "corpus of the option"
    assert [creator["name"] for creator in described["creator"]] == ["Four"]
    assert described["datePublished"] == "2024-03-01"
    assert described["dateCreated"] == "2023-12-24"
    assert described["keywords"] == ["text", "web"]
    assert includes_of(described) == ["d/documents/*.jsonl.gz"]
    report = corpusfmt.validate(output, profile="strict", data=True)
    assert report.by_rule == {}


def test_what_the_owner_must_still_say_is_named(tmp_path: Path) -> None:
    corpus = dolma(tmp_path, {"documents/0.jsonl.gz": [DOCUMENT]})
    done = run_cli("describe", corpus, "--url", "https://example.org")
    assert done.returncode == 0
    assert done.stderr == b"required by Croissant but missing: license, creator, datePublished\n"
    assert json.loads(done.stdout)["url"] == "https://example.org"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[describe]\nlicence = 'x'\n", "unknown field `licence`"),
        ("[describe]\ncreator = 'x'\n", "`describe.creator`"),
        ("[describe]\ndate-published = 'soon'\n", "`describe.date-published`"),
    ],
)
def test_wrong_details_are_refused(settings: str, said: str, tmp_path: Path) -> None:
    corpus = dolma(tmp_path / "d", {"documents/0.jsonl.gz": [DOCUMENT]})
    (tmp_path / "corpusfmt.toml").write_text(settings)
    done = run_cli("describe", corpus, "--config", tmp_path / "corpusfmt.toml")
    assert done.returncode == 2
    assert said in done.stderr.decode()


@pytest.mark.parametrize("date", ["foo", "2024-13-01", "31.01.2024", "2024-01-31T00:00:00Z"])
def test_a_date_of_another_form_is_told_by_its_option(date: str, dolma_corpus: Path) -> None:
    done = run_cli("describe", dolma_corpus, "--date-published", date)
    message = f"error: --date-published is {date!r}, expected a date like 2024-01-31\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", message)


@pytest.mark.parametrize(("version", "warned"), [("foo", True), ("1.0", True), ("1.0.0", False), ("2.1.0-rc.1", False)])
def test_a_version_that_is_not_semantic_is_written_with_a_warning(
    version: str, warned: bool, dolma_corpus: Path
) -> None:
    done = run_cli("describe", dolma_corpus, "--dataset-version", version)
    assert (done.returncode, json.loads(done.stdout)["version"]) == (0, version)
    assert (f"version is `{version}`; Croissant recommends" in done.stderr.decode()) is warned


def checked(corpus: Path, folder: Path) -> dict[str, int]:
    """Describe a corpus from a folder above, and return the errors of the description and its data."""
    (folder / "croissant.json").write_text(json.dumps(corpusfmt.describe(corpus, base=folder)))
    report = corpusfmt.validate(folder / "croissant.json", data=True)
    return {each.code: each.count for each in report.findings if each.severity == "error"}


@pytest.mark.parametrize(
    ("property_", "value", "kind"),
    [
        ("added", "07/04/2023", "sc:Text"),
        ("created", "soon", "sc:Text"),
        ("url", "an address", "sc:Text"),
        ("language", {"id": "br"}, None),
        ("url", ["https://example.org"], None),
        ("url", "https://example.org", "sc:URL"),
    ],
)
def test_a_field_has_the_type_that_all_its_values_are_of(
    property_: str, value: Any, kind: str | None, tmp_path: Path
) -> None:
    inside = {"metadata": {property_: value}} if property_ in {"language", "url"} else {property_: value}
    rows = [{**DOCUMENT, "id": name, **more} for name, more in (("0", {}), ("1", inside))]
    corpus = dolma(tmp_path / "corpus", {"documents/0.jsonl.gz": rows})
    fields = fields_of(corpusfmt.describe(corpus), "documents")
    assert fields.get(property_) == kind
    assert checked(corpus, tmp_path) == {}


def test_tables_of_different_columns_are_record_sets_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for name, columns in (
        ("a", {"id": ["1"], "text": ["x"], "n": [1]}),
        ("b", {"text": ["y"], "n": ["1"]}),
        ("c", {"text": ["z"], "n": [1]}),
    ):
        parquet.write_table(pa.table(columns), tmp_path / "corpus" / f"{name}.parquet")
    description = corpusfmt.describe(tmp_path / "corpus")
    assert fields_of(description, "a") == {"id": "sc:Text", "text": "sc:Text", "n": "sc:Integer"}
    assert fields_of(description, "records") == {"text": "sc:Text", "n": "sc:Text", "file": "sc:Text"}
    assert checked(tmp_path / "corpus", tmp_path) == {}


def test_identifiers_are_iris_whatever_files_are_called(tmp_path: Path) -> None:
    names = ("a b", "part{1}", "100%", "x|y", "\u3000")
    corpus = dolma(tmp_path / "corpus", {f"documents/{name}.jsonl.gz": [{**DOCUMENT, "id": name}] for name in names})
    ids = {
        each["@id"]: each["contentUrl"] for each in corpusfmt.describe(corpus)["distribution"] if "contentUrl" in each
    }
    assert ids["documents/part%7B1%7D.jsonl.gz"] == "documents/part{1}.jsonl.gz"
    assert len(ids) == len(names)
    assert checked(corpus, tmp_path) == {}


def test_a_table_whose_names_are_not_utf_8_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["x"], "naïve": [1]}), path)
    path.write_bytes(path.read_bytes().replace("naïve".encode(), b"na\xff\xffve"))
    evidence: list[Any] = []
    description = corpusfmt.describe(path, evidence=evidence.append)
    assert description["recordSet"] == []
    assert "no records: the Parquet file does not read to its end" in evidence[0]["notes"][0]


def test_an_unusual_suffix_of_zstd_is_zstd(tmp_path: Path) -> None:
    path = tmp_path / "corpus/documents/a.jsonl.zstd"
    path.parent.mkdir(parents=True)
    path.write_bytes(zstd.compress(json.dumps(DOCUMENT).encode() + b"\n"))
    assert checked(tmp_path / "corpus", tmp_path) == {}
    (described,) = (
        each for each in corpusfmt.describe(tmp_path / "corpus")["distribution"] if each["@type"] == "cr:FileObject"
    )
    assert described["encodingFormat"] == "application/zstd"


@pytest.mark.parametrize("name", ["af.txt.gz", "af_part_1.txt.gz", "af_meta.jsonl.gz", "af_dedup.txt.gz"])
def test_the_language_that_a_file_is_named_for(name: str) -> None:
    assert language_in(f"corpus/{name}") == "af"


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("oscar-1.0", "af/af.txt.gz", {}),
        ("oscar-1.1", "af/af_meta.jsonl.gz", {"metadata": "record_id url date offset nb_sentences"}),
        ("oscar-22.01", "af_meta/af_meta.jsonl.gz",
         {"documents": "content record_id url date language confidence"}),
    ],
)  # fmt: skip
def test_the_fields_of_oscar(name: str, path: str, expected: dict[str, str]) -> None:
    fmt, version = named_format(name)
    record_sets = fmt.describers[version].record_sets([path], Contents())
    found = {each.name: " ".join(field.name for field in each.fields) for each in record_sets if each.includes}
    assert found == expected


@pytest.mark.parametrize("name", TABLES)
def test_what_mlcroissant_fails_on_is_left_out_with_a_note(name: str, tmp_path: Path) -> None:
    files, notes = TABLES[name]
    evidence: list[Any] = []
    write(Folder(files, {}), tmp_path / "corpus")
    corpusfmt.describe(tmp_path / "corpus", evidence=evidence.append)
    found = evidence[0]["notes"]
    assert len(found) == len(notes)
    assert [note for note in notes if not any(note in each for each in found)] == []


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("dolma.zst", "mlcroissant 1.1.1 does not read documents/a.jsonl.zst: compress all files with gzip"),
        ("dolma with a large number", "mlcroissant 1.1.1 reads no number of more than 64 bits: write it as a text"),
    ],
)
def test_a_corpus_that_mlcroissant_does_not_load_is_described_by_its_files(
    name: str, note: str, tmp_path: Path
) -> None:
    write(Folder(CORPORA[name], {}), tmp_path / "corpus")
    evidence: list[Any] = []
    (files,) = corpusfmt.describe(tmp_path / "corpus", evidence=evidence.append)["recordSet"]
    assert evidence[0]["notes"] == [f"one record for each file, none for a document: {note}"]
    assert files["data"] == [{"files/file": path} for path in CORPORA[name]]
    assert {each["name"] for each in files["annotation"]} == {"count", "documents"}
    assert checked(tmp_path / "corpus", tmp_path) == {}


def test_metadata_that_is_no_json_is_not_described(tmp_path: Path) -> None:
    files = {"de/de.txt.gz": gzipped(b"x\n\n"), "de/de_meta.jsonl.gz": gzipped(b"nope\n")}
    write(Folder(files, {}), tmp_path)
    with pytest.raises(BadInput, match=r"de_meta\.jsonl\.gz:1"):
        corpusfmt.describe(tmp_path)


@pytest.mark.parametrize("name", ["croissant.json", "other.json"])
def test_what_an_earlier_run_wrote_is_not_described(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,v\n1,x\n")
    described = []
    for _ in range(2):
        done = run_cli("describe", ".", "-o", name, "--evidence", "why.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        described.append((tmp_path / name).read_bytes())
    assert described[0] == described[1]
    assert run_cli("validate", name, "--data", "--format", "croissant", cwd=tmp_path).returncode == 0
    done = run_cli("describe", ".", "-o", name, "--evidence", name, cwd=tmp_path)
    assert (done.returncode, (tmp_path / name).read_bytes()) == (2, described[0])


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % (b"0f" * 32)


@pytest.mark.parametrize(
    ("files", "encoding"),
    [
        ({"a.jsonl": POINTER}, "application/jsonlines"),
        ({"a.jsonl.gz": POINTER, "README.md": b"---\nlicense: mit\n---\n"}, "application/jsonlines"),
        ({"b.jsonl": b'{"text":"x"}\n', "a.txt": POINTER}, "text/plain"),
        ({"documents/b.jsonl.gz": gzipped(b'{"id":"1","text":"x","source":"s"}\n'), "a.png": POINTER}, "image/png"),
        ({"documents/a.jsonl": b'{"id":"1","text":"x","source":"s"}\n', "documents/b.jsonl": POINTER}, "application/jsonlines"),
        ({"data/a.parquet": POINTER}, "application/x-parquet"),
        ({"de/de.txt.gz": POINTER}, "application/gzip"),
        ({"a.bin": POINTER}, "application/octet-stream"),
    ],
)  # fmt: skip
def test_a_pointer_has_the_digest_and_size_of_the_data(files: dict[str, bytes], encoding: str, tmp_path: Path) -> None:
    write(Folder(files, {}), tmp_path)
    evidence: list[Any] = []
    described = corpusfmt.describe(tmp_path, evidence=evidence.append)
    (path,) = (name for name, data in files.items() if data == POINTER)
    (found,) = (each for each in described["distribution"] if each.get("contentUrl") == path)
    assert (found["contentSize"], found["sha256"], found["encodingFormat"]) == ("12345 B", "0f" * 32, encoding)
    assert f"{path}: no records: a pointer of Git LFS; run `git lfs pull` for them" in evidence[0]["notes"]


def test_a_pointer_without_a_digest_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"# xet version 0\n")
    done = run_cli("describe", tmp_path)
    message = "a.jsonl: GEN105 the file is a pointer of Xet, expected data\n"
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(message)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b'["a", "b"]', "JSL201 the row is an array, expected an object"),
        (b'{"text": ', "GEN301 not one JSON value"),
        (b'{"text": "\xff"}', "GEN201 not UTF-8"),
    ],
)
def test_a_row_that_is_none_is_a_finding(row: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"x"}\n' + row + b'\n{"text":"y"}\n')
    with pytest.raises(BadInput, match=rf"a\.jsonl:2(:\d+)?: {message}"):
        corpusfmt.describe(tmp_path)


def test_good_rows_that_are_not_described_are_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"x"}\n{"text":"y","n":%d}\n' % 2**70)
    evidence: list[dict[str, Any]] = []
    assert corpusfmt.describe(tmp_path, evidence=evidence.append)["recordSet"] == []
    assert evidence[0]["notes"][0].startswith("a.jsonl: no records: mlcroissant 1.1.1 reads no number")
