"""Plans that break a rule are refused, each for its reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loopwright.ir.errors import InternalError
from loopwright.ir.graph.nodes import ArrayType, Equation, Group, Var
from loopwright.ir.graph.ops import Elementwise
from loopwright.ir.plan.checker import check
from loopwright.ir.plan.nodes import Copy, Launch, Place, Plan, Repeat, Slot

ROW = ArrayType((4,), np.dtype(np.float32))


def slot(place: Place, position: int = 0, offset: int = 0, **more) -> Slot:
    return Slot(more.pop("type", ROW), place, position, offset=offset, **more)


ARGUMENT, RESULT = slot(Place.ARGUMENT), slot(Place.RESULT)


def exp(*slots: Slot, donated: bool = False) -> Launch:
    x, y = Var(ROW), Var(ROW)
    group = Group("exp", (x,), (Equation(Elementwise("exp"), (x,), (y,)),), (y,))
    if donated:
        group = replace(group, donated=((0, 0),))
    return Launch("key", group, slots)


def plan(*steps, results=(RESULT,), arena=32) -> Plan:
    return Plan((ARGUMENT,), (), steps, results, arena)


def test_a_sound_plan_passes():
    check(plan(exp(ARGUMENT, RESULT)))
    check(plan(exp(ARGUMENT, slot(Place.ARENA)), Copy(slot(Place.ARENA), RESULT)))
    check(plan(exp(ARGUMENT, donated=True), results=(ARGUMENT,)))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (plan(exp(ARGUMENT)), "2 parameters"),
        (plan(exp(ARGUMENT, slot(Place.RESULT, type=ArrayType((5,), ROW.dtype)))), "parameter 1"),
        (plan(exp(slot(Place.ARENA), RESULT)), "before they are written"),
        (plan(), "return reads"),
        (plan(exp(ARGUMENT, slot(Place.ARENA, 24)), exp(ARGUMENT, RESULT)), "uses bytes"),
        (plan(exp(ARGUMENT, ARGUMENT), exp(ARGUMENT, RESULT)), "which is no result"),
        (
            plan(
                exp(ARGUMENT, slot(Place.ARENA)),
                exp(slot(Place.ARENA), slot(Place.ARENA, 8)),
                exp(ARGUMENT, RESULT),
            ),
            "overlaps",
        ),
        (plan(Repeat(0, (exp(ARGUMENT, RESULT),))), "repeat"),
        (plan(Repeat(2, (Repeat(2, (exp(ARGUMENT, RESULT),)),))), "repeat"),
        (plan(replace(exp(ARGUMENT, RESULT), advance=(0, 0))), "advance"),
        (plan(exp(ARGUMENT, RESULT), results=(RESULT, RESULT)), "twice"),
        (plan(Copy(ARGUMENT, slot(Place.RESULT, strides=(2,)))), "contiguous"),
        (plan(Copy(ARGUMENT, slot(Place.RESULT, type=ArrayType((3,), ROW.dtype)))), "copy of"),
        (plan(exp(ARGUMENT, slot(Place.CONSTANT)), exp(ARGUMENT, RESULT)), "uses bytes"),
    ],
)
def test_a_broken_plan_is_refused(broken, reason):
    with pytest.raises(InternalError, match=reason):
        check(broken)


def test_each_turn_of_a_repeat_is_followed():
    """Four turns of 4 bytes each fill the result; five reach beyond it."""
    one = ArrayType((1,), ROW.dtype)
    x, y = Var(one), Var(one)
    group = Group("exp", (x,), (Equation(Elementwise("exp"), (x,), (y,)),), (y,))
    slots = (slot(Place.ARGUMENT, type=one), slot(Place.RESULT, type=one))
    launch = Launch("key", group, slots, (4, 4))
    check(plan(Repeat(4, (launch,))))
    with pytest.raises(InternalError, match="before they are written"):
        check(plan(Repeat(3, (launch,))))
    with pytest.raises(InternalError, match="uses bytes"):
        check(plan(Repeat(5, (launch,))))
