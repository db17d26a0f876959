"""Running reductions: the scan goes in order, lanes and workers take what is beside it."""

from __future__ import annotations

from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import AxisKind, Definition
from ..legality import independent
from ..loops import reorder, split_into
from ..marks import partition, unroll
from . import access
from .steps import extent, loops_of, share, vector_tile

STRIP = 64
"""Vectors of running results that one worker carries along side by side."""

CHAINS = 4
"""Scans along contiguous memory that are carried on in turns: each step waits for its last."""


def matches(definition: Definition) -> bool:
    """Whether the definition has a scan axis and may be reordered beside it."""
    scanned = access.of_kind(definition, AxisKind.SCAN)
    return bool(scanned) and independent(definition) and access.points(definition) > 0


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of a scan."""
    block = definition.name
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    loops = loops_of(program, block)
    outer = [loops[a.symbol] for a in spatial]
    scanned = [loops[a.symbol] for a in access.of_kind(definition, AxisKind.SCAN)]
    if spatial:
        beside = max(spatial, key=lambda a: access.contiguity(definition, a))
        lane = loops[beside.symbol]
        if access.contiguity(definition, beside) > 0:
            lanes = access.lanes(definition, target)
            outer.remove(lane)
            program = reorder(program, *outer, lane, *scanned)
            if extent(program, lane) > STRIP * lanes:
                program, strip, lane = split_into(program, lane, STRIP * lanes)
                outer.append(strip)
            program = reorder(program, *outer, *scanned, lane)
            program, _ = vector_tile(program, lane, lanes, 2)
        elif extent(program, outer[-1]) >= CHAINS:
            program, outer[-1], chain = split_into(program, outer[-1], CHAINS)
            program = reorder(program, *outer, *scanned, chain)
            program = partition(unroll(program, chain), outer[-1])
    if access.worth_sharing([definition], target):
        program = share(program, block, outer)
    return program
