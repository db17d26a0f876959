"""Level 5, the plan: the whole function as kernel calls.

    plan ::= (slot, ...) { step ... } -> (slot, ...)
    step ::= kernel(slot, ...) | copy slot -> slot | repeat n: step ...

A slot is memory: an argument, a result, a constant, or a range of the arena. Offsets of arena
slots are decided by lifetimes; slots may overlap when their lives do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ..graph.nodes import ArrayType, Constant, Group


class Place(Enum):
    """Where a slot's memory comes from."""

    ARGUMENT = "argument"  # position = number of the argument
    RESULT = "result"  # position = number of the freshly allocated result
    CONSTANT = "constant"  # position = number of the constant
    ARENA = "arena"  # position = byte offset


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slot:
    """Memory of one array; `strides`, in elements, if it is not contiguous."""

    type: ArrayType
    place: Place
    position: int
    strides: tuple[int, ...] | None = None
    offset: int = 0  # further bytes from there: a view


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch:
    """Calls the kernel of `key` on slots, in the order of its parameters.

    `advance[k]`: bytes that slot k moves on each turn of the enclosing `Repeat`.
    """

    key: str
    group: Group
    slots: tuple[Slot, ...]
    advance: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copy:
    """Copies `nbytes` of contiguous memory."""

    source: Slot
    target: Slot


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repeat:
    """Runs the steps `count` times."""

    count: int
    body: tuple[Step, ...]


Step: TypeAlias = Launch | Copy | Repeat


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """The function. `results[k]` is the slot of output k.

    A result in an ARGUMENT slot is written in place there (the caller's array).
    """

    arguments: tuple[Slot, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step, ...]
    results: tuple[Slot, ...]
    arena_bytes: int
