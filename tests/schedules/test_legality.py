"""Which definitions and loops are free, case by case."""

from __future__ import annotations

import pytest

from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.legality import carried, independent, may_reassociate


def definitions(program):
    return [p.block.definition for p in find.blocks(program)]


def test_updates_of_slices_are_independent(kernel):
    rows, new = kernel.input(6, 4), kernel.input(2, 4)
    out = kernel.op(ops.UpdateSlice((1, 0), (2, 1)), rows, new)
    assert all(independent(d) for d in definitions(kernel.program(out, donated=((0, 0),))))


def test_scatters_are_not(kernel):
    rows, at, new = kernel.input(6), kernel.input(2, dtype="int64"), kernel.input(2)
    out = kernel.op(ops.Scatter((0,), "clip", None), rows, at, new)
    assert not all(independent(d) for d in definitions(kernel.program(out)))


def test_scans_are_independent_beside_their_axis(kernel):
    (scan,) = definitions(kernel.program(kernel.op(ops.Cumulative("sum", 1), kernel.input(3, 4))))
    assert independent(scan)


@pytest.mark.parametrize(
    ("name", "dtype", "precision", "free"),
    [
        ("sum", "float32", "default", True),
        ("sum", "float32", "highest", False),
        ("prod", "float64", "highest", False),
        ("sum", "int64", "highest", True),
        ("max", "float32", "highest", True),
    ],
)
def test_regrouping(kernel, name, dtype, precision, free):
    out = kernel.op(ops.Reduce(name, (0,), precision), kernel.input(5, dtype=dtype))
    (reduction,) = definitions(kernel.program(out))
    assert may_reassociate(reduction) is free


def test_rows_are_not_carried(chain):
    from loopwright.schedules.loops import merge

    rows = merge(chain, "sum/i", "sub/i")
    assert carried(find.loop(rows, "sum/i"), private=False) is None
