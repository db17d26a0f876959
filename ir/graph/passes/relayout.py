"""The blocked layout of pictures: [N, C, H, W] as [N, blocks, H, W, lanes], and the way back.

Conversions are ordinary pads, reshapes and transposes; those of constants fold away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...source import Source
from ..nodes import Atom, Equation, Literal, Var
from ..ops import Broadcast, GraphOp, Pad, Reshape, Slice, Transpose
from ..types import result_types
from .rewrite import literal


@dataclass(frozen=True, slots=True, eq=False)
class Blocked:
    """A picture in blocks of `lanes` channels.

    `filling`: what the lanes beyond the last channel hold, None if that is not known; of no
    meaning if there are none.
    """

    atom: Atom
    channels: int
    filling: np.generic | None = None

    @property
    def lanes(self) -> int:
        """Channels in a block."""
        return self.atom.type.shape[4]

    @property
    def padded(self) -> bool:
        """Whether there are lanes beyond the last channel."""
        return self.channels != self.atom.type.shape[1] * self.lanes

    @property
    def shape(self) -> tuple[int, ...]:
        """The plain shape, [N, C, H, W]."""
        n, _, height, width, _ = self.atom.type.shape
        return n, self.channels, height, width


class Emitter:
    """Collects equations for the source line that is being rewritten."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.source: Source | None = None

    def emit(self, op: GraphOp, *operands: Atom) -> Var:
        """A new equation's result."""
        (type_,) = result_types(op, tuple(a.type for a in operands), self.source)
        self.equations.append(Equation(op, operands, (Var(type_),), self.source))
        return self.equations[-1].outputs[0]

    def reshape(self, atom: Atom, shape: Sequence[int]) -> Atom:
        """The same elements in another shape."""
        if atom.type.shape == tuple(shape):
            return atom
        return self.emit(Reshape(tuple(shape)), atom)

    def grow(self, atom: Atom, shape: Sequence[int]) -> Atom:
        """The array with zeros at the end of its axes."""
        extra = tuple(b - a for a, b in zip(atom.type.shape, shape, strict=True))
        if not any(extra):
            return atom
        none = (0,) * len(extra)
        return self.emit(Pad(none, extra, none), atom, literal(0, atom.type.dtype))

    def pack(self, atom: Atom, lanes: int) -> Blocked:
        """[N, C, H, W] -> [N, blocks, H, W, lanes]; lanes beyond the last channel are 0."""
        n, channels, height, width = atom.type.shape
        blocks = -(-channels // lanes)
        full = self.grow(atom, (n, blocks * lanes, height, width))
        zero = literal(0, atom.type.dtype).value
        if height == width == 1:
            return Blocked(self.reshape(full, (n, blocks, 1, 1, lanes)), channels, zero)
        split = self.reshape(full, (n, blocks, lanes, height, width))
        return Blocked(self.emit(Transpose((0, 1, 3, 4, 2)), split), channels, zero)

    def unpack(self, picture: Blocked) -> Atom:
        """[N, blocks, H, W, lanes] -> [N, C, H, W]."""
        n, blocks, height, width, lanes = picture.atom.type.shape
        moved = picture.atom
        if (height, width) != (1, 1):
            moved = self.emit(Transpose((0, 1, 4, 2, 3)), moved)
        full = self.reshape(moved, (n, blocks * lanes, height, width))
        return self.cut(full, picture.channels)

    def cut(self, atom: Atom, channels: int) -> Atom:
        """The first channels of axis 1."""
        shape = atom.type.shape
        if shape[1] == channels:
            return atom
        sizes = (shape[0], channels, *shape[2:])
        return self.emit(Slice((0,) * len(shape), sizes, (1,) * len(shape)), atom)

    def pack_weights(self, atom: Atom, inputs: tuple[int, int], lanes: int) -> Atom:
        """[O, C, KH, KW] -> [O blocks, C blocks, KH, KW, c, lanes] for `inputs` = (C blocks, c)."""
        o, _, height, width = atom.type.shape
        blocks = -(-o // lanes)
        full = self.grow(atom, (blocks * lanes, inputs[0] * inputs[1], height, width))
        split = self.reshape(full, (blocks, lanes, *inputs, height, width))
        return self.emit(Transpose((0, 2, 4, 5, 3, 1)), split)

    def pack_depthwise(self, atom: Atom, lanes: int) -> Atom:
        """[C, 1, KH, KW] -> [C blocks, KH, KW, lanes]."""
        channels, _, height, width = atom.type.shape
        blocks = -(-channels // lanes)
        full = self.grow(atom, (blocks * lanes, 1, height, width))
        split = self.reshape(full, (blocks, lanes, height, width))
        return self.emit(Transpose((0, 2, 3, 1)), split)

    def spread(self, atom: Atom, axes: Sequence[int], picture: Blocked) -> Blocked | None:
        """An array broadcast along `axes` of the plain picture, as the blocked one has it.

        None if the lanes beyond the last channel would hold something unknown.
        """
        shape = [1, 1, 1, 1]
        for extent, axis in zip(atom.type.shape, axes, strict=True):
            shape[axis] = extent
        n, channels, height, width = shape
        filling: np.generic | None = None
        if channels == picture.channels:
            small = self.pack(self.reshape(atom, shape), picture.lanes)
            laid, filling = small.atom, small.filling
        elif atom.type.size != 1:
            laid = self.reshape(atom, (n, 1, height, width, 1))
        else:
            laid = self.reshape(atom, ())
            filling = atom.value if isinstance(atom, Literal) else None
        if filling is None and picture.padded:
            return None
        axes_there = tuple(range(len(laid.type.shape)))
        made = self.emit(Broadcast(picture.atom.type.shape, axes_there), laid)
        return Blocked(made, picture.channels, filling)
