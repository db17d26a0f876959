"""Elementwise definitions over the same points become one, where they read the same elements.

What they share is then read, and computed, once; an array that only carried a value from one to
the other is no longer needed. What follows a product or a reduction point by point stays apart:
schedules take such a definition into the loops of the reduction.

A definition joins an earlier one if it can move up to it, or the earlier one down, without passing
a definition that writes what is read or reads what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..expr import index as ix
from ..expr.nodes import Buffer, Index, Load, Value
from ..expr.values import loads, postorder, rewrite
from ..tensor.nodes import Axis, AxisKind, Definition, Role, TensorProgram

MOST_OUTPUTS = 8
MOST_VALUES = 512
"""Limits of one definition: the streams that a processor follows, the registers it has."""


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """A definition and the buffers that it touches. `open`: others may join it."""

    definition: Definition
    reads: frozenset[Buffer]
    writes: frozenset[Buffer]
    open: bool = False

    def may_pass(self, other: _Item) -> bool:
        """Whether the two may change places."""
        return not (
            self.writes & other.reads or self.reads & other.writes or self.writes & other.writes
        )


def merge(program: TensorProgram) -> TensorProgram:
    """The program with elementwise definitions merged and arrays that nobody reads dropped."""
    fixed = {p.buffer for p in program.params if p.role is Role.INOUT}
    sums = {b: len(b.shape) for d in program.definitions if d.combiner for b in d.outputs}
    done: list[_Item] = []
    for definition in program.definitions:
        item = _item(definition)
        follows = any(sums.get(b) == len(definition.axes) for b in item.reads)
        plain = _is_plain(definition, fixed) and not follows
        if not (plain and _join(done, item)):
            done.append(replace(item, open=plain))
    return replace(program, definitions=_live(program, [i.definition for i in done]))


def _item(definition: Definition) -> _Item:
    return _Item(
        definition,
        frozenset(load.buffer for load in loads(_roots(definition))),
        frozenset(definition.outputs),
    )


def _roots(definition: Definition) -> list[Value]:
    places = (*definition.index, *definition.domain)
    return [*definition.values, *(d.value for i in places for d in ix.dynamics(i))]


def _is_plain(definition: Definition, fixed: set[Buffer]) -> bool:
    """Whether each point is written once, at its own place, from other arrays."""
    if definition.combiner is not None or definition.update or definition.domain:
        return False
    spatial = all(a.kind is AxisKind.SPATIAL for a in definition.axes)
    own = definition.index == _places(definition.axes)
    return spatial and own and not fixed & set(definition.outputs)


def _places(axes: Sequence[Axis]) -> tuple[Index, ...]:
    return tuple(ix.of(a.symbol) for a in axes)


def _join(done: list[_Item], item: _Item) -> bool:
    """Merges the item into an earlier definition, if there is one that it can join."""
    for k in reversed(range(len(done))):
        target = done[k]
        if not (target.open and (target.reads | target.writes) & item.reads):
            continue
        between = done[k + 1 :]
        up = all(item.may_pass(other) for other in between)
        if not up and not all(target.may_pass(other) for other in between):
            continue
        merged = _merged(target.definition, item.definition)
        if merged is None:
            continue
        reads = target.reads | item.reads - target.writes
        joined = _Item(merged, reads, frozenset(merged.outputs), open=True)
        if up:
            done[k] = joined
        else:
            del done[k]
            done.append(joined)
        return True
    return False


def _merged(first: Definition, second: Definition) -> Definition | None:
    """Both as one definition over the axes of the first; None where they share no element."""
    if [a.extent for a in first.axes] != [a.extent for a in second.axes]:
        return None
    outputs = (*first.outputs, *second.outputs)
    if len(outputs) > MOST_OUTPUTS:
        return None
    known = {id(b): v for b, v in zip(first.outputs, first.values, strict=True)}
    seen = {(load.buffer, load.index) for load in loads(first.values)}
    places = _places(first.axes)
    shares = moved = False

    def take(value: Value) -> Value | None:
        nonlocal shares, moved
        if not isinstance(value, Load):
            return None
        shares |= (value.buffer, value.index) in seen
        if id(value.buffer) not in known:
            return None
        if value.index != places:
            moved = True  # another point's result: not yet there
            return None
        shares = True
        return known[id(value.buffer)]

    mapping = {a.symbol: place for a, place in zip(second.axes, places, strict=True)}
    ranges = {a.symbol: (0, max(a.extent - 1, 0)) for a in first.axes}
    values = (*first.values, *rewrite(second.values, take, mapping, ranges))
    if moved or not shares or len(postorder(values)) > MOST_VALUES:
        return None
    return replace(first, outputs=outputs, values=values)


def _live(program: TensorProgram, definitions: list[Definition]) -> tuple[Definition, ...]:
    """The definitions without merged scratch outputs that no other definition reads."""
    wanted = {p.buffer for p in program.params}
    for definition in definitions:
        wanted |= {load.buffer for load in loads(_roots(definition))}
    return tuple(_trimmed(d, wanted) for d in definitions)


def _trimmed(definition: Definition, wanted: set[Buffer]) -> Definition:
    """The definition without its unwanted outputs, if it is one of several elementwise ones."""
    pairs = list(zip(definition.outputs, definition.values, strict=True))
    kept = [(buffer, value) for buffer, value in pairs if buffer in wanted]
    if definition.combiner is not None or definition.update or len(kept) in (0, len(pairs)):
        return definition
    outputs, values = zip(*kept, strict=True)
    return replace(definition, name=outputs[0].name, outputs=outputs, values=values)
