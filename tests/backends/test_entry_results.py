"""The native entry: what a call returns, its temporary memory, its errors."""

import gc

import numpy as np
import pytest

from loopwright.backends.llvm import runtime
from loopwright.backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    FreshOutput,
    FreshResult,
    ObjectOutput,
    Signature,
    StaticParameter,
    Structure,
)
from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError

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


# ---- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_rank_zero_results_are_scalars(make, dtype):
    f = make("copy8", (ArrayParameter(dtype, (8,)),), (FreshResult(dtype, ()),)).callable
    answer = f(np.ones(8, dtype))
    assert type(answer) is dtype.type and answer == 1


@pytest.mark.parametrize(
    "value", [2.5, -0.0, float("nan"), float("inf"), 0, -(2**63), 2**63 - 1, True, False]
)
def test_python_numbers(make, value):
    dtype = np.dtype(type(value))
    parameters = (ArrayParameter(dtype, (8,)),)
    outputs = (FreshOutput(0, python=True), FreshOutput(0))
    answer, scalar = make("copy8", parameters, (FreshResult(dtype, ()),), outputs).callable(
        np.full(8, value)
    )
    assert type(answer) is type(value) and repr(answer) == repr(value)
    assert type(scalar) is dtype.type


def test_structures(make):
    marker = {"a": 1}
    outputs = (
        FreshOutput(0),
        ArgumentOutput(0),
        ObjectOutput(marker),
        FreshOutput(0),
        ObjectOutput(None),
    )
    x = np.arange(2, dtype=F4)
    for structure, kind in ((Structure.TUPLE, tuple), (Structure.LIST, list)):
        f = make("copy8", (ArrayParameter(F4, (2,)),), (FreshResult(F4, (2,)),), outputs, structure)
        answer = f.callable(x)
        assert type(answer) is kind and len(answer) == 5
        assert (
            answer[0] is answer[3] and answer[1] is x and answer[2] is marker and answer[4] is None
        )
        np.testing.assert_array_equal(answer[0], x)
    for structure, empty in ((Structure.TUPLE, ()), (Structure.LIST, [])):
        assert make("nothing", (), (), (), structure).callable() == empty
    one = make("nothing", (), (), (ObjectOutput(None),), Structure.TUPLE)
    assert one.callable() == (None,)


def test_large_results_come_from_the_pool(make):
    runtime.trim()
    n = 1 << 20
    f = make("nothing", (), (FreshResult(F4, (n,)),)).callable
    answer = f()
    address = answer.ctypes.data
    assert address % (1 << 21) == 0
    assert answer.flags.c_contiguous and answer.flags.writeable and answer.flags.aligned
    view = answer[5:]
    del answer
    gc.collect()
    assert runtime.pool_bytes() == 0
    view[:] = 1
    del view
    assert runtime.pool_bytes() == 4 * n
    assert f().ctypes.data == address


@pytest.mark.parametrize("shape", [(16383,), (16384,), (128, 129), (1, 1, 20000, 1), (0, 1 << 40)])
def test_shapes_around_the_border(make, shape):
    answer = make("nothing", (), (FreshResult(F4, shape),)).callable()
    assert answer.shape == shape and answer.flags.c_contiguous
    answer[...] = 3
    assert (answer == 3).all()


def test_result_larger_than_memory(make):
    f = make("nothing", (), (FreshResult(F4, (2,)), FreshResult(F4, (1 << 43,))), number=5).callable
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"\(5, -1\)"):
            f()
    with pytest.raises(RuntimeError, match=r"\(0, -1\)"):
        make("nothing", (), (FreshResult(F4, (1 << 59,)),)).callable()


# ---- arena and constants ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 64, 8192, 8193, 70_000, 3_000_000])
def test_arena_is_aligned_and_writable(make, size):
    parameters = (ArrayParameter(np.dtype(np.int64), ()),)
    f = make("fill", parameters, (), (ObjectOutput(None),), arena_bytes=size).callable
    assert f(np.array(size)) is None
    results = (FreshResult(np.dtype(np.int64), (4,)),)
    addresses = make("addresses", (VECTOR, VECTOR), results, arena_bytes=size).callable
    a, b = vector(), vector()
    found = addresses(a, b)
    assert found[:2].tolist() == [a.ctypes.data, b.ctypes.data]
    assert found[2] == found.ctypes.data and found[3] % 64 == 0 and found[3]


def test_no_arena_is_null_and_constants_come_last(make):
    target = np.zeros(4, np.int64)
    f = make(
        "addresses", (VECTOR,), (FreshResult(F4, (2,)),), constants=(target.ctypes.data,)
    ).callable
    a = vector()
    answer = f(a)
    assert target.tolist() == [a.ctypes.data, answer.ctypes.data, target.ctypes.data, 0]


def test_arena_larger_than_memory(make):
    f = make("nothing", (), (FreshResult(F4, (2,)),), arena_bytes=1 << 45).callable
    with pytest.raises(RuntimeError, match="-1"):
        f()


# ---- errors ----------------------------------------------------------------------------------


def test_status_raises_and_the_next_call_works(make):
    f = make("status", (FLAG,), (FreshResult(F4, (3,)),), number=12).callable
    for status in (1, 4097, -1, 2**31 - 1):
        with pytest.raises(RuntimeError) as caught:
            f(np.array(status, np.int32))
        assert caught.value.args == (12, status)
        assert f(np.array(0, np.int32)).shape == (3,)


def test_raiser_that_raises_nothing(plans, new_entry):
    made = new_entry(raiser=lambda number, status: None)
    made.add(Signature((FLAG,), (), (ObjectOutput(None),), Structure.SINGLE, plans["status"]))
    with pytest.raises(SystemError, match="no error"):
        made.callable(np.array(3, np.int32))


def test_exception_in_the_slow_path_passes(new_entry):
    def bad(*args):
        raise KeyError("x")

    with pytest.raises(KeyError):
        new_entry(slow=bad).callable(1)


def test_signatures_that_make_no_sense_are_refused():
    def build(**changes):
        fields = dict(parameters=(VECTOR,), fresh=(), outputs=(), structure=Structure.TUPLE, plan=1)
        Signature(**(fields | changes))

    build()
    for changes in (
        dict(structure=Structure.SINGLE),
        dict(outputs=(FreshOutput(0),)),
        dict(outputs=(ArgumentOutput(1),)),
        dict(outputs=(FreshOutput(0, True),), fresh=(FreshResult(F4, ()),)),
        dict(outputs=(FreshOutput(0, True),), fresh=(FreshResult(np.dtype(float), (1,)),)),
        dict(parameters=(VECTOR, ArrayParameter(F4, (8,), alias=1))),
        dict(parameters=(StaticParameter(1), ArrayParameter(F4, (8,), alias=0))),
    ):
        with pytest.raises(InternalError):
            build(**changes)
