"""Write docs/errata/croissant.md from croissant.toml beside it: `make rules` after changing either, or a rule of Croissant.

The page says what corpusfmt does because it is run here. mlcroissant.json says what mlcroissant does: `make mlcroissant` compares, and
`python docs/make_errata.py PYTHON`, with the Python of an environment that has it, asks again.
`python docs/make_errata.py NUMBER` prints one as the text of an issue, with its whole document.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import corpusfmt
from corpusfmt.formats.croissant.model.contexts import appendix

FOLDER = Path(__file__).parent / "errata"
PAGE = FOLDER / "croissant.md"
ANSWERS = FOLDER / "mlcroissant.json"
_TABLE = tomllib.loads((FOLDER / "croissant.toml").read_text("utf-8"))
ERRATA: list[dict[str, Any]] = _TABLE["erratum"]

Json = dict[str, Any]


def files_of(erratum: Json) -> dict[str, bytes]:
    """Return the files of an erratum by name, with its document as `croissant.json`."""
    texts = {**_TABLE["base"]["files"], **erratum.get("files", {})}
    files = {name: text.encode() for name, text in texts.items()}
    files |= {name: base64.b64decode(text) for name, text in erratum.get("base64", {}).items()}
    return files | {"croissant.json": json.dumps(document_of(erratum, files), indent=1).encode()}


def document_of(erratum: Json, files: dict[str, bytes]) -> Json:
    """Return the base document with what an erratum adds to it, and the digests of the files."""
    added = _added(erratum)
    version = erratum.get("version", "1.0")
    terms = appendix(version) | _AS_READ | json.loads(erratum.get("context", "{}"))
    context = {name: iri for name, iri in terms.items() if iri is not None}
    document: Json = {"@context": context, **json.loads(_TABLE["base"]["document"])}
    document["conformsTo"] = f"http://mlcommons.org/croissant/{version}"
    if fields := added.pop("field", []):
        document["recordSet"][0]["field"] += fields
    for name, value in added.items():
        if name == "@context" and "context" in erratum:
            continue
        document[name] = [*document[name], *value] if name in ("distribution", "recordSet") else value
    for each in document["distribution"]:
        if each.get("sha256") == "DIGEST":
            each["sha256"] = hashlib.sha256(files[each["contentUrl"]]).hexdigest()
    return document


def _added(erratum: Json) -> Json:
    """Return what an erratum adds to the base: members of the dataset, and lists of what is appended."""
    parts = {key: json.loads(erratum[key]) for key in _PARTS if key in erratum}
    added = {name: value if isinstance(value, list) else [value] for name, value in parts.items() if name in _LISTS}
    context = {"@context": parts["context"]} if "context" in parts else {}
    return {**context, **parts.get("dataset", {}), **added}


# mlcroissant refuses the `http` of Appendix 1 of 1.1.
_AS_READ = {"@vocab": "https://schema.org/", "sc": "https://schema.org/"}
_LISTS = ("distribution", "recordSet", "field")
_PARTS = ("context", "dataset", *_LISTS)


@cache
def found_by_corpusfmt(number: int) -> list[str]:
    """Return what corpusfmt does with the document of an erratum, in lines of the page."""
    erratum = ERRATA[number]
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files_of(erratum).items():
            Path(folder, name).write_bytes(data)
        path = Path(folder, "croissant.json")
        graded = {profile: _findings(path, profile) for profile in ("standard", "strict")}
        lines = graded["standard"] or ["no findings"]
        if graded["strict"] != graded["standard"]:
            lines += [f"in `strict`: {'; '.join(graded['strict']) or 'no findings'}"]
        if "records" in erratum:
            try:
                found = [dict(each) for each in corpusfmt.records(path, erratum["records"], on_finding=lambda _: None)]
                lines.append(f"records: `{json.dumps(found, ensure_ascii=False)}`")
            except corpusfmt.CorpusfmtError as error:
                lines.append(f"no records: {error}".replace(f"{folder}/", ""))
    return lines


def _findings(path: Path, profile: str) -> list[str]:
    report = corpusfmt.validate(path, format="croissant", data=True, profile=profile)
    return [f"{each.code} {each.severity}: {each.message}" for each in report.findings]


def found_by_mlcroissant(number: int) -> list[str]:
    """Return what mlcroissant does with the document of an erratum, as it was last run."""
    answers: dict[str, list[str]] = json.loads(ANSWERS.read_text("utf-8"))
    return answers[ERRATA[number]["title"]]


def asked_of_mlcroissant(python: str) -> dict[str, list[str]]:
    """Return what mlcroissant does with each document, in lines of the page, by title."""
    with tempfile.TemporaryDirectory() as folder:
        asked = []
        for number, erratum in enumerate(ERRATA):
            path = Path(folder, str(number), "croissant.json")
            path.parent.mkdir()
            for name, data in files_of(erratum).items():
                path.with_name(name).write_bytes(data)
            asked.append((str(path), erratum.get("records")))
        command, environment = [python, str(FOLDER / "loads.py")], os.environ | {"CROISSANT_CACHE": f"{folder}/cache"}
        done = subprocess.run(
            command, input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True, env=environment
        )
    return dict(zip((each["title"] for each in ERRATA), json.loads(done.stdout), strict=True))


def _issue(number: int, shown: Json, what: str) -> Iterator[str]:
    erratum = ERRATA[number]
    for where, quote in (erratum["one"], erratum["other"]):
        yield f"- {where}: {quote}"
    yield from ("", f"{what}:", "", "```json", *json.dumps(shown, indent=1, ensure_ascii=False).split("\n"), "```", "")
    yield from (f"- `{name}`: `{json.dumps(text)}`" for name, text in erratum.get("files", {}).items())
    yield from (f"- `{name}` in Base64: `{text}`" for name, text in erratum.get("base64", {}).items())
    yield from (f"- corpusfmt: {line}" for line in found_by_corpusfmt(number))
    yield from (f"- mlcroissant: {line}" for line in found_by_mlcroissant(number))
    yield from ("", f"**Proposed wording.** {erratum['wording']}", "")


def issue(number: int) -> str:
    """Return the text of an issue about an erratum, with its whole document."""
    files = files_of(ERRATA[number])
    document = json.loads(files.pop("croissant.json"))
    beside = f"A document, beside {', '.join(f'`{name}`' for name in files)}"
    return "\n".join([f"# {ERRATA[number]['title']}", "", *_issue(number, document, beside)])


def page() -> str:
    """Return the whole page."""
    base = {"@context": "…", **json.loads(_TABLE["base"]["document"])}
    lines = [
        "# Errata of Croissant",
        "",
        f"Generated by `docs/make_errata.py` from `croissant.toml`. {len(ERRATA)} places where the specification, its examples and its",
        "vocabulary files contradict each other, or a term can be read in several ways; each is ready to be filed:",
        "`python docs/make_errata.py NUMBER` prints one with its whole document. The decision of corpusfmt applies to all profiles unless it",
        "says otherwise. mlcroissant is version 1.1.1.",
        "",
        "Each document is this one, beside the file `films.csv` below. Its context is Appendix 1, in 1.1 with schema.org by `https`, because",
        "mlcroissant refuses it by `http`. An erratum shows only what it adds: terms of `@context` (null removes one),",
        "members of the dataset, items of `distribution` and `recordSet`, and as `field` those of the record set `films`. `DIGEST` is the SHA-256 of the file.",
        "",
        "```json",
        *json.dumps(base, indent=1, ensure_ascii=False).split("\n"),
        "```",
        "",
        "```text",
        *_TABLE["base"]["files"]["films.csv"].split("\n")[:-1],
        "```",
    ]
    for number, erratum in enumerate(ERRATA):
        version = erratum.get("version", "1.0")
        lines += ["", f"## {number + 1}. {erratum['title']}", ""]
        lines += _issue(number, _added(erratum), f"Added to the document of {version}")
        lines.append(f"**Decision.** {erratum['decision']}")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return (
        re.sub(r"^```(?=json|text)", "<!-- tests/croissant/test_errata.py runs this -->\n```", text, flags=re.MULTILINE)
        + "\n"
    )


if __name__ == "__main__":
    argument = "".join(sys.argv[1:])
    if argument.isdecimal():
        sys.stdout.write(issue(int(argument) - 1))
    else:
        if argument:
            answers = asked_of_mlcroissant(argument)
            ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", "utf-8")
        PAGE.write_text(page(), "utf-8")
