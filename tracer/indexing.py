"""NumPy's basic and advanced indexing, as views.

An index becomes slices, a reshape (dropped and new axes), and a gather if arrays take part. All of
them are views here, so that one path serves reads and writes; what NumPy would copy is copied by
the reader.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, INT64, is_integer
from ..ir.errors import BoundsError, DTypeError, ShapeError
from ..ir.graph.nodes import Atom
from .context import Trace, here, refused
from .elementwise import common_shape
from .traced import Traced, atom_of, filled, lift, scalar_of
from .views import Shape, View, gathered, reshaped, sliced, transposed


@dataclass(frozen=True, slots=True)
class _Whole:
    """A slice of one axis."""

    start: int
    size: int
    step: int


@dataclass(frozen=True, slots=True)
class _At:
    """One position of an axis, which is dropped."""

    position: int


@dataclass(frozen=True, slots=True)
class _New:
    """A new axis of extent 1."""


@dataclass(frozen=True, slots=True, eq=False)
class _Picked:
    """Positions of one axis given by an integer array (rank 0: a position not known yet)."""

    index: Traced


@dataclass(frozen=True, slots=True, eq=False)
class _Masked:
    """As many axes as the boolean array has, the elements where it holds."""

    mask: Traced


_Entry = _Whole | _At | _New | _Picked | _Masked


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """What an index selects.

    `copies`: NumPy's read is no view. `scalar`: it is a NumPy scalar. `mask`, if there is one, has
    the axes `mask_axes` of `elements`; those elements where it holds are meant.
    """

    elements: View
    copies: bool
    scalar: bool
    mask: Traced | None = None
    mask_axes: Shape = ()


def index_view(trace: Trace, view: View, index: Any) -> Indexed:
    """The elements of `view` that `index` selects; raises BoundsError, ShapeError, TraceError."""
    items = index if isinstance(index, tuple) else (index,)
    entries = _entries(trace, view.shape, items)
    masks = [e for e in entries if isinstance(e, _Masked)]
    if masks:
        return _with_mask(trace, view, entries, masks)
    picked = [e for e in entries if isinstance(e, _Picked)]
    inner = _basic(view, entries)
    if not picked:
        ellipsis = any(item is Ellipsis for item in items)
        return Indexed(inner, False, not inner.shape and not ellipsis)
    result = _gathered(trace, inner, entries, picked)
    copies = any(e.index.shape for e in picked)
    return Indexed(result, copies, not result.shape)


def _entries(trace: Trace, shape: Shape, items: tuple[Any, ...]) -> list[_Entry]:
    """The index with its ellipsis written out, one entry for each axis or new axis."""
    parsed = [_parse(trace, item) for item in items]
    used = sum(_consumes(p) for p in parsed)
    if used > len(shape):
        raise BoundsError(
            f"too many indices: the array has {len(shape)} axes, and {used} were indexed", here()
        )
    gaps = [k for k, p in enumerate(parsed) if p is Ellipsis]
    if len(gaps) > 1:
        raise BoundsError("an index can have only one ellipsis ('...')", here())
    fill = [slice(None)] * (len(shape) - used)
    at = gaps[0] if gaps else len(parsed)
    parsed[at : at + len(gaps)] = fill
    entries: list[_Entry] = []
    axis = 0
    for item in parsed:
        match item:
            case slice():
                entries.append(_whole(item, shape[axis]))
            case int():
                entries.append(_At(_position(item, shape[axis], axis)))
            case None:
                entries.append(_New())
            case Traced() if item.dtype == BOOL:
                entries += _mask_entries(trace, item, shape, axis)
            case Traced():
                entries.append(_Picked(item))
        axis += _consumes(item)
    return entries


def _parse(trace: Trace, item: Any) -> Any:
    """An index item as int, slice, None, Ellipsis, or a traced array of integers or booleans."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        raise refused("a single boolean cannot be an index", "index with an array of booleans")
    if isinstance(item, int):
        return item
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, list) and not item:
        item = np.zeros(0, np.int64)
    if not isinstance(item, Traced | np.ndarray | list | tuple):
        try:
            return operator.index(item)
        except TypeError:
            raise DTypeError(
                f"a {type(item).__name__} cannot be an index", here(),
                "use integers, slices, None, ... or arrays of integers or booleans",
            ) from None  # fmt: skip
    x = lift(trace, item)
    if not is_integer(x.dtype) and x.dtype != BOOL:
        raise DTypeError(
            f"an array of {x.dtype} cannot be an index", here(), "convert it: .astype(int)"
        )
    if not x.shape:
        if x.dtype == BOOL:
            raise refused("a single boolean cannot be an index", "use np.where")
        known = trace.known(atom_of(trace, x))
        if known is not None:
            return int(known)
    return x


