"""A base class whose instances CPython calls straight through an entry, as it calls a function.

A class with a Python `__call__`, or with a built-in in its place, costs a detour over slots, an
argument tuple and a dictionary at each call (70 ns, 200 with a keyword). Instances of a subclass of
`NativeCallable` are called by `__call__` until `attach` gives them an entry; from then on the
interpreter jumps into it (PEP 590), also for `instance.method(...)`, which makes no bound method.
Nothing here loads LLVM.
"""

from __future__ import annotations

import ctypes
from typing import Any

_VECTORCALL = 16  # offset of the instance's function pointer, right behind the object's head
NATIVE = 24
"""Offset of the instance's reference to its entry: the first slot of `NativeCallable`."""

_HAVE_VECTORCALL = 1 << 11
_METHOD_DESCRIPTOR = 1 << 17
_TYPE_FLAGS = 168  # offset of tp_flags
_DEFAULT_FLAGS = 1 << 10 | 1 << 18  # a base type, with the default flags
_SLOT_CALL, _SLOT_DESCR_GET, _SLOT_MEMBERS = 50, 54, 72
_READONLY, _SSIZE = 1, 19


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def _function(name: str) -> int | None:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


def _function_slot(number: int) -> int:
    """What plain Python functions do for a slot of their type."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(
        ("PyType_GetSlot", ctypes.pythonapi)
    )
    return int(get(type(_function), number))


_members = (_Member * 2)(_Member(b"__vectorcalloffset__", _SSIZE, _VECTORCALL, _READONLY, None))
_slots = (_Slot * 4)(
    _Slot(_SLOT_CALL, _function("PyVectorcall_Call")),
    _Slot(_SLOT_DESCR_GET, _function_slot(_SLOT_DESCR_GET)),
    _Slot(_SLOT_MEMBERS, ctypes.addressof(_members)),
)
_spec = _Spec(b"loopwright.CallableBase", _VECTORCALL + 8, 0, _DEFAULT_FLAGS, _slots)
_Base: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(
    ("PyType_FromSpec", ctypes.pythonapi)
)(ctypes.addressof(_spec))


class NativeCallable(_Base):  # type: ignore[misc]
    """Base of callables that an entry takes over. Subclasses define `__call__` for calls before.

    Neither a class nor an instance of it may replace `__call__` later.
    """

    __slots__ = ("_native",)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Python classes do not inherit these two. Without them calls are slower, not wrong.
        flags = ctypes.c_ulong.from_address(id(cls) + _TYPE_FLAGS)
        if flags.value == cls.__flags__:
            flags.value |= _HAVE_VECTORCALL | _METHOD_DESCRIPTOR


def attach(instance: NativeCallable, native: object, vectorcall: int) -> None:
    """Have `instance` called through `vectorcall`, which finds `native` in it."""
    instance._native = native
    ctypes.c_void_p.from_address(id(instance) + _VECTORCALL).value = vectorcall


def detach(instance: NativeCallable) -> None:
    """Have `instance` called by its `__call__` again."""
    ctypes.c_void_p.from_address(id(instance) + _VECTORCALL).value = None
    # The reference stays: a call in another thread may be about to read it.
