"""Where scratch and register buffers live, and how much of each is needed.

A buffer is placed at the lowest loop that encloses all its accesses and holds the box of elements
that one iteration of the loops outside can touch, so a buffer that is computed tile by tile
shrinks to a tile. Done once, after scheduling: no schedule primitive sizes a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..expr import index as ix
from ..expr.index import dynamics
from ..expr.nodes import Atom, Buffer, FloorDiv, Index, Mod, Scope, Symbol
from ..expr.values import loads
from ..loop.nodes import LoopKind
from .statements import Nest, Node

ALIGNMENT = 64


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """A buffer's box: lowest element (over symbols outside) and extent of each axis."""

    lows: tuple[Index, ...]
    extents: tuple[int, ...]
    position: int  # byte offset, for scratch
    per_worker: bool
    start: Index = ix.ZERO  # the flat position of the first element that is used, if not the box's

    def offset(self, index: tuple[Index, ...]) -> Index:
        """The flat position of a logical index in the box, in C order."""
        inside = [ix.subtract(i, low) for i, low in zip(index, self.lows, strict=True)]
        return ix.subtract(ix.flatten(inside, contiguous(self.extents)), self.start)


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """All placements of a kernel and the scratch bytes they add up to."""

    of: Mapping[Buffer, Placement]
    shared_bytes: int
    worker_bytes: int


def contiguous(shape: Iterable[int]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    strides: list[int] = []
    step = 1
    for extent in reversed(tuple(shape)):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True, eq=False)
class _Access:
    index: tuple[Index, ...]
    path: tuple[Nest, ...]


def place(nodes: tuple[Node, ...]) -> Placements:
    """Places every scratch and register buffer of the kernel."""
    accesses: dict[Buffer, list[_Access]] = {}
    for buffer, access in _accesses(nodes, ()):
        if buffer.scope in (Scope.SCRATCH, Scope.REGISTER):
            accesses.setdefault(buffer, []).append(access)
    result: dict[Buffer, Placement] = {}
    shared = worker = 0
    for buffer, found in accesses.items():
        common = _common_path([a.path for a in found])
        lows, extents = _box(buffer, found, len(common))
        # A parallel loop of one turn is run in place, by whoever calls the kernel.
        per_worker = any(o.kind is LoopKind.PARALLEL and o.extent > 1 for o in common)
        position = worker if per_worker else shared
        if buffer.scope is Scope.SCRATCH:
            size = buffer.dtype.itemsize
            for extent in extents:
                size *= extent
            size = -(-size // ALIGNMENT) * ALIGNMENT
            if per_worker:
                worker += size
            else:
                shared += size
        box = Placement(lows, extents, position, per_worker)
        if buffer.scope is Scope.REGISTER:
            box = replace(box, start=_start(box, found, common))
        result[buffer] = box
    return Placements(result, shared, worker)


def _start(box: Placement, accesses: list[_Access], common: tuple[Nest, ...]) -> Index:
    """What all flat positions in the box owe to the loops outside.

    A tile of axes that were fused (`i = x // 5`, `j = x % 5`) has no box of its own, but its flat
    positions (`5*i + j = x`) lie at a distance that moves with the tile.
    """
    outside = {loop.symbol for loop in common}

    def moves_outside(atom: Atom) -> bool:
        index = ix.of(atom)
        return not dynamics(index) and ix.symbols(index) <= outside

    found = {
        tuple(term for term in box.offset(a.index).terms if moves_outside(term[0]))
        for a in accesses
    }
    return Index(0, found.pop()) if len(found) == 1 else ix.ZERO


def _accesses(nodes: Iterable[Node], path: tuple[Nest, ...]) -> Iterator[tuple[Buffer, _Access]]:
    for node in nodes:
        if isinstance(node, Nest):
            yield from _accesses(node.body, (*path, node))
            continue
        for buffer in node.outputs:
            yield buffer, _Access(node.index, path)
        roots = (*node.values, *(d.value for i in (*node.index, *node.guard) for d in dynamics(i)))
        for load in loads(roots):
            yield load.buffer, _Access(load.index, path)


def _common_path(paths: list[tuple[Nest, ...]]) -> tuple[Nest, ...]:
    """The loops around all accesses, up to a vector loop: its lanes run at the same time."""
    common = paths[0]
    for path in paths:
        length = 0
        for a, b in zip(common, path, strict=False):
            if a is not b or a.kind is LoopKind.VECTOR:
                break
            length += 1
        common = common[:length]
    return common


def _box(
    buffer: Buffer, accesses: list[_Access], depth: int
) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    lows: list[Index] = []
    extents: list[int] = []
    for axis, full in enumerate(buffer.shape):
        interval = _union([_interval(a.index[axis], a.path[depth:]) for a in accesses])
        if interval is None or (interval[1] >= full and _whole(interval[0])):
            interval = (ix.ZERO, full)
        lows.append(interval[0])
        extents.append(interval[1])
    return tuple(lows), tuple(extents)


def _whole(low: Index) -> bool:
    return not low.terms and low.const <= 0


def _interval(index: Index, inner: tuple[Nest, ...]) -> tuple[Index, int] | None:
    """(lowest value over symbols outside, extent) of an index as the inner loops run."""
    ranges = {loop.symbol: (0, max(loop.extent - 1, 0)) for loop in inner}
    outside: list[tuple[Atom, int]] = []
    low = high = index.const
    for atom, c in index.terms:
        if isinstance(atom, Symbol) and atom not in ranges:
            outside.append((atom, c))
            continue
        if isinstance(atom, FloorDiv | Mod):
            inside = ix.symbols(atom.operand)
            if not inside & ranges.keys() and not dynamics(atom.operand):
                outside.append((atom, c))
                continue
            if not inside <= ranges.keys():
                return None
        a, b = ix.bounds(ix.scale(ix.of(atom), c), ranges)
        if not (isinstance(a, int) and isinstance(b, int)):
            return None
        low, high = low + a, high + b
    return Index(low, tuple(outside)), high - low + 1


def _union(intervals: list[tuple[Index, int] | None]) -> tuple[Index, int] | None:
    """The interval that holds all; None where their distance is not constant."""
    first = intervals[0]
    if first is None:
        return None
    base = Index(0, first[0].terms)
    low, high = first[0].const, first[0].const + first[1]
    for interval in intervals[1:]:
        if interval is None or interval[0].terms != base.terms:
            return None
        low = min(low, interval[0].const)
        high = max(high, interval[0].const + interval[1])
    return ix.add(base, low), high - low
