"""Sliding windows over arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.errors import ShapeError
from ..ir.graph.ops import Gather
from .context import here
from .eager import array_function
from .reducing import axis_of
from .shapes import moveaxis
from .traced import active, atom_of, fresh, lift


@array_function
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Every window of the given shape, in new last axes (a copy here).

    See `numpy.lib.stride_tricks.sliding_window_view`.
    """
    trace = active()
    a = lift(trace, x)
    window = tuple(window_shape) if isinstance(window_shape, tuple | list) else (window_shape,)
    extents = [operator.index(w) for w in window]
    if axis is None:
        axes = list(range(a.ndim))
    else:
        names = axis if isinstance(axis, tuple | list) else (axis,)
        axes = [axis_of(k, a.ndim) for k in names]
    if len(axes) != len(extents):
        raise ShapeError("sliding_window_view: one window extent for each axis is needed", here())
    for number, width in zip(axes, extents, strict=True):
        count = a.shape[number] - width + 1
        if count < 1 or width < 0:
            raise ShapeError(
                f"a window of {width} does not fit axis {number} of shape {a.shape}", here()
            )
        positions = np.arange(count)[:, None] + np.arange(width)
        rest = tuple(n for k, n in enumerate(a.shape) if k != number)
        inputs = (atom_of(trace, a), trace.constant(positions))
        shape = (count, width, *rest)
        found = fresh(trace, trace.emit(Gather((number,), "clip"), inputs, shape, a.dtype))
        a = moveaxis(moveaxis(found, 1, -1), 0, number)
    return fresh(trace, atom_of(trace, a))
