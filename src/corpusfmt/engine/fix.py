"""Internal: Repair findings: edits of descriptions, kept in memory until all are known, then published."""

import os
import stat
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import asdict, replace

from corpusfmt.engine.sharing import Data, FollowLinks, FormatOption, Judging
from corpusfmt.engine.validate import check_shard, grading
from corpusfmt.formats import CheckOptions, Format, Mend, Shard, detect, named_format, refuse_barred
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited, Meter, within
from corpusfmt.io.paths import Changed, Entry, entry_of
from corpusfmt.io.publish import publish
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.io.text import pretty
from corpusfmt.model import Finding, Incomplete, UsageError
from corpusfmt.options import Option, takes_options

# A repair may reveal another fault; no chain of them is this long.
_MOST_ROUNDS = 50
_MOST_FINDINGS = 10_000
# A larger file that is removed is not shown.
_MOST_HELD_BYTES = 1 << 20
_DESCRIPTION = "croissant.json"
# The version of `--to` that is a syntax.
_JSON_LD = "json-ld"


class Change(Struct, frozen=True):
    """The change of one file; `before` None: it is new; `after` None: it is removed; `to`: its new path.

    A change of a file that is not held in memory has neither, and a `note`.
    """

    path: str
    before: bytes | None
    after: bytes | None
    to: str = ""
    note: str = ""


class Fixed(Struct):
    """The changes that were or would be made, and the number of repaired findings of each rule.

    `removed` counts those that were repaired by taking values out of a file, `unsafe` those whose repair needs a review and
    was not requested. `sealed` are files of the corpus that still list the others as they were.
    """

    changes: list[Change]
    repaired: Counter[str]
    removed: Counter[str]
    unsafe: Counter[str]
    sealed: Sequence[str] = ()


class Fixing(Judging, frozen=True, kw_only=True):
    """What is fixed, and how: the options of `fix`. `write` False changes nothing."""

    format: FormatOption = "auto"
    to: Annotated[
        str,
        Option("Bring a Croissant description to this version, like 1.1, or one in RDF to json-ld.", metavar="VERSION"),
    ] = ""
    data: Data = False
    unsafe: Annotated[bool, Option("Also make repairs that may change what is said: review them.")] = False
    write: bool = True
    follow_links: FollowLinks = False
    limits: Limited = DEFAULT_LIMITS


@takes_options(Fixing)
def fix(path: str | Path | Entry, asked: Fixing) -> Fixed:
    """Repair what a check of a path finds and can be repaired; say what was changed.

    `unsafe` also makes repairs that may change what is said, and so need a review; `to` is a newer version of the format, to
    which a description is brought, or "json-ld", as which one in RDF is written beside it; `write` False changes nothing. The
    rest of a file stays as it is, and a second call finds nothing to do. Files are replaced one by one, each whole or not at all.

    Raises `UsageError` for a missing or remote path and wrong options, `BadInput` for what cannot be read.
    """
    return fixed_at(path, asked)


def fixed_at(path: str | Path | Entry, asked: Fixing) -> Fixed:
    """Fix what is at a path, and the description in a corpus."""
    entry = path if isinstance(path, Entry) else entry_of(str(path), follow_links=asked.follow_links)
    if entry.is_remote:
        raise UsageError(f"{entry.shown} is remote: copy it, and fix the copy")
    options = CheckOptions(
        grading=grading(asked),
        data=asked.data,
        fixing=True,
        max_per_rule=_MOST_FINDINGS,
        limits=asked.limits.begun(),
    )
    refuse_barred(entry)
    meter = Meter(options.limits)
    with within(meter), temporary_folder() as scratch:
        fmt, version = _format(entry, asked.format, asked.to)
        plan = fmt.plan(entry, replace(options, version=version, scratch=scratch))
        plan.refuse_unread()
        options = replace(options, version=version or plan.version, wanted_version=version, scratch=scratch)
        fixed = Fixed([], Counter(), Counter(), Counter())
        mends: list[Mend] = []
        if asked.to == _JSON_LD:
            mends += (_in_json_ld(fmt, each) for shard in plan.shards for each in shard.files.values())
        edited = [(fmt, shard, options) for shard in plan.shards if fmt.offers_edits]
        beside = None if fmt.descriptions or entry.kind != "directory" else entry.child(_DESCRIPTION)
        if beside is not None and beside.kind == "file":
            croissant, any_version = named_format("croissant")[0], replace(options, version="", wanted_version="")
            edited += ((croissant, shard, any_version) for shard in croissant.plan(entry, any_version).shards)
        for owner, shard, judging in edited:
            mended = _mended(owner, shard, judging, fixed, unsafe=asked.unsafe)
            for role, changed in mended.files.items():
                if isinstance(changed, Changed) and changed is not shard.files[role]:
                    mends.append(Mend(shard.files[role], changed.content))
        if fmt.mends is not None:
            mends += _taken(fmt, fmt.mends(entry, options), options, fixed, unsafe=asked.unsafe)
    for mend in mends:
        is_held = mend.content is not None or mend.entry.size <= _MOST_HELD_BYTES
        before = None if mend.is_new or mend.to or mend.pieces else _content(mend.entry) if is_held else b""
        path = mend.entry.path.removesuffix(mend.entry.name) + mend.to if mend.to else ""
        fixed.changes.append(Change(mend.entry.path, before, mend.content, path, mend.note))
    if entry.kind == "directory":
        fixed.sealed = [
            name
            for name in (_DESCRIPTION, "MANIFEST.json")
            if any(mend.entry.path != name for mend in mends) and (seal := entry.child(name)) and seal.kind == "file"
        ]
    if asked.write:
        for mend in mends:
            _apply(mend)
    return fixed


