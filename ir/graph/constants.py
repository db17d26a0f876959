"""A store of constant arrays: one copy of equal content, each derived array computed once.

Graphs of several signatures (or resolutions) of one network hold the same weights, and passes
derive the same arrays from them. Arrays are known by a digest: of their content, or of the recipe
and operands they were derived from. The store holds them weakly: an array lives as long as a graph
or a compiled function uses it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import RLock
from typing import Any

import numpy as np

from ..expr.rounding import Array


@dataclass(frozen=True, slots=True)
class _Known:
    array: weakref.ref[Array]
    digest: bytes


class ConstantStore:
    """Thread-safe; arrays that it gives are C-contiguous, read-only and private to their users."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._arrays: weakref.WeakValueDictionary[bytes, Array] = weakref.WeakValueDictionary()
        self._known: dict[int, _Known] = {}

    def intern(self, array: Array) -> Array:
        """The stored array of this type and content; `array` itself, made read-only, if new.

        An array that is not C-contiguous, or a view of another, is copied first.
        """
        with self._lock:
            if self._digest_of(array) is not None:
                return array
            owned = _own(array)
            return self._enter(_digest(b"content", _describe(owned), _bytes(owned)), owned)

    def derive(
        self,
        recipe: str,
        operands: Sequence[Array | np.generic],
        compute: Callable[[], Array],
    ) -> Array:
        """The array that `compute` makes of the operands by the recipe, computed at most once.

        The recipe has to say all that the result depends on besides the operands.
        """
        with self._lock:
            digest = _digest(b"derived", recipe.encode(), *map(self._operand_digest, operands))
            found = self._arrays.get(digest)
            return self._enter(digest, _own(compute())) if found is None else found

    def __len__(self) -> int:
        """How many arrays are alive."""
        return len(self._arrays)

    def _operand_digest(self, operand: Array | np.generic) -> bytes:
        if isinstance(operand, np.generic):
            return _digest(_describe(operand), operand.tobytes())
        found = self._digest_of(operand)
        return _digest(_describe(operand), _bytes(operand)) if found is None else found

    def _digest_of(self, array: Array) -> bytes | None:
        known = self._known.get(id(array))
        return known.digest if known is not None and known.array() is array else None

    def _enter(self, digest: bytes, array: Array) -> Array:
        found = self._arrays.get(digest)
        if found is not None:
            return found
        key = id(array)

        def forget(reference: weakref.ref[Array]) -> None:
            with self._lock:
                known = self._known.get(key)
                if known is not None and known.array is reference:
                    del self._known[key]

        self._arrays[digest] = array
        self._known[key] = _Known(weakref.ref(array, forget), digest)
        return array


def _own(array: Array) -> Array:
    """A C-contiguous, read-only array that shares no memory with a writeable one."""
    if array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    array.setflags(write=False)
    return array


def _describe(array: Array | np.generic) -> bytes:
    return f"{array.dtype}{array.shape}".encode()


def _bytes(array: Array) -> memoryview:
    """The elements in C order, without a copy where they lie so."""
    flat: Any = array.ravel().view(np.uint8)
    return memoryview(flat)


def _digest(*parts: Any) -> bytes:
    state = blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
