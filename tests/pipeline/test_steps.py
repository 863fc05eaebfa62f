"""Steps of a recipe: functions of the user's that keep, drop and annotate documents and lines, and fail on some."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from pipeline.test_build import assert_strictly_valid
from support import LONG_LINE, SAMPLE, corpus, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.model import Incomplete, Report, UsageError, Verdict
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.process.steps import Code, StepCode, StepCounts, Steps, code_of
from corpusfmt.pipeline.recipe import Step, load_recipe, recipe_text

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."
# Rates documents by their first number, and drops the lines that end with 7.
CODE = """
def rated(document, least=0):
    number = int(document.text.split("\\n")[0].rpartition(" ")[2])
    found = {"number": number, "even": number % 2 == 0, "host": document.metadata["warc-target-uri"]}
    return number >= least and found


def last_digits(lines, language):
    return [not line.endswith("7") and {"digit": int(line[-1]), "size": None} for line in lines]
"""
RATED = """
[[step]]
name = "rated"
function = "py:code.py:rated"
annotations = { number = "number", even = "boolean", host = "string" }
options = { least = 2 }
"""
LAST_DIGITS = """
[[step]]
name = "digits"
function = "py:./code.py:last_digits"
on = "lines"
annotations = { digit = "number", size = "number" }
"""


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    """Two inputs of two languages that share lines."""
    folder = tmp_path / "wet"
    for number in range(2):
        records = [
            wet_record(
                10 * number + each,
                "".join(f"{line} {(each * 3 + offset) % 10}\n" for line in (LONG_LINE, GERMAN) for offset in range(5)),
            )
            for each in range(4)
        ]
        wet_file(folder / f"{number}.warc.wet.gz", records)
    return folder


def recipe(folder: Path, steps: str, code: str = CODE, base: str = "dolma") -> str:
    """Write a recipe with steps, and the file of their functions; return its path."""
    folder.mkdir(exist_ok=True)
    (folder / "code.py").write_text(code)
    path = folder / "mine.toml"
    path.write_text(recipe_text(base) + steps)
    return str(path)


def one_step(code: str, more: str = "") -> tuple[str, str]:
    """Return a step with the function `judge`, and its code."""
    return f'\n[[step]]\nname = "judge"\nfunction = "py:code.py:judge"\n{more}', code


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


def manifest(folder: Path) -> Any:
    found = json.loads((folder / "MANIFEST.json").read_bytes())
    schema = json.loads(resource("schemas", "manifest/manifest.schema.json").read_bytes())
    Draft202012Validator(schema).validate(found)
    return found


def test_documents_and_lines_are_kept_dropped_and_annotated(tmp_path: Path, wet: Path) -> None:
    report = corpusfmt.build(wet, tmp_path / "out", recipe=recipe(tmp_path / "own", RATED + LAST_DIGITS))
    assert report.verdict is Verdict.VALID
    documents = rows(tmp_path / "out/documents/de/de.jsonl.gz")
    rated = rows(tmp_path / "out/attributes/rated/de/de.jsonl.gz")
    digits = rows(tmp_path / "out/attributes/digits/de/de.jsonl.gz")
    assert [row["id"] for row in documents] == [row["id"] for row in rated] == [row["id"] for row in digits]
    # The first document of an input begins with 0, which is less than 2; the second input repeats the first.
    assert [row["attributes"] for row in rated] == [
        {"rated__document__number": n, "rated__document__even": n == 6, "rated__document__host": f"http://site-{i}.example/"}
        for i, n in ((1, 3.0), (2, 6.0), (3, 9.0))
    ]  # fmt: skip
    assert type(rated[0]["attributes"]["rated__document__number"]) is float
    kept = [[int(line[-1]) for line in row["text"].split("\n")] for row in documents]
    assert kept == [[3, 4, 5, 6], [8, 9, 0], [1, 2]]
    for row, beside, numbers in zip(documents, digits, kept, strict=True):
        spans = beside["attributes"]["digits__line__digit"]
        assert [score for _, _, score in spans] == numbers
        assert "".join(row["text"][start:end] for start, end, _ in spans) == row["text"]
        assert beside["attributes"]["digits__line__size"] == []
    assert report.results["steps"] == manifest(tmp_path / "out")["steps"]
    # Both languages, both inputs.
    assert report.results["steps"] == {
        "rated": {"kept": 12, "dropped": 4, "failed": 0},
        "digits": {"kept": 52, "dropped": 8, "failed": 0},
    }
    assert report.results["dropped"] == {
        "by step digits": 8,
        "by step rated": 20,
        "repeated in its language": 52 - 18,
    }
    assert_strictly_valid(corpusfmt.validate(tmp_path / "out", profile=("strict", "hub")))


def test_every_number_of_workers_gives_the_same_bytes(tmp_path: Path, wet: Path) -> None:
    recipe(tmp_path / "own", RATED + LAST_DIGITS)
    spawning = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    for name, *options in (("1",), ("2", "--jobs", "2"), ("5", "--jobs", "5"), ("s", "--engine", "py:deadly:workers")):
        # The path of a recipe is relative to the working folder of the command, not to that of a worker.
        given = ("--output", tmp_path / name, "--recipe", "own/mine.toml")
        done = run_cli(
            "build", wet, *given, *options, cwd=tmp_path, env=spawning if name == "s" else None, fresh=name == "s"
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert tree(tmp_path / name) == tree(tmp_path / "1")
        assert b"\n  step rated: 12 kept, 4 dropped, 0 failed\n" in done.stdout
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["code.py", "mine.toml"]


def test_annotations_are_a_header_of_oscar_and_survive_conversion(tmp_path: Path, wet: Path) -> None:
    out = tmp_path / "out"
    corpusfmt.build(wet, out, recipe=recipe(tmp_path / "own", RATED + LAST_DIGITS, base="oscar-1.1"))
    notes = [json.loads(row["headers"]["corpusfmt-annotations"]) for row in rows(out / "en/en_meta.jsonl.gz")]
    assert notes[1] == {
        "rated": {"number": 6.0, "even": True, "host": "http://site-2.example/"},
        "digits": {"digit": [8.0, 9.0, 0.0], "size": [None] * 3},
    }
    report = corpusfmt.validate(out, profile="strict")
    # In each language the record has other annotations, and is still the same one.
    assert_strictly_valid(report)
    assert "OSC602" not in report.by_rule
    corpusfmt.convert(out, tmp_path / "dolma", to="dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar-1.1")
    assert tree(tmp_path / "back" / "en") == tree(out / "en")
    (tmp_path / "own" / "code.py").write_text(CODE.replace('"number": number', '"number": -number'))
    corpusfmt.build(wet, tmp_path / "changed", recipe=str(tmp_path / "own" / "mine.toml"))
    assert corpusfmt.compare(out, tmp_path / "changed").documents.changed_metadata == 6


def test_a_function_sees_a_document_and_what_earlier_steps_said_of_it(tmp_path: Path, wet: Path) -> None:
    code = """
