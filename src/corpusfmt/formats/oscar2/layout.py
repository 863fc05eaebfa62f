"""Internal: Which files make a release by schema 2: JSON Lines named for their language, with or without a folder
for each language.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.files import compression_rule
from corpusfmt.formats.rows.format import file_findings, judge_others
from corpusfmt.formats.rows.reading import ROWS
from corpusfmt.formats.sniff import first_row, main_file, rows_have
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

#: Releases by schema 2, which differ in the names of a few fields of `metadata`.
VERSIONS = ("22.01", "23.01")
RULES = RuleSet(GENERAL, versions=VERSIONS)

LAYOUT = "oscar-schema-v2#layout"
RECORD = "oscar-schema-v2#jsonl-files"

FILES = file_findings(RULES, "OSJ101", "OSJ106", "OSJ105", rows="records", spec=LAYOUT)
compression_rule(RULES, "OSJ107", LAYOUT)


# The releases have LL_meta_part_N.jsonl.gz (or .zst) in folders LL_meta; their documentation also LL.jsonl.gz in LL.
_NAME = re.compile(
    r"(?P<code>[a-z]{2,3}|x-[a-z]{2,8}|multi)(?:_meta)?(?:_part_(?P<part>[1-9]\d*))?\.jsonl(?:\.gz|\.zst|\.zstd)?"
)
_DATA = re.compile(r".*\.jsonl(?:\.gz|\.zst|\.zstd)?")
_PACKAGING = "compressed/"
_23_01 = ("quality_warnings", "categories", "harmful_pp", "tlsh")


class FileName(Struct, frozen=True):
    """A data file, and the language and part in its name."""

    at: Location
    name: str
    code: str | None
    folder: str


class Parts(Struct, frozen=True):
    """The numbers of the parts of a language, in one folder."""

    at: Location
    code: str
    numbers: frozenset[int]


@RULES.rule("OSJ102", "unusual-file-name", on=FileName, severity=Severity.WARNING, spec=LAYOUT)
def unusual_file_name(file: FileName) -> Iterator[Problem]:
    """The name of a data file does not start with a language code.

    Why: only the documents themselves show their language.
    Example: `data.jsonl.gz`.
    Fix: name it `LL_meta.jsonl.gz`, or `LL_meta_part_N.jsonl.gz` if there are several (or `.zst`).
    """
    if file.code is None:
        hint = "name it `LL_meta_part_N.jsonl.gz`, with its language code as LL"
        yield Problem(f"`{file.name}` does not name a language", file.at, hint)


@RULES.rule("OSJ103", "wrong-file-prefix", on=FileName, spec=LAYOUT)
def wrong_file_prefix(file: FileName) -> Iterator[Problem]:
    """A file of one language is in the folder of another one.

    Why: loaders rely on the folder, so they read the file as the other language, or miss it.
    Example: `de_meta/af_meta_part_1.jsonl.zst`.
    Fix: move it to the folder of its language, or rename it.
    """
    here = _NAME.fullmatch(f"{file.folder}.jsonl")
    if file.code is not None and here is not None and here["code"] != file.code:
        message = f"`{file.name}` is of language `{file.code}`, the folder of `{here['code']}`"
        yield Problem(message, file.at, f"move the file to `{file.code}_meta/`, or rename it")


@RULES.rule("OSJ104", "missing-part", on=Parts, severity=Severity.WARNING, spec=LAYOUT)
def missing_part(parts: Parts) -> Iterator[Problem]:
    """The parts of a language are not numbered from 1 without gaps.

    Why: an incomplete download leaves gaps, and the missing documents go unnoticed.
    Example: `en_meta_part_1.jsonl.zst` and `en_meta_part_3.jsonl.zst`.
    Fix: download the missing parts; ignore this rule for a selection of parts.
    """
    missing = sorted(set(range(1, max(parts.numbers) + 1)) - parts.numbers)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        message = f"{'part' if len(missing) == 1 else 'parts'} {shown} of `{parts.code}` {'is' if len(missing) == 1 else 'are'} missing"
        yield Problem(message, parts.at, "download the missing parts", count=len(missing))


def detect(entry: Entry) -> Detection | None:
    """Claim a file whose rows have content and WARC headers, and a folder most of whose data are such files."""
    listed = takewhile(lambda each: each.path != "documents", walk(entry)) if entry.kind == "directory" else [entry]
    files = (each for each in listed if _is_data(each) and (each is entry or not is_hidden(each.path)))
    main = main_file(files, lambda each: rows_have(each, "content", "warc_headers"))
    return Detection(_version(main), f"rows with content and WARC headers, as in `{main.path}`") if main else None


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
    judge_others(entries, _is_data, FILES.unread, judge)
    if not files:
        hint = "pass the folder that contains folders such as `af_meta/`"
        judge.report(FILES.none, Problem("no JSON Lines found", Location("."), hint))
    return Plan(version, shards, judge.tally, judge.coverage)


def _target(file: Entry, match: re.Match[str] | None) -> str:
    """Return the path of a file in a corpus of another format: without `_meta`, which means something else there."""
    if match is None:
        return file.path
    folder = file.parent.removeprefix(_PACKAGING).split("/")
    folder[-1] = folder[-1].removesuffix("_meta")
    part = f"_part_{match['part']}" if match["part"] else ""
    return "/".join(filter(None, [*folder, f"{match['code']}{part}.jsonl"]))


def _corpus(target: str, code: str | None) -> str:
    """Return the folder of the release of a file: the one above the folder of its language."""
    folder = target.rpartition("/")[0]
    parent, _, name = folder.rpartition("/")
    return parent if name == code else folder if code else ""
