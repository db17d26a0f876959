"""Jitted functions among threads and processes, and their end."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import numpy as np

import loopwright as lw

f32 = np.float32


def test_first_calls_from_many_threads_compile_once():
    traced = []

    @lw.jit
    def f(x):
        traced.append(1)
        return x * 2 + 1

    x = np.arange(10.0)
    results = []
    start = threading.Barrier(8)

    def call():
        start.wait()
        results.append(f(x))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(traced) == 1 and len(results) == 8
    for y in results:
        np.testing.assert_array_equal(y, x * 2 + 1)


def test_other_threads_run_while_a_kernel_does():
    @lw.jit
    def slow(x):
        for _ in range(30):
            x = np.sin(x) + np.cos(x)
        return x

    x = np.ones(4_000_000)
    slow(x)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)

    watcher = threading.Thread(target=tick)
    watcher.start()
    before = len(ticks)
    slow(x)
    during = len(ticks) - before
    done.set()
    watcher.join()
    assert during > 100


def test_a_forked_child_can_call_and_compile():
    @lw.jit
    def f(x):
        return (x * 2).sum()

    big = np.ones(1_000_000)
    assert f(big) == 2_000_000
    child = os.fork()
    if not child:
        ok = f(big) == 2_000_000 and f(np.ones(7, f32)) == 14
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_function_is_freed_with_its_code():
    @lw.jit
    def f(x):
        return x + 41

    f(np.ones(3))
    library = weakref.ref(f.specialisations[0].executable)
    del f
    gc.collect()
    assert library() is None
