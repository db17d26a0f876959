"""The one trace context: the equations of the function being traced, and where they come from."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir.dtypes import canonical
from ..ir.errors import LeakError, ShapeError, TraceError
from ..ir.graph.interpreter import evaluate
from ..ir.graph.nodes import ArrayType, Atom, Constant, Equation, Literal, Var
from ..ir.graph.ops import GraphOp, Precision
from ..ir.graph.types import MAX_BYTES, MAX_RANK
from ..ir.source import Source

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
OWN_FOLDERS = tuple(
    os.path.join(_PACKAGE, folder) + os.sep
    for folder in ("backends", "driver", "ir", "schedules", "tracer")
)
"""The folders of this package whose code is never the user's (as models and tests may be)."""
_is_machinery: dict[str, bool] = {}


def user_frame_source(cache: dict[tuple[int, int], tuple[object, Source]]) -> Source | None:
    """The innermost line of code that belongs neither to this package nor to NumPy."""
    frame = sys._getframe(1)
    while True:
        code = frame.f_code
        name = code.co_filename
        inside = _is_machinery.get(name)
        if inside is None:
            inside = os.path.abspath(name).startswith((*OWN_FOLDERS, _NUMPY))
            _is_machinery[name] = inside
        if not inside:
            break
        if frame.f_back is None:
            return None
        frame = frame.f_back
    key = (id(code), frame.f_lasti)
    found = cache.get(key)
    if found is None:
        source = Source(name, frame.f_lineno or code.co_firstlineno, code.co_qualname)
        cache[key] = found = (code, source)  # keeps the code alive: its id is the key
    return found[1]


