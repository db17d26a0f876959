"""The axes of a block's definition: axes_from_loops, over_compute."""

from __future__ import annotations

from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Index, Scope, Symbol
from ..ir.expr.values import rewrite_with_index
from ..ir.loop.nodes import LoopProgram
from ..ir.tensor.nodes import Axis, AxisKind
from . import find
from .legality import kinds
from .memory import exchange
from .placement import bare
from .regions import read_indices
from .trees import put


def axes_from_loops(program: LoopProgram, block: str) -> LoopProgram:
    """Makes the loops around a block its axes.

        for x in 6: C[x // 3, x % 3] = v(x // 3, x % 3), axes h = x // 3, w = x % 3
        ->   the same with one axis x = x

    Tiles of fused loops can be cached only so: a stretch of x is a box, what it covers of (h, w)
    is not. Refused when: the block has a guard (axes_guard), or a loop that no axis is bound to,
    or that axes of several kinds are (axes_kinds).
    """
    place = find.block(program, block)
    old = place.block
    definition = old.definition
    if old.guard:
        raise ScheduleError(
            f"{block} has guards of imperfect tiles",
            definition.source,
            "take its loops for axes before splitting them",
            code="axes_guard",
        )
    axes: list[Axis] = []
    for loop in place.around:
        found = kinds(old, loop.symbol)
        if len(found) != 1:
            raise ScheduleError(
                f"loop {loop.symbol.name!r} is not along axes of one kind of {block}",
                definition.source,
                "each loop around the block must belong to some axis",
                code="axes_kinds",
            )
        axes.append(Axis(Symbol(loop.symbol.name), loop.extent, next(iter(found))))
    to_axis = {
        loop.symbol: ix.of(axis.symbol) for loop, axis in zip(place.around, axes, strict=True)
    }
    known = {axis.symbol: (0, max(axis.extent - 1, 0)) for axis in axes}
    mapping = {
        axis.symbol: ix.substitute(binding, to_axis, known)
        for axis, binding in zip(definition.axes, old.bindings, strict=True)
    }
    values, index = rewrite_with_index(
        definition.values, definition.index, mapping=mapping, ranges=known
    )
    new = replace(
        definition,
        axes=tuple(axes),
        index=index,
        values=values,
        domain=tuple(ix.substitute(d, mapping, known) for d in definition.domain),
    )
    bindings = tuple(ix.of(loop.symbol) for loop in place.around)
    return put(program, place.path, replace(old, definition=new, bindings=bindings))


def over_compute(program: LoopProgram, block: str, *axes: str) -> LoopProgram:
    """Drops the guards of imperfect tiles from a block whose output stays in the kernel.

        for i.o in 3: for i.i in 4: acc[4*i.o + i.i] = p[...] where 9 - 4*i.o - i.i >= 0
        ->   the same without guard, acc and the axis grown from 10 to 12

    Only the named axes grow, if names are given. Whoever reads the output keeps its guard, so what
    is computed too much never leaves. Refused when: the output is a parameter (scope_parameter); a
    grown axis would read outside a buffer (over_read).
    """
    place = find.block(program, block)
    definition = place.block.definition
    for buffer in definition.outputs:
        if buffer.scope is Scope.GLOBAL:
            raise ScheduleError(
                f"{block} writes {buffer.name}, a parameter of the kernel",
                definition.source,
                "cache_write first",
                code="scope_parameter",
            )
    known = find.ranges(place.around)
    grown: list[Axis] = []
    longer: set[Symbol] = set()
    dropped: set[Index] = set()
    for axis, binding in zip(definition.axes, place.block.bindings, strict=True):
        high = ix.bounds(binding, known)[1]
        wanted = axis.kind is AxisKind.SPATIAL and (not axes or axis.symbol.name in axes)
        if wanted and isinstance(high, int) and high >= axis.extent:
            grown.append(replace(axis, extent=high + 1))
            longer.add(axis.symbol)
            dropped.add(ix.subtract(ix.constant(axis.extent - 1), binding))
        else:
            grown.append(axis)
    reach = {axis.symbol: (0, max(axis.extent - 1, 0)) for axis in grown}
    identity = tuple(ix.of(axis.symbol) for axis in grown)
    for buffer in find.reads(definition):
        for index in read_indices(replace(place.block, bindings=identity), buffer, reach):
            for part, extent in zip(index, buffer.shape, strict=True):
                low, high = ix.bounds(part, reach)
                if ix.symbols(part) & longer and (low < 0 or high >= extent):
                    raise ScheduleError(
                        f"{block} would read outside {buffer.name}",
                        definition.source,
                        "pack what it reads to whole tiles by cache_read first",
                        code="over_read",
                    )
    sizes = {axis.symbol: axis.extent for axis in grown}
    shape = tuple(
        sizes.get(symbol, extent) if symbol is not None else extent
        for symbol, extent in (
            (bare(i), e) for i, e in zip(definition.index, definition.outputs[0].shape, strict=True)
        )
    )
    guard = tuple(g for g in place.block.guard if g not in dropped)
    grown_block = replace(
        place.block, definition=replace(definition, axes=tuple(grown)), guard=guard
    )
    program = put(program, place.path, grown_block)
    for buffer in definition.outputs:
        program = exchange(program, buffer, replace(buffer, shape=shape))
    return program
