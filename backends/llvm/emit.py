"""Flat programs to LLVM IR text, by walking the program with an environment.

Unrolled symbols are integers, one symbol is the lane, running symbols are SSA counters; unrolling
repeats the walk, nothing is expanded before. The module defines `i32 @NAME(ptr args, ptr shared)`:

    @NAME        loads the parameters' pointers and calls
    @NAME.body   the code, with a `noalias` parameter per buffer; each parallel loop in it becomes
    @NAME.parN   i32 (ptr ctx, i64 low, i64 high, i32 worker), called through `lw_parallel_for`,
                 which unpacks ctx and calls
    @NAME.parN.body
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...ir.errors import ScheduleError
from ...ir.expr import index as ix
from ...ir.expr.nodes import Buffer, Index, Scope, Symbol
from ...ir.flat.cost import nanoseconds
from ...ir.flat.nodes import Assign, FlatNode, FlatProgram, Loop, Storage
from ...ir.loop.nodes import LoopKind
from ...ir.target import Target
from .address import Addresses, Environment
from .builder import FunctionBuilder
from .memory import NONTEMPORAL, ZEROS, ZEROS_BYTES, Memory
from .statement import StatementEmitter
from .values import Values

MOST_INSTRUCTIONS = 200_000
MOST_LANES = 64
PARALLEL_WORTH_NS = 15_000.0
GRAIN_NS = 5_000.0


def emit_kernel(program: FlatProgram, target: Target) -> str:
    """The LLVM module of one kernel; see the module's docstring for what it defines."""
    return _Module(program, target).text()


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What is known of each loop before the walk."""

    written: dict[int, frozenset[Buffer]]
    innermost: dict[int, bool]


def _facts(nodes: Iterable[FlatNode]) -> _Facts:
    written: dict[int, frozenset[Buffer]] = {}
    innermost: dict[int, bool] = {}

    def visit(node: FlatNode) -> tuple[frozenset[Buffer], bool]:
        if isinstance(node, Assign):
            return frozenset(node.targets), False
        found: frozenset[Buffer] = frozenset()
        runs_inside = False
        for inner in node.body:
            buffers, runs = visit(inner)
            found |= buffers
            runs_inside = runs_inside or runs
        written[id(node)] = found
        innermost[id(node)] = not runs_inside
        trips = sum(high - low for low, high in node.segments)
        runs = node.kind in (LoopKind.SERIAL, LoopKind.PARALLEL) and trips > 1
        return found, runs or runs_inside

    for node in nodes:
        visit(node)
    return _Facts(written, innermost)


class _Module:
    """The functions and declarations of one kernel."""

    def __init__(self, program: FlatProgram, target: Target):
        self.program = program
        self.target = target
        self.facts = _facts(program.body)
        self.globals = [s for s in program.storages if s.buffer.scope is Scope.GLOBAL]
        self.scratch = [s for s in program.storages if s.buffer.scope is Scope.SCRATCH]
        written = frozenset(t for a in _assigns(program.body) for t in a.targets)
        self.constant = frozenset(s.buffer for s in self.globals) - written
        self.functions: list[str] = []
        self.declarations: set[str] = set()
        self.parallel = 0
        self.stream_bytes = 0
        self.uses_zeros = False

    def text(self) -> str:
        name = self.program.name
        self.body(f"{name}.body")
        count = len(self.globals)
        lines = [f"define i32 @{name}(ptr %args, ptr %shared) nounwind {{"]
        for k in range(count):
            lines.append(f"  %a{k} = getelementptr ptr, ptr %args, i64 {k}")
            lines.append(f"  %p{k} = load ptr, ptr %a{k}")
        operands = ", ".join([f"ptr %p{k}" for k in range(count)] + ["ptr %shared", "ptr null"])
        streamed = self._streamed()
        if streamed:
            self.stream_bytes = self.target.vector_bits // 8
            self.body(f"{name}.stream")
            lines.extend(self._choose(streamed, operands))
        lines.append(f"  %status = call i32 @{name}.body({operands})")
        lines.append("  ret i32 %status\n}\n")
        parts = [*self.functions, "\n".join(lines), *sorted(self.declarations)]
        if streamed:
            parts.append(f"{NONTEMPORAL} = !{{i32 1}}")
        if self.uses_zeros:
            parts.insert(
                0, f"{ZEROS} = private constant [{ZEROS_BYTES} x i8] zeroinitializer, align 64\n"
            )
        return "\n".join(parts)

    def _streamed(self) -> list[Storage]:
        """The parameters that some statement stores past the caches."""
        targets = {t for a in _assigns(self.program.body) if a.stream for t in a.targets}
        return [s for s in self.globals if s.buffer in targets]

    def _choose(self, streamed: list[Storage], operands: str) -> list[str]:
        """Calls the streaming variant where all streamed parameters begin at a cache line."""
        lines = []
        low = "0"
        for s in streamed:
            lines.append(f"  %i{s.position} = ptrtoint ptr %p{s.position} to i64")
            lines.append(f"  %l{s.position} = or i64 {low}, %i{s.position}")
            low = f"%l{s.position}"
        lines.append(f"  %line = and i64 {low}, 63")
        lines.append("  %aligned = icmp eq i64 %line, 0")
        lines.append("  br i1 %aligned, label %stream, label %plain\nstream:")
        lines.append(f"  %streamed = call i32 @{self.program.name}.stream({operands})")
        lines.append("  fence seq_cst\n  ret i32 %streamed\nplain:")
        return lines

    def body(self, name: str) -> None:
        """Adds the function that holds the kernel's code."""
        self.functions.append(self.function(name, "", self.program.body, None, {}, []))

    def function(
        self,
        name: str,
        more: str,
        nodes: tuple[FlatNode, ...],
        parallel: Loop | None,
        constants: dict[Symbol, Index],
        outer: list[tuple[Symbol, tuple[ix.Bound, ix.Bound]]],
    ) -> str:
        """One function with a `noalias` parameter per global, shared and own scratch."""
        parameters = [f"ptr noalias %p{k}" for k in range(len(self.globals))]
        parameters += ["ptr noalias %shared", "ptr noalias %scratch"]
        signature = f"define private i32 @{name}({', '.join(parameters)}{more}) nounwind"
        builder = FunctionBuilder(signature)
        env = Environment(constants=dict(constants))
        for symbol, interval in outer:
            env.counters[symbol] = f"%outer{len(env.counters)}"
            env.ranges[symbol] = interval
        bases = {s.buffer: f"%p{s.position}" for s in self.globals}
        for s in self.scratch:
            base = "%scratch" if s.per_worker else "%shared"
            bases[s.buffer] = base
            if s.position:
                bases[s.buffer] = builder.pure(
                    f"getelementptr i8, ptr {base}, i64 {s.position}", prefix="s"
                )
        values = Values(builder, env)
        values.addresses = Addresses(builder, env, bases, values.known)
        values.memory = Memory(builder, env, values.addresses, self.constant, self.stream_bytes)
        walk = _Walk(self, builder, env, values)
        if parallel is None:
            walk.nodes(nodes)
        else:
            walk.chunk(parallel)
        self.declarations |= builder.intrinsics
        self.uses_zeros = self.uses_zeros or values.memory.uses_zeros
        return builder.text()


