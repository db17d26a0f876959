"""How loops and stores are carried out: vectorize, unroll, parallel, partition, stream."""

from __future__ import annotations

from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr.nodes import Scope
from ..ir.loop.nodes import For, LoopKind, LoopProgram
from . import find
from .find import LoopName, LoopPlace
from .legality import require_parallel, require_vector
from .trees import put

MOST_LANES = 1024
MOST_UNROLLED = 4096


def vectorize(program: LoopProgram, loop: LoopName) -> LoopProgram:
    """Makes the iterations of a loop the lanes of vector instructions.

        for i in 8: A   ->   vector i in 8: A

    Refused when: a loop inside it is neither unrolled (vector_inner); it has more than 1,024 turns
    (vector_extent); lanes cannot run together (vector_order, vector_idle, ordered_update,
    carried_dependence).
    """
    place = find.loop(program, loop)
    _require_unmarked(place)
    if place.loop.extent > MOST_LANES:
        raise ScheduleError(
            f"{place.loop.symbol.name!r} has {place.loop.extent} turns, too many for lanes",
            None,
            "split it by the number of lanes and vectorise the inner loop",
            code="vector_extent",
        )
    for inner in find.loops_below(place.loop)[1:]:
        if inner.kind is not LoopKind.UNROLL:
            raise ScheduleError(
                f"{inner.symbol.name!r} runs inside {place.loop.symbol.name!r}",
                None,
                "vectorise the innermost loop, or unroll those inside it",
                code="vector_inner",
            )
    require_vector(place)
    return _mark(program, place, LoopKind.VECTOR)


def unroll(program: LoopProgram, loop: LoopName) -> LoopProgram:
    """Writes the iterations of a loop out, one after another.

        for i in 4: A   ->   unroll i in 4: A

    Refused when: it has more than 4,096 turns, those of unrolled loops inside included
    (unroll_extent).
    """
    place = find.loop(program, loop)
    _require_unmarked(place)
    copies = place.loop.extent
    for inner in find.loops_below(place.loop)[1:]:
        if inner.kind is LoopKind.UNROLL:
            copies *= max(inner.extent, 1)
    if copies > MOST_UNROLLED:
        raise ScheduleError(
            f"unrolling {place.loop.symbol.name!r} would write {copies} copies",
            None,
            "split it and unroll the inner loop",
            code="unroll_extent",
        )
    return _mark(program, place, LoopKind.UNROLL)


def parallel(program: LoopProgram, loop: LoopName) -> LoopProgram:
    """Shares the iterations of an outermost loop among the workers.

        for i: A   ->   parallel i: A

    Refused when: another loop is around it (parallel_nested); iterations depend on one another
    (parallel_order, ordered_update, carried_dependence).
    """
    place = find.loop(program, loop)
    _require_unmarked(place)
    if place.around:
        raise ScheduleError(
            f"{place.loop.symbol.name!r} is inside {place.around[0].symbol.name!r}",
            None,
            "reorder or fuse so that the parallel loop is outermost",
            code="parallel_nested",
        )
    require_parallel(program, place)
    return _mark(program, place, LoopKind.PARALLEL)


def partition(program: LoopProgram, loop: LoopName) -> LoopProgram:
    """Lets lowering cut a loop where a guard inside it changes state.

        for i in 3: A where 9 - 4*i - j >= 0   ->   the turns 0, 1 without guard, then turn 2

    Refused when: the loop is vectorised (marked_loop).
    """
    place = find.loop(program, loop)
    if place.loop.kind is LoopKind.VECTOR:
        raise ScheduleError(
            f"{place.loop.symbol.name!r} is vectorised: its lanes cannot be cut apart",
            None,
            "partition the loop around it",
            code="marked_loop",
        )
    return put(program, place.path, replace(place.loop, partition=True))


def stream(program: LoopProgram, block: str) -> LoopProgram:
    """Lets a block store its results past the caches: for results that are not read soon.

    Refused when: the block keeps its results in the kernel (stream_inner) or combines them with
    what is there (stream_update).
    """
    place = find.block(program, block)
    definition = place.block.definition
    if any(buffer.scope is not Scope.GLOBAL for buffer in definition.outputs):
        raise ScheduleError(
            f"{block} writes a buffer of the kernel, which is read again",
            definition.source,
            "stream only results of the kernel",
            code="stream_inner",
        )
    if definition.combiner is not None:
        raise ScheduleError(
            f"{block} combines its results in memory",
            definition.source,
            "cache_write first, and stream the copy",
            code="stream_update",
        )
    return put(program, place.path, replace(place.block, stream=True))


def _require_unmarked(place: LoopPlace) -> None:
    if place.loop.kind is not LoopKind.SERIAL:
        raise ScheduleError(
            f"{place.loop.symbol.name!r} is already marked {place.loop.kind.value}",
            None,
            "a loop takes one mark (partition may be added to any)",
            code="marked_loop",
        )


def _mark(program: LoopProgram, place: LoopPlace, kind: LoopKind) -> LoopProgram:
    marked: For = replace(place.loop, kind=kind)
    return put(program, place.path, marked)
