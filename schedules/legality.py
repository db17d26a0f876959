"""What may be done to a loop, read from the program alone.

- Iterations along spatial axes are independent, unless the block updates through run-time indices
  or reads what it writes.
- Iterations along a reduce axis combine into one element: their order is part of the meaning for
  floating sums under `exact_order`, and never free for concurrent work (rfactor makes it so).
- Iterations along a scan axis happen in order.
- Blocks that share a loop must not hand data from one of its iterations to another.
"""

from __future__ import annotations

from ..ir import dtypes
from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.index import dynamics
from ..ir.expr.nodes import Buffer, Index, Scope, Symbol
from ..ir.expr.values import loads
from ..ir.loop.nodes import Block, For, LoopProgram
from ..ir.tensor.nodes import AxisKind, Definition
from .find import LoopPlace, below, ranges, readers, reads
from .regions import interval, read_indices, separated, write_index

COMMUTATIVE = frozenset({"sum", "prod", "max", "min", "and", "or", "argmax", "argmin"})


def kinds(block: Block, symbol: Symbol) -> frozenset[AxisKind]:
    """The kinds of the block's axes that a loop's symbol is part of."""
    return frozenset(
        axis.kind
        for axis, binding in zip(block.definition.axes, block.bindings, strict=True)
        if symbol in ix.symbols(binding)
    )


def may_reassociate(definition: Definition) -> bool:
    """Whether the reduction's terms may be combined in another order or grouping."""
    combiner = definition.combiner
    if combiner is None or combiner.name not in COMMUTATIVE:
        return False
    exact = combiner.name not in ("sum", "prod") or not any(
        dtypes.is_float(value.dtype) for value in definition.values
    )
    return exact or not definition.exact_order


def independent(definition: Definition) -> bool:
    """Whether the definition's points may be evaluated in any order along spatial axes.

    False for updates whose target is computed at run time or may be named twice, and for
    definitions that read their own output elsewhere than along a scan.
    """
    if any(dynamics(i) for i in definition.index):
        return False
    scanned = {axis.symbol for axis in definition.axes if axis.kind is AxisKind.SCAN}
    for load in loads(definition.values):
        if load.buffer not in definition.outputs:
            continue
        for read, written in zip(load.index, definition.index, strict=True):
            along = ix.symbols(read) | ix.symbols(written)
            if read != written and (not along or not along <= scanned):
                return False
    return not definition.update or _injective(definition)


def _injective(definition: Definition) -> bool:
    alone: set[Symbol] = set()
    for index in definition.index:
        inside = ix.symbols(index)
        if len(inside) == 1 and len(index.terms) == 1 and isinstance(index.terms[0][0], Symbol):
            alone |= inside
    spatial = {a.symbol for a in definition.axes if a.kind is not AxisKind.REDUCE and a.extent > 1}
    return spatial <= alone


def require_parallel(program: LoopProgram, place: LoopPlace) -> None:
    """Refuses a loop whose iterations cannot run at the same time on several workers."""
    inside = below(place.loop)
    for block in inside:
        found = kinds(block, place.loop.symbol)
        if found - {AxisKind.SPATIAL}:
            raise _refusal(
                place,
                block,
                "its iterations combine into one element or follow one another",
                "rfactor the reduction first, or mark a loop of a spatial axis",
                "parallel_order",
            )
        _require_independent(place, block)
        if not found and not _private(program, block, inside):
            raise _refusal(
                place,
                block,
                "every iteration would write the same elements",
                "move the block out of the loop",
                "parallel_shared",
            )
    _require_no_carried(place, private=True)


def _private(program: LoopProgram, block: Block, inside: list[Block]) -> bool:
    """Whether what the block writes is used by these blocks alone."""
    return all(
        buffer.scope is not Scope.GLOBAL
        and all(p.block in inside for p in readers(program, buffer))
        for buffer in block.definition.outputs
    )


def require_vector(place: LoopPlace) -> None:
    """Refuses a loop whose iterations cannot be the lanes of vector instructions."""
    for block in below(place.loop):
        found = kinds(block, place.loop.symbol)
        if AxisKind.SCAN in found:
            raise _refusal(
                place, block, "a scan goes in order", "vectorise a spatial axis", "vector_order"
            )
        exact = block.definition.exact_order or not may_reassociate(block.definition)
        if AxisKind.REDUCE in found and exact:
            raise _refusal(
                place,
                block,
                "lanes would add in another order than the program's (precision 'highest')",
                "vectorise a spatial axis, or allow reassociation by precision='default'",
                "vector_order",
            )
        if not found:
            raise _refusal(
                place,
                block,
                "the block does not depend on it, so that every lane would write one element",
                "vectorise before moving the block here, or move it out",
                "vector_idle",
            )
        _require_independent(place, block)
    _require_no_carried(place, private=False)


