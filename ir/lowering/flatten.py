"""From the loop to the flat level: the last step before an emitter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import InternalError
from ..expr import index as ix
from ..expr.nodes import Buffer, Combiner, Guarded, Index, Load, Scope, Symbol, Value
from ..expr.values import rewrite_with_index
from ..flat.nodes import Assign, FlatNode, FlatProgram, Loop, Storage
from ..loop.nodes import LoopKind, LoopProgram
from . import guards
from .math import expand
from .relaxed import relax
from .statements import Nest, Node, Ranges, Statement, statements
from .storage import Placements, contiguous, place


def flatten(program: LoopProgram, fast_math: frozenset[str] = frozenset()) -> FlatProgram:
    """The kernel with flat buffers, placed storage, explicit initialisation and decided guards.

    `fast_math`: names of the relaxations (`relaxed.RULES`) that its elementwise code may undergo.
    """
    nodes = statements(program)
    placements = place(nodes)
    pass_ = _Flattening(program, placements, fast_math)
    body = pass_.nodes(nodes, {}, frozenset())
    return FlatProgram(
        program.name,
        tuple(pass_.storages.values()),
        body,
        placements.shared_bytes,
        placements.worker_bytes,
    )


class _Flattening:
    """One run of the pass: flat buffers made so far."""

    def __init__(self, program: LoopProgram, placements: Placements, fast_math: frozenset[str]):
        self.placements = placements
        self.fast_math = fast_math
        self.storages: dict[Buffer, Storage] = {}
        self.flat: dict[Buffer, Buffer] = {}
        self.combiners: dict[Combiner, Combiner] = {}
        for position, param in enumerate(program.params):
            buffer = param.buffer
            flat = Buffer(buffer.name, (_elements(buffer.shape),), buffer.dtype, Scope.GLOBAL)
            self.flat[buffer] = flat
            self.storages[buffer] = Storage(flat, position, role=param.role)

    def nodes(
        self, nodes: tuple[Node, ...], ranges: Ranges, outside: frozenset[Symbol]
    ) -> tuple[FlatNode, ...]:
        return tuple(
            self._loop(n, ranges, outside) if isinstance(n, Nest) else self._assign(n, ranges)
            for n in nodes
        )

    def _loop(self, nest: Nest, ranges: Ranges, outside: frozenset[Symbol]) -> Loop:
        inner = {**ranges, nest.symbol: (0, nest.extent - 1)}
        body = self.nodes(nest.body, inner, outside | {nest.symbol})
        segments: tuple[tuple[int, int], ...] = ((0, nest.extent),)
        if nest.partition and nest.extent:
            every = {**ranges, **_ranges_below(nest.body)}
            segments = guards.cut(nest.symbol, nest.extent, guards.conditions(body), every)
        loop = Loop(nest.symbol, segments, body, nest.kind)
        return guards.tighten(loop, outside) if nest.kind is LoopKind.SERIAL else loop

    def _assign(self, statement: Statement, ranges: Ranges) -> Assign:
        def leaf(value: Value) -> Value | None:
            match value:
                case Load(buffer, index):
                    flat, offset = self._access(buffer, index, ranges)
                    return Load(flat, (offset,))
                case Guarded(conditions, inner, otherwise):
                    open_ = _open(conditions, ranges)
                    if open_ is None:
                        return otherwise
                    return Guarded(open_, inner, otherwise) if open_ else inner
                case _:
                    return None

        guard = _open(statement.guard, ranges)
        if guard is None:  # never runs: a condition that stays false says so to the emitter
            guard = (Index(-1),)
        values, indices = rewrite_with_index(
            statement.values, (*statement.index, *guard), leaf, None, ranges
        )
        rank = len(statement.index)
        accesses = [self._access(b, indices[:rank], ranges) for b in statement.outputs]
        values = relax(values, self.fast_math)
        values, offsets = _expanded(values, [*(o for _, o in accesses), *indices[rank:]])
        return Assign(
            tuple(flat for flat, _ in accesses),
            offsets[: len(accesses)],
            values,
            self._combiner(statement.combiner),
            offsets[len(accesses) :],
            statement.contract,
            statement.source,
            statement.stream,
        )

    def _combiner(self, combiner: Combiner | None) -> Combiner | None:
        """The combiner in core operations."""
        if combiner is not None and combiner not in self.combiners:
            self.combiners[combiner] = replace(combiner, results=expand(combiner.results))
        return None if combiner is None else self.combiners[combiner]

    def _access(
        self, buffer: Buffer, index: tuple[Index, ...], ranges: Ranges
    ) -> tuple[Buffer, Index]:
        if buffer.scope is Scope.GLOBAL:
            strides = buffer.strides if buffer.strides is not None else contiguous(buffer.shape)
            if buffer not in self.flat:
                raise InternalError(f"buffer {buffer.name} is no parameter of the kernel")
            return self.flat[buffer], ix.flatten(index, strides)
        if buffer.scope is Scope.TABLE:
            offset = ix.flatten(index, contiguous(buffer.shape))
            return self._flat(buffer, _elements(buffer.shape), 0, False), offset
        placement = self.placements.of[buffer]
        flat = self._flat(
            buffer, _elements(placement.extents), placement.position, placement.per_worker
        )
        return flat, placement.offset(index)

    def _flat(self, buffer: Buffer, size: int, position: int, per_worker: bool) -> Buffer:
        if buffer not in self.flat:
            table = None if buffer.table is None else buffer.table.reshape(-1)
            flat = Buffer(buffer.name, (size,), buffer.dtype, buffer.scope, None, table)
            self.flat[buffer] = flat
            self.storages[buffer] = Storage(flat, position, per_worker)
        return self.flat[buffer]


def _elements(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _ranges_below(nodes: tuple[Node, ...]) -> Ranges:
    found: Ranges = {}
    for node in nodes:
        if isinstance(node, Nest):
            found[node.symbol] = (0, node.extent - 1)
            found |= _ranges_below(node.body)
    return found


def _open(
    conditions: tuple[Index, ...], ranges: Mapping[Symbol, tuple[int, int]]
) -> tuple[Index, ...] | None:
    """The conditions that can fail; None if one always does."""
    left: list[Index] = []
    for condition in conditions:
        low, high = ix.bounds(condition, ranges)
        if high < 0:
            return None
        if low < 0:
            left.append(condition)
    return tuple(left)


def _expanded(
    values: tuple[Value, ...], offsets: list[Index]
) -> tuple[tuple[Value, ...], tuple[Index, ...]]:
    """Values, and the run-time values inside indices, in core operations."""
    inside = [d for offset in offsets for d in ix.dynamics(offset)]
    new = expand((*values, *(d.value for d in inside)))
    changed = {
        d: replace(d, value=value) for d, value in zip(inside, new[len(values) :], strict=True)
    }
    return new[: len(values)], tuple(ix.substitute(o, {}, dynamic=changed) for o in offsets)
