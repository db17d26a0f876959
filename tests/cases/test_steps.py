"""Reported faults that are a course of events rather than an expression."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import loopwright as lw

f32 = np.float32


def test_side_effects_happen_when_a_function_is_traced() -> None:
    """Once for a signature, and the result does not depend on them later."""
    count = 0

    @lw.jit
    def scaled(x):
        nonlocal count
        count += 1
        return x * count

    one = np.ones(3, f32)
    np.testing.assert_array_equal(scaled(one), one)
    np.testing.assert_array_equal(scaled(one), one)
    assert count == 1


def test_an_unhashable_static_argument_is_named() -> None:
    @lw.jit(static_argnames=("axes",))
    def total(x, axes):
        return x.sum(axis=tuple(axes))

    x = np.ones((2, 3), f32)
    np.testing.assert_array_equal(total(x, axes=(0, 1)), 6)
    with pytest.raises(TypeError, match="axes"):
        total(x, axes=[0, 1])


def test_nan_is_not_stored_into_integers() -> None:
    @lw.jit
    def spoiled(x):
        x[0] = np.nan
        return x

    with pytest.raises(ValueError, match="nan cannot be stored"):
        spoiled(np.arange(4))


def test_floor_division_of_negatives() -> None:
    """The simplifier and the generated code round down, not towards zero."""
    x = np.arange(-40, 40)
    for a, b, c in ((48, 241, 16), (10, 5, 10), (-6, 3, 4), (7, -1, 7)):
        got = lw.jit(lambda x, a=a, b=b, c=c: ((a * x + b) // c, (a * x + b) % c))(x)
        np.testing.assert_array_equal(got[0], (a * x + b) // c)
        np.testing.assert_array_equal(got[1], (a * x + b) % c)


@pytest.mark.parametrize("offset", [0, 4, 8, 12, 16, 32, 48, 60])
def test_any_alignment_of_inputs(offset: int) -> None:
    """Arrays that begin 4, 16 or 64 bytes past a boundary, and written ones too."""
    memory = np.zeros(4096, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    x = memory[start : start + 4 * 101].view(f32)
    x[:] = np.arange(101)

    @lw.jit
    def step(x):
        x[1:] += x[:-1]
        return x * 2

    want = x.copy()
    want[1:] += want[:-1].copy()
    np.testing.assert_array_equal(step(x), want * 2)
    np.testing.assert_array_equal(x, want)


def test_a_misaligned_array_works() -> None:
    """Elements that do not lie on multiples of their own size."""
    memory = np.zeros(4 * 50 + 1, np.uint8)
    x = memory[1:].view(f32)
    x[:] = np.arange(50)
    np.testing.assert_array_equal(lw.jit(lambda x: x + 1)(x), np.arange(1, 51, dtype=f32))


ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np, loopwright as lw
lw.set_threads(8)
x = np.ones(3_000_000, np.float32)
assert (lw.jit(lambda x: x * 2 + 1)(x) == 3).all()
assert lw.jit(lambda x: x.sum())(x) == 3_000_000
print("done")
"""


def test_more_threads_than_cores() -> None:
    """A process bound to one core, asked to use eight threads."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_CORE],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
