"""Laws of elementwise operations and of select. Each law is its docstring."""

from __future__ import annotations

from collections.abc import Mapping
from math import frexp
from typing import Any

import numpy as np

from ... import dtypes
from ..nodes import Atom, Equation, Literal
from ..ops import Elementwise, Select
from .clean import COMMUTATIVE
from .rewrite import Rewriter, Rule, literal, literal_of, scalar_of

_ROUNDINGS = ("floor", "ceil", "trunc", "round")
_SAME_TWICE = ("maximum", "minimum", "fmax", "fmin", "and", "or")
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def scalar_operand(r: Rewriter, e: Equation) -> Atom | None:
    """op(x, broadcast(s)) -> op(x, s); if all operands are such, -> broadcast(op(s, ...))."""
    shape = e.outputs[0].type.shape
    if not shape:
        return None
    scalars = [scalar_of(r, a) if a.type.shape else None for a in e.inputs]
    if not any([s is not None for s in scalars]):
        return None
    inputs = [a if s is None else s for a, s in zip(e.inputs, scalars, strict=True)]
    made = r.emit(e.op, inputs, e.source)
    return made if made.type.shape else r.spread(made, shape, e.source)


def literal_right(r: Rewriter, e: Equation) -> Atom | None:
    """op(literal, x) -> op(x, literal) for commutative operations."""
    if _name(e) not in COMMUTATIVE or not isinstance(e.inputs[0], Literal):
        return None
    x, y = e.inputs
    return None if isinstance(y, Literal) else r.emit(e.op, (y, x), e.source)


def _name(e: Equation) -> str:
    return e.op.name if isinstance(e.op, Elementwise) else ""


def _made_by(r: Rewriter, atom: Atom, *names: str) -> Equation | None:
    maker = r.maker(atom)
    if maker is not None and isinstance(maker.op, Elementwise) and maker.op.name in names:
        return maker
    return None


def _constant(r: Rewriter, e: Equation, value: object) -> Atom:
    type_ = e.outputs[0].type
    return r.spread(literal(value, type_.dtype), type_.shape, e.source)


def _keep(r: Rewriter, e: Equation, atom: Atom) -> Atom:
    """An operand as the result: spread to its shape."""
    shape = e.outputs[0].type.shape
    return atom if atom.type.shape == shape else r.spread(atom, shape, e.source)


def _call(r: Rewriter, e: Equation, name: str, *inputs: Atom) -> Atom:
    return _keep(r, e, r.emit(Elementwise(name), inputs, e.source))


# --- one operand ----------------------------------------------------------------------------------


def involution(r: Rewriter, e: Equation) -> Atom | None:
    """neg(neg(x)) -> x; not(not(x)) -> x."""
    inner = _made_by(r, e.inputs[0], _name(e))
    return None if inner is None else _keep(r, e, inner.inputs[0])


def idempotent(r: Rewriter, e: Equation) -> Atom | None:
    """abs(abs(x)) -> abs(x); sign(sign(x)) -> sign(x)."""
    inner = _made_by(r, e.inputs[0], _name(e))
    return None if inner is None else _keep(r, e, e.inputs[0])


def already_positive(r: Rewriter, e: Equation) -> Atom | None:
    """abs(x) -> x for unsigned integers and bool."""
    (x,) = e.inputs
    return _keep(r, e, x) if x.type.dtype in (dtypes.BOOL, *dtypes.UNSIGNED) else None


def rounded(r: Rewriter, e: Equation) -> Atom | None:
    """floor(x) -> x for whole x: integers, and results of floor, ceil, trunc and round."""
    (x,) = e.inputs
    whole = not dtypes.is_float(x.type.dtype) or _made_by(r, x, *_ROUNDINGS) is not None
    return _keep(r, e, x) if whole else None


def even(r: Rewriter, e: Equation) -> Atom | None:
    """abs(neg(x)) -> abs(x); square(neg(x)) -> square(x); square(abs(x)) -> square(x)."""
    inner = _made_by(r, e.inputs[0], "neg", "abs")
    if inner is None:
        return None
    return r.emit(e.op, inner.inputs, e.source)


def opposite(r: Rewriter, e: Equation) -> Atom | None:
    """not(x == y) -> x != y; not(x < y) -> x >= y except on floats (NaN)."""
    inner = _made_by(r, e.inputs[0], *_OPPOSITE)
    if inner is None:
        return None
    name = _name(inner)
    if name not in ("eq", "ne") and dtypes.is_float(inner.inputs[0].type.dtype):
        return None
    return _call(r, e, _OPPOSITE[name], *inner.inputs)


def exact_test(r: Rewriter, e: Equation) -> Atom | None:
    """isnan(x), isinf(x) -> False; isfinite(x) -> True, for integers and bool."""
    if dtypes.is_float(e.inputs[0].type.dtype):
        return None
    return _constant(r, e, _name(e) == "isfinite")


