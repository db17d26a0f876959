"""Targets as plain data: what kind of machine, which features, how much of what it has."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from .errors import TargetError

KINDS = ("llvm",)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a program runs.

    `triple`, `cpu` and `features` are LLVM's words; cpu "host" and an empty triple mean this
    machine. `vector_bits` and `vector_registers` size register tiles; cache sizes are in bytes,
    per core (`l1`, `l2`). `threads` None means `loopwright.set_threads`' number at the call.
    """

    kind: str = "llvm"
    triple: str = ""
    cpu: str = "host"
    features: tuple[str, ...] = ()
    vector_bits: int = 0
    vector_registers: int = 0
    fma: bool = True
    l1: int = 32 << 10
    l2: int = 512 << 10
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TargetError(
                f"there is no target kind {self.kind!r}", None, "kinds: " + ", ".join(KINDS)
            )
        if self.threads is not None and self.threads < 1:
            raise TargetError(f"threads={self.threads}: at least one thread is needed")
        if not self.vector_bits:
            bits, registers, fma = _vector_shape(self)
            object.__setattr__(self, "vector_bits", bits)
            object.__setattr__(self, "vector_registers", registers)
            object.__setattr__(self, "fma", fma)

    @classmethod
    def host(cls) -> Self:
        """This machine."""
        return cls()

    def with_threads(self, threads: int) -> Self:
        """The same machine, with a fixed number of threads."""
        return replace(self, threads=threads)

    def lanes(self, itemsize: int) -> int:
        """How many elements of `itemsize` bytes one vector register holds."""
        return max(1, self.vector_bits // (8 * itemsize))


# vector bits, vector registers and FMA of the CPUs that users name most; "host" is looked up.
_CPUS = {
    "x86-64": (128, 16, False),
    "x86-64-v2": (128, 16, False),
    "x86-64-v3": (256, 16, True),
    "haswell": (256, 16, True),
    "znver1": (256, 16, True),
    "znver2": (256, 16, True),
    "znver3": (256, 16, True),
    "x86-64-v4": (512, 32, True),
    "skylake-avx512": (512, 32, True),
    "znver4": (512, 32, True),
    "znver5": (512, 32, True),
}


def _vector_shape(target: Target) -> tuple[int, int, bool]:
    if target.cpu == "host" and not target.triple:
        flags = host_flags()
        if "avx512f" in flags:
            return 512, 32, True
        if "avx2" in flags:
            return 256, 16, "fma" in flags
        if platform.machine() == "aarch64":
            return 128, 32, True
        return 128, 16, False
    if target.triple.startswith(("aarch64", "arm64")):
        return 128, 32, True
    return _CPUS.get(target.cpu, (128, 16, False))


@cache
def host_flags() -> frozenset[str]:
    """The CPU features that the kernel reports for this machine."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(words.split())
    return frozenset()


def available_cores() -> int:
    """How many cores this process may run on (its affinity, not the machine's count)."""
    return len(os.sched_getaffinity(0))
