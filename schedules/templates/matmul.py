"""Products of matrices: register tiles, the operands packed into panels where that pays."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir.expr import index as ix
from ...ir.expr.nodes import Load, Op, Scope, Symbol, Value
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, AxisKind, Definition
from ..legality import independent
from ..loops import reorder, split_into
from ..marks import partition, unroll, vectorize
from ..memory import cache_read, cache_write
from . import access, reduction
from .steps import extent, fuse_all, loops_of

LATENCY = 8
"""Accumulators that keep both multiply-add units busy; with fewer, time does not shrink."""

DEEP = 48
"""A panel of fewer terms is not worth packing."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """`sum(k) a[rows, k] * b[k, columns]`: the axes by the operands that they move."""

    definition: Definition
    left: Load
    right: Load
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    terms: tuple[Axis, ...]


def recognise(definition: Definition) -> Product | None:
    """The product that a definition is, if it is one without restricted domain."""
    loads = factors(definition)
    if loads is None or definition.domain or not independent(definition):
        return None
    left, right = loads
    inside = [frozenset(s for i in load.index for s in ix.symbols(i)) for load in loads]
    batch, rows, columns, terms = [], [], [], []
    for axis in definition.axes:
        a, b = (axis.symbol in s for s in inside)
        if axis.kind is AxisKind.REDUCE:
            terms.append(axis)
        elif a and b:
            batch.append(axis)
        elif a:
            rows.append(axis)
        else:
            columns.append(axis)
    return Product(definition, left, right, tuple(batch), tuple(rows), tuple(columns), tuple(terms))


def factors(definition: Definition) -> tuple[Load, Load] | None:
    """The two loads (below casts) that a sum of products multiplies."""
    combiner = definition.combiner
    if combiner is None or combiner.name != "sum" or definition.update:
        return None
    value = definition.values[0]
    if not (isinstance(value, Op) and value.name == "mul" and len(value.args) == 2):
        return None
    left, right = (_below_casts(arg) for arg in value.args)
    if isinstance(left, Load) and isinstance(right, Load):
        return left, right
    return None


def _below_casts(value: Value) -> Value:
    while isinstance(value, Op) and value.name == "cast":
        value = value.args[0]
    return value


def register_tile(rows: int, columns: int, lanes: int, registers: int) -> tuple[int, int]:
    """(rows, vectors) of the tile that computes a `rows` x `columns` result fastest.

    The tile, one vector of each column group and a broadcast element fit the register file.
    """
    best = (1, 1)
    cost = float("inf")
    for vectors in (1, 2, 3, 4):
        if vectors > 1 and (vectors - 1) * lanes >= columns:
            break
        for height in range(1, min(rows, (registers - 1 - vectors) // vectors) + 1):
            full, rest = divmod(rows, height)
            tiles = full * max(height * vectors, LATENCY) + (
                max(rest * vectors, LATENCY) if rest else 0
            )
            loads = -(-rows // height) * vectors + rows
            found = -(-columns // (vectors * lanes)) * (tiles + 0.25 * loads)
            if found < cost:
                best, cost = (height, vectors), found
    return best


def schedule(
    program: LoopProgram, product: Product, target: Target, threads_hint: int
) -> LoopProgram:
    """The nest of the product, with its epilogue in the store of the tile."""
    name = product.definition.name
    rows = prod(a.extent for a in product.rows)
    columns = prod(a.extent for a in product.columns)
    depth = prod(a.extent for a in product.terms)
    if not rows * columns * depth * prod(a.extent for a in product.batch):
        return program
    lanes = access.lanes(product.definition, target)
    if columns < lanes or rows < 2 or not product.rows or not product.columns:
        return reduction.schedule(program, name, target)
    return _tiled(program, product, target, rows, columns, depth, lanes)


def _tiled(
    program: LoopProgram,
    product: Product,
    target: Target,
    rows: int,
    columns: int,
    depth: int,
    lanes: int,
) -> LoopProgram:
    name = product.definition.name
    height, vectors = register_tile(rows, columns, lanes, target.vector_registers)
    width = vectors * lanes
    program, batch, i, j, terms = _four_loops(program, product)
    packed = _pays_to_pack(product, rows, depth, width)
    if packed is not None:
        program = cache_read(program, name, product.right.buffer.name, blocks=(packed,), order=None)
    program, io, ii = split_into(program, i, height)
    program, jo, jt = split_into(program, j, width)
    program, ju, jv = split_into(program, jt, lanes)
    outer, tiles = io, io
    per_block = max(1, (target.l2 // 2) // (height * depth * 4))
    if extent(program, io) > per_block:
        blocks = -(-extent(program, io) // per_block)
        program, outer, tiles = split_into(program, io, -(-extent(program, io) // blocks))
        program = partition(program, outer)
        program = reorder(program, *batch, outer, jo, tiles, *terms, ii, ju, jv)
    else:
        program = reorder(program, *batch, io, jo, *terms, ii, ju, jv)
        tiles = jo
    program = partition(program, io if outer is io else tiles)
    program = unroll(program, ii)
    program = unroll(program, ju)
    program = vectorize(program, jv)
    program = cache_write(program, name, Scope.REGISTER, tiles)
    return program


def _pays_to_pack(product: Product, rows: int, depth: int, width: int) -> tuple[int, int] | None:
    return None


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
