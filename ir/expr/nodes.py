"""Scalar expressions: exact integer indices, and typed values.

    index  ::= const + coefficient * atom + ...            mathematical integers
    atom   ::= symbol | index // positive | index % positive | dynamic(value, low, high)
    value  ::= const : dtype | buffer[index, ...] | op(value, ...) : dtype | cast(index) : dtype
             | value if index >= 0 and ... else value | check(value, value, code) | slot

Index forms are canonical and compare by structure; `index.py` builds them. Values form a DAG
and compare by identity: a shared node is a let, and every walk over values is memoised by `id`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_serials = count()


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """An integer variable: a loop or an iteration axis. Compares by identity.

    `serial` only orders symbols (older first); the order is relative, so it does not depend on
    what was compiled before.
    """

    name: str
    serial: int = field(default_factory=lambda: next(_serials))

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, repr=False)
class FloorDiv:
    """floor(operand / divisor), divisor > 0."""

    operand: Index
    divisor: int


@dataclass(frozen=True, slots=True, repr=False)
class Mod:
    """operand - divisor * floor(operand / divisor), divisor > 0: never negative."""

    operand: Index
    divisor: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dynamic:
    """An integer computed at run time, known to lie in [low, high] (the value is made so)."""

    value: Value
    low: int
    high: int


Atom: TypeAlias = Symbol | FloorDiv | Mod | Dynamic


class Index:
    """const + sum of coefficient * atom, in canonical order; hashed once, immutable."""

    __slots__ = ("_hash", "const", "terms")

    const: int
    terms: tuple[tuple[Atom, int], ...]

    def __init__(self, const: int, terms: tuple[tuple[Atom, int], ...] = ()):
        object.__setattr__(self, "const", const)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_hash", hash((const, terms)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("index expressions are immutable")

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Index)
            and hash(self) == hash(other)
            and self.const == other.const
            and self.terms == other.terms
        )


class Scope(Enum):
    """Where a buffer lives. `ir/target.py` says what each target's scopes can hold."""

    GLOBAL = "global"  # a parameter of the kernel, or a temporary of the plan
    SCRATCH = "scratch"  # memory of one kernel call (or of one worker in a parallel loop)
    REGISTER = "register"  # registers: every index is constant after unrolling
    TABLE = "table"  # constants known to the compiler: indices constant after unrolling


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer:
    """A named array of static shape. Always indexed logically; compares by identity.

    `strides` (in elements, may be negative or zero) describe a parameter that is not
    C-contiguous; None means C-contiguous. `table` holds the elements of a TABLE buffer.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    scope: Scope = Scope.GLOBAL
    strides: tuple[int, ...] | None = None
    table: npt.NDArray[np.generic] | None = None

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal; `value` is a NumPy scalar of `dtype`."""

    value: np.generic
    dtype: np.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """One element of a buffer; one index per axis."""

    buffer: Buffer
    index: tuple[Index, ...]

    @property
    def dtype(self) -> np.dtype:
        """The buffer's element type."""
        return self.buffer.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An elementwise operation by its graph name ("add", "exp", "select", "cast", "lt", ...).

    Operands are already of the types that the operation computes in; `dtype` is the result's.
    `cast` converts its one operand to `dtype`. Besides the graph's elementwise names there is
    `fma` (a * b + c, rounded once).
    """

    name: str
    args: tuple[Value, ...]
    dtype: np.dtype


@dataclass(frozen=True, slots=True, eq=False)
class FromIndex:
    """An index as a value of `dtype` (wraps for narrow integers)."""

    index: Index
    dtype: np.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """`value` where every condition is >= 0, else `otherwise`. The side not taken is not read."""

    conditions: tuple[Index, ...]
    value: Value
    otherwise: Value

    @property
    def dtype(self) -> np.dtype:
        """The type of both sides."""
        return self.value.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """`value`, but the kernel ends with status `code` where the bool `ok` is false."""

    ok: Value
    value: Value
    code: int

    @property
    def dtype(self) -> np.dtype:
        """The type of the value."""
        return self.value.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A formal operand of a combiner."""

    name: str
    dtype: np.dtype


Value: TypeAlias = Const | Load | Op | FromIndex | Guarded | Check | Slot


@dataclass(frozen=True, slots=True, eq=False)
class Combiner:
    """An associative operation on tuples of values, with its identity.

    `results[k]` is written in terms of `left` (the accumulated so far) and `right` (the new).
    """

    name: str
    identity: tuple[Const, ...]
    left: tuple[Slot, ...]
    right: tuple[Slot, ...]
    results: tuple[Value, ...]