def judge(document, step):
    document.text = "changed"
    document.attributes["judge"] = {"step": "forged"}
    return {"seen": f"{document.id} {document.lang} {document.created} {step}"}

def after(document):
    return document.text != "changed" and {"before": document.attributes["judge"]["seen"]}
"""
    steps, _ = one_step(code, 'annotations = { seen = "string" }\noptions = { step = "first" }\n')
    steps += '[[step]]\nname = "after"\nfunction = "py:code.py:after"\nannotations = { before = "string" }\n'
    corpusfmt.build(wet, tmp_path / "out", recipe=recipe(tmp_path / "own", steps, code))
    document = rows(tmp_path / "out/documents/en/en.jsonl.gz")[0]
    (first, *_), (second, *_) = (
        rows(tmp_path / f"out/attributes/{name}/en/en.jsonl.gz") for name in ("judge", "after")
    )
    assert first["attributes"] == {"judge__document__seen": f"{document['id']} en {document['created']} first"}
    assert list(second["attributes"].values()) == list(first["attributes"].values())


FAILURES: Mapping[str, tuple[str, str, str]] = {
    "raises": ("raise ValueError('no\\nscore')", "", "raised ValueError: no\nscore"),
    "exits": ("raise SystemExit(0)", "", "raised SystemExit: 0"),
    "ends a generator": ("raise GeneratorExit", "", "raised GeneratorExit: "),
    "has no message": (
        "raise type('Odd', (Exception,), {'__str__': lambda _: 1 / 0})",
        "",
        "raised Odd: ",
    ),
    "waits": ("import time; time.sleep(1000)", "timeout = 0.1", "did not return within 0.1 seconds"),
    "loops": (
        "while True:\n        try: [0] * 10\n        except Exception: pass",
        "timeout = 0.1",
        "did not return within 0.1 seconds",
    ),
    "recurses": ("return judge(document)", "", "raised RecursionError: "),
    "nothing": ("return None", "", "returned NoneType, expected True or False"),
    "undeclared": ("return {'a': 1}", "", "returned dict, expected True or False"),
    "another": (
        "return {'b': 1}",
        'annotations = { a = "number" }',
        "returned the annotation `b`, and the recipe declares a",
    ),
    "odd": ("return 1", 'annotations = { a = "number" }', "returned int, expected True, False or a mapping"),
    "no number": ("return {'a': '1'}", 'annotations = { a = "number" }', "returned str as `a`, expected a number"),
    "truth": ("return {'a': True}", 'annotations = { a = "number" }', "returned bool as `a`, expected a number"),
    "nan": ("return {'a': float('nan')}", 'annotations = { a = "number" }', "expected a number that is finite"),
    "huge": ("return {'a': 10**400}", 'annotations = { a = "number" }', "expected a number that is finite"),
    "half": ("return {'a': chr(0xd800)}", 'annotations = { a = "string" }', "a string that UTF-8 can encode"),
    "zero": ("return {'a': 0}", 'annotations = { a = "boolean" }', "returned int as `a`, expected a boolean"),
    "short": ("return [True]", 'on = "lines"', "returned 1, expected a list of 5 values, one for each line"),
    "lazy": ("return map(bool, document)", 'on = "lines"', "returned map, expected a list of 5 values"),
    "no text": (
        "return {'a': type('Text', (str,), {'__str__': lambda _: 5})()}",
        'annotations = { a = "string" }',
        "raised TypeError: __str__ returned non-string",
    ),
    "one of them": ("return [True] * 4 + [None]", 'on = "lines"', "returned NoneType, expected True or False"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_a_function_does_wrong_is_named(tmp_path: Path, name: str) -> None:
    body, more, reason = FAILURES[name]
    own = recipe(tmp_path, *one_step(f"def judge(document, *language):\n    {body}\n", more))
    dropped: Counter[str] = Counter()
    steps = Steps(code_of(load_recipe(own), own), dropped)
    stored = StoredDocument(b'{"warc-record-id":"<urn:x>"}', 5, f"{LONG_LINE}\n".encode() * 5)
    assert steps.applied("en", stored) is None
    ((step, document, said, count),) = map(msgspec.structs.astuple, steps.failures)
    assert (step, document, count) == ("judge", "urn:x#en", 1)
    assert reason in said
    assert steps.counts == {"judge": StepCounts(0, 0, 1)}
    assert dropped == {"in a document on which step judge failed": 5}


def test_a_document_on_which_a_step_fails_is_left_out_and_the_others_stay(tmp_path: Path, wet: Path) -> None:
    code = f"""
