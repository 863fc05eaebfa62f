"""One case: an input made from a seed and a number, an operation on it, and the invariants."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sys
import time
import traceback
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from fuzz import trees
from fuzz.answers import served
from fuzz.mutate import CANARY, Pool, mutate
from fuzz.seeds import Json, Seed
from fuzz.trees import Special, Tree

import corpusfmt
from corpusfmt.engine.config import load_config
from corpusfmt.io.limits import DEFAULT_LIMITS, LimitReached, Limits
from corpusfmt.io.stores import Unreadable
from corpusfmt.model import CorpusfmtError, Finding, Report, Verdict
from corpusfmt.pipeline.choices import Selection
from corpusfmt.recordsets.tables import json_lines
from corpusfmt.report import RENDERERS
from corpusfmt.report.saved import load
from corpusfmt.rules import Judge

#: No case may take longer, in time of the clock or of the processor.
MOST_SECONDS = 20
#: The memory that its process may hold at any time, all that was there before the case included.
MOST_MEMORY = 512 << 20
# What may be read beyond a total before it is noticed: a chunk that was expanded at once.
_MOST_BEYOND = 4 << 20


@dataclass(frozen=True)
class Case:
    """What is to be done with a tree; `options` is JSON."""

    number: int
    seed: str
    tree: Tree
    root: str
    action: str
    options: Json


@dataclass(frozen=True)
class Failure:
    """A broken promise: `kind` names it, and failures of one `cause` are likely to be one defect."""

    kind: str
    cause: str
    detail: str = ""


@dataclass
class Outcome:
    """What a case gave: `answer` is a digest of all that a second run must repeat."""

    failures: list[Failure] = field(default_factory=list)
    answer: str = ""

    def fail(self, kind: str, cause: str, detail: str = "") -> None:
        self.failures.append(Failure(kind, cause, detail[:2000]))


# Making --------------------------------------------------------------------------------------------------------------

_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "corpus": ("validate",) * 6 + ("convert",) * 5 + ("describe",) * 2 + ("build", "store"),
    "description": ("validate",) * 6 + ("records",) * 4 + ("convert", "store"),
    "wet": ("build",) * 8 + ("validate", "convert"),
    "report": ("render", "render", "baseline"),
    "settings": ("settings",),
    "recipe": ("recipe",),
    "list": ("blocklist",),
}
# Of how many cases out of a hundred the seed is of a kind.
_SHARES = {"corpus": 40, "description": 38, "wet": 10, "report": 6, "settings": 2, "recipe": 3, "list": 1}
_RULES = ("DOL", "OSC", "CRO", "GEN", "DOL306", "CRO1", "GEN101", "no-such-rule", "")
_FORMATS = ("auto", "oscar", "oscar-1.0", "oscar-1.1", "dolma", "croissant", "oscar2", "parquet")
_TARGETS = ("dolma", "oscar", "oscar-1.0", "oscar-1.1", "parquet")
_LIMITS: tuple[Json, ...] = (
    {"total_bytes": 0},
    {"total_bytes": 1},
    {"total_bytes": 300},
    {"total_bytes": 5000},
    {"total_bytes": 1 << 40},
    {"expansion": 1.0},
    {"timeout": 1e-6},
    {"timeout": 3600.0},
)
_RECIPES = ("oscar-1.1", "oscar-1.1", "oscar-1.0", "oscar-1.0-shuffled", "dolma", "goclassy-2019")


def case_of(seeds: list[Seed], pool: Pool, run_seed: int, number: int) -> Case:
    """Return a case: the same for the same seeds, run and number."""
    rng = random.Random(f"{run_seed}/{number}")
    kind = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
    of_kind = [seed for seed in seeds if seed.kind == kind]
    # A few seeds are worth as much as the many of the fixtures.
    special = [seed for seed in of_kind if not seed.name.startswith("fixture")]
    seed = rng.choice(rng.choice([of_kind, special or of_kind]))
    tree = dict(seed.tree)
    for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 8]) if number else 0):
        tree = mutate(rng, tree, pool)
    if rng.random() < 0.6:
        tree = _healed(tree)
    if kind not in {"corpus", "description", "wet"}:
        # Settings and the like may well come from a pipe, if the user says so: that nobody writes to it is no defect.
        tree = {path: data for path, data in tree.items() if not (isinstance(data, Special) and data.kind == "pipe")}
    action = rng.choice(_ACTIONS[kind])
    return Case(number, seed.name, tree, seed.root, action, _options(rng, action, seed, tree))


def _options(rng: random.Random, action: str, seed: Seed, tree: Tree) -> Json:
    def at_times(share: float, make: Callable[[], Any]) -> Any:
        return make() if rng.random() < share else None

    if action == "validate":
        found = {
            "target": at_times(0.1, lambda: rng.choice(list(tree) or [""])),
            "format": rng.choice([seed.arguments.get("format", "auto"), "auto"])
            if rng.random() < 0.9
            else rng.choice(_FORMATS),
            "profile": rng.choice(["standard", "strict"]),
            "data": rng.random() < 0.7,
            "dedup": rng.random() < 0.3,
            "select": at_times(0.05, lambda: [rng.choice(_RULES)]),
            "ignore": at_times(0.05, lambda: [rng.choice(_RULES)]),
            "max_line_bytes": at_times(0.1, lambda: rng.choice([1, 10, 100, 1000])),
            "max_per_rule": at_times(0.2, lambda: rng.choice([1, 2, 1000])),
            "sample": at_times(0.03, lambda: rng.choice([0.01, 0.5, 1.0])),
            "jobs": at_times(0.002, lambda: 2),
        }
    elif action == "convert":
        found = {
            "to": rng.choice(_TARGETS),
            "on_loss": rng.choice(["error", "warn", "allow", "allow"]),
            "on_bad_record": rng.choice(["stop", "quarantine", "quarantine"]),
            "language_entry": at_times(0.3, lambda: rng.choice(["language", "lang", "metadata"])),
            "language_attribute": at_times(
                0.1, lambda: rng.choice(["oscar-language/language", "language", "/", "../x/y"])
            ),
            "source_name": at_times(0.2, lambda: rng.choice(["s", "", "a\nb"])),
            "added": at_times(0.2, lambda: rng.choice(["2024-01-31", "soon"])),
            "merge_attributes": at_times(0.15, lambda: True),
            "split_attributes": at_times(0.1, lambda: [rng.choice(["a", "a=b", "../a", "=", "a/b=c"])]),
            "language_attributes": at_times(0.1, lambda: True),
            "part_bytes": at_times(0.1, lambda: rng.choice([1, 500])),
            "field": at_times(
                0.2,
                lambda: {"text": rng.choice(["text", "title", "films/title"]), "id": rng.choice(["id", "films/id"])},
            ),
            "record_set": at_times(0.3, lambda: rng.choice(["films", "rows", "documents", "lines", "p"])),
            "jobs": at_times(0.002, lambda: 2),
        }
    elif action == "build":
        found = {
            "recipe": rng.choice(_RECIPES),
            "keep_original": at_times(0.2, lambda: True),
            "min_lines": at_times(0.2, lambda: rng.choice([0, 1, 2])),
            "languages": at_times(0.1, lambda: [rng.choice(["de", "ar", "xx"])]),
            "jobs": at_times(0.002, lambda: 2),
        }
    elif action == "records":
        found = {
            "record_set": at_times(
                0.6, lambda: rng.choice(["films", "views", "rows", "items", "texts", "film", "p", "n"])
            )
        }
    else:
        found = {"output": rng.choice(list(RENDERERS))}
    if action in {"validate", "convert", "describe", "build", "records"}:
        # Drawn last, so that what else there is of a case does not depend on it.
        found["limits"] = at_times(0.08, lambda: rng.choice(_LIMITS))
    return {name: value for name, value in found.items() if value is not None}


def _healed(tree: Tree) -> Tree:
    """Give lists of checksums, and descriptions, the digests and sizes that files have now: what is behind them is read."""
    healed = dict(tree)
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in tree.items() if isinstance(data, bytes)}
    for path, data in tree.items():
        if not isinstance(data, bytes):
            continue
        folder = path.rpartition("/")[0]
        if path.endswith("_sha256.txt"):
            lines = [line.split(b" ") for line in data.split(b"\n")]
            for line in lines:
                name = f"{folder}/{line[-1].decode('utf-8', 'surrogateescape')}"
                if len(line) > 1 and name in digests:
                    line[0] = digests[name].encode()
            healed[path] = b"\n".join(b" ".join(line) for line in lines)
        elif path.endswith(".json") and b'"sha256"' in data:
            healed[path] = _with_digests(data, folder, digests)
    return healed


_FILE_OBJECT = re.compile(rb'"contentUrl":\s*"([^"\\]+)"[^{}]*?"sha256":\s*"([^"]*)"')


def _with_digests(data: bytes, folder: str, digests: Mapping[str, str]) -> bytes:
    def healed(match: re.Match[bytes]) -> bytes:
        path = match[1].decode("utf-8", "replace")
        digest = digests.get(f"{folder}/{path}" if folder else path)
        return match[0].replace(match[2], digest.encode()) if digest and match[2] else match[0]

    return _FILE_OBJECT.sub(healed, data)


# Doing ---------------------------------------------------------------------------------------------------------------


class _Run:
    """A case while it runs: where it lies, and what has come of it so far."""

    def __init__(self, case: Case, base: Path) -> None:
        self.case = case
        self.base = base
        self.path = base / "in" / case.root
        self.outcome = Outcome()
        self.answer = hashlib.sha256()

    def say(self, *parts: bytes | str) -> None:
        """Take something into the answer, which must not depend on where the case lies."""
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self.answer.update(data.replace(os.fsencode(self.base), b"BASE") + b"\0")

    def out(self, name: str) -> Path:
        return self.base / "out" / name

    def say_folder(self, folder: Path) -> None:
        for path, data in trees.contents(folder).items():
            if CANARY.encode() in data or CANARY in path:
                self.outcome.fail("leak", f"{self.case.action}: output", f"{path} holds text from outside the input")
            if not _is_state(path):
                self.say(path, data)

    def say_report(self, report: Report) -> None:
        for finding in report.findings:
            if finding.code == "GEN000" and not _crashes:
                self.outcome.fail("crash", finding.message, str(finding.location))
            if finding.code == "GEN003":
                self.check_limit(finding.message)
                if report.verdict is not Verdict.INCOMPLETE:
                    self.outcome.fail("limits", f"{self.case.action}: {report.verdict} beyond them", finding.message)
        self.say(_without_times(_shown(self, report)))

    def allowed(self, error: Exception) -> None:
        """Take an exception that a caller can expect into the answer."""
        self.say(f"{type(error).__name__}: {error}")
        if isinstance(error, LimitReached):
            self.check_limit(error.reason)
        if CANARY in str(error):
            self.outcome.fail("leak", f"{self.case.action}: message", str(error))

    def check_limit(self, reason: str) -> None:
        """Hold what was read in spite of a bound to little more than the bound."""
        if (said := _TOTAL.match(reason)) and not 0 < int(said[1].replace(",", "")) - int(
            said[2].replace(",", "")
        ) <= _MOST_BEYOND:
            self.outcome.fail("limits", f"{self.case.action}: beyond --limit total-bytes", reason)

    def options(self) -> tuple[Json, Limits | None]:
        """Return the options of the case, its bounds aside."""
        options = dict(self.case.options)
        limits = options.pop("limits", None)
        return options, Limits(**limits) if limits else None


def _is_state(path: str) -> bool:
    """Tell whether a path is what an unfinished run keeps to go on from, which is its own business."""
    return ".corpusfmt" in path.split("/")


_TOTAL = re.compile(r"read ([\d,]+) uncompressed bytes, more than --limit total-bytes \(([\d,]+)\)$")
_TIMES = re.compile(r'"(started|finished)": ?"[^"]*"')


def _without_times(text: str) -> str:
    return _TIMES.sub("", text)


# The innermost frame of our own for each exception that became GEN000 since the last case.
_crashes: list[tuple[str, str]] = []
_CRASH = Judge.crash
_PACKAGE = str(Path(corpusfmt.__file__).parent)


def _noted_crash(self: Judge, where: str, error: BaseException, at: Any = None) -> None:
    _crashes.append((cause_of(error), "".join(traceback.format_exception(error))[-1500:]))
    _CRASH(self, where, error, at)


def cause_of(error: BaseException) -> str:
    """Return the kind of an exception and the innermost line of corpusfmt that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(_PACKAGE)]
    where = f"{frames[-1].filename[len(_PACKAGE) + 1 :]}:{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__} at {where}"


