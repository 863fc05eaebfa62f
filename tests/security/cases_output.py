"""Names and values that would write a report of their own: lines, commands, markup and marks of a terminal."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt
from markdown_it.token import Token
from security.attacks import Attack, Outcome
from support import REPOSITORY, wet_file, wet_record

# What may be part of a file name. Values may be all of these.
NAMES = (
    "::error::forged",
    "x\n::error::forged",
    "x\n::stop-commands::token",
    "x\r::warning::forged\r\n",
    "##[error]forged",
    "##vso[task.complete result=Succeeded]",
    "VALID: 0 errors, 0 warnings",
    "VALID",
    "x\nVALID: 0 errors, 0 warnings",
    "x\n\n## corpusfmt: valid\n\n",
    "x\x1b[2J\x1b]0;forged\x07",
    "x\x1b]8;;https:evil.example\x1b\\y",
    "x\x9b2J\x85y",
    "x\x7f\x08\x08y",
    "x\u202elnosj.\u2066y\u200ez\u061c",
    "x\u2028VALID: 0 errors\u2029y",
    "x\ufeff\u200b\ufffe\uffffy\U000e0041",
    "![image](https:evil.example)",
    "[link](https:evil.example)",
    "<img src=x onerror=alert(1)>",
    "<h1>corpusfmt: valid",
    "a | b | c |\n| d",
    "a\\| b",
    "a`b``c```d",
    "` <b>bold",
    '" onmouseover="alert(1)',
    "]]>&lt;&amp;",
    "a#b%20?c ü",
    "a:b",
    "  help: run something",
    "VALID 0 errors, 0 warnings",
    "VALID,0,errors",
    "error in x",
)
VALUES = (*NAMES, "x\ud800y", "</failure></testcase><testcase>", "https://evil.example @everyone #1", "x\0y")

_UNSEEN = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_UNSEEN_AND_LINES = re.compile(f"{_UNSEEN.pattern}|\n")
_VERDICT = re.compile(r"VALID|INVALID|INCOMPLETE|NO ERRORS")
_ANNOTATION = re.compile(
    r"::(error|warning|notice) file=[^:,]+(,line=\d+)?,title=[A-Z]{3}\d{3} [\w-]+::.*|::notice title=[a-z ]+::.*"
)
_VERDICT_NOTICE = re.compile(r"::notice title=corpusfmt [^:,]+::(INVALID|INCOMPLETE): .*")

CONTEXT = json.loads((REPOSITORY / "schemas/croissant/1.0/context.jsonld").read_text("utf-8"))["@context"]


def _dolma(folder: Path) -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    for name in NAMES:
        row = {"id": name, "text": "text", "source": name, "added": name, name: 1}
        lines = [json.dumps(row), json.dumps(row), json.dumps(row | {"id": 7}), '{"id": ']
        (documents / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
        (folder / "data" / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    (documents / os.fsdecode(b"\xff\x1b.jsonl")).write_text("\n", "utf-8")


def _oscar(folder: Path) -> None:
    for language in ("af", "be"):
        (folder / "data" / language).mkdir()
        (folder / "data" / language / f"{language}.txt.gz").write_bytes(gzip.compress(b"line\n" * 3))
        for name in NAMES:
            (folder / "data" / language / name).write_bytes(b"")
            (folder / "data" / language / f"{name}.txt.gz").write_bytes(b"no gzip")


def _croissant(folder: Path) -> None:
    for number, value in enumerate(VALUES):
        file = {"@type": "cr:FileObject", "@id": value, "name": value, "contentUrl": value, "encodingFormat": value}
        field = {
            "@type": "cr:Field",
            "@id": f"r/{value}",
            "dataType": value,
            "source": {"fileObject": {"@id": "no" + value}},
        }
        document = {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": value,
            "url": value,
            "license": [value, 7],
            "version": value,
            f"key-{value}": 1,
            "distribution": [file],
            "recordSet": [{"@type": "cr:RecordSet", "@id": value, "key": {"@id": value}, "field": [field]}],
        }
        (folder / "data" / f"{number:02}.json").write_text(json.dumps(document), "ascii")


def _descriptions() -> tuple[str, ...]:
    return tuple(f"{number:02}.json" for number in range(len(VALUES)))


def lines_of(data: bytes) -> list[str]:
    """Return lines of text in which nothing is hidden and nothing is taken for a command."""
    text = data.decode("utf-8")
    assert not (unseen := _UNSEEN.findall(text)), unseen
    lines = text.split("\n")
    for line in lines:
        assert not re.search(r"##\w*\[", line), line
    return lines[:-1]


def text_is_ours(data: bytes, *, verdicts: int) -> None:
    lines = lines_of(data)
    for line in lines:
        assert not line.lstrip().startswith("::"), line
        assert not line.startswith(("## ", "  help: run something")), line
    found = [line for line in lines if _VERDICT.match(line)]
    assert found == lines[len(lines) - verdicts :], found


def _stderr_is_ours(outcome: Outcome) -> None:
    text_is_ours(outcome.stderr, verdicts=0)


def _text(outcome: Outcome) -> None:
    assert outcome.status == 1
    text_is_ours(outcome.stdout, verdicts=1)


def _github(outcome: Outcome) -> None:
    *lines, verdict = lines_of(outcome.stdout)
    for line in lines:
        assert _ANNOTATION.fullmatch(line), line
    assert _VERDICT_NOTICE.fullmatch(verdict), verdict


def _json(outcome: Outcome) -> None:
    assert outcome.report["verdict"] == "invalid"
    assert outcome.report["findings"]


def _jsonl(outcome: Outcome) -> None:
    kinds = [json.loads(line)["kind"] for line in outcome.stdout.decode("utf-8").split("\n")[:-1]]
    assert kinds == ["run", *["finding"] * (len(kinds) - 2), "summary"]


def _names_come_back(outcome: Outcome) -> None:
    paths = {finding["location"]["path"] for finding in outcome.report["findings"]}
    assert {f"documents/{name}.jsonl" for name in NAMES} <= paths


def _sarif(outcome: Outcome) -> None:
    (run,) = outcome.report["runs"]
    assert run["results"]
    files = {path.relative_to(outcome.folder).as_posix() for path in (outcome.folder / "data").rglob("*")}
    for result in run["results"]:
        assert not _UNSEEN_AND_LINES.search(result["message"]["text"])
        assert "](" not in result["message"]["text"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        parts = urlsplit(uri)
        assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", ""), uri
        assert re.fullmatch(r"[\w.~/%-]+", uri, re.ASCII), uri
        path = f"data/{unquote(uri)}"
        assert path in files or "\\x" in path or unquote(uri) in {".", "data"}, path
    for note in run["invocations"][0]["toolExecutionNotifications"]:
        assert not _UNSEEN_AND_LINES.search(note["message"]["text"])


def _junit(outcome: Outcome) -> None:
    suite = ET.fromstring(outcome.stdout)
    assert {each.tag for each in suite.iter()} <= {
        "testsuite", "testcase", "failure", "skipped", "properties", "property"
    }  # fmt: skip
    assert suite.findall("testcase/failure")
    for each in suite.iter():
        assert not any(_UNSEEN_AND_LINES.search(value) for value in each.attrib.values())
        assert not _UNSEEN.search(each.text or "")


def _gitlab(outcome: Outcome) -> None:
    for issue in outcome.report:
        assert not _UNSEEN_AND_LINES.search(issue["description"])
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}


def _all(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or [])


def _markdown(outcome: Outcome) -> None:
    lines_of(outcome.stdout)
    tokens = list(_all(MarkdownIt("commonmark", {"html": True}).enable("table").parse(outcome.stdout.decode("utf-8"))))
    kinds = [token.type for token in tokens]
    for kind in ("image", "link_open", "html_inline", "html_block", "em_open", "strong_open", "fence", "code_block"):
        assert kind not in kinds, kind
    assert (kinds.count("heading_open"), kinds.count("table_open")) == (1, 1)
    name, verdict = tokens[kinds.index("heading_open") + 1].children or []
    assert (name.type, verdict.type, verdict.content) == ("code_inline", "text", ": invalid")
    # A cell that is cut or split shows: each has exactly one code span, or is text of ours.
    rows = [line for line in outcome.stdout.decode("utf-8").split("\n") if line.startswith("|")]
    assert kinds.count("tr_open") == len(rows) - 1
    assert "https://evil" not in "".join(token.content for token in tokens if token.type == "text")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))


def _html(outcome: Outcome) -> None:
    lines_of(outcome.stdout)
    parser = _Tags()
    parser.feed(outcome.stdout.decode("utf-8"))
    names = [name for name, _ in parser.tags]
    assert set(names) <= _ELEMENTS
    assert (names.count("h1"), names.count("script")) == (1, 1)
    for name, attributes in parser.tags:
        for attribute, value in attributes:
            assert re.fullmatch(_ATTRIBUTES[attribute], value or ""), (name, attribute, value)


# None of them contains anything from the data.
_ELEMENTS = frozenset(
    {"html", "head", "meta", "title", "style", "script", "body", "main", "h1", "h2", "p", "a", "code", "span", "b", "i"}
    | {"ul", "ol", "li", "details", "summary", "div", "table", "tr", "td", "form", "label", "input", "select", "option"}
    | {"output", "svg", "rect", "noscript"}
)
_ATTRIBUTES = {
    "lang": "en",
    "charset": "utf-8",
    "content": r"width=device-width|default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'unsafe-inline'; base-uri.*",
    "http-equiv": "Content-Security-Policy",
    "name": "viewport|text|path|rule|error|warning|info",
    "class": r"((in)?valid|incomplete|error|warning|info|faint|rule|count|about|n|bar)",
    "id": r"[A-Z]{3}\d{3}",
    "data-severities": r"[a-z ]+",
    "data-count": r"\d+",
    "tabindex": "0",
    "open": "",
    "width": r"\d+\.\d%",
    "height": "100%",
    "href": r"https://corpusfmt\.github\.io/latest/rules/[A-Z0-9]+/",
    "type": "search|checkbox|application/json",
    "value": "",
    "checked": "",
    "hidden": "",
    "aria-live": "polite",
    "aria-hidden": "true",
}


PROMISES: dict[str, Callable[[Outcome], None]] = {
    "full": _text,
    "concise": _text,
    "grouped": _text,
    "json": _json,
    "jsonl": _jsonl,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
    "gitlab": _gitlab,
    "markdown": _markdown,
    "html": _html,
}
DATA: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "dolma": (_dolma, ("-v", ".")),
    "croissant": (_croissant, ("--format", "croissant", "-v", *_descriptions())),
    "oscar": (_oscar, ("--format", "oscar-1.0", "-v", ".")),
    "names": (_dolma, ("--format", "dolma", "-v", "--", *(f"{name}.jsonl" for name in NAMES))),
}


def _reports() -> Iterator[Attack]:
    for kind, (make, arguments) in DATA.items():
        for output, promise in PROMISES.items():
            if kind in {"oscar", "names"} and output in {"json", "jsonl", "gitlab", "grouped", "html"}:
                continue  # as the others, which cover these outputs
            command = ("validate", "--output-format", output, *arguments)
            yield Attack(f"forged-{kind}-{output}", make, command, _both(promise), cwd="data")


def _both(promise: Callable[[Outcome], None]) -> Callable[[Outcome], None]:
    def check(outcome: Outcome) -> None:
        promise(outcome)
        _stderr_is_ours(outcome)

    return check


def _one_line_each(outcome: Outcome) -> None:
    text_is_ours(outcome.stdout, verdicts=0)
    text_is_ours(outcome.stderr, verdicts=0)
    assert outcome.stdout or outcome.stderr


def _records_are_exact(outcome: Outcome) -> None:
    for line in outcome.stdout.decode("utf-8").split("\n")[:-1]:
        assert isinstance(json.loads(line), dict)
    text_is_ours(outcome.stderr, verdicts=1 if outcome.status == 1 else 0)


def _records(folder: Path) -> None:
    data = folder / "data"
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"r/{column}",
            "dataType": data_type,
            "source": {"fileObject": {"@id": "f"}, "extract": {"column": column}},
        }
        for column, data_type in (("a", "sc:Text"), ("b", "sc:Integer"))
    ]
    rows = "".join(f'"{value}","{value}"\n' for value in (name.replace('"', '""') for name in NAMES))
    (data / "f.csv").write_text(f"a,b\n{rows}", "utf-8")
    file = {"@type": "cr:FileObject", "@id": "f", "name": "f", "contentUrl": "f.csv", "encodingFormat": "text/csv"}
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "x",
        "distribution": [file | {"sha256": "0" * 64}],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "r", "field": fields}],
    }
    (data / "croissant.json").write_text(json.dumps(document), "utf-8")


def _wet(folder: Path) -> None:
    for name in NAMES:
        (folder / "data" / f"{name}.warc.wet.gz").write_bytes(b"no gzip at all")
    wet_file(folder / "data" / "good.warc.wet.gz", [wet_record(1, "All human beings are born free and equal.\n" * 3)])


def _one_row(folder: Path) -> None:
    for name in NAMES:
        (folder / "data" / name / "documents").mkdir(parents=True)
        row = {"id": name, "text": "text", "source": name}
        (folder / "data" / name / "documents" / f"{name}.jsonl").write_text(json.dumps(row | {"id": 7}) + "\n", "utf-8")


def _baseline(folder: Path) -> None:
    _dolma(folder)
    (folder / "data" / "b\n::error::x.json").write_text("{}", "utf-8")


#: Terminals whose encoding is ASCII: what is not in it is escaped, in JSON as JSON does.
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def _commands() -> Iterator[Attack]:
    line, stop, escape, verdict = NAMES[1], NAMES[2], NAMES[10], NAMES[6]
    for name, forged in (("line", line), ("stop", stop), ("escape", escape), ("verdict", verdict), ("start", NAMES[0])):
        source = f"{{data}}/{forged}"
        to_dolma = ("convert", "--to", "dolma", "--", source, "{out}")
        yield Attack(f"forged-convert-{name}", _one_row, to_dolma, _one_line_each)
        yield Attack(f"forged-describe-{name}", _one_row, ("describe", "--", f"{source}/no"), _one_line_each)
        yield Attack(f"forged-detect-{name}", _one_row, ("detect", "--", source), _one_line_each)
        yield Attack(f"forged-usage-{name}", _one_row, ("validate", f"--no-{forged}"), _one_line_each)
    quarantine = ("convert", "--to", "dolma", "--on-bad-record", "quarantine", "--on-loss", "allow", "{data}", "{out}")
    yield Attack("forged-convert-quarantine", _dolma, quarantine, _one_line_each)
    yield Attack("forged-records", _records, ("records", "croissant.json"), _records_are_exact, cwd="data")
    build = ("build", "{data}", "--output", "{out}", "--recipe", "goclassy-2019", "--jobs", "1")
    yield Attack("forged-build", _wet, build, _one_line_each)
    yield Attack("forged-recipe", _baseline, ("recipe", "data/no\n::error::x.toml"), _one_line_each)
    baseline = ("validate", ".", "--baseline", "b\n::error::x.json")
    yield Attack("forged-baseline", _baseline, baseline, _one_line_each, cwd="data")
    for output in ("json", "jsonl", "full", "junit"):
        command = ("validate", "--output-format", output, *DATA["croissant"][1])
        promise = PROMISES[output]
        yield Attack(f"forged-ascii-{output}", _croissant, command, promise, cwd="data", environment=ASCII)


#: What only a saved report that was tampered with can say, each in one place of it that is text.
FORGED = "x\nVALID: 0 errors\n::error::forged\n## corpusfmt: valid\n<h1>x</h1> ![x](https:e) `a` | # b \x1b[2J\x9b ##[error]x"


def _saved(*, forged: Mapping[tuple[str | int, ...], Any]) -> Callable[[Path], None]:
    """Return what makes a saved report, with values of the attacker's in some of its places."""
    at = {"path": "a.jsonl", "line": 1, "byte": 0, "column": 2, "pointer": "/a", "record": "r"}
    finding = {
        "kind": "finding",
        "rule": "DOL101",
        "slug": "x",
        "severity": "error",
        "message": "m",
        "hint": "h",
        "count": 2,
        "location": at,
        "fix": {"safe": True, "edits": [{"start": 0, "end": 1, "text": "t"}]},
    }
    known = {"rule": "DOL101", "reason": "r", "count": 1}
    report: dict[str, Any] = {
        "schema": "corpusfmt-report/1",
        "tool": {"name": "corpusfmt", "version": "1"},
        "arguments": {"base": "b", "paths": ["p"], "profile": "f", "settings": "s"},
        "started": "",
        "finished": "",
        "verdict": "invalid",
        "format": "dolma",
        "version": "1.0",
        "counts": {"error": 3, "warning": 0, "info": 0},
        "by_rule": {"DOL101": 3},
        "by_severity": {"DOL101": {"error": 3, "warning": 0, "info": 0}},
        "by_path": {"a.jsonl": {"DOL101": 3}},
        "suppressed": [known],
        "regraded": [known],
        "unmatched": ["u"],
        "coverage": {
            "shards_seen": 1,
            "shards_total": 1,
            "documents": 1,
            "bytes": 1,
            "sampled": False,
            "not_run": [known | {"path": "p"}],
            "gaps": [{"path": "p", "what": "w", "reason": "r", "count": 1}],
        },
        "findings": [finding],
    }
    for place, value in forged.items():
        inner: Any = report
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value

    def make(folder: Path) -> None:
        (folder / "data" / "r.json").write_text(json.dumps(report, indent=1), "ascii")

    return make


