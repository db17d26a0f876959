"""From a grouped graph to the plan: which memory each value has, and the kernel calls in order.

Groups are taken in order. Views cost nothing. An update works in place if nothing still needs the
old value, else on a copy. A small contiguous update disappears where the kernel that makes its
value can write it there at once. Placing (results, arena) and rolling come last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..graph.key import workload_key
from ..graph.nodes import ArrayType, Constant, Equation, Group, GroupedGraph, Literal, Var
from ..graph.passes.hoist import is_view_group
from ..graph.views import store_offset
from ..plan.nodes import Copy, Launch, Place, Plan, Step
from ..visits import visit
from .arena import place
from .chains import Chain, Chains, is_store_group
from .copies import assign_group, copy_group
from .memory import Piece, Storage, is_contiguous, view
from .narrow import narrow
from .rolling import roll


def build(
    grouped: GroupedGraph,
    written: Iterable[tuple[int, int]] = (),
    strides: Mapping[int, tuple[int, ...]] | None = None,
    spare: Iterable[int] = (),
) -> Plan:
    """The plan of a grouped graph.

    `written`: pairs (input, output): that output goes back into the caller's array of that input
    and is no fresh result. `strides`: in elements, of inputs that are not C-contiguous. `spare`:
    further inputs whose memory may be used up. Every other result is fresh memory that nothing
    else shares.
    """
    return _Builder(grouped, dict(written), dict(strides or {}), frozenset(spare)).run()


@dataclass(slots=True, eq=False)
class _Call:
    """A launch before its slots have places."""

    group: Group
    pieces: tuple[Piece, ...]


@dataclass(slots=True, eq=False)
class _Move:
    """A copy before its slots have places."""

    source: Piece
    target: Piece


class _Builder:
    def __init__(
        self,
        grouped: GroupedGraph,
        written: dict[int, int],
        strides: dict[int, tuple[int, ...]],
        spare: frozenset[int],
    ):
        self.grouped = grouped
        self.written = written
        self.constants = list(grouped.constants)
        self.storages: list[Storage] = []
        self.steps: list[_Call | _Move] = []
        self.pieces: dict[Var, Piece] = {}
        self.chains = Chains(grouped)
        self.uses = Counter(self.chains.uses)  # those still to come
        self.number = 0  # of the group at hand
        self.stored: dict[Var, Piece] = {}  # results of updates that have been done already
        self.consumed: set[tuple[int, Var]] = set()  # uses that such updates have settled
        self.arguments: list[Piece] = []
        for k, var in enumerate(grouped.inputs):
            nbytes = var.type.nbytes
            storage = self.storage(
                nbytes, Place.ARGUMENT, k, fixed=k not in written and k not in spare
            )
            own = strides.get(k)
            if own is not None and is_contiguous(var.type.shape, own):
                own = None
            self.arguments.append(Piece(var.type, storage, 0, own))
            self.define(var, self.arguments[-1])
        for k, constant in enumerate(grouped.constants):
            storage = self.storage(constant.var.type.nbytes, Place.CONSTANT, k, fixed=True)
            self.define(constant.var, Piece(constant.var.type, storage))
        self.homes = {
            grouped.outputs[o]: self.arguments[i]
            for i, o in written.items()
            if isinstance(grouped.outputs[o], Var)
        }

    def run(self) -> Plan:
        for number, group in enumerate(visit("plan", self.grouped.groups)):
            self.number = number
            self.take(group)
        results = self.finish()
        arena_bytes = self.place_arena()
        steps: list[Step] = []
        for step in self.steps:
            if isinstance(step, _Move):
                steps.append(Copy(step.source.slot(), step.target.slot()))
            else:
                strides = {
                    v: p.strides
                    for v, p in zip(step.group.inputs, step.pieces, strict=False)
                    if p.strides is not None
                }
                key = workload_key(step.group, strides)
                steps.append(Launch(key, step.group, tuple(p.slot() for p in step.pieces)))
        return Plan(
            tuple(p.slot() for p in self.arguments),
            tuple(self.constants),
            roll(steps),
            tuple(p.slot() for p in results),
            arena_bytes,
        )

    # Memory.

    def storage(
        self, nbytes: int, place: Place | None = None, position: int = 0, fixed: bool = False
    ) -> Storage:
        made = Storage(nbytes, place, position, fixed)
        self.storages.append(made)
        return made

    def fresh(self, type_: ArrayType) -> Piece:
        return Piece(type_, self.storage(type_.nbytes))

    def define(self, var: Var, piece: Piece) -> None:
        """Says where a value lies, and that its uses are still to come."""
        self.pieces[var] = piece
        if self.uses[var]:
            piece.storage.pending += self.uses[var]
            piece.storage.residents[var] = None

    def forget(self, var: Var) -> None:
        """Takes a value out of its storage."""
        storage = self.pieces[var].storage
        storage.pending -= self.uses[var]
        del storage.residents[var]

    def used(self, var: Var) -> Piece:
        """Where a value lies that is used now, for the last time if no other use is to come."""
        piece = self.pieces[var]
        if (self.number, var) in self.consumed:
            return piece
        self.forget(var)
        self.uses[var] -= 1
        self.define(var, piece)
        return piece

    def emit(self, step: _Call | _Move) -> None:
        pieces = step.pieces if isinstance(step, _Call) else (step.source, step.target)
        for piece in pieces:
            piece.storage.touch(len(self.steps))
        self.steps.append(step)

    # One group.

    def take(self, group: Group) -> None:
        """Gives the group's outputs their memory, and emits its launch if it needs one."""
        operands = [self.used(v) for v in group.inputs]
        if group.outputs and group.outputs[0] in self.stored:
            self.define(group.outputs[0], self.stored[group.outputs[0]])
            return
        if is_view_group(group):
            viewed = view(operands[0], group.equations[0])
            if viewed is not None:
                self.define(group.outputs[0], viewed)
                return
        if is_store_group(group) and operands[0].strides is None:
            self.store(group, operands)
            return
        if group.donated:
            self.update(group, operands)
            return
        group, targets = self.destinations(group, operands)
        donated = {o for _, o in group.donated}
        pieces = list(operands)
        for k, var in enumerate(group.outputs):
            piece = targets.get(k) or self.fresh(var.type)
            self.define(var, piece)
            if k not in donated:
                pieces.append(piece)
        self.emit(_Call(group, tuple(pieces)))

    def update(self, group: Group, operands: list[Piece]) -> None:
        """Launches a kernel that updates an operand in place."""
        ((position, output),) = group.donated
        var = group.outputs[output]
        narrowed = narrow(group)
        part = None if narrowed is None else view(operands[position], narrowed[1])
        whole = group.inputs[position]
        base = self.writable(whole, operands, position, part or operands[position])
        self.define(var, base)
        operands[position] = base
        if narrowed is not None:
            group, slice_ = narrowed
            operands[position] = view(base, slice_) or base
        self.emit(_Call(group, tuple(operands)))

    def writable(self, var: Var, operands: list[Piece], position: int, part: Piece) -> Piece:
        """The operand `var` if its part may be overwritten, else a copy of it.

        Where little of the part is still needed, that is copied out instead: values by other
        names, and other operands (replaced in the list).
        """
        operand = operands[position]
        storage = operand.storage
        needed = [v for v in storage.residents if self.pieces[v].overlaps(part)]
        others = [k for k, p in enumerate(operands) if k != position and p.overlaps(part)]
        cost = sum(v.type.nbytes for v in needed) + sum(operands[k].type.nbytes for k in others)
        if storage.fixed or cost >= max(operand.type.nbytes, 1):
            return self.copied(operand, var)
        for k in others:
            operands[k] = self.copied(operands[k])
        for name in needed:
            self.forget(name)
            self.define(name, self.copied(self.pieces[name]))
        return operand

    def copied(self, piece: Piece, var: Var | None = None) -> Piece:
        """A copy; of a variable that was filled without operands, by filling again."""
        copy = self.fresh(piece.type)
        filler = None if var is None else self.chains.filler(var)
        if filler is None:
            self.copy(piece, copy)
        else:
            self.emit(_Call(filler, (copy,)))
        return copy

    def store(self, group: Group, operands: list[Piece]) -> None:
        """Does an update of a contiguous range by a copy."""
        (equation,) = group.equations
        target = self.writable(group.inputs[0], operands, 0, _range(operands[0], equation))
        self.define(equation.outputs[0], target)
        self.copy(operands[1], _range(target, equation))

    def destinations(self, group: Group, operands: list[Piece]) -> tuple[Group, dict[int, Piece]]:
        """Outputs of an ordinary group that are better written into memory that exists.

        An output may go into a range that a later update would copy it to, or into the written
        argument that it is the new value of; where the kernel reads that very memory, the group
        returned has it donated.
        """
        targets: dict[int, Piece] = {}
        donated: list[tuple[int, int]] = []
        for k, var in enumerate(group.outputs):
            chain = self.chains.find(self.number, var)
            early = None if chain is None else self.early_base(chain, var, operands)
            target = self.own_argument(var) if early is None else self.range_of(chain, early, var)
            if target is None or any(target.overlaps(t) for t in targets.values()):
                continue
            reading = [i for i, p in enumerate(operands) if p.overlaps(target)]
            if any(not operands[i].same(target) for i in reading) or len(reading) > 1:
                continue
            if any(operands[i].type != var.type for i in reading):
                continue
            if target.strides is not None and not reading:
                continue
            donated += [(i, k) for i in reading]
            targets[k] = target
            if chain is not None and early is not None:
                self.stored[self.chains.groups[chain.update].outputs[0]] = early
                self.consumed.update(chain.links)
                self.uses.subtract(name for _, name in chain.links)
        if donated:
            group = replace(group, donated=tuple(donated))
        return group, targets

    def own_argument(self, var: Var) -> Piece | None:
        """The written argument whose new value this is, if its old one is dead."""
        home = self.homes.get(var)
        if home is None or home.type != var.type or home.storage.pending:
            return None
        return home

    def early_base(self, chain: Chain, var: Var, operands: list[Piece]) -> Piece | None:
        """The array that a value may be written into long before its update, None if it may not.

        Nothing but the updates may still need what lies there. If the update is bound to work on a
        copy, the copy is made now, and operands that are the same range are read from there.
        """
        piece = self.pieces[chain.base]
        if piece.strides is not None:
            return None
        storage = piece.storage
        if storage.fixed or self.chains.is_needed_after(chain.base, chain.update):
            if chain.between:
                return None
            copy = self.copied(piece, chain.base)
            old, new = (self.range_of(chain, p, var) for p in (piece, copy))
            operands[:] = [new if p.same(old) and p.type == var.type else p for p in operands]
            return copy
        updates = (self.chains.equation(chain.update), *chain.between)
        ranges = [_range(piece, e) for e in updates]
        if self.uses[chain.base] != 1 or any(r.overlaps(ranges[0]) for r in ranges[1:]):
            return None
        for name in storage.residents:
            if name is not chain.base and any(self.pieces[name].overlaps(r) for r in ranges):
                return None
        return piece

    def range_of(self, chain: Chain | None, base: Piece, var: Var) -> Piece:
        """The part of the array that the value will be, in the value's own shape."""
        assert chain is not None
        return replace(_range(base, self.chains.equation(chain.update)), type=var.type)

    # The end.

    def finish(self) -> list[Piece]:
        """The outputs' pieces: fresh results first, then what goes back into arguments."""
        results: dict[int, Piece] = {}
        back: list[tuple[Piece, Piece]] = []
        given = {o: i for i, o in self.written.items()}
        fresh = 0
        for k, atom in enumerate(self.grouped.outputs):
            piece = self.literal(atom) if isinstance(atom, Literal) else self.pieces[atom]
            if k in given:
                results[k] = self.arguments[given[k]]
                if not piece.same(results[k]) and piece is not results[k]:
                    back.append((piece, results[k]))
                continue
            if piece.storage.place is not None or not piece.whole:
                copy = self.fresh(piece.type)
                self.copy(piece, copy)
                piece = copy
            piece.storage.place, piece.storage.position = Place.RESULT, fresh
            results[k] = piece
            fresh += 1
        self.write_back(back)
        return [results[k] for k in range(len(results))]

    def write_back(self, pairs: list[tuple[Piece, Piece]]) -> None:
        """Copies values into arguments' memory, none before all that lie there have been read."""
        targets = {target.storage for _, target in pairs}
        held = []
        for source, target in pairs:
            if source.storage in targets:
                copy = self.fresh(source.type)
                self.copy(source, copy)
                source = copy
            held.append((source, target))
        for source, target in held:
            self.copy(source, target)

    def literal(self, literal: Literal) -> Piece:
        """A constant of its own for a literal that is a result."""
        array = np.array(literal.value)
        array.flags.writeable = False
        storage = self.storage(array.nbytes, Place.CONSTANT, len(self.constants), fixed=True)
        var = Var(literal.type)
        self.constants.append(Constant(var, array))
        return Piece(literal.type, storage)

    def copy(self, source: Piece, target: Piece) -> None:
        """A copy, by a kernel if one side is strided."""
        if source.type.nbytes == 0:
            return
        if source.strides is None and target.strides is None:
            self.emit(_Move(source, target))
        elif target.strides is None:
            self.emit(_Call(copy_group(source.type), (source, target)))
        else:
            self.emit(_Call(assign_group(target.type), (target, source)))

    def place_arena(self) -> int:
        """Gives the fresh storages that are no results their offsets; the bytes needed."""
        free = [s for s in self.storages if s.place is None]
        offsets, end = place([(s.first, s.last, s.nbytes) for s in free])
        for storage, offset in zip(free, offsets, strict=True):
            storage.place, storage.position = Place.ARENA, offset
        return end


def _range(base: Piece, update: Equation) -> Piece:
    """The piece of an array that a contiguous update writes."""
    offset = store_offset(update)
    assert offset is not None
    type_ = update.inputs[1].type
    return Piece(type_, base.storage, base.offset + offset * type_.dtype.itemsize)
