"""Internal: Which files make a release by schema 2: JSON Lines named for their language, in folders of a language
or not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.oscar2.ruleset import LAYOUT, RULES, VERSIONS
from corpusfmt.formats.rows.format import judge_others
from corpusfmt.formats.rows.reading import ROWS
from corpusfmt.formats.sniff import first_row, first_row_has
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge

# The releases have LL_meta_part_N.jsonl.gz (or .zst) in folders LL_meta; their documentation also LL.jsonl.gz in LL.
_NAME = re.compile(
    r"(?P<code>[a-z]{2,3}|x-[a-z]{2,8}|multi)(?:_meta)?(?:_part_(?P<part>[1-9]\d*))?\.jsonl(?:\.gz|\.zst|\.zstd)?"
)
_DATA = re.compile(r".*\.jsonl(?:\.gz|\.zst|\.zstd)?")
_PACKAGING = "compressed/"
_23_01 = ("quality_warnings", "categories", "harmful_pp", "tlsh")


class FileName(Struct, frozen=True):
    """A data file, and what its name says: language and part."""

    at: Location
    name: str
    code: str | None
    folder: str


class Parts(Struct, frozen=True):
    """The numbers of the parts of a language, in one folder."""

    at: Location
    code: str
    numbers: frozenset[int]


NO_DATA_FILE = RULES.finding(
    "OSJ101",
    "no-data-file",
    """There is no file of JSON Lines.

    Why: nothing was checked, and nothing can be read; most often the path is wrong.
    Example: an empty folder, a folder of archives that were not unpacked.
    Fix: name the folder that holds `af_meta/`, `de_meta/`, …, one of these, or one file.
    """,
    spec=LAYOUT,
)


@RULES.rule("OSJ102", "unusual-file-name", on=FileName, severity=Severity.WARNING, spec=LAYOUT)
def unusual_file_name(file: FileName) -> Iterator[Problem]:
    """The name of a data file does not begin with the code of a language.

    Why: nothing but the documents themselves then tells which language they are filed under.
    Example: `data.jsonl.gz`.
    Fix: name it `LL_meta.jsonl.gz`, or `LL_meta_part_N.jsonl.gz` where there are several (`.zst` is as good).
    """
    if file.code is None:
        hint = "name it LL_meta_part_N.jsonl.gz, LL being the code of its language"
        yield Problem(f"`{file.name}` names no language", file.at, hint)


@RULES.rule("OSJ103", "wrong-file-prefix", on=FileName, spec=LAYOUT)
def wrong_file_prefix(file: FileName) -> Iterator[Problem]:
    """A file of one language lies in the folder of another one.

    Why: loaders go by the folder, so they take it for the other language, or do not find it.
    Example: `de_meta/af_meta_part_1.jsonl.zst`.
    Fix: move it to the folder of its language, or rename it.
    """
    here = _NAME.fullmatch(f"{file.folder}.jsonl")
    if file.code is not None and here is not None and here["code"] != file.code:
        message = f"`{file.name}` is of language `{file.code}`, its folder of `{here['code']}`"
        yield Problem(message, file.at, f"move it to `{file.code}_meta/`, or rename it")


@RULES.rule("OSJ104", "missing-part", on=Parts, severity=Severity.WARNING, spec=LAYOUT)
def missing_part(parts: Parts) -> Iterator[Problem]:
    """The parts of a language are not numbered from 1 on without a gap.

    Why: a download that did not finish leaves such gaps, and nobody misses the documents.
    Example: `en_meta_part_1.jsonl.zst` and `en_meta_part_3.jsonl.zst`.
    Fix: fetch the missing parts; for a chosen few parts, ignore this rule.
    """
    missing = sorted(set(range(1, max(parts.numbers) + 1)) - parts.numbers)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        yield Problem(f"no part {shown} of `{parts.code}`", parts.at, "fetch the missing parts", count=len(missing))


UNREAD_FILE = RULES.finding(
    "OSJ105",
    "unread-file",
    """A file looks like data, but is no JSON Lines that the release would have.

    Why: no reader of the release looks at it, and it was not checked.
    Example: `af_meta_part_1.jsonl.xz`, `af.txt.gz` beside `af_meta_part_1.jsonl.gz`.
    Fix: compress it with gzip or zstd and name it like the others, or move it elsewhere.
    """,
    severity=Severity.WARNING,
    spec=LAYOUT,
)


def detect(entry: Entry) -> Detection | None:
    """Claim a file whose first row has content and WARC headers, and a folder whose first data file is one."""
    if entry.kind == "directory":
        listed = (each for each in walk(entry) if not is_hidden(each.path))
        first = next((each for each in listed if _is_data(each) or each.path == "documents"), None)
    else:
        first = entry
    if first is None or not _is_data(first) or not first_row_has(first, "content", "warc_headers"):
        return None
    return Detection(_version(first), "rows with content and WARC headers")


def _version(entry: Entry) -> str:
    metadata = first_row(entry).get("metadata")
    newer = isinstance(metadata, dict) and any(name in metadata for name in _23_01)
    return VERSIONS[1] if newer else VERSIONS[0]


def _is_data(entry: Entry) -> bool:
    return entry.kind == "file" and _DATA.fullmatch(entry.name) is not None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path, and judge their names."""
    entries = list(walk(entry)) if entry.kind == "directory" else [entry]
    files = [each for each in entries if _is_data(each) and not is_hidden(each.path)]
    version = options.version or (_version(files[0]) if files else VERSIONS[-1])
    judge = Judge(RULES, options.grading, version=version, path=".", cap=options.max_per_rule)
    root = Path(entry.url).resolve().name if entry.kind == "directory" else ""
    shards: list[Shard] = []
    parts: defaultdict[tuple[str, str], dict[int, Entry]] = defaultdict(dict)
    for file in files:
        match = _NAME.fullmatch(file.name)
        code = match["code"] if match else None
        folder = file.parent.rpartition("/")[2] or root
        judge.check(FileName(Location(file.path), file.name, code, folder))
        if match and match["part"]:
            parts[file.parent, match["code"]][int(match["part"])] = file
        target = _target(file, match)
        shards.append(Shard(len(shards), file.path, {ROWS: file}, code, target, _corpus(target, code)))
    if entry.kind == "directory":
        for (_, code), numbered in parts.items():
            judge.check(Parts(Location(next(iter(numbered.values())).path), code, frozenset(numbered)))
    judge_others(entries, _is_data, UNREAD_FILE, judge)
    if not files:
        hint = "name the folder that holds folders like `af_meta/`"
        judge.report(NO_DATA_FILE, Problem("no JSON Lines found", Location("."), hint))
    return Plan(version, shards, judge.tally, judge.coverage)


def _target(file: Entry, match: re.Match[str] | None) -> str:
    """Return the path that a file has in a corpus of another format: without `_meta`, which means something else there."""
    if match is None:
        return file.path
    folder = file.parent.removeprefix(_PACKAGING).split("/")
    folder[-1] = folder[-1].removesuffix("_meta")
    part = f"_part_{match['part']}" if match["part"] else ""
    return "/".join(filter(None, [*folder, f"{match['code']}{part}.jsonl"]))


def _corpus(target: str, code: str | None) -> str:
    """Return the folder of the release that a file belongs to: what is above the folder of its language."""
    folder = target.rpartition("/")[0]
    parent, _, name = folder.rpartition("/")
    return parent if name == code else folder if code else ""
