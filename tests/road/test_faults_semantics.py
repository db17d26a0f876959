"""Faults that comparing compiled functions with NumPy found, each by its smallest input."""

from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import loopwright as lw
from loopwright.errors import ArgumentError, DTypeError, LoopwrightError, ShapeError, TraceError

X = np.arange(5.0)


@dataclass
class Pair:
    a: object
    b: object = 3


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "float16"])
@pytest.mark.parametrize(
    "f, a, b",
    [
        (lambda a, b: np.tensordot(a, b, 0), (4, 5), (4, 5)),
        (lambda a, b: np.tensordot(a, b, 1), (3, 5, 6), (6, 7, 3)),
        (lambda a, b: np.matmul(a, b), (3, 1, 4, 5), (2, 5, 3)),
        (lambda a, b: np.inner(a, b), (2, 3, 4), (5, 4)),
    ],
    ids=["outer", "tensordot", "broadcast", "inner"],
)
def test_products_whose_tiles_cross_rows(dtype, f, a, b):
    """Fused free axes that a register tile does not divide."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 3, shape).astype(dtype) for shape in (a, b))
    np.testing.assert_array_equal(lw.jit(f)(a, b), f(a, b), strict=True)


@pytest.mark.parametrize("subscripts", ["ij,kj->", "ij,kj->ik", "ij,ik->i"])
def test_einsum_of_booleans(subscripts):
    a = np.eye(4, dtype=bool)
    want = np.einsum(subscripts, a, a)
    np.testing.assert_array_equal(lw.jit(lambda x: np.einsum(subscripts, x, x))(a), want)


def append(items):
    items.append(items[0] + 1)


def set_key(items):
    items["new"] = 1


def set_field(pair):
    pair.a = pair.a + 1


@pytest.mark.parametrize("f, argument", [(append, [X]), (set_key, {"a": X}), (set_field, Pair(X))])
def test_a_changed_container_is_refused(f, argument):
    """The caller's container would not change, which must not go unnoticed."""
    with pytest.raises(TraceError, match="changes a container"):
        lw.jit(f)(argument)


def test_containers_that_only_the_function_sees_may_change():
    @lw.jit
    def f(*args, **kwargs):
        y = kwargs.pop("y")
        items = list(args)
        items.append(y)
        return sum(items)

    np.testing.assert_array_equal(f(X, X, y=X), 3 * X)

    def static(x, pair):
        pair.b += 1
        return x + pair.b

    class Counter:
        b = 1

    np.testing.assert_array_equal(lw.jit(static, static_argnames="pair")(X, Counter()), X + 2)


def generator(x):
    yield x


async def coroutine(x):
    return x


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("f", [generator, coroutine, lambda x: (y for y in x)])
def test_generators_are_refused(f):
    with pytest.raises(TraceError, match="would run after its trace"):
        lw.jit(f)(X)


class Adder:
    def __call__(self, x):
        return x + 1


def test_callables_without_a_name():
    np.testing.assert_array_equal(lw.jit(partial(lambda x, y: x + y, y=1))(X), X + 1)
    np.testing.assert_array_equal(lw.jit(Adder())(X), X + 1)
    np.testing.assert_array_equal(lw.jit(np.sin)(X), lw.jit(lambda x: np.sin(x))(X))
    assert "Adder" in lw.jit(Adder()).explain()


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.pad(x, -1), ShapeError),
        (lambda x: np.pad(x, -1, mode="edge"), ShapeError),
        (lambda x: x.astype(int, casting="safe"), DTypeError),
    ],
)
def test_refusals_as_numpy_makes_them(f, kind):
    with pytest.raises(kind) as caught:
        lw.jit(f)(X)
    assert "test_faults_semantics.py" in str(caught.value)


def test_types_are_no_arrays():
    f = lw.jit(lambda x: x + 1)
    with pytest.raises(ArgumentError, match=r"lower\(\) takes types"):
        f(lw.spec((3,)))
    with pytest.raises(ArgumentError, match="negative"):
        lw.spec((-3,))
    assert lw.spec(3) == lw.spec((3,))


def test_matrices_are_refused():
    with pytest.raises(DTypeError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        lw.jit(lambda x: x * x)(np.matrix([[1.0, 2.0], [3.0, 4.0]]))


def test_nan_to_num_of_bfloat16():
    x = np.array([np.inf, -np.inf, np.nan, 1], ml_dtypes.bfloat16)
    got = lw.jit(np.nan_to_num)(x)
    limit = ml_dtypes.finfo(ml_dtypes.bfloat16).max
    assert got.dtype == x.dtype
    assert got.tolist() == [limit, -limit, 0, 1]


@pytest.mark.parametrize("shape", [(10**12, 10**12), (10**6, 10**6)])
def test_arrays_larger_than_memory(shape):
    with pytest.raises(LoopwrightError) as caught:
        lw.jit(lambda x: np.zeros(shape) + x[0])(X)
    assert isinstance(caught.value, MemoryError | ValueError)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32"])
def test_rounding_integers_past_their_range_wraps(dtype):
    limits = np.iinfo(dtype)
    x = np.array([limits.max, limits.min, 15, 25], dtype)
    want = np.array([round(int(v) / 10) * 10 for v in x]).astype(dtype)
    np.testing.assert_array_equal(lw.jit(lambda v: np.round(v, -1))(x), want, strict=True)


def test_the_result_of_a_fortran_array_is_one():
    """NumPy keeps the order of axes, so that whether `reshape` copies is not known: refused."""

    def f(x):
        y = x * 2
        z = y.reshape(-1)
        z *= 0
        return y

    with pytest.raises(TraceError, match="memory layout"):
        lw.jit(f)(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
