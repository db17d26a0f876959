"""NumPy's universal functions: elementwise, with `out`, `where`, `reduce`, `accumulate`, `at`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, INT64, canonical, is_float, is_integer
from ..ir.errors import DTypeError
from .context import Trace, current, here, refused
from .eager import run_eagerly
from .elementwise import binary, cast, filled_with, power, select, unary
from .masked import Masked
from .products import matmul
from .promotion import common, floating
from .reducing import cumulative, reduce
from .traced import Traced, active, atom_of, converted, fresh, lift, literal, reshaped_atom
from .updates import store, update_at

Function = Callable[..., Any]


class Ufunc:
    """An elementwise function of `nin` operands, as `numpy`'s of the same name."""

    def __init__(
        self, name: str, function: Function, nin: int, reduction: str | None = None, nout: int = 1
    ):
        self.__name__ = name
        self.__doc__ = f"Elementwise, as `numpy.{name}`: broadcasting, `out=`, `where=`, `dtype=`."
        self._function = function
        self._reduction = reduction
        self.nin = nin
        self.nout = nout

    def __repr__(self) -> str:
        return f"<loopwright function {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's values; see `numpy.ufunc.__call__`."""
        trace = current()
        if trace is None:
            return run_eagerly(self, args, kwargs)
        if len(args) > self.nin:
            kwargs["out"] = args[self.nin :]
            args = args[: self.nin]
        if len(args) != self.nin:
            raise refused(f"{self.__name__} takes {self.nin} arrays, not {len(args)}")
        for x in args:
            if isinstance(x, Masked):
                return x.apply(self._function, args)
        operands = [lift(trace, x) for x in args]
        if not kwargs:
            return self._strong(self._function(trace, *operands))
        return self._with_options(trace, operands, **kwargs)

    def _strong(self, result: Any) -> Any:
        """Functions, unlike operators, give NumPy scalars for Python numbers."""
        for x in result if self.nout > 1 else (result,):
            x.weak = False
        return result

    def _with_options(
        self,
        trace: Trace,
        operands: list[Traced],
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
        signature: None = None,
    ) -> Any:
        if dtype is not None:
            wanted = canonical(dtype, here())
            operands = [fresh(trace, converted(trace, x, wanted)) for x in operands]
        result = self._strong(self._function(trace, *operands))
        if out is not None and (not isinstance(out, tuple) or any(o is not None for o in out)):
            if self.nout > 1:
                return tuple(store(trace, o, r, where) for o, r in zip(out, result, strict=True))
            return store(trace, out, result, where)
        if where is not True:
            zero = filled_with(trace, 0, (), result.dtype)
            return select(trace, lift(trace, where), result, zero)
        return result

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """The elements along `axis` combined; see `numpy.ufunc.reduce`."""
        if current() is None:
            return run_eagerly(self.reduce, (array, axis, dtype, out, keepdims, initial, where), {})
        trace = active()
        name = self._combiner("reduce")
        wanted = None if dtype is None else canonical(dtype, here())
        condition = None if where is True else lift(trace, where)
        x = lift(trace, array)
        result = reduce(trace, name, x, axis, keepdims, wanted, initial, condition)
        return result if out is None else store(trace, out, result)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """The running combination along `axis`; see `numpy.ufunc.accumulate`."""
        if current() is None:
            return run_eagerly(self.accumulate, (array, axis, dtype, out), {})
        trace = active()
        name = self._combiner("accumulate")
        if name in ("and", "or"):
            raise refused(f"np.{self.__name__}.accumulate is not supported")
        wanted = None if dtype is None else canonical(dtype, here())
        result = cumulative(trace, name, lift(trace, array), axis, wanted)
        return result if out is None else store(trace, out, result)

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        """The function of every pair; see `numpy.ufunc.outer`."""
        if current() is None:
            return run_eagerly(self.outer, (a, b), kwargs)
        trace = active()
        x, y = lift(trace, a), lift(trace, b)
        column = (*x.shape, *(1,) * y.ndim)
        atom = reshaped_atom(trace, atom_of(trace, x), column)
        return self(fresh(trace, atom, weak=x.weak), y, **kwargs)

    def at(self, array: Any, index: Any, value: Any = None) -> None:
        """In place at `index`, repetitions counting each time; see `numpy.ufunc.at`."""
        if current() is None:
            run_eagerly(self.at, (array, index, value), {})
            return
        if not isinstance(array, Traced):
            raise refused(f"np.{self.__name__}.at writes into an array made outside of the trace")
        update_at(active(), self.__name__, array, index, value)

    def _combiner(self, method: str) -> str:
        if self._reduction is None:
            raise refused(f"np.{self.__name__}.{method} is not supported")
        return self._reduction