@contextmanager
def _watched() -> Iterator[None]:
    """Note the places of crashes, and spare the disk: a case must not wait for what it writes to be safe."""
    sync = os.fsync
    os.fsync = lambda fd: None
    Judge.crash = _noted_crash  # type: ignore[method-assign]
    try:
        yield
    finally:
        Judge.crash = _CRASH  # type: ignore[method-assign]
        os.fsync = sync


def run_case(case: Case, base: Path) -> Outcome:
    """Do what the case says below an empty folder, which is empty again in the end."""
    run = _Run(case, base)
    (base / "outside").mkdir(parents=True)
    (base / "outside" / "secret.csv").write_text(f"id,text\n{CANARY},{CANARY}\n")
    (base / "in").mkdir()
    trees.write(case.tree, run.path)
    before = trees.snapshot(base / "in")
    _crashes.clear()
    began = time.monotonic(), time.process_time()
    with _watched():
        try:
            _DO[case.action](run)
        except CorpusfmtError as error:
            run.allowed(error)
        except OSError as error:
            # A folder or file that is not as it should be may be said in the words of the system, with its name.
            run.allowed(error)
            if error.filename is None:
                run.outcome.fail("exception", f"{case.action}: {cause_of(error)}", traceback.format_exc()[-1500:])
        except Exception as error:
            run.outcome.fail("exception", f"{case.action}: {cause_of(error)}", traceback.format_exc()[-1500:])
    for cause, detail in _crashes:
        run.outcome.fail("crash", cause, detail)
    for each in connections():
        run.outcome.fail("connection", case.action, each)
    for name, start, now in zip(("clock", "processor"), began, (time.monotonic(), time.process_time()), strict=True):
        if now - start > MOST_SECONDS:
            run.outcome.fail("slow", case.action, f"{now - start:.0f} s of the {name}")
    if trees.snapshot(base / "in") != before:
        run.outcome.fail("input changed", case.action)
    run.outcome.answer = run.answer.hexdigest()
    for below in base.iterdir():
        trees.remove(below)
    return run.outcome


