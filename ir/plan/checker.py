"""The rules of a plan.

- A launch has one slot per parameter of its kernel, of the parameter's type.
- A slot lies inside its memory. A strided one is not written, but for a donated one.
- Constants are not written, and of the arguments only those that are results or spare.
- What a kernel writes overlaps nothing else of the same launch; a copy's two sides lie apart.
- Nothing is read before it is written, and every result is written whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import combinations

from ..errors import InternalError
from .nodes import Copy, Launch, Place, Plan, Repeat, Slot, Step
from .overlap import overlap
from .slots import memory, parameter_types, reads, slot_extent, unrolled, writes


def check(plan: Plan, spare: Iterable[int] = ()) -> None:
    """Raises `InternalError` for a plan that breaks a rule. `spare`: see `lowering/plan.py`."""
    for step in plan.steps:
        _check_form(step, inside=False)
    _Walk(plan, spare).run()


def _check_form(step: Step, inside: bool) -> None:
    match step:
        case Launch(_, group, slots, advance):
            types = parameter_types(group)
            if len(types) != len(slots):
                raise InternalError(
                    f"{group.name} has {len(types)} parameters, its launch {len(slots)} slots"
                )
            for number, (expected, slot) in enumerate(zip(types, slots, strict=True)):
                if expected != slot.type:
                    raise InternalError(
                        f"{group.name}: parameter {number} is {expected}, its slot {slot.type}"
                    )
            if advance and (not inside or len(advance) != len(slots)):
                raise InternalError(f"{group.name}: its advance fits no repeat")
        case Copy(source, target):
            if source.type.nbytes != target.type.nbytes:
                raise InternalError(f"copy of {source.type} to {target.type}")
            if source.strides is not None or target.strides is not None:
                raise InternalError("a copy moves contiguous memory only")
        case Repeat(count, body):
            if inside or count < 1 or not body:
                raise InternalError("a repeat has at least one turn and holds no other repeat")
            for inner in body:
                _check_form(inner, inside=True)


class _Walk:
    """The bytes known to be written, followed through the steps."""

    def __init__(self, plan: Plan, spare: Iterable[int]):
        self.plan = plan
        self.known: dict[tuple[Place, int], _Ranges] = {}
        self.writable = {s.position for s in plan.results if s.place is Place.ARGUMENT}
        self.writable.update(spare)
        self.limits: dict[tuple[Place, int], tuple[int, int]] = {}
        for slot in plan.arguments:
            self.limits[memory(slot)] = slot_extent(slot).bounds
            self.ranges(slot).add(*slot_extent(slot).bounds)
        for number, constant in enumerate(plan.constants):
            place = (Place.CONSTANT, number)
            self.limits[place] = (0, constant.array.nbytes)
            self.known[place] = _Ranges()
            self.known[place].add(0, constant.array.nbytes)
        self.limits[Place.ARENA, 0] = (0, plan.arena_bytes)
        for slot in plan.results:
            if slot.place is Place.RESULT:
                if memory(slot) in self.limits:
                    raise InternalError(f"result memory {slot.position} is returned twice")
                self.limits[memory(slot)] = (0, slot.type.nbytes)

    def run(self) -> None:
        for step in unrolled(self.plan):
            if isinstance(step, Launch):
                self.launch(step)
            else:
                self.read(step.source, "copy")
                self.apart([step.source, step.target], "copy")
                self.write(step.target, "copy")
        for slot in self.plan.results:
            self.read(slot, "return")

    def launch(self, launch: Launch) -> None:
        name = launch.group.name
        for slot in reads(launch):
            self.read(slot, name)
        written = writes(launch)
        for slot in written:
            self.write(slot, name)
        self.apart(list(written), name)
        for slot in reads(launch):
            for other in written:
                if slot is not other:
                    self.apart([slot, other], name)

    def apart(self, slots: list[Slot], name: str) -> None:
        for a, b in combinations(slots, 2):
            if memory(a) == memory(b) and overlap(slot_extent(a), slot_extent(b)):
                raise InternalError(f"{name} writes memory that overlaps another of its slots")

    def ranges(self, slot: Slot) -> _Ranges:
        return self.known.setdefault(memory(slot), _Ranges())

    def inside(self, slot: Slot, name: str) -> tuple[int, int]:
        low, high = slot_extent(slot).bounds
        start, stop = self.limits.get(memory(slot), (0, 0))
        if low < high and not (start <= low and high <= stop):
            raise InternalError(f"{name} uses bytes [{low}, {high}) of [{start}, {stop})")
        return low, high

    def read(self, slot: Slot, name: str) -> None:
        low, high = self.inside(slot, name)
        if not self.ranges(slot).covers(low, high):
            raise InternalError(f"{name} reads bytes [{low}, {high}) before they are written")

    def write(self, slot: Slot, name: str) -> None:
        low, high = self.inside(slot, name)
        if slot.place is Place.CONSTANT:
            raise InternalError(f"{name} writes a constant")
        if slot.place is Place.ARGUMENT and slot.position not in self.writable:
            raise InternalError(f"{name} writes argument {slot.position}, which is no result")
        if slot.strides is None:  # others are updated, so they were read before
            self.ranges(slot).add(low, high)


class _Ranges:
    """A set of integers as disjoint ranges."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []

    def add(self, low: int, high: int) -> None:
        if low >= high:
            return
        first = bisect_left(self.stops, low)
        last = bisect_right(self.starts, high)
        if first < last:
            low = min(low, self.starts[first])
            high = max(high, self.stops[last - 1])
        self.starts[first:last] = [low]
        self.stops[first:last] = [high]

    def covers(self, low: int, high: int) -> bool:
        if low >= high:
            return True
        k = bisect_right(self.starts, low) - 1
        return k >= 0 and self.stops[k] >= high
