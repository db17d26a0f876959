"""Plans as native functions, on hand-written kernels."""

import ctypes

import numpy as np
import pytest

from loopwright.backends.llvm import host, plan
from loopwright.backends.llvm.orc import Library
from loopwright.ir.graph.nodes import ArrayType, Group
from loopwright.ir.plan.nodes import Copy, Launch, Place, Plan, Repeat, Slot
from loopwright.ir.target import Target

KERNELS = """
; r[0] = a[0] + b[0] of 64-bit integers
define i32 @k_add(ptr %args, ptr %scratch) {
  %a = load ptr, ptr %args
  %b_at = getelementptr ptr, ptr %args, i64 1
  %b = load ptr, ptr %b_at
  %r_at = getelementptr ptr, ptr %args, i64 2
  %r = load ptr, ptr %r_at
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %z = add i64 %x, %y
  store i64 %z, ptr %r
  ret i32 0
}

; fails with the status that a[0] holds
define i32 @k_fail(ptr %args, ptr %scratch) {
  %a = load ptr, ptr %args
  %x = load i32, ptr %a
  ret i32 %x
}

; r[0] = the address of scratch
define i32 @k_scratch(ptr %args, ptr %scratch) {
  %r = load ptr, ptr %args
  store ptr %scratch, ptr %r
  ret i32 0
}
"""

INT = ArrayType((), np.dtype(np.int64))
GROUP = Group("group", (), (), ())
SYMBOLS = {"add": "k_add", "fail": "k_fail", "scratch": "k_scratch"}


def slot(place, position, shape=(), offset=0):
    return Slot(ArrayType(shape, INT.dtype), place, position, None, offset)


def argument(number, **more):
    return slot(Place.ARGUMENT, number, **more)


def result(number, **more):
    return slot(Place.RESULT, number, **more)


def launch(key, *slots, advance=()):
    return Launch(key, GROUP, slots, advance)


def run(steps, arrays, arguments, results=0, constants=0, arena=64, scratch=None):
    """Runs a plan on arrays (arguments, results, constants): the status."""
    made = Plan(
        tuple(argument(n) for n in range(arguments)),
        (None,) * constants,
        tuple(steps),
        tuple(result(n) for n in range(results)),
        arena,
    )
    scratch = scratch or {}
    text = plan.emit_plan(made, SYMBOLS, scratch, "plan")
    library = Library(
        [
            host.compile_object(text, Target.host(), level=0),
            host.compile_object(KERNELS, Target.host()),
        ],
        ["plan"],
    )
    memory = np.zeros(plan.arena_bytes(made, scratch) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library["plan"])
    status = function(ctypes.addressof(pointers), memory.ctypes.data + start)
    return status, memory.ctypes.data + start


def integers(*values):
    return np.array(values, np.int64)


def test_arguments_results_constants_and_arena_are_told_apart():
    out, extra = integers(0), integers(0)
    arena = slot(Place.ARENA, 8)
    steps = [
        launch("add", argument(0), slot(Place.CONSTANT, 0), arena),
        launch("add", arena, argument(1), result(0)),
        launch("add", slot(Place.CONSTANT, 1), result(0), result(1)),
    ]
    arrays = [integers(1), integers(20), out, extra, integers(300), integers(4000)]
    assert run(steps, arrays, 2, 2, 2)[0] == 0
    assert out[0] == 321 and extra[0] == 4321


def test_offsets_are_bytes():
    out = integers(0, 0, 0)
    data = integers(1, 2, 3, 4)
    steps = [launch("add", argument(0, offset=8), argument(0, offset=24), result(0, offset=16))]
    assert run(steps, [data, out], 1, 1)[0] == 0
    assert out.tolist() == [0, 0, 6]


def test_empty_plan_returns_nothing():
    assert run([], [], 0)[0] == 0


def test_copy():
    out = integers(*range(5))
    steps = [
        Copy(argument(0, shape=(3,)), slot(Place.ARENA, 0, (3,))),
        Copy(slot(Place.ARENA, 8, (2,)), result(0, shape=(2,), offset=24)),
        Copy(argument(0, shape=(0, 7)), result(0, shape=(0, 7))),
    ]
    assert run(steps, [integers(7, 8, 9), out], 1, 1)[0] == 0
    assert out.tolist() == [0, 1, 2, 8, 9]


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_repeat_advances_each_slot(count):
    out = integers(*[0] * (2 * count + 1))
    data = integers(*range(100, 100 + count + 1))
    one = integers(1)
    body = (launch("add", argument(0), argument(1), result(0), advance=(8, 0, 16)),)
    assert run([Repeat(count, body)], [data, one, out], 2, 1)[0] == 0
    assert out[::2].tolist() == [101 + n for n in range(count)] + [0]
    assert not out[1::2].any()


def test_repeat_in_repeat_and_what_follows():
    out = integers(0)
    body = (launch("add", result(0), argument(0), result(0)),)
    steps = [Repeat(3, (*body, Repeat(4, body))), *body]
    assert run(steps, [integers(1), out], 1, 1)[0] == 0
    assert out[0] == 16


def test_status_names_the_launch_and_stops():
    out = integers(5)
    add = launch("add", argument(1), argument(1), result(0))
    steps = [add, Repeat(0, (add, add)), Repeat(2, (add, launch("fail", argument(0)))), add]
    status, _ = run(steps, [integers(77), integers(1), out], 2, 1)
    assert status == 4 * plan.STATUS_SPAN + 77
    assert out[0] == 2


def test_launches_are_numbered_as_they_are_listed():
    a, b, c = (launch(key) for key in ("add", "fail", "scratch"))
    steps = (a, Repeat(5, (b, Repeat(2, (c,)), a)), c)
    assert list(plan.launches(steps)) == [a, b, c, a, c]


def test_out_of_memory_stays_negative():
    assert run([launch("fail", argument(0))], [integers(-1)], 1)[0] == -1


def test_scratch_lies_after_the_arena_and_is_aligned():
    out = integers(0)
    status, arena = run(
        [launch("scratch", result(0))], [out], 0, 1, arena=100, scratch={"scratch": 256, "add": 9}
    )
    assert status == 0 and out[0] == arena + 128


def test_no_scratch_is_null():
    out = integers(1)
    assert run([launch("scratch", result(0))], [out], 0, 1)[0] == 0
    assert out[0] == 0


def test_long_plans_are_cut_and_keep_their_numbers():
    out = integers(0)
    add = launch("add", result(0), argument(0), result(0))
    steps = [add] * 999
    assert run(steps, [integers(1), out, integers(3)], 1, 1)[0] == 0
    assert out[0] == 999
    status, _ = run(
        [*steps, launch("fail", argument(1)), add], [integers(1), integers(3), out], 2, 1
    )
    assert status == 999 * plan.STATUS_SPAN + 3
    assert out[0] == 2 * 999


def test_deep_repeats_do_not_recurse_in_launches():
    step = launch("add")
    for _ in range(5000):
        step = Repeat(1, (step,))
    assert len(list(plan.launches((step,)))) == 1