def _validate(run: _Run) -> None:
    options, limits = run.options()
    target = options.pop("target", "")
    path = os.path.join(run.path, target) if target else run.path  # noqa: PTH118 - pathlib changes odd names
    report = corpusfmt.validate(path, **options, limits=limits or DEFAULT_LIMITS)
    run.say_report(report)
    if limits and "GEN003" not in report.by_rule:
        without = _without_times(corpusfmt.render(corpusfmt.validate(path, **options), "jsonl"))
        if without != _without_times(corpusfmt.render(report, "jsonl")):
            run.outcome.fail("limits", "validate: another report within them", without)


def _store(run: _Run) -> None:
    """Validate the tree on a web server."""
    # Not by the environment: threads of clients read it, and libc lets nobody change it beside them.
    with (
        served(run.case.tree, f"{run.case.seed}/{run.case.number}", run.base / "asked") as host,
        patch("corpusfmt.io.stores._RETRIES", 0),
    ):
        _own.append(int(host.rpartition(":")[2]))
        try:
            # What is said of it depends on the pieces in which a broken answer arrives.
            corpusfmt.validate(f"http://{host}/{'input' if '' in run.case.tree else ''}")
        except (CorpusfmtError, Unreadable):
            pass
        finally:
            _own.clear()


def _made(run: _Run, make: Callable[[Path, Limits], Report], limits: Limits | None) -> Report:
    """Make a corpus; where bounds end that, going on without them must give what there would have been without."""
    if not limits:
        return make(run.out("made"), DEFAULT_LIMITS)
    try:
        return make(run.out("made"), limits)
    except LimitReached as limit:
        run.allowed(limit)
    # A corpus is named after its folder.
    places = run.out("made"), run.out("fresh") / "made"
    gone_on, fresh = (_attempted(make, each) for each in places)
    published, expected = (
        {path: data for path, data in trees.contents(each).items() if not _is_state(path)} for each in places
    )
    if type(gone_on) is not type(fresh) or published != expected:
        run.outcome.fail("limits", f"{run.case.action}: going on gives another corpus", f"{gone_on!r}\n{fresh!r}")
    if isinstance(gone_on, Exception):
        raise gone_on
    return gone_on


