"""How the benchmarks measure: one process a thread count, all contenders in strict alternation.

Each script restarts itself once for every thread count, pinned to as many cores before anything is
imported, so that every library sees the same machine. OpenBLAS overrides of the environment are
dropped: they would slow the peers.

A sample is the time of a statement run often enough to take about a millisecond. In each of five
rounds the contenders take turns, sample by sample; a round's figure is the median of its samples.
With several threads a pause and some untimed calls stand before each sample.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import statistics
import subprocess
import sys
import time
import timeit
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ROUNDS = 5
SAMPLE_SECONDS = 1e-3
SETTLE_SECONDS = 0.1
WARM_SECONDS = 0.03
SETTLED_SAMPLES = 5
ROUND_SECONDS = 1.0
DROPPED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
THREADS = "LOOPWRIGHT_BENCH_THREADS"


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody's way to do a thing: a Python statement over names, or a function to call."""

    name: str
    call: Callable[[], object] | str
    names: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 1

    def timer(self) -> timeit.Timer:
        """A timer of the statement; its loop is compiled code, not a closure."""
        if isinstance(self.call, str):
            return timeit.Timer(self.call, globals=dict(self.names))
        return timeit.Timer("call()", globals={"call": self.call})


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for one case: by contender, the median of each round and the least time."""

    case: str
    rounds: Mapping[str, tuple[float, ...]]
    least: Mapping[str, float]
    goal: str = ""

    def median(self, name: str) -> float:
        """The median round of a contender."""
        return statistics.median(self.rounds[name])

    def least_ratio(self, ours: str) -> float:
        """The best peer's least time over ours: what a loaded machine disturbs least."""
        return min(t for name, t in self.least.items() if name != ours) / self.least[ours]

    def ratios(self, ours: str) -> tuple[float, ...]:
        """In each round, the best peer's time over ours."""
        peers = [times for name, times in self.rounds.items() if name != ours]
        return tuple(
            min(column) / own for own, *column in zip(self.rounds[ours], *peers, strict=True)
        )


def each_thread_count(run: Callable[[int], None], counts: Sequence[int] = (1, 2)) -> None:
    """Calls `run(threads)` in a fresh, pinned process for each count that the machine allows.

    `--threads N` on the command line asks for one count only.
    """
    inside = os.environ.get(THREADS)
    if inside is not None:
        run(int(inside))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, help="measure with this many threads only")
    wanted, rest = parser.parse_known_args()
    cores = sorted(os.sched_getaffinity(0))
    for count in [wanted.threads] if wanted.threads else counts:
        if count > len(cores):
            print(f"\n{count} threads: this process may use {len(cores)} cores only; skipped")
            continue
        env = {k: v for k, v in os.environ.items() if k not in DROPPED}
        env |= {THREADS: str(count), "NUMBA_NUM_THREADS": str(count), "TF_CPP_MIN_LOG_LEVEL": "3"}
        env |= {"OMP_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": str(count)}
        pinned = set(cores[:count])
        done = subprocess.run(
            [sys.executable, *sys.argv[:1], *rest],
            env=env,
            preexec_fn=lambda pinned=pinned: os.sched_setaffinity(0, pinned),
        )
        if done.returncode:
            raise SystemExit(done.returncode)


