"""Read the documents of a folder with the libraries of others, in an environment of its own.

Prints one JSON object: for each library [id, text] of the documents, sorted.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "DATATROVE_COLORIZE_LOGS": "0"}
Pairs = Any


def pandas(files: list[str], *, parquet: bool) -> Pairs:
    import pandas as pd

    frames = [pd.read_parquet(each) if parquet else pd.read_json(each, lines=True, dtype=False) for each in files]
    return pd.concat(frames)[["id", "text"]].itertuples(index=False)


def polars(files: list[str], *, parquet: bool) -> Pairs:
    import polars as pl

    frames = (pl.scan_parquet(each) if parquet else pl.scan_ndjson(each) for each in files)
    return (row for each in frames for row in each.select("id", "text").collect().rows())


def duckdb(files: list[str], *, parquet: bool) -> Pairs:
    import duckdb

    table = f"read_{'parquet' if parquet else 'json'}({files!r})"
    return duckdb.sql(f"SELECT id, text FROM {table}").fetchall()


def pyarrow(files: list[str], *, parquet: bool) -> Pairs:
    import pyarrow.dataset

    table = pyarrow.dataset.dataset(files, format="parquet" if parquet else "json").to_table(columns=["id", "text"])
    return zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)


def datatrove(files: list[str], *, parquet: bool) -> Pairs:
    from datatrove.pipeline.readers import JsonlReader, ParquetReader

    folder = os.path.commonpath([str(Path(each).parent) for each in files])
    if parquet:
        documents = ParquetReader(folder, glob_pattern="**/*.parquet", doc_progress=False)()
    else:
        documents = JsonlReader(folder, glob_pattern="**/*.jsonl.gz", doc_progress=False)()
    return ((each.id, each.text) for each in documents)


READERS: tuple[Callable[..., Pairs], ...] = (pandas, polars, duckdb, pyarrow, datatrove)


def main(folder: str) -> None:
    parquet = any(Path(folder).rglob("*.parquet"))
    files = sorted(str(each) for each in Path(folder).rglob("*.parquet" if parquet else "*.jsonl.gz"))
    found = {read.__name__: sorted(map(list, read(files, parquet=parquet))) for read in READERS}
    sys.stdout.write(json.dumps(found))


main(sys.argv[1])
