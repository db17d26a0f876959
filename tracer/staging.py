"""From a Python function and the types of its arguments to a graph.

`trace` runs the function once on traced values. What it returns, and what it wrote into its
arguments, become the outputs of the graph.
"""

from __future__ import annotations

import inspect
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..ir.dtypes import BOOL, FLOAT64, INT64, canonical
from ..ir.errors import ArgumentError, TraceError
from ..ir.graph.nodes import Atom, Graph, Var
from ..ir.graph.ops import Precision
from .clone import Cloner
from .context import Trace, current, entered, here
from .masked import Masked
from .methods import Array
from .traced import Traced, atom_of
from .trees import Leaf, Structure, flatten, unflatten
from .views import Storage


@dataclass(frozen=True, slots=True)
class ArraySpec(Leaf):
    """The type of an argument.

    `weak`: a Python number; `scalar`: a NumPy scalar (both of rank 0). `strides`, in elements, of
    an array that is not in C order. `value`: of a scalar, if the function may ask for it
    (`Staged.guards`).
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    weak: bool = False
    read_only: bool = False
    scalar: bool = False
    strides: tuple[int, ...] | None = None
    value: np.generic | None = None


@dataclass(frozen=True, slots=True)
class Computed:
    """Output `position` of the graph; `scalar`: as a NumPy scalar; `weak`: of Python numbers."""

    position: int
    scalar: bool
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """The caller's object that was passed for input `position` of the graph."""

    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A Python object that does not depend on the arguments' elements."""

    value: object


OutputSpec: TypeAlias = Computed | Argument | Static


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A traced function.

    `graph.inputs` are the array leaves of the arguments in order. `outputs` describes the leaves of
    the result, whose structure is `out_tree`. `written`: (input, graph output) of every array
    argument that the function wrote into. `guards`: (input, value) of scalar arguments whose value
    Python asked for: the graph is right for these values alone.
    """

    name: str
    graph: Graph
    outputs: tuple[OutputSpec, ...]
    out_tree: Structure
    written: tuple[tuple[int, int], ...]
    guards: tuple[tuple[int, np.generic], ...]

    def rebuild(self, leaves: list[Any]) -> Any:
        """The function's result with these leaves."""
        return unflatten(self.out_tree, leaves)


@dataclass(frozen=True, slots=True, eq=False)
class _Held(Leaf):
    """A static argument on its way through `flatten`."""

    value: object


def spec_of(leaf: Any) -> ArraySpec | None:
    """The spec of an array or number; None for what is passed as it is.

    Raises DTypeError for arrays of types that are not supported.
    """
    match leaf:
        case ArraySpec():
            return leaf
        case np.generic():  # before float: numpy.float64 is one
            dtype = canonical(leaf.dtype)
            return ArraySpec((), dtype, scalar=True, value=dtype.type(leaf))
        case bool():
            return ArraySpec((), BOOL, weak=True, value=np.bool_(leaf))
        case int() if -(2**63) <= leaf < 2**63:
            return ArraySpec((), INT64, weak=True, value=np.int64(leaf))
        case float():
            return ArraySpec((), FLOAT64, weak=True, value=np.float64(leaf))
        case np.ndarray():
            strides = None
            if not leaf.flags.c_contiguous:
                strides = tuple(s // leaf.itemsize for s in leaf.strides)
            return ArraySpec(
                leaf.shape, canonical(leaf.dtype), read_only=not leaf.flags.writeable,
                strides=strides,
            )  # fmt: skip
        case _:
            return None


def trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    name: str | None = None,
    precision: Precision = "default",
    static: Collection[str] = (),
    same: Mapping[int, int] | None = None,
) -> Staged:
    """Traces `fn` on arguments whose arrays and numbers are given as specs (or as themselves).

    Parameters named in `static` are passed as they are. `same` maps an array leaf (by number among
    the graph's inputs) to an earlier one that is the very same object. Raises TraceError and its
    kin, and whatever the function raises.
    """
    args, kwargs = _hold_static(fn, args, dict(kwargs), static)
    leaves, structure = flatten((args, kwargs))
    context = Trace(Array, precision)
    with entered(context), Cloner(context) as cloner:
        context.cloner = cloner
        cloner.adopt((args, kwargs))
        arguments: list[Array] = []
        values = []
        for leaf in leaves:
            spec = None if isinstance(leaf, _Held) else spec_of(leaf)
            if spec is None:
                value = leaf.value if isinstance(leaf, _Held) else leaf
                values.append(cloner.redirect(value))
                continue
            arguments.append(_argument(context, spec, arguments, same or {}))
            values.append(arguments[-1])
        args, kwargs = unflatten(structure, values)
        result = cloner.redirect(fn)(*args, **kwargs)
        _check_containers(_hold_static(fn, args, dict(kwargs), static), structure, values)
        return _staged(context, name or str(getattr(fn, "__name__", "function")), arguments, result)


