"""Nests without reduction: fused to long contiguous loops, in vectors, shared among workers."""

from __future__ import annotations

from ...ir.expr.nodes import Load, Symbol
from ...ir.expr.values import postorder
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, Definition
from .. import find
from ..legality import independent
from ..loops import reorder, split_into
from ..marks import partition
from ..memory import cache_read
from ..placement import bare, compute_at
from . import access
from .steps import fuse_axes, share, vector_tile

TILE = 64
"""Side of a square that is read along another axis than it is written: runs of whole lines in
both, and not many pages."""

MOST_LANES = 64
"""As many lanes as emitters take in one loop."""

VECTORS = 2
"""Vectors written out in a loop, where the work of one does not already fill the pipeline."""


def matches(definition: Definition) -> bool:
    """Whether points may be evaluated in any order, and none is a reduction."""
    plain = definition.combiner is None or definition.update
    return plain and independent(definition) and bool(access.points(definition) and definition.axes)


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of an elementwise definition, for one kernel-wide pass over memory."""
    block = definition.name
    runs = access.runs(definition, definition.axes)
    program, loops = fuse_axes(program, block, runs)
    lane = max(range(len(runs)), key=lambda k: (access.contiguity(definition, runs[k][-1]), k))
    lanes = access.lanes(definition, target)
    vectors = VECTORS
    if access.cycles(definition) >= access.HEAVY:
        # A long formula waits for its own results: two of them go step by step, side by side.
        lanes, vectors = min(2 * lanes, MOST_LANES), 1
    crossed = _crossed(definition, runs, lane)
    outer = [loop for k, loop in enumerate(loops) if k != lane]
    if crossed is not None:
        number, load = crossed
        program, among = _through_tiles(
            program, block, load, (*outer, loops[number], loops[lane]), lanes
        )
    else:
        program = reorder(program, *outer, loops[lane])
        program, inner = vector_tile(program, loops[lane], lanes, vectors)
        among = outer if inner is None else [*outer, inner]
    if access.worth_sharing([definition], target):
        program = share(program, block, among)
    return program


def _crossed(definition: Definition, runs: list[list[Axis]], lane: int) -> tuple[int, Load] | None:
    """A load that is contiguous along another run than the lanes' (long ones both), and that run.

    None if its buffer is also read in another way.
    """
    along = runs[lane][-1]
    reads = [v for v in postorder(access.roots(definition)) if isinstance(v, Load)]
    for number, run in enumerate(runs):
        if number == lane or min(run[-1].extent, along.extent) < TILE:
            continue
        for load in reads:
            found = access.of_load(load)
            here, there = access.stride(found, run[-1]), access.stride(found, along)
            alone = sum(other.buffer is load.buffer for other in reads) == 1
            plain = all(bare(i) is not None or not i.terms for i in load.index)
            if here == 1 and there is not None and abs(there) >= TILE and alone and plain:
                return number, load
    return None


def _through_tiles(
    program: LoopProgram, block: str, load: Load, loops: tuple[Symbol, ...], lanes: int
) -> tuple[LoopProgram, list[Symbol]]:
    """Copies square tiles of what is read crosswise, line by line, and reads the copy crosswise.

    So every cache line of both arrays is touched once. `loops` ends with the loop along which the
    load is contiguous and that of the lanes.
    """
    *outer, across, along = loops
    outer = [loop for loop in outer if loop is not across]
    steps = access.strides(load.buffer)
    order = sorted(range(len(steps)), key=lambda d: -abs(steps[d]))
    before = {p.block.name for p in find.blocks(program)}
    program = cache_read(program, block, load.buffer.name, order=order)
    (copy,) = (p.block.name for p in find.blocks(program) if p.block.name not in before)
    program, line, row = split_into(program, across, TILE)
    program, tile, rest = split_into(program, along, TILE)
    program = reorder(program, *outer, line, tile, row, rest)
    program = partition(partition(program, line), tile)
    program = compute_at(program, copy, tile)
    program, _ = vector_tile(program, rest, lanes, VECTORS)
    innermost = find.block(program, copy).around[-1].symbol
    program, _ = vector_tile(program, innermost, lanes, VECTORS)
    return program, [*outer, line]
