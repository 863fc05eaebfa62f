"""How fast Dolma documents and attributes are validated, clean and dirty, next to programs that read or check less.

    python benchmarks/validate_dolma.py                     everything, on 200 MB of documents
    python benchmarks/validate_dolma.py --megabytes 40      a quick look
    python benchmarks/validate_dolma.py --keys 50000000     uniqueness of so many ids
    python benchmarks/validate_dolma.py --hub --rounds 9    what the profile hub adds on clean documents with a card
    python benchmarks/validate_dolma.py --dolma PATH        also `dolma mix`, from a virtual environment that has it

All rates are megabytes of document JSON Lines a second, whatever else was read with them, so they can be compared; "net"
leaves out what a contender takes for a few documents. jsonschema and jsonschema-rs check each line of some documents and
their attributes by the published schemas, and nothing else; DuckDB parses documents and attributes with one thread.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from corpora import KINDS, dolma
from measuring import MB, PEERS, ROOT, Command, alone, peak, race, rates, table
from validate_oscar import INFLATE, VALIDATE, readers

SCHEMA_MB = 1
BY_SCHEMA = """
import gzip, json, sys
from pathlib import Path
which, root, schemas = sys.argv[1:]
for path in sorted(Path(root).rglob("*.jsonl.gz")):
    name = "document" if path.parent.name == "documents" else "attributes"
    schema = json.loads(Path(schemas, f"{name}.schema.json").read_bytes())
    if which == "jsonschema":
        from jsonschema import Draft202012Validator
        check = Draft202012Validator(schema).is_valid
    else:
        import jsonschema_rs
        check = jsonschema_rs.validator_for(schema).is_valid
    with gzip.open(path) as lines:
        assert all(check(json.loads(line)) for line in lines), path
"""
DUCKDB = """
import duckdb, sys
connection = duckdb.connect(config={"threads": 1})
for pattern in ("documents", "attributes/*"):
    kind = "text: 'VARCHAR', metadata: 'JSON'" if pattern == "documents" else "attributes: 'JSON'"
    kind = f"id: 'VARCHAR', source: 'VARCHAR', {kind}"
    found = connection.execute(
        f"SELECT count(*), sum(length(id)), {'sum(length(text))' if 'text' in kind else 'count(attributes)'} "
        f"FROM read_ndjson('{sys.argv[1]}/{pattern}/*.gz', columns={{{kind}}}, maximum_object_size=100000000)"
    ).fetchone()
    assert found[0]
"""


def mixing(root: Path, dolma: Path, work: Path) -> Command:
    """Return the toolkit's mixer, which reads the documents and one attribute set and keeps nothing."""
    config = {
        "streams": [
            {
                "name": "benchmark",
                "documents": [f"{root}/documents/*"],
                "attributes": ["gopher"],
                "output": {"path": f"{work}/out", "max_size_in_bytes": 10**10},
                "filter": {"include": [], "exclude": ["$.attributes[?(@.exp__gopher__word_count[0][2] >= 0)]"]},
            }
        ],
        "processes": 1,
        "work_dir": {"input": f"{work}/in", "output": f"{work}/tmp"},
    }
    path = work / "mix.json"
    path.write_text(json.dumps(config))
    return ["sh", "-c", 'rm -rf "$1/out" "$1/in" "$1/tmp"; exec "$2" -c "$1/mix.json" mix', "sh", work, dolma]


def contenders(root: Path, work: Path | None, dolma: Path | None) -> dict[str, Command]:
    """Return the commands that read a whole dataset."""
    gz, zst = root / "gz", root / "zst"
    zstd = sorted(str(path) for path in zst.rglob("*.zst"))
    validate = (sys.executable, "-c", VALIDATE)
    found = readers(gz)
    found["zstd, read only"] = [sys.executable, "-c", INFLATE, *zstd]
    for name, folder in (("gzip", gz), ("zstd", zst)):
        found[f"validate, {name}, one worker"] = [*validate, folder, "1", "dolma"]
        found[f"validate, {name}, two workers"] = [*validate, folder, "2", "dolma"]
    if PEERS.exists():
        found["DuckDB, parsing alone"] = [PEERS, "-c", DUCKDB, gz]
    if dolma and work:
        found["dolma mix, one attribute set"] = mixing(gz, dolma, work)
    return found


def by_schema(root: Path) -> dict[str, Command]:
    """Return the commands that check a few documents by the published schemas."""
    schemas = ROOT / "schemas" / "dolma"
    found: dict[str, Command] = {
        "jsonschema, each line": [sys.executable, "-c", BY_SCHEMA, "jsonschema", root, schemas]
    }
    if PEERS.exists():
        found["jsonschema-rs, each line"] = [PEERS, "-c", BY_SCHEMA, "jsonschema-rs", root, schemas]
    return found


