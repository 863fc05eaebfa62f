"""Internal: Samples of a corpus: a share of its shards, or a number of documents."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Format, Shard
from corpusfmt.io.draw import Draw
from corpusfmt.model import UsageError

#: Most documents of a sample, whose places are in memory.
MOST_DOCUMENTS = 100_000
# Reading a shard to draw fewer of its documents would take too long for them.
_DOCUMENTS_OF_A_SHARD = 100
# Small shards may have fewer; most documents take less than this, compressed.
_BYTES_OF_A_DOCUMENT = 10_000


class Sample(Struct, frozen=True):
    """The shards to check: of each in `counts`, by its index, a number of documents; of others all, until there are `most`."""

    shards: Sequence[Shard]
    seed: int
    counts: Mapping[int, int] = {}
    most: float = math.inf

    def is_part(self, checked: int, total: int) -> bool:
        """Return whether so many checked shards, of all that there are, are less than the corpus."""
        return bool(self.counts) or len(self.shards) < total or (self.most < math.inf and checked < total)

    def options(self, shard: Shard, options: CheckOptions) -> CheckOptions:
        """Return the options for a shard."""
        count = self.counts.get(shard.index)
        return options if count is None else replace(options, drawn=Draw(count, f"{self.seed}:{shard.name}"))


def sample_of(fmt: Format, shards: Sequence[Shard], wanted: float | None, seed: int) -> Sample:
    """Return what to check: everything, a share, or, if it is an integer, a number of documents. Raises `UsageError`."""
    if wanted is not None and not 0 < wanted <= (MOST_DOCUMENTS if isinstance(wanted, int) else 1):
        raise UsageError(f"sample is {wanted:g}, expected from 1 to {MOST_DOCUMENTS:,} documents, or a share like 0.01")
    if wanted is None or not shards:
        return Sample(shards, seed)
    if isinstance(wanted, int):
        return _of_documents(fmt, shards, wanted, seed)
    return Sample(_chosen(shards, max(1, round(len(shards) * wanted)), seed), seed)


def _chosen(shards: Sequence[Shard], count: int, seed: int) -> list[Shard]:
    chosen = set(random.Random(seed).sample(range(len(shards)), count))
    return [shard for number, shard in enumerate(shards) if number in chosen]


def _of_documents(fmt: Format, shards: Sequence[Shard], wanted: int, seed: int) -> Sample:
    role = fmt.documents_role
    if not role:
        return Sample(random.Random(seed).sample(shards, len(shards)), seed, most=wanted)
    with_documents = [replace(shard, files={role: shard.files[role]}) for shard in shards if role in shard.files]
    few, size, chosen = math.ceil(wanted / _DOCUMENTS_OF_A_SHARD), wanted * _BYTES_OF_A_DOCUMENT, list[Shard]()
    for shard in random.Random(seed).sample(with_documents, len(with_documents)):
        if len(chosen) >= few and size <= 0:
            break
        chosen.append(shard)
        size -= shard.size
    chosen.sort(key=lambda shard: shard.index)
    # In proportion to their sizes, so that each document of the chosen shards has about the same chance.
    total, before, counts = sum(shard.size for shard in chosen) or 1, 0, {}
    for shard in chosen:
        counts[shard.index] = (before + shard.size) * wanted // total - before * wanted // total
        before += shard.size
    return Sample([shard for shard in chosen if counts[shard.index]], seed, counts)
