"""`x[mask]` where the mask is not known while tracing: as many elements as the data decides.

Such a selection cannot be an array, but elementwise arithmetic on it, sums and means of it, and
writing it back under the same mask are defined all the same: they work on the whole array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, FLOAT64, canonical, is_float
from ..ir.errors import TraceError
from ..ir.graph.nodes import Atom, Var
from ..ir.graph.ops import Broadcast
from .context import Trace, here, refused
from .elementwise import binary, cast, power, unary
from .reducing import reduce, without
from .traced import Traced, active, atom_of, converted, fresh, lift, literal, reshaped_atom
from .views import Shape

_MOST_COMPARED = 64


def _operator(name: str, reflected: bool = False) -> Callable[[Masked, Any], Masked]:
    def operate(self: Masked, other: Any) -> Masked:
        function = power if name == "pow" else partial(_named, name)
        return self.apply(function, (other, self) if reflected else (self, other))

    return operate


def _named(name: str, trace: Trace, a: Traced, b: Traced) -> Traced:
    return binary(trace, name, a, b)


class Masked:
    """The elements of `value` where `mask` (over the axes `axes` of it) holds."""

    __slots__ = ("axes", "mask", "source", "value")

    __array_priority__ = 1001.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Traced, mask: Traced, axes: Shape):
        self.value = value
        self.mask = mask
        self.axes = axes
        self.source = here()

    def refusal(self) -> TraceError:
        """The error for every use of the selection as an array."""
        return TraceError(
            "x[mask] has a shape that depends on the data: the mask is not known while tracing",
            self.source,
            "use np.where(mask, x, other), a reduction with where=mask, or write x[mask] = ...",
        )

    def require_plain(self, *options: Any) -> None:
        """Refuses options of a reduction that a selection does not have."""
        if any(option is not None and option is not True and option != 0 for option in options):
            raise self.refusal()

    def over(self, trace: Trace, shape: Shape, mask: Traced, axes: Shape) -> Traced:
        """The whole array that holds the selected elements, if `mask` is this selection's."""
        if self.value.shape != shape or axes != self.axes or not _same(trace, mask, self.mask):
            raise refused(
                "x[mask] = y[other]: the two masks are not known to be the same",
                "use one mask for both sides, or np.where",
            )
        return self.value

    def apply(self, function: Callable[..., Traced], operands: tuple[Any, ...]) -> Masked:
        """An elementwise function of this selection, others under the same mask, and numbers."""
        trace = active()
        rest = self.value.ndim - self.axes[-1] - 1 if self.axes[0] == 0 else 0
        whole = []
        for x in operands:
            if isinstance(x, Masked):
                whole.append(x.over(trace, self.value.shape, self.mask, self.axes))
                continue
            other = lift(trace, x)
            if other.ndim > rest:
                raise self.refusal()
            whole.append(other)
        return Masked(function(trace, *whole), self.mask, self.axes)

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", True)
    __floordiv__, __rfloordiv__ = _operator("floor_div"), _operator("floor_div", True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", True)
    __pow__, __rpow__ = _operator("pow"), _operator("pow", True)
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __eq__, __ne__ = _operator("eq"), _operator("ne")  # type: ignore[assignment]
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")

    def __neg__(self) -> Masked:
        return self.apply(lambda trace, x: unary(trace, "neg", x), (self,))

    def __abs__(self) -> Masked:
        return self.apply(lambda trace, x: unary(trace, "abs", x), (self,))

    def __invert__(self) -> Masked:
        return self.apply(lambda trace, x: unary(trace, "not", x), (self,))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refusal()

    def __len__(self) -> int:
        raise self.refusal()

    def __iter__(self) -> Any:
        raise self.refusal()

    def __bool__(self) -> bool:
        raise self.refusal()

    def __getitem__(self, index: Any) -> Any:
        raise self.refusal()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self.refusal()

    @property
    def dtype(self) -> np.dtype:
        """The element type."""
        return self.value.dtype

    @property
    def size(self) -> Traced:
        """How many elements the mask selects (counted when the function runs)."""
        return self.count()

    def copy(self) -> Masked:
        """The selection: it shares nothing."""
        return self

    def astype(self, dtype: Any) -> Masked:
        """The selection as another type."""
        wanted = canonical(dtype, here())
        return self.apply(lambda trace, x: cast(trace, x, wanted), (self,))

    def sum(self, axis: Any = None) -> Traced:
        """The sum of the selection."""
        return self.reduce("sum", axis)

    def prod(self, axis: Any = None) -> Traced:
        """The product of the selection."""
        return self.reduce("prod", axis)

    def any(self, axis: Any = None) -> Traced:
        """Whether any selected element is true."""
        return self.reduce("or", axis)

    def all(self, axis: Any = None) -> Traced:
        """Whether all selected elements are true."""
        return self.reduce("and", axis)

    def std(self, axis: Any = None) -> Traced:
        """The standard deviation of the selection."""
        return unary(active(), "sqrt", self.var(axis))

    def reduce(self, name: str, axis: Any = None, keepdims: bool = False) -> Traced:
        """Sum, prod, "and" or "or" of the selection; `axis` 0 is the selected elements."""
        trace = active()
        return reduce(
            trace, name, self.value, self._axes(axis), keepdims, where=self._condition(trace)
        )

    def count(self) -> Traced:
        """How many elements the mask selects."""
        return reduce(active(), "sum", self.mask)

    def mean(self, axis: Any = None) -> Traced:
        """The mean of the selection; NaN where it is empty."""
        trace = active()
        dtype = self.value.dtype if is_float(self.value.dtype) else FLOAT64
        axes = self._axes(axis)
        total = reduce(trace, "sum", self.value, axes, dtype=dtype, where=self._condition(trace))
        number = self.count()
        for k in axes:
            if k not in self.axes:
                extent = fresh(trace, literal(self.value.shape[k], number.dtype))
                number = binary(trace, "mul", number, extent)
        return binary(trace, "div", total, fresh(trace, converted(trace, number, dtype)))

    def var(self, axis: Any = None) -> Traced:
        """The variance of the selection."""
        trace = active()
        mean = self.mean(axis)
        axes = self._axes(axis)
        if axis is not None and mean.ndim:
            kept = without(self.value.shape, axes, True)
            mean = fresh(trace, reshaped_atom(trace, atom_of(trace, mean), kept))
        deviation = unary(trace, "square", binary(trace, "sub", self.value, mean))
        return Masked(deviation, self.mask, self.axes).mean(axis)

    def _axes(self, axis: Any) -> Shape:
        if axis is None:
            return tuple(range(self.value.ndim))
        if axis == 0 and self.axes[0] == 0:
            return self.axes
        raise self.refusal()

    def _condition(self, trace: Trace) -> Traced:
        shape = self.value.shape
        if self.mask.shape == shape:
            return self.mask
        atom = atom_of(trace, self.mask)
        return fresh(trace, trace.emit(Broadcast(shape, self.axes), (atom,), shape, BOOL))


def _same(trace: Trace, a: Traced, b: Traced) -> bool:
    """Whether two masks are one computation."""
    pairs: list[tuple[Atom, Atom]] = [(atom_of(trace, a), atom_of(trace, b))]
    if pairs[0][0] is pairs[0][1]:
        return True
    makers = {v: e for e in trace.equations[-4096:] for v in e.outputs}
    for _ in range(_MOST_COMPARED):
        if not pairs:
            return True
        x, y = pairs.pop()
        if x is y:
            continue
        if not (isinstance(x, Var) and isinstance(y, Var)):
            if isinstance(x, Var) or isinstance(y, Var) or x.type != y.type or x.value != y.value:
                return False
            continue
        p, q = makers.get(x), makers.get(y)
        if p is None or q is None or p.op != q.op:
            return False
        pairs.extend(zip(p.inputs, q.inputs, strict=True))
    return False
