"""What a tensor program means: its definitions in order, each on all points at once.

Reductions run over their reduce axes in C order, scans over their scan axes; everything else is
computed together. So float sums come out in the order of precision "highest".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ..errors import InternalError
from ..expr.evaluate import Array, Points, evaluate, evaluate_indices, holds
from .memory import Memory, identities
from .nodes import Axis, AxisKind, Definition, TensorProgram


def interpret(program: TensorProgram, arrays: Sequence[Array]) -> list[Array]:
    """The arrays of the OUTPUT and INOUT parameters, in order, for those of INPUT and INOUT.

    The given arrays are not changed. Raises InternalError where the program breaks its rules
    (see `memory.py`), CheckError where a check fails.
    """
    memory = Memory(program.params, arrays)
    for definition in program.definitions:
        memory.place = f"in definition {definition.name}"
        if definition.update:
            _update(definition, memory)
        elif definition.combiner is not None:
            _reduce(definition, memory)
        else:
            _assign(definition, memory)
    return memory.results()


def _grid(axes: Sequence[Axis]) -> Points:
    """All points of the axes, in C order."""
    rank = len(axes)
    values = {
        axis.symbol: np.arange(axis.extent).reshape([-1 if k == n else 1 for k in range(rank)])
        for n, axis in enumerate(axes)
    }
    return Points(values, tuple(a.extent for a in axes))


def _turns(axes: Sequence[Axis], points: Points) -> Iterator[Points]:
    """The points with each setting of the axes, in order."""
    for turn in product(*(range(a.extent) for a in axes)):
        yield points.bind({a.symbol: np.asarray(v) for a, v in zip(axes, turn, strict=True)})


def _values(
    definition: Definition, points: Points, memory: Memory
) -> tuple[Array, Points, list[Array]]:
    """(mask of the domain, the points in it as a list, the values there)."""
    mask = holds(definition.domain, points, memory.read)
    inside = points.where(mask)
    values = evaluate(definition.values, inside, memory.read)
    return mask, inside, [np.broadcast_to(v, inside.shape) for v in values]


def _offsets(definition: Definition, points: Points, memory: Memory) -> Array:
    """Where the outputs are written."""
    if 0 in points.shape:
        return np.zeros(points.shape, np.int64)
    positions = evaluate_indices(definition.index, points, memory.read)
    offsets = [memory.offsets(b, tuple(positions)) for b in definition.outputs]
    for other in definition.outputs[1:]:
        if other.shape != definition.outputs[0].shape:
            raise InternalError("outputs of one definition differ in shape", memory.place)
    return np.broadcast_to(offsets[0], points.shape)


def _assign(definition: Definition, memory: Memory) -> None:
    scanned = [a for a in definition.axes if a.kind is AxisKind.SCAN]
    free = _grid([a for a in definition.axes if a.kind is not AxisKind.SCAN])
    for points in _turns(scanned, free):
        _, inside, values = _values(definition, points, memory)
        memory.assign(definition.outputs, _offsets(definition, inside, memory), values, False)


def _update(definition: Definition, memory: Memory) -> None:
    _, inside, values = _values(definition, _grid(definition.axes), memory)
    offsets = _offsets(definition, inside, memory)
    if definition.combiner is None:
        memory.assign(definition.outputs, offsets, values, True)
    else:
        memory.combine(definition.outputs, offsets, values, definition.combiner)


def _reduce(definition: Definition, memory: Memory) -> None:
    combiner = definition.combiner
    assert combiner is not None
    reduced = [a for a in definition.axes if a.kind is AxisKind.REDUCE]
    free = _grid([a for a in definition.axes if a.kind is not AxisKind.REDUCE])
    totals = identities(combiner, free.shape)
    for points in _turns(reduced, free):
        mask, inside, values = _values(definition, points, memory)
        slots = {s: total[mask] for s, total in zip(combiner.left, totals, strict=True)}
        slots |= dict(zip(combiner.right, values, strict=True))
        results = evaluate(combiner.results, Points({}, inside.shape), memory.read, slots)
        for total, result in zip(totals, results, strict=True):
            total[mask] = result
    offsets = _offsets(definition, free, memory)
    flat = [t.reshape(-1) for t in totals]
    memory.assign(definition.outputs, offsets, flat, False)
