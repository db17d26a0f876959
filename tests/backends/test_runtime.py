"""The native runtime: regions, scratch, block pool, fork, signals."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from loopwright.backends.llvm import host, runtime
from loopwright.backends.llvm.orc import Library
from loopwright.ir.target import Target

REGION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)

BODIES = """
declare i32 @lw_parallel_for(ptr, ptr, i64, i64)
declare ptr @lw_worker_scratch(i64)
declare i32 @usleep(i32)

; ctx: ptr marks (bytes), i64 fail_at, ptr workers (bytes)
%Ctx = type { ptr, i64, ptr }

; Adds one to marks[i] for each i; fails with status i + 1 at fail_at.
define i32 @mark(ptr %ctx, i64 %lo, i64 %hi, i32 %worker) {
entry:
  %marks = load ptr, ptr %ctx
  %fail_p = getelementptr %Ctx, ptr %ctx, i32 0, i32 1
  %fail_at = load i64, ptr %fail_p
  %workers_p = getelementptr %Ctx, ptr %ctx, i32 0, i32 2
  %workers = load ptr, ptr %workers_p
  %wide = zext i32 %worker to i64
  %seen = getelementptr i8, ptr %workers, i64 %wide
  store i8 1, ptr %seen
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %ok ]
  %p = getelementptr i8, ptr %marks, i64 %i
  %old = load i8, ptr %p
  %new = add i8 %old, 1
  store i8 %new, ptr %p
  %bad = icmp eq i64 %i, %fail_at
  br i1 %bad, label %fail, label %ok
fail:
  %code = trunc i64 %i to i32
  %status = add i32 %code, 1
  ret i32 %status
ok:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}

; As mark, and sleeps two milliseconds first.
define i32 @slow_mark(ptr %ctx, i64 %lo, i64 %hi, i32 %worker) {
  %s = call i32 @usleep(i32 2000)
  %r = call i32 @mark(ptr %ctx, i64 %lo, i64 %hi, i32 %worker)
  ret i32 %r
}

; Opens a region inside a region: marks rows of 16.
define i32 @nested(ptr %ctx, i64 %lo, i64 %hi, i32 %worker) {
  %marks = load ptr, ptr %ctx
  %inner = alloca %Ctx
  %row = mul i64 %lo, 16
  %at = getelementptr i8, ptr %marks, i64 %row
  store ptr %at, ptr %inner
  %fail_p = getelementptr %Ctx, ptr %inner, i32 0, i32 1
  store i64 -1, ptr %fail_p
  %workers_p = getelementptr %Ctx, ptr %ctx, i32 0, i32 2
  %workers = load ptr, ptr %workers_p
  %inner_workers_p = getelementptr %Ctx, ptr %inner, i32 0, i32 2
  store ptr %workers, ptr %inner_workers_p
  %rows = sub i64 %hi, %lo
  %count = mul i64 %rows, 16
  %r = call i32 @lw_parallel_for(ptr @mark, ptr %inner, i64 %count, i64 1)
  ret i32 %r
}

; Fills the thread's scratch with its worker number and finds it unchanged after a while.
define i32 @use_scratch(ptr %ctx, i64 %lo, i64 %hi, i32 %worker) {
entry:
  %mine = call ptr @lw_worker_scratch(i64 100000)
  %address = ptrtoint ptr %mine to i64
  %low_bits = and i64 %address, 63
  %crooked = icmp ne i64 %low_bits, 0
  br i1 %crooked, label %bad, label %fill
fill:
  store i32 %worker, ptr %mine
  %last = getelementptr i8, ptr %mine, i64 99996
  store i32 %worker, ptr %last
  %s = call i32 @usleep(i32 200)
  %a = load volatile i32, ptr %mine
  %b = load volatile i32, ptr %last
  %same_a = icmp eq i32 %a, %worker
  %same_b = icmp eq i32 %b, %worker
  %same = and i1 %same_a, %same_b
  br i1 %same, label %good, label %bad
good:
  %r = call i32 @mark(ptr %ctx, i64 %lo, i64 %hi, i32 %worker)
  ret i32 %r
bad:
  ret i32 7
}