def _attempted(make: Callable[[Path, Limits], Report], out: Path) -> Report | Exception:
    try:
        return make(out, DEFAULT_LIMITS)
    except (CorpusfmtError, OSError) as error:
        return error


# What keeps a part of the data from being read.
_NOT_OPENED = frozenset({"GEN001", "GEN002"})
# An id that occurs twice, by format.
_REPEATED = {"GEN401", "OSC602", "DOL313"}
_NOT_READ = _NOT_OPENED | {"GEN000", "GEN003", "GEN101", "GEN201"}


def _check_all_was_read(run: _Run, of_source: Report, not_read: frozenset[str], notes: Sequence[str] = ()) -> None:
    """Hold a command that ended well, and noted what it left out, to what `validate` could read."""
    # A manifest holds no documents: who reads them need not open it.
    left_out = {"MANIFEST.json", *(each.partition(": left out: ")[0] for each in notes if ": left out: " in each)}
    told = Counter(each.code for each in of_source.findings if each.location.path in left_out)
    for code in sorted(code for code in not_read if of_source.by_rule.get(code, 0) > told[code]):
        run.outcome.fail("not read in silence", f"{run.case.action}: {code}", corpusfmt.render(of_source, "concise"))


def _convert(run: _Run) -> None:
    options, limits = run.options()
    report = _made(run, lambda out, within: corpusfmt.convert(run.path, out, **options, limits=within), limits)
    run.say_report(report)
    run.say_folder(run.out(""))
    if report.verdict is Verdict.VALID and not report.results["rejected"] and not report.results["losses"]:
        source = corpusfmt.validate(run.path)
        # Of a description, one record set is converted, and all are validated.
        _check_all_was_read(run, source, _NOT_READ - ({"GEN201"} if source.format == "croissant" else set()))
    if not report.coverage.documents:
        return  # a corpus of nothing has no layout to be valid
    lost = {code for code, count in report.by_rule.items() if count}
    made = corpusfmt.validate(run.out("made"), format=options["to"])
    errors = [finding for finding in made.findings if finding.severity == "error"]
    before = set(corpusfmt.validate(run.path).by_rule) if errors else set()  # rows keep what is wrong with them
    # A text whose folder is no language is named by its file alone, as another may be.
    if not before.isdisjoint(_REPEATED | {"OSC102"}):
        before |= _REPEATED
    if "GEN101" in before:  # lines of a text that is cut are in its variant, which may be whole
        before.add("OSC111")
    if "DOL306" in before:  # `--source-name` gives a document another source than its attributes have
        before.add("DOL503")
    for finding in errors:
        if finding.code not in before:
            kind = "invalid output in spite of what was reported" if lost else "invalid output"
            run.outcome.fail(
                kind, f"convert to {options['to']}: {finding.code}", f"{finding.location}: {finding.message}"
            )


