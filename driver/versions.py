"""What a report of a fault should say about the machine and the versions."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("loopwright", "numpy", "llvmlite", "ml_dtypes", "lightgbm", "jax", "torch", "numba")


def cpu_name() -> str:
    """The CPU's model name as the system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def show_versions() -> None:
    """Prints the versions of Python and of the packages that matter, and the machine."""
    print(f"python      {sys.version.split()[0]} on {platform.platform()}")
    print(f"cpu         {cpu_name()}")
    for name in PACKAGES:
        try:
            print(f"{name:11} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name:11} not installed")
