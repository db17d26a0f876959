"""Boxes of buffer elements that blocks touch while some of the loops around them run.

An interval is (lowest index over the symbols held still, constant number of values); it may be
larger than what is touched, never smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..ir.expr import index as ix
from ..ir.expr.index import Ranges, dynamics
from ..ir.expr.nodes import Atom, Buffer, FloorDiv, Index, Mod, Symbol
from ..ir.expr.values import loads
from ..ir.loop.nodes import Block, For

Interval: TypeAlias = tuple[Index, int]


def write_index(block: Block, known: Ranges) -> tuple[Index, ...]:
    """Where the block writes, over the loops around it."""
    return tuple(ix.substitute(i, axes_of(block), known) for i in block.definition.index)


def read_indices(block: Block, buffer: Buffer, known: Ranges) -> list[tuple[Index, ...]]:
    """Each place where the block reads the buffer, over the loops around it."""
    inside = [d.value for i in block.definition.index for d in dynamics(i)]
    axes = axes_of(block)
    found = {
        tuple(ix.substitute(i, axes, known) for i in load.index): None
        for load in loads((*block.definition.values, *inside))
        if load.buffer is buffer
    }
    return list(found)


def axes_of(block: Block) -> dict[Symbol, Index]:
    """The block's axes as indices over the loops around it."""
    return {
        axis.symbol: binding
        for axis, binding in zip(block.definition.axes, block.bindings, strict=True)
    }


def interval(index: Index, running: Sequence[For]) -> Interval | None:
    """The values of an index while these loops run; None if they have no such form."""
    known = {loop.symbol: (0, max(loop.extent - 1, 0)) for loop in running}
    still: list[tuple[Atom, int]] = []
    low, high = index.const, index.const
    for atom, c in index.terms:
        found = _atom_interval(atom, known, running)
        if found is None:
            return None
        lowest, extent = found
        still.extend((a, k * c) for a, k in lowest.terms)
        ends = (lowest.const * c, (lowest.const + extent - 1) * c)
        low, high = low + min(ends), high + max(ends)
    return ix.add(ix.make(0, _sum(still)), low), high - low + 1


def _sum(terms: Iterable[tuple[Atom, int]]) -> dict[Atom, int]:
    total: dict[Atom, int] = {}
    for atom, c in terms:
        total[atom] = total.get(atom, 0) + c
    return total


def _atom_interval(atom: Atom, known: Ranges, running: Sequence[For]) -> Interval | None:
    if isinstance(atom, Symbol):
        if atom in known:
            low, high = known[atom]
            return ix.constant(int(low)), int(high - low) + 1
        return ix.of(atom), 1
    if isinstance(atom, FloorDiv | Mod) and not dynamics(atom.operand):
        inside = ix.symbols(atom.operand)
        if not inside & known.keys():
            return ix.of(atom), 1
        if inside <= known.keys():
            low, high = ix.bounds(ix.of(atom), known)
            return ix.constant(int(low)), int(high - low) + 1
        if isinstance(atom, Mod):
            return ix.ZERO, atom.divisor
        operand = interval(atom.operand, running)
        if operand is None:
            return None
        lowest = operand[0]
        exact = all(c % atom.divisor == 0 for _, c in lowest.terms)
        slack = lowest.const % atom.divisor if exact else atom.divisor - 1
        return (
            ix.floor_divide(lowest, atom.divisor),
            (operand[1] - 1 + slack) // atom.divisor + 1,
        )
    low, high = ix.bounds(ix.of(atom), known)
    if isinstance(low, int) and isinstance(high, int):
        return ix.constant(low), high - low + 1
    return None


def union(intervals: Sequence[Interval | None]) -> Interval | None:
    """An interval that holds all of these; None if their distances are not constant."""
    known = [i for i in intervals if i is not None]
    if not known or len(known) < len(intervals):
        return None
    base = known[0][0]
    low, high = 0, known[0][1]
    for lowest, extent in known[1:]:
        distance = ix.subtract(lowest, base)
        if distance.terms:
            return None
        low = min(low, distance.const)
        high = max(high, distance.const + extent)
    return ix.add(base, low), high - low


def separated(a: Sequence[Interval | None], b: Sequence[Interval | None], loop: For) -> bool:
    """Whether two boxes of different iterations of `loop` never meet.

    Each dimension may show one digit of the iteration's number, `(number // low) % count`, if both
    boxes move with it in steps no smaller than their joint extent. Together the digits must tell
    the number: a fused loop shows a digit in each dimension that it was fused from.
    """
    digits: list[tuple[int, int]] = []
    for x, y in zip(a, b, strict=True):
        both = union([x, y])
        if both is None:
            continue
        moving = [(atom, c) for atom, c in both[0].terms if _moves(atom, loop.symbol)]
        if len(moving) == 1 and both[1] <= abs(moving[0][1]):
            digit = _digit(moving[0][0], loop)
            if digit is not None:
                digits.append(digit)
    known = 1
    for low, count in sorted(digits):
        if known % low:
            break
        known = max(known, low * count)
    return known >= loop.extent


def _moves(atom: Atom, symbol: Symbol) -> bool:
    return atom is symbol or (
        isinstance(atom, FloorDiv | Mod) and symbol in ix.symbols(atom.operand)
    )


def _digit(atom: Atom, loop: For) -> tuple[int, int] | None:
    """(low, count) of the digit that an atom is of a loop's number."""
    match atom:
        case Symbol():
            return 1, loop.extent
        case FloorDiv(operand, low) if operand == ix.of(loop.symbol):
            return low, -(-loop.extent // low)
        case Mod(operand, count) if operand == ix.of(loop.symbol):
            return 1, count
        case Mod(Index(const=0, terms=((FloorDiv(operand, low), 1),)), count) if operand == ix.of(
            loop.symbol
        ):
            return low, count
        case _:
            return None
