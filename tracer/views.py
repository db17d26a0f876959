"""Arrays as views of storages.

    storage ::= the current contents of one base array, with a version that counts its writes
    view    ::= storage | op(view)        op: slice, transpose, reshape, broadcast, bitcast, gather

Reading a view derives its contents from the storage, again after each write. Writing one turns
into functional updates from the view back to its storage; nothing is ever changed in the graph.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir.errors import LoopwrightError, ReadOnlyError
from ..ir.graph.nodes import Atom
from ..ir.graph.ops import (
    Bitcast,
    Broadcast,
    Gather,
    GraphOp,
    Reshape,
    Scatter,
    Slice,
    Transpose,
    UpdateSlice,
)
from .context import Trace, here, refused

Shape = tuple[int, ...]


class View:
    """`op` of the view `parent` (a storage has neither), of which `atom` is the contents.

    `atom` is right while `version` equals the root's. `strides`, in elements, are those that
    NumPy's array would have; None where they cannot be known.
    """

    __slots__ = (
        "atom",
        "dtype",
        "op",
        "operands",
        "parent",
        "read_only",
        "root",
        "shape",
        "strides",
        "version",
    )

    atom: Atom
    dtype: np.dtype
    parent: View | None
    op: GraphOp | None
    operands: tuple[Atom, ...]
    root: Storage
    strides: Shape | None
    read_only: str | None

    def __init__(
        self,
        parent: View,
        op: GraphOp,
        shape: Shape,
        strides: Shape | None,
        dtype: np.dtype | None = None,
        operands: tuple[Atom, ...] = (),
    ):
        self.parent = parent
        self.op = op
        self.operands = operands
        self.root = parent.root
        self.shape = shape
        self.dtype = parent.dtype if dtype is None else dtype
        self.strides = strides
        self.version = -1
        self.read_only = parent.read_only


class Storage(View):
    """A base array. `position`: its number among the graph's inputs, if it is an argument.

    `twins`: storages of which it cannot be told whether NumPy would have made them views of this
    one. A write to either makes the other unreadable (`spoiled` says why).
    """

    __slots__ = ("position", "spoiled", "trace", "twins")

    def __init__(
        self,
        trace: Trace,
        atom: Atom,
        shape: Shape,
        dtype: np.dtype,
        *,
        row_major: bool = True,
        strides: Shape | None = None,
        read_only: str | None = None,
        position: int | None = None,
    ):
        self.trace = trace
        self.atom = atom
        self.shape = shape
        self.dtype = dtype
        self.version = 0
        self.parent = None
        self.op = None
        self.operands = ()
        self.root = self
        self.strides = strides or (row_major_strides(shape) if row_major else None)
        self.read_only = read_only
        self.position = position
        self.twins: tuple[Storage, ...] = ()
        self.spoiled: str | None = None


def row_major_strides(shape: Shape) -> Shape:
    """C-order strides, in elements."""
    if len(shape) < 2:
        return (1,) * len(shape)
    strides = [1]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


def read(view: View) -> Atom:
    """The contents of a view now, as an atom of the graph."""
    root = view.root
    if root.spoiled is not None:
        raise refused(root.spoiled, "take a .copy() before one of the two is written")
    if view.version == root.version:
        return view.atom
    stale = []
    while view.version != root.version:
        stale.append(view)
        assert view.parent is not None
        view = view.parent
    atom = view.atom
    for view in reversed(stale):
        assert view.op is not None
        inputs = (atom, *view.operands)
        view.atom = atom = root.trace.emit(view.op, inputs, view.shape, view.dtype)
        view.version = root.version
    return atom


def write(view: View, value: Atom) -> None:
    """Replaces the contents of a view (same shape and dtype) in its storage."""
    root = view.root
    if view.read_only is not None:
        raise _read_only(view.read_only)
    read(root)
    version = root.version + 1
    while view.parent is not None:
        parent = view.parent
        above = _updated(view, parent, value)
        if not isinstance(view.op, Gather):  # where an index repeats, the last value wins
            view.atom, view.version = value, version
        view, value = parent, above
    root.atom = value
    root.version = version
    for twin in root.twins:
        twin.spoiled = (
            "an array is used after one that may share its memory was written: whether reshaping "
            "copied it depends on a memory layout that is not known while tracing"
        )


def _read_only(why: str) -> LoopwrightError:
    return ReadOnlyError(why, here(), "write into a copy: x = x.copy()")


def _updated(view: View, parent: View, value: Atom) -> Atom:
    """The contents of `parent` once `view` of it holds `value`."""
    emit = view.root.trace.emit
    shape, dtype = parent.shape, parent.dtype
    match view.op:
        case Slice(starts, _, steps):
            return emit(UpdateSlice(starts, steps), (read(parent), value), shape, dtype)
        case Transpose(permutation):
            inverse = tuple(permutation.index(k) for k in range(len(permutation)))
            return emit(Transpose(inverse), (value,), shape, dtype)
        case Reshape():
            return emit(Reshape(shape), (value,), shape, dtype)
        case Bitcast():
            return emit(Bitcast(dtype), (value,), shape, dtype)
        case Gather(axes, mode):
            inputs = (read(parent), *view.operands, value)
            return emit(Scatter(axes, mode, None), inputs, shape, dtype)
        case _:
            raise _read_only("a broadcast array is read-only: its elements share memory")


def combine(view: View, value: Atom, combiner: str) -> None:
    """Combines `value` into a gathered view, every repetition of an index counting."""
    order: Transpose | None = None
    if isinstance(view.op, Transpose):
        order, view = view.op, view.parent or view
    assert isinstance(view.op, Gather) and view.parent is not None
    emit = view.root.trace.emit
    if order is not None:
        inverse = tuple(order.permutation.index(k) for k in range(len(order.permutation)))
        value = emit(Transpose(inverse), (value,), view.shape, view.dtype)
    parent = view.parent
    inputs = (read(parent), *view.operands, value)
    op = Scatter(view.op.axes, view.op.mode, combiner)
    write(parent, emit(op, inputs, parent.shape, parent.dtype))


# Views of views. Slices move below the transposes and unit reshapes that basic indexing leaves, and
# merge, so that `x[i][1:3] = v` updates `x` by one slice.


def _below(view: View) -> View | None:
    """The view that this one is of, unless this one alone is read-only."""
    parent = view.parent
    return parent if parent is not None and parent.read_only == view.read_only else None


def sliced(view: View, starts: Shape, sizes: Shape, steps: Shape) -> View:
    """view[starts + i * steps], `sizes` elements along each axis."""
    if sizes == view.shape and not any(starts) and all(s == 1 for s in steps):
        return view
    starts = tuple(a if n else 0 for a, n in zip(starts, sizes, strict=True))
    steps = tuple(s if n > 1 else 1 for s, n in zip(steps, sizes, strict=True))
    parent = _below(view)
    match view.op:
        case Slice(a, _, d) if parent is not None:
            starts = tuple(x + s * y for x, s, y in zip(a, starts, d, strict=True))
            steps = tuple(s * y for s, y in zip(steps, d, strict=True))
            return sliced(parent, starts, sizes, steps)
        case Transpose(permutation) if parent is not None:
            back = [permutation.index(k) for k in range(len(permutation))]
            moved = ((tuple(seq[k] for k in back)) for seq in (starts, sizes, steps))
            return transposed(sliced(parent, *moved), permutation)
        case Reshape() if parent is not None and differs_by_units(parent.shape, view.shape):
            if all(n for n, extent in zip(sizes, view.shape, strict=True) if extent == 1):
                kept = [k for k, extent in enumerate(view.shape) if extent != 1]
                inner = iter(kept)
                axes = [next(inner) if extent != 1 else None for extent in parent.shape]
                below = sliced(
                    parent,
                    tuple(0 if k is None else starts[k] for k in axes),
                    tuple(1 if k is None else sizes[k] for k in axes),
                    tuple(1 if k is None else steps[k] for k in axes),
                )
                return reshaped(below, sizes)
    strides = view.strides
    if strides is not None:
        strides = tuple(s * d for s, d in zip(strides, steps, strict=True))
    return View(view, Slice(starts, sizes, steps), sizes, strides)


def transposed(view: View, permutation: Shape) -> View:
    """Axis k of the result is axis permutation[k]."""
    if permutation == tuple(range(len(permutation))):
        return view
    parent = _below(view)
    if isinstance(view.op, Transpose) and parent is not None:
        inner = view.op.permutation
        return transposed(parent, tuple(inner[k] for k in permutation))
    shape = tuple(view.shape[k] for k in permutation)
    strides = view.strides
    if strides is not None:
        strides = tuple(strides[k] for k in permutation)
    return View(view, Transpose(permutation), shape, strides)


def reshaped(view: View, shape: Shape) -> View:
    """The same elements in another shape, sharing memory whatever the layout."""
    if shape == view.shape:
        return view
    strides = _reshaped_strides(view, shape)
    parent = _below(view)
    if isinstance(view.op, Reshape) and parent is not None:
        if parent.shape == shape:
            return parent
        return View(parent, Reshape(shape), shape, strides)
    return View(view, Reshape(shape), shape, strides)


def broadcast(view: View, shape: Shape, axes: Shape) -> View:
    """Read-only repetition: axis k of the view becomes axis axes[k]."""
    result = View(view, Broadcast(shape, axes), shape, None)
    result.read_only = "a broadcast array is read-only: its elements share memory"
    return result


def frozen(view: View, why: str) -> View:
    """The same elements, not to be written through this view."""
    result = View(view, Reshape(view.shape), view.shape, view.strides)
    result.read_only = why
    return result


def bitcast(view: View, dtype: np.dtype) -> View:
    """The same bits as another type of equal width."""
    return View(view, Bitcast(dtype), view.shape, view.strides, dtype)


def gathered(
    view: View, axes: Shape, indices: tuple[Atom, ...], shape: Shape, mode: Any = "raise"
) -> View:
    """Elements picked along `axes` by integer arrays; a view only so that it can be written."""
    rest = tuple(n for k, n in enumerate(view.shape) if k not in axes)
    strides = view.strides
    if strides is not None and not shape:
        strides = tuple(s for k, s in enumerate(strides) if k not in axes)
    else:
        strides = None
    return View(view, Gather(axes, mode), shape + rest, strides, None, indices)


def differs_by_units(a: Shape, b: Shape) -> bool:
    """Whether two shapes are equal but for axes of extent 1."""
    return [n for n in a if n != 1] == [n for n in b if n != 1]


def shares_memory(view: View, shape: Shape) -> bool | None:
    """Whether NumPy's reshape to `shape` would be a view; None where the layout is not known."""
    if view.strides is None:
        return True if differs_by_units(view.shape, shape) or not math.prod(shape) else None
    return _reshaped_strides(view, shape) is not None


def is_contiguous(view: View) -> bool | None:
    """Whether NumPy's array would be in C order without gaps; None where that is not known."""
    if view.strides is None:
        return True if math.prod(view.shape) <= 1 else None
    dense = row_major_strides(view.shape)
    return math.prod(view.shape) == 0 or all(
        n == 1 or a == b for n, a, b in zip(view.shape, view.strides, dense, strict=True)
    )


def _reshaped_strides(view: View, shape: Shape) -> Shape | None:
    if view.strides is None:
        return None
    if view.strides == row_major_strides(view.shape):
        return row_major_strides(shape)
    dummy = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), view.shape, view.strides)
    try:
        return np.reshape(dummy, shape, copy=False).strides
    except ValueError:
        return None
