"""The built-in function behind a jitted one.

A call whose arguments fit one of the last signatures runs that signature's plan without a line of
Python; any other call goes to the slow path, with the arguments as given.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import entry_text, runtime
from .entry_layout import tuple_items
from .entry_tables import EntryTable, NativeSignature
from .locks import fork_safe_lock
from .native_callable import NATIVE, NativeCallable, attach
from .orc import Library
from .runtime_memory import POOLED_BYTES
from .signature import Signature

STACK_BYTES = 8192
"""Arenas up to this size lie on the caller's stack."""

_METH_FASTCALL_KEYWORDS = 0x80 | 0x02
_NUMPY_API = {
    "lw_ndarray": 2,  # PyArray_Type
    "lw_new_array": 94,  # PyArray_NewFromDescr
    "lw_new_scalar": 60,  # PyArray_Scalar
    "lw_set_base": 282,  # PyArray_SetBaseObject
}
_lock = fork_safe_lock()


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Holder:
    """Owns what an entry's table points to; the built-in function holds it."""

    def __init__(self, **things: Any):
        self.things = things
        self.chain: list[NativeSignature] = []


class Entry:
    """A built-in function `callable` that tries up to eight signatures, the last used first.

    `parameter_names` are the function's parameters; the first `positional` of them (default: all)
    may be given by position, and those from `positional_only` on by name. `defaults` maps names to
    the objects used for missing arguments. `slow(*args, **kwargs)` takes every other call.
    `raise_status(number, status)` must raise the error for a plan's status that is not 0 (-1: out
    of memory).
    """

    def __init__(
        self,
        name: str,
        parameter_names: Sequence[str],
        slow: Callable[..., Any],
        raise_status: Callable[[int, int], Any],
        *,
        defaults: Mapping[str, object] | None = None,
        positional: int | None = None,
        positional_only: int = 0,
    ):
        names = tuple(sys.intern(parameter) for parameter in parameter_names)
        filled = [(defaults or {}).get(parameter, _Holder) for parameter in names]
        name_table = (ctypes.c_void_p * max(len(names), 1))(*map(id, names))
        default_table = (ctypes.c_void_p * max(len(names), 1))(
            *(None if value is _Holder else id(value) for value in filled)
        )
        self._table = EntryTable(
            parameters=len(names),
            leaf_room=len(names),
            nameless=positional_only,
            positional=len(names) if positional is None else positional,
            names=ctypes.addressof(name_table),
            defaults=ctypes.addressof(default_table),
            slow=id(slow),
            raiser=id(raise_status),
        )
        method = _MethodDef(name.encode(), load().fastcall, _METH_FASTCALL_KEYWORDS, None)
        self._holder = _Holder(
            tables=(self._table, name_table, default_table, method),
            objects=(names, filled, slow, raise_status),
        )
        capsule = _capsule_new(ctypes.addressof(self._table), None, None)
        self._self = (capsule, self._holder)
        self.callable: Callable[..., Any] = _function_new(
            ctypes.addressof(method), self._self, None
        )

    def attach(self, instance: NativeCallable) -> None:
        """Have calls of `instance` go straight to this entry, as those of `callable` do."""
        attach(instance, self._self, load().vectorcall)

    def add(self, signature: Signature) -> None:
        """Try `signature` first from now on; with eight already there the oldest goes."""
        new = NativeSignature(signature)
        with _lock:
            before = self._holder.chain
            # Native code reorders the chain between any two lines of Python, but its members
            # change only here, and they are written to it in one piece.
            by_address = {native.address: native for native in before}
            order = [by_address[address] for address in self._table.chain if address in by_address]
            kept = [new, *order][: entry_text.CHAIN]
            addresses = [native.address for native in kept]
            # All are held until the table no longer points to the one that goes.
            self._holder.chain = [new, *before]
            self._table.room = max(self._table.room, new.room)
            self._table.leaf_room = max(self._table.leaf_room, len(signature.parameters))
            self._table.chain[:] = addresses + [0] * (entry_text.CHAIN - len(addresses))
            self._table.count = len(kept)
            self._holder.chain = kept

    def clear(self) -> None:
        """Forget all signatures: the next call takes the slow path."""
        with _lock:
            self._table.count = 0
            self._table.chain[:] = [0] * entry_text.CHAIN
            self._holder.chain = []

    def __len__(self) -> int:
        return len(self._holder.chain)


@dataclass(frozen=True, slots=True)
class _Native:
    """Addresses of the two ways in."""

    fastcall: int
    vectorcall: int


_loaded: _Native | None = None


def load(compile: runtime.Compile = runtime.compile_glue) -> _Native:
    """The native entry of this process; loaded by the first call, which alone uses `compile`."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load(compile)
        return _loaded


def _load(compile: runtime.Compile) -> _Native:
    blocks = runtime.load(compile).addresses
    text = entry_text.entry_text(tuple_items(), NATIVE, POOLED_BYTES, STACK_BYTES)
    imports = {name: blocks[name] for name in ("lw_block_alloc", "lw_block_free")}
    library = Library([compile(text)], entry_text.EXPORTS, imports | _numpy_addresses())
    # Arrays made by it may outlive everything else, and their destructor is in it.
    library.keep_forever()
    return _Native(library["lw_entry"], library["lw_vectorcall"])


def _numpy_addresses() -> dict[str, int]:
    capsule = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    table = _capsule_pointer(capsule, None)
    return {
        name: ctypes.c_void_p.from_address(table + 8 * index).value or 0
        for name, index in _NUMPY_API.items()
    }


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule_new = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_function_new = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))
