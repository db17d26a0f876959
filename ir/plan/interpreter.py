"""What a plan means, on real memory: each launch by the graph interpreter.

The arena and the results start filled with a sentinel pattern (a NaN in every float type), so
that a value taken from memory nobody wrote shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..graph.interpreter import interpret_group
from .nodes import Copy, Launch, Place, Plan, Slot
from .slots import output_slots, reads, unrolled

Array = npt.NDArray[np.generic]
SENTINEL = 0xFF


def interpret(plan: Plan, arguments: Sequence[Array]) -> list[Array]:
    """The results. Arguments that the plan writes are written; they are results themselves.

    Raises ArgumentError for arguments that are not of the plan's types and strides.
    """
    run = _Run(plan, arguments)
    for step in unrolled(plan):
        if isinstance(step, Launch):
            run.launch(step)
        else:
            run.copy(step)
    return [run.result(slot) for slot in plan.results]


class _Run:
    def __init__(self, plan: Plan, arguments: Sequence[Array]):
        if len(arguments) != len(plan.arguments):
            raise ArgumentError(f"{len(plan.arguments)} arguments, not {len(arguments)}")
        for slot, array in zip(plan.arguments, arguments, strict=True):
            _require(slot, np.asarray(array))
        self.arguments = [np.asarray(a) for a in arguments]
        self.constants = [c.array for c in plan.constants]
        self.arena = np.full(plan.arena_bytes, SENTINEL, np.uint8)
        self.fresh = {
            s.position: np.full(s.type.nbytes, SENTINEL, np.uint8)
            for s in plan.results
            if s.place is Place.RESULT
        }

    def launch(self, launch: Launch) -> None:
        operands = [self.array(slot).copy() for slot in reads(launch)]
        results = interpret_group(launch.group, operands)
        for slot, value in zip(output_slots(launch), results, strict=True):
            self.array(slot)[...] = value

    def copy(self, step: Copy) -> None:
        source = self.array(step.source).reshape(-1).view(np.uint8)
        self.array(step.target).reshape(-1).view(np.uint8)[...] = source

    def result(self, slot: Slot) -> Array:
        return self.arguments[slot.position] if slot.place is Place.ARGUMENT else self.array(slot)

    def array(self, slot: Slot) -> Array:
        """The slot's memory as an array."""
        match slot.place:
            case Place.ARENA:
                return _at(self.arena, slot.position + slot.offset, slot)
            case Place.RESULT:
                return _at(self.fresh[slot.position], slot.offset, slot)
            case Place.CONSTANT:
                return _at(self.constants[slot.position], slot.offset, slot)
            case Place.ARGUMENT:
                return _at(self.arguments[slot.position], slot.offset, slot)


def _require(slot: Slot, array: Array) -> None:
    if (array.shape, array.dtype) != (slot.type.shape, slot.type.dtype):
        raise ArgumentError(f"{array.dtype}{array.shape} is not {slot.type}")
    strides = slot.strides
    if strides is None:
        if not array.flags.c_contiguous:
            raise ArgumentError(f"argument {slot.position} is not contiguous")
    elif array.strides != tuple(s * array.itemsize for s in strides):
        raise ArgumentError(f"argument {slot.position} does not have the strides {strides}")


class _Memory:
    """Raw memory behind an array, in the form NumPy takes it."""

    def __init__(self, owner: Array, offset: int, slot: Slot):
        self.owner = owner
        item = slot.type.dtype.itemsize
        strides = slot.strides
        self.__array_interface__ = {
            "version": 3,
            "shape": slot.type.shape,
            "typestr": f"|V{item}",
            "strides": None if strides is None else tuple(s * item for s in strides),
            "data": (owner.ctypes.data + offset, not owner.flags.writeable),
        }


def _at(owner: Array, offset: int, slot: Slot) -> Array:
    if slot.type.size == 0:
        return np.empty(slot.type.shape, slot.type.dtype)
    return np.asarray(_Memory(owner, offset, slot)).view(slot.type.dtype)
