"""Damage valid data in every known way and count what is noticed: `python -m damage.run`, from `make damage`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from damage import croissant, croissant_data, dolma, oscar, rows
from damage.kinds import GROUPS, HARMLESS, KINDS, Kind

import corpusfmt
from corpusfmt.model import Verdict

__all__ = ["HARMLESS", "KINDS", "Seen", "croissant", "croissant_data", "dolma", "look", "oscar", "rows", "table"]

#: What can come of a mutant, from best to worst.
CLASSES = ("by the right rule", "otherwise", "undetectable", "missed")
#: The format of each group of data that is not described.
FORMATS = {
    "OSCAR 1.0": "oscar-1.0",
    "OSCAR 1.1": "oscar-1.1",
    "OSCAR 22.01 and 23.01": "oscar2",
    "Dolma": "dolma",
    "JSON Lines": "jsonl",
    "Parquet": "parquet",
}


@dataclass
class Seen:
    """What came of the mutants of a kind, by class; `codes` are the rules that told."""

    kind: Kind
    classes: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    missed: list[int] = field(default_factory=list)


def look(kind: Kind, seeds: Sequence[int], folder: Path) -> Seen:
    """Make mutants of a kind, one a seed, and see what is found in them."""
    seen = Seen(kind)
    for seed in seeds:
        root = folder / "data"
        for name, data in kind.make(random.Random(f"{kind.group} {kind.name} {seed}")).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        described = kind.group.startswith("Croissant")
        path = root / "metadata.json" if described else root
        report = corpusfmt.validate(
            path,
            format=FORMATS.get(kind.group, "croissant"),
            profile="strict" if kind.group == "Croissant" else "standard",
            data=kind.group == "Croissant data",
        )
        shutil.rmtree(root)
        found = report.by_rule.keys()
        seen.codes.update(found)
        if found & kind.rules:
            seen.classes["by the right rule"] += 1
        elif found or report.verdict is Verdict.INCOMPLETE:
            seen.classes["otherwise"] += 1
        elif kind.undetectable:
            seen.classes["undetectable"] += 1
        else:
            seen.classes["missed"] += 1
            seen.missed.append(seed)
    return seen


def table(seen: Sequence[Seen]) -> Iterator[str]:
    """Yield the rows of the table in docs/testing.md."""
    yield "| data | kinds | mutants | " + " | ".join(CLASSES) + " |"
    yield "|---|" + "--:|" * (2 + len(CLASSES))
    for group in (*GROUPS, "all"):
        of_group = [each for each in seen if group in {each.kind.group, "all"}]
        classes: Counter[str] = sum((each.classes for each in of_group), Counter())
        numbers = [len(of_group), classes.total(), *(classes[each] for each in CLASSES)]
        yield f"| {group} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def reasons(seen: Sequence[Seen]) -> Iterator[str]:
    """Yield a row for each reason why damage cannot be told, with the kinds that it is the reason of."""
    kinds: dict[str, list[str]] = {}
    for each in seen:
        if each.classes["undetectable"]:
            kinds.setdefault(each.kind.undetectable, []).append(f"{each.kind.name} ({each.kind.group})")
    yield "| why | damage |"
    yield "|---|---|"
    for why, names in kinds.items():
        yield f"| {why} | {', '.join(names)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--kinds", action="store_true", help="print a line for each kind, too")
    options = parser.parse_args()
    each = -(-options.mutants // len(KINDS))
    with tempfile.TemporaryDirectory(prefix="corpusfmt-damage-") as folder:
        seen = [look(kind, range(each), Path(folder)) for kind in KINDS]
        harmless = [look(kind, range(each), Path(folder)) for kind in HARMLESS]
    if options.kinds:
        for one in seen:
            print(
                f"{one.kind.group}: {one.kind.name}: {dict(one.classes)} {dict(one.codes)} ({sorted(one.kind.rules)})"
            )
    for one in seen:
        if one.missed:
            print(f"missed: {one.kind.group}: {one.kind.name}, seeds {one.missed[:5]}")
    for one in harmless:
        if one.codes:
            print(f"false alarm: {one.kind.group}: {one.kind.name}: {dict(one.codes)}")
    alarms = sum(one.classes["otherwise"] for one in harmless)
    print("\n".join([*table(seen), "", *reasons(seen), ""]))
    print(
        f"{len(harmless)} harmless variations, {sum(one.classes.total() for one in harmless):,} mutants, {alarms} false alarms"
    )
    return 1 if alarms or any(one.missed for one in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
