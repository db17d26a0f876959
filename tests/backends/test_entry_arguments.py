"""The native entry: which calls it takes and which it leaves to the slow path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    FreshResult,
    PythonParameter,
    ScalarParameter,
    StaticParameter,
)
from loopwright.ir import dtypes

F4 = np.dtype(np.float32)
VECTOR = ArrayParameter(F4, (8,))
FLAG = ArrayParameter(np.dtype(np.int32), ())


@pytest.fixture
def add(make):
    return make("add", (VECTOR, VECTOR), (FreshResult(F4, (8,)),), names=("a", "b"))


def vector(start=0.0):
    return np.arange(8, dtype=F4) + F4.type(start)


def is_slow(answer):
    return isinstance(answer, tuple) and answer[0] == "slow"


# ---- arguments -------------------------------------------------------------------------------


def test_hit_by_position_and_name(add):
    f, a, b = add.callable, vector(), vector(5)
    for answer in (f(a, b), f(a, b=b), f(b=b, a=a), f(*(a,), **{"b": b})):
        np.testing.assert_array_equal(answer, a + b)
        assert answer.dtype == F4 and answer.flags.owndata and answer.flags.writeable
    assert f.__name__ == "function"


def test_wrong_calls_reach_the_slow_path_as_they_are(add):
    f, a = add.callable, vector()
    for args, kwargs in [
        ((), {}),
        ((a,), {}),
        ((a, a, a), {}),
        ((a,), {"c": a}),
        ((a, a), {"b": a}),
        ((), {"a": a}),
        ((a, None), {}),
        ((a, [1.0] * 8), {}),
        ((a, 1.0), {}),
        ((a, object()), {}),
    ]:
        assert f(*args, **kwargs) == ("slow", args, kwargs)


def test_arrays_that_do_not_fit(add):
    f, a = add.callable, vector()

    class Subclass(np.ndarray):
        pass

    bytes_ = np.zeros(40, np.uint8)
    misaligned = bytes_[1:33].view(F4)
    others = [
        a[:7],
        a.reshape(2, 4),
        a.reshape(8, 1),
        np.zeros(16, F4)[::2],
        a[::-1],
        a.astype(np.float64),
        a.astype(np.int32),
        a.astype(">f4"),
        a.astype(object),
        np.array(["x"] * 8),
        a.view(Subclass),
        np.ma.array(a),
        misaligned,
        F4.type(1),
        np.zeros((), F4),
        np.zeros(8, [("x", F4)]),
    ]
    for other in others:
        assert is_slow(f(a, other)) and is_slow(f(other, a))
    assert not is_slow(f(a, a))


def test_equal_dtypes_that_are_other_objects_fit(make):
    f = make(
        "copy8",
        (ArrayParameter(np.dtype(np.int64), (1,)),),
        (FreshResult(np.dtype(np.int64), (1,)),),
    )
    value = np.array([7], np.dtype(np.int64, metadata={"x": 1}))
    assert value.dtype is not np.dtype(np.int64)
    assert f.callable(value)[0] == 7
    assert f.callable(np.array([8], np.longlong))[0] == 8
    assert is_slow(f.callable(np.array([8], np.uint64)))
    assert is_slow(f.callable(np.array([8], "m8[s]")))
    assert is_slow(f.callable(np.array([8], ">i8")))


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_all_dtypes(make, dtype):
    n = 8 // dtype.itemsize
    f = make("copy8", (ArrayParameter(dtype, (n,)),), (FreshResult(dtype, (n,)),)).callable
    value = np.ones(n, dtype)
    answer = f(value)
    assert answer.dtype == dtype and (answer == value).all()
    for other in dtypes.ALL:
        if other != dtype:
            assert is_slow(f(np.ones(n, other)))


def test_strides_of_single_elements_do_not_matter(make):
    f = make("copy8", (ArrayParameter(F4, (2, 1)),), (FreshResult(F4, (2, 1)),)).callable
    base = np.arange(6, dtype=F4).reshape(2, 3)
    odd = np.lib.stride_tricks.as_strided(base, (2, 1), (4, 400))
    assert not is_slow(f(odd)) and not is_slow(f(np.ones((2, 1), F4)))
    assert is_slow(f(base[:, :1]))


def test_strided_parameters(make):
    parameter = ArrayParameter(F4, (3, 1, 2), (-8, 99, 4))
    f = make("copy8", (parameter,), (FreshResult(F4, (2,)),)).callable
    base = np.arange(6, dtype=F4).reshape(3, 2)
    np.testing.assert_array_equal(f(base[::-1, None]), [4, 5])
    assert is_slow(f(base[:, None])) and is_slow(f(np.ones((3, 1, 2), F4)))


def test_empty_arrays_fit_whatever_their_strides(make):
    parameter = ArrayParameter(F4, (0, 3), (12, 4))
    f = make("nothing", (parameter,), (FreshResult(F4, (0, 3)),)).callable
    for value in (np.zeros((0, 3), F4), np.zeros((5, 6), F4)[5:, ::2], np.zeros((3, 0), F4).T):
        answer = f(value)
        assert answer.shape == (0, 3) and answer.dtype == F4
    assert is_slow(f(np.zeros((3, 0), F4)))


def test_rank_zero_array(make):
    f = make("copy8", (ArrayParameter(np.dtype(float), ()),), (FreshResult(np.dtype(float), (1,)),))
    assert f.callable(np.array(2.5))[0] == 2.5
    assert is_slow(f.callable(2.5)) and is_slow(f.callable(np.float64(2.5)))


def test_read_only_arrays(make, add):
    a = vector()
    a.flags.writeable = False
    assert not is_slow(add.callable(a, a))
    f = make("increment", (ArrayParameter(F4, (8,), writable=True),), (), (ArgumentOutput(0),))
    assert is_slow(f.callable(a))
    b = vector()
    assert f.callable(b) is b and b[0] == 1


@pytest.fixture(scope="session")
def python_scalar(make):
    """Makes a function that returns its Python scalar in an array."""

    def python_scalar(kind, dtype):
        result = FreshResult(np.dtype(dtype), (8 // np.dtype(dtype).itemsize,))
        return make("copy8", (PythonParameter(kind),), (result,)).callable

    return python_scalar


@given(value=st.integers(-(2**70), 2**70))
@settings(max_examples=200, deadline=None)
def test_python_ints(python_scalar, value):
    f = python_scalar(int, np.int64)
    if -(2**63) <= value < 2**63:
        assert f(value)[0] == value
    else:
        assert is_slow(f(value))


@given(value=st.floats())
@settings(max_examples=100, deadline=None)
def test_python_floats(python_scalar, value):
    np.testing.assert_array_equal(python_scalar(float, np.float64)(value)[0], value)


def test_python_scalars_by_exact_type(python_scalar):
    as_int = python_scalar(int, np.int64)
    as_float = python_scalar(float, np.float64)
    as_bool = python_scalar(bool, np.bool_)

    class MyInt(int):
        pass

    assert as_bool(True)[0] and not as_bool(False)[0]
    for f, wrong in [
        (as_int, (True, 1.0, np.int64(1), MyInt(1), None, "1")),
        (as_float, (True, 1, np.float64(1), np.float32(1), 1j)),
        (as_bool, (1, 0, np.True_, None, 0.0)),
    ]:
        for value in wrong:
            assert is_slow(f(value))


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_numpy_scalars_by_exact_type(make, dtype):
    f = make("copy8", (ScalarParameter(dtype),), (FreshResult(dtype, (8 // dtype.itemsize,)),))
    value = dtype.type(1)
    assert f.callable(value)[0] == value
    for other in dtypes.ALL:
        if other != dtype:
            assert is_slow(f.callable(other.type(1)))
    assert is_slow(f.callable(1)) and is_slow(f.callable(1.0)) and is_slow(f.callable(True))


def test_static_arguments_and_defaults(make):
    mode = ("same", 1)
    f = make(
        "copy8",
        (ArrayParameter(F4, (2,)), StaticParameter(mode), StaticParameter(None)),
        (FreshResult(F4, (2,)),),
        names=("x", "mode", "axis"),
        defaults={"mode": mode, "axis": None},
    ).callable
    x = np.ones(2, F4)
    for hit in (f(x), f(x, mode), f(x, mode, None), f(x=x), f(x, axis=None), f(axis=None, x=x)):
        assert not is_slow(hit)
    for miss in (f(x, ("same", [1])), f(x, mode, 0), f(x, axis=1), f()):
        assert is_slow(miss)


def test_positional_only_and_keyword_only(make):
    f = make(
        "add",
        (VECTOR, VECTOR),
        (FreshResult(F4, (8,)),),
        names=("a", "b"),
        positional=1,
        positional_only=1,
    ).callable
    a = vector()
    assert not is_slow(f(a, b=a))
    assert is_slow(f(a, a)) and is_slow(f(a=a, b=a))


def test_no_parameters(make):
    f = make("nothing", (), (FreshResult(F4, (3,)),)).callable
    assert f().shape == (3,)
    assert is_slow(f(1)) and is_slow(f(a=1))


# ---- overlap ---------------------------------------------------------------------------------


@pytest.fixture
def writes(make):
    written = ArrayParameter(F4, (8,), writable=True)
    return make("increment", (written, VECTOR), (), (ArgumentOutput(0),)).callable


def test_overlap_of_a_written_argument_is_left_to_the_slow_path(writes):
    base = np.zeros(32, F4)
    a = base[8:16]
    for first in (*range(1, 8), *range(9, 16)):
        assert is_slow(writes(a, base[first : first + 8]))
    assert is_slow(writes(a, a)) and is_slow(writes(a, a[:]))
    assert not is_slow(writes(a, base[:8])) and not is_slow(writes(a, base[16:24]))
    assert a[0] == 2


def test_overlap_of_arrays_only_read_does_not_matter(add):
    base = np.zeros(12, F4)
    assert not is_slow(add.callable(base[:8], base[4:]))


def test_overlap_with_negative_strides(make):
    written = ArrayParameter(F4, (4,), (-8,), writable=True)
    f = make("increment", (written, ArrayParameter(F4, (2,))), (), (ArgumentOutput(0),)).callable
    base = np.zeros(20, F4)
    a = base[6:14:2][::-1]
    assert a.strides == (-8,)
    for first in range(18):
        touches = first < 13 and first + 2 > 6
        assert is_slow(f(a, base[first : first + 2])) == touches


def test_overlap_is_checked_between_all_written_ones(make):
    written = ArrayParameter(F4, (2,), writable=True)
    f = make(
        "increment", (written, StaticParameter(None), written), (), (ArgumentOutput(0),)
    ).callable
    base = np.zeros(5, F4)
    assert is_slow(f(base[:2], None, base[1:3])) and not is_slow(f(base[:2], None, base[2:4]))


def test_empty_arrays_overlap_nothing(make):
    written = ArrayParameter(F4, (8,), writable=True)
    f = make("increment", (written, ArrayParameter(F4, (0,))), (), (ArgumentOutput(0),)).callable
    a = vector()
    assert f(a, a[4:4]) is a


def test_alias_must_be_the_same_memory(make):
    written = ArrayParameter(F4, (8,), writable=True)
    same = ArrayParameter(F4, (8,), alias=0)
    f = make("increment", (written, same), (), (ArgumentOutput(1),)).callable
    a = vector()
    assert f(a, a) is a and a[0] == 1
    view = a[:]
    assert f(a, view) is view
    assert is_slow(f(a, vector()))


def test_overlap_can_be_left_to_the_caller(make):
    written = ArrayParameter(F4, (8,), writable=True)
    f = make("increment", (written, VECTOR), (), (ArgumentOutput(0),), check_overlap=False).callable
    a = vector()
    assert f(a, a) is a
