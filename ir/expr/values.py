"""Walks over value DAGs: iterative, each shared node visited once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .index import NO_RANGES, Ranges, dynamics, substitute, under
from .nodes import (
    Check,
    Const,
    Dynamic,
    FromIndex,
    Guarded,
    Index,
    Load,
    Op,
    Slot,
    Symbol,
    Value,
)


def indices(value: Value) -> tuple[Index, ...]:
    """The index expressions that stand directly in a value."""
    match value:
        case Load(_, index):
            return index
        case FromIndex(index, _):
            return (index,)
        case Guarded(conditions):
            return conditions
        case _:
            return ()


def children(value: Value) -> tuple[Value, ...]:
    """The values directly below a value, those inside its indices included."""
    inner = tuple(d.value for i in indices(value) for d in dynamics(i))
    match value:
        case Op(_, args, _):
            return args
        case Guarded(_, a, b):
            return (*inner, a, b)
        case Check(ok, a, _):
            return (ok, a)
        case _:
            return inner


def postorder(roots: Iterable[Value]) -> list[Value]:
    """Every value below the roots once, operands first."""
    done: set[int] = set()
    order: list[Value] = []
    stack: list[tuple[Value, bool]] = [(r, False) for r in reversed(list(roots))]
    while stack:
        value, ready = stack.pop()
        if id(value) in done:
            continue
        if ready:
            done.add(id(value))
            order.append(value)
            continue
        stack.append((value, True))
        stack.extend((c, False) for c in reversed(children(value)) if id(c) not in done)
    return order


def loads(roots: Iterable[Value]) -> list[Load]:
    """The loads below the roots."""
    return [v for v in postorder(roots) if isinstance(v, Load)]


def rewrite(
    roots: Sequence[Value],
    leaf: Callable[[Value], Value | None] = lambda value: None,
    mapping: Mapping[Symbol, Index] | None = None,
    ranges: Ranges = NO_RANGES,
    conditions: Sequence[Index] = (),
) -> tuple[Value, ...]:
    """The roots with symbols replaced by `mapping` and then nodes by `leaf` (None keeps a node).

    `leaf` sees each node after its operands and indices were rewritten. Indices are simplified as
    the `conditions` (each >= 0, over the new symbols) allow.
    """
    mapping = mapping or {}
    new: dict[int, Value] = {}
    for value in postorder(roots):
        rebuilt = _rebuild(value, new, mapping, ranges, conditions)
        new[id(value)] = leaf(rebuilt) or rebuilt
    return tuple(new[id(r)] for r in roots)


def _rebuild(
    value: Value,
    new: dict[int, Value],
    mapping: Mapping[Symbol, Index],
    ranges: Ranges,
    conditions: Sequence[Index],
) -> Value:
    def index(i: Index) -> Index:
        changed: dict[Dynamic, Dynamic] = {}
        for d in dynamics(i):
            inner = new[id(d.value)]
            if inner is not d.value:
                changed[d] = replace(d, value=inner)
        j = substitute(i, mapping, ranges, changed) if changed or mapping else i
        return under(j, conditions, ranges) if conditions else j

    match value:
        case Load(buffer, old):
            fresh = tuple(index(i) for i in old)
            return value if fresh == old else Load(buffer, fresh)
        case FromIndex(i, dtype):
            j = index(i)
            return value if j == i else FromIndex(j, dtype)
        case Op(name, args, dtype):
            operands = tuple(new[id(a)] for a in args)
            same = all(a is b for a, b in zip(operands, args, strict=True))
            return value if same else Op(name, operands, dtype)
        case Guarded(conditions, a, b):
            tests = tuple(index(i) for i in conditions)
            x, y = new[id(a)], new[id(b)]
            return value if tests == conditions and x is a and y is b else Guarded(tests, x, y)
        case Check(ok, a, code):
            x, y = new[id(ok)], new[id(a)]
            return value if x is ok and y is a else Check(x, y, code)
        case Const() | Slot():
            return value


def const(value: object, dtype: np.dtype) -> Const:
    """A literal of the given type."""
    return Const(dtype.type(np.asarray(value).astype(dtype)), dtype)


def rewrite_with_index(
    roots: Sequence[Value],
    index: Sequence[Index],
    leaf: Callable[[Value], Value | None] = lambda value: None,
    mapping: Mapping[Symbol, Index] | None = None,
    ranges: Ranges = NO_RANGES,
    conditions: Sequence[Index] = (),
) -> tuple[tuple[Value, ...], tuple[Index, ...]]:
    """Values and the index they are written to, rewritten together (shared nodes stay shared)."""
    inside = [d for i in index for d in dynamics(i)]
    new = rewrite((*roots, *(d.value for d in inside)), leaf, mapping, ranges, conditions)
    changed = {
        d: replace(d, value=value) if value is not d.value else d
        for d, value in zip(inside, new[len(roots) :], strict=True)
    }
    places = (substitute(i, mapping or {}, ranges, changed) for i in index)
    return new[: len(roots)], tuple(under(i, conditions, ranges) for i in places)