def _describe(run: _Run) -> None:
    _, limits = run.options()
    evidence: list[Any] = []
    described = corpusfmt.describe(
        run.path, base=run.base / "in", name="fuzz", evidence=evidence.append, limits=limits or DEFAULT_LIMITS
    )
    text = json.dumps(described, indent=1)
    run.say(text)
    if CANARY in text:
        run.outcome.fail("leak", "describe", text)
    run.path.with_name("described.json").write_text(text)
    report = corpusfmt.validate(run.path.with_name("described.json"), format="croissant", data=True)
    run.path.with_name("described.json").unlink()
    of_data = corpusfmt.validate(run.path)
    notes = [note for each in evidence for note in each.get("notes", ())]
    # The description that the command makes anew is not read, nor is what is said of the files.
    own = [f"{name}: left out: " for name in ("croissant.json", "MANIFEST.json")]
    _check_all_was_read(run, of_data, _NOT_OPENED, [*notes, *own])
    # What is wrong with the data is wrong with what is said of it. That an address is none is a warning there, and so is a file
    # of attributes that belongs to nothing, or of another layout, and is not read.
    if of_data.counts["error"] or not of_data.by_rule.keys().isdisjoint({"OSC608", "DOL107", "DOL402"}):
        return
    # So is a file of which a note says that it does not read.
    unread = [note.partition(": ")[0].removesuffix("/") for note in notes]
    for finding in report.findings:
        noted = any(finding.location.path in note for note in notes)
        noted = noted or any(f'{path}"' in finding.message for path in unread)
        if finding.severity == "error" and not noted:
            run.outcome.fail("invalid output", f"describe: {finding.code}", f"{finding.location}: {finding.message}")


