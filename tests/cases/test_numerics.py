"""Small inputs that broke comparable compilers: dtypes, NaN, signs of zero, integers, layouts.

Each test names the public reports that it was drawn from; functions and values are our own.
Expected values are written out or are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopwright as lw

nan, inf = np.nan, np.inf
f16, f32, f64 = np.float16, np.float32, np.float64
i8, u8, i16, i32, i64 = np.int8, np.uint8, np.int16, np.int32, np.int64


def same(got: object, want: object) -> None:
    """Equal to the bit: values, NaN places, signs of zeros, dtypes and shapes."""
    a, b = np.asarray(got), np.asarray(want)
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        zeros = (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]))


def like_numpy(function: Callable[..., object], *arrays: np.ndarray) -> None:
    """The compiled function gives what NumPy gives, to the bit."""
    with np.errstate(all="ignore"):
        want = function(*arrays)
    got = lw.jit(function)(*arrays)
    for g, w in zip(
        got if isinstance(got, tuple) else (got,),
        want if isinstance(want, tuple) else (want,),
        strict=True,
    ):
        same(g, w)


def test_first_nan_wins_argmax_and_argmin() -> None:
    """jax 3193, 4640: NaN skipped, or a sentinel such as the largest integer returned."""

    @lw.jit
    def places(a):
        return np.argmax(a), np.argmin(a)

    assert places(np.array([3, -1, 9, nan, 2, nan, 11], f32)) == (3, 3)
    assert places(np.full(9, nan, f32)) == (0, 0)
    assert places(np.array([-inf, inf, -inf, inf], f64)) == (1, 0)


@pytest.mark.parametrize("n", [1, 5, 8, 19, 64])
def test_clip_keeps_nan(n: int) -> None:
    """jax 1072, mlx 468: NaN became a bound, in the vector body or in the tail only."""
    x = np.resize(np.array([nan, -7, 0.25, 7, -0.0], f32), n)
    like_numpy(lambda x: np.clip(x, -2, 2), x)
    for bounded in (lambda x: np.maximum(x, 0), lambda x: np.minimum(0, x)):
        np.testing.assert_array_equal(lw.jit(bounded)(x), bounded(x))


@pytest.mark.parametrize("where", [0, 1, 6, 7, 8, 15, 20])
def test_nan_anywhere_is_the_maximum(where: int) -> None:
    """numba 4125: max([5, nan]) and max([nan, 5]) differed."""
    x = np.linspace(-3, 3, 21, dtype=f32)
    x[where] = nan
    like_numpy(lambda x: (x.max(), x.min(), np.max(x[::-1])), x)


@pytest.mark.parametrize("shape", [(1,), (3, 3), (7,), (8,), (33,)])
def test_negated_zeros_are_negative(shape: tuple[int, ...]) -> None:
    """tensorflow 58515: the tail of the loop negated in another way than its vector body."""
    for dtype in (f16, f32, f64):
        got = lw.jit(lambda x: -x)(np.zeros(shape, dtype))
        assert np.signbit(got).all() and got.dtype == dtype


def test_narrow_sums_wrap_before_they_widen() -> None:
    """pytorch 105264: 8-bit arithmetic done in 32 bits and the carry kept."""
    like_numpy(lambda x: (x + x).astype(i16), np.array([100, 128, 255, 3], u8))
    like_numpy(lambda x, y: (x * y).astype(i64), np.array([100, -128], i8), np.array([3, -1], i8))


def test_fmod_follows_the_dividend_and_remainder_the_divisor() -> None:
    """numba 8574."""
    a, b = np.array([-7, 7, -7, 17, -17], i32), np.array([12, -12, -4, 6, 6], i32)

    @lw.jit
    def both(a, b):
        return np.fmod(a, b), np.remainder(a, b)

    truncated, floored = both(a, b)
    same(truncated, np.array([-7, 7, -3, 5, -5], i32))
    same(floored, np.array([5, -5, -3, 5, 1], i32))
    like_numpy(lambda a, b: (np.fmod(a, b), np.remainder(a, b)), a.astype(f32), b.astype(f32))


def test_remainder_of_exact_multiples_is_zero() -> None:
    """numba 151."""
    same(
        lw.jit(lambda a, b: a % b)(
            np.array([-2560, 2560, -2561, -256], i16), np.array([-256, -256, -256, 256], i16)
        ),
        np.array([0, 0, -1, 0], i16),
    )


@pytest.mark.parametrize("dtype", [i32, i64])
def test_integers_are_not_divided_through_reciprocals(dtype: type) -> None:
    """tinygrad 10321: 55 * (1 / 11) in floats is not 5."""
    divisor = np.repeat(np.arange(1, 130), 40)
    quotient = np.tile(np.arange(-20, 20), 129)
    a, b = (divisor * quotient).astype(dtype), divisor.astype(dtype)
    like_numpy(lambda a, b: (a // b, a % b, (a - 1) // b, (a + 1) % -b), a, b)


def test_integer_powers_of_zero() -> None:
    """jax 5987, 5990."""
    base, exponent = np.array([0, 0, 0, 0, 1, 7, 2], i32), np.array([0, 1, 3, 65, 99, 0, 31], i32)
    want = np.array([1, 0, 0, 0, 1, 1, -(2**31)], i32)
    same(lw.jit(lambda a, b: np.power(a, b))(base, exponent), want)


def test_empty_sums_are_zero() -> None:
    """numba 4483: the result held what its memory held before."""
    same(lw.jit(lambda a, b: np.dot(a, b))(np.ones((6, 0), f32), np.ones(0, f32)), np.zeros(6, f32))
    like_numpy(lambda a: (a.sum(axis=1), a.prod(axis=1), a.sum()), np.ones((6, 0), f32))


def test_other_memory_orders() -> None:
    """numba 2656: Fortran order and negative strides taken for C order."""
    a = np.asfortranarray(np.arange(20, dtype=f32).reshape(4, 5))
    b = np.arange(20, dtype=f32).reshape(4, 5)[::-1, ::-1]
    like_numpy(lambda a, b: (a + 1, a - b, a.sum(axis=1), b.T * 2, b[:, 1:3]), a, b)


def test_python_numbers_take_the_type_of_the_array() -> None:
    """jax 732, 4682: half precision became single beside a Python float."""
    x = np.arange(6, dtype=f16)
    like_numpy(lambda x: (x * 0.25, x + abs(-2.0), 3 * x, x**2, np.maximum(x, 1.5)), x)
    like_numpy(lambda x: (x + 1, x * 2, x // 2), np.arange(6, dtype=u8))


def test_nan_is_seen() -> None:
    """jax 276, numba 2919, 9383: isnan folded away by fast math."""
    x = np.array([nan, 2, nan, inf, -inf], f32)
    like_numpy(lambda x: (np.isnan(x), np.isnan(x).any(), np.where(np.isnan(x), 0, x), x != x), x)


def test_a_difference_of_equal_products_is_zero() -> None:
    """jax 18507: one of two products fused with the subtraction and so not rounded."""
    for n in (1, 8, 13):
        a, b = np.full(n, 7654321, f32), np.full(n, 17, f32)
        same(lw.jit(lambda a, b: a * b - b * a)(a, b), np.zeros(n, f32))
    rng = np.random.default_rng(0)
    like_numpy(lambda a, b, c: a * b + c, *(rng.normal(size=100).astype(f32) for _ in range(3)))


def test_logarithm_of_subnormals() -> None:
    """jax 37670: subnormals flushed to zero, so that their logarithm was -inf or one constant."""
    x = np.array([5e-40, 2e-45, 1.1e-38, 1e-30], f32)
    np.testing.assert_allclose(lw.jit(lambda x: np.log(x))(x), np.log(x.astype(f64)), rtol=3e-7)
    like_numpy(lambda x: (x * 1.0, x + x), x)


def test_mean_of_small_integers_does_not_wrap() -> None:
    """numba 931."""
    got = lw.jit(lambda x: x.mean())(np.full(300, 15000, i16))
    assert got == 15000.0 and got.dtype == f64


def test_a_long_chain_compiles() -> None:
    """jax 4830, 4858: recursion limits and passes that take quadratic time."""

    @lw.jit
    def chain(x):
        for k in range(2000):
            x = x + 1 if k % 2 else x * 1
        return x

    same(chain(np.array([0.0, 5.0], f32)), np.array([1000, 1005], f32))


def test_take_clips() -> None:
    """jax 3774."""
    table = np.arange(100, dtype=i32) * 7
    index = np.array([-5, 0, 99, 100, 70000, 2**40])
    same(
        lw.jit(lambda t, i: np.take(t, i, mode="clip"))(table, index),
        np.array([0, 0, 693, 693, 693, 693], i32),
    )


@pytest.mark.parametrize("n", [1, 31, 64, 128, 130, 1000, 4099])
def test_ones_are_counted_by_sums(n: int) -> None:
    """tvm 1795: a vectorised reduction without its last step gave 1."""
    same(lw.jit(lambda a: a.sum())(np.ones(n, f32)), f32(n))
    same(lw.jit(lambda a: a.sum(axis=1))(np.ones((3, n), f32)), np.full(3, n, f32))
    same(lw.jit(lambda a: a.sum(axis=0))(np.ones((n, 5), f32)), np.full(5, n, f32))


@pytest.mark.parametrize("divisor", [3, 5, 7, -3])
def test_lanes_of_integer_division_by_constants(divisor: int) -> None:
    """halide 1518: a pattern whose period does not divide the vector width."""
    x = np.arange(-25, 25, dtype=i32)
    like_numpy(lambda x: (x % divisor, (x - 9) // divisor), x)


def test_softmax_of_large_numbers() -> None:
    """uTensor 175: overflow without the maximum taken off first."""
    x = np.array([[2000, 2000, -2000], [500, -300, -600], [0, -1e4, -1e4]], f32)

    @lw.jit
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    want = [[0.5, 0.5, 0], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_allclose(softmax(x), want, rtol=1e-6, atol=1e-30)


def test_quantising_rounds_halves_to_even() -> None:
    """onnx 4225."""
    x = np.array([0.125, 0.375, 0.625, -0.375, 90, -90, 0.124], f32)
    same(
        lw.jit(lambda x: np.clip(np.round(x / 0.25), -128, 127).astype(i8))(x),
        np.array([0, 2, 2, -2, 127, -128, 0], i8),
    )


def test_resize_with_aligned_corners() -> None:
    """onnxruntime 17564: aligned corners and asymmetric sampling are different maps."""

    @lw.jit
    def resize(x):
        at = np.arange(9, dtype=f32) * (4.0 / 8.0)
        low = np.floor(at).astype(i32)
        return np.take(x, low) * (1 - (at - low)) + np.take(x, np.minimum(low + 1, 4)) * (at - low)

    got = resize(np.arange(5, dtype=f32) * 6)
    np.testing.assert_allclose(got, np.arange(9) * 3, rtol=1e-6)
