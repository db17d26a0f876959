"""Reductions that stand alone: along contiguous memory, and across it."""

from __future__ import annotations

from ...ir.expr.nodes import Scope, Symbol
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import AxisKind, Definition
from .. import find
from ..legality import independent, kinds, may_reassociate
from ..loops import reorder, split_into
from ..marks import parallel, partition, unroll, vectorize
from ..memory import cache_write
from ..reduction import rfactor
from . import access
from .steps import extent, fuse_axes, lane_sums, share

WAYS = 8
"""Partial vectors: they keep both adders busy during a latency, and enough lines on their way."""

CHUNK = 1 << 14
"""Terms that one worker adds up at least before partial results are combined."""

MOST_CHUNKS = 64

STRIP = 16
"""Vectors of partial results, one beside the other, that a reduction across memory keeps."""


def matches(definition: Definition) -> bool:
    """Whether the definition reduces, and has no scan."""
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    reduced = access.of_kind(definition, AxisKind.REDUCE)
    whole = len(spatial) + len(reduced) == len(definition.axes)
    return bool(reduced) and whole and independent(definition) and access.points(definition) > 0


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of one reduction."""
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    reduced = access.of_kind(definition, AxisKind.REDUCE)
    kept = max((access.contiguity(definition, axis) for axis in spatial), default=-100)
    along = max(access.contiguity(definition, axis) for axis in reduced)
    if along > kept and may_reassociate(definition):
        return _along(program, definition, target)
    return _across(program, definition, target)


def _along(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The terms lie side by side: lanes are partial results."""
    block = definition.name
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    reduced = access.of_kind(definition, AxisKind.REDUCE)
    program, loops = fuse_axes(program, block, access.runs(definition, [*spatial, *reduced]))
    kept = [loop for loop in loops if _is_spatial(program, block, loop)]
    terms = [loop for loop in loops if loop not in kept]
    shared = access.worth_sharing([definition], target)
    few = 1
    for loop in kept:
        few *= extent(program, loop)
    lanes = access.lanes(definition, target)
    if shared and few == 1 and extent(program, terms[0]) > 1:
        program, block, terms = _chunks(program, block, kept, terms, lanes)
        kept = []
    program = lane_sums(program, block, terms[-1], lanes, WAYS)
    if shared and kept:
        program = share(program, block, kept)
    return program


def _chunks(
    program: LoopProgram, block: str, kept: list[Symbol], terms: list[Symbol], lanes: int
) -> tuple[LoopProgram, str, list[Symbol]]:
    """Partial results of stretches of the outermost reduce loop, for the workers to share.

    The number of stretches depends on the extent alone, so results do not depend on threads.
    """
    total = 1
    for loop in terms:
        total *= extent(program, loop)
    turns = extent(program, terms[0])
    pieces = max(1, min(MOST_CHUNKS, total // CHUNK, turns))
    size = -(-turns // pieces)
    if len(terms) == 1:
        size = -(-size // (WAYS * lanes)) * WAYS * lanes
    program, outer, inner = split_into(program, terms[0], size)
    program = reorder(program, outer, *kept, inner)  # loops of one turn may stand anywhere
    program = rfactor(program, outer, scope=Scope.SCRATCH)
    program = partition(parallel(program, outer), outer)
    return program, f"{block}.part", [inner, *terms[1:]]


def _is_spatial(program: LoopProgram, block: str, loop: Symbol) -> bool:
    return AxisKind.SPATIAL in kinds(find.block(program, block).block, loop)


def _across(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The terms lie apart, results side by side: a strip of results is kept in registers."""
    block = definition.name
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    reduced = access.of_kind(definition, AxisKind.REDUCE)
    if not spatial:
        return program
    best = max(spatial, key=lambda axis: access.contiguity(definition, axis))
    runs = access.runs(definition, [*spatial, *reduced])
    program, loops = fuse_axes(program, block, runs)
    lane = next(loop for run, loop in zip(runs, loops, strict=True) if best in run)
    kept = [loop for run, loop in zip(runs, loops, strict=True) if run[0] in spatial]
    terms = [loop for loop in loops if loop not in kept]
    outer = [loop for loop in kept if loop is not lane]
    lanes = access.lanes(definition, target)
    program = reorder(program, *outer, lane, *terms)
    strip = None
    if extent(program, lane) > lanes * STRIP:
        program, strip, lane = split_into(program, lane, lanes * STRIP)
        program = partition(program, strip)
    program = reorder(program, *terms, lane)
    if extent(program, lane) > lanes:
        program, vectors, lane = split_into(program, lane, lanes)
        program = unroll(program, vectors)
    program = vectorize(program, lane)
    at = strip if strip is not None else (outer[-1] if outer else None)
    if at is not None:
        program = cache_write(program, block, Scope.REGISTER, at)
    if access.worth_sharing([definition], target):
        among = [*outer, *([strip] if strip is not None else [])]
        program = share(program, block, among)
    return program