# --- two operands ---------------------------------------------------------------------------------


def same_twice(r: Rewriter, e: Equation) -> Atom | None:
    """maximum(x, x) -> x, and so minimum, fmax, fmin, and, or."""
    return _keep(r, e, e.inputs[0]) if e.inputs[0] is e.inputs[1] else None


def same_cancels(r: Rewriter, e: Equation) -> Atom | None:
    """x - x -> 0 and x ^ x -> 0, not on floats."""
    x, y = e.inputs
    return _constant(r, e, 0) if x is y and not dtypes.is_float(x.type.dtype) else None


def same_compared(r: Rewriter, e: Equation) -> Atom | None:
    """x == x -> True, x < x -> False, ..., not on floats."""
    x, y = e.inputs
    if x is not y or dtypes.is_float(x.type.dtype):
        return None
    return _constant(r, e, _name(e) in ("eq", "le", "ge"))


def bool_compared(r: Rewriter, e: Equation) -> Atom | None:
    """x == True -> x, x != False -> x, x == False -> not x, x != True -> not x, for bool x."""
    x, y = e.inputs
    known = literal_of(r, y)
    if x.type.dtype != dtypes.BOOL or known is None:
        return None
    keeps = (_name(e) == "eq") == bool(known.value)
    return _keep(r, e, x) if keeps else _call(r, e, "not", x)


def neutral_right(r: Rewriter, e: Equation) -> Atom | None:
    """x + 0, x - 0, x * 1, x / 1, x // 1, x ** 1, x | 0, x ^ 0, x & -1, x << 0, x >> 0 -> x.

    On floats only x + -0.0, x - 0.0, x * 1, x / 1 and x ** 1.
    """
    x, y = e.inputs
    known = literal_of(r, y)
    if known is None:
        return None
    return _keep(r, e, x) if _is_neutral(_name(e), known.value) else None


def _is_neutral(name: str, value: Any) -> bool:
    negative_zero = value == 0 and bool(np.signbit(np.float64(value)))
    match name:
        case "add":
            return bool(value == 0) and (negative_zero or not dtypes.is_float(value.dtype))
        case "sub":
            return bool(value == 0) and not negative_zero
        case "mul" | "div" | "pow":
            return bool(value == 1)
        case "floor_div":
            return bool(value == 1) and not dtypes.is_float(value.dtype)
        case "or" | "xor" | "shift_left" | "shift_right":
            return bool(value == 0)
        case "and":
            return bool(np.invert(value) == 0)
        case _:
            return False


def absorbing(r: Rewriter, e: Equation) -> Atom | None:
    """x * 0 -> 0, x & 0 -> 0, x | -1 -> -1, x % 1 -> 0, not on floats; x ** 0 -> 1."""
    x, y = e.inputs
    known = literal_of(r, y)
    if known is None:
        return None
    value: Any = known.value
    name = _name(e)
    if name == "pow" and value == 0:
        return _constant(r, e, 1)
    if dtypes.is_float(x.type.dtype):
        return None
    if name in ("mul", "and") and value == 0:
        return _constant(r, e, 0)
    if name == "or" and np.invert(value) == 0:
        return _constant(r, e, value)
    if name in ("mod", "fmod") and value == 1:
        return _constant(r, e, 0)
    return None


def minus_one(r: Rewriter, e: Equation) -> Atom | None:
    """x * -1 -> neg(x); x / -1 -> neg(x)."""
    x, y = e.inputs
    known = literal_of(r, y)
    if known is None or dtypes.BOOL == x.type.dtype or x.type.dtype in dtypes.UNSIGNED:
        return None
    value: Any = known.value
    return _call(r, e, "neg", x) if value == -1 else None


def signs(r: Rewriter, e: Equation) -> Atom | None:
    """x + neg(y) -> x - y; neg(x) + y -> y - x; x - neg(y) -> x + y."""
    x, y = e.inputs
    adds = _name(e) == "add"
    right = _made_by(r, y, "neg")
    if right is not None:
        return _call(r, e, "sub" if adds else "add", x, right.inputs[0])
    left = _made_by(r, x, "neg") if adds else None
    return None if left is None else _call(r, e, "sub", y, left.inputs[0])


def power_of_two_divisor(r: Rewriter, e: Equation) -> Atom | None:
    """x / 2**k -> x * 2**-k where both are normal; x // 2**k -> x >> k; x % 2**k -> x & 2**k-1.

    The floats are the same real number before the one rounding; integers floor as NumPy does.
    """
    x, y = e.inputs
    known = literal_of(r, y)
    if known is None:
        return None
    value: Any = known.value
    dtype = x.type.dtype
    if _name(e) == "div":
        inverse = _exact_inverse(value, dtype)
        return None if inverse is None else _call(r, e, "mul", x, inverse)
    if not dtypes.is_integer(dtype) or int(value) <= 1 or int(value).bit_count() != 1:
        return None
    if _name(e) == "floor_div":
        return _call(r, e, "shift_right", x, literal(int(value).bit_length() - 1, dtype))
    return _call(r, e, "and", x, literal(int(value) - 1, dtype))


