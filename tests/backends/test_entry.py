"""The native entry: which calls it takes, what it returns, what it leaves to the slow path."""

import gc
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.backends.llvm import entry, host, runtime
from loopwright.backends.llvm.native_callable import NativeCallable
from loopwright.backends.llvm.orc import Library
from loopwright.backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    FreshOutput,
    FreshResult,
    ObjectOutput,
    PythonParameter,
    ScalarParameter,
    Signature,
    StaticParameter,
    Structure,
)
from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.target import Target

PLANS = """
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @usleep(i32)

define internal ptr @arg(ptr %args, i64 %k) {
  %at = getelementptr ptr, ptr %args, i64 %k
  %p = load ptr, ptr %at
  ret ptr %p
}

; args: a result; copies 8 bytes
define i32 @copy8(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %r = call ptr @arg(ptr %args, i64 1)
  %c = call ptr @memcpy(ptr %r, ptr %a, i64 8)
  ret i32 0
}

; args: a b result, all float32[8]
define i32 @add(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %b = call ptr @arg(ptr %args, i64 1)
  %r = call ptr @arg(ptr %args, i64 2)
  %x = load <8 x float>, ptr %a, align 4
  %y = load <8 x float>, ptr %b, align 4
  %z = fadd <8 x float> %x, %y
  store <8 x float> %z, ptr %r, align 4
  ret i32 0
}

; args: a b c; writes the three addresses and the arena into c
define i32 @addresses(ptr %args, ptr %arena) {
  %c = call ptr @arg(ptr %args, i64 2)
  %m = call ptr @memcpy(ptr %c, ptr %args, i64 24)
  %end = getelementptr i8, ptr %c, i64 24
  store ptr %arena, ptr %end
  ret i32 0
}

; args: a; adds one to its first float32
define i32 @increment(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %x = load float, ptr %a
  %y = fadd float %x, 1.0
  store float %y, ptr %a
  ret i32 0
}

; args: status
define i32 @status(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %s = load i32, ptr %a
  ret i32 %s
}

define i32 @nothing(ptr %args, ptr %arena) {
  ret i32 0
}

define i32 @sleep(ptr %args, ptr %arena) {
  %s = call i32 @usleep(i32 200000)
  ret i32 0
}

; args: int32 flag; sets it to 1 and waits until it is 2, for half a second at most (status 9)
define i32 @meet(ptr %args, ptr %arena) {
entry:
  %flag = call ptr @arg(ptr %args, i64 0)
  store atomic i32 1, ptr %flag seq_cst, align 4
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %next, %wait ]
  %now = load atomic i32, ptr %flag seq_cst, align 4
  %met = icmp eq i32 %now, 2
  br i1 %met, label %good, label %wait
wait:
  %s = call i32 @usleep(i32 1000)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, 500
  br i1 %more, label %look, label %late
good:
  ret i32 0
late:
  ret i32 9
}

; fills the arena with ones
define i32 @fill(ptr %args, ptr %arena) {
entry:
  %n_at = call ptr @arg(ptr %args, i64 0)
  %n = load i64, ptr %n_at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %arena, i64 %i
  store i8 1, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""

NAMES = ("copy8", "add", "addresses", "increment", "status", "nothing", "sleep", "fill", "meet")
F4 = np.dtype(np.float32)
VECTOR = ArrayParameter(F4, (8,))
FLAG = ArrayParameter(np.dtype(np.int32), ())


class Status(Exception):
    pass


def raise_status(number, status):
    raise Status(number, status)


def slow(*args, **kwargs):
    return "slow", args, kwargs


@pytest.fixture(scope="module")
def plans():
    return Library([host.compile_object(PLANS, Target.host())], NAMES)


@pytest.fixture
def make(plans):
    """Makes an entry with one signature."""

    def make(plan, parameters, fresh=(), outputs=None, structure=None, names=None, **more):
        options = {
            k: more.pop(k) for k in ("defaults", "positional", "positional_only") if k in more
        }
        if outputs is None:
            outputs = tuple(FreshOutput(n) for n in range(len(fresh)))
        if structure is None:
            structure = Structure.SINGLE if len(outputs) == 1 else Structure.TUPLE
        names = names or [f"p{n}" for n in range(len(parameters))]
        made = entry.Entry("function", names, slow, raise_status, **options)
        made.add(
            Signature(
                tuple(parameters),
                tuple(fresh),
                tuple(outputs),
                structure,
                plans[plan],
                keep=plans,
                **more,
            )
        )
        return made

    return make


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


@given(st.integers(-(2**70), 2**70))
@settings(max_examples=200, deadline=None)
def test_python_ints(value):
    f = _python_scalar(int, np.int64)
    if -(2**63) <= value < 2**63:
        assert f(value)[0] == value
    else:
        assert is_slow(f(value))


@given(st.floats())
@settings(max_examples=100, deadline=None)
def test_python_floats(value):
    np.testing.assert_array_equal(_python_scalar(float, np.float64)(value)[0], value)


def _python_scalar(kind, dtype):
    library = Library([host.compile_object(PLANS, Target.host(), level=0)], ["copy8"])
    made = entry.Entry("function", ("p",), slow, raise_status)
    result = (FreshResult(np.dtype(dtype), (8 // np.dtype(dtype).itemsize,)),)
    made.add(
        Signature(
            (PythonParameter(kind),),
            result,
            (FreshOutput(0),),
            Structure.SINGLE,
            library["copy8"],
            keep=library,
        )
    )
    return made.callable


def test_python_scalars_by_exact_type():
    as_int = _python_scalar(int, np.int64)
    as_float = _python_scalar(float, np.float64)
    as_bool = _python_scalar(bool, np.bool_)

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


# ---- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_rank_zero_results_are_scalars(make, dtype):
    f = make("copy8", (ArrayParameter(dtype, (8,)),), (FreshResult(dtype, ()),)).callable
    answer = f(np.ones(8, dtype))
    assert type(answer) is dtype.type and answer == 1


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
        with pytest.raises(Status, match=r"\(5, -1\)"):
            f()
    with pytest.raises(Status, match=r"\(0, -1\)"):
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
    with pytest.raises(Status, match="-1"):
        f()


# ---- errors ----------------------------------------------------------------------------------


def test_status_raises_and_the_next_call_works(make):
    f = make("status", (FLAG,), (FreshResult(F4, (3,)),), number=12).callable
    for status in (1, 4097, -1, 2**31 - 1):
        with pytest.raises(Status) as caught:
            f(np.array(status, np.int32))
        assert caught.value.args == (12, status)
        assert f(np.array(0, np.int32)).shape == (3,)


def test_raiser_that_raises_nothing(plans):
    made = entry.Entry("function", ("p",), slow, lambda number, status: None)
    made.add(Signature((FLAG,), (), (ObjectOutput(None),), Structure.SINGLE, plans["status"]))
    with pytest.raises(SystemError, match="no error"):
        made.callable(np.array(3, np.int32))


def test_exception_in_the_slow_path_passes():
    def bad(*args):
        raise KeyError("x")

    with pytest.raises(KeyError):
        entry.Entry("function", ("p",), bad, raise_status).callable(1)


def test_signatures_that_make_no_sense_are_refused(plans):
    def build(**changes):
        fields = dict(parameters=(VECTOR,), fresh=(), outputs=(), structure=Structure.TUPLE, plan=1)
        Signature(**(fields | changes))

    build()
    for changes in (
        dict(structure=Structure.SINGLE),
        dict(outputs=(FreshOutput(0),)),
        dict(outputs=(ArgumentOutput(1),)),
        dict(parameters=(VECTOR, ArrayParameter(F4, (8,), alias=1))),
        dict(parameters=(StaticParameter(1), ArrayParameter(F4, (8,), alias=0))),
    ):
        with pytest.raises(InternalError):
            build(**changes)


# ---- the chain -------------------------------------------------------------------------------


def of_length(plans, n):
    return Signature(
        (ArrayParameter(F4, (n,)),),
        (),
        (ObjectOutput(n),),
        Structure.SINGLE,
        plans["nothing"],
        keep=plans,
    )


def test_eight_signatures_and_the_least_recent_goes(plans):
    made = entry.Entry("function", ("p",), slow, raise_status)
    arrays = [np.zeros(n, F4) for n in range(20)]
    for n in range(8):
        made.add(of_length(plans, n))
    for n in (*range(8), *range(7, -1, -1), 3, 3, 0):
        assert made.callable(arrays[n]) == n
    made.add(of_length(plans, 8))
    assert is_slow(made.callable(arrays[7]))
    assert len(made) == 8
    for n in (8, 0, 3, 1, 2, 4, 5, 6):
        assert made.callable(arrays[n]) == n
    made.clear()
    assert is_slow(made.callable(arrays[0])) and len(made) == 0
    made.add(of_length(plans, 2))
    assert made.callable(arrays[2]) == 2


@given(st.lists(st.integers(0, 11), max_size=60))
@settings(max_examples=50, deadline=None)
def test_chain_is_least_recently_used(calls):
    library = _nothing()
    made = entry.Entry("function", ("p",), slow, raise_status)
    model = []
    for n in calls:
        answer = made.callable(np.zeros(n, F4))
        assert is_slow(answer) == (n not in model)
        if n in model:
            assert answer == n
            model.remove(n)
        else:
            made.add(of_length(library, n))
        model.insert(0, n)
        del model[8:]


_LIBRARIES = []


def _nothing():
    if not _LIBRARIES:
        _LIBRARIES.append(Library([host.compile_object(PLANS, Target.host())], NAMES))
    return _LIBRARIES[0]


def test_more_constants_and_results_in_a_later_signature(plans):
    made = entry.Entry("function", ("p",), slow, raise_status)
    made.add(of_length(plans, 1))
    many = Signature(
        (ArrayParameter(F4, (2,)),),
        tuple(FreshResult(F4, (n,)) for n in range(300)),
        tuple(FreshOutput(n) for n in range(300)),
        Structure.TUPLE,
        plans["nothing"],
        constants=tuple(range(2000)),
        keep=plans,
    )
    made.add(many)
    assert [len(a) for a in made.callable(np.zeros(2, F4))] == list(range(300))
    assert made.callable(np.zeros(1, F4)) == 1


# ---- life and death --------------------------------------------------------------------------


def test_calls_leave_reference_counts_as_they_were(add, make):
    a, b = vector(), vector()
    marker = object()
    outputs = (FreshOutput(0), ArgumentOutput(0), ObjectOutput(marker), FreshOutput(1))
    fresh = (FreshResult(F4, (2,)), FreshResult(np.dtype(float), ()), FreshResult(F4, (20000,)))
    many = make("copy8", (VECTOR, PythonParameter(float)), fresh, outputs, names=("x", "y"))
    watched = (
        a,
        b,
        marker,
        F4,
        np.dtype(float),
        add.callable,
        many.callable,
        slow,
        None,
        np.ndarray,
    )
    failing = make("status", (FLAG,), fresh, outputs[:1]).callable
    one = np.array(1, np.int32)

    def calls():
        for _ in range(200):
            add.callable(a, b)
            add.callable(a, b=b)
            add.callable(a, None)
            many.callable(a, 0.5)
            many.callable(y=1.5, x=a)
            try:
                failing(one)
            except Status:
                pass

    calls()
    before = [sys.getrefcount(thing) for thing in watched]
    calls()
    after = [sys.getrefcount(thing) for thing in watched]
    assert all(abs(x - y) < 20 for x, y in zip(before, after, strict=True)), (before, after)


def test_memory_does_not_grow(make):
    fresh = (FreshResult(F4, (100,)), FreshResult(F4, (50_000,)), FreshResult(np.dtype(int), ()))
    f = make("copy8", (VECTOR,), fresh, arena_bytes=100_000).callable
    a = vector()

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(3000):
        f(a)
    before = resident()
    for _ in range(30_000):
        f(a)
    assert resident() - before < 4 << 20


def test_dropped_function_frees_its_library():
    library = Library([host.compile_object(PLANS, Target.host(), level=0)], NAMES)
    made = entry.Entry("function", ("p",), slow, raise_status)
    made.add(
        Signature(
            (VECTOR,),
            (FreshResult(F4, (2,)),),
            (FreshOutput(0),),
            Structure.SINGLE,
            library["copy8"],
            keep=library,
        )
    )
    f = made.callable
    gone = weakref.ref(library)
    del library, made
    gc.collect()
    assert gone() is not None and f(vector()).shape == (2,)
    del f
    assert gone() is None


def test_cycle_through_the_slow_path_is_collected(plans):
    class Function:
        def __init__(self):
            self.entry = entry.Entry("function", ("p",), self.slow, raise_status)
            self.callable = self.entry.callable
            self.entry.add(of_length(plans, 3))

        def slow(self, *args):
            return "slow"

    function = Function()
    assert function.callable(1) == "slow" and function.callable(np.zeros(3, F4)) == 3
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None


def test_signature_removed_while_it_runs(plans):
    made = entry.Entry("function", ("p",), slow, raise_status)
    library = Library([host.compile_object(PLANS, Target.host(), level=0)], NAMES)
    gone = weakref.ref(library)
    made.add(
        Signature(
            (FLAG,),
            (FreshResult(F4, (2,)),),
            (FreshOutput(0),),
            Structure.SINGLE,
            library["meet"],
            release_gil=True,
            keep=library,
        )
    )
    del library
    answers = []
    flag = np.array(0, np.int32)
    thread = threading.Thread(target=lambda: answers.append(made.callable(flag)))
    thread.start()
    while flag[()] == 0:
        time.sleep(0.001)
    made.clear()
    gc.collect()
    assert gone() is not None
    flag[...] = 2
    thread.join()
    assert answers[0].shape == (2,)
    assert gone() is None


# ---- threads, signals, fork --------------------------------------------------------------------


@pytest.mark.parametrize("release", [True, False])
def test_gil_is_released_only_where_asked(make, release):
    f = make("meet", (FLAG,), (), (ObjectOutput(None),), release_gil=release).callable
    flag = np.array(0, np.int32)

    def answer():
        while flag[()] == 0:
            time.sleep(0.001)
        flag[...] = 2

    thread = threading.Thread(target=answer)
    thread.start()
    if release:
        assert f(flag) is None
    else:
        with pytest.raises(Status, match="9"):
            f(flag)
    thread.join()


def test_threads_call_and_add_at_once(plans):
    made = entry.Entry("function", ("p",), slow, raise_status)
    arrays = [np.zeros(n, F4) for n in range(12)]
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in rng.integers(0, 12, 1500).tolist():
            answer = made.callable(arrays[n])
            if is_slow(answer):
                made.add(of_length(plans, n))
            elif answer != n:
                failures.append((n, answer))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert not failures


def test_slow_path_may_call_the_entry_again(plans):
    def compile_then_call(array):
        made.add(of_length(plans, len(array)))
        return made.callable(array), "first"

    made = entry.Entry("function", ("p",), compile_then_call, raise_status)
    assert made.callable(np.zeros(4, F4)) == (4, "first")
    assert made.callable(np.zeros(4, F4)) == 4


def test_keyboard_interrupt_comes_after_the_call(make):
    f = make("sleep", (), (FreshResult(F4, (2,)),), release_gil=True).callable
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        f()
        time.sleep(1)
    assert f().shape == (2,)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_calls_after_fork(add):
    a = vector()
    add.callable(a, a)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (add.callable(a, a) == a + a).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# ---- native callables --------------------------------------------------------------------------


class Function(NativeCallable):
    def __init__(self):
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return "python", args, kwargs


def test_callable_is_python_until_an_entry_is_attached(add):
    f, a = Function(), vector()
    assert f(a, b=a)[0] == "python" and f.calls == 1
    add.attach(f)
    np.testing.assert_array_equal(f(a, a), a + a)
    np.testing.assert_array_equal(f(a, b=a), a + a)
    np.testing.assert_array_equal(f(*[a], **{"b": a}), a + a)
    assert is_slow(f(a)) and is_slow(f(a, a, 1)) and f.calls == 1
    assert callable(f) and isinstance(f, Function)


def test_callable_as_a_method(make):
    class Model:
        run = Function()

    model, x = Model(), np.ones(2, F4)
    assert model.run(x) == ("python", (model, x), {})
    made = make(
        "copy8",
        (StaticParameter(model), ArrayParameter(F4, (2,))),
        (FreshResult(F4, (2,)),),
        names=("self", "x"),
    )
    made.attach(Model.run)
    for answer in (
        model.run(x),
        model.run(x=x),
        Model.run(model, x),
        (lambda run: run(x))(model.run),
    ):
        np.testing.assert_array_equal(answer, x)
    assert model.run.__self__ is model and model.run.__func__ is Model.run
    assert Model.run is Model.__dict__["run"]
    assert is_slow(Model().run(x))


def test_callable_in_a_cycle_is_collected(add):
    f = Function()
    f.me = f
    add.attach(f)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_subclass_of_a_callable(add):
    class Special(Function):
        pass

    f, a = Special(), vector()
    add.attach(f)
    np.testing.assert_array_equal(f(a, a), a + a)
    assert is_slow(f(1))
