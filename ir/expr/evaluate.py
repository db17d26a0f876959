"""Values of expressions on NumPy arrays, at one point or at a grid of points at once.

`Points` gives every symbol a value or an array of values that broadcast together; results have
the shape of the points. A guarded value is computed only at the points where its side is taken,
so nothing is read that must not be. Walks are iterative and memoised by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import BoundsError, InternalError
from .elementwise import apply
from .index import dynamics
from .nodes import (
    Buffer,
    Check,
    Const,
    Dynamic,
    FloorDiv,
    FromIndex,
    Guarded,
    Index,
    Load,
    Mod,
    Op,
    Slot,
    Symbol,
    Value,
)

Array: TypeAlias = npt.NDArray[Any]
Read: TypeAlias = Callable[[Buffer, tuple[Array, ...]], Array]
"""read(buffer, one array of positions per axis) -> the elements there."""


class CheckError(BoundsError):
    """A `Check` failed: a kernel would end with status `code`."""

    def __init__(self, code: int):
        super().__init__(f"an index is outside its axis (status {code})")
        self.code = code


class Points:
    """Where expressions are evaluated: arrays of symbol values that broadcast to `shape`."""

    __slots__ = ("shape", "values")

    def __init__(self, values: Mapping[Symbol, Array | int], shape: tuple[int, ...] | None = None):
        self.values: dict[Symbol, Array] = {s: np.asarray(v) for s, v in values.items()}
        shapes = [v.shape for v in self.values.values()]
        self.shape = np.broadcast_shapes(*shapes) if shape is None else shape

    def where(self, mask: Array) -> Points:
        """The points at which the mask (of this shape) holds, as a list."""
        count = int(np.count_nonzero(mask))
        chosen = {s: np.broadcast_to(v, self.shape)[mask] for s, v in self.values.items()}
        return Points(chosen, (count,))

    def bind(self, values: Mapping[Symbol, Array]) -> Points:
        """The same points with further symbols."""
        return Points({**self.values, **values}, self.shape)


def evaluate(
    values: Sequence[Value],
    points: Points,
    read: Read,
    slots: Mapping[Slot, Array] | None = None,
) -> list[Array]:
    """Each value at all points, as an array that broadcasts to their shape.

    Raises CheckError where a check fails, InternalError where a run-time index leaves its
    declared interval, and whatever `read` raises.
    """
    run = _Evaluation(read, slots or {})
    return [run.value(value, points) for value in values]


def evaluate_indices(indices: Sequence[Index], points: Points, read: Read) -> list[Array]:
    """Each index at all points, as an int64 array that broadcasts to their shape."""
    run = _Evaluation(read, {})
    for value in (d.value for i in indices for d in dynamics(i)):
        run.value(value, points)
    return [run.index(index, points) for index in indices]


def holds(conditions: Sequence[Index], points: Points, read: Read) -> Array:
    """Where every condition is >= 0, in the shape of the points."""
    result = np.ones(points.shape, np.bool_)
    for index in evaluate_indices(conditions, points, read):
        result &= index >= 0
    return result


class _Evaluation:
    """One evaluation: results by (node, points)."""

    def __init__(self, read: Read, slots: Mapping[Slot, Array]):
        self.read = read
        self.slots = slots
        self.done: dict[tuple[int, int], Array] = {}
        self.splits: dict[tuple[int, int], tuple[Array, Points, Points]] = {}

    def value(self, root: Value, points: Points) -> Array:
        stack = [(root, points)]
        while stack:
            value, at = stack[-1]
            if (id(value), id(at)) in self.done:
                stack.pop()
                continue
            missing = [(v, p) for v, p in self._needs(value, at) if (id(v), id(p)) not in self.done]
            if missing:
                stack.extend(missing)
                continue
            self.done[id(value), id(at)] = self._compute(value, at)
            stack.pop()
        return self.done[id(root), id(points)]

    def _needs(self, value: Value, at: Points) -> list[tuple[Value, Points]]:
        match value:
            case Op(_, args, _):
                return [(a, at) for a in args]
            case Load(_, index):
                return [(d.value, at) for i in index for d in dynamics(i)]
            case FromIndex(index, _):
                return [(d.value, at) for d in dynamics(index)]
            case Check(ok, inner, _):
                return [(ok, at), (inner, at)]
            case Guarded(conditions, taken, otherwise):
                tests = [(d.value, at) for i in conditions for d in dynamics(i)]
                if any((id(v), id(p)) not in self.done for v, p in tests):
                    return tests
                _, inside, outside = self._split(value, at)
                sides = [(taken, inside), (otherwise, outside)]
                return [(v, p) for v, p in sides if 0 not in p.shape or p is at]
            case _:
                return []

    def _split(self, value: Guarded, at: Points) -> tuple[Array, Points, Points]:
        """(where the conditions hold, the points inside, those outside)."""
        key = (id(value), id(at))
        if key not in self.splits:
            mask = np.ones(at.shape, np.bool_)
            for condition in value.conditions:
                mask &= self.index(condition, at) >= 0
            none = Points({}, (0,))
            if mask.all():
                self.splits[key] = (mask, at, none)
            elif not mask.any():
                self.splits[key] = (mask, none, at)
            else:
                self.splits[key] = (mask, at.where(mask), at.where(~mask))
        return self.splits[key]

    def _compute(self, value: Value, at: Points) -> Array:
        match value:
            case Const(number, _):
                return np.asarray(number)
            case Slot():
                return self.slots[value]
            case Op(name, args, dtype):
                operands = np.broadcast_arrays(*(self.done[id(a), id(at)] for a in args))
                return np.asarray(apply(name, tuple(operands), dtype))
            case Load(buffer, index):
                if 0 in at.shape:
                    return np.zeros(at.shape, buffer.dtype)
                return self.read(buffer, tuple(self.index(i, at) for i in index))
            case FromIndex(index, dtype):
                return self.index(index, at).astype(dtype)
            case Check(ok, inner, code):
                if not np.all(self.done[id(ok), id(at)]):
                    raise CheckError(code)
                return self.done[id(inner), id(at)]
            case Guarded(_, taken, otherwise):
                mask, inside, outside = self._split(value, at)
                if inside is at:
                    return self.done[id(taken), id(at)]
                if outside is at:
                    return self.done[id(otherwise), id(at)]
                result = np.empty(at.shape, value.dtype)
                result[mask] = self.done[id(taken), id(inside)]
                result[~mask] = self.done[id(otherwise), id(outside)]
                return result

    def index(self, index: Index, at: Points) -> Array:
        """An index whose run-time values have been computed."""
        total: Array = np.asarray(index.const, np.int64)
        for atom, c in index.terms:
            match atom:
                case Symbol():
                    part = at.values[atom]
                case FloorDiv(operand, divisor):
                    part = self.index(operand, at) // divisor
                case Mod(operand, divisor):
                    part = self.index(operand, at) % divisor
                case Dynamic(value, low, high):
                    part = self.done[id(value), id(at)].astype(np.int64)
                    if np.any((part < low) | (part > high)):
                        raise InternalError(f"a run-time index leaves [{low}, {high}]")
            total = total + c * part
        return total
