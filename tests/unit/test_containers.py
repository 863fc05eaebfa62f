"""Containers whose sections span blocks: what is read of them is what was written, or they are said to be damaged."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from corpusfmt.io.containers import Container, ContainerWriter, is_container
from corpusfmt.model import Incomplete
from corpusfmt.pipeline.dedup import keys_between

LINES = 20_000
EDGES = [0, 1, 2**40, 2**63, 2**64 - 1]


def container_of(path: Path, sections: dict[str, bytes]) -> Path:
    with path.open("wb") as file:
        writer = ContainerWriter(file)
        for key, section in sections.items():
            writer.add(key, section)
        writer.finish()
    return path


def columns_of(words: int) -> npt.NDArray[np.uint64]:
    chance = np.random.default_rng(words)
    columns = chance.integers(0, 2**64, size=(words + 1, LINES), dtype=np.uint64)
    columns[0, :50] = np.repeat(np.array(EDGES, np.uint64), 10)
    columns[0].sort()
    return columns


@pytest.mark.parametrize("words", [1, 2])
def test_keys_of_a_range_are_found_or_damage_is(words: int, tmp_path: Path) -> None:
    columns = columns_of(words)
    path = container_of(tmp_path / "box", {"de keys": columns.tobytes(), "empty keys": b""})
    whole, chance = path.read_bytes(), random.Random(words)
    damaged = 0
    for attempt in range(300):
        low, high = sorted(chance.choice([*EDGES, *columns[0, :: LINES // 9].tolist()]) for _ in range(2))
        data = bytearray(whole)
        if attempt >= 50:
            bit = chance.randrange(len(data) * 8)
            data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        inside = (columns[0] >= low) & (columns[0] <= high)
        try:
            with Container(path) as container:
                (section,) = container.unread_sections("de keys")
                found = keys_between(section, low, high, words)
                del section
        except Incomplete:
            damaged += 1
        else:
            assert found == columns[:, inside].tobytes(), (low, high)
    assert 0 < damaged < 250


def test_no_keys_have_no_range(tmp_path: Path) -> None:
    with Container(container_of(tmp_path / "box", {"de keys": b""})) as container:
        (section,) = container.unread_sections("de keys")
        assert keys_between(section, 0, 2**64 - 1, 1) == b""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"", "it is empty"),
        (lambda data: data[:31], "it is too short"),
        (lambda data: data[:-1], "it has no end"),
        (lambda data: data[:-33] + b"?" + data[-32:], "its keys have another checksum"),
        (lambda data: b"?" + data[1:], "a section has another checksum"),
        (lambda data: data[:16] + b"?" + data[17:], "its index has another checksum"),
    ],
)
def test_a_damaged_container_is_removed_and_named(
    change: Callable[[bytes], bytes], reason: str, tmp_path: Path
) -> None:
    path = container_of(tmp_path / "box", {"de": b"12345678"})
    path.write_bytes(change(path.read_bytes()))

    def read() -> None:
        with Container(path) as container:
            for section in container.sections("de"):
                section.release()

    with pytest.raises(Incomplete) as caught:
        read()
    assert str(caught.value) == (
        f"{path} was damaged ({reason}) and has been removed; run the same command again to make it anew"
    )
    assert not path.exists()
    assert not is_container(path)
    with pytest.raises(Incomplete, match="is missing; run the same command again to make it anew"):
        read()
