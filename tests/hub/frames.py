"""Give pandas and `datasets` the documents of a corpus, in an environment of their own.

Prints one JSON object: for each library [id, text, language] of the documents.
"""

import json
import os
import sys
import tempfile

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
COLUMNS = ["id", "text", "lang"]


def main() -> None:
    _, corpus, source, *packages = sys.argv
    sys.path[:0] = [source]
    sys.path += packages  # corpusfmt's dependencies that are not installed here
    import datasets
    import pandas as pd

    import corpusfmt

    datasets.disable_progress_bars()
    frame = pd.DataFrame(corpusfmt.read(corpus, fields=["lang"]))
    found = {"pandas": frame[COLUMNS].to_numpy().tolist()}
    with tempfile.TemporaryDirectory() as cache:
        asked = {"path": corpus, "fields": ("lang",)}
        rows = datasets.Dataset.from_generator(corpusfmt.read, gen_kwargs=asked, cache_dir=cache)
        found["datasets"] = [[row[name] for name in COLUMNS] for row in rows]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
