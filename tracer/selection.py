"""Array functions that choose: where, take, put, select, nonzero, and kin."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any

import ml_dtypes
import numpy as np

from ..ir.dtypes import BOOL, INT64, is_float, is_integer
from ..ir.errors import BoundsError, DTypeError, ShapeError
from ..ir.graph.nodes import Atom
from ..ir.graph.ops import Gather, Scatter
from .context import Trace, current, here, refused
from .creation import broadcast_to, iota, shape_of
from .eager import array_function
from .elementwise import binary, cast, common_shape, filled_with, select, unary
from .masked import Masked
from .promotion import common_of, floating
from .reducing import axis_of
from .shapes import moveaxis, reshape_to
from .traced import (
    Traced,
    active,
    atom_of,
    converted,
    filled,
    fresh,
    lift,
    literal,
    stacked,
    viewed,
)
from .ufuncs import clipped, rounded, truth
from .updates import assign, require_broadcast, set_item, spread_mask, store
from .views import reshaped, sliced, write


@array_function
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """`x` where the condition holds, else `y`; see `numpy.where`."""
    if x is None and y is None:
        return nonzero(condition)
    trace = active()
    result = select(trace, truth(trace, lift(trace, condition)), lift(trace, x), lift(trace, y))
    return fresh(trace, atom_of(trace, result), scalar=False)


@array_function
def nonzero(a: Any) -> Any:
    """The positions of what is not zero; see `numpy.nonzero`. They have to be known."""
    trace = active()
    x = lift(trace, a)
    known = trace.demand(atom_of(trace, x))
    if known is None:
        raise refused(
            "the number of elements that are not zero depends on the data",
            "use np.where(condition, a, b), or sums and products with the condition",
        )
    return tuple(lift(trace, positions) for positions in np.nonzero(known))


@array_function
def flatnonzero(a: Any) -> Any:
    """The flat positions of what is not zero; see `numpy.flatnonzero`. They have to be known."""
    trace = active()
    x = lift(trace, a)
    return nonzero(reshape_to(trace, x, (x.size,)))[0]


@array_function
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The parts where a known condition holds; see `numpy.compress`."""
    trace = active()
    x = lift(trace, a)
    if axis is None:
        x, axis = reshape_to(trace, x, (x.size,)), 0
    result = take(x, flatnonzero(condition), axis)
    return result if out is None else store(trace, out, result)


@array_function
def extract(condition: Any, arr: Any) -> Any:
    """The elements where a known condition holds; see `numpy.extract`."""
    return compress(lift(active(), condition), arr)


