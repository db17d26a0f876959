"""Array functions that apply a Python function: along an axis, or to every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .context import current, refused
from .creation import astype
from .joining import stack
from .reducing import axis_of
from .shapes import moveaxis, reshape_to
from .traced import Traced, active, atom_of, fresh, lift, viewed
from .views import reshaped, sliced

_MOST_PARTS = 4096


def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """The function of every vector along an axis; see `numpy.apply_along_axis`.

    It is traced once for each of them.
    """
    if current() is None:
        return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)
    trace = active()
    x = lift(trace, arr)
    number = axis_of(axis, x.ndim)
    n = x.shape[number]
    other = tuple(m for k, m in enumerate(x.shape) if k != number)
    rows = reshape_to(trace, fresh(trace, _moved(x, number)), (-(-x.size // max(n, 1)), n))
    if not 0 < rows.shape[0] <= _MOST_PARTS:
        raise refused(
            f"np.apply_along_axis over {rows.shape[0]} vectors", "write the function for arrays"
        )
    results = []
    for k in range(rows.shape[0]):
        row = reshaped(sliced(rows.elements, (k, 0), (1, n), (1, 1)), (n,))
        results.append(lift(trace, func1d(viewed(trace, row), *args, **kwargs)))
    whole = stack(results)
    whole = reshape_to(trace, whole, (*other, *whole.shape[1:]))
    inner = results[0].ndim
    ends = tuple(range(whole.ndim - inner, whole.ndim))
    return moveaxis(whole, ends, tuple(range(number, number + inner)))


def _moved(x: Traced, axis: int) -> Any:
    """The contents with an axis last."""
    return atom_of(active(), moveaxis(x, axis, -1))


class vectorize:
    """A function of numbers as one of arrays; see `numpy.vectorize`.

    Inside of a trace it is called once with whole arrays, so that it must not branch on them.
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, **options: Any):
        self.pyfunc = pyfunc
        self._otypes = otypes
        self._options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's values."""
        if current() is None:
            return np.vectorize(self.pyfunc, self._otypes, **self._options)(*args, **kwargs)
        if self._options:
            raise refused("np.vectorize with options is not supported", "write it for arrays")
        trace = active()
        result = self.pyfunc(*(lift(trace, x) for x in args), **kwargs)
        if self._otypes is None:
            return result
        types = list(self._otypes)
        if isinstance(result, tuple):
            return tuple(astype(r, t) for r, t in zip(result, types, strict=True))
        return astype(result, types[0])