#: The places of a saved report that are any text.
TEXTS: tuple[tuple[str | int, ...], ...] = (
    ("format",),
    ("version",),
    ("finished",),
    ("tool", "version"),
    *(("arguments", name) for name in ("base", "profile", "settings")),
    ("arguments", "paths", 0),
    ("unmatched", 0),
    ("suppressed", 0, "reason"),
    ("regraded", 0, "reason"),
    *(("coverage", "not_run", 0, name) for name in ("path", "reason")),
    *(("coverage", "gaps", 0, name) for name in ("path", "what", "reason")),
    *(("findings", 0, name) for name in ("message", "hint")),
    *(("findings", 0, "location", name) for name in ("path", "pointer", "record")),
)
#: What no report of ours has: the output in which it did harm, the place, the value.
FALSE: dict[str, tuple[str, tuple[str | int, ...], Any]] = {
    "rule": ("full", ("findings", 0, "rule"), FORGED),
    "rule-line": ("full", ("findings", 0, "rule"), "DOL101\n"),
    "slug": ("markdown", ("findings", 0, "slug"), FORGED),
    "severity": ("full", ("findings", 0, "severity"), [1]),
    "line": ("github", ("findings", 0, "location", "line"), FORGED),
    "column": ("concise", ("findings", 0, "location", "column"), FORGED),
    "column-list": ("sarif", ("findings", 0, "location", "column"), [1]),
    "path-list": ("gitlab", ("findings", 0, "location", "path"), [1]),
    "message-list": ("html", ("findings", 0, "message"), [1]),
    "hint-object": ("full", ("findings", 0, "hint"), {"a": 1}),
    "counted-rule": ("full", ("by_path", "a.jsonl"), {FORGED: 1}),
    "graded-rule": ("grouped", ("by_severity", FORGED), {"error": 1}),
    "count-list": ("full", ("coverage", "gaps", 0, "count"), [1]),
    "count-text": ("junit", ("suppressed", 0, "count"), "1"),
    "count-huge": ("full", ("coverage", "bytes"), 10**400),
    "format-list": ("junit", ("format",), [1]),
    "version-list": ("markdown", ("version",), {"a": 1}),
    "arguments-list": ("sarif", ("arguments",), [1]),
    "arguments-deep": ("json", ("arguments", "a"), json.loads("[" * 400 + "]" * 400)),
    "results-deep": ("json", ("results",), {"a": json.loads("[" * 400 + "]" * 400)}),
}