def judge(document):
    if document.text.startswith("{GERMAN} 3"):
        raise ValueError("3")
    return True
"""
    report = corpusfmt.build(wet, tmp_path / "out", recipe=recipe(tmp_path / "own", *one_step(code)))
    assert report.verdict is Verdict.INCOMPLETE
    assert [(each.code, each.location.path, each.location.record) for each in report.findings] == [
        ("WET105", f"{number}.warc.wet.gz", f"urn:uuid:00000000-0000-4000-8000-0000000000{number}1#de")
        for number in range(2)
    ]
    counts = manifest(tmp_path / "out")
    assert counts["steps"] == {"judge": {"kept": 14, "dropped": 0, "failed": 2}}
    assert counts["dropped"]["in a document on which step judge failed"] == 10
    # The other documents are there, among them the same page in English.
    assert [row["id"][-5:] for row in rows(tmp_path / "out/documents/en/en.jsonl.gz")] == ["00#en", "01#en", "02#en"]
    assert [row["id"][-5:] for row in rows(tmp_path / "out/documents/de/de.jsonl.gz")] == ["00#de", "02#de"]


def test_failures_are_counted_beyond_the_first_ones_and_a_corrected_step_completes_the_run(tmp_path: Path) -> None:
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(each, f"{LONG_LINE} {each}\n") for each in range(25)])
    own = recipe(tmp_path / "own", *one_step("def judge(document):\n    return document.no_such_field\n"))
    command = ("build", tmp_path / "a.warc.wet.gz", "--output", tmp_path / "out", "--recipe", own)
    done = run_cli(*command)
    assert done.returncode == 3
    said = done.stderr.decode().split("\n")
    assert said[0] == (
        "excluded: a.warc.wet.gz: WET105 document urn:uuid:00000000-0000-4000-8000-000000000000#en: step `judge` raised "
        "AttributeError: 'Document' object has no attribute 'no_such_field'"
    )
    assert said[-2].startswith("25 documents excluded: after corrections, run the same command again, or remove ")
    assert said[-2].endswith("/out/.corpusfmt to accept the corpus without them")
    assert b"  step judge: 0 kept, 0 dropped, 25 failed\n" in done.stdout
    (tmp_path / "own" / "code.py").write_text("def judge(document):\n    return True\n")
    done = run_cli(*command)
    assert (done.returncode, done.stderr) == (0, b"resumed an unfinished run (inputs kept: 0, read: 1)\n")
    corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "fresh", recipe=own)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")
    done = run_cli(*command)
    assert (done.returncode, done.stderr.startswith(b"nothing to do: ")) == (0, True)
    assert b"  step judge: 25 kept, 0 dropped, 0 failed\n" in done.stdout


def test_only_inputs_with_failures_are_read_again(tmp_path: Path, wet: Path) -> None:
    code = f"""
