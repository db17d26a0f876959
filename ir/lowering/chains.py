"""Where a value goes: the update of an array's range that it ends in, by the grouped graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..graph.nodes import Equation, Group, GroupedGraph, Var
from ..graph.ops import Reshape, UpdateSlice
from ..graph.passes.hoist import is_view_group
from ..graph.views import store_offset

LOOKAHEAD = 16
"""How many readers, reshapes and other updates may lie between a value and its update."""


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A value's way into an array, all of it still to come.

    `links`: the value's names and the groups that read them on the way; `update`: the number of
    the updating group; `between`: updates of the same array before it; `base`: the array as it is
    when the value is made.
    """

    links: tuple[tuple[int, Var], ...]
    update: int
    between: tuple[Equation, ...]
    base: Var


class Chains:
    """Who makes and reads the variables of a grouped graph."""

    def __init__(self, grouped: GroupedGraph):
        self.groups = grouped.groups
        self.returned = {v for v in grouped.outputs if isinstance(v, Var)}
        self.makers = {v: k for k, g in enumerate(grouped.groups) for v in g.outputs}
        self.readers: dict[Var, list[int]] = {}
        for k, group in enumerate(grouped.groups):
            for var in group.inputs:
                self.readers.setdefault(var, []).append(k)
        self.uses = Counter({v: len(ks) for v, ks in self.readers.items()})
        self.uses.update(v for v in grouped.outputs if isinstance(v, Var))

    def equation(self, number: int) -> Equation:
        """The only equation of a view or store group."""
        return self.groups[number].equations[0]

    def is_needed_after(self, var: Var, number: int) -> bool:
        """Whether a later group, or the caller, uses the variable."""
        return var in self.returned or self.readers[var][-1] > number

    def filler(self, var: Var) -> Group | None:
        """The group that makes the variable out of nothing, if one does."""
        number = self.makers.get(var)
        group = None if number is None else self.groups[number]
        return group if group is not None and not group.inputs and len(group.outputs) == 1 else None

    def find(self, number: int, var: Var) -> Chain | None:
        """The way of a value that group `number` makes, if it ends in an update of a range."""
        for reader in self.readers.get(var, ())[:LOOKAHEAD]:
            links = self._links(reader, var)
            if links is not None:
                return self._chain(number, links)
        return None

    def _links(self, reader: int, var: Var) -> tuple[tuple[int, Var], ...] | None:
        """From a reader through reshapes that nothing else uses to an update."""
        links = [(reader, var)]
        for _ in range(LOOKAHEAD):
            reader, var = links[-1]
            group = self.groups[reader]
            if is_store_group(group):
                return tuple(links) if self.equation(reader).inputs[1] is var else None
            reshape = is_view_group(group) and isinstance(self.equation(reader).op, Reshape)
            (result,) = group.outputs[:1] or (None,)
            if not reshape or result is None or result in self.returned:
                return None
            if self.uses[result] != 1:
                return None
            links.append((self.readers[result][0], result))
        return None

    def _chain(self, number: int, links: tuple[tuple[int, Var], ...]) -> Chain | None:
        update = links[-1][0]
        between: list[Equation] = []
        base = self.groups[update].inputs[0]
        while self.makers.get(base, -1) > number:
            maker = self.groups[self.makers[base]]
            if self.uses[base] != 1 or not is_store_group(maker) or len(between) == LOOKAHEAD:
                return None
            between.append(maker.equations[0])
            base = maker.inputs[0]
        if self.makers.get(base, -1) == number:
            return None
        return Chain(links, update, tuple(between), base)


def is_store_group(group: Group) -> bool:
    """Whether the group is one update of a contiguous range by another array."""
    return (
        len(group.equations) == 1
        and len(group.inputs) == 2
        and isinstance(group.equations[0].op, UpdateSlice)
        and store_offset(group.equations[0]) is not None
    )
