"""Hold the recipe goclassy-2019 to the program of Ortiz Suarez, Sagot and Romary (2019): the same bytes for each language.

python benchmarks/goclassy.py [--goclassy PATH [--fasttext PATH --model PATH] [WET...]]

PATH is goclassy (https://github.com/oscar-project/goclassy), built with `go build main.go`. Without --fasttext, our own
classifier answers both sides, to the program in the form of `fasttext predict-prob`; with it, the program asks the real
one and we our own. Without WET files, those of the sample are taken, and one that is made of odd records. Without
--goclassy, we are held to a digest of what the program wrote of these, with the real fastText.

The program appends to its files, and works on several inputs at a time in no particular order: here it runs once for
each, in our order.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corpusfmt
from corpusfmt.langid import Classifier

HERE = Path(__file__).resolve()
SAMPLE = HERE.parents[1] / "pipeline" / "sample"
ENGLISH = (
    b"All human beings are born free and equal in dignity and rights; they have reason and conscience, all of them"
)
GERMAN = (
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren, begabt mit Vernunft und mit Gewissen".encode()
)
#: What goclassy, built by Go 1.19, wrote of the sample and the odd file, with the fastText of Debian and lid.176.ftz: the
#: SHA-256 of what `sha256sum *` prints in its folder.
WRITTEN_BY_GOCLASSY = "56c05d7b2bfdeabc3cdb2c0430fc950ec62907bbeaf74d10763458d195527cea"


def answer(model: str | None) -> None:
    """Be `fasttext predict-prob`: a label and a probability of six digits for each line of the standard input."""
    classifier = Classifier(model)
    for line in sys.stdin.buffer:
        (guess,) = classifier.predict([line.removesuffix(b"\n").decode()])
        print(f"__label__{guess.label} {guess.score:.6g}")


def record(body: bytes, *, kind: str = "conversion", ends: bytes = b"\r\n", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = [b"WARC/1.0", b"WARC-Type: " + kind.encode(), b"Content-Length: %d" % size, b"", b""]
    return ends.join(head) + body + b"\r\n\r\n"


def odd_file(path: Path) -> Path:
    """Write a WET file of records that show what the program does."""
    exact = ENGLISH[:100]
    bodies = [
        b"", exact + b"\n" + exact[:99] + b"\n", exact[:99] + b"\r\n" + exact[:98] + b"\r\n", ENGLISH,
        ENGLISH + b"\n" + GERMAN + b"\n", GERMAN + b" \x00 \xc2\x85 \xe2\x80\xa8\n", b"0123456789 " * 12 + b"\n" + GERMAN + b"\n",
        ENGLISH + b" \xff\n" + ENGLISH + b"\r\n", GERMAN[:101] + b"\n" + ENGLISH * 800 + b"\n",
    ]  # fmt: skip
    robots = b"robots: checked via crawler-commons, which reads the robots.txt of each site that is to be visited now and then\r\n"
    records = [record(robots, kind="warcinfo"), *map(record, bodies), record(ENGLISH + b"\n", kind="response")]
    cut = [record(GERMAN + b"\n", ends=b"\n"), record(ENGLISH + b"\n")]
    path.write_bytes(b"".join(map(gzip.compress, records + cut)))
    return path


def run_goclassy(program: Path, fasttext: Path | None, model: Path | None, inputs: list[Path], work: Path) -> None:
    """Run the program in a folder of its own, which then holds `classified/`."""
    for folder in ("data", "tmp", "classified", "fastText"):
        (work / folder).mkdir()
    stub = work / "fastText" / "fasttext"
    if fasttext and model:
        stub.symlink_to(fasttext.resolve())
        (work / "fastText" / "lid.176.bin").symlink_to(model.resolve())
    else:
        arguments = f" {model.resolve()}" if model else ""
        stub.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE} --answer{arguments}\n")
        stub.chmod(0o755)
    given = work / "input"
    for path in inputs:
        given.mkdir()
        shutil.copy(path, given)
        done = subprocess.run([program.resolve(), "input"], cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{path.name}: goclassy ended with an error: {done.stderr.strip()[:300]}")
        shutil.rmtree(given)


def written(folder: Path) -> dict[str, bytes]:
    """Return the files of languages below a folder, by name."""
    return {path.name: path.read_bytes() for path in (folder / "classified").iterdir()}


def digest(files: dict[str, bytes]) -> str:
    """Return the SHA-256 of what `sha256sum *` prints of some files."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def main() -> int:
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2] if len(sys.argv) > 2 else None)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wet", nargs="*", type=Path, help="gzip-compressed WET files")
    parser.add_argument("--goclassy", type=Path, help="the program")
    parser.add_argument("--fasttext", type=Path, help="fastText's command line; needs --model")
    parser.add_argument("--model", type=Path, help="lid.176.bin or lid.176.ftz")
    options = parser.parse_args()
    missing = [
        f"no {name} at {path}" for name, path in vars(options).items() if isinstance(path, Path) and not path.exists()
    ]
    if options.goclassy is None and (options.wet or options.fasttext):
        missing.append(
            "no --goclassy: get its main.go, build it with `go build main.go`, and give the path of what that makes"
        )
    if options.fasttext and not options.model:
        missing.append("no --model for --fasttext")
    if missing:
        print("nothing compared:", *missing, sep="\n  ")
        return 3
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        inputs = sorted(
            options.wet or [*SAMPLE.iterdir(), odd_file(work / "odd.warc.wet.gz")], key=lambda path: path.name
        )
        model = os.fspath(options.model) if options.model else None
        corpusfmt.build(inputs, work / "ours", recipe="goclassy-2019", model=model)
        ours = written(work / "ours")
        print(
            f"{len(inputs)} WET files, {len(ours)} languages ({sum(map(bool, ours.values()))} not empty), "
            f"{sum(map(len, ours.values())):,} bytes of classified text"
        )
        if options.goclassy is None:
            same = digest(ours) == WRITTEN_BY_GOCLASSY
            print(f"goclassy wrote {'the same' if same else 'something else'}")
            return int(not same)
        (work / "theirs").mkdir()
        run_goclassy(options.goclassy, options.fasttext, options.model, inputs, work / "theirs")
        theirs = written(work / "theirs")
    differing = sorted(file for file in theirs.keys() | ours.keys() if theirs.get(file) != ours.get(file))
    print(f"differing: {', '.join(differing) or 'none'}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
