"""Pooling and convolution in plain layout: lanes along the picture's rows.

Several output channels of a convolution (or several lines) share what is loaded of the picture.
"""

from __future__ import annotations

from ...ir.expr.nodes import Scope
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition
from ..legality import independent
from ..loops import reorder, split_into
from ..marks import partition, unroll, vectorize
from ..memory import cache_write
from . import access
from .conv import recognise
from .epilogue import ride
from .steps import extent, loops_of, share
from .tiles import register_tile


def matches(definition: Definition) -> bool:
    """Whether the definition reduces over windows, or has a restricted domain."""
    reduced = access.of_kind(definition, AxisKind.REDUCE)
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    if not reduced or not spatial or len(reduced) + len(spatial) < len(definition.axes):
        return False
    small = bool(definition.domain) or all(axis.extent <= 64 for axis in reduced)
    return small and independent(definition) and access.points(definition) > 0


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of a window reduction, with what follows it in the store of the tile."""
    name = definition.name
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    lane_axis = max(spatial, key=lambda a: (access.contiguity(definition, a), spatial.index(a)))
    lanes = access.lanes(definition, target)
    beside = _beside(definition, spatial, lane_axis)
    loops = loops_of(program, name)
    outer = [loops[a.symbol] for a in spatial if a not in (lane_axis, beside)]
    terms = [loops[a.symbol] for a in access.of_kind(definition, AxisKind.REDUCE)]
    lane = loops[lane_axis.symbol]
    among = list(outer)
    inner = []
    if beside is not None:
        height, vectors = register_tile(
            beside.extent, lane_axis.extent, lanes, target.vector_registers, range(1, 5)
        )
        program, block, member = split_into(program, loops[beside.symbol], height)
        among.append(block)
        inner.append(member)
    else:
        vectors = max(1, min(4, lane_axis.extent // lanes))
    program = reorder(program, *among, *inner, lane, *terms)
    tile = None
    if extent(program, lane) > vectors * lanes:
        program, tile, lane = split_into(program, lane, vectors * lanes)
        among.append(tile)
    program = reorder(program, *among, *terms, *inner, lane)
    if extent(program, lane) > lanes:
        program, vector, lane = split_into(program, lane, lanes)
        program = unroll(program, vector)
    program = vectorize(program, lane)
    for loop in inner:
        program = unroll(program, loop)
    for loop in among[len(outer) :]:
        program = partition(program, loop)
    if among:
        program = cache_write(program, name, Scope.REGISTER, among[-1])
        program = ride(program, f"{name}.store")
    if access.worth_sharing([definition], target):
        program = share(program, name, among)
    return program


def _beside(definition: Definition, spatial: list[Axis], lane: Axis) -> Axis | None:
    """The axis whose neighbours share the loads along the lanes: channels of a convolution."""
    window = recognise(definition)
    if window is None:
        return None
    channels = [a for a in window.channels if a is not lane and a in spatial and a.extent > 1]
    return channels[-1] if channels else None