define i32 @empty(ptr %ctx, i64 %lo, i64 %hi, i32 %worker) {
  ret i32 0
}
"""

NAMES = ("mark", "slow_mark", "nested", "use_scratch", "empty")


class Ctx(ctypes.Structure):
    _fields_ = (
        ("marks", ctypes.c_void_p),
        ("fail_at", ctypes.c_int64),
        ("workers", ctypes.c_void_p),
    )


@pytest.fixture(scope="module")
def bodies():
    return Library([host.compile_object(BODIES, Target.host())], NAMES, runtime.load().addresses)


@pytest.fixture(autouse=True)
def default_threads():
    yield
    runtime.set_threads(None)


def region(bodies, name, count, grain=1, fail_at=-1, rows=1, marks=None):
    """Runs a body over a region: (status, marks, workers that took part)."""
    if marks is None:
        marks = np.zeros(count * rows + 1, np.uint8)
    workers = np.zeros(2048, np.uint8)
    ctx = Ctx(marks.ctypes.data, fail_at, workers.ctypes.data)
    run = REGION(runtime.load().addresses["lw_parallel_for"])
    status = run(bodies[name], ctypes.addressof(ctx), count, grain)
    return status, marks[: count * rows], set(np.flatnonzero(workers).tolist())


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 11, 12, 13, 1000])
@pytest.mark.parametrize("grain", [0, 1, 4, 5000])
def test_every_iteration_runs_once(bodies, threads, count, grain):
    runtime.set_threads(threads)
    for _ in range(5):
        status, marks, workers = region(bodies, "mark", count, grain)
        assert status == 0
        assert (marks == 1).all()
        assert all(worker < threads for worker in workers)


def test_negative_count_runs_nothing(bodies):
    run = REGION(runtime.load().addresses["lw_parallel_for"])
    assert run(bodies["mark"], None, -3, 1) == 0


def test_many_small_regions(bodies):
    runtime.set_threads(4)
    for _ in range(3000):
        status, marks, _ = region(bodies, "mark", 37)
        assert status == 0 and (marks == 1).all()


def test_workers_take_part(bodies):
    runtime.set_threads(4)
    _, _, workers = region(bodies, "slow_mark", 64)
    assert len(workers) > 1


def test_one_thread_means_the_caller(bodies):
    runtime.set_threads(4)
    region(bodies, "slow_mark", 64)
    runtime.set_threads(1)
    assert region(bodies, "slow_mark", 8)[2] == {0}


def test_first_error_wins_and_stops_the_rest(bodies):
    runtime.set_threads(2)
    status, marks, _ = region(bodies, "slow_mark", 1200, fail_at=3)
    assert status == 4
    assert (marks == 0).any()
    status, marks, _ = region(bodies, "mark", 1200)
    assert status == 0 and (marks == 1).all()


def test_nested_regions_run_inline(bodies):
    runtime.set_threads(3)
    status, marks, _ = region(bodies, "nested", 100, rows=16)
    assert status == 0 and (marks == 1).all()


def test_error_of_a_nested_region_comes_out(bodies):
    assert region(bodies, "use_scratch", 50, fail_at=49)[0] == 50


def test_concurrent_callers(bodies):
    runtime.set_threads(3)
    failures = []

    def call():
        for _ in range(100):
            status, marks, _ = region(bodies, "mark", 301)
            if status or not (marks == 1).all():
                failures.append(status)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_scratch_belongs_to_one_thread(bodies):
    runtime.set_threads(4)
    status, marks, _ = region(bodies, "use_scratch", 64)
    assert status == 0 and (marks == 1).all()


def test_scratch_grows_and_is_freed_with_its_thread():
    scratch = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(
        runtime.load().addresses["lw_worker_scratch"]
    )
    runtime.trim()

    def call():
        for size in (1, 100_000, 5_000_000):
            address = scratch(size)
            assert address % 64 == 0
            ctypes.memset(address, 1, size)
        assert scratch(10) == address

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    for _ in range(100):
        if runtime.pool_bytes() >= 5_000_000:
            break
        time.sleep(0.01)
    assert runtime.pool_bytes() >= 5_000_000
    assert not scratch(1 << 60)


def test_workers_block_signals(bodies):
    runtime.set_threads(3)
    region(bodies, "slow_mark", 64)
    seen = []
    old = signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread()))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.01)
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert seen == [threading.main_thread()]
    blocked = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as file:
            mask = next(line for line in file if line.startswith("SigBlk"))
        blocked += int(mask.split()[1], 16) >> (signal.SIGINT - 1) & 1
    assert blocked >= 2


def in_child(work):
    """Runs work in a forked child and returns its exit status (-1: it hung)."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pool_works_after_fork(bodies):
    runtime.set_threads(3)
    region(bodies, "slow_mark", 64)

    def work():
        before = len(os.listdir("/proc/self/task"))
        status, marks, workers = region(bodies, "slow_mark", 64)
        return 0 if before == 1 and not status and (marks == 1).all() and len(workers) > 1 else 1

    assert in_child(work) == 0
    assert in_child(lambda: in_child(work)) == 0
    assert region(bodies, "mark", 64)[0] == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_a_region_runs(bodies):
    runtime.set_threads(3)
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            region(bodies, "slow_mark", 24)

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: region(bodies, "mark", 64)[0]) == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_leaves_the_parents_open_region_alone(bodies):
    runtime.set_threads(3)

    def attempt():
        marks = np.zeros(200, np.uint8)
        thread = threading.Thread(target=lambda: region(bodies, "slow_mark", 199, marks=marks))

        def work():
            before = marks.copy()
            if before[:199].all():
                return 2  # too late: the region was done
            statuses = [region(bodies, "slow_mark", 24)[0] for _ in range(10)]
            return 0 if not any(statuses) and (marks == before).all() else 1

        thread.start()
        while not marks.any():
            pass
        code = in_child(work)
        thread.join()
        return code

    assert next(code for code in iter(attempt, None) if code != 2) == 0


