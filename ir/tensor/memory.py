"""Arrays that know which of their elements hold a value: what interpreters run programs on.

Each element is unwritten, partial (inside a running reduction) or done. Reading one that is not
done, writing one twice, leaving an axis, and an output element never written are errors of the
program, reported as `InternalError` with the definition and the place in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import InternalError
from ..expr.evaluate import Array, Points, evaluate
from ..expr.nodes import Buffer, Combiner, Const, Scope
from .nodes import Param, Role

Offsets: TypeAlias = npt.NDArray[np.int64]

UNWRITTEN, PARTIAL, DONE = 0, 1, 2


class Memory:
    """The arrays of one run. `place` says what is running, for messages."""

    def __init__(self, params: Sequence[Param], arrays: Sequence[Array]):
        self.place = ""
        self._params = tuple(params)
        self._data: dict[Buffer, Array] = {}
        self._state: dict[Buffer, npt.NDArray[np.uint8]] = {}
        self._inouts = {p.buffer for p in params if p.role is Role.INOUT}
        given = iter(arrays)
        for param in params:
            buffer = param.buffer
            if param.role is Role.OUTPUT:
                self.reset(buffer)
                continue
            array = next(given, None)
            if array is None or array.shape != buffer.shape or array.dtype != buffer.dtype:
                have = "nothing" if array is None else f"{array.dtype}{list(array.shape)}"
                raise InternalError(
                    f"parameter {buffer.name} is {buffer.dtype}{list(buffer.shape)}; given: {have}"
                )
            self._data[buffer] = np.array(array, order="C").reshape(-1)
            self._state[buffer] = np.full(array.size, DONE, np.uint8)
        if next(given, None) is not None:
            raise InternalError("more arrays than parameters")

    def reset(self, buffer: Buffer) -> None:
        """Forgets the content of a buffer."""
        size = int(np.prod(buffer.shape, dtype=np.int64))
        self._data[buffer] = np.zeros(size, buffer.dtype)
        self._state[buffer] = np.full(size, UNWRITTEN, np.uint8)

    def results(self) -> list[Array]:
        """The arrays of the parameters that the program writes, in order."""
        result = []
        for param in self._params:
            if param.role is Role.INPUT:
                continue
            buffer = param.buffer
            missing = np.flatnonzero(self._state[buffer] != DONE)
            if missing.size:
                self._fail(f"{_element(buffer, missing[0])} is never written")
            result.append(self._data[buffer].reshape(buffer.shape))
        return result

    def read(self, buffer: Buffer, positions: tuple[Array, ...]) -> Array:
        """The elements at these positions (one array per axis)."""
        if buffer.scope is Scope.TABLE and buffer not in self._data:
            assert buffer.table is not None
            self._data[buffer] = np.asarray(buffer.table, buffer.dtype).reshape(-1)
            self._state[buffer] = np.full(self._data[buffer].size, DONE, np.uint8)
        offsets = self.offsets(buffer, positions)
        state = self._state[buffer][offsets]
        if (state != DONE).any():
            bad = offsets[state != DONE].reshape(-1)[0]
            why = "before its reduction ends" if PARTIAL in state else "before it is written"
            self._fail(f"{_element(buffer, bad)} is read {why}")
        return self._data[buffer][offsets]

    def offsets(self, buffer: Buffer, positions: tuple[Array, ...]) -> Offsets:
        """Flat offsets of positions that lie inside."""
        self._know((buffer,))
        total: Array = np.asarray(0, np.int64)
        for axis, (extent, position) in enumerate(zip(buffer.shape, positions, strict=True)):
            outside = (position < 0) | (position >= extent)
            if outside.any():
                bad = np.asarray(position)[outside].reshape(-1)[0]
                self._fail(f"index {bad} of axis {axis} of {buffer.name} is outside {extent}")
            total = total * extent + position
        return np.asarray(total, np.int64)

    def _know(self, buffers: Sequence[Buffer]) -> None:
        for buffer in buffers:
            if buffer not in self._data:
                self.reset(buffer)

    def begin(self, buffers: Sequence[Buffer], offsets: Offsets, combiner: Combiner) -> None:
        """Starts reductions at these offsets with the identity."""
        self._know(buffers)
        for buffer, identity in zip(buffers, combiner.identity, strict=True):
            self._claim(buffer, offsets)
            self._data[buffer][offsets] = identity.value
            self._state[buffer][offsets] = PARTIAL

    def end(self, buffers: Sequence[Buffer], offsets: Offsets) -> None:
        """Ends reductions: the elements may be read."""
        for buffer in buffers:
            self._state[buffer][offsets] = DONE

    def assign(
        self, buffers: Sequence[Buffer], offsets: Offsets, values: Sequence[Array], update: bool
    ) -> None:
        """Writes elements in order; in an update the last one of several at a place stays."""
        self._know(buffers)
        offsets = offsets.reshape(-1)
        for buffer, value in zip(buffers, values, strict=True):
            if value.dtype != buffer.dtype:
                self._fail(f"a {value.dtype} value is written to {buffer.name}: {buffer.dtype}")
            if not update:
                self._claim(buffer, offsets)
            value = np.broadcast_to(value, offsets.shape)
            _, last = np.unique(offsets[::-1], return_index=True)
            keep = offsets.size - 1 - last
            self._data[buffer][offsets[keep]] = value[keep]
            self._state[buffer][offsets] = DONE

    def combine(
        self, buffers: Sequence[Buffer], offsets: Offsets, values: Sequence[Array], by: Combiner
    ) -> None:
        """Combines values, in order, into the elements at these offsets."""
        self._know(buffers)
        offsets = offsets.reshape(-1)
        flat = [np.broadcast_to(v, offsets.shape) for v in values]
        for buffer in buffers:
            state = self._state[buffer][offsets]
            if (state == UNWRITTEN).any():
                bad = offsets[state == UNWRITTEN][0]
                self._fail(f"{_element(buffer, bad)} is combined into before it is written")
        for turn in _turns(offsets):
            here = offsets[turn]
            slots = {s: self._data[b][here] for s, b in zip(by.left, buffers, strict=True)}
            slots |= {s: v[turn] for s, v in zip(by.right, flat, strict=True)}
            results = evaluate(by.results, Points({}, here.shape), self.read, slots)
            for buffer, result in zip(buffers, results, strict=True):
                if result.dtype != buffer.dtype:
                    self._fail(f"{result.dtype} is combined into {buffer.name}: {buffer.dtype}")
                self._data[buffer][here] = result

    def _claim(self, buffer: Buffer, offsets: Offsets) -> None:
        """Refuses a second definition of an element."""
        unique, counts = np.unique(offsets, return_counts=True)
        twice = unique[counts > 1]
        if not twice.size and buffer not in self._inouts:
            twice = unique[self._state[buffer][unique] != UNWRITTEN]
        if twice.size:
            self._fail(f"{_element(buffer, twice[0])} is written twice")

    def _fail(self, what: str) -> None:
        raise InternalError(what, self.place or None)


def identities(combiner: Combiner, shape: tuple[int, ...]) -> list[Array]:
    """Arrays filled with the identity."""
    return [_filled(shape, c) for c in combiner.identity]


def _filled(shape: tuple[int, ...], constant: Const) -> Array:
    return np.full(shape, constant.value, constant.dtype)


def _turns(offsets: Offsets) -> list[npt.NDArray[np.intp]]:
    """Positions in groups: the first use of each offset, then the second ones, and so on."""
    if not offsets.size:
        return []
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, offsets.size])
    turn = np.arange(offsets.size) - np.repeat(starts, lengths)
    by_turn = np.argsort(turn, kind="stable")
    cuts = np.cumsum(np.bincount(turn))[:-1]
    return np.split(order[by_turn], cuts)


def _element(buffer: Buffer, offset: np.integer) -> str:
    position = np.unravel_index(int(offset), buffer.shape) if buffer.shape else ()
    return f"{buffer.name}[{', '.join(str(int(p)) for p in position)}]"
