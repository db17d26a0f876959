"""Blocks merged into others: compute_inline (into readers), reverse_compute_inline (into the
producer).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Buffer, Index, Load, Scope, Symbol, Value
from ..ir.expr.values import loads, rewrite, rewrite_with_index
from ..ir.loop.nodes import Block, LoopProgram
from ..ir.tensor.nodes import AxisKind, Definition
from . import find
from .placement import bare
from .trees import map_program, put


def compute_inline(program: LoopProgram, block: str) -> LoopProgram:
    """Replaces the reads of an elementwise block by its value; the block disappears.

        P[i] = f(x[i])  C[j] = g(P[h(j)])   ->   C[j] = g(f(x[h(j)]))

    Refused when: the block is no plain elementwise definition (inline_kind), writes a result of
    the kernel (inline_output), or is read by an update of what it reads (inline_update).
    """
    place = find.block(program, block)
    definition = place.block.definition
    _require_plain(definition)
    buffer = definition.outputs[0]
    if buffer.scope is Scope.GLOBAL:
        raise ScheduleError(
            f"{block} writes a result of the kernel",
            definition.source,
            "inline blocks whose result stays inside",
            code="inline_output",
        )
    sources = find.reads(definition)
    for other in find.blocks(program):
        if other.block.definition.update and sources & set(other.block.definition.outputs):
            raise ScheduleError(
                f"{block} reads memory that {other.block.name} updates",
                definition.source,
                "keep it as a block of its own",
                code="inline_update",
            )
    rest = put(program, place.path)

    def edit(reader: Block) -> Block:
        if buffer not in find.reads(reader.definition):
            return reader
        return replace(reader, definition=_expanded(reader.definition, definition))

    return map_program(rest, edit)


def _expanded(reader: Definition, producer: Definition) -> Definition:
    """The reader's definition with loads of the producer's output replaced by its value."""
    known = {axis.symbol: (0, max(axis.extent - 1, 0)) for axis in reader.axes}
    buffer = producer.outputs[0]
    made: dict[tuple[Index, ...], Value] = {}

    def leaf(value: Value) -> Value | None:
        if not (isinstance(value, Load) and value.buffer is buffer):
            return None
        if value.index not in made:
            mapping = _solve(producer, value.index)
            made[value.index] = rewrite(producer.values, mapping=mapping, ranges=known)[0]
        return made[value.index]

    values, index = rewrite_with_index(reader.values, reader.index, leaf, None, known)
    return replace(reader, values=values, index=index)


def _solve(producer: Definition, at: tuple[Index, ...]) -> dict[Symbol, Index]:
    """The producer's axes at the place where its output is read."""
    mapping = {axis.symbol: ix.ZERO for axis in producer.axes}
    for part, index in zip(producer.index, at, strict=True):
        symbol = bare(part)
        if symbol is not None:
            mapping[symbol] = index
    return mapping


def _require_plain(definition: Definition) -> None:
    """One output, no reduction, update, scan or domain, an index of bare axes (or zeros)."""
    bares = [bare(i) for i in definition.index]
    covered = {s for s in bares if s is not None}
    plain = (
        len(definition.outputs) == 1
        and definition.combiner is None
        and not definition.update
        and not definition.domain
        and all(
            s is not None or ix.is_constant(i, 0)
            for s, i in zip(bares, definition.index, strict=True)
        )
        and len(covered) == len([s for s in bares if s is not None])
        and all(
            axis.kind is AxisKind.SPATIAL and (axis.symbol in covered or axis.extent == 1)
            for axis in definition.axes
        )
    )
    if not plain:
        raise ScheduleError(
            f"{definition.name} is not a plain elementwise definition",
            definition.source,
            "inline only blocks without reduction, update or domain; place others by compute_at",
            code="inline_kind",
        )