class _Walk:
    """Emits nodes into one function."""

    def __init__(self, module: _Module, builder: FunctionBuilder, env: Environment, values: Values):
        self.module = module
        self.builder = builder
        self.env = env
        self.values = values
        self.statement = StatementEmitter(builder, env, values, module.target)

    def nodes(self, nodes: tuple[FlatNode, ...]) -> None:
        if self.builder.instructions > MOST_INSTRUCTIONS:
            raise ScheduleError(
                f"kernel {self.module.program.name} unrolls to more than "
                f"{MOST_INSTRUCTIONS} instructions",
                fix="unroll fewer iterations",
                code="too-large",
            )
        for node in nodes:
            if isinstance(node, Assign):
                self.statement.emit(node)
            else:
                self.loop(node)

    def loop(self, node: Loop) -> None:
        if not node.segments:
            return
        kind = node.kind
        if kind is LoopKind.VECTOR and (
            self.env.lane is not None or not 1 < node.segments[-1][1] <= MOST_LANES
        ):
            kind = LoopKind.UNROLL if node.segments[-1][1] <= MOST_LANES else LoopKind.SERIAL
        if kind is LoopKind.VECTOR:
            self._lanes(node)
        elif kind is LoopKind.UNROLL:
            for low, high in node.segments:
                for value in range(low, high):
                    self._with_constant(node, value)
        elif kind is LoopKind.PARALLEL and self.env.lane is None and node.segments[-1][1] > 1:
            self._parallel(node)
        else:
            for low, high in node.segments:
                self._serial(node, low, high)

    def _lanes(self, node: Loop) -> None:
        extent = node.segments[-1][1]
        self.env.lane, self.env.lanes = node.symbol, extent
        self.env.ranges[node.symbol] = (0, extent - 1)
        self.nodes(node.body)
        self.env.lane, self.env.lanes = None, 0

    def _with_constant(self, node: Loop, value: int) -> None:
        self.env.constants[node.symbol] = Index(value)
        self.env.ranges[node.symbol] = (value, value)
        open_ = self.values.decide(node.tighten)
        if open_ is not None:
            if open_:
                test = self.values.test(open_)
                assert test is not None
                self.builder.open_branch(test.name, self.module.facts.written[id(node)])
                self.nodes(node.body)
                self.builder.close_branch()
            else:
                self.nodes(node.body)
        del self.env.constants[node.symbol]

    def _serial(self, node: Loop, low: int, high: int) -> None:
        if high - low == 1:
            self._with_constant(node, low)
            return
        self.env.ranges[node.symbol] = (low, high - 1)
        low_name, high_name, empty = self._bounds(node, low, high)
        self._run(node, low_name, high_name, empty)

    def _run(self, node: Loop, low: str, high: str, empty: bool) -> None:
        counter = self.builder.open_loop(
            node.symbol,
            low,
            high,
            self.module.facts.written[id(node)],
            self.module.facts.innermost[id(node)],
            empty,
        )
        self.env.counters[node.symbol] = counter
        self.nodes(node.body)
        self.builder.close_loop()
        del self.env.counters[node.symbol]

    def _bounds(self, node: Loop, low: int, high: int) -> tuple[str, str, bool]:
        """The loop's run-time bounds after its conditions, and whether it may be empty."""
        lows: list[Index] = [Index(low)]
        highs: list[Index] = [Index(high)]
        gates: list[Index] = []
        for condition in node.tighten:
            index = self.env.simplify(condition)
            c = ix.coefficient(index, node.symbol) or 0
            rest = ix.subtract(index, ix.scale(ix.of(node.symbol), c))
            if c > 0:  # c*s + rest >= 0  <=>  s >= -floor(rest / c)
                lows.append(ix.scale(ix.floor_divide(rest, c, self.env.ranges), -1))
            elif c < 0:  # s <= floor(rest / -c)
                highs.append(ix.add(ix.floor_divide(rest, -c, self.env.ranges), 1))
            else:
                gates.append(rest)
        gates = [g for g in gates if self.env.bounds(g)[0] < 0]
        low_bounds = [self.env.bounds(i) for i in lows]
        high_bounds = [self.env.bounds(i) for i in highs]
        empty = bool(gates) or max(b for _, b in low_bounds) >= min(a for a, _ in high_bounds)
        low_name = self._extreme("smax", lows)
        high_name = self._extreme("smin", highs)
        for gate in gates:
            test = self.values.test([gate])
            assert test is not None
            high_name = self.builder.pure(
                f"select i1 {test.name}, i64 {high_name}, i64 {low_name}",
                test.name,
                high_name,
                low_name,
            )
        return low_name, high_name, empty

    def _extreme(self, word: str, candidates: list[Index]) -> str:
        constants = [i.const for i in candidates if not i.terms]
        best = str(max(constants) if word == "smax" else min(constants))
        for index in candidates:
            if index.terms:
                name = self.values.addresses.scalar(index)
                self.builder.intrinsic(f"declare i64 @llvm.{word}.i64(i64, i64)")
                best = self.builder.pure(
                    f"call i64 @llvm.{word}.i64(i64 {best}, i64 {name})", best, name
                )
        return best

    # -- parallel loops ---------------------------------------------------------------------

    def _parallel(self, node: Loop) -> None:
        module, builder = self.module, self.builder
        number = module.parallel
        module.parallel += 1
        name = f"{module.program.name}.par{number}"
        outer = [(s, self.env.ranges[s]) for s in self.env.counters]
        more = ", i64 %low, i64 %high" + "".join(f", i64 %outer{k}" for k in range(len(outer)))
        module.functions.append(
            module.function(f"{name}.body", more, (), node, self.env.constants, outer)
        )
        module.functions.append(
            _unpack(name, len(module.globals), len(outer), module.program.worker_bytes)
        )
        module.declarations.add("declare i32 @lw_parallel_for(ptr, ptr, i64, i64)")
        module.declarations.add("declare ptr @lw_worker_scratch(i64)")
        fields = [f"ptr %p{k}" for k in range(len(module.globals))] + ["ptr %shared"]
        fields += [f"i64 {self.env.counters[s]}" for s, _ in outer]
        context = builder.fresh("ctx")
        builder.line(f"{context} = alloca [{len(fields)} x i64], align 8", 0)
        for k, item in enumerate(fields):
            place = builder.here(f"getelementptr i64, ptr {context}, i64 {k}")
            builder.line(f"store {item}, ptr {place}")
        count = node.segments[-1][1]
        total = nanoseconds((node,))
        threads = module.target.threads
        if total < PARALLEL_WORTH_NS or threads == 1:
            call = f"call i32 @{name}(ptr {context}, i64 0, i64 {count}, i32 0)"
        else:
            grain = max(1, min(count, round(GRAIN_NS / max(total / count, 1e-3))))
            call = (
                f"call i32 @lw_parallel_for(ptr @{name}, ptr {context}, i64 {count}, i64 {grain})"
            )
        status = builder.here(call)
        ok = builder.here(f"icmp eq i32 {status}, 0")
        builder.fail_unless(ok, status)
        for buffer in module.facts.written[id(node)]:
            builder.touch(buffer)

    def chunk(self, node: Loop) -> None:
        """The parallel loop's iterations from %low to %high."""
        single = len(node.segments) == 1
        for low, high in node.segments:
            self.env.ranges[node.symbol] = (low, high - 1)
            if single:
                self._run(node, "%low", "%high", False)
                continue
            start = self._extreme_of("smax", "%low", low)
            stop = self._extreme_of("smin", "%high", high)
            if high - low == 1:
                some = self.builder.pure(f"icmp slt i64 {start}, {stop}")
                self.builder.open_branch(some, self.module.facts.written[id(node)])
                self._with_constant(node, low)
                self.builder.close_branch()
            else:
                self._run(node, start, stop, True)

    def _extreme_of(self, word: str, name: str, value: int) -> str:
        self.builder.intrinsic(f"declare i64 @llvm.{word}.i64(i64, i64)")
        return self.builder.pure(f"call i64 @llvm.{word}.i64(i64 {name}, i64 {value})")


