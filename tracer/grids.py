"""`mgrid`, `ogrid`, `r_` and `c_`: arrays from slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .context import current, refused
from .creation import array
from .joining import concatenate
from .shapes import expand_dims
from .traced import Traced, active, atom_of


class _Grid:
    """`numpy.mgrid` or `numpy.ogrid`."""

    def __init__(self, grid: Any):
        self._grid = grid

    def __getitem__(self, index: Any) -> Any:
        made = self._grid[_plain(index)]
        if current() is None:
            return made
        return tuple(array(x) for x in made) if isinstance(made, tuple) else array(made)


class _Joined:
    """`numpy.r_` (axis 0) or `numpy.c_` (the last axis): pieces, one after another."""

    def __init__(self, concatenator: Any, columns: bool):
        self._concatenator = concatenator
        self._columns = columns

    def __getitem__(self, index: Any) -> Any:
        pieces = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, str) for p in pieces):
            raise refused("np.r_ and np.c_ with a string are not supported", "use np.concatenate")
        if current() is None:
            return self._concatenator[index]
        parts = [self._piece(p) for p in pieces]
        return concatenate(parts, -1)

    def _piece(self, piece: Any) -> Any:
        if isinstance(piece, slice):
            piece = self._concatenator[piece]
        made = array(piece, ndmin=1)
        return expand_dims(made, 1) if self._columns and made.ndim == 1 else made


def _plain(index: Any) -> Any:
    """Slices whose bounds are Python numbers."""
    if isinstance(index, tuple):
        return tuple(_plain(i) for i in index)
    if not isinstance(index, slice):
        return index
    return slice(*(_number(v) for v in (index.start, index.stop, index.step)))


def _number(v: Any) -> Any:
    if not isinstance(v, Traced):
        return v
    known = active().demand(atom_of(active(), v))
    if known is None:
        raise refused("np.mgrid with bounds that depend on the data", "use np.arange")
    return known.item()


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)
r_, c_ = _Joined(np.r_, columns=False), _Joined(np.c_, columns=True)