def reverse_compute_inline(program: LoopProgram, block: str) -> LoopProgram:
    """Merges an elementwise block into the elementwise block whose output it reads point by point.

        for i: P[i] = f(x[i])  for j: C[j] = g(P[j])   ->   for i: C[i] = g(f(x[i]))

    The loops are the producer's. Reads through a reshape or a transpose are solved. Refused when:
    either is no plain elementwise definition (inline_kind); it does not read one inner buffer
    point by point (inline_producer); somebody else reads that buffer too (inline_readers); another
    of its inputs is made later than that buffer (input_late).
    """
    place = find.block(program, block)
    consumer = place.block.definition
    _require_plain(consumer)
    for buffer in sorted(find.reads(consumer), key=lambda b: b.name):
        producer = find.writer(program, buffer)
        if producer is None or producer.block.definition.combiner is not None:
            continue
        bindings = _follow(consumer, producer.block, buffer, find.ranges(producer.around))
        if bindings is None:
            continue
        _require_plain(producer.block.definition)
        if buffer.scope is Scope.GLOBAL or len(find.readers(program, buffer)) > 1:
            raise ScheduleError(
                f"{buffer.name} is needed elsewhere than in {block}",
                consumer.source,
                "move the block with reverse_compute_at instead",
                code="inline_readers",
            )
        for other in find.reads(consumer) - {buffer}:
            writer = find.writer(program, other)
            if writer is not None and writer.path > producer.path:
                raise ScheduleError(
                    f"{block} also reads {other.name}, which is made after {producer.block.name}",
                    consumer.source,
                    "move its writer first",
                    code="input_late",
                )
        merged = Block(
            _expanded(consumer, producer.block.definition), bindings, producer.block.guard
        )
        program = put(program, producer.path, merged)
        return _drop(program, place.block)
    raise ScheduleError(
        f"{block} does not read one block's output point by point",
        consumer.source,
        "move it with reverse_compute_at instead",
        code="inline_producer",
    )


def _drop(program: LoopProgram, block: Block) -> LoopProgram:
    place = next(p for p in find.blocks(program) if p.block is block)
    return put(program, place.path)


def _follow(
    consumer: Definition,
    producer: Block,
    buffer: Buffer,
    known: Mapping[Symbol, tuple[int, int]],
) -> tuple[Index, ...] | None:
    """The consumer's axes over the producer's loops, where it reads each element just once."""
    found = {load.index for load in loads(consumer.values) if load.buffer is buffer}
    if len(found) != 1:
        return None
    index = found.pop()
    axes = {
        axis.symbol: binding
        for axis, binding in zip(producer.definition.axes, producer.bindings, strict=True)
    }
    written = tuple(ix.substitute(i, axes, known) for i in producer.definition.index)
    solved: dict[Symbol, Index] = {}
    extents = {axis.symbol: axis.extent for axis in consumer.axes}
    for part, target, extent in zip(index, written, buffer.shape, strict=True):
        digits = _digits(part, extents, extent)
        if digits is None or solved.keys() & digits.keys():
            return _follow_flat(consumer, buffer, index, written, known)
        for symbol, step in digits.items():
            solved[symbol] = _digit(target, step, extents[symbol], extent, known)
    if any(axis.symbol not in solved and axis.extent != 1 for axis in consumer.axes):
        return None
    return tuple(solved.get(axis.symbol, ix.ZERO) for axis in consumer.axes)


def _digits(index: Index, extents: Mapping[Symbol, int], extent: int) -> dict[Symbol, int] | None:
    """The axes that an index counts through 0 .. extent-1 with, each with its step."""
    terms = sorted(((c, a) for a, c in index.terms if isinstance(a, Symbol)), key=lambda t: t[0])
    step = 1
    digits: dict[Symbol, int] = {}
    for c, symbol in terms:
        if c != step or symbol not in extents:
            return None
        digits[symbol] = c
        step *= extents[symbol]
    whole = len(terms) == len(index.terms) and index.const == 0 and step == extent
    return digits if whole else None


def _follow_flat(
    consumer: Definition,
    buffer: Buffer,
    index: tuple[Index, ...],
    written: tuple[Index, ...],
    known: Mapping[Symbol, tuple[int, int]],
) -> tuple[Index, ...] | None:
    """As `_follow`, for a reshape: both sides count the elements in the same order."""
    shape = tuple(axis.extent for axis in consumer.axes)
    own = ix.flatten((ix.of(axis.symbol) for axis in consumer.axes), _strides(shape))
    if ix.flatten(index, _strides(buffer.shape)) != own or _size(shape) != _size(buffer.shape):
        return None
    flat = ix.flatten(written, _strides(buffer.shape))
    return tuple(
        _digit(flat, stride, extent, _size(shape), known)
        for stride, extent in zip(_strides(shape), shape, strict=True)
    )


def _digit(
    number: Index, step: int, count: int, total: int, known: Mapping[Symbol, tuple[int, int]]
) -> Index:
    """(number // step) % count, for a number below `total`: the highest digit needs no remainder.

    (In an imperfect tile the number may seem to exceed the total; its guard sees to that.)
    """
    quotient = ix.floor_divide(number, step, known)
    return quotient if step * count == total else ix.modulo(quotient, count, known)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
