"""Python's operators on traced values, and the refusals where Python wants a value now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..ir.dtypes import BOOL, INT64, is_float
from ..ir.errors import DTypeError, TraceError
from .context import Trace, refused
from .elementwise import binary, power, unary
from .indexing import index_view
from .masked import Masked
from .traced import Traced, active, atom_of, converted, fresh, is_liftable, lift, view_of, viewed
from .ufuncs import rounded
from .updates import in_place, set_item

_FIX_BRANCH = (
    "use np.where(condition, a, b); if the value is an argument that only takes few values, "
    "name it in static_argnames"
)
_FIX_NUMBER = (
    "keep it an array (np.sqrt instead of math.sqrt); if it is an argument that only takes few "
    "values, name it in static_argnames"
)


def _operator(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def operate(self: Traced, other: Any) -> Any:
        trace = active()
        if other.__class__ is not self.__class__:
            if not is_liftable(other):
                return NotImplemented
            other = lift(trace, other)
        a, b = (other, self) if reflected else (self, other)
        if a.weak and b.weak:
            a, b = _as_integers(trace, name, a), _as_integers(trace, name, b)
        return power(trace, a, b) if name == "pow" else binary(trace, name, a, b)

    return operate


def _unary(name: str) -> Callable[[Any], Any]:
    def operate(self: Traced) -> Any:
        trace = active()
        return unary(trace, name, _as_integers(trace, name, self) if self.weak else self)

    return operate


def _as_integers(trace: Trace, name: str, x: Traced) -> Traced:
    """Python's booleans are numbers among themselves."""
    if x.dtype != BOOL or name not in _ARITHMETIC:
        return x
    return fresh(trace, converted(trace, x, INT64), weak=True)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    plain = _operator(name)

    def operate(self: Traced, other: Any) -> Any:
        result = plain(self, other)
        if result is NotImplemented or self.scalar or self.weak:
            return result
        return in_place(active(), self, result)

    return operate


_ARITHMETIC = frozenset(
    ("add", "sub", "mul", "div", "floor_div", "mod", "pow", "neg", "abs", "not")
)


class Operators(Traced):
    """A traced value with Python's operators."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _operator("add"), _operator("add", True), _in_place("add")
    __sub__, __rsub__, __isub__ = _operator("sub"), _operator("sub", True), _in_place("sub")
    __mul__, __rmul__, __imul__ = _operator("mul"), _operator("mul", True), _in_place("mul")
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", True)
    __itruediv__ = _in_place("div")
    __floordiv__, __rfloordiv__ = _operator("floor_div"), _operator("floor_div", True)
    __ifloordiv__ = _in_place("floor_div")
    __mod__, __rmod__, __imod__ = _operator("mod"), _operator("mod", True), _in_place("mod")
    __pow__, __rpow__, __ipow__ = _operator("pow"), _operator("pow", True), _in_place("pow")
    __and__, __rand__, __iand__ = _operator("and"), _operator("and", True), _in_place("and")
    __or__, __ror__, __ior__ = _operator("or"), _operator("or", True), _in_place("or")
    __xor__, __rxor__, __ixor__ = _operator("xor"), _operator("xor", True), _in_place("xor")
    __lshift__, __rlshift__ = _operator("shift_left"), _operator("shift_left", True)
    __ilshift__ = _in_place("shift_left")
    __rshift__, __rrshift__ = _operator("shift_right"), _operator("shift_right", True)
    __irshift__ = _in_place("shift_right")
    __eq__, __ne__ = _operator("eq"), _operator("ne")
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")

    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("not")

    def __pos__(self) -> Any:
        return fresh(active(), atom_of(active(), self), weak=self.weak)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, ndigits: int | None = None) -> Any:
        trace = active()
        result = rounded(trace, self, 0 if ndigits is None else ndigits)
        if ndigits is None and not self.shape:
            return fresh(trace, converted(trace, result, INT64), weak=self.weak)
        return result

    # Elements and iteration

    def __getitem__(self, index: Any) -> Any:
        trace = active()
        found = index_view(trace, view_of(trace, self), index)
        if found.mask is not None:
            value = fresh(trace, atom_of(trace, viewed(trace, found.elements)))
            mask = fresh(trace, atom_of(trace, found.mask), scalar=False)
            return Masked(value, mask, found.mask_axes)
        result = viewed(trace, found.elements)
        if found.scalar or found.copies or self.scalar:
            return fresh(trace, atom_of(trace, result), scalar=found.scalar)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        set_item(active(), self, index, value)

    def __len__(self) -> int:
        if not self.shape:
            raise refused("len() of a traced value of rank 0", "only arrays have a length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise refused(
                "iteration over a traced value of rank 0",
                "only arrays can be iterated; a bound of range() has to be a Python number",
            )
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    # Python wants a value now

    def _value(self, what: str, fix: str) -> Any:
        trace = active()
        if self.size != 1:
            raise refused(f"{what} of a traced array of shape {self.shape}", fix)
        known = trace.demand(atom_of(trace, self))
        if known is None:
            raise refused(
                f"{what} of a traced value: its value is not known while the function is traced",
                fix,
            )
        return known.reshape(()).item()

    def __bool__(self) -> bool:
        return bool(self._value("bool() (an if, while, and, or, not, max, min)", _FIX_BRANCH))

    def __int__(self) -> int:
        return int(self._value("int()", "use .astype(int)"))

    def __float__(self) -> float:
        return float(self._value("float()", _FIX_NUMBER))

    def __complex__(self) -> complex:
        raise DTypeError("complex numbers are not supported")

    def __index__(self) -> int:
        if is_float(self.dtype):
            raise refused(f"a {self.dtype} cannot be used as an integer", "use .astype(int)")
        return int(self._value("a Python integer (an index, a size, range())", _FIX_NUMBER))

    def __hash__(self) -> int:
        if self.shape or not (self.scalar or self.weak):
            raise TypeError("unhashable type: a traced array")
        return hash(self._value("hash()", _FIX_NUMBER))

    def __repr__(self) -> str:
        extents = ", ".join(str(n) for n in self.shape)
        return f"Traced({self.dtype.name}[{extents}])"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise _no_copying("pickled")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        trace = active()
        known = trace.known(atom_of(trace, self))
        if known is None:
            raise refused(
                "a traced value cannot become a NumPy array: its elements are not known yet",
                "use functions of loopwright.numpy on it, and return it to see its value",
            )
        return np.array(known, dtype)


def _no_copying(what: str) -> TraceError:
    return refused(f"a traced value cannot be {what}", "return it from the traced function")