@array_function
def select_from(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The choice of the first condition that holds; see `numpy.select`."""
    trace = active()
    if len(condlist) != len(choicelist) or not condlist:
        raise ShapeError("select needs as many choices as conditions, and at least one", here())
    choices = [lift(trace, c) for c in choicelist]
    result = lift(trace, default)
    dtype = common_of([*choices, result])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        chosen = fresh(trace, converted(trace, choice, dtype))
        result = select(trace, truth(trace, lift(trace, condition)), chosen,
                        fresh(trace, converted(trace, result, dtype)))  # fmt: skip
    return result


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Functions of `x`, each where its condition holds; see `numpy.piecewise`."""
    trace = current()
    if trace is None:
        return np.piecewise(x, condlist, funclist, *args, **kw)
    array = lift(trace, x)
    conditions = [truth(trace, lift(trace, c)) for c in condlist]
    functions = list(funclist)
    result = filled_with(trace, 0, array.shape, array.dtype)
    values = [f(x, *args, **kw) if callable(f) else f for f in functions]
    if len(functions) == len(conditions) + 1:
        last = lift(trace, values.pop())
        result = fresh(trace, filled(trace, converted(trace, last, array.dtype), array.shape))
    for condition, value in zip(conditions, values, strict=True):
        new = cast(trace, lift(trace, value), array.dtype)
        result = select(trace, condition, new, result)
    return result


@array_function
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Elements of the choice that each element of `a` numbers; see `numpy.choose`."""
    trace = active()
    index = lift(trace, a)
    arrays = [lift(trace, c) for c in choices]
    dtype = common_of(arrays)
    shape = common_shape([index.shape, *(c.shape for c in arrays)])
    rows = [
        fresh(trace, filled(trace, converted(trace, c, dtype), shape), scalar=False) for c in arrays
    ]
    table = stacked(trace, rows, 0)
    picks = [
        broadcast_to(index, shape),
        *(iota(trace, shape, k) for k in range(len(shape))),
    ]
    atoms = tuple(filled(trace, atom_of(trace, p), shape) for p in picks)
    op = Gather(tuple(range(len(shape) + 1)), _mode(mode))
    result = fresh(trace, trace.emit(op, (atom_of(trace, table), *atoms), shape, dtype))
    return result if out is None else store(trace, out, result)


def _mode(mode: str) -> Any:
    if mode not in ("raise", "clip", "wrap"):
        raise refused(f"there is no index mode {mode!r}", "modes: raise, clip, wrap")
    return mode


def _indices(trace: Trace, indices: Any) -> Traced:
    x = lift(trace, np.zeros(0, np.int64) if isinstance(indices, list) and not indices else indices)
    if x.dtype == BOOL:
        return cast(trace, x, INT64)
    if not is_integer(x.dtype):
        raise DTypeError(f"an array of {x.dtype} cannot be an index", here(), "use .astype(int)")
    return x


@array_function
def take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise",
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """Elements at positions along an axis; see `numpy.take`. Mode "fill" gives `fill_value`."""
    trace = active()
    x = lift(trace, a)
    index = _indices(trace, indices)
    if axis is None:
        x, axis = reshape_to(trace, x, (x.size,)), 0
    number = axis_of(axis, x.ndim)
    known = trace.known(atom_of(trace, index))
    if mode == "raise" and known is not None and known.size:
        n = x.shape[number]
        if not (-n <= known.min() and known.max() < n):
            raise BoundsError(f"an index is out of bounds for an axis of size {n}", here())
    if known is not None and not known.ndim and mode != "fill" and x.shape[number]:
        result = _one(trace, x, number, int(known), mode)
        return result if out is None else store(trace, out, result)
    rest = tuple(n for k, n in enumerate(x.shape) if k != number)
    inputs: tuple[Atom, ...] = (atom_of(trace, x), atom_of(trace, index))
    if mode == "fill":
        fill = np.nan if fill_value is None and is_float(x.dtype) else fill_value or 0
        inputs = (*inputs, literal(fill, x.dtype))
        op = Gather((number,), "fill")
    else:
        op = Gather((number,), _mode(mode))
        if mode != "raise" and not x.shape[number] and index.size:
            raise BoundsError("nothing can be taken from an empty axis", here())
    shape = (*index.shape, *rest)
    result = fresh(trace, trace.emit(op, inputs, shape, x.dtype))
    if number and index.ndim:
        count = index.ndim
        result = moveaxis(result, tuple(range(count)), tuple(range(number, number + count)))
        result = fresh(trace, atom_of(trace, result))
    return result if out is None else store(trace, out, result)


def _one(trace: Trace, x: Traced, axis: int, index: int, mode: str) -> Traced:
    """One known position of an axis, as a copy."""
    n = x.shape[axis]
    place = index % n if _mode(mode) != "clip" else builtins.min(builtins.max(index, 0), n - 1)
    view = sliced(
        x.elements,
        tuple(place if k == axis else 0 for k in range(x.ndim)),
        tuple(1 if k == axis else m for k, m in enumerate(x.shape)),
        (1,) * x.ndim,
    )
    view = reshaped(view, tuple(m for k, m in enumerate(x.shape) if k != axis))
    return fresh(trace, atom_of(trace, viewed(trace, view)))


def _along(trace: Trace, x: Traced, indices: Any, axis: Any) -> tuple[tuple[Atom, ...], Any]:
    """One index array for each axis, of one shape."""
    index = _indices(trace, indices)
    number = axis_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ShapeError(
            f"indices of {index.ndim} axes do not fit an array of {x.ndim} axes", here()
        )
    other = tuple(n if k != number else index.shape[number] for k, n in enumerate(x.shape))
    shape = common_shape([index.shape, other])
    picks = [index if k == number else iota(trace, shape, k) for k in range(x.ndim)]
    return tuple(filled(trace, atom_of(trace, p), shape) for p in picks), shape


@array_function
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """For every position of the other axes, elements along one; see `numpy.take_along_axis`."""
    trace = active()
    x = lift(trace, arr)
    if axis is None:
        x, axis = reshape_to(trace, x, (x.size,)), 0
    atoms, shape = _along(trace, x, indices, axis)
    op = Gather(tuple(range(x.ndim)), "raise")
    return fresh(trace, trace.emit(op, (atom_of(trace, x), *atoms), shape, x.dtype))


@array_function
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes elements along one axis in place; see `numpy.put_along_axis`."""
    trace = active()
    x = lift(trace, arr)
    target = reshape_to(trace, x, (x.size,)) if axis is None else x
    atoms, shape = _along(trace, target, indices, 0 if axis is None else axis)
    new = lift(trace, values)
    require_broadcast(new.shape, shape)
    updates = filled(trace, converted(trace, new, x.dtype), shape)
    op = Scatter(tuple(range(target.ndim)), "raise", None)
    inputs = (atom_of(trace, target), *atoms, updates)
    write(target.elements, trace.emit(op, inputs, target.shape, x.dtype))


@array_function
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes values at positions of the flat array; see `numpy.put`."""
    trace = active()
    x = _array(a, "put")
    flat = reshape_to(trace, x, (x.size,))
    index = _indices(trace, ind)
    positions = reshape_to(trace, index, (index.size,))
    values = lift(trace, v)
    count = index.size
    values = reshape_to(trace, values, (values.size,))
    if values.size != count:
        values = take(values, np.arange(count) % values.size)
    updates = converted(trace, values, x.dtype)
    op = Scatter((0,), _mode(mode), None)
    inputs = (atom_of(trace, flat), atom_of(trace, positions), updates)
    write(flat.elements, trace.emit(op, inputs, flat.shape, x.dtype))


def _array(a: Any, name: str) -> Traced:
    if not isinstance(a, Traced) or a.scalar:
        raise refused(f"np.{name} writes into an array that the traced function did not make")
    return a


@array_function
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Writes `src` over `dst` (where a condition holds); see `numpy.copyto`."""
    trace = active()
    target = _array(dst, "copyto")
    new = lift(trace, src)
    if where is True:
        assign(trace, target.elements, new)
        return
    store(trace, target, cast(trace, new, target.dtype), where)


@array_function
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Writes values where a mask holds; see `numpy.putmask`."""
    trace = active()
    target = _array(a, "putmask")
    new = lift(trace, values)
    if new.shape not in ((), target.shape):
        flat = take(reshape_to(trace, new, (new.size,)), np.arange(target.size) % new.size)
        new = reshape_to(trace, flat, target.shape)
    condition = spread_mask(
        trace, truth(trace, lift(trace, mask)), target.shape, tuple(range(target.ndim))
    )
    chosen = select(trace, fresh(trace, condition), cast(trace, new, target.dtype), target)
    assign(trace, target.elements, chosen)


@array_function
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Writes one value where a mask holds; see `numpy.place`."""
    trace = active()
    new = lift(trace, vals)
    if new.size != 1:
        raise refused("np.place with more than one value", "use np.putmask")
    set_item(trace, _array(arr, "place"), truth(trace, lift(trace, mask)),
             reshape_to(trace, new, ()))  # fmt: skip


@array_function
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None,
    max: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Elements limited to [a_min, a_max]; a NaN stays. See `numpy.clip`."""
    trace = active()
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if isinstance(a, Masked):
        return a.apply(clipped, (a, low, high))
    bounds = [None if b is None else lift(trace, b) for b in (low, high)]
    result = clipped(trace, lift(trace, a), *bounds)
    result.weak = False
    return result if out is None else store(trace, out, result)


@array_function
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Half to even at a decimal place; see `numpy.round`."""
    trace = active()
    result = rounded(trace, lift(trace, a), operator.index(decimals))
    result.weak = False
    return result if out is None else store(trace, out, result)


@array_function
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """NaN and infinities replaced; see `numpy.nan_to_num`."""
    trace = active()
    a = lift(trace, x)
    if not is_float(a.dtype):
        return fresh(trace, atom_of(trace, a))
    limits = ml_dtypes.finfo(a.dtype)  # type: ignore[no-untyped-call]
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    infinite = unary(trace, "isinf", a)
    negative = unary(trace, "signbit", a)
    edge = select(trace, negative, lift(trace, low), lift(trace, high))
    result = select(trace, infinite, cast(trace, edge, a.dtype), a)
    result = select(trace, unary(trace, "isnan", a), lift(trace, nan), result)
    if not copy and isinstance(x, Traced):
        assign(trace, x.elements, result)
        return x
    return result


@array_function
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); see `numpy.sinc`."""
    trace = active()
    a = lift(trace, x)
    a = cast(trace, a, floating(a.dtype))
    zero = binary(trace, "eq", a, lift(trace, 0))
    tiny = 1e-20 if a.dtype.itemsize > 2 else 1e-4
    y = binary(trace, "mul", lift(trace, np.pi), select(trace, zero, lift(trace, tiny), a))
    return binary(trace, "div", unary(trace, "sin", y), y)


@array_function
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Flat positions as one index for each axis; see `numpy.unravel_index`."""
    trace = active()
    rest = lift(trace, indices)
    result = []
    for extent in reversed(shape_of(shape)):
        n = fresh(trace, literal(extent, INT64))
        result.append(binary(trace, "mod", rest, n))
        rest = binary(trace, "floor_div", rest, n)
    return tuple(reversed(result))


@array_function
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """One index for each axis as flat positions; see `numpy.ravel_multi_index`."""
    trace = active()
    shape = shape_of(dims)
    parts = [lift(trace, x) for x in multi_index]

    def add_axis(total: Traced, pair: tuple[Traced, int]) -> Traced:
        index, extent = pair
        scaled = binary(trace, "mul", total, fresh(trace, literal(extent, INT64)))
        return binary(trace, "add", scaled, index)

    start = cast(trace, parts[0], INT64)
    return functools.reduce(add_axis, zip(parts[1:], shape[1:], strict=True), start)
