"""Run-time positions: integer values made safe to index an axis, by the mode of the operation."""

from __future__ import annotations

from dataclasses import dataclass

from .. import dtypes
from ..expr import index as ix
from ..expr.nodes import Check, Const, Dynamic, FromIndex, Index, Op, Value
from ..expr.values import const, postorder
from ..graph.ops import IndexMode

_INT = dtypes.INT64


@dataclass(frozen=True, slots=True)
class Position:
    """A place on an axis. `clamped` is always inside; `inside` (bool) says whether it was so."""

    clamped: Index
    inside: Value | None = None


def position(value: Value, extent: int, mode: IndexMode, code: int, ranges: ix.Ranges) -> Position:
    """The place on an axis of `extent` > 0 that an integer value means in `mode`.

    Mode "raise" makes the kernel end with status `code` where the value is outside; only "fill"
    gives an `inside`.
    """
    known = affine(value, ranges)
    if known is not None:
        low, high = ix.bounds(known, ranges)
        if low >= 0 and high < extent:
            return Position(known)
        if low >= -extent and high < 0 and mode != "clip":
            return Position(ix.add(known, extent))
    if mode == "wrap" and value.dtype == dtypes.UINT64:
        value = Op("mod", (value, const(extent, dtypes.UINT64)), dtypes.UINT64)
        return Position(_dynamic(Op("cast", (value,), _INT), extent))
    zero, last = const(0, _INT), const(extent - 1, _INT)
    if mode == "clip":
        wide = _widen(value, extent)
        return Position(_dynamic(_op("minimum", _op("maximum", wide, zero), last), extent))
    if mode == "wrap":
        return Position(_dynamic(_op("mod", _widen(value, extent), const(extent, _INT)), extent))
    place, inside = _from_the_end(value, extent)
    if mode == "raise":
        return Position(_dynamic(Check(inside, place, code), extent))
    return Position(_dynamic(_select(inside, place, zero), extent), inside)


def target_position(
    value: Value, extent: int, mode: IndexMode, code: int, ranges: ix.Ranges
) -> tuple[Index, tuple[Index, ...]]:
    """As `position`, for writing: the place, and conditions (>= 0) under which it is written."""
    found = position(value, extent, mode, code, ranges)
    if found.inside is None:
        return found.clamped, ()
    place, inside = _from_the_end(value, extent)
    written = ix.of(Dynamic(_select(inside, place, const(-1, _INT)), -1, extent - 1))
    return written, (written,)


def _from_the_end(value: Value, extent: int) -> tuple[Value, Value]:
    """(the place with negative ones counted from the end, whether it is inside)."""
    wide, zero = _widen(value, extent), const(0, _INT)
    place = _select(_less(wide, zero), _op("add", wide, const(extent, _INT)), wide)
    above, below = _op_bool("ge", place, zero), _less(place, const(extent, _INT))
    inside = _op_bool("and", above, below)
    return place, inside


def no_position(fill: Value, mode: IndexMode, code: int) -> Value:
    """What is read from an axis of extent 0: the fill, or the kernel ends with `code`."""
    if mode == "fill":
        return fill
    return Check(const(False, dtypes.BOOL), fill, code)


def affine(value: Value, ranges: ix.Ranges) -> Index | None:
    """The index that an integer value is, where no step of its computation can wrap; else None."""
    found: dict[int, Index | None] = {}
    for node in postorder((value,)):
        result: Index | None = None
        match node:
            case FromIndex(index, _):
                result = index
            case Const(number, dtype) if dtypes.is_integer(dtype):
                result = ix.constant(int(number))
            case Op("cast", (a,), dtype) if dtypes.is_integer(dtype):
                result = found[id(a)]
            case Op(("add" | "sub" | "mul") as name, (a, b), _):
                result = _combine(name, found[id(a)], found[id(b)])
            case Op("neg", (a,), _):
                result = _combine("sub", ix.ZERO, found[id(a)])
        if result is not None and not _fits(result, node, ranges):
            result = None
        found[id(node)] = result
    return found[id(value)]


def _combine(name: str, a: Index | None, b: Index | None) -> Index | None:
    if a is None or b is None:
        return None
    if name == "add":
        return ix.add(a, b)
    if name == "sub":
        return ix.subtract(a, b)
    if ix.is_constant(b):
        return ix.scale(a, b.const)
    return ix.scale(b, a.const) if ix.is_constant(a) else None


def _fits(index: Index, value: Value, ranges: ix.Ranges) -> bool:
    if not dtypes.is_integer(value.dtype):
        return False
    bits = value.dtype.itemsize * 8
    signed = dtypes.is_signed(value.dtype)
    low, high = ix.bounds(index, ranges)
    return low >= (-(2 ** (bits - 1)) if signed else 0) and high < 2 ** (bits - signed)


def _widen(value: Value, extent: int) -> Value:
    """The value as int64, with every uint64 that is outside kept outside."""
    if value.dtype == dtypes.UINT64:
        limit = const(extent, dtypes.UINT64)
        value = Op("minimum", (value, limit), dtypes.UINT64)
    return value if value.dtype == _INT else Op("cast", (value,), _INT)


def _dynamic(value: Value, extent: int) -> Index:
    return ix.of(Dynamic(value, 0, extent - 1))


def _op(name: str, a: Value, b: Value) -> Value:
    return Op(name, (a, b), _INT)


def _less(a: Value, b: Value) -> Value:
    return _op_bool("lt", a, b)


def _op_bool(name: str, a: Value, b: Value) -> Value:
    return Op(name, (a, b), dtypes.BOOL)


def _select(condition: Value, a: Value, b: Value) -> Value:
    return Op("select", (condition, a, b), _INT)
