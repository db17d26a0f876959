"""Counts that say what a plan does, for tests and explanations."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Copy, Launch, Plan, Repeat, Step
from .slots import bytes_changed


@dataclass(frozen=True, slots=True)
class Counts:
    """`launches` and `copies` as carried out; `steps` as written; `kernels`: distinct keys."""

    kernels: int
    steps: int
    launches: int
    copies: int
    bytes_copied: int
    bytes_written: int
    arena_bytes: int


def counts(plan: Plan) -> Counts:
    """What one run of the plan does."""
    keys: set[str] = set()
    steps = launches = copies = copied = written = 0
    stack: list[tuple[Step, int]] = [(s, 1) for s in plan.steps]
    while stack:
        step, times = stack.pop()
        match step:
            case Launch(key):
                keys.add(key)
                steps += 1
                launches += times
                written += times * bytes_changed(step)
            case Copy(_, target):
                steps += 1
                copies += times
                copied += times * target.type.nbytes
            case Repeat(count, body):
                stack.extend((s, times * count) for s in body)
    return Counts(len(keys), steps, launches, copies, copied, written + copied, plan.arena_bytes)


def bytes_written(plan: Plan) -> int:
    """The bytes that one run of the plan writes, copies included."""
    return counts(plan).bytes_written
