"""Rules that every value obeys: types fit, symbols and slots are known, indices have the rank."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .. import dtypes
from ..errors import InternalError
from . import index as ix
from .nodes import (
    Check,
    Combiner,
    Const,
    FromIndex,
    Guarded,
    Index,
    Load,
    Op,
    Slot,
    Symbol,
    Value,
)
from .values import indices, postorder

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_TESTS = ("isnan", "isinf", "isfinite", "signbit")


def check_values(
    roots: Sequence[Value],
    known: Collection[Symbol],
    slots: Collection[Slot] = (),
    where: str = "",
) -> None:
    """Raises InternalError, with `where`, for the first value that breaks a rule."""
    for value in postorder(roots):
        for index in indices(value):
            check_index(index, known, where)
        fault = _fault(value, slots)
        if fault:
            raise InternalError(fault, where or None)


def check_index(index: Index, known: Collection[Symbol], where: str = "") -> None:
    """Raises InternalError for a symbol that is not known here, or a dynamic value of a float."""
    unknown = sorted(s.name for s in ix.symbols(index) if s not in known)
    if unknown:
        raise InternalError(f"{', '.join(unknown)} is not in scope", where or None)
    for dynamic in ix.dynamics(index):
        if not dtypes.is_integer(dynamic.value.dtype):
            raise InternalError(f"a {dynamic.value.dtype} is used as an index", where or None)


def check_combiner(combiner: Combiner, where: str = "") -> None:
    """Raises InternalError where identity, operands and results of a combiner do not fit."""
    parts = (combiner.identity, combiner.left, combiner.right, combiner.results)
    types = [[v.dtype for v in part] for part in parts]
    if any(t != types[0] for t in types[1:]):
        raise InternalError(f"the parts of combiner {combiner.name} differ in type", where or None)
    check_values(combiner.results, (), (*combiner.left, *combiner.right), where)


def _fault(value: Value, slots: Collection[Slot]) -> str | None:
    match value:
        case Const(number, dtype):
            if number.dtype != dtype:
                return f"a {number.dtype} literal is called {dtype}"
        case Load(buffer, index):
            if len(index) != len(buffer.shape):
                return (
                    f"{buffer.name} of rank {len(buffer.shape)} is read with {len(index)} indices"
                )
        case Slot(name, _):
            if value not in slots:
                return f"slot {name} is not an operand here"
        case Guarded(_, taken, otherwise):
            if taken.dtype != otherwise.dtype:
                return f"a choice between {taken.dtype} and {otherwise.dtype}"
        case Check(ok, _, code):
            if ok.dtype != dtypes.BOOL or code <= 0:
                return f"a check of a {ok.dtype} with code {code}"
        case Op():
            return _op_fault(value)
        case FromIndex():
            return None
    return None


def _op_fault(op: Op) -> str | None:
    types = [a.dtype for a in op.args]
    match op.name:
        case "cast" | "bitcast":
            fits = len(types) == 1
        case "select":
            fits = len(types) == 3 and types == [dtypes.BOOL, op.dtype, op.dtype]
        case name if name in _COMPARISONS:
            fits = len(types) == 2 and types[0] == types[1] and op.dtype == dtypes.BOOL
        case name if name in _TESTS:
            fits = len(types) == 1 and op.dtype == dtypes.BOOL
        case "shl" | "shr":
            fits = len(types) == 2 and types[0] == op.dtype
        case _:
            fits = 1 <= len(types) <= 3 and all(t == op.dtype for t in types)
    if fits:
        return None
    return f"{op.name} of ({', '.join(map(str, types))}) gives {op.dtype}"
