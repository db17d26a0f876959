"""Depthwise convolution in the blocked layout: channels are lanes, neighbouring pixels a tile."""

from __future__ import annotations

from ...ir.expr.nodes import Scope
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Definition
from ..loops import reorder, split_into
from ..marks import partition, unroll, vectorize
from ..memory import cache_write
from . import access
from .conv import recognise
from .epilogue import ride
from .steps import extent, loops_of, share

MOST_TAPS = 16
"""Kernel columns that are written out, so that neighbouring pixels share what they load."""


def matches(definition: Definition) -> bool:
    """Whether result, picture and weights of a window sum all walk groups innermost."""
    window = recognise(definition)
    if window is None or not access.points(definition) or len(window.pixels) < 2:
        return False
    return window.innermost in window.groups and not window.channels


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of a depthwise convolution, with what follows it in the store of the tile."""
    window = recognise(definition)
    assert window is not None
    name = definition.name
    lanes = access.lanes(definition, target)
    loops = loops_of(program, name)
    lane_axis = window.groups[-1]
    *images, down, right = window.pixels
    outer = [loops[a.symbol] for a in (*images, *window.groups[:-1], down)]
    x, lane = loops[right.symbol], loops[lane_axis.symbol]
    terms = [loops[a.symbol] for a in window.terms]
    program = reorder(program, *outer, x, lane, *terms)
    if extent(program, lane) > lanes:
        program, group, lane = split_into(program, lane, lanes)
        outer.insert(len(outer) - 1, group)
    program, tile, pixel = split_into(program, x, tile_width(right.extent, target.vector_registers))
    program = reorder(program, *outer, tile, *terms, pixel, lane)
    program = partition(unroll(vectorize(program, lane), pixel), tile)
    if window.terms and window.terms[-1].extent <= MOST_TAPS:
        program = unroll(program, terms[-1])
    program = cache_write(program, name, Scope.REGISTER, tile)
    program = ride(program, f"{name}.store")
    if access.worth_sharing([definition], target):
        program = share(program, name, [*outer, tile])
    return program


def tile_width(pixels: int, registers: int) -> int:
    """Pixels of a tile: half the registers hold sums; few turns and little remainder."""
    most = max(1, registers // 2)
    return min(range(1, min(most, pixels) + 1), key=lambda w: (-(-pixels // w) * (w + 2), -w))
