"""Statements: guards, values, combination with what is there, and the store."""

from __future__ import annotations

from ...ir import dtypes as dt
from ...ir.expr import index as ix
from ...ir.expr.nodes import Index, Op, Scope, Value
from ...ir.flat.nodes import Assign
from ...ir.target import Target
from .address import Environment
from .builder import FunctionBuilder, Operand
from .types import mangled, scalar_type, with_lanes
from .values import Values

_REDUCE = {"sum": "add", "prod": "mul", "and": "and", "or": "or"}


class StatementEmitter:
    """Emits `Assign` nodes where the walk stands."""

    def __init__(self, builder: FunctionBuilder, env: Environment, values: Values, target: Target):
        self.builder = builder
        self.env = env
        self.values = values
        self.target = target

    def emit(self, node: Assign) -> None:
        """One instance of a statement."""
        values = self.values
        values.begin()
        for condition in node.guard:
            for dynamic in ix.dynamics(condition):
                values.emit(dynamic.value, None)
        open_ = values.decide(node.guard)
        if open_ is None:
            return
        uniform = [c for c in open_ if not values.addresses.varies(c)]
        varying = [c for c in open_ if values.addresses.varies(c)]
        if uniform:
            test = values.test(uniform)
            assert test is not None
            self.builder.open_branch(test.name, frozenset(node.targets))
        self._guarded(node, varying)
        if uniform:
            self.builder.close_branch()

    def _guarded(self, node: Assign, varying: list[Index]) -> None:
        values = self.values
        mask = values.test(varying)
        offsets = [self.env.simplify(offset) for offset in node.offsets]
        for offset in offsets:
            for dynamic in ix.dynamics(offset):
                values.emit(dynamic.value, mask)
        if node.combiner is None:
            results = [values.emit(v, mask) for v in node.values]
        else:
            results = self._combined(node, offsets, mask)
        for target, offset, value in zip(node.targets, offsets, results, strict=True):
            uniform = self._uniform(offset)
            if value.lanes and uniform:
                value = self._last(value, mask)
            # Lanes that take no part were combined as the identity: nothing is left to mask.
            combined = uniform and node.combiner is not None
            values.memory.store(target, offset, value, None if combined else mask, node.stream)

    def _uniform(self, offset: Index) -> bool:
        return not self.values.addresses.varies(offset)

    def _last(self, value: Operand, mask: Operand | None) -> Operand:
        """The last lane that takes part: what assigning lane by lane would leave."""
        assert mask is None or not mask.lanes
        name = self.builder.pure(f"extractelement {value}, i64 {value.lanes - 1}", value.name)
        return Operand(name, value.dtype, 0, self.builder.depth_of(name))

    # -- reductions -------------------------------------------------------------------------

    def _combined(self, node: Assign, offsets: list[Index], mask: Operand | None) -> list[Operand]:
        values, memory = self.values, self.values.memory
        combiner = node.combiner
        assert combiner is not None
        uniform = self.env.lane is not None and self._uniform(offsets[0])
        old = [
            memory.load(t, o, None if t.scope is Scope.REGISTER else mask)
            for t, o in zip(node.targets, offsets, strict=True)
        ]
        if not uniform and node.contract and combiner.name == "sum":
            fused = self._multiply_add(node.values[0], old[0], mask)
            if fused is not None:
                return [fused]
        new = [values.emit(v, mask) for v in node.values]
        if uniform:
            return self._across_lanes(node, old, new, mask)
        return self._combine(node, old, new)

    def _multiply_add(self, value: Value, old: Operand, mask: Operand | None) -> Operand | None:
        """fma(a, b, old) for a value a * b, where the target has it and it may be used."""
        if not (
            self.target.fma
            and isinstance(value, Op)
            and value.name == "mul"
            and value.dtype in (dt.FLOAT32, dt.FLOAT64)
        ):
            return None
        a, b = (self.values.emit(arg, mask) for arg in value.args)
        lanes = max(a.lanes, b.lanes, old.lanes)
        operands = tuple(self.values.addresses.splat(o, lanes) for o in (a, b, old))
        return self.values.operations.emit("fma", operands, value.dtype)

    def _combine(self, node: Assign, old: list[Operand], new: list[Operand]) -> list[Operand]:
        combiner = node.combiner
        assert combiner is not None
        lanes = max(o.lanes for o in (*old, *new))
        splat = self.values.addresses.splat
        self.values.begin()
        for slot, operand in zip(combiner.left, old, strict=True):
            self.values.bind(slot, splat(operand, lanes))
        for slot, operand in zip(combiner.right, new, strict=True):
            self.values.bind(slot, splat(operand, lanes))
        return [self.values.emit(result, None) for result in combiner.results]

    def _across_lanes(
        self, node: Assign, old: list[Operand], new: list[Operand], mask: Operand | None
    ) -> list[Operand]:
        """Combines all lanes of the new values into one element."""
        combiner = node.combiner
        assert combiner is not None
        lanes = self.env.lanes
        splat = self.values.addresses.splat
        new = [splat(o, lanes) for o in new]
        if mask is not None:
            bits = splat(mask, lanes)
            neutral = [self.values.emit(c, None) for c in combiner.identity]
            new = [
                self.values.operations.emit("select", (bits, o, splat(n, lanes)), o.dtype)
                for o, n in zip(new, neutral, strict=True)
            ]
        narrow = new[0].dtype in (dt.FLOAT16, dt.BFLOAT16)  # only the combiner can add those
        word = None if narrow else _REDUCE.get(combiner.name)
        if len(new) == 1 and word is not None and (node.contract or not dt.is_float(new[0].dtype)):
            return self._combine(node, old, [self._reduce(word, new[0])])
        if len(new) == 1 and node.contract:
            return self._combine(node, old, [self._tree(node, new[0])])
        for lane in range(lanes):
            old = self._combine(node, old, [self._extract(o, lane) for o in new])
        return old

    def _extract(self, operand: Operand, lane: int) -> Operand:
        name = self.builder.pure(f"extractelement {operand}, i64 {lane}", operand.name)
        return Operand(name, operand.dtype, 0, self.builder.depth_of(name))

    def _reduce(self, word: str, operand: Operand) -> Operand:
        element, lanes = scalar_type(operand.dtype), operand.lanes
        vector = with_lanes(element, lanes)
        if dt.is_float(operand.dtype):
            function = f"@llvm.vector.reduce.f{word}.{mangled(element, lanes)}"
            self.builder.intrinsic(f"declare {element} {function}({element}, {vector})")
            start = "-0.0" if word == "add" else "1.0"
            text = f"call reassoc {element} {function}({element} {start}, {operand})"
        else:
            if operand.dtype == dt.BOOL:
                word = {"add": "or", "mul": "and"}.get(word, word)
            function = f"@llvm.vector.reduce.{word}.{mangled(element, lanes)}"
            self.builder.intrinsic(f"declare {element} {function}({vector})")
            text = f"call {element} {function}({operand})"
        name = self.builder.pure(text, operand.name)
        return Operand(name, operand.dtype, 0, self.builder.depth_of(name))

    def _tree(self, node: Assign, operand: Operand) -> Operand:
        """Halves the lanes until one is left, combining by the combiner itself."""
        while operand.lanes > 1 and operand.lanes % 2 == 0:
            half = operand.lanes // 2
            parts = [self._part(operand, start, half) for start in (0, half)]
            operand = self._combine(node, [parts[0]], [parts[1]])[0]
        if operand.lanes == 0:
            return operand
        result = self._extract(operand, 0)
        for lane in range(1, operand.lanes):
            result = self._combine(node, [result], [self._extract(operand, lane)])[0]
        return result

    def _part(self, operand: Operand, start: int, count: int) -> Operand:
        if count == 1:
            return self._extract(operand, start)
        order = ", ".join(f"i32 {start + k}" for k in range(count))
        name = self.builder.pure(
            f"shufflevector {operand}, {operand.type} poison, <{count} x i32> <{order}>",
            operand.name,
        )
        return Operand(name, operand.dtype, count, self.builder.depth_of(name))
