"""Groups of definitions that share rows: softmax, layer norm, and the like.

All blocks are put under one loop over the rows, so that what one makes of a row is still in the
first cache level, or in registers, when the next reads it.
"""

from __future__ import annotations

from math import prod

from ...ir.expr.nodes import Scope, Symbol
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition
from .. import find
from ..legality import independent
from ..loops import merge
from ..marks import parallel
from ..memory import set_scope
from . import access, conv, depthwise, matmul
from .steps import fuse_all, fuse_axes, lane_sums, loops_of, merge_neighbours, vector_tile

WAYS = 4


def matches(definitions: tuple[Definition, ...]) -> bool:
    """Whether several definitions, one a reduction, run over the same rows."""
    if len(definitions) < 2 or not all(independent(d) for d in definitions):
        return False
    if not any(_reduced(d) for d in definitions) or any(_contracts(d) for d in definitions):
        return False
    count = _rows(definitions)
    return count is not None and count > 1


def _contracts(definition: Definition) -> bool:
    """Whether the definition has a template that what follows it rides on."""
    contractions = (matmul.matches, conv.matches, depthwise.matches)
    return bool(definition.domain) or any(matches(definition) for matches in contractions)


def _rows(definitions: tuple[Definition, ...]) -> int | None:
    """The number of rows: the points of a reduction's result, if all others have these in front."""
    first = next(d for d in definitions if _reduced(d))
    count = prod(a.extent for a in first.axes if a.kind is AxisKind.SPATIAL)
    return count if all(_prefix(d, count) is not None for d in definitions) else None


def _reduced(definition: Definition) -> bool:
    return any(axis.kind is AxisKind.REDUCE for axis in definition.axes)


def _prefix(definition: Definition, count: int) -> int | None:
    """How many leading spatial axes make up the rows (with those of extent 1 after them)."""
    total, number = 1, 0
    for axis in definition.axes:
        if axis.kind is not AxisKind.SPATIAL or total * axis.extent > count:
            break
        total *= axis.extent
        number += 1
    rest = definition.axes[number:]
    whole = not _reduced(definition) or all(a.kind is AxisKind.REDUCE for a in rest)
    return number if total == count and whole else None


def schedule(program: LoopProgram, target: Target) -> LoopProgram:
    """Every nest under one parallel loop over the rows."""
    definitions = tuple(p.block.definition for p in find.blocks(program))
    count = _rows(definitions)
    assert count is not None
    row: Symbol | None = None
    for definition in definitions:
        program, own = _row_loop(program, definition, count)
        if row is None:
            row = own
        else:
            program = merge(program, row, own)
    assert row is not None
    ways: dict[str, int] = {}
    for definition in definitions:
        program = _inside(program, definition, count, target, ways)
    program = merge_neighbours(program, row)
    program = _scalars_in_registers(program, definitions, count)
    if access.worth_sharing(definitions, target):
        program = parallel(program, row)
    return program


def _row_loop(
    program: LoopProgram, definition: Definition, count: int
) -> tuple[LoopProgram, Symbol]:
    number = _prefix(definition, count)
    assert number is not None
    loops = loops_of(program, definition.name)
    return fuse_all(program, [loops[a.symbol] for a in definition.axes[:number]])


def _inside(
    program: LoopProgram,
    definition: Definition,
    count: int,
    target: Target,
    ways: dict[str, int],
) -> LoopProgram:
    """Vectors along the row; a reduction as wide as the elementwise block that it reads."""
    number = _prefix(definition, count)
    rest: tuple[Axis, ...] = definition.axes[number:]
    if not rest or not access.points(definition):
        return program
    runs = access.runs(definition, rest)
    program, loops = fuse_axes(program, definition.name, runs)
    lanes = access.lanes(definition, target)
    vectors = 2 if access.cycles(definition) >= access.HEAVY else WAYS
    if _reduced(definition):
        sources = [ways[b.name] for b in find.reads(definition) if b.name in ways]
        return lane_sums(program, definition.name, loops[-1], lanes, min([*sources, vectors]))
    for output in definition.outputs:
        ways[output.name] = vectors
    return vector_tile(program, loops[-1], lanes, vectors)[0]


def _scalars_in_registers(
    program: LoopProgram, definitions: tuple[Definition, ...], count: int
) -> LoopProgram:
    """Keeps arrays of one element a row in registers."""
    for definition in definitions:
        for output in definition.outputs:
            if output.scope is Scope.SCRATCH and prod(output.shape) == count:
                program = set_scope(program, output.name, Scope.REGISTER)
    return program
