"""Elementwise operations as formulas of core operations.

    expand(values) -> values

The tables below say, for each class of types, which formula an operation stands for. What is in no
table is a core operation already. Formulas are straight-line and without branches or table
look-ups, so that they vectorise as they stand; special values are those of NumPy. `docs/math.md`
has their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .. import dtypes
from ..errors import InternalError
from ..expr.nodes import FromIndex, Op, Value
from ..expr.values import rewrite
from . import math_error as error
from . import math_exponential as exponential
from . import math_float as floats
from . import math_half as half
from . import math_integer as integers
from . import math_inverse as inverse
from . import math_logarithm as logarithm
from . import math_power as powers
from . import math_trigonometry as trigonometry
from .math_convert import convert
from .math_term import Term, apply, isnan, lit

CORE = frozenset((
    "add", "sub", "mul", "neg", "abs", "div", "sqrt", "floor", "ceil", "trunc", "round", "fma",
    "copysign", "minimum", "maximum", "and", "or", "xor", "not", "eq", "ne", "lt", "le", "gt", "ge",
    "select", "cast", "bitcast", "quotient", "remainder", "shl", "shr",
))  # fmt: skip
"""What remains after `expand`."""

Rule = Callable[..., Term]

_FLOAT: Mapping[str, Rule] = {
    "sign": floats.sign, "square": floats.square, "reciprocal": floats.reciprocal,
    "fmax": floats.fmax, "fmin": floats.fmin, "isnan": isnan, "isinf": floats.isinf,
    "isfinite": floats.isfinite, "signbit": floats.signbit, "nextafter": floats.nextafter,
    "fmod": floats.fmod, "mod": floats.mod, "floor_div": floats.floor_div, "hypot": floats.hypot,
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "sinh": exponential.sinh, "cosh": exponential.cosh, "tanh": exponential.tanh,
    "sigmoid": exponential.sigmoid, "erf": error.erf,
    "log": logarithm.log, "log2": logarithm.log2, "log10": logarithm.log10,
    "log1p": logarithm.log1p, "asinh": logarithm.asinh, "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
    "sin": trigonometry.sin, "cos": trigonometry.cos, "tan": trigonometry.tan,
    "asin": inverse.asin, "acos": inverse.acos, "atan": inverse.atan, "atan2": inverse.atan2,
    "pow": powers.power, "cbrt": powers.cbrt,
}  # fmt: skip


def _same(x: Term) -> Term:
    return x


def _never(x: Term) -> Term:
    return lit(False, dtypes.BOOL)


def _always(x: Term) -> Term:
    return lit(True, dtypes.BOOL)


_WHOLE: Mapping[str, Rule] = {
    "floor": _same, "ceil": _same, "trunc": _same, "round": _same,
    "isnan": _never, "isinf": _never, "isfinite": _always,
}  # fmt: skip

_SIGNED: Mapping[str, Rule] = {
    **_WHOLE,
    "sign": integers.sign, "square": integers.square, "reciprocal": integers.reciprocal,
    "signbit": integers.signbit, "floor_div": integers.floor_div, "mod": integers.mod,
    "fmod": integers.fmod, "pow": integers.power,
    "shift_left": integers.shift_left, "shift_right": integers.shift_right,
    "fmax": lambda a, b: apply("maximum", a, b), "fmin": lambda a, b: apply("minimum", a, b),
}  # fmt: skip

_UNSIGNED: Mapping[str, Rule] = {**_SIGNED, "abs": _same, "signbit": _never}

_BOOL: Mapping[str, Rule] = {
    **_WHOLE,
    "abs": _same, "signbit": _never,
    "add": lambda a, b: a | b, "mul": lambda a, b: a & b,
    "maximum": lambda a, b: a | b, "fmax": lambda a, b: a | b,
    "minimum": lambda a, b: a & b, "fmin": lambda a, b: a & b,
    "eq": lambda a, b: ~(a ^ b), "ne": lambda a, b: a ^ b,
    "lt": lambda a, b: ~a & b, "le": lambda a, b: ~a | b,
    "gt": lambda a, b: a & ~b, "ge": lambda a, b: a | ~b,
}  # fmt: skip

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def expand(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values with every operation written in core operations; what is shared stays shared."""
    return rewrite(values, _expand)


def _expand(value: Value) -> Value | None:
    match value:
        case Op("select" | "bitcast"):
            return None  # moves bits, of any type
        case Op("cast", (operand,), dtype):
            return convert(Term(operand), dtype).value
        case Op(name, operands, _):
            return _formula(name, tuple(Term(a) for a in operands))
        case FromIndex(index, dtype) if dtype in (dtypes.FLOAT16, dtypes.BFLOAT16):
            return convert(Term(FromIndex(index, dtypes.INT64)), dtype).value
        case _:
            return None


def _formula(name: str, args: tuple[Term, ...]) -> Value | None:
    dtype = args[0].dtype
    if dtype in (dtypes.FLOAT16, dtypes.BFLOAT16):
        if name in half.ON_BITS:
            return half.ON_BITS[name](*args).value
        return half.through_single(_rule(name, _FLOAT), args).value
    if dtypes.is_float(dtype):
        table = _FLOAT
    elif dtype == dtypes.BOOL:
        table = _BOOL
    else:
        table = _SIGNED if dtypes.is_signed(dtype) else _UNSIGNED
    return None if name not in table and name in CORE else _rule(name, table)(*args).value


def _rule(name: str, table: Mapping[str, Rule]) -> Rule:
    if name in table:
        return table[name]
    if name not in CORE:
        raise InternalError(f"the operation {name!r} has no formula for these types")
    return lambda *args: _core(name, *args)


def _core(name: str, *args: Term) -> Term:
    return apply(name, *args, dtype=dtypes.BOOL if name in _COMPARISONS else None)
