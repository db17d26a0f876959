"""Products of matrices: register tiles, and the right operand packed into panels where it pays.

The same goes for all reductions whose terms take an element of each of two operands, such as
distances between the rows of two matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir.expr import index as ix
from ...ir.expr.nodes import Guarded, Load, Scope, Symbol
from ...ir.expr.values import postorder
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition
from .. import find
from ..axes import over_compute
from ..legality import independent, may_reassociate
from ..loops import reorder, split_into
from ..marks import parallel, partition, unroll, vectorize
from ..memory import cache_read, cache_write
from ..placement import bare
from ..reduction import rfactor
from . import access, reduction
from .epilogue import ride
from .steps import extent, fuse_all, loops_of, share
from .tiles import factors, register_tile

REUSE = 48
"""A panel that fewer rows are multiplied with is not worth packing."""

FEW_ROWS = 4
"""With fewer rows than this, columns of a transposed operand are best read as they lie."""

BLOCKS = 8
"""Blocks of rows that large products are cut into at least, for the workers to share."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """`sum(k) f(left[batch, rows, k], right[batch, k, columns])`: the axes by what they move."""

    definition: Definition
    left: Load
    right: Load
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    terms: tuple[Axis, ...]


def recognise(definition: Definition) -> Product | None:
    """The product that a definition is; None if it is none, or one over a restricted domain.

    The operand that moves along the last axis of the result is the right one.
    """
    loads = _operands(definition)
    if loads is None or definition.domain or not independent(definition):
        return None
    if any(bare(i) is None and not ix.is_constant(i) for load in loads for i in load.index):
        return None
    spatial = access.of_kind(definition, AxisKind.SPATIAL)
    left, right = (frozenset(s for i in load.index for s in ix.symbols(i)) for load in loads)
    if spatial and spatial[-1].symbol in left - right:
        loads, left, right = loads[::-1], right, left
    return Product(
        definition,
        *loads,
        tuple(a for a in spatial if (a.symbol in left) == (a.symbol in right)),
        tuple(a for a in spatial if a.symbol in left and a.symbol not in right),
        tuple(a for a in spatial if a.symbol in right and a.symbol not in left),
        tuple(access.of_kind(definition, AxisKind.REDUCE)),
    )


def _operands(definition: Definition) -> tuple[Load, Load] | None:
    """The two elements that each term of a sum is computed from, if the term is cheap."""
    combiner = definition.combiner
    if combiner is None or definition.update or len(definition.values) != 1:
        return None
    if access.checks(definition) or access.cycles(definition) >= access.HEAVY:
        return None
    loads = {(v.buffer, v.index): v for v in postorder(definition.values) if isinstance(v, Load)}
    if len(loads) != 2 or any(isinstance(v, Guarded) for v in postorder(definition.values)):
        return None
    left, right = loads.values()
    return left, right


def matches(definition: Definition) -> bool:
    """Whether the definition is a product of matrices, both with axes of their own."""
    product = recognise(definition)
    if product is None or not access.points(definition):
        return False
    return bool(product.rows and product.columns)


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of the product, with what follows it done in the store of the tile."""
    product = recognise(definition)
    assert product is not None
    rows, columns = (prod(a.extent for a in axes) for axes in (product.rows, product.columns))
    lanes = access.lanes(definition, target)
    if columns < lanes or rows < 2 or (rows < FEW_ROWS and not _lies_across(product)):
        return reduction.schedule(program, definition, target)
    return _tiled(program, product, target, rows, columns)


def _lies_across(product: Product) -> bool:
    """Whether neighbours of the right operand are neighbouring columns."""
    column = product.columns[-1].symbol
    steps = zip(product.right.index, access.strides(product.right.buffer), strict=True)
    return any(bare(index) is column and step == 1 for index, step in steps)


