"""Direct convolution in the blocked layout: tiles of neighbouring pixels times output channels.

Padding is skipped: rows of the kernel by tightened loop bounds, its columns by cutting the loop
of tiles and that of columns where a product enters or leaves the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir.expr import index as ix
from ...ir.expr.nodes import Load, Scope, Symbol
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition
from ..axes import axes_from_loops
from ..legality import independent
from ..loops import reorder, split_into
from ..marks import partition, unroll, vectorize
from ..memory import cache_write
from ..placement import bare
from . import access
from .epilogue import ride
from .steps import extent, fuse_all, loops_of, share
from .tiles import factors, register_tile

MOST_BLOCKS = 4
"""Blocks of output channels that one tile may span."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A sum of picture * weights over windows: the axes by the operands that they move."""

    definition: Definition
    picture: Load
    weights: Load
    pixels: tuple[Axis, ...]  # move the picture alone
    channels: tuple[Axis, ...]  # move the weights alone
    groups: tuple[Axis, ...]  # move both
    terms: tuple[Axis, ...]

    @property
    def innermost(self) -> Axis:
        """The last spatial axis."""
        return access.of_kind(self.definition, AxisKind.SPATIAL)[-1]


def recognise(definition: Definition) -> Window | None:
    """The window sum that a definition is, if one factor is indexed by bare axes alone."""
    loads = factors(definition)
    if loads is None or not independent(definition):
        return None
    weights = [
        load for load in loads if all(bare(i) is not None or not i.terms for i in load.index)
    ]
    if not weights:
        return None
    picture = loads[0] if weights[-1] is loads[1] else loads[1]
    a, b = (
        frozenset(s for i in load.index for s in ix.symbols(i)) for load in (picture, weights[-1])
    )
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    return Window(
        definition,
        picture,
        weights[-1],
        tuple(x for x in spatial if (x.symbol in a and x.symbol not in b) or x.symbol not in a | b),
        tuple(x for x in spatial if x.symbol in b and x.symbol not in a),
        tuple(x for x in spatial if x.symbol in a and x.symbol in b),
        tuple(access.of_kind(definition, AxisKind.REDUCE)),
    )


def matches(definition: Definition) -> bool:
    """Whether a window sum has output channels innermost, in the result and in the weights."""
    window = recognise(definition)
    if window is None or not access.points(definition) or len(window.pixels) < 2:
        return False
    last = window.innermost
    return (
        last in window.channels
        and bare(definition.index[-1]) is last.symbol
        and bare(window.weights.index[-1]) is last.symbol
    )


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of a blocked convolution, with what follows it in the store of the tile."""
    window = recognise(definition)
    assert window is not None
    name = definition.name
    lanes = access.lanes(definition, target)
    loops = loops_of(program, name)
    *blocks, lane_axis = window.channels
    *images, down, right = window.pixels
    channels = [loops[a.symbol] for a in blocks]
    pictures = [loops[a.symbol] for a in (*images, *window.groups)]
    y, x, lane = loops[down.symbol], loops[right.symbol], loops[lane_axis.symbol]
    terms = [loops[a.symbol] for a in window.terms]
    program = reorder(program, *pictures, *channels, y, x, lane, *terms)
    lines = [y]
    if access.fusible(definition, down, right):
        program, x = fuse_all(program, [y, x])
        program = axes_from_loops(program, name)
        lines = []
    inside = -(-extent(program, lane) // lanes)
    count = blocks[-1].extent if blocks else 1
    height, vectors = register_tile(
        extent(program, x),
        lanes * inside * count,
        lanes,
        target.vector_registers,
        [*range(1, inside), *(inside * k for k in range(1, MOST_BLOCKS + 1) if count % k == 0)],
    )
    beside: list[Symbol] = []
    if vectors < inside:
        program, group, lane = split_into(program, lane, vectors * lanes)
        channels.append(group)
    elif vectors > inside:
        program, channels[-1], block = split_into(program, channels[-1], vectors // inside)
        beside = [block]
    program, tile, pixel = split_into(program, x, height)
    pixels = [*lines, tile]
    if prod(window.weights.buffer.shape) < prod(window.picture.buffer.shape):
        outer = [*pictures, *pixels, *channels]
    else:
        outer = [*pictures, *channels, *pixels]
    program = reorder(program, *outer, *terms, pixel, *beside, lane)
    if extent(program, lane) > lanes:
        program, vector, lane = split_into(program, lane, lanes)
        beside.append(vector)
    program = vectorize(program, lane)
    for loop in (*reversed(beside), pixel):
        program = unroll(program, loop)
    program = partition(program, tile)
    program = skip_columns(program, window, right)
    program = cache_write(program, name, Scope.REGISTER, outer[-1])
    program = ride(program, f"{name}.store")
    if access.worth_sharing([definition], target):
        program = share(program, name, outer)
    return program


def skip_columns(program: LoopProgram, window: Window, right: Axis) -> LoopProgram:
    """Lets the loops of kernel columns be cut where a pixel's product falls outside."""
    loops = loops_of(program, window.definition.name)
    for condition in window.definition.domain:
        inside = ix.symbols(condition)
        if right.symbol in inside:
            for axis in window.terms:
                if axis.symbol in inside:
                    program = partition(program, loops[axis.symbol])
    return program
