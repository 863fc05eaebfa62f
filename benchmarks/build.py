"""What a whole build costs, by stage, next to builds of the shapes that the OSCAR paper compares, clean and dirty, in one run.

    python benchmarks/build.py                                    300 MB of WET made of the committed sample, twice
    python benchmarks/build.py WET.gz...                          your own files
    python benchmarks/build.py --stock-python VENV/bin/python     baselines also with a source build of fasttext (0.9.3)

Costs are CPU seconds, user and system, of whole processes per 150 MB of uncompressed WET, one job. The contenders take
turns, each in a process of its own, and the cheapest round of each counts. Machines are noisy: trust ratios.

The baselines are one pass of a plain program: gzip and a scan for Content-Length, stock fastText line by line, a set of
hashes for each language, a file for each language. They write text alone, and are counted both without compressing it
and with (gzip -6); `corpusfmt build` writes a whole release: compressed parts, metadata, checksums, statistics, and
what it takes to resume.
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from measuring import MB, PEERS, Command, Cost, faster, race, spread, table

if TYPE_CHECKING:
    from corpusfmt.langid import BackendChoice

PER = 150 * MB
# Those of the recipe oscar-1.1, which all contenders follow.
MIN_CHARS, MIN_CONFIDENCE = 101, 0.8
NO_LINE_IS_SO_LONG = 1 << 40
# Every contender runs in a folder of its own.
OUTPUT = "out"

BACKENDS = {"native": "native", "fasttext": "stock fastText"}
SHAPES = {"every-line": "every line classified, then filtered", "filter-first": "filtered first, then classified"}

# The costs of a build; what stands below `process` are its parts.
STAGES = {
    "start": "start: imports, model, plan",
    "process": "process",
    "inflate": "- inflate and parse",
    "split": "- split and filter",
    "classify": "- language id",
    "store": "- store by language",
    "dedup": "dedup",
    "package": "package",
    "seal": "seal",
}

T = TypeVar("T")


@dataclass
class Clock:
    """CPU seconds of this process, by name of what was done."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def timed(self, name: str, function: Callable[..., T]) -> Callable[..., T]:
        def call(*arguments: Any, **options: Any) -> T:
            began = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[name] += time.process_time() - began

        return call


def build(backend: BackendChoice, *files: str) -> dict[str, float]:
    """Build as `corpusfmt build --jobs 1` does; return the CPU seconds of its stages and the bytes of kept lines."""
    import corpusfmt
    from corpusfmt.engine.stages import Stages
    from corpusfmt.langid import Classifier
    from corpusfmt.pipeline import run
    from corpusfmt.pipeline.seal import seal

    clock = Clock()
    run_stage = Stages.stream

    def stage(self: Stages, name: str, *arguments: Any) -> Any:
        return clock.timed(name, run_stage)(self, name, *arguments)

    replacements: Sequence[tuple[Any, str, Any]] = (
        (Stages, "stream", stage),
        (Classifier, "classify", clock.timed("classify", Classifier.classify)),
        (run, "seal", clock.timed("seal", seal)),  # a stage, though it has no task
    )
    for owner, name, replacement in replacements:  # by hand: `unittest.mock` takes longer to import than corpusfmt
        setattr(owner, name, replacement)
    report = corpusfmt.build(files, OUTPUT, jobs=1, langid=backend)
    if report.verdict != "valid":
        raise SystemExit(f"the build is {report.verdict}: {[finding.message for finding in report.findings]}")
    kept = report.results["stats"]["total"]["original"]  # which has no newline after the last line of a document
    return {**clock.seconds, "kept": kept["bytes"] + kept["documents"]}


def parts(backend: BackendChoice, *files: str) -> dict[str, float]:
    """Return the CPU seconds of what a clock in a build would disturb: reading alone, and splitting and measuring lines.

    Splitting is what classifying takes where no line is long enough to be classified.
    """
    from corpusfmt.io.paths import entry_of
    from corpusfmt.langid import Classifier
    from corpusfmt.pipeline.process.wet import Batch, wet_batches

    def batches() -> Iterator[Batch]:
        for path in files:
            with entry_of(str(path)).open() as file:
                yield from wet_batches(file, path)

    clock = Clock()
    clock.timed("inflate", deque)(batches(), maxlen=0)
    classify = clock.timed("split", Classifier(backend=backend).classify)
    for batch in batches():
        classify(batch.text, NO_LINE_IS_SO_LONG)
    return dict(clock.seconds)


