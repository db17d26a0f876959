"""The traced value: what stands for an array while a function is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, FLOAT64, INT64, canonical, promote, supported
from ..ir.errors import DTypeError, LeakError, ShapeError
from ..ir.graph.nodes import Atom, Literal
from ..ir.graph.ops import Broadcast, Cast, Concatenate, Reshape
from .context import Trace, current, here, leaked, refused
from .views import Shape, Storage, View, read


class Traced:
    """An array or scalar whose elements are not known yet.

    `elements` says which elements of which storage. A `scalar` stands for a NumPy scalar, which
    cannot be written; a `weak` one for a Python number, which takes the type of what it meets.
    """

    __slots__ = ("elements", "scalar", "weak")

    __array_priority__ = 1000.0

    def __init__(self, elements: View, scalar: bool = False, weak: bool = False):
        self.elements = elements
        self.scalar = scalar
        self.weak = weak

    @property
    def shape(self) -> Shape:
        """The extents."""
        return self.elements.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise refused("the shape of a traced array cannot be assigned", "use x = x.reshape(shape)")

    @property
    def dtype(self) -> np.dtype:
        """The element type."""
        return self.elements.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.elements.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for extent in self.elements.shape:
            size *= extent
        return size


def active() -> Trace:
    """The current trace; raises LeakError where there is none."""
    trace = current()
    if trace is None:
        raise LeakError(
            "a traced value is used after its trace had ended",
            here(),
            "return the value from the traced function instead of storing it elsewhere",
        )
    return trace


def view_of(trace: Trace, x: Traced) -> View:
    """The elements of a traced value; raises LeakError if it is of another trace."""
    view = x.elements
    if view.root.trace is not trace:
        raise leaked(view.root.trace, view.root.atom)
    return view


def atom_of(trace: Trace, x: Traced) -> Atom:
    """The contents of a traced value; raises LeakError if it is of another trace."""
    return read(view_of(trace, x))


def fresh(
    trace: Trace,
    atom: Atom,
    *,
    scalar: bool | None = None,
    weak: bool = False,
    row_major: bool = True,
) -> Traced:
    """A new array that nothing else shares; of rank 0 it is a scalar unless told otherwise."""
    kind = atom.type
    storage = Storage(trace, atom, kind.shape, kind.dtype, row_major=row_major)
    made: Traced = trace.array_type(storage, not kind.shape if scalar is None else scalar, weak)
    return made


def viewed(trace: Trace, view: View) -> Traced:
    """The array that a view is."""
    made: Traced = trace.array_type(view)
    return made


def scalar_of(array: Any) -> Literal:
    """The element of an array of rank 0."""
    element: np.generic = array[()]
    return Literal(element)


def literal(value: object, dtype: np.dtype) -> Literal:
    """A scalar of the given type; raises OverflowError where a Python int does not fit."""
    return scalar_of(np.asarray(value, dtype))


_LIFTABLE = (Traced, bool, int, float, np.generic, np.ndarray, list, tuple)


def is_liftable(x: object) -> bool:
    """Whether `x` can take part in array arithmetic."""
    return isinstance(x, _LIFTABLE)


def lift(trace: Trace, x: Any) -> Traced:
    """`x` as a traced value: Python numbers weak, NumPy scalars and arrays as constants.

    Raises DTypeError for complex, object, string and date types.
    """
    if isinstance(x, Traced):
        return x
    if isinstance(x, np.generic):  # before float: numpy.float64 is one
        return fresh(trace, scalar_of(np.asarray(x, canonical(x.dtype, here()))))
    if isinstance(x, bool):
        return fresh(trace, Literal(np.bool_(x)), weak=True)
    if isinstance(x, int):
        if -(2**63) <= x < 2**64:
            return fresh(trace, literal(x, INT64 if x < 2**63 else np.dtype(np.uint64)), weak=True)
        return fresh(trace, literal(float(x), FLOAT64), weak=True)
    if isinstance(x, float):
        return fresh(trace, literal(x, FLOAT64), weak=True)
    if isinstance(x, np.ndarray):
        return captured(trace, x)
    if isinstance(x, list | tuple):
        return nested(trace, x)
    if isinstance(x, complex):
        raise DTypeError("complex numbers are not supported", here(), "split real and imaginary")
    other = _foreign(x)
    if other is None:
        raise refused(f"a {type(x).__name__} cannot be used as an array")
    return captured(trace, other)


def _foreign(x: Any) -> np.ndarray[Any, Any] | None:
    """An array of another library, as NumPy sees it."""
    if not (hasattr(x, "__array__") or hasattr(x, "__array_interface__") or isinstance(x, range)):
        return None
    array = np.asarray(x)
    return array if supported(array.dtype.newbyteorder("=")) else None


def captured(trace: Trace, array: np.ndarray[Any, Any]) -> Traced:
    """An array from outside of the trace, as a constant that cannot be written."""
    if not array.ndim:
        return fresh(trace, scalar_of(array.astype(canonical(array.dtype, here()))), scalar=False)
    var = trace.capture(array)
    why = "the traced function writes into an array that it did not make and was not passed"
    return viewed(trace, Storage(trace, var, var.type.shape, var.type.dtype, read_only=why))


def nested(trace: Trace, items: Sequence[Any]) -> Traced:
    """The array that nested sequences of numbers and arrays spell."""
    if not _holds_traced(items):
        array = np.asarray(items)
        canonical(array.dtype, here())
        return fresh(trace, trace.constant(np.ascontiguousarray(array)))
    return stacked(trace, [lift(trace, item) for item in items], 0)


def stacked(trace: Trace, items: Sequence[Traced], axis: int) -> Traced:
    """Arrays of one shape along a new axis; Python numbers count as int64 and float64."""
    dtype = items[0].dtype
    for x in items[1:]:
        dtype = promote(dtype, x.dtype)
    shape = items[0].shape
    rows = []
    row = (*shape[:axis], 1, *shape[axis:])
    for x in items:
        if x.shape != shape:
            raise ShapeError(
                f"arrays of shapes {shape} and {x.shape} cannot be stacked", here(), None
            )
        rows.append(trace.emit(Reshape(row), (converted(trace, x, dtype),), row, dtype))
    if len(rows) == 1:
        return fresh(trace, rows[0])
    whole = (*shape[:axis], len(rows), *shape[axis:])
    return fresh(trace, trace.emit(Concatenate(axis), tuple(rows), whole, dtype))


def _holds_traced(items: object) -> bool:
    if isinstance(items, list | tuple):
        return any(_holds_traced(item) for item in items)
    return isinstance(items, Traced)


def converted(trace: Trace, x: Traced, dtype: np.dtype) -> Atom:
    """The contents of `x` as `dtype`."""
    atom = atom_of(trace, x)
    if x.elements.dtype == dtype:
        return atom
    if isinstance(atom, Literal):
        return _literal_as(atom, x.weak, dtype)
    return trace.emit(Cast(dtype), (atom,), x.elements.shape, dtype)


def _literal_as(atom: Literal, weak: bool, dtype: np.dtype) -> Literal:
    if weak and dtype != BOOL:
        return literal(atom.value.item(), dtype)
    with np.errstate(all="ignore"):
        return scalar_of(np.asarray(atom.value).astype(dtype))


def spread(trace: Trace, atom: Atom, shape: Shape) -> Atom:
    """An operand of rank 0 or of the result's shape; others are broadcast."""
    own = atom.type.shape
    if not own or own == shape:
        return atom
    return filled(trace, atom, shape)


def filled(trace: Trace, atom: Atom, shape: Shape) -> Atom:
    """The contents in full at `shape` (rank 0 included)."""
    own = atom.type.shape
    if own == shape:
        return atom
    axes = tuple(range(len(shape) - len(own), len(shape)))
    return trace.emit(Broadcast(shape, axes), (atom,), shape, atom.type.dtype)


def reshaped_atom(trace: Trace, atom: Atom, shape: Shape) -> Atom:
    """The same elements in another shape."""
    if atom.type.shape == shape:
        return atom
    return trace.emit(Reshape(shape), (atom,), shape, atom.type.dtype)