def peer(name: str) -> types.ModuleType | None:
    """A peer's module, or None with a line that says it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if name not in _missing:
            _missing.add(name)
            print(f"(peer {name} is not installed: skipped)")
        return None


_missing: set[str] = set()


def measure(case: str, contenders: Sequence[Contender], samples: int = 15, goal: str = "") -> Row:
    """Times the contenders by turns, each warmed up first."""
    timers = [c.timer() for c in contenders]
    numbers, turn = [], 0.0
    for timer in timers:
        once = min(timer.repeat(3, 1))
        numbers.append(max(1, round(SAMPLE_SECONDS / max(once, 1e-9))))
        turn += timer.timeit(numbers[-1])
    if several_threads():
        samples = min(samples, SETTLED_SAMPLES)
    samples = samples if turn * samples < ROUND_SECONDS else max(3, int(ROUND_SECONDS / turn))
    rounds: dict[str, list[float]] = {c.name: [] for c in contenders}
    least = {c.name: math.inf for c in contenders}
    for _ in range(ROUNDS):
        taken: list[list[float]] = [[] for _ in timers]
        for _ in range(samples):
            for seen, timer, number, c in zip(taken, timers, numbers, contenders, strict=True):
                settle(timer)
                seen.append(timer.timeit(number) / number / c.calls)
        for seen, c in zip(taken, contenders, strict=True):
            rounds[c.name].append(statistics.median(seen))
            least[c.name] = min(least[c.name], *seen)
    return Row(case, {name: tuple(times) for name, times in rounds.items()}, least, goal)


def several_threads() -> bool:
    """Whether this process measures with more than one thread."""
    return os.environ.get(THREADS, "1") != "1"


def settle(timer: timeit.Timer) -> None:
    """Lets the threads of whoever ran before go to sleep, and wakes one's own.

    Pools of some libraries spin for up to 80 ms after their work (seen as processor time of an
    idle process) and would take a core from the next contender. One thread has nobody to wait for.
    """
    if several_threads():
        time.sleep(SETTLE_SECONDS)
        warm = time.perf_counter() + WARM_SECONDS
        while time.perf_counter() < warm:
            timer.timeit(1)


def table(title: str, rows: Sequence[Row], ours: str = "loopwright") -> None:
    """Prints every contender's median round, and how often faster than the best peer we are."""
    names = list(dict.fromkeys(name for row in rows for name in row.rounds))
    print(f"\n{title}")
    width = max(len(row.case) for row in rows)
    heads = "".join(f"{name:>13}" for name in names)
    print(f"{'':{width}}  {heads}   best peer / ours: by round (of least times)")
    for row in rows:
        cells = "".join(
            f"{duration(row.median(name)):>13}" if name in row.rounds else f"{'-':>13}"
            for name in names
        )
        shown = ""
        if compared(row, ours):
            shown = " ".join(f"{r:.2f}" for r in row.ratios(ours))
            shown += f" ({row.least_ratio(ours):.2f})"
        print(f"{row.case:{width}}  {cells}   {shown}   {row.goal}".rstrip())
    both = [row for row in rows if compared(row, ours)]
    if both:
        medians = [statistics.median(row.ratios(ours)) for row in both]
        least = [row.least_ratio(ours) for row in both]
        print(
            f"best peer / ours: geometric mean {statistics.geometric_mean(medians):.2f}, "
            f"worst {min(medians):.2f}; of least times {statistics.geometric_mean(least):.2f}, "
            f"worst {min(least):.2f}"
        )


def compared(row: Row, ours: str) -> bool:
    """Whether the row holds our time and a peer's."""
    return ours in row.rounds and len(row.rounds) > 1


def duration(seconds: float) -> str:
    """Seconds with a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def processor() -> str:
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith(("model name", "CPU part")):
                return line.split(":", 1)[1].strip()
    return "unknown processor"


FMA_PROGRAM = """
declare <{n} x float> @llvm.fma.v{n}f32(<{n} x float>, <{n} x float>, <{n} x float>)
define float @peak(i64 %count, float %seed) {{
entry:
  %one = insertelement <{n} x float> poison, float %seed, i32 0
  %x = shufflevector <{n} x float> %one, <{n} x float> poison, <{n} x i32> zeroinitializer
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{fmas}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
{sums}
  %result = extractelement <{n} x float> %total{last}, i32 0
  ret float %result
}}
"""


def fma_peak() -> float:
    """Measured GFLOP/s of one core: independent chains of vector multiply-adds in registers."""
    import ctypes

    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    lanes = 16 if llvm.get_host_cpu_features().get("avx512f") else 8
    chains = 12
    vector = f"<{lanes} x float>"
    text = FMA_PROGRAM.format(
        n=lanes,
        last=chains,
        phis="\n".join(
            f"  %a{k} = phi {vector} [%x, %entry], [%b{k}, %loop]" for k in range(chains)
        ),
        fmas="\n".join(
            f"  %b{k} = call {vector} @llvm.fma.v{lanes}f32("
            f"{vector} %a{k}, {vector} %x, {vector} %x)"
            for k in range(chains)
        ),
        sums=f"  %total0 = fadd {vector} %x, %x\n"
        + "\n".join(f"  %total{k + 1} = fadd {vector} %total{k}, %b{k}" for k in range(chains)),
    )
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    address = engine.get_function_address("peak")
    call = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)(address)
    count = 200_000
    best = min(timeit.repeat(lambda: call(count, 0.5), number=1, repeat=30))
    return chains * lanes * 2 * count / best / 1e9


def heading(threads: int) -> None:
    """What was measured on, at the head of a script's output."""
    print(
        f"\n== {processor()}, {threads} thread{'s' if threads > 1 else ''}, "
        f"measured peak {fma_peak():.0f} GFLOP/s a core (float32 multiply-add)"
    )
