"""What is kept on disk of many items takes no memory for each."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, cast

import pytest

from corpusfmt.io.ondisk import ByName, OnDisk, order_of
from corpusfmt.pipeline.intake.inputs import Input
from corpusfmt.pipeline.intake.report import Usable
from corpusfmt.pipeline.intake.take import Inputs, Taken
from corpusfmt.pipeline.process.store import Processed

_MANY = 20_000


def numbers() -> object:
    return OnDisk(range(_MANY))


def numbers_in_order() -> object:
    found = OnDisk(range(_MANY))
    found.sort(order_of(-number for number in found))
    return found


def named() -> object:
    return ByName((f"{number:064}", number) for number in range(_MANY))


def inputs_of_a_build() -> object:
    usable = Usable(cast("Inputs", None))
    for number in range(_MANY):
        usable.add(Taken(Input(f"{number}", f"{number}"), Processed(sha256=f"{number:064}")))
    return usable


@pytest.mark.parametrize("make", [numbers, numbers_in_order, named, inputs_of_a_build])
def test_an_item_takes_no_memory(make: Callable[[], Any]) -> None:
    tracemalloc.start()
    try:
        found = make()
        held, _ = tracemalloc.get_traced_memory()
        assert found
    finally:
        tracemalloc.stop()
    assert held < 5 * _MANY
