"""Values: from expression DAGs to SSA, each node once for each condition it stands under."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...ir import dtypes as dt
from ...ir.errors import InternalError
from ...ir.expr.index import dynamics
from ...ir.expr.nodes import (
    Check,
    Const,
    FromIndex,
    Guarded,
    Index,
    Load,
    Op,
    Slot,
    Value,
)
from ...ir.expr.values import indices
from .address import Addresses, Environment
from .builder import FunctionBuilder, Operand
from .memory import Memory
from .operations import Operations
from .types import literal


class Values:
    """Emits the values of one statement at a time (`begin` starts the next)."""

    def __init__(self, builder: FunctionBuilder, env: Environment):
        self.builder = builder
        self.env = env
        self.operations = Operations(builder)
        self.addresses: Addresses
        self.memory: Memory
        self._done: dict[tuple[int, str], Operand] = {}
        self._mask: Operand | None = None

    def begin(self) -> None:
        """Forgets the previous statement: symbols have moved on."""
        self._done = {}
        self._mask = None

    def known(self, value: Value) -> Operand:
        """The operand of a value that was emitted already (inside an index)."""
        for key in (_key(value, self._mask), _key(value, None)):
            if key in self._done:
                return self._done[key]
        return self.emit(value, self._mask)

    def emit(self, value: Value, mask: Operand | None) -> Operand:
        """The operand of `value`; what it reads where the mask is false is not touched."""
        stack: list[tuple[Value, Operand | None]] = [(value, mask)]
        while stack:
            node, under = stack[-1]
            if _key(node, under) in self._done:
                stack.pop()
                continue
            missing = [n for n in self._needs(node, under) if _key(*n) not in self._done]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            saved, self._mask = self._mask, under
            self._done[_key(node, under)] = self._make(node, under)
            self._mask = saved
        return self._done[_key(value, mask)]

    def bind(self, slot: Slot, operand: Operand) -> None:
        """Gives a combiner's formal operand its value."""
        self._done[_key(slot, None)] = operand

    # -- conditions -------------------------------------------------------------------------

    def decide(self, conditions: Iterable[Index]) -> list[Index] | None:
        """The conditions still open here; None if one is false."""
        left: list[Index] = []
        for condition in conditions:
            index = self.env.simplify(condition)
            low, high = self.env.bounds(index)
            if high < 0:
                return None
            if low < 0:
                left.append(index)
        return left

    def test(self, conditions: Iterable[Index], mask: Operand | None = None) -> Operand | None:
        """The conjunction of open conditions (and a mask) as i1, in lanes if one varies."""
        result = mask
        for index in conditions:
            if self.addresses.varies(index):
                lanes = self.env.lanes
                name = self.addresses.vector(index)
                bit = self.builder.pure(f"icmp sge <{lanes} x i64> {name}, zeroinitializer", name)
            else:
                lanes = 0
                name = self.addresses.scalar(index)
                bit = self.builder.pure(f"icmp sge i64 {name}, 0", name)
            new = Operand(bit, dt.BOOL, lanes, self.builder.depth_of(bit))
            result = new if result is None else self._both(result, new)
        return result

    def _both(self, a: Operand, b: Operand) -> Operand:
        lanes = max(a.lanes, b.lanes)
        a, b = self.addresses.splat(a, lanes), self.addresses.splat(b, lanes)
        return self.operations.emit("and", (a, b), dt.BOOL)

    # -- nodes ------------------------------------------------------------------------------

    def _needs(self, node: Value, mask: Operand | None) -> list[tuple[Value, Operand | None]]:
        inner = [(d.value, mask) for i in indices(node) for d in dynamics(i)]
        if inner and any(_key(*n) not in self._done for n in inner):
            return inner
        match node:
            case Op(_, args):
                return [(a, mask) for a in args]
            case Check(ok, value):
                return [(ok, mask), (value, mask)]
            case Guarded(conditions, value, otherwise):
                open_ = self.decide(conditions)
                if open_ is None:
                    return [(otherwise, mask)]
                if not open_:
                    return [(value, mask)]
                return [(value, self.test(open_, mask)), (otherwise, mask)]
            case _:
                return []

    def _make(self, node: Value, mask: Operand | None) -> Operand:
        match node:
            case Const(value, dtype):
                return Operand(literal(value, dtype), dtype)
            case Load(buffer, (offset,)):
                return self.memory.load(buffer, self.env.simplify(offset), mask)
            case FromIndex(index, dtype):
                return self._from_index(self.env.simplify(index), dtype)
            case Op(name, args, dtype):
                operands = self._even([self._done[_key(a, mask)] for a in args])
                return self.operations.emit(name, operands, dtype)
            case Guarded(conditions, value, otherwise):
                open_ = self.decide(conditions)
                if open_ is None:
                    return self._done[_key(otherwise, mask)]
                if not open_:
                    return self._done[_key(value, mask)]
                test = self.test(open_)
                assert test is not None
                inside = self._done[_key(value, self.test(open_, mask))]
                operands = self._even([test, inside, self._done[_key(otherwise, mask)]])
                return self.operations.emit("select", operands, node.dtype)
            case Check(ok, value, code):
                self._check(self._done[_key(ok, mask)], mask, code)
                return self._done[_key(value, mask)]
            case Slot(name):
                return self._done[_key(node, None)]
            case _:
                raise InternalError(f"a load with {len(node.index)} indices is not flat")

    def _even(self, operands: list[Operand]) -> tuple[Operand, ...]:
        """Scalars splat if any operand has lanes (a select's condition may stay scalar)."""
        lanes = max(o.lanes for o in operands)
        return tuple(self.addresses.splat(o, lanes) for o in operands)

    def _from_index(self, index: Index, dtype: np.dtype) -> Operand:
        if self.addresses.varies(index):
            name, lanes = self.addresses.vector(index), self.env.lanes
        else:
            name, lanes = self.addresses.scalar(index), 0
        operand = Operand(name, dt.INT64, lanes, self.builder.depth_of(name))
        return self.operations.emit("cast", (operand,), dtype)

    def _check(self, ok: Operand, mask: Operand | None, code: int) -> None:
        if mask is not None:
            lanes = max(ok.lanes, mask.lanes)
            ok, bits = self.addresses.splat(ok, lanes), self.addresses.splat(mask, lanes)
            outside = self.operations.emit("not", (bits,), dt.BOOL)
            ok = self.operations.emit("or", (ok, outside), dt.BOOL)
        name = ok.name
        if ok.lanes:
            function = f"@llvm.vector.reduce.and.v{ok.lanes}i1"
            self.builder.intrinsic(f"declare i1 {function}(<{ok.lanes} x i1>)")
            name = self.builder.here(f"call i1 {function}({ok})")
        self.builder.fail_unless(name, code)


def _key(value: Value, mask: Operand | None) -> tuple[int, str]:
    if isinstance(value, Slot):
        mask = None
    return id(value), mask.name if mask is not None else ""