def baseline(shape: str, model: str, *files: str) -> dict[str, float]:
    """Build as the programs of the paper do, in one pass; runs where corpusfmt is not installed."""
    import fasttext

    fasttext.FastText.eprint = lambda *_: None
    predict = fasttext.load_model(model).f.predict
    Path(OUTPUT).mkdir()
    seen: defaultdict[str, set[int]] = defaultdict(set)
    texts: dict[str, BinaryIO] = {}
    kept = 0
    with ExitStack() as opened:
        for page in (page for path in files for page in pages(path)):
            lines: Iterable[bytes] = page.split(b"\n")
            if shape == "filter-first":
                lines = filter(is_long_text, lines)
            for line in lines:
                guesses = predict(line + b"\n", 1, 0.0, "strict")
                if shape == "every-line" and not is_long_text(line):
                    continue
                score, label = guesses[0]
                if score < MIN_CONFIDENCE:
                    continue
                kept += len(line) + 1
                if (key := hash(line)) in seen[label]:
                    continue
                seen[label].add(key)
                if label not in texts:
                    texts[label] = opened.enter_context(Path(OUTPUT, label).open("wb"))
                texts[label].write(line + b"\n")
    began = time.process_time()
    for label in texts:
        Path(OUTPUT, f"{label}.gz").write_bytes(gzip.compress(Path(OUTPUT, label).read_bytes(), 6))
    return {"kept": kept, "compress": time.process_time() - began}


def is_long_text(line: bytes) -> bool:
    if len(line) < MIN_CHARS:
        return False
    try:
        return len(line.decode()) >= MIN_CHARS
    except UnicodeDecodeError:
        return False


def pages(path: str) -> Iterator[bytes]:
    """Yield the texts of a WET file, the quickest way that the standard library has."""
    with gzip.open(path) as file:
        data = file.read()
    length = re.compile(rb"\r\nContent-Length: *(\d+)\r\n", re.IGNORECASE)
    position = 0
    while position < len(data):
        start = data.index(b"\r\n\r\n", position) + 4
        header = data[position:start]
        declared = length.search(header)
        assert declared is not None
        end = start + int(declared[1])
        if b"conversion\r\n" in header:
            yield data[start:end]
        position = end + 4


def said(run: Cost) -> dict[str, float]:
    found: dict[str, float] = json.loads(run.output)
    return found


def costs(whole: Cost, parted: Cost) -> dict[str, float]:
    """Return the CPU seconds of a build by stage, in the order of STAGES."""
    seconds = said(whole)
    seconds |= said(parted)
    seconds["split"] = min(seconds["split"], seconds["classify"])
    seconds["store"] = seconds["process"] - seconds["inflate"] - seconds["classify"]
    seconds["classify"] -= seconds["split"]
    seconds["start"] = whole.cpu - sum(seconds[stage] for stage in ("process", "dedup", "package", "seal"))
    return {stage: seconds[stage] for stage in STAGES}


def cheapest(runs: Sequence[Cost]) -> Cost:
    return min(runs, key=lambda run: run.cpu)


