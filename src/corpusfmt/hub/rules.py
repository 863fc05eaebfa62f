"""Internal: HUB1xx, the files that are read; HUB2xx, their columns; HUB3xx, the card; HUB4xx, what the Hub takes."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.model import Severity
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)
_SPEC = "hub#rules"

NOTHING_LOADED = RULES.finding(
    "HUB101",
    "nothing-to-load",
    """`datasets` finds no files that it can read, or files of different kinds in different splits.

    Why: `load_dataset` fails.
    Example: only `a.JSONL`: extensions are lower-case.
    Fix: name the data files `.jsonl` or `.parquet`, or list them in the card.
    """,
    spec=_SPEC,
)

SIDE_FILE_LOADED = RULES.finding(
    "HUB102",
    "side-file-loaded",
    """A file that is not data is read as rows, next to the documents.

    Why: its content becomes rows, or its columns make the load fail. Without a card, `datasets` reads every file whose
    name looks like the most frequent kind.
    Example: `extra.json` next to `documents/a.jsonl.gz`; attributes of Dolma; `b.jsonl.part`.
    Fix: list the data files in the `configs` of a card, or move the file into a folder whose name begins with `__` or `.`.
    """,
    spec=_SPEC,
)

DATA_NOT_LOADED = RULES.finding(
    "HUB103",
    "data-not-loaded",
    """A data file is not read.

    Why: its rows are missing, and nothing says so. If a name looks like a split, such as `test` or `val`, all other
    files are left out; so are less frequent kinds of files.
    Example: `documents/en/` next to `documents/val/`; `a.parquet` next to `b.jsonl`.
    Fix: list the data files in the `configs` of a card.
    """,
    spec=_SPEC,
)

LOADED_TWICE = RULES.finding(
    "HUB104",
    "data-loaded-twice",
    """A data file is read more than once in a split, or in two splits.

    Why: its rows are repeated, or training data is in the test split.
    Example: `data/test-train.jsonl`; a card with the paths `data/*` and `data/a*`.
    Fix: rename the file, or list each file once in the card.
    """,
    spec=_SPEC,
)

UNSAFE_NAME = RULES.finding(
    "HUB105",
    "name-not-loadable",
    """The path of a data file contains `::`; or the file is compressed, and its path contains `\\`, or its name `[` or `]`.

    Why: `datasets` takes `::` for the end of a path, `\\` for `/`, and brackets for the address of a host: it does not find the
    file.
    Example: `documents/a::b.jsonl`; `documents/part[1].jsonl.gz`.
    Fix: rename the file or folder.
    """,
    spec=_SPEC,
)

COLUMN_ADDED = RULES.finding(
    "HUB201",
    "column-added",
    """A file or a later block has a column that the first block of the first file does not have, or that the card does not declare.

    Why: `load_dataset` fails. The first 10 MiB of the file whose path comes first define the columns of a table.
    Example: `a.jsonl` has `id` and `text`, `b.jsonl` also `url`.
    Fix: declare all columns in `dataset_info` of the card, or write the column in all rows.
    """,
    spec=_SPEC,
)

TYPE_DIFFERS = RULES.finding(
    "HUB202",
    "type-differs",
    """Values do not have the type of their column, which the first block of the first file or the card defines.

    Why: `load_dataset` fails, or silently changes the values: digits become numbers, numbers become text.
    Example: `null` in the whole first file, text in the second; `1`, then `2.5`; `1`, then `"02"`; objects with another key.
    Fix: declare the type in `dataset_info` of the card (`json` for values of several types, or for objects whose keys
    differ), or write one type. If the first file has only nulls, declare the type of the other values; drop none.
    """,
    spec=_SPEC,
)

VALUE_CHANGED = RULES.finding(
    "HUB203",
    "value-changed",
    """Values are changed to fit the type of their column.

    Why: the change is silent: whole numbers above 2^53 next to floats, or above 2^63 - 1, are rounded; times lose their
    offset; in a column of mixed types, digits in text become numbers and floats keep ten decimals.
    Example: `9007199254740993` next to `0.5`; `"2024-01-01T10:00:00+02:00"` in all rows.
    Fix: write such values as text, or declare the type in `dataset_info` of the card.
    """,
    spec=_SPEC,
)

READ_AS_TIME = RULES.finding(
    "HUB204",
    "text-read-as-time",
    """All texts of a column are times, and are loaded as `timestamp[s]`.

    Why: programs that expect text get times; a later file with another text in the column makes the load fail.
    Example: `"created": "2024-01-31T12:00:00Z"` in all rows.
    Fix: nothing, if times are meant; otherwise declare the type in `dataset_info` of the card.
    """,
    severity=Severity.WARNING,
    spec=_SPEC,
)

KEY_MISSING = RULES.finding(
    "HUB205",
    "key-filled-in",
    """An object lacks a key of its column, which is loaded as null.

    Why: an absent key and a null cannot be distinguished after loading.
    Example: `{"a": 1, "b": 2}`, in a later file `{"a": 1}`.
    Fix: nothing, if the two mean the same; otherwise write the object as JSON text.
    """,
    severity=Severity.WARNING,
    spec=_SPEC,
)

TEXT_SPLIT = RULES.finding(
    "HUB206",
    "text-split",
    """A text becomes several rows, because a carriage return in it follows another line end. Reported once for each file.

    Why: for `datasets`, CR, LF and CR LF all end a line, and an empty line ends a paragraph: rows are not documents, and all later
    pairs of text and metadata are wrong.
    Example: LF CR, or CR CR LF as Windows writes CR LF, in a text of OSCAR, whose card has `sample_by: "paragraph"`.
    Fix: convert the corpus to `parquet` or `dolma`, or write texts without carriage returns.
    """,
    spec=_SPEC,
)

CARD_MALFORMED = RULES.finding(
    "HUB301",
    "card-malformed",
    """The head of the card cannot be used: it is not YAML, or a config lacks a name, has an impossible one, or is not the default.

    Why: `load_dataset` fails. Unquoted, `no` is false and `on` true.
    Example: `config_name: no`; two configs, neither called `default` nor marked `default: true`; a `dataset_info` for
    an unknown config.
    Fix: correct the head; put names in quotes.
    """,
    spec=_SPEC,
)

CARD_PATH_UNMATCHED = RULES.finding(
    "HUB302",
    "card-path-unmatched",
    """A path in the card matches no data file.

    Why: `load_dataset` fails.
    Example: `path: "data/*.parquet"` where the files are in `train/`.
    Fix: correct the path; folders need a pattern, like `documents/**`.
    """,
    spec=_SPEC,
)

CARD_SPLIT_SIZE = RULES.finding(
    "HUB303",
    "card-split-size",
    """`dataset_info` names a split that does not exist, or a wrong number of rows.

    Why: `load_dataset` reads everything, then fails.
    Example: `num_examples: 1000` for 999 rows.
    Fix: write the exact number, or leave `splits` out.
    """,
    spec=_SPEC,
)

LIMIT_EXCEEDED = RULES.finding(
    "HUB401",
    "limit-exceeded",
    """A folder has more than 10,000 entries, or a file more than 500 GB, which the Hub refuses.

    Why: the upload fails, perhaps after hours. A warning from 100,000 files or 200 GB a file on, which the Hub advises against
    (https://huggingface.co/docs/hub/storage-limits, in November 2026).
    Example: `data/` with 20,000 shards.
    Fix: merge small files, write smaller parts, or divide the folder.
    """,
    grades={"minor": Severity.WARNING},
    spec=_SPEC,
)

NAME_REFUSED = RULES.finding(
    "HUB402",
    "name-refused",
    """A file is below a folder called `.cache`.

    Why: `hf upload` refuses the whole folder. It leaves out `.git` and `.cache/huggingface`.
    Example: `data/.cache/index.json`.
    Fix: rename or remove the folder.
    """,
    spec=_SPEC,
)
