"""The tensor interpreter refuses programs that read, write or leave out what they must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.combiners import combiner
from loopwright.ir.expr.nodes import Buffer, Guarded, Load, Scope, Symbol
from loopwright.ir.expr.values import const
from loopwright.ir.tensor.interpreter import interpret
from loopwright.ir.tensor.nodes import Axis, AxisKind, Definition, Param, Role, TensorProgram

F = dtypes.FLOAT32
ROW, R = Symbol("i"), Symbol("r")
A, Y = Buffer("a", (4,), F), Buffer("y", (4,), F)
COPY = Definition("copy", (Axis(ROW, 4),), (Y,), (ix.of(ROW),), (Load(A, (ix.of(ROW),)),))
ONES = np.arange(4, dtype=np.float32)


def run(*definitions: Definition, role: Role = Role.OUTPUT) -> Any:
    params = (Param(A, Role.INPUT), Param(Y, role))
    arrays = [ONES] if role is Role.OUTPUT else [ONES, np.full(4, 9, np.float32)]
    return interpret(TensorProgram("kernel", params, definitions), arrays)[0]


def test_a_copy() -> None:
    assert run(COPY).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (replace(COPY, axes=(Axis(ROW, 3),)), r"y\[3\] is never written"),
        (replace(COPY, index=(ix.ZERO,)), r"y\[0\] is written twice"),
        (replace(COPY, values=(Load(A, (ix.add(ix.of(ROW), 1),)),)), "index 4 of axis 0 of a"),
        (replace(COPY, values=(Load(Y, (ix.of(ROW),)),)), r"y\[0\] is read before it is written"),
        (replace(COPY, domain=(ix.add(ix.of(ROW), -1),)), r"y\[0\] is never written"),
        (replace(COPY, values=(const(0, dtypes.INT8),)), "a int8 value is written to y"),
        (
            replace(COPY, update=True, combiner=combiner("sum", F)),
            r"y\[0\] is combined into before",
        ),
    ],
)
def test_a_fault_is_found(bad: Definition, message: str) -> None:
    with pytest.raises(InternalError, match=message) as caught:
        run(bad)
    assert "copy" in str(caught.value)


def test_a_guard_keeps_reads_inside() -> None:
    after = ix.add(ix.of(ROW), 1)
    inside = ix.subtract(ix.constant(3), after)
    value = Guarded((inside,), Load(A, (after,)), const(-1, F))
    assert run(replace(COPY, values=(value,))).tolist() == [1, 2, 3, -1]


def test_the_last_of_several_assignments_stays() -> None:
    half = ix.floor_divide(ix.of(ROW), 2)
    result = run(replace(COPY, index=(half,), update=True), role=Role.INOUT)
    assert result.tolist() == [1, 3, 9, 9]


def test_updates_combine_in_order() -> None:
    half = ix.floor_divide(ix.of(ROW), 2)
    update = replace(COPY, index=(half,), update=True, combiner=combiner("sum", F))
    assert run(update, role=Role.INOUT).tolist() == [10, 14, 9, 9]


def test_sums_are_made_in_the_order_of_the_axis() -> None:
    axes = (Axis(R, 4, AxisKind.REDUCE),)
    total = Buffer("total", (), F)
    sums = Definition("total", axes, (total,), (), (Load(A, (ix.of(R),)),), combiner("sum", F))
    params = (Param(A, Role.INPUT), Param(total, Role.OUTPUT))
    numbers = np.array([1e8, 1, -1e8, 1], np.float32)
    (result,) = interpret(TensorProgram("kernel", params, (sums,)), [numbers])
    assert result == np.float32(1)


def test_a_table_is_read_and_scratch_is_made() -> None:
    table = Buffer("t", (2,), F, Scope.TABLE, table=np.array([5, 6], np.float32))
    held = Buffer("held", (4,), F, Scope.SCRATCH)
    first = Definition(
        "held", (Axis(ROW, 4),), (held,), (ix.of(ROW),), (Load(table, (ix.modulo(ix.of(ROW), 2),)),)
    )
    assert run(first, replace(COPY, values=(Load(held, (ix.of(ROW),)),))).tolist() == [5, 6, 5, 6]


def test_arrays_must_be_those_of_the_parameters() -> None:
    program = TensorProgram("kernel", (Param(A, Role.INPUT), Param(Y, Role.OUTPUT)), (COPY,))
    for arrays in ([], [ONES, ONES], [ONES.astype(np.float64)], [ONES[:3]]):
        with pytest.raises(InternalError):
            interpret(program, arrays)