def _records(run: _Run) -> None:
    options, limits = run.options()
    findings: list[Finding] = []
    found = corpusfmt.records(run.path, **options, on_finding=findings.append, limits=limits or DEFAULT_LIMITS)
    lines = BytesIO()
    json_lines(found.columns, islice(found, 2000), lines)
    told = [f"{each.location} {each.code} {each.message}".encode("utf-8", "surrogatepass") for each in findings]
    for line in [*lines.getvalue().split(b"\n"), *told]:
        if CANARY.encode() in line:
            run.outcome.fail("leak", "records", line.decode("utf-8", "replace"))
        run.say(line)


def _build(run: _Run, recipe: str | None = None) -> None:
    options, limits = run.options()
    selection = Selection(min_lines=options.pop("min_lines", None), languages=options.pop("languages", None))
    arguments = {"recipe": recipe} if recipe else options
    source = run.path / "a.warc.wet" if recipe else run.path

    def make(out: Path, within: Limits) -> Report:
        return corpusfmt.build(source, out, selection=selection, limits=within, **arguments)

    run.say_report(_made(run, make, limits))
    run.say_folder(run.out(""))
    if options.get("recipe") == "goclassy-2019" or recipe:
        return
    for finding in corpusfmt.validate(run.out("made")).findings:
        if finding.severity == "error":
            run.outcome.fail("invalid output", f"build: {finding.code}", f"{finding.location}: {finding.message}")


def _recipe(run: _Run) -> None:
    _build(run, str(run.path / "recipe.toml"))


def _settings(run: _Run) -> None:
    settings = load_config(run.path / "corpusfmt.toml")
    run.say(repr(settings))
    report = corpusfmt.validate(
        run.path,
        profile=[name for name in settings.profiles if "://" not in name],  # whoever names a store wants it asked
        select=settings.select,
        ignore=settings.ignore,
        overrides=settings.overrides,
    )
    run.say_report(report)
    details = {name.replace("-", "_"): value for name, value in msgspec.to_builtins(settings.describe).items()}
    described = corpusfmt.describe(run.path, **details)
    run.say(json.dumps(described))


def _blocklist(run: _Run) -> None:
    run.say_report(corpusfmt.validate(run.path, format="dolma", blocklist=run.path / "block.txt"))


def _render(run: _Run) -> None:
    report = load(run.path / "report")
    run.say(_shown(run, report))


def _baseline(run: _Run) -> None:
    run.say_report(corpusfmt.validate(run.path, format="dolma", baseline=run.path / "report"))


_DO: Mapping[str, Callable[[_Run], None]] = {
    "validate": _validate,
    "store": _store,
    "convert": _convert,
    "describe": _describe,
    "records": _records,
    "build": _build,
    "recipe": _recipe,
    "settings": _settings,
    "blocklist": _blocklist,
    "render": _render,
    "baseline": _baseline,
}


# Reports -------------------------------------------------------------------------------------------------------------

# Control characters, those that turn the direction of text, ends of lines but LF, and halves of pairs.
_UNFIT = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Programs read these two back as corpusfmt's own; all that are JSON say exactly what the data says.
_RELOADED = frozenset({"json", "jsonl"})
_EXACT = _RELOADED | {"sarif", "gitlab"}
_URI = re.compile(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=])*")


