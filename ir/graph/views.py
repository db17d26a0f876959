"""Which equations only name memory that exists already: reshapes, slices, updates of ranges."""

from __future__ import annotations

from math import gcd, prod

from .nodes import Equation
from .ops import Reshape, Slice, UpdateSlice


def contiguous_range(
    operand: tuple[int, ...],
    starts: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
) -> int | None:
    """The element offset at which a box lies in one piece of a C-ordered array, else None.

    In one piece means: single positions on leading axes, then a range with step 1, then whole axes.
    """
    ranged = False
    offset = 0
    stride = prod(operand)
    for extent, start, size, step in zip(operand, starts, sizes, steps, strict=True):
        if size == 0 or extent == 0:
            return 0
        stride //= extent
        offset += start * stride
        if ranged and size != extent:
            return None
        if size > 1:
            if step != 1:
                return None
            ranged = True
    return offset


def store_offset(equation: Equation) -> int | None:
    """The element offset of an update of one contiguous range, else None."""
    match equation.op:
        case UpdateSlice(starts, steps):
            operand, update = equation.inputs
            return contiguous_range(operand.type.shape, starts, update.type.shape, steps)
        case _:
            return None


def is_view(equation: Equation) -> bool:
    """Whether the result of the equation is part of its operand's memory, perhaps strided."""
    return isinstance(equation.op, Reshape | Slice)


def is_small_part(equation: Equation) -> bool:
    """Whether a slice or update concerns less than half of its operand."""
    part = equation.inputs[-1] if isinstance(equation.op, UpdateSlice) else equation.outputs[0]
    return 2 * part.type.size < max(equation.inputs[0].type.size, 1)


def is_store(equation: Equation) -> bool:
    """Whether an update is best done by whoever makes its value: a small contiguous range."""
    return store_offset(equation) is not None and is_small_part(equation)


def disturbs(update: Equation, reader: Equation) -> bool:
    """Whether an in-place update could change elements that `reader` still needs.

    `reader` reads the updated operand, at its own positions, point by point with the update.
    """
    match update.op, reader.op:
        case UpdateSlice(starts, steps), Slice(other, sizes, other_steps):
            shape = update.inputs[1].type.shape
            if (starts, shape, steps) == (other, sizes, other_steps):
                return False
            return not any(
                _apart(_run(a, n, s), _run(b, m, t))
                for a, n, s, b, m, t in zip(
                    starts, shape, steps, other, sizes, other_steps, strict=True
                )
            )
        case _:
            return True


def _run(start: int, size: int, step: int) -> range:
    return range(start, start + size * step, step)


def _apart(a: range, b: range) -> bool:
    """Whether two progressions share no number (found by bounds and residues)."""
    if not a or not b:
        return True
    if max(a[0], a[-1]) < min(b[0], b[-1]) or max(b[0], b[-1]) < min(a[0], a[-1]):
        return True
    return (a[0] - b[0]) % gcd(a.step, b.step) != 0