def test_process_ends_while_workers_spin():
    code = (
        "from loopwright.backends.llvm import runtime, host, orc\n"
        "from loopwright.ir.target import Target\n"
        "import ctypes\n"
        "text = 'define i32 @e(ptr %c, i64 %l, i64 %h, i32 %w) {\\n ret i32 0\\n}\\n'\n"
        "lib = orc.Library([host.compile_object(text, Target.host())], ['e'])\n"
        "rt = runtime.load(); rt.set_threads(4)\n"
        "run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,"
        " ctypes.c_int64, ctypes.c_int64)(rt.addresses['lw_parallel_for'])\n"
        "for _ in range(100): assert run(lib['e'], None, 100, 1) == 0\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---- block pool ------------------------------------------------------------------------------


@pytest.fixture
def pool():
    addresses = runtime.load().addresses
    runtime.trim()
    yield (
        ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(addresses["lw_block_alloc"]),
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["lw_block_free"]),
    )
    runtime.load().pool_limit(1 << 30)
    runtime.trim()


SIZES = [0, 1, 63, 64, 4096, 65535, 65536, 65537, 81920, 81921, 1 << 20, (1 << 21) - 1, 1 << 21]
SIZES += [(1 << 21) + 1, 2621440, 2621441, 10_000_000, 1 << 25]


@pytest.mark.parametrize("size", SIZES)
def test_block_is_aligned_writable_and_apart(pool, size):
    alloc, free = pool
    blocks = [alloc(size) for _ in range(3)]
    for number, block in enumerate(blocks):
        assert block % (1 << 21 if size >= 1 << 21 else 64) == 0
        ctypes.memset(block, number, size)
    for number, block in enumerate(blocks):
        assert ctypes.string_at(block, size) == bytes([number]) * size
        free(block)


@pytest.mark.parametrize("size", [65536, 100_000, 1 << 20, 1 << 21, 9_999_999])
def test_large_block_is_kept_and_reused(pool, size):
    alloc, free = pool
    first = alloc(size)
    free(first)
    assert size <= runtime.pool_bytes() <= size * 5 // 4
    assert alloc(size) == first
    assert runtime.pool_bytes() == 0
    free(first)
    runtime.trim()
    assert runtime.pool_bytes() == 0


def test_size_classes_waste_at_most_a_quarter(pool):
    alloc, free = pool
    rng = np.random.default_rng(0)
    for size in (65536 * 2 ** rng.uniform(0, 10, 200)).astype(int).tolist():
        block = alloc(size)
        free(block)
        assert size <= runtime.pool_bytes() <= size * 1.25 + 1
        runtime.trim()


def test_pool_keeps_no_more_than_its_limit(pool):
    alloc, free = pool
    runtime.load().pool_limit(3 << 20)
    blocks = [alloc(1 << 20) for _ in range(8)]
    for block in blocks:
        free(block)
    assert runtime.pool_bytes() == 3 << 20


def test_huge_size_gives_null(pool):
    alloc, free = pool
    assert not alloc(1 << 63)
    assert not alloc((1 << 64) - 1)
    assert not alloc(1 << 46)
    free(None)


def test_memory_goes_back_to_the_system(pool):
    alloc, free = pool

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    before = resident()
    for _ in range(20):
        block = alloc(64 << 20)
        ctypes.memset(block, 1, 64 << 20)
        free(block)
    assert resident() - before < 100 << 20
    runtime.trim()
    assert resident() - before < 8 << 20


def test_blocks_from_many_threads(pool):
    alloc, free = pool
    failures = []

    def call(seed):
        rng = np.random.default_rng(seed)
        held = []
        for step in range(400):
            size = int(65536 * 2 ** rng.uniform(-2, 3))
            mark = (seed * 31 + step) % 251
            block = alloc(size)
            ctypes.memset(block, mark, size)
            held.append((block, size, mark))
            if len(held) > 5:
                block, size, mark = held.pop(int(rng.integers(len(held))))
                if ctypes.string_at(block, size) != bytes([mark]) * size:
                    failures.append(seed)
                free(block)
        for block, _, _ in held:
            free(block)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_set_threads_refuses_less_than_one():
    with pytest.raises(ValueError, match="at least one"):
        runtime.set_threads(0)
    runtime.set_threads(5)
    assert runtime.get_threads() == 5
    runtime.set_threads(None)
    assert runtime.get_threads() == len(os.sched_getaffinity(0))
