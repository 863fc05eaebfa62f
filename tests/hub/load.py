"""Load folders with `datasets`, in an environment of its own: one JSON object a line with a path and configs, read from
standard input; for each, one with the rows of each config, or the error.

Times become `{"time": "2018-11-12T18:01:06"}`, so that they differ from texts, and so do days, decimal numbers and bytes.
"""

import datetime as dt
import json
import os
import sys
import tempfile
from decimal import Decimal
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}


def shown(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return {"time": value.isoformat()}
    if isinstance(value, dt.time):
        return {"clock": value.isoformat()}
    if isinstance(value, dt.date):
        return {"day": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value.normalize())}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    return [shown(each) for each in value] if isinstance(value, list) else value


def loaded(path: str, configs: list[str | None], cache: str) -> dict[str, Any]:
    import datasets

    found = {}
    for name in configs:
        splits = datasets.load_dataset(path, name, cache_dir=cache)
        found[name or ""] = {split: [shown(row) for row in rows] for split, rows in splits.items()}
    return found


def main() -> None:
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryDirectory(dir=sys.argv[1]) as cache:
            try:
                answer: dict[str, Any] = {"configs": loaded(asked["path"], asked["configs"], cache)}
            except Exception as error:
                cause = error.__cause__ or error
                answer = {"error": f"{type(error).__name__}: {type(cause).__name__}: {cause}"[:500]}
        sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as home:
        os.environ["HF_HOME"] = home
        main()
    sys.stdout.flush()
    # Threads of libraries that are still there when the interpreter ends may abort the process, after all answers.
    os._exit(0)