def _format(entry: Entry, name: str, to: str) -> tuple[Format, str]:
    if name == "auto":
        fmt, detection = detect(entry)
        version = ""
        if to and not fmt.descriptions:
            raise UsageError(
                f"--to brings Croissant descriptions to a newer version; this is {fmt.name} {detection.version}"
            )
    else:
        fmt, version = named_format(name)
    if to == _JSON_LD and fmt.descriptions:
        return fmt, version
    if to and to not in fmt.versions:
        raise UsageError(f"--to is {to!r}, expected a version of {fmt.name}: {', '.join(fmt.versions)}")
    return fmt, to or version


def _in_json_ld(fmt: Format, entry: Entry) -> Mend:
    """Return the file that is written beside a description in RDF."""
    assert fmt.descriptions is not None
    content = pretty(fmt.descriptions().json_ld(entry))
    path, url = (f"{each.rpartition('.')[0]}.json" for each in (entry.path, entry.url))
    if os.path.lexists(url):
        raise UsageError(f"{path} exists: move it, and run the same command again")
    return Mend(replace(entry, path=path, url=url), content, is_new=True)


def _mended(fmt: Format, shard: Shard, options: CheckOptions, fixed: Fixed, *, unsafe: bool) -> Shard:
    """Return a shard with edits made, checked again until no finding has any: one may be hidden behind another."""
    mended = shard
    for _ in range(_MOST_ROUNDS):
        result = check_shard(fmt.name, options, mended)
        roles = {entry.path: role for role, entry in mended.files.items()}
        found = [each for each in result.tally.findings if each.fix is not None and each.location.path in roles]
        wanted = [each for each in found if unsafe or (each.fix is not None and each.fix.safe)]
        if not wanted:
            fixed.unsafe.update(each.code for each in found)
            break
        mended = _with_edits(mended, roles, wanted, fixed)
    return mended


def _with_edits(shard: Shard, roles: dict[str, str], findings: Sequence[Finding], fixed: Fixed) -> Shard:
    """Return a shard with those edits made that do not touch each other."""
    taken: dict[str, list[tuple[int, int, str]]] = {path: [] for path in roles}
    for finding in findings:
        edits = taken[finding.location.path]
        wanted = [(each.start, each.end, each.text) for each in (finding.fix.edits if finding.fix else ())]
        new = [each for each in wanted if edits[(at := bisect_left(edits, each)) : at + 1] != [each]]
        if not any(_touches(each, edits) for each in new):
            for each in new:
                insort(edits, each)
            done = fixed.removed if finding.fix and finding.fix.removes else fixed.repaired
            done[finding.code] += finding.count
    files = dict(shard.files)
    for path, edits in taken.items():
        entry = shard.files[roles[path]]
        if edits:
            data, pieces, last = _content(entry), [], 0
            for start, end, text in edits:
                pieces += [data[last:start], text.encode("utf-8", "surrogatepass")]
                last = end
            content = b"".join([*pieces, data[last:]])
            fields = {name: value for name, value in asdict(entry).items() if name not in ("content", "size")}
            files[roles[path]] = Changed(**fields, size=len(content), content=content)
    return replace(shard, files=files)


def _touches(new: tuple[int, int, str], edits: Sequence[tuple[int, int, str]]) -> bool:
    """Return whether an edit conflicts with others in order; adjacent edits may also conflict over a comma."""
    start, end, text = new
    first = max(bisect_left(edits, (start,)) - 1, 0)
    for index in range(first, len(edits)):
        other_start, other_end, other_text = edits[index]
        if other_start > end:
            break
        both_add = start == end == other_start == other_end and text.startswith(",") and other_text.startswith(",")
        if other_end >= start and not both_add:
            return True
    return False


def _content(entry: Entry) -> bytes:
    with entry.open() as file:
        return b"".join(iter(lambda: file.read(1 << 20), b""))


def _taken(fmt: Format, mends: Iterator[Mend], options: CheckOptions, fixed: Fixed, *, unsafe: bool) -> Iterable[Mend]:
    rules = {rule.code: rule for rule in fmt.rules}
    # Of several for one file, each includes those before it.
    taken: dict[tuple[str, bool], Mend] = {}
    for mend in mends:
        judged = (options.grading.judged(rules[code], options.version, mend.entry.path) for code in mend.codes)
        if not any(severity for severity, _ in judged):
            continue  # not asked for, as the rule is not
        if mend.safe or unsafe:
            fixed.repaired.update(mend.codes)
            taken[mend.entry.path, bool(mend.to)] = mend
        else:
            fixed.unsafe.update(mend.codes)
    return taken.values()


def _apply(mend: Mend) -> None:
    target = Path(mend.entry.url)
    if mend.to:
        new = target.with_name(mend.to)
        if os.path.lexists(new):
            raise Incomplete(f"{new} exists, so {target.name} keeps its name")
        target.rename(new)
    elif mend.content is None and mend.pieces is None:
        target.unlink()
    else:
        mode = None if mend.is_new else stat.S_IMODE(target.stat().st_mode)
        with publish(target) as file:
            file.writelines(mend.pieces() if mend.pieces else [mend.content or b""])
        if mode is not None:
            target.chmod(mode)