def show(kind: str, runs: dict[str, list[Cost]], origins: Sequence[str], size: int, share: float) -> None:
    scale = PER / size
    wholes = {backend: cheapest(runs[f"build {backend}"]) for backend in BACKENDS}
    stages = {backend: costs(whole, cheapest(runs[f"parts {backend}"])) for backend, whole in wholes.items()}
    rows = [[name, *(f"{stages[each][stage] * scale:.2f}" for each in BACKENDS)] for stage, name in STAGES.items()]
    rows += [
        ["**whole build**", *(f"**{whole.cpu * scale:.2f}**" for whole in wholes.values())],
        ["all but language id", *(f"{(wholes[each].cpu - stages[each]['classify']) * scale:.2f}" for each in BACKENDS)],
        ["spread of the whole build", *(f"{spread(runs[f'build {each}']):.0%}" for each in BACKENDS)],
        ["peak memory, MB", *(f"{whole.memory:.0f}" for whole in wholes.values())],
    ]
    title = f"{size / MB:.0f} MB of {kind} WET, {share:.0%} of it in kept lines, best of {len(runs['build native'])}"
    table(title, [f"`corpusfmt build`, CPU-s per {PER // MB} MB", *BACKENDS.values()], rows)
    rows = []
    for shape, title in SHAPES.items():
        for origin in origins:
            found = runs[f"{shape} {origin}"]
            compressed = [run.cpu for run in found]
            plain = [run.cpu - said(run)["compress"] for run in found]
            cells = [f"{title}, {origin}"]
            for seconds in (plain, compressed):
                cells.append(f"{min(seconds) * scale:.2f}")
                cells += [faster([run.cpu for run in runs[f"build {each}"]], seconds) for each in BACKENDS]
            rows.append(cells)
    heads = [f"/ ours, {name}" for name in BACKENDS.values()]
    heads = [f"baseline on {kind} WET, CPU-s per {PER // MB} MB", "plain text", *heads, "compressed", *heads]
    table("the baselines, and the ratios in each round: their median and range", heads, rows)


def compile_corpusfmt() -> None:
    """Write byte code, as an installed package has it, whatever PYTHONDONTWRITEBYTECODE says."""
    import corpusfmt

    compileall.compile_dir(Path(corpusfmt.__file__).parent, quiet=1)


def compare(kind: str, files: list[Path], stock_python: Path | None, rounds: int) -> None:
    from corpora import inflated

    from corpusfmt.langid._model_file import bundled

    pythons = {"stock wheel": sys.executable} | ({"source build": str(stock_python)} if stock_python else {})
    paths = [str(path.resolve()) for path in files]
    contenders: dict[str, tuple[str, ...]] = {}
    for shape in SHAPES:
        for origin, python in pythons.items():
            contenders[f"{shape} {origin}"] = (python, "baseline", shape, str(bundled()), *paths)
    # Right after what they are compared with first of all: the speed of a machine changes within minutes.
    for backend in BACKENDS:
        contenders[f"build {backend}"] = (sys.executable, "build", backend, *paths)
        contenders[f"parts {backend}"] = (sys.executable, "parts", backend, *paths)
    size = inflated(files)
    commands: dict[str, Command] = {
        name: [python, Path(__file__).resolve(), "--worker", *arguments]
        for name, (python, *arguments) in contenders.items()
    }
    runs = race(f"build, {kind}", commands, rounds, megabytes=size / MB)
    kept = {name: int(said(run)["kept"]) for name, found in runs.items() for run in found if "kept" in said(run)}
    if len(set(kept.values())) > 1:
        sys.exit(f"contenders differ in the bytes of the lines they keep: {kept}")
    show(kind, runs, list(pythons), size, max(kept.values()) / size)


WORKERS: dict[str, Callable[..., dict[str, float]]] = {"build": build, "parts": parts, "baseline": baseline}


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        _, _, worker, *arguments = sys.argv
        print(json.dumps(WORKERS[worker](*arguments)))
        return
    from corpora import KINDS, wet

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wet", nargs="*", type=Path, metavar="WET.gz", help="instead of the sample")
    parser.add_argument("--mb", type=float, default=300, help="of uncompressed WET made of the sample (default: 300)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--stock-python",
        type=Path,
        default=os.environ.get("CORPUSFMT_STOCK_PYTHON") or (PEERS if PEERS.exists() else None),
        help="Python of an environment where fasttext was built from source (default: $CORPUSFMT_STOCK_PYTHON, or that "
        "of `make bench`)",
    )
    options = parser.parse_args()
    compile_corpusfmt()
    with tempfile.TemporaryDirectory(prefix="build-") as folder:
        if options.wet:
            compare("your", options.wet, options.stock_python, options.rounds)
            return
        for kind in KINDS:
            made = Path(folder, f"{kind}.warc.wet.gz")
            wet(made, options.mb, kind)
            compare(kind, [made], options.stock_python, options.rounds)


if __name__ == "__main__":
    main()