def _rendered(output: str) -> Callable[[Outcome], None]:
    def check(outcome: Outcome) -> None:
        assert outcome.status in {0, 1, 3}, outcome.text
        assert outcome.stdout
        if output in {"full", "concise", "grouped"}:
            text_is_ours(outcome.stdout, verdicts=1)
        elif output in {"github", "html"}:
            PROMISES[output](outcome)
        elif output == "markdown":
            _markdown(outcome)
        elif output == "junit":
            assert {each.tag for each in ET.fromstring(outcome.stdout)} == {"properties", "testcase"}
            lines_of(outcome.stdout)
        else:
            _nothing_hidden(outcome)

    return check


def _nothing_hidden(outcome: Outcome) -> None:
    """JSON for whoever looks at it on a terminal or in a log: its values are exact, their characters are escaped."""
    for line in lines_of(outcome.stdout):
        assert not line.lstrip().startswith("::")


def _refused(outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.text
    assert not outcome.stdout
    (line,) = lines_of(outcome.stderr)
    assert "is not a complete corpusfmt report" in line
    assert len(line) < 1_000


def _tampered() -> Iterator[Attack]:
    for output in PROMISES:
        command = ("report", "render", "--output-format", output, "data/r.json")
        forged = dict.fromkeys(TEXTS, FORGED)
        yield Attack(f"tampered-texts-{output}", _saved(forged=forged), command, _rendered(output))
    for name, (output, place, value) in FALSE.items():
        command = ("report", "render", "--output-format", output, "data/r.json")
        yield Attack(f"tampered-{name}", _saved(forged={place: value}), command, _refused)


SETTINGS = {
    "size": "limit.total-bytes = '" + "9" * 400 + "'",
    "nan": "limit.expansion = nan",
    "inf": "limit.expansion = inf",
    "timeout-nan": "limit.timeout = nan",
    "timeout-inf": "limit.timeout = inf",
    "number": "limit.timeout = " + "9" * 400,
    "deep": "a = " + "[" * 100_000,
}


def _settings(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name in ("s.toml", "recipe.toml"):
            (folder / "data" / name).write_text(text, "ascii")
        _row(folder)

    return make


def _row(folder: Path) -> None:
    (folder / "data" / "a.jsonl").write_text('{"id":"a","text":"b","source":"c"}\n', "ascii")


def _says_what_to_do(outcome: Outcome) -> None:
    assert outcome.status == 2, outcome.text
    (line,) = lines_of(outcome.stderr)
    assert line.startswith("error: ")
    assert len(line) < 1_000


def _strange_settings() -> Iterator[Attack]:
    for name, text in SETTINGS.items():
        command = ("validate", "a.jsonl", "--config", "s.toml")
        yield Attack(f"settings-{name}", _settings(text), command, _says_what_to_do, cwd="data")
    for name, value in (("expansion", "nan"), ("timeout", "nan"), ("total-bytes", "9" * 400)):
        command = ("validate", "a.jsonl", "--limit", f"{name}={value}")
        yield Attack(f"option-{name}", _row, command, _says_what_to_do, cwd="data")
    recipe = ("build", "data", "--output", "{out}", "--recipe", "data/recipe.toml")
    yield Attack("recipe-deep", _settings(SETTINGS["deep"]), recipe, _says_what_to_do)


#: What JSON may have in it as it is, and what a terminal or a log would act upon.
UNSEEN = "x\x7f\x9b2J\x85\u202ey\u2066\u200e\u2028\ufeff\U000e0041##[error]##vso[a]"


def _shown_json(outcome: Outcome) -> None:
    _nothing_hidden(outcome)
    assert json.dumps(UNSEEN)[1:-1] in json.dumps(json.loads(outcome.stdout))


def _unseen(folder: Path) -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    row = {"id": UNSEEN, "text": "text", "source": "s"}
    (documents / f"{UNSEEN}.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(row)}\n", "utf-8")
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "x",
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "r",
                "field": [{"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text"}],
                "data": [{"r/a": UNSEEN}],
            }
        ],
    }
    (folder / "data" / "croissant.json").write_text(json.dumps(document), "ascii")