def compare(scratch: Path, kind: str, megabytes: float, rounds: int, toolkit: Path | None) -> None:
    """Generate a dataset and small ones, run everything on the same files, print one table."""
    whole, few, tiny, work = (scratch / f"{kind}-{name}" for name in ("whole", "few", "tiny", "work"))
    work.mkdir()
    size = dolma(whole, megabytes, kind) / MB
    checked = dolma(few, SCHEMA_MB, kind) / MB
    dolma(tiny, 0.000_1, kind)
    runs = race(f"dolma, {kind}", contenders(whole, work, toolkit), rounds, megabytes=size)
    start = race(f"dolma, {kind}, start", contenders(tiny, work, toolkit), rounds)
    sizes = dict.fromkeys(runs, size)
    some = race(f"dolma, {kind}, schemas", by_schema(few / "gz"), rounds, megabytes=checked)
    runs |= some
    sizes |= dict.fromkeys(some, checked)
    start |= race(f"dolma, {kind}, schemas, start", by_schema(tiny / "gz"), rounds)
    rates(
        f"{kind} documents, {size:.0f} MB with four attribute sets, best of {rounds}",
        runs,
        sizes,
        tiny=start,
        references={"x isal": "isal, read only", "x zstd": "zstd, read only"},
        pairs={f"validate, {name}, two workers": f"validate, {name}, one worker" for name in ("gzip", "zstd")},
    )
    shutil.rmtree(whole)


def with_hub(scratch: Path, megabytes: float, rounds: int) -> None:
    """Print how much more the validation of a clean dataset with a card costs under the profile `hub`."""
    size = dolma(scratch / "whole", megabytes) / MB
    dolma(scratch / "tiny", 0.000_1)
    one, other = _with_and_without_hub(scratch / "whole" / "gz", rounds)
    start = tuple(statistics.median(costs) for costs in _with_and_without_hub(scratch / "tiny" / "gz", rounds))
    ways = {
        "median of pairs": statistics.median(b / a for a, b in zip(one, other, strict=True)),
        "ratio of medians": statistics.median(other) / statistics.median(one),
        "ratio of minima": min(other) / min(one),
        "ratio of medians, net": (statistics.median(other) - start[1]) / (statistics.median(one) - start[0]),
    }
    rows = [
        [name, f"{min(costs):.3f}", f"{statistics.median(costs):.3f}", f"{few:.3f}"]
        for name, costs, few in zip(("validate", "with the profile hub"), (one, other), start, strict=True)
    ]
    heads = ["", "least CPU-s", "median CPU-s", "median of a few documents"]
    table(f"profile hub, {size:.0f} MB, {rounds} pairs", heads, rows)
    table("what it adds", list(ways), [[f"{ratio - 1:.1%}" for ratio in ways.values()]])


def _with_and_without_hub(root: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Return the CPU-seconds that the validation of a dataset takes, without and with the profile `hub`, in pairs."""
    configs = {"default": "documents"} | {path.name: f"attributes/{path.name}" for path in root.glob("attributes/*")}
    listed = "".join(f'- config_name: "{name}"\n  data_files: "{folder}/**"\n' for name, folder in configs.items())
    (root / "README.md").write_text(f"---\nconfigs:\n{listed}---\n")
    plain = (sys.executable, "-m", "corpusfmt", "validate", root, "--no-cache", "--jobs", "1", "--quiet")
    runs = race("", {"without": plain, "with": (*plain, "--profile", "hub")}, rounds)
    return [run.cpu for run in runs["without"]], [run.cpu for run in runs["with"]]


def unique_keys(count: int) -> float:
    """Write so many keys as 100 shards would, with every ten thousandth one repeated, find these; return the peak in MB."""
    import xxhash

    from corpusfmt.io.keys import KeyWriter, repeated

    shards = 100
    with tempfile.TemporaryDirectory() as folder:
        for shard in range(shards):
            writer = KeyWriter(Path(folder), shard)
            first = shard * count // shards
            for start in range(first, (shard + 1) * count // shards, 1000):
                end = min(start + 1000, (shard + 1) * count // shards)
                numbers = (number - number % 10_000 if number % 10_000 == 1 else number for number in range(start, end))
                writer.extend((xxhash.xxh3_64_intdigest(b"%d" % number) for number in numbers), start - first)
            writer.close()
        found = sum(1 for _ in repeated(Path(folder)))
    expected = -(-(count - 1) // 10_000)
    assert found == expected, (found, expected)
    return peak()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dolma", type=Path, help="the `dolma` command of a virtual environment")
    parser.add_argument("--keys", type=int, help="only measure the uniqueness of so many ids")
    parser.add_argument("--hub", action="store_true", help="only measure what the profile hub adds")
    options = parser.parse_args()
    if options.hub:
        with tempfile.TemporaryDirectory(prefix="validate-hub-") as scratch:
            with_hub(Path(scratch), options.megabytes, options.rounds)
        return
    if options.keys:
        start = time.perf_counter()
        memory = alone(unique_keys, options.keys)
        rows = [[f"{options.keys:,}", f"{memory:.0f}", f"{time.perf_counter() - start:.0f}"]]
        table("uniqueness of ids", ["ids", "peak, MB", "seconds"], rows)
        return
    with tempfile.TemporaryDirectory(prefix="validate-dolma-") as scratch:
        for kind in KINDS:
            compare(Path(scratch), kind, options.megabytes, options.rounds, options.dolma)


if __name__ == "__main__":
    main()
