"""The process-wide runtime, loaded once: threads, pool memory, and its addresses for kernels."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir.errors import InternalError
from ...ir.target import Target
from . import host
from .locks import fork_safe_lock
from .orc import Library
from .runtime_text import EXPORTS, runtime_text

Compile = Callable[[str], bytes]
"""Turns the runtime's text into an object file; a cache may stand behind it."""

_lock = fork_safe_lock()


@dataclass(frozen=True, slots=True)
class Runtime:
    """The loaded runtime. `addresses` holds each exported symbol for kernels to import."""

    addresses: dict[str, int]
    set_threads: Callable[[int], None]
    get_threads: Callable[[], int]
    trim: Callable[[], None]
    pool_bytes: Callable[[], int]
    pool_limit: Callable[[int], None]


_loaded: Runtime | None = None


def compile_glue(text: str) -> bytes:
    """Compile code that only calls other code: fast to compile rather than to run."""
    return host.compile_object(text, Target.host(), level=0)


def load(compile: Compile = compile_glue) -> Runtime:
    """The runtime of this process; loaded by the first call, which alone uses `compile`."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load(compile)
    return _loaded


def _load(compile: Compile) -> Runtime:
    host.require_supported_host()
    library = Library([compile(runtime_text(platform.machine()))], EXPORTS)
    # Its workers run until the process ends, so its code is never unmapped.
    library.keep_forever()

    def bind(name: str, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(library[name])

    status = bind("lw_start", ctypes.c_int)()
    if status:
        raise InternalError(f"the runtime cannot start: {os.strerror(status)}")
    return Runtime(
        addresses=dict(library.addresses),
        set_threads=bind("lw_set_threads", None, ctypes.c_int),
        get_threads=bind("lw_get_threads", ctypes.c_int),
        trim=bind("lw_pool_trim", None),
        pool_bytes=bind("lw_pool_bytes", ctypes.c_int64),
        pool_limit=bind("lw_pool_limit", None, ctypes.c_int64),
    )


def set_threads(threads: int | None) -> None:
    """Share parallel regions among `threads` threads; None means one for each usable core.

    Raises `ValueError` for a number below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"set_threads({threads}): at least one thread is needed")
    load().set_threads(threads or 0)


def get_threads() -> int:
    """How many threads share a parallel region."""
    return load().get_threads()


def trim() -> None:
    """Give idle pool memory back to the system."""
    load().trim()


def pool_bytes() -> int:
    """Bytes of idle memory that the pool keeps for coming results."""
    return load().pool_bytes()