def _shown(run: _Run, report: Report) -> str:
    """Render a report in every way, and return it as JSON Lines."""
    shown = {}
    for name in RENDERERS:
        try:
            shown[name] = corpusfmt.render(report, name)
        except Exception as error:
            run.outcome.fail("rendering", f"{name}: {cause_of(error)}", traceback.format_exc()[-1500:])
    if leaking := next((text for text in shown.values() if CANARY in text), None):
        before, _, after = leaking.partition(CANARY)
        run.outcome.fail("leak", f"report of {run.case.action}", before[-300:] + CANARY + after[:300])
    for name, text in shown.items():
        if name not in _EXACT and (unfit := _UNFIT.search(text)):
            run.outcome.fail(
                "rendering", f"{name}: control character", f"{unfit[0]!r} in {text[unfit.start() - 100 :][:200]!r}"
            )
        try:
            _CHECKS.get(name, _no_check)(text)
        except Exception as error:
            run.outcome.fail(
                "rendering", f"{name}: not well-formed ({type(error).__name__})", f"{error}: {text[:1000]!r}"
            )
    _check_reloading(run, shown)
    return shown.get("jsonl", "")


def _check_reloading(run: _Run, shown: Mapping[str, str]) -> None:
    saved = run.base / "saved"
    for name in sorted(_RELOADED & shown.keys()):
        saved.write_bytes(shown[name].encode("utf-8", "backslashreplace"))
        try:
            again = corpusfmt.render(load(saved), name)
        except Exception as error:
            run.outcome.fail("reloading", f"{name}: {cause_of(error)}", traceback.format_exc()[-1500:])
            continue
        if json.loads(_as_list(name, again)) != json.loads(_as_list(name, shown[name])):
            run.outcome.fail("reloading", f"{name}: another report", f"{shown[name][-700:]}\n{again[-700:]}")
    saved.unlink(missing_ok=True)


def _as_list(name: str, text: str) -> str:
    return text if name == "json" else f"[{','.join(text.split(chr(10))[:-1])}]"


def _no_check(_: str) -> None:
    """Text for people has no form of its own."""


def _check_json_lines(text: str) -> None:
    kinds = [json.loads(line)["kind"] for line in text.split("\n")[:-1]]
    assert kinds == ["run", *["finding"] * (len(kinds) - 2), "summary"]


def _check_sarif(text: str) -> None:
    for result in json.loads(text)["runs"][0]["results"]:
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert _URI.fullmatch(uri), repr(uri)


def _check_one_verdict(text: str) -> None:
    verdicts = [line for line in text.split("\n") if line.startswith(("VALID", "INVALID", "INCOMPLETE", "NO ERRORS"))]
    assert len(verdicts) == 1, verdicts
    assert not any(line.startswith("::") for line in text.split("\n"))


def _check_commands(text: str) -> None:
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in text.split("\n")[:-1])


def _check_markdown(text: str) -> None:
    assert sum(line.startswith("#") for line in text.split("\n")) == 1
    columns = {len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n") if line.startswith("|")}
    assert len(columns) <= 1, columns


_CHECKS: Mapping[str, Callable[[str], Any]] = {
    "json": json.loads,
    "jsonl": _check_json_lines,
    "sarif": _check_sarif,
    "gitlab": json.loads,
    "junit": ET.fromstring,
    "github": _check_commands,
    "markdown": _check_markdown,
    "full": _check_one_verdict,
    "concise": _check_one_verdict,
}


# What no case may do, in whatever process this is; but it may connect to its own server.
_forbidden: list[str] = []
_own: list[int] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in {"socket.connect", "socket.getaddrinfo"}:
        return
    place = arguments[1] if event == "socket.connect" else arguments[:2]
    if isinstance(place, tuple) and (place[0] != "127.0.0.1" or place[1] not in _own):
        _forbidden.append(f"{event} {place}")


def forbid_connections() -> None:
    """Note every connection from now on: `connections` returns and forgets them."""
    sys.addaudithook(_audit)


def connections() -> list[str]:
    found = list(_forbidden)
    _forbidden.clear()
    return found


def described(case: Case) -> str:
    """Return a case in words, for whoever replays it."""
    files = [
        f"  {path!r}: {f'{len(data)} bytes' if isinstance(data, bytes) else f'{data.kind} {data.target}'}"
        for path, data in case.tree.items()
    ]
    return "\n".join([f"case {case.number} of {case.seed}: {case.action} {json.dumps(case.options)}", *files])