def _unseen_json() -> Iterator[Attack]:
    for output in ("json", "jsonl", "sarif", "gitlab"):
        command = ("validate", "documents", "--output-format", output)
        yield Attack(f"unseen-{output}", _unseen, command, _nothing_hidden, cwd="data")
    yield Attack("unseen-exact", _unseen, ("validate", "documents", "--output-format", "json"), _shown_json, cwd="data")
    yield Attack("unseen-records", _unseen, ("records", "croissant.json"), _shown_json, cwd="data")
    yield Attack("unseen-describe", _unseen, ("describe", "documents", "--name", UNSEEN), _shown_json, cwd="data")


def _exact(attack: Attack, promise: Callable[[Outcome], Any]) -> Attack:
    return Attack(
        "forged-names-come-back", attack.make, ("validate", ".", "--output-format", "json"), promise, cwd="data"
    )


_OUTPUTS = ("json", "jsonl", "sarif", "junit", "github", "gitlab", "markdown", "html", "concise", "grouped", "full")
#: Commands in which all paths are relative; `d` is a Dolma dataset with faults, `v` one without.
_RELATIVE = {
    "validate": ("validate", "d", *(part for name in _OUTPUTS for part in ("--report", f"{name}=../out/{name}"))),
    "validate-jobs": ("validate", "d", "v", "--jobs", "2", "--verbose", "--report", "json=../out/r"),
    "validate-part": ("validate", "d", "--shard", "1/2", "--report", "part=../out/p"),
    "validate-here": ("validate", ".", "--report", "json=../out/r", "--report", "html=../out/h"),
    "validate-hub": ("validate", "v", "--profile", "hub", "--report", "json=../out/r", "--report", "html=../out/h"),
    "verify": ("verify", "v", "--manifest", "croissant.json"),
    "validate-missing": ("validate", "nothing", "v/documents/none.jsonl"),
    "convert": ("convert", "v", "../out/c", "--to", "oscar"),
    "convert-refused": ("convert", "d", "../out/c", "--to", "oscar"),
    "convert-quarantine": ("convert", "d", "../out/c", "--to", "jsonl", "--on-bad-record", "quarantine"),
    "build": ("build", "a.warc.wet.gz", "broken.warc.wet.gz", "-o", "../out/b"),
    "stats": ("stats", "v", "--output-format", "json", "--report", "markdown=../out/README.md"),
    "stats-part": ("stats", "v", "--shard", "1/2", "-o", "../out/p"),
    "describe": ("describe", "v", "-o", "../out/croissant.json"),
    "datasheet": ("datasheet", "v", "-o", "../out/sheet.html"),
    "compare": ("compare", "v", "d", "--output-format", "json"),
    "show": ("show", "v"),
    "detect": ("detect", "v"),
    "fix": ("fix", "--diff", "d"),
    "records": ("records", "croissant.json", "--record-set", "r"),
    "settings": ("validate", "v", "--config", "none.toml"),
    "baseline": ("validate", "v", "--baseline", "croissant.json"),
}


