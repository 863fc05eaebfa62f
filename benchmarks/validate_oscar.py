"""How fast an OSCAR 1.1 release is validated, clean and dirty, next to programs that only decompress it, and in how much memory.

    python benchmarks/validate_oscar.py                     200 MB of text, one and two workers, memory at 1x and 10x
    python benchmarks/validate_oscar.py --megabytes 40      a quick look
    python benchmarks/validate_oscar.py --text FILE         your own text: UTF-8, `language<TAB>paragraph` on each line

The text is that of `corpora.py`, in eight parts, each with metadata. Rates are megabytes of uncompressed text and metadata a
second. Every contender runs in a process of its own; they take turns, and the best round counts. "Net" leaves out what a
contender takes for a corpus of eight documents, that is to start itself and its workers. Machines are noisy: trust ratios.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from corpora import KINDS, compressed, oscar, oscar_part, quickly, words_by_language
from measuring import MB, Command, least, race, rates, table

INFLATE = """
import sys
from corpusfmt.io.streams import Chunks, codec_of_name
for path in sys.argv[1:]:
    with open(path, "rb", buffering=0) as file:
        for chunk in Chunks(file, codec_of_name(path), path):
            pass
"""
VALIDATE = """
import corpusfmt, sys
path, jobs, *format = sys.argv[1:]
report = corpusfmt.validate(path, jobs=int(jobs), format=format[0] if format else "auto")
assert report.verdict == "valid", [str(finding) for finding in report.findings][:3]
"""


def readers(root: Path) -> dict[str, Command]:
    """Return programs that decompress all files and keep nothing."""
    files = compressed(root)
    programs = {"gzip": "gzip -dc", "igzip": "igzip -dc", "pigz": "pigz -dc"}
    commands: dict[str, Command] = {
        f"{command} \\| wc -c": ["sh", "-c", f'{command} "$@" | wc -c', "sh", *files]
        for program, command in programs.items()
        if shutil.which(program)
    }
    return {**commands, "isal, read only": [sys.executable, "-c", INFLATE, *files]}


def contenders(root: Path) -> dict[str, Command]:
    validate = (sys.executable, "-c", VALIDATE, root)
    return {**readers(root), "validate, one worker": [*validate, "1"], "validate, two workers": [*validate, "2"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="text to make, uncompressed")
    parser.add_argument("--text", type=Path, help="your own text, `language<TAB>paragraph` on each line")
    parser.add_argument("--times", type=int, default=10, help="how much larger the second corpus of the memory test is")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="validate-oscar-") as scratch:
        for kind in KINDS:
            whole, tiny = Path(scratch, kind), Path(scratch, f"{kind}-tiny")
            size = oscar(whole, options.megabytes, kind, text=options.text) / MB
            oscar(tiny, 0.000_01, kind, text=options.text)
            share = sum(Path(file).stat().st_size for file in compressed(whole)) / MB / size
            start = race(f"oscar, {kind}, start", contenders(tiny), options.rounds)
            rates(
                f"{kind} text and metadata, {size:.0f} MB, compressed to {share:.2f} of it, best of {options.rounds}",
                race(f"oscar, {kind}", contenders(whole), options.rounds, megabytes=size),
                size,
                tiny=start,
                references={"x gzip": "gzip -dc \\| wc -c", "x isal": "isal, read only"},
                pairs={"validate, two workers": "validate, one worker"},
            )
            shutil.rmtree(whole)
        words = words_by_language(options.text)
        rows = []
        for language in ("en", "zh"):
            for times in (1, options.times):
                one = Path(scratch, f"{language}-{times}")
                size = oscar_part(one, (language, None), words, options.megabytes * MB // 8 * times, quickly) / MB
                runs = race(f"oscar, memory, {language}", {"validate": [sys.executable, "-c", VALIDATE, one, "1"]}, 1)
                rows.append([language, f"{size:.0f}", f"{least(runs['validate']).memory:.0f}"])
        table("peak memory of one worker", ["language of one part", "MB", "peak, MB"], rows)


if __name__ == "__main__":
    main()
