"""What a graph means: each equation on NumPy arrays, in order.

`MEANINGS` maps an operation's class to its NumPy function; those of movement and indexing are in
`interpret_movement.py`, of reductions and scans in `interpret_reductions.py`, of products and
windows in `interpret_products.py`. An intermediate array
is dropped after its last use. Operands are never written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import dtypes
from ..errors import ArgumentError, BoundsError, InternalError, OutOfMemoryError
from ..expr.elementwise import GIVES_BOOL, apply
from ..expr.rounding import Array, convert
from . import interpret_movement as movement
from . import interpret_products as products
from . import interpret_reductions as reductions
from . import ops
from .nodes import Atom, Equation, Graph, Group, Var
from .refusals import show

Meaning: TypeAlias = Callable[[Any, Sequence[Array]], Array]


def interpret(graph: Graph, arrays: Sequence[Array]) -> list[Array]:
    """The graph's results for these arguments: fresh C-contiguous arrays that share no memory.

    The arguments have exactly the types of `graph.inputs`, else ArgumentError. Raises BoundsError
    (with the equation's source) for an index outside, OutOfMemoryError where an array does not
    fit.
    """
    _require_arguments(graph.inputs, arrays)
    env = dict(zip(graph.inputs, arrays, strict=True))
    env.update((c.var, c.array) for c in graph.constants)
    borrowed = {id(array) for array in env.values()}
    _run(graph.equations, env, graph.outputs)
    return [_fresh(_read(env, atom), borrowed) for atom in graph.outputs]


def interpret_group(group: Group, arrays: Sequence[Array]) -> list[Array]:
    """The group's outputs for arrays of its inputs, as `interpret` gives them."""
    return interpret(Graph(group.inputs, (), group.equations, group.outputs), arrays)


def evaluate(equation: Equation, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of one equation; they may be views of the operands.

    Raises BoundsError and OutOfMemoryError with the equation's source.
    """
    op = equation.op
    try:
        with np.errstate(all="ignore"):
            if isinstance(op, ops.Call):
                return _call(op, operands)
            return (np.asarray(MEANINGS[type(op)](op, operands)),)
    except BoundsError as error:
        error.where = error.where or equation.source
        raise
    except MemoryError as error:
        types = show(*(v.type for v in equation.outputs))
        raise OutOfMemoryError(f"no memory for {types}", equation.source) from error


def _elementwise(op: ops.Elementwise, x: Sequence[Array]) -> Array:
    dtype = dtypes.BOOL if op.name in GIVES_BOOL else x[0].dtype
    return apply(op.name, tuple(x), dtype)


def _call(op: ops.Call, operands: Sequence[Array]) -> tuple[Array, ...]:
    if not isinstance(op.graph, Graph):
        raise InternalError(f"the call of {op.name} holds no graph")
    return tuple(interpret(op.graph, operands))


def _require_arguments(inputs: Sequence[Var], arrays: Sequence[Array]) -> None:
    if len(inputs) != len(arrays):
        raise ArgumentError(f"the graph takes {len(inputs)} arrays, not {len(arrays)}")
    for k, (var, array) in enumerate(zip(inputs, arrays, strict=True)):
        if array.shape != var.type.shape or array.dtype != var.type.dtype:
            raise ArgumentError(
                f"argument {k} is {array.dtype} {array.shape}; the graph takes {show(var.type)}"
            )


def _run(equations: Sequence[Equation], env: dict[Var, Array], outputs: Iterable[Atom]) -> None:
    """Adds every variable that is still needed at the end to `env`."""
    last: dict[Atom, int] = {}
    for k, equation in enumerate(equations):
        last.update((atom, k) for atom in (*equation.inputs, *equation.outputs))
    for atom in outputs:
        last.pop(atom, None)
    for k, equation in enumerate(equations):
        results = evaluate(equation, [_read(env, atom) for atom in equation.inputs])
        env.update(zip(equation.outputs, results, strict=True))
        for atom in (*equation.inputs, *equation.outputs):
            if isinstance(atom, Var) and last.get(atom) == k:
                env.pop(atom, None)


def _read(env: Mapping[Var, Array], atom: Atom) -> Array:
    return env[atom] if isinstance(atom, Var) else np.asarray(atom.value)


def _fresh(array: Array, borrowed: set[int]) -> Array:
    """The array itself if it is nobody else's memory, else a copy; marks it as taken."""
    if array.base is not None or not array.flags.c_contiguous or id(array) in borrowed:
        array = np.array(array, order="C")
    borrowed.add(id(array))
    return array


MEANINGS: Mapping[type, Meaning] = {
    ops.Elementwise: _elementwise,
    ops.Select: lambda op, x: apply("select", tuple(x), x[1].dtype),
    ops.Cast: lambda op, x: convert(x[0], op.dtype),
    ops.Bitcast: lambda op, x: apply("bitcast", tuple(x), op.dtype),
    ops.Iota: movement.iota,
    ops.Broadcast: movement.broadcast,
    ops.Reshape: lambda op, x: x[0].reshape(op.shape),
    ops.Transpose: lambda op, x: x[0].transpose(op.permutation),
    ops.Slice: movement.slice_,
    ops.UpdateSlice: movement.update_slice,
    ops.Pad: movement.pad,
    ops.Concatenate: lambda op, x: np.concatenate(list(x), axis=op.axis),
    ops.Gather: movement.gather,
    ops.Scatter: movement.scatter,
    ops.Reduce: reductions.reduce,
    ops.ArgReduce: reductions.arg_reduce,
    ops.Cumulative: reductions.cumulative,
    ops.Sort: reductions.sort,
    ops.DotGeneral: products.dot_general,
    ops.Conv: products.conv,
    ops.ConvBlocked: products.conv_blocked,
    ops.Pool: products.pool,
}