def _some_data(folder: Path, settings: str = "") -> None:
    data = folder / "data"
    (folder / "corpusfmt.toml").write_text(settings)
    (folder / "out").mkdir()
    for name in ("d", "v"):
        (data / name / "documents").mkdir(parents=True)
    row = json.dumps({"id": "1", "text": "a text", "source": "s"}) + "\n"
    (data / "v" / "documents" / "a.jsonl").write_text(row)
    (data / "d" / "documents" / "a.jsonl").write_text(row + row + '{"id": \n')
    (data / "d" / "documents" / "b.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    (data / "d" / "documents" / "out.jsonl").symlink_to("../../../outside/x")
    wet_file(data / "a.warc.wet.gz", [wet_record(1, "A line of text.")])
    (data / "broken.warc.wet.gz").write_bytes(b"\x1f\x8b\x08")
    (data / "croissant.json").write_text('{"@type": "sc:Dataset"}')


def _names_no_folder(outcome: Outcome) -> None:
    assert "No such option" not in outcome.text
    files = [path for path in (outcome.folder / "out").rglob("*") if path.is_file() and ".corpusfmt" not in path.parts]
    assert str(outcome.folder).encode() not in b"".join([outcome.stdout, outcome.stderr, *map(Path.read_bytes, files)])


def _relative() -> Iterator[Attack]:
    for name, command in _RELATIVE.items():
        yield Attack(f"relative-{name}", _some_data, command, _names_no_folder, cwd="data")
    for number, settings in enumerate(("nonsense = 1", 'paths = ["data/v", "none"]', 'profile = "none.toml"', "[")):
        above = partial(_some_data, settings=settings)
        for command in (("validate",), ("validate", "v", "--verbose"), ("fix", "--diff", "v")):
            name = f"relative-settings-{number}-{command[0]}-{len(command)}"
            yield Attack(name, above, command, _names_no_folder, cwd="data/v")


ATTACKS = [*_reports(), *_commands(), *_tampered(), *_strange_settings(), *_unseen_json(), *_relative()]
ATTACKS.append(_exact(ATTACKS[0], _names_come_back))
