"""How a definition walks memory along its axes, and what a point of it costs.

Templates choose from this: which axis is contiguous, which axes may be fused so that every access
stays affine, which vector width fits, and whether the work is worth sharing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.expr import index as ix
from ...ir.expr.nodes import Buffer, Check, Const, FromIndex, Guarded, Index, Load, Op, Value
from ...ir.expr.values import indices, postorder
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition

CYCLES = {
    "div": 6, "sqrt": 10, "pow": 60, "atan2": 60, "hypot": 20, "floor_div": 12, "mod": 12,
    "fmod": 20, "quotient": 24, "remainder": 24, "nextafter": 6,
    **dict.fromkeys(("exp", "exp2", "sigmoid", "tanh", "log", "log2", "log10"), 20),
    **dict.fromkeys(("expm1", "log1p", "sin", "cos", "erf", "cbrt"), 30),
    **dict.fromkeys(("tan", "asin", "acos", "atan", "sinh", "cosh"), 40),
    **dict.fromkeys(("asinh", "acosh", "atanh"), 50),
}  # fmt: skip
"""Rough cycles for one vector of results; everything else is one."""

HEAVY = 16
"""From this many cycles a point, unrolling only makes code."""

PARALLEL_CYCLES = 60_000
"""Work below this (some 20 us) is done before the other workers are awake."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One load or store: the flat position in elements over the axes."""

    buffer: Buffer
    offset: Index
    write: bool


def roots(definition: Definition) -> tuple[Value, ...]:
    """The values of a definition, those inside its write index and domain included."""
    inside = (d.value for i in (*definition.index, *definition.domain) for d in ix.dynamics(i))
    return (*definition.values, *inside)


def accesses(definition: Definition) -> list[Access]:
    """Every load and store."""
    found = [of_load(v) for v in postorder(roots(definition)) if isinstance(v, Load)]
    return found + [
        Access(output, ix.flatten(definition.index, strides(output)), True)
        for output in definition.outputs
    ]


def of_load(load: Load) -> Access:
    """The access of a load."""
    return Access(load.buffer, ix.flatten(load.index, strides(load.buffer)), False)


def strides(buffer: Buffer) -> tuple[int, ...]:
    """The buffer's strides in elements."""
    if buffer.strides is not None:
        return buffer.strides
    result: list[int] = []
    step = 1
    for extent in reversed(buffer.shape):
        result.append(step)
        step *= extent
    return tuple(reversed(result))


def stride(access: Access, axis: Axis) -> int | None:
    """How far one step along the axis moves the access; None if not by a constant."""
    return ix.coefficient(access.offset, axis.symbol)


def contiguity(definition: Definition, axis: Axis) -> int:
    """How well the axis serves as lanes: stores of neighbours count most, strided ones against."""
    if axis.extent <= 1:
        return -100
    score = 0
    for access in accesses(definition):
        step = stride(access, axis)
        weight = 4 if access.write else 3
        if step is None or abs(step) > 1:
            score -= weight
        elif abs(step) == 1:
            score += weight
    return score


def fusible(definition: Definition, outer: Axis, inner: Axis) -> bool:
    """Whether all indices stay affine when the two neighbouring axes become one."""
    found = [access.offset for access in accesses(definition)]
    for value in postorder(roots(definition)):
        if isinstance(value, FromIndex | Guarded):
            found.extend(indices(value))
    found.extend(definition.domain)
    for index in found:
        a, b = ix.coefficient(index, outer.symbol), ix.coefficient(index, inner.symbol)
        if a is None or b is None or a != b * inner.extent:
            return False
    return True


def runs(definition: Definition, axes: Sequence[Axis]) -> list[list[Axis]]:
    """The axes in runs of neighbours that may be fused."""
    result: list[list[Axis]] = []
    for axis in axes:
        if result and result[-1][-1].kind is axis.kind and _joins(definition, result[-1], axis):
            result[-1].append(axis)
        else:
            result.append([axis])
    return result


def _joins(definition: Definition, run: Sequence[Axis], axis: Axis) -> bool:
    return fusible(definition, run[-1], axis)


def itemsize(definition: Definition) -> int:
    """The size of the widest element that the definition computes with."""
    sizes = [
        value.dtype.itemsize
        for value in postorder(definition.values)
        if not isinstance(value, Const)
    ]
    return max([*sizes, *(o.dtype.itemsize for o in definition.outputs)])


def lanes(definition: Definition, target: Target) -> int:
    """How many points fill a vector register of the widest elements."""
    return target.lanes(itemsize(definition))


def cycles(definition: Definition) -> int:
    """A rough count of cycles for one vector of points."""
    total = 0
    for value in postorder(roots(definition)):
        if isinstance(value, Op):
            total += CYCLES.get(value.name, 1)
        elif isinstance(value, Load):
            total += 1
    return total + len(definition.outputs)


def points(definition: Definition) -> int:
    """How many points the definition has."""
    total = 1
    for axis in definition.axes:
        total *= axis.extent
    return total


def worth_sharing(definitions: Sequence[Definition], target: Target) -> bool:
    """Whether the work of these definitions together pays for waking other workers."""
    work = sum(points(d) * cycles(d) / min(lanes(d, target), 8) for d in definitions)
    return work >= PARALLEL_CYCLES


def checks(definition: Definition) -> bool:
    """Whether a point can end the kernel with an error."""
    return any(isinstance(value, Check) for value in postorder(roots(definition)))


def of_kind(definition: Definition, kind: AxisKind) -> list[Axis]:
    """The definition's axes of a kind, in order."""
    return [axis for axis in definition.axes if axis.kind is kind]
