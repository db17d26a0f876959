"""The builder of a tensor program: reads elements, names and makes arrays, collects definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from .. import dtypes
from ..expr import index as ix
from ..expr.nodes import Buffer, Combiner, Const, FromIndex, Index, Load, Scope, Symbol, Value
from ..expr.values import loads, rewrite
from ..graph.nodes import Atom, Equation, Group, Literal, Var
from ..tensor.nodes import Axis, AxisKind, Definition, Param, Role, TensorProgram
from .materialise import UPDATES, Arrays, arrays, home, in_place
from .rules import INLINE, Indices, Request, Site, Steps, cast

SPATIAL_NAMES = "ijklmnpq"


class Builder:
    """The state of lowering one group."""

    def __init__(self, group: Group, strides: Mapping[Var, tuple[int, ...]]):
        self.group = group
        self.plan: Arrays = arrays(group)
        self.ranges: dict[Symbol, tuple[ix.Bound, ix.Bound]] = {}
        self.definitions: list[Definition] = []
        self._names: set[str] = set()
        self._defined: set[str] = set()
        self._arrays: dict[Var, Buffer] = {}
        self._values: dict[Request, Value] = {}
        self._makers = {v: n for n, e in enumerate(group.equations) for v in e.outputs}
        self._donated = {i: group.outputs[o] for i, o in group.donated}
        self._params: list[Param] = []
        self._inouts: set[Buffer] = set()
        for position, var in enumerate(group.inputs):
            self._add_input(position, var, strides.get(var))

    def _add_input(self, position: int, var: Var, strides: tuple[int, ...] | None) -> None:
        letter = chr(ord("a") + position) if position < 26 else f"a{position}"
        name = self.unique(letter)
        buffer = Buffer(name, var.type.shape, var.type.dtype, Scope.GLOBAL, strides)
        donated = self._donated.get(position)
        self._params.append(Param(buffer, Role.INPUT if donated is None else Role.INOUT))
        if donated is None:
            self._arrays[var] = buffer
            return
        self._inouts.add(buffer)
        self._arrays[donated] = buffer
        if self._outlives(var, donated):
            old = self.scratch("old", var.type.shape, var.type.dtype)
            self.copy(old, buffer)
            self._arrays[var] = old
        else:
            self._arrays.setdefault(var, buffer)

    def _outlives(self, var: Var, donated: Var) -> bool:
        """Whether a donated input is still read after its memory was written to."""
        first = self.plan.first_write.get(donated)
        if first is None:
            return False
        equation = self.group.equations[first]
        copies = isinstance(equation.op, UPDATES) and not self.in_place(equation)
        last = first - 1 if copies else first  # the copy comes before what the update reads
        return any(reader > last for reader in self.plan.readers.get(var, ()))

    # Names and arrays.

    def unique(self, base: str) -> str:
        """A name not yet used: base, base_1, base_2, ..."""
        name, n = base, 0
        while name in self._names:
            n += 1
            name = f"{base}_{n}"
        self._names.add(name)
        return name

    def scratch(self, name: str, shape: Sequence[int], dtype: np.dtype) -> Buffer:
        """An array inside the kernel; `name` is made unique."""
        return Buffer(self.unique(name), tuple(shape), dtype, Scope.SCRATCH)

    def result(self, var: Var, name: str) -> Buffer:
        """The array of a stored variable, made when first asked for."""
        var = home(self.plan, var)
        if var not in self._arrays:
            outside = var in self.group.outputs and var not in self._donated.values()
            scope = Scope.GLOBAL if outside else Scope.SCRATCH
            self._arrays[var] = Buffer(self.unique(name), var.type.shape, var.type.dtype, scope)
        return self._arrays[var]

    def in_place(self, equation: Equation) -> bool:
        """Whether an update's result array already holds its operand."""
        return in_place(self.group, self.plan, equation)

    # Axes.

    def axes(
        self, extents: Sequence[int], names: str | Sequence[str] = SPATIAL_NAMES,
        kind: AxisKind = AxisKind.SPATIAL,
    ) -> tuple[Axis, ...]:  # fmt: skip
        """Axes of the given extents; names repeat with a number once they run out."""
        result = []
        for n, extent in enumerate(extents):
            turn, k = divmod(n, len(names))
            symbol = Symbol(names[k] + (str(turn) if turn else ""))
            self.ranges[symbol] = (0, max(extent - 1, 0))
            result.append(Axis(symbol, extent, kind))
        return tuple(result)

    # Reading.

    def read(self, atom: Atom, index: Indices) -> Value:
        """One element of a variable, down to loads of arrays. The same request, the same node."""
        return self._known(atom, index) or self.compute(atom, index)

    def compute(self, atom: Atom, index: Indices) -> Value:
        """As `read`, but the variable itself is computed by its rule, not read from its array."""
        result: Value | None = None
        pending: list[tuple[Request, Steps]] = [((atom, index), self._start(atom, index))]
        while pending:
            request, steps = pending[-1]
            try:
                # Before its first request a rule is sent None, which starts it.
                wanted = steps.send(result)  # type: ignore[arg-type]
            except StopIteration as stop:
                result = stop.value
                pending.pop()
                if pending:
                    self._values[request] = result
                continue
            result = self._known(*wanted)
            if result is None:
                pending.append((wanted, self._start(*wanted)))
        assert result is not None
        return result

    def _known(self, atom: Atom, index: Indices) -> Value | None:
        found = self._values.get((atom, index))
        if found is not None:
            return found
        if isinstance(atom, Literal):
            found = Const(atom.value, atom.value.dtype)
        elif atom not in self._makers or atom in self.plan.stored:
            found = Load(self._arrays[home(self.plan, atom)], index)
        else:
            return None
        self._values[atom, index] = found
        return found

    def _start(self, atom: Atom, index: Indices) -> Steps:
        assert isinstance(atom, Var)
        number = self._makers[atom]
        equation = self.group.equations[number]
        site = Site(equation, number + 1, self.ranges)
        return INLINE[type(equation.op)](equation.op, site, index)

    def code(self, equation: Equation) -> int:
        """The status code of checks made for an equation: 1 + its number in the group."""
        return 1 + self._makers[equation.outputs[0]]

    # Definitions.

    def define(
        self,
        base: str,
        axes: Sequence[Axis],
        outputs: Sequence[Buffer],
        index: Indices,
        values: Sequence[Value],
        *,
        combine: Combiner | None = None,
        domain: Sequence[Index] = (),
        update: bool = False,
        exact_order: bool = False,
        equation: Equation | None = None,
    ) -> None:
        """Adds a definition, called by its first output where that is new, else by `base`.

        A reduction over nothing becomes the identity, a definition of nothing is left out, and no
        axis that reaches the other levels is empty. One that would read what it has already
        overwritten (in the memory of a donated input) is computed into scratch first.
        """
        axes, values, domain = tuple(axes), tuple(values), tuple(domain)
        if combine is not None and not update:
            if any(a.kind is AxisKind.REDUCE and not a.extent for a in axes):
                axes = tuple(a for a in axes if a.kind is not AxisKind.REDUCE)
                values, domain, combine = combine.identity, (), None
        if any(not a.extent for a in axes):
            return
        target = outputs[0]
        if target in self._inouts or update:
            places = [i for v in (*index, *domain) for i in ix.dynamics(v)]
            if any(load.buffer is target for load in loads(d.value for d in places)):
                index, domain = self._from_old(target, index, domain)
            if self._clobbers(target, index, values, combine):
                values = self._hold(axes, values, equation)
        fresh = target not in self._inouts and target.name not in self._defined
        name = target.name if fresh else self.unique(base)
        self._defined.add(name)
        source = equation.source if equation is not None else None
        self.definitions.append(
            Definition(
                name, axes, tuple(outputs), index, values, combine, domain, update, exact_order,
                source,
            )
        )  # fmt: skip

    def _clobbers(
        self, target: Buffer, index: Indices, values: Sequence[Value], combine: Combiner | None
    ) -> bool:
        """Whether a value reads an element of `target` that another point writes."""
        still = combine is None and not any(ix.dynamics(i) for i in index)
        return any(
            load.buffer is target and not (still and load.index == index) for load in loads(values)
        )

    def _hold(
        self, axes: tuple[Axis, ...], values: Sequence[Value], equation: Equation | None
    ) -> tuple[Value, ...]:
        """Loads of scratch arrays that hold the values at every point of the axes."""
        inner = self.axes([a.extent for a in axes])
        places = tuple(ix.of(a.symbol) for a in inner)
        mapping = {a.symbol: i for a, i in zip(axes, places, strict=True)}
        result = []
        for value in rewrite(values, mapping=mapping, ranges=self.ranges):
            array = self.scratch("held", [a.extent for a in axes], value.dtype)
            self.define("held", inner, (array,), places, (value,), equation=equation)
            result.append(Load(array, tuple(ix.of(a.symbol) for a in axes)))
        return tuple(result)

    def _from_old(
        self, target: Buffer, index: Indices, domain: tuple[Index, ...]
    ) -> tuple[Indices, tuple[Index, ...]]:
        """The positions with what they read of `target` taken from a copy made now."""
        old = self.scratch("old", target.shape, target.dtype)
        self.copy(old, target)

        def redirect(value: Value) -> Value | None:
            reads = isinstance(value, Load) and value.buffer is target
            return Load(old, value.index) if isinstance(value, Load) and reads else None

        places = tuple(FromIndex(i, dtypes.INT64) for i in (*index, *domain))
        new = [v.index for v in rewrite(places, redirect) if isinstance(v, FromIndex)]
        return tuple(new[: len(index)]), tuple(new[len(index) :])

    def copy(self, target: Buffer, source: Buffer, equation: Equation | None = None) -> None:
        """A definition that copies one array into another, converting the type if they differ."""
        axes = self.axes(target.shape)
        index = tuple(ix.of(a.symbol) for a in axes)
        value = cast(Load(source, index), target.dtype)
        self.define("copy", axes, (target,), index, (value,), equation=equation)

    def store(self, target: Buffer, atom: Atom, base: str, equation: Equation | None) -> None:
        """A definition of every element of an array as that of a variable."""
        axes = self.axes(target.shape)
        index = tuple(ix.of(a.symbol) for a in axes)
        own = equation is not None and atom in equation.outputs
        value = self.compute(atom, index) if own else self.read(atom, index)
        self.define(base, axes, (target,), index, (value,), equation=equation)

    @contextmanager
    def detour(self, equation: Equation) -> Iterator[None]:
        """Lets a definition that lives in a donated input's memory be made in scratch, then copied.

        For reductions and scans, which write before they have read everything.
        """
        var = home(self.plan, equation.outputs[0])
        final = self._arrays.get(var)
        if final is None or final not in self._inouts:
            yield
            return
        del self._arrays[var]
        yield
        made = self._arrays[var]
        self._arrays[var] = final
        self.copy(final, made, equation)

    def finish(self) -> TensorProgram:
        """The program: parameters for inputs, then for the outputs that are not donated."""
        donated = {o for _, o in self.group.donated}
        taken: set[Buffer] = {p.buffer for p in self._params}
        for position, var in enumerate(self.group.outputs):
            if position in donated:
                continue
            buffer = self._arrays.get(home(self.plan, var))
            if buffer is None or buffer in taken:
                fresh = Buffer(self.unique("copy"), var.type.shape, var.type.dtype)
                self.store(fresh, var, "copy", None)
                buffer = fresh
            taken.add(buffer)
            self._params.append(Param(buffer, Role.OUTPUT))
        return TensorProgram(self.group.name, tuple(self._params), tuple(self.definitions))
