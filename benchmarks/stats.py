"""Processor time of `stats` next to `validate` on the same corpus, and its memory on ten times as much.

python benchmarks/stats.py CORPUS [--format NAME]      any corpus; in turns, the median of five
python benchmarks/stats.py --memory                    peak memory on 40 MB and on 400 MB of Dolma
python benchmarks/stats.py --datatrove PYTHON          next to the statistics of datatrove, on 15 MB of Dolma, without words on 90 MB
python benchmarks/stats.py --viewer PYTHON FOLDER      next to the lengths that the viewer of the Hub counts, on 100 MB of Parquet

FOLDER is `libs/libcommon/src` of a checkout of huggingface/dataset-viewer, PYTHON an environment with datasets, `polars<2`, tqdm,
appdirs and orjson. Its class for columns of text finds characters of documents, and the time of its imports is left out.
For datatrove, PYTHON is the interpreter of an environment with `datatrove[io,processing]` and spacy. Its blocks of documents, lines and words make
summaries and histograms, with and without that of words; so does a block of our own with characters, bytes, lines and words only,
with and without words, which are those of its tokenizer. What both count in the same way must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from corpora import row_of

import corpusfmt

_ROUNDS = 5
_COMMANDS = {
    "validate": ["validate", "--no-cache"],
    "stats --count none": ["stats", "--count", "none"],
    "stats": ["stats"],
    "stats --count all": ["stats", "--count", "all"],
}
# By megabytes: words take datatrove a minute, and without them the start of `stats` would be most of its time.
_RUNS_OF_DATATROVE = {15: ("blocks", "sizes"), 90: ("blocks without words", "sizes without words")}
_DATATROVE = """
import json, resource, sys
from pathlib import Path
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.stats import DocStats, LineStats, WordStats
from datatrove.pipeline.stats.base import BaseStats
from datatrove.utils.word_tokenizers import load_word_tokenizer
from loguru import logger

class Sizes(BaseStats):
    def extract_stats(self, document):
        text = document.text
        found = {"length": len(text), "bytes": len(text.encode()), "n_lines": text.count("\\n") + 1}
        return found if without_words else found | {"n_words": len(load_word_tokenizer("eng_Latn").word_tokenize(text))}

logger.remove()
which, corpus, to = sys.argv[1:]
without_words, groups = which == "sizes without words", ["summary", "histogram"]
kinds = {"blocks": [DocStats, LineStats, WordStats], "blocks without words": [DocStats, LineStats]}.get(which, [Sizes])
documents = JsonlReader(corpus).run()
for kind in kinds:
    documents = kind(to, groups_to_compute=groups).run(documents)
for _ in documents:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
totals = [json.loads(Path(to, "summary", name, "00000.json").read_text())["summary"]["total"] for name in ("length", "n_lines")]
print(used.ru_utime + used.ru_stime, *totals)
"""


_VIEWER = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import polars
from libcommon.statistics_utils import StringColumn

def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

start = spent()
column = polars.read_parquet(sys.argv[2], columns=["text"])
found = StringColumn("text", len(column)).compute_and_prepare_response(column)["column_statistics"]
print(spent() - start, len(column), found["min"], found["max"])
"""


def spent(arguments: list[str]) -> tuple[float, float]:
    """Return the processor time of a command in seconds, and its peak memory in megabytes."""
    script = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);"
    script += "r=resource.getrusage(resource.RUSAGE_CHILDREN);print(r.ru_utime+r.ru_stime,r.ru_maxrss)"
    command = [sys.executable, "-c", script, sys.executable, "-m", "corpusfmt", *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), float(kilobytes) / 1000


def times(corpus: str, name: str) -> None:
    found: dict[str, list[float]] = {each: [] for each in _COMMANDS}
    for _ in range(_ROUNDS):
        for each, command in _COMMANDS.items():
            found[each].append(spent([*command, corpus, "--format", name, "--jobs", "1"])[0])
    least = statistics.median(found["validate"])
    for each, seconds in found.items():
        median = statistics.median(seconds)
        print(f"{each:20} {median:7.2f} s  {median / least:5.2f}")


def write_corpus(documents: Path, megabytes: int) -> None:
    numbers = random.Random(1)
    rows = (row_of(numbers, each) for each in range(megabytes * 270))
    corpusfmt.write((_document(row) for row in rows), documents, to="dolma", part_bytes=20_000_000)


def datatrove(python: str) -> None:
    for megabytes, kinds in _RUNS_OF_DATATROVE.items():
        with tempfile.TemporaryDirectory() as folder:
            corpus, saved = Path(folder) / "corpus", Path(folder) / "stats.json"
            write_corpus(corpus, megabytes)
            spent(["stats", str(corpus), "--report", f"json={saved}"])
            total = json.loads(saved.read_bytes())
            for kind in kinds:
                ours = "stats --count none" if kind.endswith("without words") else "stats"
                own = min(spent([*_COMMANDS[ours], str(corpus), "--jobs", "1"])[0] for _ in range(_ROUNDS))
                command = [python, "-c", _DATATROVE, kind, str(corpus / "documents"), str(Path(folder) / kind)]
                done = subprocess.run(command, capture_output=True, check=True, text=True)
                seconds, *counted = map(float, done.stdout.split())
                if counted != [total["characters"], total["lines"]]:
                    sys.exit(f"datatrove counts {counted}, stats counts {total['characters']}, {total['lines']}")
                print(f"datatrove, {kind:20} {megabytes} MB {seconds:7.2f} s  {seconds / own:6.1f} times {ours}")


def viewer(python: str, folder: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        corpus, parquet, saved = (str(Path(scratch) / name) for name in ("corpus", "parquet", "stats.json"))
        write_corpus(Path(corpus), 100)
        corpusfmt.convert(corpus, parquet, to="parquet")
        own, _ = spent(["stats", "--count", "none", parquet, "--jobs", "1"])
        spent(["stats", "--count", "none", parquet, "--report", f"json={saved}"])
        lengths = json.loads(Path(saved).read_bytes())["lengths"]["characters"]
        command = [python, "-c", _VIEWER, folder, f"{parquet}/**/*.parquet"]
        environment = os.environ | {"POLARS_MAX_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
        seconds, *counted = done.stdout.split()
        if [int(float(each)) for each in counted] != [lengths["number"], lengths["min"], lengths["max"]]:
            sys.exit(f"the viewer counts {counted}, stats counts {lengths}")
        print(f"viewer, characters {float(seconds):7.2f} s; stats --count none {own:.2f} s")


def memory() -> None:
    for megabytes in (40, 400):
        with tempfile.TemporaryDirectory() as folder:
            documents = Path(folder) / "corpus"
            write_corpus(documents, megabytes)
            size = sum(each.stat().st_size for each in (documents / "documents").iterdir())
            peak = spent(["stats", "--count", "all", str(documents), "--jobs", "1"])[1]
            print(f"{megabytes:4} MB ({size / 1e6:,.0f} MB compressed): {peak:,.0f} MB")


def _document(row: dict[str, Any]) -> corpusfmt.Document:
    return corpusfmt.Document(row["id"], row["text"], row["source"], metadata=row["metadata"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--viewer", nargs=2, metavar=("PYTHON", "FOLDER"))
    options = parser.parse_args()
    if options.viewer:
        viewer(*options.viewer)
    if options.corpus:
        times(options.corpus, options.format)
    if options.memory:
        memory()
    if options.datatrove:
        datatrove(options.datatrove)


if __name__ == "__main__":
    main()
