"""A datasheet states what is counted, what is not, who checked it and what it was made of; nothing in the data becomes markup."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import document, write_rows
from support import Page, gzipped, run_cli

import corpusfmt
from corpusfmt.datasheets import eu

PARTS = (
    *("What it is", "Verdict", "How much", "Languages", "Lengths"),
    *("Domains", "Dates", "Repetition", "Scripts", "Samples", "Provenance"),
)


def written(corpus: Path, folder: Path, *arguments: str | Path, status: int = 0) -> Page:
    done = run_cli("datasheet", corpus, "-o", folder / "datasheet.html", *arguments)
    assert (done.returncode, done.stderr) == (status, b"")
    page = Page((folder / "datasheet.html").read_text("utf-8"))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    return page


def text_of(page: Page) -> str:
    return "\n".join(text for path, texts in page.texts.items() if "/body" in path for text in texts)


@pytest.fixture(scope="module")
def of_oscar(oscar_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return written(oscar_corpus, tmp_path_factory.mktemp("datasheet"))


def test_the_numbers_are_those_of_stats(of_oscar: Page, oscar_corpus: Path) -> None:
    found = corpusfmt.stats(oscar_corpus)
    assert of_oscar.texts["html/body/main/section/h2"] == [*PARTS]
    assert of_oscar.texts["html/body/main/dl/div/dt"][:3] == ["documents", "text", "words"]
    assert of_oscar.texts["html/body/main/dl/div/dd"][0] == f"{found.total.documents:,}"
    assert f"Show all {len(found.by_language)}" in "".join(of_oscar.texts["html/body/main/section/div/label"])
    how_much = [f"{getattr(found.total, unit):,}" for unit in ("documents", "lines", "words", "characters", "bytes")]
    listed = of_oscar.texts["html/body/main/section/dl/dd"]
    assert [each for each in listed if each in how_much] == [*how_much, how_much[0]], (
        "and the documents of the manifest"
    )
    rows = of_oscar.texts["html/body/main/section/div/table/tbody/tr/th"]
    languages = list(found.by_language)
    assert [each for each in rows if each in found.by_language] == languages
    assert f"{found.by_language['de'].bytes:,}" in of_oscar.texts["html/body/main/section/div/table/tbody/tr/td"]


def test_charts_are_drawn_of_all_documents_and_have_their_numbers_in_a_table(of_oscar: Page) -> None:
    captions = of_oscar.texts["html/body/main/section/figure/figcaption"]
    assert len(captions) == 4, "lines, words, characters, months"
    assert all(each.startswith("171 documents. ") for each in captions)
    cells = of_oscar.texts["html/body/main/section/figure/details/div/table/tbody/tr/td"]
    assert sum(int(each) for each in cells) == 4 * 171
    charts = [attributes for tag, attributes in of_oscar.tags if tag == "svg" and attributes.get("role") == "img"]
    assert all((each["aria-label"] or "").startswith("Documents by ") for each in charts)
    assert len(charts) == 4


def test_it_requests_nothing(of_oscar: Page) -> None:
    allowed = {tag: attributes["content"] for tag, attributes in of_oscar.tags if "http-equiv" in attributes}
    assert (allowed["meta"] or "").startswith("default-src 'none'; script-src 'sha256-")
    names = {name for _, attributes in of_oscar.tags for name in attributes}
    assert not names & {"src", "srcset", "action", "data", "style"}
    links = {attributes["href"] for _, attributes in of_oscar.tags if "href" in attributes}
    assert all((each or "").startswith("#") for each in links)


def test_the_same_corpus_gives_the_same_bytes(of_oscar: Page, oscar_corpus: Path, tmp_path: Path) -> None:
    again = written(oscar_corpus, tmp_path, "--jobs", "2")
    assert (again.texts, again.tags) == (of_oscar.texts, of_oscar.tags)


def test_samples_are_documents_of_their_language(of_oscar: Page, oscar_corpus: Path, tmp_path: Path) -> None:
    shown = of_oscar.texts["html/body/main/section/details/p/code"]
    by_id = {each.id: each for each in corpusfmt.read(oscar_corpus)}
    assert len(set(shown)) == len(shown) > 76 / 2
    languages = [each for each in of_oscar.texts["html/body/main/section/details/summary"] if each != "Numbers"]
    assert set(languages) == {by_id[each].lang for each in shown}
    lines = of_oscar.texts["html/body/main/section/details/summary/bdi"]
    assert len(lines) == len(languages), "the first line of each"
    tags = [attributes for tag, attributes in of_oscar.tags if tag == "blockquote"]
    assert {each.get("dir") for each in tags} == {"auto"}
    assert "Samples" not in written(oscar_corpus, tmp_path, "--samples", "0").texts["html/body/main/section/h2"]


def test_the_verdict_is_that_of_the_report_or_of_the_release(oscar_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "oscar"
    shutil.copytree(oscar_corpus, corpus)
    assert "No verdict is known" in text_of(written(corpus, tmp_path))
    assert run_cli("seal", corpus, "--attest").returncode == 0
    page = written(corpus, tmp_path)
    assert page.texts["html/body/main/section/p/strong"] == ["valid"]
    assert "MANIFEST.verification.json" in page.texts["html/body/main/section/p/code"]
    assert "tree · sha256: " in text_of(page)
    report = tmp_path / "report.json"
    (corpus / "de/de.txt.gz").write_bytes(b"")
    run_cli("validate", corpus, "--output-format", "json", "--report", f"json={report}")
    page = written(oscar_corpus, tmp_path, "--verdict", report)
    assert page.texts["html/body/main/section/p/strong"] == ["invalid"]
    assert "INVALID: " in text_of(page)


def test_a_summary_of_another_release_is_no_verdict(oscar_corpus: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        shutil.copytree(oscar_corpus, tmp_path / name)
    (tmp_path / "other/README.md").write_bytes(b"# Other\n")
    assert run_cli("seal", tmp_path / "other", "--attest").returncode == 0
    shutil.copy(tmp_path / "other/MANIFEST.verification.json", tmp_path / "one")
    text = text_of(written(tmp_path / "one", tmp_path))
    assert "No verdict is known" in text
    assert "MANIFEST.verification.json: MAN" in text


def test_every_chart_says_what_a_broken_shard_lacks(tmp_path: Path) -> None:
    row: dict[str, Any] = {"metadata": {"language": "de", "language_score": 0.9}, "created": "2020-01-02"}
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [document(1, **row), document(2, **row)])
    whole = gzipped(b"".join(json.dumps(document(number, **row)).encode() + b"\n" for number in range(3, 400)))
    (tmp_path / "in/documents/b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    page = written(tmp_path / "in", tmp_path, "--eu", status=3)
    lacks = "only 1 of 2 shards could be read to the end, and what is in the rest of the others is unknown"  # fmt: skip
    (note,) = (attributes for tag, attributes in page.tags if attributes.get("role") == "note")
    assert note["class"] == "partly"
    charts = [tag for tag, attributes in page.tags if attributes.get("role") == "img"]
    captions = page.texts["html/body/main/section/figure/figcaption"]
    assert len(captions) == len(charts) == 5, "three lengths, months, scores"
    tables = [each for each in page.texts["html/body/main/section/p"] if "Not everything" in each]
    assert len(tables) == 4, "sources, languages, repeats, scripts"
    assert all(each.endswith(f"Not everything is counted: {lacks}.") for each in [*captions, *tables])
    (missing,) = page.texts["html/body/main/section/ul/li"][-1:]
    assert missing.startswith("documents/b.jsonl.gz:")
    assert missing.endswith("; what follows is not counted")
    assert f"not counted,{lacks}".replace(f"{lacks}", f'"{lacks}"') in (tmp_path / "datasheet.eu.csv").read_text(
        "utf-8"
    )


def test_records_that_are_no_documents_are_stated(tmp_path: Path) -> None:
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [document(1), {"id": "2"}])
    page = written(tmp_path / "in", tmp_path, status=1)
    assert "1 record could not be read as documents" in text_of(page)
    assert page.texts["html/body/main/section/ul/li"] == ["documents/a.jsonl.gz:2: DOL304 `text` is missing"]


def test_a_language_that_is_called_none_does_not_hide_what_has_none(tmp_path: Path) -> None:
    rows = [document(1, metadata={}, created="2020-01-02"), document(2, "none", created="the year 2020")]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", rows)
    page = written(tmp_path / "in", tmp_path)
    assert page.texts["html/body/main/section/div/table/tbody/tr/th"].count("none") == 2
    assert "1 document without a date of ISO 8601." in text_of(page)


HOSTILE = "</svg></blockquote><script>alert(1)</script>\"'|\u202e`x`\n::error::"
ELEMENTS = (
    {"html", "head", "meta", "title", "style", "script", "body", "main", "section", "nav", "h1", "h2", "h3", "p", "a"}
    | {"code", "strong", "dl", "dt", "dd", "ul", "li", "div", "table", "thead", "tbody", "tr", "th", "td", "svg"}
    | {"span", "bdi", "rect", "line", "text", "figure", "figcaption", "details", "summary", "blockquote"}
)


def test_nothing_in_the_data_becomes_markup(tmp_path: Path) -> None:
    corpus = tmp_path / "in"
    known: dict[str, Any] = {"source": HOSTILE, "metadata": {"language": HOSTILE, "dump": HOSTILE}, "added": HOSTILE}
    write_rows(corpus / "documents/a.jsonl.gz", [{"id": f"{HOSTILE}{n}", "text": HOSTILE, **known} for n in range(3)])
    described = dict.fromkeys(("name", "description", "license", "version", "url"), HOSTILE)
    (corpus / "croissant.json").write_text(json.dumps(described), "utf-8")
    corpusfmt.seal(corpus)
    manifest = json.loads((corpus / "MANIFEST.json").read_bytes())
    manifest |= {"recipe": {HOSTILE: HOSTILE}, "inputs": [{"name": HOSTILE, "size": 1}, HOSTILE, None]}
    (corpus / "MANIFEST.json").write_text(json.dumps(manifest), "utf-8")
    report = tmp_path / "report.json"
    run_cli("validate", corpus, "--report", f"json={report}")
    page = written(corpus, tmp_path, "--eu", "--verdict", report)
    tags = [tag for tag, _ in page.tags]
    assert set(tags) <= ELEMENTS
    assert tags.count("script") == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    for name in ("datasheet.html", "datasheet.eu.md", "datasheet.eu.csv"):
        shown = (tmp_path / name).read_text("utf-8")
        assert "\u202e" not in shown
        assert name.endswith("html") or "\n::error::" not in shown


def test_the_fields_of_the_public_summary_are_filled_or_marked(tmp_path: Path) -> None:
    rows = [
        document(
            1, source="=cmd()", created="2020-03-01T00:00:00Z", metadata={"language": "de", "dump": "CC-MAIN-2020-10"}
        ),
        document(2, source="wiki", created="2021-05-02", metadata={"language": "de"}),
    ]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", rows)
    written(tmp_path / "in", tmp_path, "--eu")
    with (tmp_path / "datasheet.eu.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    values = {(each["section"], each["field"]): each["value"] for each in found}
    assert [field for (section, field) in values if section == "2.1" and field[0].isupper()] == [
        "Have you used publicly available datasets to train the model?",
        "Modality(ies) of the content covered by the datasets concerned",
        "List of large publicly available datasets",
        "General description of other publicly available datasets not listed above",
        "Additional comments (optional)",
    ]
    assert [field for (section, field) in values if section == "2.3" and field[0].isupper()] == [
        "Were crawlers used by the provider or on behalf of?",
        "Crawler name(s)/identifier(s)",
        "Purposes of the crawler(s)",
        "General description of crawler behaviour",
        "Period of data collection",
        "Comprehensive description of the type of content and online sources crawled",
        "Type of modality covered",
        "Summary of the most relevant domain names crawled",
        "Additional comments (optional)",
    ]
    assert values["2.1", "List of large publicly available datasets"] == "in"
    assert values["2.1", "Modality(ies) of the content covered by the datasets concerned"] == "text"
    assert values["2.1", "snapshot of Common Crawl"] == "CC-MAIN-2020-10"
    assert values["2.1", "period of data collection"] == "2020-03 to 2021-05, by the dates of documents"
    assert values["2.3", "Period of data collection"] == values["2.1", "period of data collection"]
    assert {each["value"] for each in found if each["field"] == "source"} == {"'=cmd()", "wiki"}, "no formula"
    unfilled = {field for (_, field), value in values.items() if value == "[to be filled in]"}
    assert {"version", "licence", "link", "Crawler name(s)/identifier(s)", "Purposes of the crawler(s)"} <= unfilled
    shown = (tmp_path / "datasheet.eu.md").read_text("utf-8")
    assert shown.count("**[to be filled in]**") == sum(each["value"] == "[to be filled in]" for each in found)
    assert shown.count("\n| ") == len(found) + 2, "and two heads"


def test_the_largest_tenth_of_the_domains_is_listed(tmp_path: Path) -> None:
    rows = [
        document(number, text="x" * number, metadata={"url": f"https://www.site-{number}.example.co.uk/{number}"})
        for number in range(1, 12)
    ]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [*rows, document(12, text="", metadata={"url": "https://a.org"})])
    page = written(tmp_path / "in", tmp_path, "--eu")
    assert "12 documents from 2 registered domains; 0 documents without an address." in text_of(page)
    lines = (tmp_path / "datasheet.eu.csv").read_text("utf-8").split("\n")
    assert (
        "2.3,Summary of the most relevant domain names crawled,the largest 1 of 2 registered domains by bytes of text,12,"
        in lines
    )
    assert [line for line in lines if line.startswith("2.3,domain,")] == ["2.3,domain,example.co.uk,11,66"]
    assert "| domain | `example.co.uk` | 11 | 66 |" in (tmp_path / "datasheet.eu.md").read_text("utf-8").split("\n")


def test_saved_statistics_are_those_of_the_page(of_oscar: Page, oscar_corpus: Path, tmp_path: Path) -> None:
    saved = tmp_path / "stats.json"
    run_cli("stats", oscar_corpus, "--count", "all", "--report", f"json={saved}")
    page = written(oscar_corpus, tmp_path, "--stats", saved, "--eu")
    assert page.texts == of_oscar.texts
    found = json.loads(saved.read_bytes())
    found["domains"] = {"public_suffix_list": "", "documents": 1, "without": 0, "distinct": 99, "most": []}
    saved.write_text(json.dumps(found), "utf-8")
    written(oscar_corpus, tmp_path, "--stats", saved, "--eu")
    said = "the largest 0 of 99 registered domains by bytes of text; the largest tenth is 10, and the statistics list no more"
    assert said in (tmp_path / "datasheet.eu.md").read_text("utf-8")
    del found["lengths"]["words"]["quantiles"]
    for content, complaint in (
        (json.dumps(found), "lengths without quantiles"),
        ("{}", "'schema' is a required property"),
    ):
        saved.write_text(content, "utf-8")
        done = run_cli("datasheet", oscar_corpus, "-o", tmp_path / "d.html", "--stats", saved)
        assert done.returncode == 2
        assert done.stderr.decode().startswith(f"error: {saved} is not the JSON of `corpusfmt stats`: {complaint}")


def test_what_is_asked_for_wrongly_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [document(1)])
    page, report = tmp_path / "datasheet.html", tmp_path / "no.json"
    report.write_bytes(b"{}")
    wrong: list[tuple[list[str | Path], str]] = [
        (["-", "-o", page], "datasheet does not read standard input: write it to a file and pass that file"),
        ([tmp_path / "in", "-o", tmp_path / "none/d.html"], f"folder {tmp_path / 'none'} for --output does not exist"),
        ([tmp_path / "in", "-o", tmp_path], f"--output is the folder {tmp_path}, expected a file"),
        ([tmp_path / "in", "-o", page, "--verdict", report], f"{report} is not a complete corpusfmt report"),
    ]
    for arguments, message in wrong:
        done = run_cli("datasheet", *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().startswith(f"error: {message}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "no.json"]


def test_a_verdict_is_read_before_documents_are(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_bytes(b"{}")
    with pytest.raises(corpusfmt.UsageError, match="is not a complete corpusfmt report"):
        corpusfmt.datasheet(tmp_path / "nowhere", verdict=tmp_path / "no.json")


def test_lines_of_the_public_summary_are_not_held(tmp_path: Path) -> None:
    write_rows(tmp_path / "in/documents/a.jsonl.gz", [document(1)])
    sheet = corpusfmt.datasheet(tmp_path / "in")
    sheet.statistics["domains"] = {"documents": 9, "distinct": 10, "most": [{}]}
    lines = eu.table(sheet, None)
    assert next(lines) == "section,field,value,documents,bytes", "before a domain that is none is read"
    with pytest.raises(KeyError, match="domain"):
        list(lines)
