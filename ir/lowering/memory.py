"""Memory while a plan is being built: storages, and values that lie in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from ..graph.nodes import ArrayType, Equation, Var
from ..graph.ops import Reshape, Slice
from ..plan.nodes import Place, Slot
from ..plan.overlap import Extent, extent, overlap


@dataclass(slots=True, eq=False)
class Storage:
    """One piece of memory. `place` None: fresh, to become a result or a range of the arena.

    `pending`: uses still to come of the values in it, `residents`. `fixed`: must never be written.
    """

    nbytes: int
    place: Place | None = None
    position: int = 0
    fixed: bool = False
    pending: int = 0
    residents: dict[Var, None] = field(default_factory=dict)
    first: int = -1
    last: int = -1

    def touch(self, step: int) -> None:
        """Notes that a step reads or writes it."""
        self.first = step if self.first < 0 else self.first
        self.last = max(self.last, step)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Where a value lies: `offset` bytes into a storage; contiguous unless it has `strides`.

    Strides are in elements.
    """

    type: ArrayType
    storage: Storage
    offset: int = 0
    strides: tuple[int, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether it is all of its storage, in C order."""
        return self.offset == 0 and self.strides is None and self.type.nbytes == self.storage.nbytes

    def slot(self) -> Slot:
        """The plan's slot, once the storage has its place."""
        storage = self.storage
        assert storage.place is not None
        return Slot(self.type, storage.place, storage.position, self.strides, self.offset)

    def overlaps(self, other: Piece) -> bool:
        """Whether the two might share a byte."""
        return self.storage is other.storage and overlap(self.extent, other.extent)

    @property
    def extent(self) -> Extent:
        """The bytes of the storage that it is made of."""
        type_ = self.type
        return extent(self.offset, type_.shape, self.strides, type_.dtype.itemsize)

    def same(self, other: Piece) -> bool:
        """Whether the two are the same elements in the same order."""
        return (
            self.storage is other.storage
            and self.offset == other.offset
            and self.type.nbytes == other.type.nbytes
            and self.strides is None is other.strides
        )


def view(piece: Piece, equation: Equation) -> Piece | None:
    """The piece that a reshape or slice of another piece is, or None if it must be copied."""
    result = equation.outputs[0].type
    match equation.op:
        case Reshape(shape):
            if piece.strides is None:
                return replace(piece, type=result)
            strides = _reshaped(piece.type.shape, piece.strides, shape)
            return None if strides is None else replace(piece, type=result, strides=strides)
        case Slice(starts, _, steps):
            own = piece.strides or contiguous(piece.type.shape)
            if result.size == 0:
                return replace(piece, type=result, strides=None)
            moved = sum(a * s for a, s in zip(starts, own, strict=True))
            strides = tuple(s * k for s, k in zip(own, steps, strict=True))
            offset = piece.offset + moved * piece.type.dtype.itemsize
            plain = is_contiguous(result.shape, strides)
            return Piece(result, piece.storage, offset, None if plain else strides)
        case _:
            return None


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a C-ordered array."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides are those of a C-ordered array (axes of extent 1 do not count)."""
    expected = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and s != expected:
            return 0 in shape
        expected *= n
    return True


def _reshaped(
    old: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> tuple[int, ...] | None:
    """Strides of a reshaped strided array without a copy: only axes of extent 1 come or go."""
    kept = [s for n, s in zip(old, strides, strict=True) if n != 1]
    if [n for n in old if n != 1] != [n for n in new if n != 1]:
        return None
    remaining = iter(kept)
    return tuple(0 if n == 1 else next(remaining) for n in new)
