"""Offsets in the arena: first fit by lifetimes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence

ALIGNMENT = 64


def place(lives: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Byte offsets for (first step, last step, bytes) lives, and the size of the arena.

    Two lives share bytes only if one ends before the other's first step. Offsets are multiples of
    64; a life of no bytes gets offset 0.
    """
    starting: dict[int, list[int]] = defaultdict(list)
    ending: dict[int, list[int]] = defaultdict(list)
    for k, (first, last, size) in enumerate(lives):
        if size:
            starting[first].append(k)
            ending[last].append(k)
    offsets = [0] * len(lives)
    space = _Space()
    for step in sorted({*starting, *ending}):
        for k in starting[step]:
            offsets[k] = space.take(_round(lives[k][2]))
        for k in ending[step]:
            space.give(offsets[k], _round(lives[k][2]))
    return offsets, space.end


def _round(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class _Space:
    """Free ranges below `end`, by offset and merged."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.end = 0

    def take(self, size: int) -> int:
        for k, (offset, extent) in enumerate(self.free):
            if extent >= size:
                if extent == size:
                    del self.free[k]
                else:
                    self.free[k] = (offset + size, extent - size)
                return offset
        if self.free and sum(self.free[-1]) == self.end:  # grow the last hole
            offset, _ = self.free.pop()
        else:
            offset = self.end
        self.end = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        k = bisect_left(self.free, (offset, 0))
        if k < len(self.free) and self.free[k][0] == offset + size:
            size += self.free.pop(k)[1]
        if k and sum(self.free[k - 1]) == offset:
            before, extent = self.free.pop(k - 1)
            offset, size = before, size + extent
        insort(self.free, (offset, size))
