"""The leaves of a call: what of them a signature depends on, and how they are passed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import dtypes
from ..ir.errors import ArgumentError, DTypeError, InternalError
from ..tracer.staging import ArraySpec


class Held:
    """The value of a static parameter as a leaf: nothing looks into it, as into a dataclass."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any):
        self.name = name
        self.value = value


def native(leaves: list[Any], function: str) -> tuple[list[Any], list[int]]:
    """Arrays as native code takes them, and the numbers of those that had to be copied.

    Raises DTypeError for arrays that cannot be compiled and ArgumentError for an integer that 64
    bits do not hold.
    """
    copied: list[int] = []
    result = leaves
    for k, leaf in enumerate(leaves):
        if type(leaf) is np.ndarray:
            flags = leaf.flags
            if leaf.dtype in dtypes.ALL and flags.aligned and leaf.dtype.isnative:
                if flags.c_contiguous or not any(s % leaf.itemsize for s in leaf.strides):
                    continue
        elif not isinstance(leaf, np.ndarray):
            if type(leaf) is int and not -(2**63) <= leaf < 2**63:
                raise ArgumentError(
                    f"{function}: the integer {leaf} does not fit into 64 bits",
                    None,
                    "pass it as a NumPy scalar of a type that holds it",
                )
            continue
        if result is leaves:
            result = list(leaves)
        result[k] = _converted(leaf, function)
        copied.append(k)
    return result, copied


def _converted(array: np.ndarray, function: str) -> np.ndarray:
    if isinstance(array, np.ma.MaskedArray):
        raise DTypeError(
            f"{function} cannot take a masked array", None, "pass array.data and array.mask"
        )
    if isinstance(array, np.matrix):
        raise DTypeError(
            f"{function} cannot take a matrix: its * is @", None, "pass np.asarray(matrix)"
        )
    dtype = dtypes.canonical(array.dtype)
    plain = np.asarray(array)
    strided = any(s % dtype.itemsize for s in plain.strides)
    if plain.dtype != dtype or not plain.dtype.isnative or not plain.flags.aligned or strided:
        made = np.array(plain, dtype=dtype, order="C")
        made.flags.writeable = plain.flags.writeable
        return made
    return plain


def leaf_key(leaf: Any) -> Any:
    """What of a leaf the compiled code depends on."""
    if isinstance(leaf, np.ndarray):
        flags = leaf.flags
        strides = None if flags.c_contiguous else leaf.strides
        return (leaf.dtype, leaf.shape, strides, flags.writeable)
    if isinstance(leaf, Held):
        return (Held, *_exact(leaf.value))
    if isinstance(leaf, bool | int | float | np.generic | ArraySpec):
        return leaf if isinstance(leaf, ArraySpec) else type(leaf)
    return _exact(leaf)


def _exact(value: Any) -> tuple[Any, ...]:
    """A static value with what `==` does not tell apart: 1, True and 1.0; 0.0 and -0.0."""
    return (type(value), value.hex() if isinstance(value, float) else value)


def describe(leaf: Any) -> str:
    """A leaf as `explain` shows it."""
    match leaf:
        case np.ndarray():
            layout = "" if leaf.flags.c_contiguous else f" strides {leaf.strides}"
            locked = "" if leaf.flags.writeable else " read-only"
            return f"{leaf.dtype.name}[{', '.join(map(str, leaf.shape))}]{layout}{locked}"
        case Held():
            return f"static {leaf.value!r}"
        case bool() | int() | float() | np.generic():
            return type(leaf).__name__
        case _:
            return f"static {leaf!r}"


def same_memory(leaves: Sequence[Any]) -> dict[int, int]:
    """Array leaves with exactly the memory of an earlier one, both by number among the inputs."""
    seen: dict[Any, int] = {}
    found: dict[int, int] = {}
    number = 0
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            place = (leaf.ctypes.data, leaf.shape, leaf.strides, leaf.dtype)
            if leaf.size and place in seen:
                found[number] = seen[place]
            else:
                seen[place] = number
        number += isinstance(leaf, np.ndarray | bool | int | float | np.generic)
    return found


def unhashable(leaves: Sequence[Any], function: str) -> ArgumentError:
    """The error for a static argument that no signature can be looked up by."""
    for leaf in leaves:
        value = leaf.value if isinstance(leaf, Held) else leaf
        try:
            hash(value)
        except TypeError:
            if isinstance(value, np.ndarray) and not isinstance(leaf, Held):
                continue
            name = repr(leaf.name) if isinstance(leaf, Held) else "that is no array"
            return ArgumentError(
                f"{function}: static argument {name} is of type {type(value).__name__}, which "
                "cannot be hashed",
                None,
                "pass a tuple or another hashable value",
            )
    raise InternalError("a signature cannot be hashed")
