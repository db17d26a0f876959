"""Sorting as definitions: short runs by counting, then pairs of runs merged by binary search.

An element's place is the start of its run (or pair of runs), its rank there added. In a run of at
most `RUN` elements the rank is the number of elements that stand before it. In a merge of two
sorted runs it is its own offset plus the number of elements of the other run that stand before
it, found in log2(length) + 1 probes. So n elements take some n * log2(n)**2 / 2 steps in
log2(n / RUN) merges. Of equal elements those of the left run come first: the order is stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import dtypes
from ..expr import index as ix
from ..expr.combiners import combiner, compare
from ..expr.nodes import Buffer, Dynamic, FromIndex, Index, Load, Op, Value
from ..expr.values import const
from ..graph import ops
from ..graph.nodes import Equation, Var
from ..tensor.nodes import Axis, AxisKind
from .builder import Builder
from .rules_reduce import indices

RUN = 32


@dataclass(frozen=True, slots=True)
class _Runs:
    """Sorted runs of `length` along the axis: their keys, and where these stood at first."""

    length: int
    keys: Buffer
    positions: Buffer | None


def sort(op: ops.Sort, equation: Equation, builder: Builder) -> None:
    """result = the operand in ascending order along the axis, or the positions that sort it."""
    operand, result = equation.inputs[0], equation.outputs[0]
    if operand.type.shape[op.axis] > 1:
        _Sorting(op, equation, builder).run()
        return
    spatial = builder.axes(operand.type.shape)
    index = indices(spatial)
    value = const(0, dtypes.INT64) if op.indices else builder.read(operand, index)
    target = builder.result(result, "sort")
    builder.define("sort", spatial, (target,), index, (value,), equation=equation)


class _Sorting:
    """The sorting of one array."""

    def __init__(self, op: ops.Sort, equation: Equation, builder: Builder):
        self.builder = builder
        self.equation = equation
        self.axis = op.axis
        self.operand = equation.inputs[0]
        self.shape = self.operand.type.shape
        self.extent = self.shape[op.axis]
        self.result: Var = equation.outputs[0]
        self.wants_positions = op.indices
        self.name = "argsort" if op.indices else "sort"
        self.small = dtypes.INT32 if self.extent < 2**31 else dtypes.INT64

    def run(self) -> None:
        length = min(RUN, self.extent)
        spare: _Runs | None = None
        runs = self._target(length, None)
        self._count(runs)
        while runs.length < self.extent:
            merged = self._target(runs.length * 2, spare)
            self._merge(runs, merged)
            spare, runs = runs, merged

    def _target(self, length: int, spare: _Runs | None) -> _Runs:
        """Arrays for runs of a length: the result itself for the last, else `spare` or new ones."""
        builder, dtype = self.builder, self.operand.type.dtype
        last = length >= self.extent
        keys = spare.keys if spare is not None else None
        positions = spare.positions if spare is not None else None
        if last and not self.wants_positions:
            keys = builder.result(self.result, self.name)
        if last and self.wants_positions:
            positions = builder.result(self.result, self.name)
        elif self.wants_positions and positions is None:
            positions = builder.scratch("order", self.shape, dtypes.INT64)
        if keys is None:
            keys = builder.scratch("sorted", self.shape, dtype)
        return _Runs(length, keys, positions)

    def _count(self, runs: _Runs) -> None:
        """Sorts the operand in runs: each element's rank is what stands before it in its run."""
        builder, axis = self.builder, self.axis
        spatial = builder.axes(self.shape)
        (other,) = builder.axes([runs.length], "r", AxisKind.REDUCE)
        index = indices(spatial)
        start = self._start(index, runs.length)
        theirs = ix.add(start, ix.of(other.symbol))
        left = ix.subtract(ix.constant(self.extent - 1), theirs)
        mine = self.builder.read(self.operand, index)
        key = self.builder.read(self.operand, (*index[:axis], theirs, *index[axis + 1 :]))
        earlier = _bool("lt", self._number(theirs), self._number(index[axis]))
        before = _bool("or", _less(key, mine), _bool("and", earlier, _not(_less(mine, key))))
        rank = builder.scratch("rank", self.shape, self.small)
        builder.define(
            "rank",
            (*spatial, other),
            (rank,),
            index,
            (Op("cast", (before,), self.small),),
            combine=combiner("sum", self.small),
            domain=(left,) if ix.bounds(left, builder.ranges)[0] < 0 else (),
            equation=self.equation,
        )
        spatial = builder.axes(self.shape)
        self._send(spatial, Load(rank, indices(spatial)), runs, None)

    def _merge(self, runs: _Runs, merged: _Runs) -> None:
        """Merges pairs of runs: to its offset each element adds its place in the other run."""
        builder, axis, length = self.builder, self.axis, runs.length
        spatial = builder.axes(self.shape)
        index = indices(spatial)
        here = index[axis]
        number = ix.floor_divide(here, length, builder.ranges)
        side = ix.modulo(number, 2, builder.ranges)
        right = _bool("eq", self._number(side), self._integer(1))
        other = ix.scale(ix.add(number, 1, ix.scale(side, -2)), length)  # the other run's start
        mine = Load(runs.keys, index)
        found: Value = self._integer(0)
        step = length
        while step:
            step //= 2
            taken = max(step, 1)
            at = Op("add", (found, self._number(ix.add(other, taken - 1))), self.small)
            exists = _bool("lt", at, self._integer(self.extent))
            safe = Op("minimum", (at, self._integer(self.extent - 1)), self.small)
            place = ix.of(Dynamic(safe, 0, self.extent - 1))
            key = Load(runs.keys, (*index[:axis], place, *index[axis + 1 :]))
            # On the left what is less stands before; on the right also what is equal.
            a = Op("select", (right, mine, key), mine.dtype)
            b = Op("select", (right, key, mine), mine.dtype)
            before = _bool("and", exists, _bool("xor", _less(a, b), right))
            more = Op("add", (found, self._integer(taken)), self.small)
            found = Op("select", (before, more, found), self.small)
        own = self._number(ix.modulo(here, length, builder.ranges))
        self._send(spatial, Op("add", (found, own), self.small), merged, runs)

    def _send(
        self, spatial: Sequence[Axis], rank: Value, target: _Runs, source: _Runs | None
    ) -> None:
        """Moves keys and positions, from the operand or from shorter runs, to their ranks."""
        builder, axis, index = self.builder, self.axis, indices(spatial)
        last = min(target.length, self.extent) - 1
        place = ix.add(self._start(index, target.length), ix.of(Dynamic(rank, 0, last)))
        outputs: list[Buffer] = []
        values: list[Value] = []
        if target.length < self.extent or not self.wants_positions:
            key = Load(source.keys, index) if source else builder.read(self.operand, index)
            outputs.append(target.keys)
            values.append(key)
        if target.positions is not None:
            known = source.positions if source is not None else None
            first = FromIndex(index[axis], dtypes.INT64)
            outputs.append(target.positions)
            values.append(first if known is None else Load(known, index))
        builder.define(
            self.name,
            spatial,
            outputs,
            (*index[:axis], place, *index[axis + 1 :]),
            values,
            update=True,
            equation=self.equation,
        )

    def _start(self, index: tuple[Index, ...], length: int) -> Index:
        """Where the run of an element starts."""
        ranges = self.builder.ranges
        return ix.scale(ix.floor_divide(index[self.axis], length, ranges), length)

    def _number(self, index: Index) -> Value:
        return FromIndex(index, self.small)

    def _integer(self, number: int) -> Value:
        return const(np.int64(number), self.small)


def _less(a: Value, b: Value) -> Value:
    """Whether a sorts before b: NaN after all else."""
    less, _ = compare(b, a)
    if dtypes.is_float(a.dtype):
        less = _bool("or", less, _bool("and", _bool("ne", b, b), _bool("eq", a, a)))
    return less


def _not(a: Value) -> Value:
    return _bool("not", a)


def _bool(name: str, *args: Value) -> Value:
    return Op(name, args, dtypes.BOOL)
