"""Elementwise arithmetic on traced values: NumPy's type rules, broadcasting, emission."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ..ir.dtypes import BOOL, FLOAT64, INT8, is_float, is_integer, is_signed, promote
from ..ir.errors import DTypeError, ShapeError
from ..ir.graph.nodes import Literal
from ..ir.graph.ops import BINARY, UNARY, Cast, Elementwise, Select
from .context import Trace, here
from .promotion import common, common_of, floating
from .traced import Traced, atom_of, converted, filled, fresh, literal, spread
from .views import Shape, View

_OPS = {name: Elementwise(name) for name in (*UNARY, *BINARY)}

_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_REAL = frozenset(("atan2", "hypot", "copysign", "nextafter"))
_DIVISIONS = frozenset(("floor_div", "mod", "fmod", "pow", "shift_left", "shift_right"))
_BITS = frozenset(("and", "or", "xor", "shift_left", "shift_right"))
_ON_BOOLS = {"add": "or", "mul": "and"}

_EXACT = frozenset(("floor", "ceil", "trunc", "round"))
_TESTS = frozenset(("isnan", "isinf", "isfinite", "signbit"))
_ON_NUMBERS = frozenset(("neg", "abs", "sign", "square", "reciprocal", "not"))


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """The common shape of two operands; raises ShapeError if there is none."""
    if a == b or not b:
        return a
    if not a:
        return b
    if len(a) < len(b):
        a, b = b, a
    shape = list(a)
    start = len(a) - len(b)
    for k, n in enumerate(b, start):
        if n != shape[k]:
            if shape[k] == 1:
                shape[k] = n
            elif n != 1:
                raise ShapeError(
                    f"arrays of shapes {a} and {b} cannot be broadcast together", here()
                )
    return tuple(shape)


def common_shape(shapes: Sequence[Shape]) -> Shape:
    """The common shape of any number of operands; raises ShapeError if there is none."""
    shape: Shape = ()
    for other in shapes:
        shape = broadcast_shapes(shape, other)
    return shape


def row_major(*operands: Traced) -> bool:
    """Whether NumPy lays an elementwise result out in C order, as far as can be told."""
    return all(len(x.elements.shape) < 2 or _descending(x.elements) for x in operands)


def _descending(view: View) -> bool:
    if view.strides is None:
        return False
    strides = [abs(s) for s, n in zip(view.strides, view.shape, strict=True) if n > 1]
    return all(a >= b for a, b in itertools.pairwise(strides))


def unary(trace: Trace, name: str, x: Traced) -> Traced:
    """A one-operand operation by its graph name, with NumPy's result type."""
    dtype = x.elements.dtype
    result = dtype
    if name in _TESTS:
        result = BOOL
        if name == "signbit" and not is_float(dtype):
            return binary(trace, "lt", x, fresh(trace, literal(0, dtype)))
    elif name in _EXACT:
        if not is_float(dtype):
            return fresh(trace, atom_of(trace, x), weak=x.weak)
    elif name in _ON_NUMBERS:
        if dtype == BOOL:
            if name == "abs":
                return fresh(trace, atom_of(trace, x))
            if name in ("neg", "sign"):
                raise DTypeError(
                    f"numpy.{name} is not defined for booleans", here(), "use ~x or x.astype(int)"
                )
            result = BOOL if name == "not" else INT8
        elif name == "not" and is_float(dtype):
            raise DTypeError(f"bitwise operations are not defined for {dtype}", here())
    else:
        result = floating(dtype)
    compute = dtype if result == BOOL else result
    atom = converted(trace, x, compute)
    var = trace.emit(_OPS[name], (atom,), x.elements.shape, result)
    return fresh(trace, var, weak=x.weak and result != BOOL, row_major=row_major(x))


def binary(trace: Trace, name: str, a: Traced, b: Traced) -> Traced:
    """A two-operand operation by its graph name, with NumPy's result type and shape."""
    u, v = a.elements, b.elements
    if u.dtype == v.dtype:
        dtype = u.dtype
    elif name in _COMPARISONS:
        exact = _compared(trace, name, a, b)
        if exact is not None:
            return exact
        dtype = common(u.dtype, a.weak, v.dtype, b.weak)
    else:
        dtype = common(u.dtype, a.weak, v.dtype, b.weak)
    result = dtype
    if name in _COMPARISONS:
        result = BOOL
    elif not is_float(dtype):
        if name == "div":
            dtype = result = FLOAT64
        elif name in _REAL:
            dtype = result = _real(a, b)
        elif dtype == BOOL:
            if name == "sub":
                raise DTypeError("booleans cannot be subtracted", here(), "use a ^ b, or integers")
            if name in _DIVISIONS:
                dtype = result = INT8
            name = _ON_BOOLS.get(name, name)
    elif name in _BITS:
        raise DTypeError(f"bitwise operations are not defined for {dtype}", here())
    weak = a.weak and b.weak
    shape = u.shape if u.shape == v.shape else broadcast_shapes(u.shape, v.shape)
    x = spread(trace, converted(trace, a, dtype), shape)
    y = spread(trace, converted(trace, b, dtype), shape)
    var = trace.emit(_OPS[name], (x, y), shape, result)
    return fresh(
        trace, var, weak=weak and result != BOOL, row_major=len(shape) < 2 or row_major(a, b)
    )