from pathlib import Path

def judge(document):
    if document.id.startswith("urn:uuid:00000000-0000-4000-8000-00000000001"):
        Path({str(tmp_path / "table")!r}).read_text()
    return True
"""
    own = recipe(tmp_path / "own", *one_step(code))
    first = corpusfmt.build(wet, tmp_path / "out", recipe=own)
    assert first.by_rule == {"WET105": 8}
    (tmp_path / "table").touch()
    second = corpusfmt.build(wet, tmp_path / "out", recipe=own)
    assert (second.verdict, second.results["resumed"]) == (Verdict.VALID, {"taken_over": 1, "read": 1})
    corpusfmt.build(wet, tmp_path / "fresh", recipe=own)
    assert corpus(tmp_path / "out") == corpus(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("steps", "code", "taken_over"),
    [
        (RATED, CODE, 2),
        (RATED, CODE + "# a comment\n", 0),
        (RATED.replace("least = 2", "least = 4"), CODE, 0),
        (RATED.replace('even = "boolean", ', ""), CODE.replace('"even": number % 2 == 0, ', ""), 0),
        (LAST_DIGITS, CODE, 0),
        ("", CODE, 0),
    ],
    ids=["unchanged", "code", "options", "annotations", "step", "no step"],
)
def test_a_changed_step_begins_the_stage_again(
    tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch, steps: str, code: str, taken_over: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("corpusfmt.pipeline.run.packaged", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            corpusfmt.build(wet, tmp_path / "out", recipe=recipe(tmp_path / "own", RATED))
    own = recipe(tmp_path / "own", steps, code)
    report = corpusfmt.build(wet, tmp_path / "out", recipe=own)
    assert report.results["resumed"] == {"taken_over": taken_over, "read": 2 - taken_over}
    corpusfmt.build(wet, tmp_path / "fresh", recipe=own)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_a_module_is_as_good_as_a_file(tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib").mkdir()
    module = tmp_path / "lib" / "steps_of_mine.py"
    module.write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    by_module = recipe(tmp_path / "module", RATED.replace("code.py", "steps_of_mine"))
    corpusfmt.build(wet, tmp_path / "a", recipe=by_module)
    corpusfmt.build(wet, tmp_path / "b", recipe=recipe(tmp_path / "file", RATED))
    assert manifest(tmp_path / "a")["functions"] == manifest(tmp_path / "b")["functions"]
    a, b = (tree(tmp_path / name) for name in "ab")
    del a["MANIFEST.json"], b["MANIFEST.json"]
    assert a == b
    # Python does not import a module again: what runs would not be what the digest is of.
    module.write_text(CODE + "# changed\n")
    with pytest.raises(UsageError, match="steps_of_mine has changed since this process imported it: start a new one"):
        corpusfmt.build(wet, tmp_path / "c", recipe=by_module)


def test_the_digest_covers_the_package_and_what_it_imports(
    tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lib" / "judges"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("import msgspec\n")
    (package / "tables.py").write_text("from numpy import array\nLEAST = 2\n")
    (package / "data" / "template.py").write_text("not { Python")
    monkeypatch.syspath_prepend(tmp_path / "lib")

    def built(name: str) -> Any:
        code = "from judges import tables\n\ndef judge(document):\n    return True\n"
        (package / "rules.py").write_text(code)
        steps = one_step("")[0].replace("code.py", "judges.rules")
        done = run_cli(
            "build", wet, "--output", tmp_path / name, "--recipe", recipe(tmp_path / "own", steps),
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "lib"), *sys.path])}, fresh=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return manifest(tmp_path / name)["functions"]["judge"]

    before = built("a")
    assert before["imports"] == {name: importlib.metadata.version(name) for name in ("msgspec", "numpy")}
    (package / "tables.py").write_text("LEAST = 3\n")
    after = built("b")
    assert (after["sha256"] != before["sha256"], list(after["imports"])) == (True, ["msgspec"])


def test_an_interrupt_by_the_function_is_one_line(tmp_path: Path, wet: Path) -> None:
    """Of the parent, it is the user's; a worker has none, so that there it is a failure of the step."""
    own = recipe(tmp_path / "own", *one_step("def judge(document):\n    raise KeyboardInterrupt\n"))
    done = run_cli("build", wet, "--output", tmp_path / "a", "--recipe", own, "--jobs", "1", fresh=True)
    assert (done.returncode, done.stderr.count(b"\n"), b"Traceback" in done.stderr) == (130, 1, False)
    done = run_cli("build", wet, "--output", tmp_path / "b", "--recipe", own, "--jobs", "2", fresh=True)
    assert done.returncode == 3
    assert b"step `judge` raised KeyboardInterrupt: " in done.stderr