def _unary(name: str) -> Function:
    return lambda trace, x: unary(trace, name, x)


def _binary(name: str) -> Function:
    return lambda trace, a, b: binary(trace, name, a, b)


def _number(trace: Trace, value: float) -> Traced:
    """A Python number: it takes the type of what it meets."""
    return lift(trace, value)


def _rint(trace: Trace, x: Traced) -> Traced:
    return unary(trace, "round", cast(trace, x, floating(x.dtype)))


def _positive(trace: Trace, x: Traced) -> Traced:
    if x.dtype == BOOL:
        raise DTypeError("numpy.positive is not defined for booleans", here())
    return fresh(trace, atom_of(trace, x), weak=x.weak)


def truth(trace: Trace, x: Traced) -> Traced:
    """x != 0, as booleans."""
    return x if x.dtype == BOOL else fresh(trace, converted(trace, x, BOOL))


def _logical(name: str) -> Function:
    return lambda trace, a, b: binary(trace, name, truth(trace, a), truth(trace, b))


def _logical_not(trace: Trace, x: Traced) -> Traced:
    return unary(trace, "not", truth(trace, x))


def _divmod(trace: Trace, a: Traced, b: Traced) -> tuple[Traced, Traced]:
    return binary(trace, "floor_div", a, b), binary(trace, "mod", a, b)


def _modf(trace: Trace, x: Traced) -> tuple[Traced, Traced]:
    whole = unary(trace, "trunc", cast(trace, x, floating(x.dtype)))
    rest = binary(trace, "sub", x, whole)
    infinite = unary(trace, "isinf", whole)
    rest = select(trace, infinite, _number(trace, 0.0), rest)
    return binary(trace, "copysign", rest, whole), whole


def _scaled(factor: float) -> Function:
    def scale(trace: Trace, x: Traced) -> Traced:
        x = fresh(trace, converted(trace, x, floating(x.dtype)))
        return binary(trace, "mul", x, _number(trace, factor))

    return scale


def _float_power(trace: Trace, a: Traced, b: Traced) -> Traced:
    wide = np.dtype(np.float64)
    return power(trace, cast(trace, a, wide), cast(trace, b, wide))


def _heaviside(trace: Trace, x: Traced, at_zero: Traced) -> Traced:
    dtype = floating(common(x.dtype, x.weak, at_zero.dtype, at_zero.weak))
    x, at_zero = cast(trace, x, dtype), cast(trace, at_zero, dtype)
    zero = _number(trace, 0.0)
    positive = cast(trace, binary(trace, "gt", x, zero), dtype)
    result = select(trace, binary(trace, "eq", x, zero), at_zero, positive)
    return select(trace, unary(trace, "isnan", x), x, result)


def _logaddexp(base: float) -> Function:
    exp, log1p = ("exp", "log1p") if base == math.e else ("exp2", "log1p")

    def function(trace: Trace, a: Traced, b: Traced) -> Traced:
        dtype = floating(common(a.dtype, a.weak, b.dtype, b.weak))
        a, b = cast(trace, a, dtype), cast(trace, b, dtype)
        larger = binary(trace, "maximum", a, b)
        distance = unary(trace, "abs", binary(trace, "sub", a, b))
        tail = unary(trace, log1p, unary(trace, exp, unary(trace, "neg", distance)))
        scale = 1.0 if base == math.e else 1 / math.log(base)
        if scale != 1.0:
            tail = binary(trace, "mul", tail, _number(trace, scale))
        summed = binary(trace, "add", larger, tail)
        equal = binary(trace, "add", a, _number(trace, math.log(2) * scale))
        return select(trace, binary(trace, "eq", a, b), equal, summed)

    return function


def _ldexp(trace: Trace, x: Traced, exponent: Traced) -> Traced:
    dtype = floating(x.dtype)
    two = fresh(trace, literal(2, dtype))
    return binary(trace, "mul", x, binary(trace, "pow", two, cast(trace, exponent, dtype)))


def _fabs(trace: Trace, x: Traced) -> Traced:
    return unary(trace, "abs", cast(trace, x, floating(x.dtype)))


def _sign(trace: Trace, x: Traced) -> Traced:
    return unary(trace, "sign", x)