class Trace:
    """A function being traced.

    `array_type` builds the traced values that user code sees. `static` holds the variables that
    depend on constants alone (with the number of their equation, or -1): `known` evaluates them
    when Python needs their value while tracing. `scalars` are the values of scalar arguments;
    those that were asked for are in `guards` (input position to value): the trace holds for them
    alone. `cloner` redirects NumPy's names in the functions that are traced.
    """

    __slots__ = (
        "array_type",
        "captured",
        "cloner",
        "constants",
        "equations",
        "guards",
        "inputs",
        "numbers",
        "precision",
        "scalars",
        "sources",
        "static",
        "values",
    )

    def __init__(self, array_type: Any, precision: Precision = "default"):
        self.array_type = array_type
        self.cloner: Any = None
        self.precision: Precision = precision
        self.inputs: list[Var] = []
        self.scalars: dict[Var, np.generic] = {}
        self.guards: dict[int, np.generic] = {}
        self.equations: list[Equation] = []
        self.numbers: dict[Var, int] = {}
        self.constants: list[Constant] = []
        self.captured: dict[int, tuple[object, Var]] = {}
        self.static: dict[Var, int] = {}
        self.values: dict[Var, npt.NDArray[Any]] = {}
        self.sources: dict[tuple[int, int], tuple[object, Source]] = {}

    def emit(
        self, op: GraphOp, inputs: tuple[Atom, ...], shape: tuple[int, ...], dtype: np.dtype
    ) -> Var:
        """Appends the equation `var: dtype[shape] = op(inputs)` and returns its variable."""
        kind = ArrayType(shape, dtype)
        if len(shape) > MAX_RANK or kind.nbytes > MAX_BYTES:
            raise ShapeError(
                f"an array of shape {shape} and dtype {dtype} is larger than any memory",
                here(),
            )
        var = Var(kind)
        static = self.static
        for atom in inputs:
            if atom.__class__ is Var and atom not in static:
                break
        else:
            static[var] = len(self.equations)
        self.equations.append(Equation(op, inputs, (var,), user_frame_source(self.sources)))
        return var

    def source(self) -> Source | None:
        """The user's line that is being traced."""
        return user_frame_source(self.sources)

    def capture(self, array: npt.NDArray[Any]) -> Var:
        """The constant that holds a copy of `array`; one copy for each array object."""
        found = self.captured.get(id(array))
        if found is not None:
            return found[1]
        var = self.constant(np.array(array, dtype=canonical(array.dtype, self.source()), order="C"))
        self.captured[id(array)] = (array, var)
        return var

    def constant(self, array: npt.NDArray[Any]) -> Var:
        """A constant; `array` (contiguous) becomes the trace's own."""
        array.setflags(write=False)
        var = Var(ArrayType(array.shape, array.dtype))
        self.constants.append(Constant(var, array))
        self.static[var] = -1
        self.values[var] = array
        return var

    def input(self, shape: tuple[int, ...], dtype: np.dtype, value: np.generic | None) -> Var:
        """One more argument; `value` is that of a scalar, if it may be relied on."""
        var = Var(ArrayType(shape, dtype))
        self.inputs.append(var)
        if value is not None:
            self.scalars[var] = value
        return var

    def known(self, atom: Atom) -> npt.NDArray[Any] | None:
        """The value of an atom that depends on constants alone; else None."""
        if isinstance(atom, Literal):
            return np.asarray(atom.value)
        if atom in self.static:
            if atom not in self.values:
                needed = self._unevaluated(atom)
                assert needed is not None
                self._evaluate(needed)
            return self.values[atom]
        return None

    def demand(self, atom: Atom) -> npt.NDArray[Any] | None:
        """The value of an atom that depends on constants and scalar arguments alone; else None.

        The scalar arguments that it depends on become guards.
        """
        if isinstance(atom, Var) and atom not in self.static:
            needed = self._unevaluated(atom)
            if needed is None:
                return None
            self._evaluate(needed)
            return self.values[atom]
        return self.known(atom)

    def _unevaluated(self, var: Var) -> list[int] | None:
        """The numbers of the equations that make `var`; None if array arguments take part."""
        for number in range(len(self.numbers), len(self.equations)):
            self.numbers[self.equations[number].outputs[0]] = number
        found: set[int] = set()
        guards: list[Var] = []
        stack: list[Atom] = [var]
        while stack:
            atom = stack.pop()
            if isinstance(atom, Literal) or atom in self.values:
                continue
            made = self.numbers.get(atom)
            if made is None:
                if atom not in self.scalars:
                    return None
                guards.append(atom)
            elif made not in found:
                found.add(made)
                stack.extend(self.equations[made].inputs)
        for guard in guards:
            self.guards[self.inputs.index(guard)] = self.scalars[guard]
            self.static[guard] = -1
            self.values[guard] = np.asarray(self.scalars[guard])
        return sorted(found)

    def _evaluate(self, numbers: list[int]) -> None:
        values = self.values
        for number in numbers:
            equation = self.equations[number]
            operands = [
                np.asarray(a.value) if isinstance(a, Literal) else values[a]
                for a in equation.inputs
            ]
            var = equation.outputs[0]
            values[var] = np.asarray(evaluate(equation, operands)[0])
            self.static.setdefault(var, number)


class _Current(threading.local):
    trace: Trace | None = None


_current = _Current()


def current() -> Trace | None:
    """The trace that this thread is in, if any."""
    return _current.trace


@contextmanager
def entered(trace: Trace) -> Iterator[Trace]:
    """Makes `trace` current; the one before comes back at the end."""
    before = _current.trace
    _current.trace = trace
    try:
        yield trace
    finally:
        _current.trace = before


def here() -> Source | None:
    """The user's line that is running."""
    trace = _current.trace
    return user_frame_source(trace.sources if trace is not None else {})


def refused(what: str, fix: str | None = None) -> TraceError:
    """The error for something that cannot be traced, at the user's line."""
    return TraceError(what, here(), fix)


def leaked(trace: Trace, atom: Atom) -> LeakError:
    """The error for a traced value of a trace that is over (or of another thread)."""
    made = next((e.source for e in trace.equations if atom in e.outputs), None)
    origin = f"; it was made\n{made.describe()}" if made else ""
    return LeakError(
        f"a traced value is used outside of the trace that made it{origin}",
        here(),
        "return the value from the traced function instead of storing it elsewhere",
    )