def _check_containers(arguments: Any, structure: Structure, values: Sequence[Any]) -> None:
    """Raises TraceError if the function changed a list, dict or dataclass that it was given.

    The function has copies of the caller's containers, so that such a change would be lost.
    """
    leaves, found = flatten(arguments)
    leaves = [leaf.value if isinstance(leaf, _Held) else leaf for leaf in leaves]
    if found == structure and all(a is b for a, b in zip(leaves, values, strict=True)):
        return
    raise TraceError(
        "the function changes a container among its arguments (a list, dict or dataclass)",
        here(),
        "return the new value instead; arrays in containers can be written to (x[:] = value)",
    )


def _hold_static(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: Collection[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Static arguments wrapped, so that nothing looks into them."""
    if not static:
        return args, kwargs
    names = list(inspect.signature(fn).parameters)
    unknown = [n for n in static if n not in names]
    if unknown:
        raise ArgumentError(
            f"there is no parameter {unknown[0]!r} to be static", None,
            "parameters: " + ", ".join(names),
        )  # fmt: skip
    held = tuple(
        _Held(x) if k < len(names) and names[k] in static else x for k, x in enumerate(args)
    )
    return held, {k: _Held(x) if k in static else x for k, x in kwargs.items()}


def _argument(
    context: Trace, spec: ArraySpec, arguments: list[Array], same: Mapping[int, int]
) -> Array:
    """The traced value of one more argument."""
    position = len(context.inputs)
    atom = context.input(spec.shape, spec.dtype, spec.value)
    if position in same:
        return arguments[same[position]]
    storage = Storage(
        context, atom, spec.shape, spec.dtype,
        position=position, strides=spec.strides,
        read_only="the argument is a read-only array" if spec.read_only else None,
    )  # fmt: skip
    return Array(storage, spec.scalar or spec.weak, spec.weak)


def _staged(context: Trace, name: str, arguments: list[Array], result: Any) -> Staged:
    leaves, out_tree = flatten(result)
    atoms: list[Atom] = []
    positions: dict[int, int] = {}
    given = {id(x): k for k, x in reversed(list(enumerate(arguments)))}
    outputs: list[OutputSpec] = []
    for leaf in leaves:
        if isinstance(leaf, Masked):
            raise leaf.refusal()
        if not isinstance(leaf, Traced):
            if isinstance(leaf, Generator | Coroutine):
                raise TraceError(
                    f"{name} returns a {type(leaf).__name__}, which would run after its trace",
                    None,
                    "return a list or tuple, and write no yield and no async in the function",
                )
            outputs.append(Static(leaf))
            continue
        atom = atom_of(context, leaf)
        if id(leaf) in given:
            outputs.append(Argument(given[id(leaf)]))
            continue
        if id(leaf) not in positions:
            positions[id(leaf)] = len(atoms)
            atoms.append(atom)
        outputs.append(Computed(positions[id(leaf)], leaf.scalar or leaf.weak, leaf.weak))
    written = []
    for k, x in enumerate(arguments):
        if x.elements.version and given[id(x)] == k:
            written.append((k, len(atoms)))
            atoms.append(x.elements.root.atom)
    graph = _graph(context, atoms)
    guards = tuple(sorted(context.guards.items(), key=lambda item: item[0]))
    return Staged(name, graph, tuple(outputs), out_tree, tuple(written), guards)


def _graph(context: Trace, outputs: list[Atom]) -> Graph:
    used = {a for e in context.equations for a in e.inputs if isinstance(a, Var)}
    used.update(a for a in outputs if isinstance(a, Var))
    constants = tuple(c for c in context.constants if c.var in used)
    return Graph(tuple(context.inputs), constants, tuple(context.equations), tuple(outputs))


def current_trace() -> Trace | None:
    """The trace that this thread is in, if any."""
    return current()


def call_inline(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Calls a function inside of the current trace, as part of the same graph."""
    context = current()
    assert context is not None
    return context.cloner.redirect(fn)(*args, **kwargs)


@contextmanager
def precision(value: Precision) -> Iterator[None]:
    """Reductions, products and convolutions traced inside have this precision by default."""
    context = current()
    if context is None:
        yield
        return
    before, context.precision = context.precision, value
    try:
        yield
    finally:
        context.precision = before
