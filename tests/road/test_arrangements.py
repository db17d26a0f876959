"""Arrays in every arrangement of memory, and those that cannot be compiled."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw


def arrangements(x):
    """The same values in every arrangement of memory that a user may have."""
    strided = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    strided[::2, ::3] = x
    packed = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    packed[...] = x
    record = np.zeros(x.shape, [("pad", np.uint8), ("x", x.dtype)])
    record["x"] = x
    return {
        "contiguous": x.copy(),
        "fortran": np.asfortranarray(x),
        "strided": strided[::2, ::3],
        "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "misaligned": packed,
        "odd strides": record["x"],
        "byte-swapped": x.astype(x.dtype.newbyteorder()),
        "broadcast": np.broadcast_to(x[:1], x.shape) if (x == x[:1]).all() else x,
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.bool_])
def test_every_arrangement_of_memory(dtype):
    @lw.jit
    def f(x):
        return x[1:] | x[:-1] if x.dtype == bool else x[1:] * x[:-1], x.T

    x = (np.arange(35).reshape(5, 7) % 11).astype(dtype)
    expected = f.__wrapped__(x)
    for name, array in arrangements(x).items():
        for _ in range(2):
            for got, want in zip(f(array), expected, strict=True):
                np.testing.assert_array_equal(got, want, err_msg=name)


@pytest.mark.parametrize("name", ["fortran", "strided", "reversed", "misaligned", "byte-swapped"])
def test_writing_into_every_arrangement(name):
    @lw.jit
    def f(x):
        x[1:, ::2] *= 2

    x = np.arange(35.0).reshape(5, 7)
    expected = x.copy()
    expected[1:, ::2] *= 2
    array = arrangements(x)[name]
    f(array)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2)])
def test_empty_and_rank_0(shape):
    @lw.jit
    def f(x):
        return x + 1, x.sum()

    x = np.ones(shape)
    y, total = f(x)
    assert np.shape(y) == shape and total == x.sum()


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([1j]),
        np.array(["2026-01-01"], "M8[D]"),
        np.zeros(2, [("a", "f4")]),
        np.ma.masked_array([1.0, 2.0], [True, False]),
    ],
    ids=["object", "string", "complex", "datetime", "record", "masked"],
)
def test_arrays_that_cannot_be_compiled(array):
    @lw.jit
    def f(x):
        return x + x

    with pytest.raises(lw.errors.DTypeError):
        f(array)
    assert f(np.ones(1))[0] == 2


def test_results_have_the_layout_that_numpy_gives_them():
    @lw.jit
    def f(x, y):
        return (
            x.T + 1,
            np.where(x.T > 0, x.T, y.T),
            x + 1,
            np.transpose(x[..., None] * 2, (2, 1, 0)),
        )

    x, y = np.arange(-6.0, 6.0).reshape(3, 4), np.ones((3, 4))
    big = np.arange(30_000, dtype=np.float32).reshape(100, 300)
    for args in ((x, y), (big, big)):
        for _ in range(2):
            for got, want in zip(f(*args), f.__wrapped__(*args), strict=True):
                np.testing.assert_array_equal(got, want)
                assert got.strides == want.strides and got.flags.writeable