def _consumes(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Traced) and item.dtype == BOOL else 1


def _whole(item: slice, extent: int) -> _Whole:
    start, stop, step = item.indices(extent)
    return _Whole(start, len(range(start, stop, step)), step)


def _position(index: int, extent: int, axis: int) -> int:
    if not -extent <= index < extent:
        raise BoundsError(
            f"index {index} is out of bounds for axis {axis} with size {extent}", here()
        )
    return index % extent


def _mask_entries(trace: Trace, mask: Traced, shape: Shape, axis: int) -> list[_Entry]:
    if mask.shape != shape[axis : axis + mask.ndim]:
        raise BoundsError(
            f"a boolean index of shape {mask.shape} does not fit the axes "
            f"{shape[axis : axis + mask.ndim]} that it indexes",
            here(),
        )
    known = trace.known(atom_of(trace, mask))
    if known is None:
        return [_Masked(mask)]
    return [_Picked(lift(trace, positions)) for positions in np.nonzero(known)]


def _basic(view: View, entries: list[_Entry]) -> View:
    """The slices, dropped axes and new axes of an index; picked axes stay whole."""
    starts: list[int] = []
    sizes: list[int] = []
    steps: list[int] = []
    shape: list[int] = []
    for entry in entries:
        match entry:
            case _New():
                shape.append(1)
                continue
            case _Whole(start, size, step):
                shape.append(size)
            case _At(position):
                start, size, step = position, 1, 1
            case _:
                axes = entry.mask.ndim if isinstance(entry, _Masked) else 1
                whole = view.shape[len(starts) : len(starts) + axes]
                starts += [0] * axes
                sizes += whole
                steps += [1] * axes
                shape += whole
                continue
        starts.append(start)
        sizes.append(size)
        steps.append(step)
    return reshaped(sliced(view, tuple(starts), tuple(sizes), tuple(steps)), tuple(shape))


def _gathered(trace: Trace, view: View, entries: list[_Entry], picked: list[_Picked]) -> View:
    """The gather of the picked axes, its index axes where NumPy puts them."""
    kept = [e for e in entries if not isinstance(e, _At)]
    axes = tuple(k for k, e in enumerate(kept) if isinstance(e, _Picked))
    try:
        shape = common_shape([e.index.shape for e in picked])
    except ShapeError as refusal:
        raise BoundsError(
            "index arrays of shapes "
            + ", ".join(str(e.index.shape) for e in picked)
            + " cannot be broadcast together",
            here(),
        ) from refusal
    extents = [view.shape[k] for k in axes]
    indices = [_checked(trace, e.index, n) for e, n in zip(picked, extents, strict=True)]
    sure = all(known for _, known in indices)
    atoms = tuple(filled(trace, atom, shape) for atom, _ in indices)
    result = gathered(view, axes, atoms, shape, "clip" if sure and all(extents) else "raise")
    numbers = [k for k, e in enumerate(entries) if isinstance(e, _Picked | _At)]
    adjacent = numbers[-1] - numbers[0] == len(numbers) - 1
    before = sum(isinstance(e, _Whole | _New) for e in entries[: numbers[0]]) if adjacent else 0
    if not before:
        return result
    count = len(shape)
    order = (
        *range(count, count + before), *range(count), *range(count + before, len(result.shape)),
    )  # fmt: skip
    return transposed(result, order)


def _checked(trace: Trace, index: Traced, extent: int) -> tuple[Atom, bool]:
    """The index array, and whether it is known to lie in [0, extent)."""
    atom = atom_of(trace, index)
    known = trace.known(atom)
    if known is None:
        return atom, False
    if known.size and not (-extent <= known.min() and known.max() < extent):
        worst = known.min() if known.min() < -extent else known.max()
        raise BoundsError(f"index {worst} is out of bounds for an axis of size {extent}", here())
    if not known.size or known.min() >= 0:
        return atom, True
    positive = np.where(known < 0, known + extent, known).astype(INT64)
    return (trace.constant(positive) if known.ndim else scalar_of(positive)), True


def _with_mask(trace: Trace, view: View, entries: list[_Entry], masks: list[_Masked]) -> Indexed:
    """An index with a mask that is not known: the view of whole axes, and the mask beside it."""
    if len(masks) > 1 or any(isinstance(e, _Picked) for e in entries):
        raise refused(
            "a boolean mask that is not known while tracing stands beside index arrays",
            "combine the conditions into one mask, or use np.where",
        )
    mask = masks[0].mask
    inner = _basic(view, entries)
    first = 0
    for entry in entries:
        if isinstance(entry, _Masked):
            break
        first += not isinstance(entry, _At)
    axes = tuple(range(first, first + mask.ndim))
    return Indexed(inner, True, False, mask, axes)