WRONG: Mapping[str, tuple[str, str, str]] = {
    "no file": ('function = "py:other.py:judge"', "", "other.py cannot be loaded: FileNotFoundError: "),
    "no module": ('function = "py:no_such_module:judge"', "", "no_such_module cannot be loaded: ModuleNotFoundError: "),
    "no function": ('function = "py:code.py:judg"', "", r"`judg` in .*code.py does not exist$"),
    "no function at all": ('function = "py:code.py:judge"', "judge = 7", r"`judge` in .*code.py is not a function$"),
    "syntax": ('function = "py:code.py:judge"', "def judge(", "code.py cannot be loaded: SyntaxError: "),
    "exit": ('function = "py:code.py:judge"', "raise SystemExit(0)", "code.py cannot be loaded: SystemExit: 0"),
    "no message": (
        'function = "py:code.py:judge"',
        "raise type('Odd', (Exception,), {'__str__': lambda _: 1 / 0})",
        "code.py cannot be loaded: Odd: ",
    ),
    "generator": ('function = "py:code.py:judge"', "raise GeneratorExit", "code.py cannot be loaded: GeneratorExit: "),
    "built in": ('function = "py:sys:exit"', "", "the module has no file, so its digest is unknown"),
    "too few": (
        'function = "py:code.py:judge"\noptions = { least = 1 }',
        "def judge(document): pass",
        r"py:code.py:judge does not take \(document, least\): got an unexpected keyword argument 'least'",
    ),
    "too many": (
        'function = "py:code.py:judge"',
        "def judge(document, least): pass",
        r"py:code.py:judge does not take \(document\): missing a required argument: 'least'",
    ),
    "lines": (
        'function = "py:code.py:judge"\non = "lines"',
        "def judge(lines): pass",
        r"py:code.py:judge does not take \(lines, language\): too many positional arguments",
    ),
    "texts of lines": (
        'function = "py:code.py:judge"\non = "lines"\nannotations = { a = "string" }',
        "",
        "annotates lines, and only with numbers",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_step_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    more, code, complaint = WRONG[name]
    own = recipe(tmp_path / "own", f'\n[[step]]\nname = "judge"\n{more}\n', code)
    with pytest.raises(UsageError, match=f"^step `judge`.*{complaint}"):
        code_of(load_recipe(own), own)


@pytest.mark.parametrize(
    ("base", "steps", "complaint"),
    [
        ("goclassy-2019", LAST_DIGITS, "step `digits` needs documents, and the format goclassy has none"),
        ("oscar-1.0", RATED, "step `rated` has annotations, and the format oscar-1.0 has no metadata"),
        ("dolma", RATED * 2, "recipe .*: more than one step is called `rated`: give each its own name"),
        ("dolma", RATED.replace('"rated"', '"Rated"'), '`step.0.name` is "Rated", expected a lower-case name'),
        ("dolma", RATED.replace('"rated"', '"corpusfmt_x"'), "`step.0.name` is .*does not begin with `corpusfmt`"),
        ("dolma", RATED.replace("py:", ""), r"`step.0.function` is .*, expected `py:MODULE:FUNCTION`"),
        ("dolma", RATED.replace('"boolean"', '"date"'), '`step.0.annotations.even` is "date", expected `number`'),
        ("dolma", RATED.replace("host", "Host"), "expected a lower-case name of letters, digits and underscores"),
        (
            "dolma",
            RATED.replace("options", "option"),
            r"`step.0.option` is unknown \(did you mean `options`\?\); known: ",
        ),
        ("dolma", '\n[[step]]\nname = "a"\n', "'function' is a required property of `step.0`"),
        ("dolma", "\n[step]\n", r"`step` is \{\}, expected tables"),
    ],
)
def test_a_recipe_with_wrong_steps_is_refused(tmp_path: Path, base: str, steps: str, complaint: str) -> None:
    own = recipe(tmp_path / "own", steps, base=base)
    with pytest.raises(UsageError, match=complaint):
        code_of(load_recipe(own), own)


def test_a_step_that_cannot_be_used_is_an_error_before_work_starts(tmp_path: Path) -> None:
    own = recipe(tmp_path / "own", RATED, "")
    done = run_cli("build", SAMPLE, "--output", tmp_path / "out", "--recipe", own)
    said = f"error: step `rated`: `rated` in {tmp_path / 'own' / 'code.py'} does not exist\n"
    assert (done.returncode, done.stderr.decode()) == (2, said)
    assert not (tmp_path / "out").exists()


def test_a_worker_without_the_function_or_with_another_one_says_so(tmp_path: Path) -> None:
    step = Step("judge", "py:no_such_module:judge")
    with pytest.raises(UsageError, match=r"^step `judge` on \S+: no_such_module cannot be loaded: ModuleNotFoundError"):
        Steps([StepCode(step, "", Code("0" * 64, {}))], Counter())
    (tmp_path / "code.py").write_text("def rated(document): return True\n")
    code = StepCode(Step("judge", "py:code.py:rated"), str(tmp_path / "code.py"), Code("0" * 64, {}))
    with pytest.raises(Incomplete, match=r"^step `judge` on \S+: py:code.py:rated is not what the run began with"):
        Steps([code], Counter())


def test_no_code_comes_from_the_data(tmp_path: Path, wet: Path) -> None:
    """Neither a module in the working folder, nor what the manifest of a release names, is run."""
    own = recipe(tmp_path / "own", RATED, CODE)
    built: Report = corpusfmt.build(wet, tmp_path / "out", recipe=own)
    assert built.verdict is Verdict.VALID
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')\n"
    for name in ("code.py", "code_of_theirs.py"):
        (tmp_path / "out" / name).write_text(trap)
    (tmp_path / "own" / "code.py").write_text(trap)
    assert run_cli("verify", tmp_path / "out", cwd=tmp_path / "out").returncode == 1  # files were added
    theirs = recipe(tmp_path / "own", RATED.replace("code.py", "code_of_theirs"), CODE)
    done = run_cli("build", wet, "--output", tmp_path / "no", "--recipe", theirs, cwd=tmp_path / "out", fresh=True)
    assert (done.returncode, b"No module named 'code_of_theirs'" in done.stderr) == (2, True)
    assert not (tmp_path / "sprung").exists()