def require_reorder(loops: tuple[LoopPlace, ...]) -> None:
    """Refuses an exchange of nested loops that would change the meaning."""
    for place in loops:
        for block in below(place.loop):
            if kinds(block, place.loop.symbol):
                _require_independent(place, block)
        _require_no_carried(place, private=True)


def require_term_order(block: Block, old: tuple[For, ...], new: tuple[For, ...]) -> None:
    """Refuses a new order of scan loops, and of reduce loops where the order of terms matters."""
    if _along(block, old, AxisKind.SCAN) != _along(block, new, AxisKind.SCAN):
        raise ScheduleError(
            f"{block.name} is a scan, its iterations follow one another",
            block.definition.source,
            "keep the order of its scan loops",
            code="reorder_scan",
        )
    symbols, after = _along(block, old, AxisKind.REDUCE), _along(block, new, AxisKind.REDUCE)
    if symbols != after and not may_reassociate(block.definition):
        raise ScheduleError(
            f"the terms of {block.name} would be combined in another order than the program's",
            block.definition.source,
            "keep the order of its reduce loops, or allow reassociation by precision='default'",
            code="reorder_reduce",
        )


def _along(block: Block, loops: tuple[For, ...], kind: AxisKind) -> list[Symbol]:
    return [loop.symbol for loop in loops if kind in kinds(block, loop.symbol)]


def _require_independent(place: LoopPlace, block: Block) -> None:
    if not independent(block.definition):
        raise _refusal(
            place,
            block,
            "it may write an element twice or read what it writes, so that its order matters",
            "leave the loops around it serial and in place",
            "ordered_update",
        )


def carried(place: LoopPlace, private: bool) -> tuple[Block, Block, Buffer] | None:
    """Two blocks below a loop where one may use the other's data of another iteration, if any.

    `private`: a buffer that is wholly written and read within each iteration may be taken as
    belonging to the iteration.
    """
    symbol = place.loop.symbol
    inside = _with_loops(place.loop, ())
    for writer, writer_loops in inside:
        for buffer in writer.definition.outputs:
            for other, other_loops in inside:
                if other is writer:
                    continue
                if buffer in other.definition.outputs:
                    indices = [write_index(other, ranges((*place.around, *other_loops)))]
                elif buffer in reads(other.definition):
                    known = ranges((*place.around, *other_loops))
                    indices = read_indices(other, buffer, known)
                else:
                    continue
                written = write_index(writer, ranges((*place.around, *writer_loops)))
                still = not any(symbol in ix.symbols(i) for i in written)
                if still and private and not writer.definition.update:
                    continue
                # A reduction over this loop is complete only after its last iteration.
                complete = AxisKind.REDUCE not in kinds(writer, symbol)
                for index in indices:
                    if (
                        complete
                        and not writer.definition.update
                        and _same_turn(written, writer_loops[1:], index, other_loops[1:])
                    ):
                        continue
                    mine = [interval(i, writer_loops[1:]) for i in written]
                    theirs = [interval(i, other_loops[1:]) for i in index]
                    if not separated(mine, theirs, place.loop):
                        return writer, other, buffer
    return None


def _same_turn(
    written: tuple[Index, ...],
    writer_loops: tuple[For, ...],
    index: tuple[Index, ...],
    loops: tuple[For, ...],
) -> bool:
    """Whether an access walks just the elements that the iteration writes, each written once."""
    made, used = _walked(written, writer_loops), _walked(index, loops)
    if [loop.extent for loop in made] != [loop.extent for loop in used]:
        return False
    names = {a.symbol: ix.of(b.symbol) for a, b in zip(used, made, strict=True)}
    return tuple(ix.substitute(i, names) for i in index) == written


def _walked(index: tuple[Index, ...], loops: tuple[For, ...]) -> list[For]:
    symbols = frozenset(s for i in index for s in ix.symbols(i))
    return [loop for loop in loops if loop.symbol in symbols]


def _require_no_carried(place: LoopPlace, private: bool) -> None:
    found = carried(place, private)
    if found is not None:
        writer, other, buffer = found
        raise _refusal(
            place,
            other,
            f"an iteration may use elements of {buffer.name} that {writer.name} writes in another",
            "give the blocks loops of their own",
            "carried_dependence",
        )


def _with_loops(node: For | Block, loops: tuple[For, ...]) -> list[tuple[Block, tuple[For, ...]]]:
    if isinstance(node, Block):
        return [(node, loops)]
    return [found for inner in node.body for found in _with_loops(inner, (*loops, node))]


def _refusal(place: LoopPlace, block: Block, why: str, fix: str, code: str) -> ScheduleError:
    return ScheduleError(
        f"loop {place.loop.symbol.name!r} around {block.name}: {why}",
        block.definition.source,
        fix,
        code=code,
    )
