"""The checker of tensor programs finds each kind of fault, and says where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.combiners import combiner
from loopwright.ir.expr.nodes import Buffer, Check, Guarded, Load, Op, Scope, Slot, Symbol
from loopwright.ir.expr.values import const
from loopwright.ir.tensor.checker import check
from loopwright.ir.tensor.nodes import Axis, AxisKind, Definition, Param, Role, TensorProgram

F = dtypes.FLOAT32
ROW, R = Symbol("i"), Symbol("r")
A = Buffer("a", (4, 3), F)
Y = Buffer("y", (4,), F)
AXES = (Axis(ROW, 4), Axis(R, 3, AxisKind.REDUCE))
READ = Load(A, (ix.of(ROW), ix.of(R)))
GOOD = Definition("y", AXES, (Y,), (ix.of(ROW),), (READ,), combiner("sum", F))
PARAMS = (Param(A, Role.INPUT), Param(Y, Role.OUTPUT))


def program(*definitions: Definition, params: Any = PARAMS) -> TensorProgram:
    return TensorProgram("kernel", params, definitions)


def test_a_good_program_passes() -> None:
    check(program(GOOD))


FAULTS: dict[str, Callable[[], TensorProgram]] = {
    "two definitions y": lambda: program(GOOD, GOOD),
    "is defined by y already": lambda: program(GOOD, replace(GOOD, name="z")),
    "y is never written": lambda: program(),
    "two parameters a": lambda: program(GOOD, params=(*PARAMS, PARAMS[0])),
    "strides of another rank": lambda: program(
        GOOD, params=(PARAMS[0], Param(Buffer("y", (4,), F, strides=(1, 1)), Role.OUTPUT))
    ),
    "is in scratch memory": lambda: program(
        GOOD, params=(*PARAMS, Param(Buffer("z", (), F, Scope.SCRATCH), Role.INPUT))
    ),
    "a reduce axis without a combiner": lambda: program(replace(GOOD, combiner=None)),
    "sum without a reduce axis": lambda: program(
        replace(GOOD, axes=AXES[:1], values=(const(0, F),))
    ),
    "of another type than its outputs": lambda: program(
        replace(GOOD, combiner=combiner("sum", dtypes.INT32))
    ),
    "is given a float64": lambda: program(replace(GOOD, values=(const(0, dtypes.FLOAT64),))),
    "is written with 2 indices": lambda: program(replace(GOOD, index=(ix.of(ROW), ix.ZERO))),
    "with 1 indices": lambda: program(replace(GOOD, values=(Load(A, (ix.of(ROW),)),))),
    "s is not in scope": lambda: program(
        replace(GOOD, values=(Load(A, (ix.of(Symbol("s")), ix.ZERO)),))
    ),
    "outside its axis of 3": lambda: program(
        replace(GOOD, values=(Load(A, (ix.of(ROW), ix.add(ix.of(R), 3))),))
    ),
    "axes share a name": lambda: program(replace(GOOD, axes=(AXES[0], Axis(Symbol("i"), 2)))),
    "outputs and values differ": lambda: program(replace(GOOD, outputs=(Y, Y))),
    "is read before it is written": lambda: program(
        replace(GOOD, values=(Load(Buffer("z", (), F), ()),))
    ),
    "add of (float32, float64)": lambda: program(
        replace(GOOD, values=(Op("add", (READ, const(0, dtypes.FLOAT64)), F),))
    ),
    "lt of (float32, float32)": lambda: program(
        replace(GOOD, values=(Op("lt", (READ, READ), F),))
    ),
    "slot s is not an operand": lambda: program(replace(GOOD, values=(Slot("s", F),))),
    "a choice between": lambda: program(
        replace(GOOD, values=(Guarded((ix.of(ROW),), READ, const(0, dtypes.FLOAT64)),))
    ),
    "a check of a float32": lambda: program(replace(GOOD, values=(Check(READ, READ, 1),))),
}  # fmt: skip


@pytest.mark.parametrize("message", FAULTS)
def test_a_fault_is_found(message: str) -> None:
    with pytest.raises(InternalError) as caught:
        check(FAULTS[message]())
    assert message in str(caught.value)


def test_the_definition_is_named() -> None:
    bad = replace(GOOD, values=(const(np.float64(0), dtypes.FLOAT64),))
    with pytest.raises(InternalError, match="in definition y"):
        check(program(bad))


def test_a_scan_may_read_itself() -> None:
    before = Guarded((ix.add(ix.of(ROW), -1),), Load(Y, (ix.add(ix.of(ROW), -1),)), const(0, F))
    scan = Definition("y", (Axis(ROW, 4, AxisKind.SCAN),), (Y,), (ix.of(ROW),), (before,))
    check(program(scan))
    with pytest.raises(InternalError, match="read before"):
        check(program(replace(scan, axes=(Axis(ROW, 4),))))
