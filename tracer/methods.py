"""The traced array that user code sees: operators, and the methods of `numpy.ndarray`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, canonical
from ..ir.errors import DTypeError
from ..ir.graph.ops import Bitcast
from . import creation, joining, linear, reductions, selection, shapes, sorting
from .context import here, refused
from .elementwise import cast
from .operators import Operators
from .protocols import array_function, array_ufunc, namespace
from .traced import active, atom_of, fresh, lift, view_of, viewed
from .ufuncs import clipped, rounded
from .updates import assign, store
from .views import bitcast, reshaped, row_major_strides


class Array(Operators):
    """A traced array or scalar."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return namespace()

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __matmul__(self, other: Any) -> Any:
        return linear.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return linear.matmul(other, self)

    def __imatmul__(self, other: Any) -> Any:
        return store(active(), self, linear.matmul(self, other))

    # What an array is

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes that NumPy's array would have (C order where that is not known)."""
        own = self.elements.strides
        elements = row_major_strides(self.shape) if own is None else own
        return tuple(s * self.dtype.itemsize for s in elements)

    @property
    def device(self) -> str:
        """Where the array lives, for the array API standard."""
        return "cpu"

    @property
    def T(self) -> Any:
        """A view with the axes reversed."""
        return shapes.transpose(self)

    @property
    def mT(self) -> Any:
        """A view with the last two axes exchanged."""
        return shapes.matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The array itself: complex numbers are not supported."""
        return self if self.scalar else viewed(active(), self.elements)

    @property
    def imag(self) -> Any:
        """Zeros: complex numbers are not supported."""
        return creation.zeros_like(self)

    @property
    def flat(self) -> Any:
        """The elements in C order, as a view of one axis."""
        return viewed(active(), reshaped(view_of(active(), self), (self.size,)))

    # Conversions

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> Any:  # fmt: skip
        """A copy as another type; float to integer saturates."""
        wanted = canonical(dtype, here())
        if not np.can_cast(self.dtype, wanted, casting):
            raise DTypeError(
                f"{self.dtype} cannot be cast to {wanted} by the rule {casting!r}", here(),
                'choose casting="unsafe"',
            )  # fmt: skip
        if not copy and wanted == self.dtype:
            return self
        return cast(active(), self, wanted)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same bits as another type of equal width."""
        trace = active()
        wanted = self.dtype if dtype is None else canonical(dtype, here())
        elements = view_of(trace, self)
        if wanted == self.dtype:
            return viewed(trace, elements)
        if wanted.itemsize != self.itemsize or BOOL in (wanted, self.dtype):
            raise refused(
                f"a view of {self.dtype} elements as {wanted}",
                "only types of one width (and not bool) can share elements; use .astype",
            )
        if self.scalar:
            value = trace.emit(Bitcast(wanted), (atom_of(trace, self),), (), wanted)
            return fresh(trace, value)
        return viewed(trace, bitcast(elements, wanted))

    def copy(self, order: str = "C") -> Any:
        """A copy."""
        trace = active()
        return fresh(trace, atom_of(trace, self), scalar=self.scalar)

    def item(self, *args: Any) -> Any:
        """A Python number; only for values that are known while tracing."""
        x = self[args if len(args) > 1 else args[0]] if args else self
        return x._value(".item()", "keep it an array")

    def tolist(self) -> Any:
        """Nested lists of numbers; only for values that are known while tracing."""
        trace = active()
        known = trace.demand(atom_of(trace, self))
        if known is None:
            raise refused(
                ".tolist() of a traced array: its elements are not known yet",
                "iterate over the array itself, or pass the list as an argument",
            )
        return known.tolist()

    def fill(self, value: Any) -> None:
        """Writes one value over the whole array."""
        trace = active()
        assign(trace, view_of(trace, self), lift(trace, value))

    # Shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The same elements in another shape."""
        return shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def ravel(self, order: str = "C") -> Any:
        """One axis of all elements."""
        return shapes.ravel(self, order)

    def flatten(self, order: str = "C") -> Any:
        """A copy with one axis of all elements."""
        return shapes.reshape(self, -1, order, copy=True)

    def transpose(self, *axes: Any) -> Any:
        """A view with the axes in another order."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
            return shapes.transpose(self, axes[0])
        return shapes.transpose(self, axes or None)

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        """A view with two axes exchanged."""
        return shapes.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Any:
        """A view without axes of extent 1."""
        return shapes.squeeze(self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """A read-only view of a diagonal."""
        return shapes.diagonal(self, offset, axis1, axis2)

    # Elements

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Elements at positions along an axis."""
        return selection.take(self, indices, axis, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Writes values at positions of the flat array."""
        selection.put(self, indices, values, mode)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Each element repeated."""
        return joining.repeat(self, repeats, axis)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """The elements where a known condition holds."""
        return selection.compress(condition, self, axis, out)

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Elements of the choice that each element numbers."""
        return selection.choose(self, choices, out, mode)

    def nonzero(self) -> Any:
        """The positions of elements that are not zero, where they are known."""
        return selection.nonzero(self)

    def sort(self, axis: Any = -1, kind: Any = None, order: Any = None) -> None:
        """Sorts in place."""
        trace = active()
        assign(trace, view_of(trace, self), sorting.sort(self, axis))

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
        """The positions that would sort."""
        return sorting.argsort(self, axis)

    def partition(self, kth: Any, axis: Any = -1) -> None:
        """Sorts in place (a sorted array is partitioned everywhere)."""
        self.sort(axis)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values would be inserted into this sorted array."""
        return sorting.searchsorted(self, v, side, sorter)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Elements limited to [min, max]."""
        trace = active()
        bounds = [None if b is None else lift(trace, b) for b in (min, max)]
        result = clipped(trace, self, *bounds)
        return result if out is None else store(trace, out, result)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Half to even at a decimal place."""
        trace = active()
        result = rounded(trace, self, operator.index(decimals))
        return result if out is None else store(trace, out, result)

    def conj(self) -> Any:
        """The array: complex numbers are not supported."""
        return self

    conjugate = conj

    # Reductions

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.sum`."""
        return reductions.sum(self, *args, **kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.prod`."""
        return reductions.prod(self, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.max`."""
        return reductions.max(self, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.min`."""
        return reductions.min(self, *args, **kwargs)

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.any`."""
        return reductions.any(self, *args, **kwargs)

    def all(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.all`."""
        return reductions.all(self, *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.argmax`."""
        return reductions.argmax(self, *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.argmin`."""
        return reductions.argmin(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.mean`."""
        return reductions.mean(self, *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.var`."""
        return reductions.var(self, *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.std`."""
        return reductions.std(self, *args, **kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.cumsum`."""
        return reductions.cumsum(self, *args, **kwargs)

    def cumprod(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.cumprod`."""
        return reductions.cumprod(self, *args, **kwargs)

    def ptp(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ptp`."""
        return reductions.ptp(self, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.trace`."""
        return reductions.trace(self, *args, **kwargs)

    def dot(self, b: Any, out: Any = None) -> Any:
        """See `numpy.dot`."""
        return linear.dot(self, b, out)
