"""Rolls equal steps whose memory advances evenly into a `Repeat`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..graph.key import workload_key
from ..plan.nodes import Copy, Launch, Place, Repeat, Slot, Step
from ..visits import visit
from .copies import copy_group

MAX_BODY = 64
"""The longest body looked for."""
GUESSES = 4
"""How many of a step's next equals are tried as the start of the second turn."""
MIN_TURNS = 3


def roll(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, with runs that repeat as `Repeat` nodes. Linear in the number of steps."""
    kinds = [_kind(s) for s in steps]
    following = _following(kinds)
    result: list[Step] = []
    at = 0
    while at < len(steps):
        body, turns = _best(steps, kinds, following, at)
        if turns < MIN_TURNS:
            result.append(steps[at])
            at += 1
            continue
        result.append(Repeat(turns, tuple(_advancing(steps, at + k, body) for k in range(body))))
        at += body * turns
    return tuple(result)


def _kind(step: Step) -> tuple[object, ...]:
    """What two steps must share to be turns of one body."""
    match step:
        case Launch(key, _, slots):
            return (key, *(_base(s) for s in slots))
        case Copy(source, target):
            return (_base(source), _base(target))
        case Repeat():
            return (id(step),)


def _base(slot: Slot) -> tuple[object, ...]:
    position = None if slot.place is Place.ARENA else slot.position
    return (slot.place, position, slot.type.dtype, slot.type.shape, slot.strides)


def _following(kinds: Sequence[tuple[object, ...]]) -> list[int]:
    """For each step the number of the next of its kind, or -1."""
    result = [-1] * len(kinds)
    seen: dict[tuple[object, ...], int] = {}
    for k in range(len(kinds) - 1, -1, -1):
        result[k] = seen.get(kinds[k], -1)
        seen[kinds[k]] = k
    return result


def _best(
    steps: Sequence[Step],
    kinds: Sequence[tuple[object, ...]],
    following: Sequence[int],
    at: int,
) -> tuple[int, int]:
    """(length of the body, turns) that covers most steps from `at`."""
    best = (1, 1)
    second = at
    for _ in range(GUESSES):
        second = following[second]
        body = second - at
        if second < 0 or body > MAX_BODY:
            break
        turns = _turns(steps, kinds, at, body)
        if turns >= MIN_TURNS and body * turns > best[0] * best[1]:
            best = (body, turns)
    return best


def _turns(steps: Sequence[Step], kinds: Sequence[tuple[object, ...]], at: int, body: int) -> int:
    """How often the body that starts at `at` is repeated with even advances."""
    turn = 1
    advances: list[tuple[int, ...]] = []
    while at + (turn + 1) * body <= len(steps):
        for k in visit("roll", range(body)):
            here = at + turn * body + k
            if kinds[here] != kinds[here - body]:
                return turn
            advance = _advance(steps[here - body], steps[here])
            if turn == 1:
                advances.append(advance)
            elif advance != advances[k]:
                return turn
        turn += 1
    return turn


def _advance(before: Step, after: Step) -> tuple[int, ...]:
    pairs = zip(_slots(before), _slots(after), strict=True)
    return tuple(_address(b) - _address(a) for a, b in pairs)


def _slots(step: Step) -> tuple[Slot, ...]:
    match step:
        case Launch(_, _, slots):
            return slots
        case Copy(source, target):
            return (source, target)
        case Repeat():
            return ()


def _address(slot: Slot) -> int:
    return slot.offset + (slot.position if slot.place is Place.ARENA else 0)


def _advancing(steps: Sequence[Step], at: int, body: int) -> Step:
    """A step as it stands in a body: with the bytes that its slots move on each turn.

    A copy cannot move: where it must, it becomes a launch.
    """
    step = steps[at]
    advance = _advance(step, steps[at + body])
    match step:
        case Launch():
            return replace(step, advance=advance)
        case Copy(source, target) if any(advance):
            group = copy_group(source.type)
            # the target may have the source's elements in another shape
            slots = (source, replace(target, type=source.type))
            return Launch(workload_key(group), group, slots, advance)
        case _:
            return step