def _tiled(
    program: LoopProgram, product: Product, target: Target, rows: int, columns: int
) -> LoopProgram:
    name = product.definition.name
    size = access.itemsize(product.definition)
    lanes = access.lanes(product.definition, target)
    spare = 0 if factors(product.definition) else 2  # what a term holds while it is computed
    height, vectors = register_tile(rows, columns, lanes, target.vector_registers - spare)
    width = vectors * lanes
    shared = access.worth_sharing([product.definition], target)
    program, batch, i, j, terms = _four_loops(program, product)
    depth = prod(extent(program, k) for k in terms)
    packing = _packing(product, rows, depth, width, target)
    if packing is not None:
        program = _pack(program, product, packing, target, shared)
    program, high, low = split_into(program, i, height)
    program, panel, rest = split_into(program, j, width)
    program, vector, lane = split_into(program, rest, lanes)
    stretch = None
    regroups = len(terms) == 1 and may_reassociate(product.definition)
    if packing is not None and regroups and 2 * width * depth * size > target.l2:
        pieces = -(-2 * width * depth * size // target.l2)
        depth = -(-depth // pieces)
        program, stretch, terms[0] = split_into(program, terms[0], depth)
        program = partition(program, stretch)
    tiles = extent(program, high)
    fitting = max(1, (target.l2 // 2) // (height * depth * size))
    blocks = -(-tiles // fitting)
    if blocks > 1 or tiles >= 4 * BLOCKS:
        program, first, tile = split_into(program, high, -(-tiles // max(blocks, BLOCKS)))
        outer = [*batch, first]
    else:
        tile, first, outer = high, panel, batch
    depths = [stretch] if stretch is not None else []
    program = reorder(program, *outer, *depths, panel, tile, *terms, low, vector, lane)
    program = vectorize(unroll(unroll(program, low), vector), lane)
    program = partition(partition(program, first), tile)
    if stretch is None:
        program = cache_write(program, name, Scope.REGISTER, tile)
        partial = name
    else:
        program = rfactor(program, stretch, at=tile)
        partial = f"{name}.part"
    if packing is not None:
        program = over_compute(program, partial, product.columns[0].symbol.name)
    elif first is not panel:
        program = partition(program, panel)
    if stretch is None:
        program = ride(program, f"{name}.store")
    if shared:
        among = batch if prod(extent(program, b) for b in batch) >= BLOCKS else [*batch, first]
        program = share(program, partial, among)
    return program


def _four_loops(
    program: LoopProgram, product: Product
) -> tuple[LoopProgram, list[Symbol], Symbol, Symbol, list[Symbol]]:
    """One loop of all rows, one of all columns, in the order batch, rows, columns, terms."""
    loops = loops_of(program, product.definition.name)
    batch, rows, columns, terms = (
        [loops[a.symbol] for a in axes]
        for axes in (product.batch, product.rows, product.columns, product.terms)
    )
    program = reorder(program, *batch, *rows, *columns, *terms)
    program, i = fuse_all(program, rows)
    program, j = fuse_all(program, columns)
    return program, batch, i, j, terms


def _packing(
    product: Product, rows: int, depth: int, width: int, target: Target
) -> tuple[tuple[int, ...], tuple[int, int]] | None:
    """(order, block) that packs the right operand into panels, if that pays."""
    if len(product.columns) != 1:
        return None
    column = product.columns[0].symbol
    place = [bare(i) for i in product.right.index].index(column)
    terms = [a.symbol for a in product.terms]
    others = [d for d, i in enumerate(product.right.index) if d != place and bare(i) not in terms]
    inner = [d for s in terms for d, i in enumerate(product.right.index) if bare(i) is s]
    size = depth * product.columns[0].extent * access.itemsize(product.definition)
    if _lies_across(product) and (rows < REUSE or size <= target.l1 // 2):
        return None
    return (*others, place, *inner), (place, width)


def _pack(
    program: LoopProgram,
    product: Product,
    packing: tuple[tuple[int, ...], tuple[int, int]],
    target: Target,
    shared: bool,
) -> LoopProgram:
    """Adds the copy into panels, its panels shared among the workers."""
    order, block = packing
    before = {p.block.name for p in find.blocks(program)}
    program = cache_read(
        program, product.definition.name, product.right.buffer.name, order=order, blocks=(block,)
    )
    (copy,) = (p for p in find.blocks(program) if p.block.name not in before)
    loops = [loop.symbol for loop in copy.around]
    lanes = target.lanes(product.right.buffer.dtype.itemsize)
    program, vector, lane = split_into(program, loops[-1], min(lanes, block[1]))
    program = vectorize(unroll(program, vector), lane)
    panel = loops[order.index(block[0])]
    program = partition(program, panel)
    if shared and panel is loops[0]:
        program = parallel(program, panel)
    return program
