"""Whether two strided pieces of one memory share a byte: exactly, where that is cheap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

MAX_VISITS = 256
"""Combinations looked at before a pair is taken to overlap."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Elements of `item` bytes from byte `start` on, with strides in bytes."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The bytes [low, high) that it lies in."""
        if 0 in self.shape:
            return self.start, self.start
        reach = [s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        return self.start + low, self.start + high + self.item


def extent(start: int, shape: Sequence[int], strides: Sequence[int] | None, item: int) -> Extent:
    """An extent; `strides` in elements, None if contiguous."""
    if strides is None:  # one axis says as much as all
        return Extent(start, (prod(shape),), (item,), item)
    return Extent(start, tuple(shape), tuple(s * item for s in strides), item)


def overlap(a: Extent, b: Extent) -> bool:
    """Whether the two might share a byte; exact for elements of one size on one grid."""
    (low, high), (start, stop) = a.bounds, b.bounds
    if not (low < stop and start < high and low < high and start < stop):
        return False
    if a.item != b.item or (a.start - b.start) % a.item:
        return True
    return _reaches(b.start - a.start, _steps(a, b))


def _steps(a: Extent, b: Extent) -> list[tuple[int, int, int]]:
    """(stride, lowest, highest multiple) of what an element of a and one of b may differ by."""
    ranges: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for piece, sign in ((a, 1), (b, -1)):
        for n, s in zip(piece.shape, piece.strides, strict=True):
            if s and n > 1:
                ends = (0, (n - 1) * sign * (1 if s > 0 else -1))
                ranges[abs(s)][0] += min(ends)
                ranges[abs(s)][1] += max(ends)
    return [(s, low, high) for s, (low, high) in sorted(ranges.items(), reverse=True)]


def _reaches(distance: int, steps: list[tuple[int, int, int]]) -> bool:
    """Whether distance = sum of stride * multiple; True if that takes too long to find out."""
    lows, highs = [0], [0]  # of the sum of the last k steps
    for s, low, high in reversed(steps):
        lows.append(lows[-1] + s * low)
        highs.append(highs[-1] + s * high)
    pending = [(distance, 0)]
    visits = 0
    while pending:
        rest, k = pending.pop()
        visits += 1
        if visits > MAX_VISITS:
            return True
        if k == len(steps):
            if rest == 0:
                return True
            continue
        s, low, high = steps[k]
        below, above = lows[len(steps) - k - 1], highs[len(steps) - k - 1]
        first, last = max(low, -((above - rest) // s)), min(high, (rest - below) // s)
        if last - first > MAX_VISITS:
            return True
        pending.extend((rest - s * m, k + 1) for m in range(first, last + 1))
    return False
