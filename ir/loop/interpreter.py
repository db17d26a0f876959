"""What a loop program means: its loops run in order.

Scratch and register buffers are forgotten on each turn of the innermost loop around all their
uses, as their storage will be. The innermost nest around a single block is evaluated at all its
points at once, which gives the same results in the same order (a reduction combines element by
element in loop order), unless the block reads what it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InternalError
from ..expr import index as ix
from ..expr.evaluate import Array, Points, evaluate, evaluate_indices, holds
from ..expr.nodes import Buffer, Scope, Symbol, Value
from ..expr.values import loads
from ..tensor.memory import Memory, Offsets
from ..tensor.nodes import AxisKind, Definition
from .nodes import Block, For, LoopKind, LoopProgram, Node

_LARGEST_GRID = 1 << 18


def interpret(
    program: LoopProgram,
    arrays: Sequence[Array],
    shuffle: np.random.Generator | None = None,
) -> list[Array]:
    """The arrays of the OUTPUT and INOUT parameters, in order, for those of INPUT and INOUT.

    With `shuffle`, the turns of parallel loops are run in random order. The given arrays are not
    changed. Raises InternalError, naming block and loops, where the program breaks its rules (see
    `ir/tensor/memory.py`), CheckError where a check fails.
    """
    memory = Memory(program.params, arrays)
    layout = _layout(program)
    _Run(memory, layout, shuffle).nodes(program.body, {})
    return memory.results()


@dataclass(slots=True)
class _Layout:
    """Facts about loops and blocks that a run needs, by identity."""

    forgotten: dict[For, list[Buffer]] = field(default_factory=dict)
    started: dict[For, list[tuple[Block, tuple[For, ...]]]] = field(default_factory=dict)
    starts: dict[Block, For | None] = field(default_factory=dict)


def _layout(program: LoopProgram) -> _Layout:
    layout = _Layout()
    inside = {p.buffer for p in program.params}
    common: dict[Buffer, tuple[For, ...]] = {}
    for block, path in _blocks(program.body, ()):
        definition = block.definition
        start = _outermost(block, path, (AxisKind.REDUCE,)) if _reduces(definition) else None
        layout.starts[block] = start
        if start is not None:
            below = path[path.index(start) :]
            layout.started.setdefault(start, []).append((block, below))
        ordered = _outermost(block, path, (AxisKind.REDUCE, AxisKind.SCAN))
        kept = path[: path.index(ordered)] if ordered is not None else path
        uses = [(b, kept) for b in definition.outputs]
        uses += [(load.buffer, path) for load in loads(_roots(definition))]
        for buffer, at in uses:
            if buffer in inside or buffer.scope is Scope.TABLE:
                continue
            common[buffer] = _shared(common.get(buffer, at), at)
    for buffer, path in common.items():
        if path:
            layout.forgotten.setdefault(path[-1], []).append(buffer)
    return layout


def _blocks(nodes: Sequence[Node], path: tuple[For, ...]) -> list[tuple[Block, tuple[For, ...]]]:
    """Every block with the loops around it."""
    found: list[tuple[Block, tuple[For, ...]]] = []
    for node in nodes:
        if isinstance(node, Block):
            found.append((node, path))
        else:
            found += _blocks(node.body, (*path, node))
    return found


def _reduces(definition: Definition) -> bool:
    return definition.combiner is not None and not definition.update


def _outermost(block: Block, path: tuple[For, ...], kinds: tuple[AxisKind, ...]) -> For | None:
    """The outermost loop that an axis of these kinds is bound to."""
    symbols: set[Symbol] = set()
    for axis, binding in zip(block.definition.axes, block.bindings, strict=True):
        if axis.kind in kinds:
            symbols |= ix.symbols(binding)
    return next((loop for loop in path if loop.symbol in symbols), None)


def _roots(definition: Definition) -> list[Value]:
    places = (*definition.index, *definition.domain)
    return [*definition.values, *(d.value for i in places for d in ix.dynamics(i))]


def _shared(a: tuple[For, ...], b: tuple[For, ...]) -> tuple[For, ...]:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        length += 1
    return a[:length]


class _Run:
    """One run of a program."""

    def __init__(self, memory: Memory, layout: _Layout, shuffle: np.random.Generator | None):
        self.memory = memory
        self.layout = layout
        self.shuffle = shuffle
        self.still: dict[Block, bool] = {
            block: not any(load.buffer in block.definition.outputs
                           for load in loads(_roots(block.definition)))
            for block in layout.starts
        }  # fmt: skip

    def nodes(self, nodes: Sequence[Node], env: dict[Symbol, int]) -> None:
        for node in nodes:
            if isinstance(node, Block):
                self.block(node, (), env)
            else:
                self.loop(node, env)

    def loop(self, loop: For, env: dict[Symbol, int]) -> None:
        chain = _chain(loop)
        if chain is not None and self.still[chain[1]] and _size(chain[0]) <= _LARGEST_GRID:
            for inner in chain[0]:
                for buffer in self.layout.forgotten.get(inner, ()):
                    self.memory.reset(buffer)
            self.block(chain[1], chain[0], env)
            return
        started = [
            (block, self.begin(block, below, env))
            for block, below in self.layout.started.get(loop, ())
        ]
        turns = np.arange(loop.extent)
        if self.shuffle is not None and loop.kind is LoopKind.PARALLEL:
            turns = self.shuffle.permutation(turns)
        for turn in turns.tolist():
            for buffer in self.layout.forgotten.get(loop, ()):
                self.memory.reset(buffer)
            self.nodes(loop.body, {**env, loop.symbol: turn})
        for block, offsets in started:
            self.memory.end(block.definition.outputs, offsets)

    def begin(self, block: Block, below: Sequence[For], env: dict[Symbol, int]) -> Offsets:
        """Starts a block's reductions at all elements that it writes in these loops."""
        definition = block.definition
        used: set[Symbol] = set()
        for index in block.guard:
            used |= ix.symbols(index)
        for axis, binding in zip(definition.axes, block.bindings, strict=True):
            if axis.kind is AxisKind.SPATIAL:
                used |= ix.symbols(binding)
        running = [loop for loop in below if loop.symbol in used]
        still = {loop.symbol: 0 for loop in below if loop.symbol not in used}
        points = self.points(block, running, {**env, **still})
        offsets = np.unique(self.offsets(definition, points))
        assert definition.combiner is not None
        self.memory.begin(definition.outputs, offsets, definition.combiner)
        return offsets

    def block(self, block: Block, chain: Sequence[For], env: dict[Symbol, int]) -> None:
        """Runs a block at all points of the loops in `chain`."""
        memory, definition = self.memory, block.definition
        outputs, combiner = definition.outputs, definition.combiner
        points = self.points(block, chain, env)
        offsets = self.offsets(definition, points) if _reduces(definition) else None
        start = self.layout.starts[block]
        begins = _reduces(definition) and (start is None or start in chain)
        if begins and offsets is not None and combiner is not None:
            outer = points.values.get(_TURN, np.asarray(0))
            pairs = np.unique(np.stack([offsets, np.broadcast_to(outer, offsets.shape)]), axis=1)
            memory.begin(outputs, pairs[0], combiner)
        inside = points
        if definition.domain:
            mask = holds(definition.domain, points, memory.read)
            inside = points.where(mask)
        values = evaluate(definition.values, inside, memory.read)
        where = self.offsets(definition, inside)
        if combiner is None:
            memory.assign(outputs, where, values, definition.update)
        else:
            memory.combine(outputs, where, values, combiner)
        if begins and offsets is not None:
            memory.end(outputs, offsets)

    def points(self, block: Block, chain: Sequence[For], env: dict[Symbol, int]) -> Points:
        """The block's axes at the turns of the loops that its guard lets through, as a list.

        `_TURN` numbers the turns of the loops outside the reduction's start.
        """
        definition = block.definition
        rank = len(chain)
        loops = {
            loop.symbol: np.arange(loop.extent).reshape([-1 if k == n else 1 for k in range(rank)])
            for n, loop in enumerate(chain)
        }
        shape = tuple(loop.extent for loop in chain)
        self.memory.place = _place(block, chain, env)
        around = Points({**{s: np.asarray(v) for s, v in env.items()}, **loops}, shape)
        around = around.where(holds(block.guard, around, self.memory.read))
        bound = evaluate_indices(block.bindings, around, self.memory.read)
        axes: dict[Symbol, Array] = {}
        for axis, value in zip(definition.axes, bound, strict=True):
            outside = (value < 0) | (value >= axis.extent)
            if outside.any() and 0 not in around.shape:
                bad = np.asarray(value)[outside].reshape(-1)[0]
                raise InternalError(
                    f"axis {axis.symbol.name} of extent {axis.extent} takes the value {bad}",
                    self.memory.place,
                )
            axes[axis.symbol] = np.broadcast_to(value, around.shape)
        turn = np.asarray(0)
        for loop in chain:
            if loop is self.layout.starts[block]:
                break
            turn = turn * loop.extent + around.values[loop.symbol]
        axes[_TURN] = np.broadcast_to(turn, around.shape)
        return Points(axes, around.shape)

    def offsets(self, definition: Definition, points: Points) -> Offsets:
        """Where the outputs are written."""
        if 0 in points.shape:
            return np.zeros(points.shape, np.int64)
        positions = evaluate_indices(definition.index, points, self.memory.read)
        offsets = [self.memory.offsets(b, tuple(positions)) for b in definition.outputs]
        return np.broadcast_to(offsets[0], points.shape)


_TURN = Symbol("turn")


def _chain(loop: For) -> tuple[tuple[For, ...], Block] | None:
    """The loops from here down to a single block, if nothing else is inside."""
    chain = [loop]
    while len(chain[-1].body) == 1:
        (node,) = chain[-1].body
        if isinstance(node, Block):
            return tuple(chain), node
        chain.append(node)
    return None


def _size(chain: Sequence[For]) -> int:
    size = 1
    for loop in chain:
        size *= loop.extent
    return size


def _place(block: Block, chain: Sequence[For], env: dict[Symbol, int]) -> str:
    turns = [f"{s.name}={v}" for s, v in env.items()]
    turns += [f"{loop.symbol.name} in {loop.extent}" for loop in chain]
    return f"in block {block.name}" + (f", loops {', '.join(turns)}" if turns else "")
