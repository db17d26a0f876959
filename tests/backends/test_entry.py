"""The native entry: chain of signatures, lifetimes, threads, native callables."""

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

from loopwright.backends.llvm.native_callable import NativeCallable
from loopwright.backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    FreshOutput,
    FreshResult,
    ObjectOutput,
    PythonParameter,
    Signature,
    StaticParameter,
    Structure,
)

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


def test_eight_signatures_and_the_least_recent_goes(plans, new_entry):
    made = new_entry()
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


@given(calls=st.lists(st.integers(0, 11), max_size=60))
@settings(max_examples=50, deadline=None)
def test_chain_is_least_recently_used(plans, new_entry, calls):
    made = new_entry()
    model = []
    for n in calls:
        answer = made.callable(np.zeros(n, F4))
        assert is_slow(answer) == (n not in model)
        if n in model:
            assert answer == n
            model.remove(n)
        else:
            made.add(of_length(plans, n))
        model.insert(0, n)
        del model[8:]


def test_more_constants_and_results_in_a_later_signature(plans, new_entry):
    made = new_entry()
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
            except RuntimeError:
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


def test_dropped_function_frees_its_library(new_entry, load_plans):
    library = load_plans()
    made = new_entry()
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


def test_cycle_through_the_slow_path_is_collected(plans, new_entry):
    class Function:
        def __init__(self):
            self.entry = new_entry(slow=self.slow)
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


def test_signature_removed_while_it_runs(new_entry, load_plans):
    made = new_entry()
    library = load_plans()
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
        with pytest.raises(RuntimeError, match="9"):
            f(flag)
    thread.join()


def test_threads_call_and_add_at_once(plans, new_entry):
    made = new_entry()
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


def test_slow_path_may_call_the_entry_again(plans, new_entry):
    def compile_then_call(array):
        made.add(of_length(plans, len(array)))
        return made.callable(array), "first"

    made = new_entry(slow=compile_then_call)
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
