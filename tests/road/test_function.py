"""What users see of a jitted function: calls, arguments, results, refusals."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import loopwright as lw

f32 = np.float32


@lw.jit
def scaled(x, factor=2.0, *, shift=0.0):
    """Scales."""
    return x * factor + shift


def test_positional_keyword_and_default_arguments():
    x = np.arange(5, dtype=f32)
    for _ in range(3):
        np.testing.assert_array_equal(scaled(x), x * 2)
        np.testing.assert_array_equal(scaled(x, 3.0), x * 3)
        np.testing.assert_array_equal(scaled(factor=3.0, x=x), x * 3)
        np.testing.assert_array_equal(scaled(x, shift=1.0), x * 2 + 1)
    assert scaled(x, 3.0).dtype == f32


def test_metadata_is_kept():
    assert scaled.__name__ == "scaled" and scaled.__doc__ == "Scales."
    assert list(inspect.signature(scaled).parameters) == ["x", "factor", "shift"]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"nothing": 1}), ((1.0,), {"x": 1.0})],
)
def test_calls_that_the_signature_refuses(args, kwargs):
    for _ in range(2):
        with pytest.raises(lw.errors.ArgumentError, match="scaled") as caught:
            scaled(*args, **kwargs)
        assert isinstance(caught.value, TypeError)


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


Point = namedtuple("Point", "x y")


def test_nested_arguments_and_results():
    @lw.jit
    def f(layer, pair, table, nothing):
        assert nothing is None
        y = pair[0] @ layer.w + layer.b
        return {"y": y, "parts": [table["a"], pair[1]]}, Point(y.sum(), None)

    w, b, x = np.ones((3, 2), f32), np.arange(2, dtype=f32), np.ones((4, 3), f32)
    for _ in range(2):
        out, point = f(Layer(w, b), (x, 5), {"a": b}, None)
        np.testing.assert_array_equal(out["y"], x @ w + b)
        assert out["parts"][0] is b and out["parts"][1] == 5
        assert isinstance(point, Point) and point.y is None and point.x == (x @ w + b).sum()


def test_static_arguments_are_part_of_the_signature():
    traced = []

    @lw.jit(static_argnames="mode")
    def f(x, mode):
        traced.append(mode)
        return x + 1 if mode == "up" else x - 1

    x = np.zeros(3)
    assert f(x, "up")[0] == 1 and f(x, "down")[0] == -1 and f(x, mode="up")[0] == 1
    assert traced == ["up", "down"]
    with pytest.raises(lw.errors.ArgumentError, match="mode") as caught:
        f(x, ["up"])
    assert isinstance(caught.value, TypeError)
    with pytest.raises(lw.errors.ArgumentError, match="no parameter 'nothing'"):
        lw.jit(static_argnames=("nothing",))(lambda x: x)


def test_static_values_that_compare_equal_are_told_apart():
    @lw.jit(static_argnames="k")
    def f(x, k):
        return x, repr(k)

    x = np.zeros(2)
    assert [f(x, k)[1] for k in (1, True, 1.0, 0.0, -0.0)] == ["1", "True", "1.0", "0.0", "-0.0"]


def test_methods_closures_and_nesting():
    table = np.arange(4.0)

    @lw.jit
    def inner(x):
        return x + table

    class Model:
        bias = 3.0

        @lw.jit
        def apply(self, x):
            return inner(x) * self.bias

    model = Model()
    x = np.ones(4)
    for _ in range(2):
        np.testing.assert_array_equal(model.apply(x), (x + table) * 3)
        np.testing.assert_array_equal(inner(x), x + table)
    table[:] = 100  # captured arrays were copied
    np.testing.assert_array_equal(inner(x), x + np.arange(4.0))


def test_written_arguments_hold_the_result():
    @lw.jit
    def step(grid, source):
        grid[1:-1] += source[1:-1]
        grid[0] = 7
        return grid

    grid, source = np.zeros(6), np.arange(6.0)
    for _ in range(2):
        assert step(grid, source) is grid
    np.testing.assert_array_equal(grid, [7, 2, 4, 6, 8, 0])


def test_an_argument_given_twice_is_one_array():
    @lw.jit
    def f(a, b):
        a[0] = 5.0
        return b.sum()

    x = np.ones(3)
    assert f(x, x) == 7.0 and x[0] == 5.0
    y = np.ones(3)
    assert f(np.ones(3), y) == 3.0 and y[0] == 1.0


def test_partial_overlap_with_a_written_argument_is_refused():
    @lw.jit
    def f(a, b):
        a += b

    base = np.arange(8.0)
    for _ in range(2):
        with pytest.raises(lw.errors.OverlapError):
            f(base[:5], base[3:])
    np.testing.assert_array_equal(base, np.arange(8.0))
    f(base[:4], base[4:])
    np.testing.assert_array_equal(base[:4], [4, 6, 8, 10])


def test_read_only_arrays():
    @lw.jit
    def write(x):
        x[0] = 1

    @lw.jit
    def read(x):
        return x + 1

    x = np.zeros(3)
    write(x)
    locked = np.zeros(3)
    locked.flags.writeable = False
    with pytest.raises(lw.errors.LoopwrightError, match="read-only"):
        write(locked)
    np.testing.assert_array_equal(read(locked), [1, 1, 1])
    assert locked[0] == 0


def test_results_are_fresh():
    @lw.jit
    def f(x):
        return x.reshape(2, 3), x[:], x * 1

    x = np.arange(6.0)
    for _ in range(2):
        for y in f(x):
            assert not np.shares_memory(x, y)
            y[...] = -1
    np.testing.assert_array_equal(x, np.arange(6.0))


def test_scalars_keep_their_kind():
    @lw.jit
    def f(x, s):
        return x * s

    x = np.ones(2, f32)
    assert f(x, 2).dtype == f32 and f(x, 2.5).dtype == f32
    assert f(x, np.float64(2)).dtype == np.float64
    assert f(np.ones(2, np.int8), 3).dtype == np.int8
    with pytest.raises(lw.errors.LoopwrightError):
        f(np.ones(2), 2**70)


def test_an_exception_inside_the_function_leaves_it_usable():
    fail = [True]

    @lw.jit
    def f(x):
        if fail[0]:
            raise KeyError("mine")
        return x + 1

    with pytest.raises(KeyError, match="mine"):
        f(np.ones(2))
    fail[0] = False
    assert f(np.ones(2))[0] == 2


def test_keyboard_interrupt_during_a_compilation(monkeypatch):
    from loopwright.driver import levels

    @lw.jit
    def f(x):
        return x * 3 - 7

    original = levels.emit_kernel

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(levels, "emit_kernel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f(np.ones(3))
    monkeypatch.setattr(levels, "emit_kernel", original)
    np.testing.assert_array_equal(f(np.ones(3)), [-4, -4, -4])


def test_endless_recursion_is_an_error():
    @lw.jit
    def f(x):
        return f(x) + 1

    with pytest.raises((RecursionError, lw.errors.LoopwrightError)):
        f(np.ones(2))


def test_a_leaked_value_is_named():
    kept = []

    @lw.jit
    def f(x):
        kept.append(x * 2)
        return x

    f(np.ones(2))
    with pytest.raises(lw.errors.LeakError):
        kept[0] + 1


def test_an_index_out_of_bounds_raises_at_the_users_line():
    @lw.jit
    def f(x, i):
        y = x + 1
        return y[i]  # the line

    x, good, bad = np.arange(5.0), np.array([0, -5, 4]), np.array([0, 5])
    np.testing.assert_array_equal(f(x, good), (x + 1)[good])
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            f(x, bad)
        assert "return y[i]  # the line" in str(caught.value) and "test_function.py" in str(
            caught.value
        )
    np.testing.assert_array_equal(f(x, good), (x + 1)[good])


def test_debug_finds_the_nan_and_the_line():
    @lw.jit(debug=True)
    def f(x):
        y = x - 1
        return np.sqrt(y)  # the root

    assert f(np.ones(2))[0] == 0
    with pytest.raises(lw.errors.NaNError, match="sqrt") as caught:
        f(np.zeros(2))
    assert "# the root" in str(caught.value)


def test_many_signatures():
    @lw.jit
    def f(x):
        return x + 1

    for _ in range(2):
        for n in range(12):
            np.testing.assert_array_equal(f(np.zeros(n)), np.ones(n))
    assert len(f.specialisations) == 12


def test_explain_says_why():
    @lw.jit
    def f(x, y):
        return x + y

    assert "not compiled yet" in f.explain()
    f(np.ones(3), np.ones(3))
    f(np.ones(3), np.ones((2, 3), f32))
    text = f.explain()
    assert "2 signature(s)" in text and "argument 1: float64[3] before, now float32[2, 3]" in text


def test_lower_shows_every_level():
    @lw.jit
    def f(x, w):
        return np.maximum(x @ w, 0)

    low = f.lower(lw.spec((4, 8), "float32"), lw.spec((8, 3), "float32"))
    for level in ("traced", "graph", "tensors", "loops", "flat", "plan", "llvm", "asm"):
        assert len(getattr(low, level)) > 40, level
    assert "matmul" in low.loops or "dotgeneral" in low.graph


def test_pickle_copy_and_repr():
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    assert copy.deepcopy(scaled) is scaled and copy.copy(scaled) is scaled
    assert "scaled" in repr(scaled)


def test_disable_jit_runs_plain_python():
    seen = []

    @lw.jit
    def f(x):
        seen.append(type(x))
        return x + 1

    x = np.ones(2)
    f(x)
    with lw.disable_jit():
        f(x)
    f(x)
    assert len(seen) == 2 and seen[1] is np.ndarray


def test_bound_parameters_are_constants():
    def model(params, x):
        return x @ params["w"] + params["b"]

    params = {"w": np.ones((3, 2), f32), "b": np.arange(2, dtype=f32)}
    net = lw.bind(model, params)
    x = np.ones((4, 3), f32)
    expected = model(params, x)
    params["b"][:] = 100
    for _ in range(2):
        np.testing.assert_array_equal(net(x), expected)


def test_jit_of_what_is_no_function():
    with pytest.raises(lw.errors.ArgumentError, match="function"):
        lw.jit(3)
    with pytest.raises(lw.errors.ArgumentError, match="precision"):
        lw.jit(precision="low")(lambda x: x)


def test_fast_math_is_off_and_its_flags_are_known():
    def f(x, y):
        return x * y - 1

    def g(x):
        return x / 3

    x, y = np.float32([1 + 2**-12]), np.float32([1 + 2**-12])
    assert lw.jit(f)(x, y) == f(x, y)
    exact = np.float64(x) * np.float64(y) - 1
    assert lw.jit(f, fast_math=["contract"])(x, y) == np.float32(exact) != f(x, y)
    many = np.arange(1000, dtype=f32)
    assert (lw.jit(g)(many) == g(many)).all()
    assert (lw.jit(g, fast_math=["reciprocal"])(many) != g(many)).any()
    with pytest.raises(lw.errors.ArgumentError, match="contract"):
        lw.jit(f, fast_math=["everything"])


def test_code_for_another_machine_is_lowered_but_not_run():
    abroad = lw.Target("llvm", triple="aarch64-linux-gnu", cpu="cortex-a53")

    @lw.jit(target=abroad)
    def f(x):
        return x + 1

    assert "fadd" in f.lower(np.ones(8, f32)).asm
    with pytest.raises(lw.errors.TargetError, match="does not run"):
        f(np.ones(8, f32))
    with pytest.raises(lw.errors.TargetError, match="kind"):
        lw.Target("abacus")
