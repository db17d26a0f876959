"""What the parts of a plan read and write, said once for checker, interpreter and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..graph.nodes import ArrayType, Group
from ..graph.ops import Scatter, UpdateSlice
from .nodes import Copy, Launch, Place, Plan, Repeat, Slot, Step
from .overlap import Extent, extent


def parameter_types(group: Group) -> list[ArrayType]:
    """The types of a kernel's parameters: its inputs, then its outputs that are not donated."""
    donated = {o for _, o in group.donated}
    outputs = [v.type for k, v in enumerate(group.outputs) if k not in donated]
    return [v.type for v in group.inputs] + outputs


def reads(launch: Launch) -> tuple[Slot, ...]:
    """The slots whose content the kernel uses."""
    return launch.slots[: len(launch.group.inputs)]


def writes(launch: Launch) -> tuple[Slot, ...]:
    """The slots that the kernel writes, donated ones first."""
    updated = tuple(launch.slots[i] for i, _ in launch.group.donated)
    return updated + launch.slots[len(launch.group.inputs) :]


def output_slots(launch: Launch) -> tuple[Slot, ...]:
    """The slot of each output of the group, in order."""
    donated = {o: launch.slots[i] for i, o in launch.group.donated}
    own = iter(launch.slots[len(launch.group.inputs) :])
    return tuple(
        donated[k] if k in donated else next(own) for k in range(len(launch.group.outputs))
    )


def unrolled(plan: Plan) -> Iterator[Launch | Copy]:
    """The steps in the order in which they run, each turn of a repeat with its own slots."""
    stack: list[Iterator[Step]] = [iter(plan.steps)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
        elif isinstance(step, Repeat):
            stack.append(_turns(step))
        else:
            yield step


def _turns(repeat: Repeat) -> Iterator[Step]:
    for turn in range(repeat.count):
        for step in repeat.body:
            if isinstance(step, Launch) and any(step.advance):
                yield replace(step, slots=advanced(step, turn), advance=())
            else:
                yield step


def advanced(launch: Launch, turn: int) -> tuple[Slot, ...]:
    """The slots of a launch in a repeat, on the given turn."""
    moved = zip(launch.slots, launch.advance, strict=True)
    return tuple(replace(s, offset=s.offset + turn * by) if by else s for s, by in moved)


def slot_extent(slot: Slot) -> Extent:
    """The bytes of its place that a slot is made of."""
    start = slot.offset + (slot.position if slot.place is Place.ARENA else 0)
    return extent(start, slot.type.shape, slot.strides, slot.type.dtype.itemsize)


def memory(slot: Slot) -> tuple[Place, int]:
    """The piece of memory that a slot lies in: the arena is one."""
    return slot.place, 0 if slot.place is Place.ARENA else slot.position


def bytes_changed(launch: Launch) -> int:
    """How many bytes one run of the kernel writes; an update writes its update only."""
    total = sum(s.type.nbytes for s in launch.slots[len(launch.group.inputs) :])
    for _, output in launch.group.donated:
        var = launch.group.outputs[output]
        maker = next((e for e in launch.group.equations if var in e.outputs), None)
        if maker is not None and isinstance(maker.op, UpdateSlice | Scatter):
            total += maker.inputs[-1].type.nbytes
        else:
            total += var.type.nbytes
    return total