def _assigns(nodes: Iterable[FlatNode]) -> Iterator[Assign]:
    for node in nodes:
        if isinstance(node, Assign):
            yield node
        else:
            yield from _assigns(node.body)


def _unpack(name: str, pointers: int, counters: int, scratch_bytes: int) -> str:
    """The parallel body of the runtime's signature: unpacks ctx and calls NAME.body."""
    lines = [f"define private i32 @{name}(ptr %ctx, i64 %low, i64 %high, i32 %worker) nounwind {{"]
    operands = []
    for k in range(pointers + 1):
        lines.append(f"  %f{k} = getelementptr i64, ptr %ctx, i64 {k}")
        lines.append(f"  %p{k} = load ptr, ptr %f{k}")
        operands.append(f"ptr %p{k}")
    tail = ["i64 %low", "i64 %high"]
    for k in range(counters):
        place = pointers + 1 + k
        lines.append(f"  %f{place} = getelementptr i64, ptr %ctx, i64 {place}")
        lines.append(f"  %c{k} = load i64, ptr %f{place}")
        tail.append(f"i64 %c{k}")
    if scratch_bytes:
        lines.append(f"  %scratch = call ptr @lw_worker_scratch(i64 {scratch_bytes})")
        lines.append("  %none = icmp eq ptr %scratch, null")
        lines.append("  br i1 %none, label %full, label %go\nfull:\n  ret i32 -1\ngo:")
        operands.append("ptr %scratch")
    else:
        operands.append("ptr null")
    lines.append(f"  %status = call i32 @{name}.body({', '.join(operands + tail)})")
    lines.append("  ret i32 %status\n}\n")
    return "\n".join(lines)