def _real(a: Traced, b: Traced) -> np.dtype:
    """The float type of a function of two integers: the wider of what each needs."""
    if a.weak and b.weak:
        return FLOAT64
    return promote(*(floating(x.dtype) for x in (a if b.weak else b, b if a.weak else a)))


def _compared(trace: Trace, name: str, a: Traced, b: Traced) -> Traced | None:
    """Comparisons of integers that no common type holds exactly: Python ints outside, uint64."""
    if not (is_integer(a.dtype) and is_integer(b.dtype)):
        return None
    if a.weak != b.weak:
        strong, weak = (b, a) if a.weak else (a, b)
        atom = atom_of(trace, weak)
        if not isinstance(atom, Literal):
            return None
        value, limits = int(atom.value), np.iinfo(strong.dtype)
        if limits.min <= value <= limits.max:
            return None
        below = (value < limits.min) != (weak is a)  # whether b is less than every a
        holds = name == "ne" or name in (("gt", "ge") if below else ("lt", "le"))
        return constant_like(trace, strong, holds, BOOL)
    if {is_signed(a.dtype), is_signed(b.dtype)} == {True, False} and 8 in (
        a.dtype.itemsize if not is_signed(a.dtype) else 0,
        b.dtype.itemsize if not is_signed(b.dtype) else 0,
    ):
        return _compared_with_uint64(trace, name, a, b)
    return None


def _compared_with_uint64(trace: Trace, name: str, a: Traced, b: Traced) -> Traced:
    if not is_signed(a.dtype):
        mirrored = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        return _compared_with_uint64(trace, mirrored.get(name, name), b, a)
    negative = binary(trace, "lt", a, fresh(trace, literal(0, a.dtype)))
    same = binary(trace, name, cast(trace, a, b.dtype), b)
    if name in ("lt", "le", "ne"):
        return binary(trace, "or", negative, same)
    return binary(trace, "and", unary(trace, "not", negative), same)


def constant_like(trace: Trace, x: Traced, value: object, dtype: np.dtype) -> Traced:
    """An array of the shape of `x`, all of one value."""
    return filled_with(trace, value, x.shape, dtype)


def filled_with(trace: Trace, value: object, shape: Shape, dtype: np.dtype) -> Traced:
    """A new array of one value."""
    return fresh(trace, filled(trace, literal(value, dtype), shape))


def cast(trace: Trace, x: Traced, dtype: np.dtype) -> Traced:
    """A copy as another type; float to integer saturates."""
    atom = atom_of(trace, x)
    if x.elements.dtype != dtype:
        if isinstance(atom, Literal):
            atom = converted(trace, x, dtype)
        else:
            atom = trace.emit(Cast(dtype), (atom,), x.elements.shape, dtype)
    return fresh(trace, atom, scalar=x.scalar or x.weak, row_major=row_major(x))


def select(trace: Trace, condition: Traced, a: Traced, b: Traced) -> Traced:
    """`a` where the condition holds, else `b`, broadcast together."""
    dtype = common_of((a, b))
    shape = common_shape((condition.shape, a.shape, b.shape))
    inputs = (
        spread(trace, converted(trace, condition, BOOL), shape),
        spread(trace, converted(trace, a, dtype), shape),
        spread(trace, converted(trace, b, dtype), shape),
    )
    var = trace.emit(Select(), inputs, shape, dtype)
    return fresh(trace, var, row_major=row_major(condition, a, b))


def power(trace: Trace, a: Traced, b: Traced) -> Traced:
    """a ** b; small constant powers become products and roots, as in NumPy's operator."""
    atom = atom_of(trace, b)
    if isinstance(atom, Literal):
        dtype = common(a.dtype, a.weak, b.dtype, b.weak)
        exponent = atom.value.item()
        if is_integer(dtype) and exponent < 0:
            if a.weak:
                a, b = (fresh(trace, converted(trace, x, FLOAT64), weak=True) for x in (a, b))
                return binary(trace, "pow", a, b)
            raise DTypeError(
                "integers cannot be raised to negative integer powers", here(),
                "convert the base to float",
            )  # fmt: skip
        if dtype != BOOL and not b.shape:
            simple = _simple_power(trace, a, dtype, exponent, a.weak and b.weak)
            if simple is not None:
                return simple
    return binary(trace, "pow", a, b)


def _simple_power(
    trace: Trace, a: Traced, dtype: np.dtype, exponent: float, weak: bool
) -> Traced | None:
    names = {2: ("square",), 0.5: ("sqrt",), -1: ("reciprocal",), 3: ("square", "mul")}
    steps = names.get(exponent)
    if steps is None or (exponent != 2 and not is_float(dtype)):
        return None
    x = a if a.dtype == dtype else fresh(trace, converted(trace, a, dtype))
    result = unary(trace, steps[0], x)
    if len(steps) == 2:
        result = binary(trace, steps[1], result, x)
    result.weak = weak
    return result
