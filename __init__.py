"""Loopwright: a compiler for array functions written in Python."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from .driver.function import Jit, bind, disable_jit, jit, spec
from .ir import errors
from .ir.target import Target
from .tracer import arrays as numpy
from .tracer import nn

__version__ = "0.1.0"

__all__ = [
    "Jit",
    "Target",
    "bind",
    "disable_jit",
    "errors",
    "get_threads",
    "jit",
    "memory",
    "models",
    "nn",
    "numpy",
    "set_threads",
    "show_versions",
    "spec",
    "vision",
]

# Public names of modules that live where their layer is, as `os.path` does.
_sys.modules[f"{__name__}.numpy"] = numpy
_sys.modules[f"{__name__}.nn"] = nn
_sys.modules[f"{__name__}.errors"] = errors

# What needs LLVM or an extra is loaded when it is first asked for.
_LATER = {
    "models": (".models", None),
    "vision": (".vision", None),
    "memory": (".driver.memory", None),
    "show_versions": (".driver.versions", "show_versions"),
    "set_threads": (".backends.llvm.runtime", "set_threads"),
    "get_threads": (".backends.llvm.runtime", "get_threads"),
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place, attribute = _LATER[name]
    found = _importlib.import_module(place, __name__)
    if attribute is not None:
        found = getattr(found, attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
