"""Where data is kept: cache_read (with packing), cache_write, set_scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Buffer, Guarded, Index, Load, Scope, Symbol, Value
from ..ir.expr.values import const, rewrite_with_index
from ..ir.loop.nodes import Block, For, LoopKind, LoopProgram
from ..ir.tensor.nodes import Axis, AxisKind, Definition
from . import find
from .find import LoopName
from .legality import kinds
from .trees import fresh, map_program, nest, open_guards, put


def cache_read(
    program: LoopProgram,
    block: str,
    buffer: str,
    scope: Scope = Scope.SCRATCH,
    order: Sequence[int] | None = None,
    blocks: Sequence[tuple[int, int]] = (),
) -> LoopProgram:
    """Copies a buffer for one reader, packed: dimensions in `order`, then the inner blocks.

        C[i, j] reads b[k, j]
        ->   b.scratch[jo, k, ji] = b[k, 16*jo + ji], C reads b.scratch[j//16, k, j%16]
             (order=(1, 0), blocks=((1, 16),))

    Where a block size does not divide, the rest is filled with zeros. The copy is a block named
    as its buffer, before the nest of the reader; compute_at moves it. Refused when: the block does
    not read the buffer (no_such_read), the buffer is updated in the program (cached_update) or made
    inside the reader's own nest (cached_inside);
    `order` is no permutation or a block no positive size of a dimension (packing).
    """
    place = find.block(program, block)
    found = [b for b in find.reads(place.block.definition) if b.name == buffer]
    if not found:
        names = sorted(b.name for b in find.reads(place.block.definition))
        raise ScheduleError(
            f"{block} does not read {buffer!r}",
            place.block.definition.source,
            "it reads " + (", ".join(names) or "nothing"),
            code="no_such_read",
        )
    old = found[0]
    rank = len(old.shape)
    dims = tuple(range(rank)) if order is None else tuple(order)
    sizes = dict(blocks)
    sound = sorted(dims) == list(range(rank)) and len(sizes) == len(blocks)
    if not sound or any(d not in dims or size < 1 for d, size in blocks):
        raise ScheduleError(
            f"order {dims} and blocks {tuple(blocks)} do not pack an array of rank {rank}",
            None,
            "order is a permutation of the dimensions; each block a dimension and a size",
            code="packing",
        )
    for other in find.blocks(program):
        if other.block.definition.update and old in other.block.definition.outputs:
            raise ScheduleError(
                f"{old.name} is updated by {other.block.name}",
                other.block.definition.source,
                "cache only what does not change in the kernel",
                code="cached_update",
            )
        if old in other.block.definition.outputs and other.path[0] == place.path[0]:
            raise ScheduleError(
                f"{old.name} is made by {other.block.name} in the same loops that {block} is in",
                other.block.definition.source,
                "cache it first and put the blocks into common loops then",
                code="cached_inside",
            )
    taken = [p.block.name for p in find.blocks(program)]
    name = fresh(f"{buffer}.{scope.value}", taken)
    shape = (
        *(-(-old.shape[d] // sizes.get(d, 1)) for d in dims),
        *(size for _, size in blocks),
    )
    new = Buffer(name, shape, old.dtype, scope)
    copy = _packing(name, old, new, dims, tuple(blocks))
    known = {a.symbol: (0, max(a.extent - 1, 0)) for a in place.block.definition.axes}

    def packed(value: Value) -> Value | None:
        if not (isinstance(value, Load) and value.buffer is old):
            return None
        at = value.index
        outer = (ix.floor_divide(at[d], sizes.get(d, 1), known) for d in dims)
        inner = (ix.modulo(at[d], size, known) for d, size in blocks)
        return Load(new, (*outer, *inner))

    definition = place.block.definition
    values, index = rewrite_with_index(definition.values, definition.index, packed)
    reader = replace(place.block, definition=replace(definition, values=values, index=index))
    program = put(program, place.path, reader)
    top = program.body[place.path[0]]
    return put(program, place.path[:1], *plain_nest(copy), top)


def plain_nest(definition: Definition) -> tuple[For | Block, ...]:
    """The definition in a loop per axis."""
    loops = [For(Symbol(axis.symbol.name), axis.extent, ()) for axis in definition.axes]
    return nest(loops, Block(definition, tuple(ix.of(loop.symbol) for loop in loops)))


def _packing(
    name: str,
    old: Buffer,
    new: Buffer,
    dims: tuple[int, ...],
    blocks: tuple[tuple[int, int], ...],
) -> Definition:
    sizes = dict(blocks)
    rank = len(dims)
    names = [
        *(f"d{d}.o" if d in sizes else f"d{d}" for d in dims),
        *(f"d{d}.i" for d, _ in blocks),
    ]
    axes = tuple(Axis(Symbol(n), extent) for n, extent in zip(names, new.shape, strict=True))
    at: list[Index] = [ix.ZERO] * rank
    for axis, d in zip(axes, dims, strict=False):
        at[d] = ix.scale(ix.of(axis.symbol), sizes.get(d, 1))
    for axis, (d, _) in zip(axes[rank:], blocks, strict=True):
        at[d] = ix.add(at[d], ix.of(axis.symbol))
    inside = tuple(
        ix.subtract(ix.constant(old.shape[d] - 1), at[d])
        for d, size in blocks
        if old.shape[d] % size
    )
    value: Value = Load(old, tuple(at))
    if inside:
        value = Guarded(inside, value, const(0, old.dtype))
    return Definition(name, axes, (new,), tuple(ix.of(a.symbol) for a in axes), (value,))


def cache_write(
    program: LoopProgram,
    block: str,
    scope: Scope = Scope.REGISTER,
    at: LoopName | None = None,
) -> LoopProgram:
    """Lets a block write a buffer of its own, copied out by a new block `NAME.store`.

        for i: for j: for k: C[i, j] += v
        ->   for i: { for j: for k: acc[i, j] += v   for j: C.store[i, j] = acc[i, j] }   (at="i")

    The cache has a dimension for each spatial axis, whatever place in the output it stands for.
    The copy runs in clones of the loops inside `at` that the block's spatial axes are bound to
    (of all its loops without `at`). Refused when: the block updates memory or scans
    (cached_update); its elements are not finished inside `at`, a reduction running around it
    (unfinished); `at` is not around the block (unknown_loop); a reader comes before the place of
    the copy (early_reader).
    """
    place = find.block(program, block)
    old = place.block
    definition = old.definition
    if definition.update or any(axis.kind is AxisKind.SCAN for axis in definition.axes):
        raise ScheduleError(
            f"{block} goes on from what its output holds already",
            definition.source,
            "cache blocks that define their elements from others alone",
            code="cached_update",
        )
    depth = 0
    if at is not None:
        target = find.loop(program, at)
        if target.loop not in place.around:
            raise ScheduleError(
                f"{target.loop.symbol.name!r} is not around {block}",
                None,
                "loops: " + ", ".join(loop.symbol.name for loop in place.around),
                code="unknown_loop",
            )
        depth = len(target.around) + 1
    for loop in place.around[:depth]:
        if kinds(old, loop.symbol) - {AxisKind.SPATIAL}:
            raise ScheduleError(
                f"{block} is not finished inside {loop.symbol.name!r}",
                definition.source,
                "put the copy outside the reduction",
                code="unfinished",
            )
    path = place.path[: depth + 1]
    for output in definition.outputs:
        for reader in find.readers(program, output):
            if reader.path[: depth + 1] == path:
                raise ScheduleError(
                    f"{reader.block.name} reads what {block} writes before it could be copied out",
                    reader.block.definition.source,
                    "name a loop `at` that does not hold both",
                    code="early_reader",
                )
    taken = [p.block.name for p in find.blocks(program)]
    spatial = [a for a in definition.axes if a.kind is AxisKind.SPATIAL]
    shape = tuple(a.extent for a in spatial)
    caches = tuple(
        Buffer(f"{o.name}.{scope.value}", shape, o.dtype, scope) for o in definition.outputs
    )
    inner = place.around[depth:]
    index = tuple(ix.of(a.symbol) for a in spatial)
    cached = replace(old, definition=replace(definition, outputs=caches, index=index))
    copy = _copy_out(fresh(f"{block}.store", taken), old, caches, place.around[:depth], inner)
    program = put(program, place.path, cached)
    return put(program, path, find.node(program, path), *copy)


def _copy_out(
    name: str, block: Block, caches: tuple[Buffer, ...], outer: Sequence[For], inner: Sequence[For]
) -> tuple[For | Block, ...]:
    definition = block.definition
    spatial = [
        (axis, binding)
        for axis, binding in zip(definition.axes, block.bindings, strict=True)
        if axis.kind is AxisKind.SPATIAL
    ]
    used = frozenset(s for _, binding in spatial for s in ix.symbols(binding))
    cloned = [loop for loop in inner if loop.symbol in used]
    renamed = {loop.symbol: Symbol(loop.symbol.name) for loop in cloned}
    loops = [
        replace(
            loop,
            symbol=renamed[loop.symbol],
            kind=LoopKind.SERIAL if loop.kind is LoopKind.PARALLEL else loop.kind,
        )
        for loop in cloned
    ]
    known = find.ranges((*outer, *loops))
    mapping = {old: ix.of(new) for old, new in renamed.items()}
    reduce = frozenset(
        s
        for axis, binding in zip(definition.axes, block.bindings, strict=True)
        if axis.kind is not AxisKind.SPATIAL
        for s in ix.symbols(binding)
    )
    axes = {axis.symbol: Symbol(axis.symbol.name) for axis, _ in spatial}
    index = tuple(
        ix.substitute(i, {old: ix.of(new) for old, new in axes.items()}) for i in definition.index
    )
    at = tuple(ix.of(symbol) for symbol in axes.values())
    copy = Definition(
        name,
        tuple(Axis(axes[axis.symbol], axis.extent) for axis, _ in spatial),
        definition.outputs,
        index,
        tuple(Load(cache, at) for cache in caches),
        source=definition.source,
    )
    guard = (ix.substitute(g, mapping, known) for g in block.guard if not ix.symbols(g) & reduce)
    bindings = tuple(ix.substitute(binding, mapping, known) for _, binding in spatial)
    return nest(loops, Block(copy, bindings, open_guards(guard, known)))


def set_scope(program: LoopProgram, buffer: str, scope: Scope) -> LoopProgram:
    """Keeps a buffer of the kernel elsewhere (scratch or registers).

    Refused when: no block writes a buffer of that name (unknown_buffer), or it is a parameter
    (scope_parameter).
    """
    old = next(
        (o for p in find.blocks(program) for o in p.block.definition.outputs if o.name == buffer),
        None,
    )
    if old is None:
        raise ScheduleError(
            f"no block writes a buffer {buffer!r}", None, None, code="unknown_buffer"
        )
    if old.scope is Scope.GLOBAL:
        raise ScheduleError(
            f"{buffer} is a parameter of the kernel",
            None,
            "cache_write keeps a part of it elsewhere",
            code="scope_parameter",
        )
    return exchange(program, old, replace(old, scope=scope))


def exchange(program: LoopProgram, old: Buffer, new: Buffer) -> LoopProgram:
    """The program with one buffer in the place of another, in reads and writes."""

    def leaf(value: Value) -> Value | None:
        return Load(new, value.index) if isinstance(value, Load) and value.buffer is old else None

    def edit(block: Block) -> Block:
        definition = block.definition
        if old not in definition.outputs and old not in find.reads(definition):
            return block
        values, index = rewrite_with_index(definition.values, definition.index, leaf)
        outputs = tuple(new if o is old else o for o in definition.outputs)
        definition = replace(definition, values=values, index=index, outputs=outputs)
        return replace(block, definition=definition)

    return map_program(program, edit)
