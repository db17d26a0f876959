"""Evaluation at many points equals evaluation at each; sides not taken are not read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.evaluate import CheckError, Points, evaluate, evaluate_indices, holds
from loopwright.ir.expr.nodes import (
    Buffer,
    Check,
    Dynamic,
    FromIndex,
    Guarded,
    Index,
    Load,
    Op,
    Slot,
    Symbol,
    Value,
)
from loopwright.ir.expr.values import const

ROW, J = Symbol("i"), Symbol("j")
INT = dtypes.INT64
A = Buffer("a", (7,), INT)
DATA = np.arange(7) ** 2 - 5


def read(buffer: Buffer, positions: tuple[Any, ...]) -> Any:
    assert buffer is A
    (at,) = positions
    assert ((at >= 0) & (at < 7)).all()
    return DATA[at]


GRID = Points({ROW: np.arange(4)[:, None], J: np.arange(3)[None, :]})


@st.composite
def indices(draw: st.DrawFn) -> Index:
    parts = [ix.scale(ix.of(s), draw(st.integers(-3, 3))) for s in (ROW, J)]
    index = ix.add(*parts, draw(st.integers(-5, 5)))
    divisor = draw(st.integers(1, 4))
    match draw(st.integers(0, 3)):
        case 0:
            return ix.floor_divide(index, divisor)
        case 1:
            return ix.modulo(index, divisor)
        case _:
            return index


@st.composite
def values(draw: st.DrawFn, depth: int = 4) -> Value:
    if depth == 0:
        return FromIndex(draw(indices()), INT)
    a, b = draw(values(depth - 1)), draw(values(depth - 1))
    match draw(st.integers(0, 3)):
        case 0:
            return Op(draw(st.sampled_from(["add", "sub", "mul", "minimum"])), (a, b), INT)
        case 1:
            return Guarded((draw(indices()), draw(indices())), a, b)
        case 2:
            at = draw(indices())
            inside = (at, ix.subtract(ix.constant(6), at))
            return Guarded(inside, Load(A, (at,)), a)
        case _:
            safe = Op("mod", (a, const(7, INT)), INT)
            return Load(A, (ix.of(Dynamic(safe, 0, 6)),))


@settings(max_examples=60, deadline=None)
@given(values())
def test_a_grid_equals_its_points(value: Value) -> None:
    (grid,) = evaluate([value], GRID, read)
    grid = np.broadcast_to(grid, GRID.shape)
    for i in range(4):
        for j in range(3):
            (one,) = evaluate([value], Points({ROW: i, J: j}), read)
            assert one.shape == () and one == grid[i, j]


@settings(max_examples=60, deadline=None)
@given(indices(), st.integers(0, 3), st.integers(0, 2))
def test_indices_agree_with_their_algebra(index: Index, i: int, j: int) -> None:
    (found,) = evaluate_indices([index], Points({ROW: i, J: j}), read)
    assert found == ix.evaluate(index, {ROW: i, J: j}, {})


def test_conditions() -> None:
    both = holds([ix.add(ix.of(ROW), -2), ix.subtract(ix.ONE, ix.of(J))], GRID, read)
    assert both.tolist() == [[False] * 3] * 2 + [[True, True, False]] * 2


def test_a_long_chain_needs_no_stack() -> None:
    value: Value = FromIndex(ix.of(ROW), INT)
    for _ in range(20_000):
        value = Op("add", (value, const(1, INT)), INT)
    assert evaluate([value], Points({ROW: 3}), read)[0] == 20_003


def test_sixty_doublings_are_quick() -> None:
    value: Value = FromIndex(ix.of(ROW), INT)
    for _ in range(60):
        value = Op("add", (value, value), INT)
    assert evaluate([value], Points({ROW: 1}), read)[0] == 2**60


def test_deep_choices_need_no_stack() -> None:
    value: Value = const(-1, INT)
    for k in range(3000):
        value = Guarded((ix.add(ix.of(ROW), -k),), FromIndex(ix.constant(k), INT), value)
    assert evaluate([value], Points({ROW: np.arange(2)}), read)[0].tolist() == [0, 1]


def test_a_check_fails_only_where_it_is_reached() -> None:
    wrong = Check(const(False, dtypes.BOOL), const(1, INT), 5)
    guarded = Guarded((ix.add(ix.of(ROW), -4),), wrong, const(2, INT))
    assert (evaluate([guarded], GRID, read)[0] == 2).all()
    with pytest.raises(CheckError) as caught:
        evaluate([wrong], GRID, read)
    assert caught.value.code == 5 and isinstance(caught.value, IndexError)


def test_a_position_outside_its_promise_is_found() -> None:
    liar = Load(A, (ix.of(Dynamic(const(6, INT), 0, 5)),))
    with pytest.raises(InternalError, match=r"leaves \[0, 5\]"):
        evaluate([liar], GRID, read)


def test_slots_take_arrays() -> None:
    left, right = Slot("left", INT), Slot("right", INT)
    total = Op("add", (left, right), INT)
    slots = {left: np.arange(3), right: np.array(10)}
    assert evaluate([total], Points({}, (3,)), read, slots)[0].tolist() == [10, 11, 12]
