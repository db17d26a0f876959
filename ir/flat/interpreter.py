"""Runs a flat program on NumPy arrays: the meaning that emitters are held to.

Every element starts unwritten: reading one is an error, as is any offset outside its storage and an
element of an output that is never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InternalError
from ..expr import index as ix
from ..expr.evaluate import Points, evaluate, evaluate_indices, holds
from ..expr.nodes import Buffer, Index, Scope, Symbol
from ..tensor.nodes import Role
from .nodes import Assign, FlatNode, FlatProgram, Loop

Array = npt.NDArray[Any]


def interpret(program: FlatProgram, arrays: Sequence[Array]) -> list[Array]:
    """The contents of the OUTPUT and INOUT parameters, flat, in parameter order.

    `arrays`: one flat array for each INPUT and INOUT parameter, in order; none is modified.
    """
    run = _Run(program, arrays)
    run.nodes(program.body, {})
    return run.results()


class _Run:
    """Memory of one run: contents and which elements were written."""

    def __init__(self, program: FlatProgram, arrays: Sequence[Array]):
        self.program = program
        self.content: dict[Buffer, Array] = {}
        self.written: dict[Buffer, npt.NDArray[np.bool_]] = {}
        given = iter(arrays)
        for storage in program.storages:
            buffer = storage.buffer
            if buffer.scope is Scope.TABLE:
                assert buffer.table is not None
                self.content[buffer] = buffer.table
                self.written[buffer] = np.ones(buffer.shape, np.bool_)
            elif storage.role in (Role.INPUT, Role.INOUT):
                self.content[buffer] = np.array(next(given)).reshape(-1)
                self.written[buffer] = np.ones(self.content[buffer].shape, np.bool_)
            else:
                self.content[buffer] = np.zeros(buffer.shape, buffer.dtype)
                self.written[buffer] = np.zeros(buffer.shape, np.bool_)

    def results(self) -> list[Array]:
        found = []
        for storage in self.program.storages:
            if storage.role in (Role.OUTPUT, Role.INOUT):
                if not self.written[storage.buffer].all():
                    raise InternalError(f"elements of {storage.buffer.name} are never written")
                found.append(self.content[storage.buffer])
        return found

    def nodes(self, nodes: Iterable[FlatNode], values: Mapping[Symbol, int]) -> None:
        for node in nodes:
            if isinstance(node, Assign):
                self.assign(node, values)
            else:
                self.loop(node, values)

    def loop(self, node: Loop, values: Mapping[Symbol, int]) -> None:
        for low, high in node.segments:
            for value in range(low, high):
                inner = {**values, node.symbol: value}
                if all(ix.evaluate(c, inner, {}) >= 0 for c in node.tighten):
                    self.nodes(node.body, inner)

    def assign(self, node: Assign, values: Mapping[Symbol, int]) -> None:
        points = Points(values, ())
        if not holds(node.guard, points, self.read):
            return
        new = evaluate(node.values, points, self.read)
        places = [self.place(t, o, points) for t, o in zip(node.targets, node.offsets, strict=True)]
        if node.combiner is not None:
            old = [self.read(t, (p,)) for t, p in zip(node.targets, places, strict=True)]
            slots = dict(zip(node.combiner.left, old, strict=True))
            slots |= dict(zip(node.combiner.right, new, strict=True))
            new = evaluate(node.combiner.results, Points({}, ()), self.read, slots)
        for target, place, value in zip(node.targets, places, new, strict=True):
            self.content[target][place] = value
            self.written[target][place] = True

    def place(self, buffer: Buffer, offset: Index, points: Points) -> Array:
        (place,) = evaluate_indices([offset], points, self.read)
        self.check(buffer, place)
        return place

    def check(self, buffer: Buffer, place: Array) -> None:
        size = self.content[buffer].size
        if np.any((place < 0) | (place >= size)):
            raise InternalError(f"{buffer.name}[{place}] is outside its {size} elements")

    def read(self, buffer: Buffer, index: tuple[Array, ...]) -> Array:
        (place,) = index
        self.check(buffer, place)
        if not np.all(self.written[buffer][place]):
            raise InternalError(f"{buffer.name}[{place}] is read before it is written")
        return np.asarray(self.content[buffer][place])
