"""Writes: item assignment, in-place operators, `out=`, and `ufunc.at`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, is_float
from ..ir.errors import NotFiniteError, ShapeError
from ..ir.graph.nodes import Literal
from ..ir.graph.ops import Broadcast, Gather, Select, Transpose
from .context import Trace, here, refused
from .elementwise import binary, select, unary
from .indexing import Indexed, index_view
from .masked import Masked
from .promotion import require_same_kind
from .traced import (
    Traced,
    atom_of,
    converted,
    filled,
    fresh,
    lift,
    reshaped_atom,
    spread,
    view_of,
    viewed,
)
from .views import Shape, View, combine, read, write


def assign(trace: Trace, view: View, x: Traced) -> None:
    """Writes `x`, converted and broadcast, over a view."""
    shape = x.shape
    _refuse_not_finite(trace, x, view.dtype)
    atom = converted(trace, x, view.dtype)
    extra = len(shape) - len(view.shape)
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        shape = shape[extra:]
        atom = reshaped_atom(trace, atom, shape)
    require_broadcast(shape, view.shape)
    write(view, filled(trace, atom, view.shape))


def require_broadcast(shape: Shape, target: Shape) -> None:
    """Raises ShapeError where a value of `shape` cannot fill `target`."""
    tail = target[len(target) - len(shape) :] if len(shape) <= len(target) else ()
    if len(shape) > len(target) or any(a not in (1, b) for a, b in zip(shape, tail, strict=True)):
        raise ShapeError(
            f"a value of shape {shape} cannot be written into an array of shape {target}", here()
        )


def _refuse_not_finite(trace: Trace, x: Traced, dtype: np.dtype) -> None:
    """NumPy refuses NaN and infinity in integer arrays where they are Python floats."""
    if not x.weak or is_float(dtype) or dtype == BOOL or not is_float(x.dtype):
        return
    atom = atom_of(trace, x)
    if isinstance(atom, Literal) and not np.isfinite(atom.value):
        raise NotFiniteError(
            f"{atom.value} cannot be stored into an array of {dtype}", here(),
            "make the array of floats",
        )  # fmt: skip


def set_item(trace: Trace, x: Traced, index: Any, value: Any) -> None:
    """x[index] = value."""
    if x.scalar:
        raise refused("a NumPy scalar does not support item assignment", "make it an array")
    target = index_view(trace, view_of(trace, x), index)
    if target.mask is not None:
        _set_masked(trace, target, value)
    elif isinstance(value, Masked):
        raise value.refusal()
    else:
        assign(trace, target.elements, lift(trace, value))


def _set_masked(trace: Trace, target: Indexed, value: Any) -> None:
    """x[mask] = value: a select over the whole view."""
    assert target.mask is not None
    view, axes = target.elements, target.mask_axes
    if isinstance(value, Masked):
        full = value.over(trace, view.shape, target.mask, axes)
    else:
        full = lift(trace, value)
        rest = view.shape[axes[-1] + 1 :]
        if full.ndim > len(rest) and any(n != 1 for n in full.shape[: full.ndim - len(rest)]):
            raise refused(
                f"x[mask] = v with v of shape {full.shape}: how many elements the mask selects is "
                "not known while tracing",
                "write x[mask] = y[mask], or x[...] = np.where(mask, v, x)",
            )
        if axes[0] and full.ndim:
            raise refused(
                "x[:, mask] = v takes only a single number as v", "use np.where(mask, v, x)"
            )
        require_broadcast(full.shape[-len(rest) :] if rest else (), rest)
        if full.ndim > len(rest):
            atom = reshaped_atom(trace, atom_of(trace, full), full.shape[full.ndim - len(rest) :])
            full = fresh(trace, atom, scalar=False, weak=full.weak)
    _refuse_not_finite(trace, full, view.dtype)
    condition = spread_mask(trace, target.mask, view.shape, axes)
    old = read(view)
    new = spread(trace, converted(trace, full, view.dtype), view.shape)
    write(view, trace.emit(Select(), (condition, new, old), view.shape, view.dtype))


def spread_mask(trace: Trace, mask: Traced, shape: Shape, axes: Shape) -> Any:
    """The mask of some axes as an atom of the whole shape."""
    atom = atom_of(trace, mask)
    if mask.shape == shape:
        return atom
    return trace.emit(Broadcast(shape, axes), (atom,), shape, BOOL)


def store(trace: Trace, out: Any, result: Traced, where: Any = True) -> Traced:
    """`out=` of a function: writes the result over `out` (where it holds), and returns `out`."""
    if isinstance(out, tuple):
        (out,) = out
    if isinstance(out, np.ndarray):
        raise refused(
            "out= is a NumPy array that the traced function did not make",
            "pass it as an argument, or make it with loopwright.numpy",
        )
    if not isinstance(out, Traced) or out.scalar:
        raise refused(f"out= must be an array, not a {type(out).__name__}")
    require_same_kind(result.dtype, out.dtype)
    if result.shape != out.shape:
        require_broadcast(result.shape, out.shape)
    if where is not True:
        result = select(trace, lift(trace, where), converted_to(trace, result, out.dtype), out)
    assign(trace, view_of(trace, out), result)
    return out


def converted_to(trace: Trace, x: Traced, dtype: np.dtype) -> Traced:
    """`x` with another element type."""
    return x if x.dtype == dtype else fresh(trace, converted(trace, x, dtype))


def in_place(trace: Trace, x: Traced, result: Traced) -> Traced:
    """The end of `x += ...`: writes the result over the array `x`."""
    if result.shape != x.shape:
        raise ShapeError(
            f"an array of shape {x.shape} cannot hold a result of shape {result.shape}", here()
        )
    require_same_kind(result.dtype, x.dtype)
    write(view_of(trace, x), filled(trace, converted(trace, result, x.dtype), x.shape))
    return x


_COMBINERS = {
    "add": ("sum", "add"),
    "subtract": ("sum", "sub"),
    "multiply": ("prod", "mul"),
    "maximum": ("max", "maximum"),
    "minimum": ("min", "minimum"),
}
"""The combiner of a scatter, and the elementwise operation, of each `ufunc.at`."""


def update_at(trace: Trace, name: str, x: Traced, index: Any, value: Any) -> None:
    """numpy's `ufunc.at`: an in-place operation in which repeated indices count each time."""
    if name not in _COMBINERS:
        raise refused(
            f"np.{name}.at is not supported", "supported: " + ", ".join(sorted(_COMBINERS))
        )
    target = index_view(trace, view_of(trace, x), index)
    values = lift(trace, value)
    view = target.elements
    if target.mask is not None:
        raise refused(f"np.{name}.at with a boolean mask", "use x[mask] += v")
    combiner, operation = _COMBINERS[name]
    below = view.parent if isinstance(view.op, Transpose) else view
    require_broadcast(values.shape, view.shape)
    if below is None or not isinstance(below.op, Gather):
        current = viewed(trace, view)
        in_place(trace, current, binary(trace, operation, current, values))
        return
    values = fresh(trace, converted(trace, values, view.dtype))
    if name == "subtract":
        values = unary(trace, "neg", values)
    combine(view, filled(trace, atom_of(trace, values), view.shape), combiner)