def _exact_inverse(value: Any, dtype: np.dtype) -> Literal | None:
    number = float(value)
    if number == 0 or not np.isfinite(number) or abs(frexp(number)[0]) != 0.5:
        return None
    smallest = float(np.finfo(np.float32 if dtype == dtypes.BFLOAT16 else dtype).tiny)
    inverse = 1 / number
    if abs(number) < smallest or abs(inverse) < smallest:
        return None
    made = literal(inverse, dtype)
    return made if float(made.value) == inverse else None


def small_power(r: Rewriter, e: Equation) -> Atom | None:
    """x ** 2 -> square(x); for integers also x ** 3 -> square(x) * x, x ** 4 -> square(square(x)).

    NumPy squares for the float exponent 2 as well.
    """
    x, y = e.inputs
    known = literal_of(r, y)
    if known is None:
        return None
    value: Any = known.value
    if value == 2:
        return _call(r, e, "square", x)
    if dtypes.is_float(x.type.dtype) or value not in (3, 4):
        return None
    squared = r.emit(Elementwise("square"), (x,), e.source)
    return _call(r, e, "mul", squared, x) if value == 3 else _call(r, e, "square", squared)


# --- select ---------------------------------------------------------------------------------------


def known_condition(r: Rewriter, e: Equation) -> Atom | None:
    """select(True, a, b) -> a; select(False, a, b) -> b."""
    condition = literal_of(r, e.inputs[0])
    if condition is None:
        return None
    return _keep(r, e, e.inputs[1] if condition.value else e.inputs[2])


def equal_sides(r: Rewriter, e: Equation) -> Atom | None:
    """select(c, a, a) -> a, where a has the result's shape."""
    _, a, b = e.inputs
    same = a is b or _same_literal(a, b)
    return _keep(r, e, a) if same else None


def _same_literal(a: Atom, b: Atom) -> bool:
    return (
        isinstance(a, Literal)
        and isinstance(b, Literal)
        and a.value.dtype == b.value.dtype
        and a.value.tobytes() == b.value.tobytes()
    )


def negated_condition(r: Rewriter, e: Equation) -> Atom | None:
    """select(not c, a, b) -> select(c, b, a)."""
    inner = _made_by(r, e.inputs[0], "not")
    if inner is None:
        return None
    chosen = r.emit(Select(), (inner.inputs[0], e.inputs[2], e.inputs[1]), e.source)
    return _keep(r, e, chosen)


def select_of_truth(r: Rewriter, e: Equation) -> Atom | None:
    """select(c, True, False) -> c; select(c, False, True) -> not c."""
    condition, a, b = e.inputs
    left, right = literal_of(r, a), literal_of(r, b)
    if left is None or right is None or a.type.dtype != dtypes.BOOL:
        return None
    if bool(left.value) == bool(right.value):
        return None
    return _keep(r, e, condition) if left.value else _call(r, e, "not", condition)


_BY_NAME: Mapping[str, tuple[Rule, ...]] = {
    "neg": (involution,),
    "not": (involution, opposite),
    "abs": (already_positive, idempotent, even),
    "sign": (idempotent,),
    "square": (even,),
    **dict.fromkeys(_ROUNDINGS, (rounded,)),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), (exact_test,)),
    "add": (neutral_right, signs),
    "sub": (neutral_right, same_cancels, signs),
    "mul": (neutral_right, absorbing, minus_one),
    "div": (neutral_right, minus_one, power_of_two_divisor),
    "floor_div": (neutral_right, power_of_two_divisor),
    "mod": (absorbing, power_of_two_divisor),
    "fmod": (absorbing,),
    "pow": (absorbing, neutral_right, small_power),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), (same_twice,)),
    "and": (same_twice, neutral_right, absorbing),
    "or": (same_twice, neutral_right, absorbing),
    "xor": (same_cancels, neutral_right),
    "shift_left": (neutral_right,),
    "shift_right": (neutral_right,),
    **dict.fromkeys(("eq", "ne"), (same_compared, bool_compared)),
    **dict.fromkeys(("lt", "le", "gt", "ge"), (same_compared,)),
}


def _by_name(r: Rewriter, e: Equation) -> Atom | None:
    assert isinstance(e.op, Elementwise)
    for law in _BY_NAME.get(e.op.name, ()):
        found = law(r, e)
        if found is not None:
            return found
    return None


LAWS: tuple[Rule, ...] = (scalar_operand, literal_right, _by_name)
SELECT: tuple[Rule, ...] = (
    scalar_operand,
    known_condition,
    equal_sides,
    negated_condition,
    select_of_truth,
)