def _spacing(trace: Trace, x: Traced) -> Traced:
    x = cast(trace, x, floating(x.dtype))
    outward = binary(trace, "copysign", _number(trace, math.inf), x)
    return binary(trace, "sub", binary(trace, "nextafter", x, outward), x)


def rounded(trace: Trace, x: Traced, decimals: int) -> Traced:
    """Half to even at a decimal place, by scaling as NumPy does."""
    if decimals == 0 or (decimals > 0 and not is_float(x.dtype)):
        return unary(trace, "round", x)
    factor = _number(trace, 10.0 ** abs(decimals))
    up, down = ("mul", "div") if decimals > 0 else ("div", "mul")
    scaled = unary(trace, "round", binary(trace, up, x, factor))
    result = binary(trace, down, scaled, factor)
    if is_integer(x.dtype) and x.dtype.itemsize < 8:  # past the type's range it wraps, in NumPy
        result = cast(trace, result, INT64)
    return cast(trace, result, x.dtype)


def clipped(trace: Trace, x: Traced, low: Traced | None, high: Traced | None) -> Traced:
    """minimum(maximum(x, low), high); Python ints outside of the type's range bound nothing."""
    for bound, name in ((low, "maximum"), (high, "minimum")):
        if bound is None or _is_outside(trace, x, bound, name):
            continue
        x = binary(trace, name, x, bound)
    return fresh(trace, atom_of(trace, x)) if low is None and high is None else x


def _is_outside(trace: Trace, x: Traced, bound: Traced, name: str) -> bool:
    known = trace.known(atom_of(trace, bound)) if bound.weak and not bound.shape else None
    if known is None or known.dtype.kind != "i" or x.dtype.kind not in "iu" or x.weak:
        return False
    limits = np.iinfo(x.dtype)
    return bool(known < limits.min) if name == "maximum" else bool(known > limits.max)


_UNARY = {
    "negative": "neg", "absolute": "abs", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "sqrt": "sqrt", "cbrt": "cbrt", "square": "square",
    "reciprocal": "reciprocal", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log",
    "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "isnan": "isnan",
    "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit", "invert": "not",
}  # fmt: skip

_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide":
    "floor_div", "remainder": "mod", "fmod": "fmod", "maximum": "maximum", "minimum": "minimum",
    "fmax": "fmax", "fmin": "fmin", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "nextafter": "nextafter", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "left_shift": "shift_left", "right_shift": "shift_right", "equal": "eq", "not_equal": "ne",
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "and",
    "logical_or": "or",
}  # fmt: skip

_OTHERS = (
    ("positive", _positive, 1),
    ("rint", _rint, 1),
    ("fabs", _fabs, 1),
    ("sign", _sign, 1),
    ("logical_not", _logical_not, 1),
    ("logical_and", _logical("and"), 2),
    ("logical_or", _logical("or"), 2),
    ("logical_xor", _logical("xor"), 2),
    ("power", power, 2),
    ("float_power", _float_power, 2),
    ("heaviside", _heaviside, 2),
    ("logaddexp", _logaddexp(math.e), 2),
    ("logaddexp2", _logaddexp(2.0), 2),
    ("ldexp", _ldexp, 2),
    ("spacing", _spacing, 1),
    ("deg2rad", _scaled(math.pi / 180), 1),
    ("rad2deg", _scaled(180 / math.pi), 1),
    ("matmul", matmul, 2),
)

_ALIASES = {
    "abs": "absolute", "true_divide": "divide", "mod": "remainder", "bitwise_not": "invert",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "pow": "power", "acos": "arccos", "acosh": "arccosh",
    "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "conjugate": "positive", "conj": "positive", "radians": "deg2rad",
    "degrees": "rad2deg",
}  # fmt: skip

UFUNCS: dict[str, Ufunc] = {
    **{name: Ufunc(name, _unary(op), 1) for name, op in _UNARY.items()},
    **{name: Ufunc(name, _binary(op), 2, _REDUCTIONS.get(name)) for name, op in _BINARY.items()},
    **{name: Ufunc(name, f, nin, _REDUCTIONS.get(name)) for name, f, nin in _OTHERS},
    "divmod": Ufunc("divmod", _divmod, 2, nout=2),
    "modf": Ufunc("modf", _modf, 1, nout=2),
}
UFUNCS |= {alias: UFUNCS[name] for alias, name in _ALIASES.items()}
