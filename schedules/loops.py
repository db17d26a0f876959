"""Loop structure: split, fuse, reorder, tile, merge."""

from __future__ import annotations

from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Symbol
from ..ir.loop.nodes import For, LoopKind, LoopProgram
from . import find
from .find import LoopName, LoopPlace
from .legality import carried, kinds, require_reorder, require_term_order
from .trees import fresh, nest, put, rebind, rename


def split(program: LoopProgram, loop: LoopName, factor: int) -> LoopProgram:
    """Cuts a loop into an outer one and an inner one of `factor` turns.

        for i in 10: A(i)   ->   for i.o in 3: for i.i in 4: A(4*i.o+i.i) where 9-4*i.o-i.i >= 0

    The guard appears only if `factor` does not divide the extent. Refused when: the factor is not
    a positive integer (split_factor); the loop is not serial (marked_loop).
    """
    return split_into(program, loop, factor)[0]


def split_into(
    program: LoopProgram, loop: LoopName, factor: int
) -> tuple[LoopProgram, Symbol, Symbol]:
    """`split`, with the symbols of the outer and the inner loop."""
    place = find.loop(program, loop)
    if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
        raise ScheduleError(
            f"cannot split {place.loop.symbol.name!r} by {factor!r}",
            None,
            "give a whole number of turns, 1 or more",
            code="split_factor",
        )
    _require_serial(place, "split")
    old = place.loop
    taken = _names_around(place)
    outer = Symbol(fresh(f"{old.symbol.name}.o", taken))
    inner = Symbol(fresh(f"{old.symbol.name}.i", taken))
    index = ix.add(ix.scale(ix.of(outer), factor), ix.of(inner))
    loops = (
        For(outer, -(-old.extent // factor), (), partition=old.partition),
        For(inner, factor, ()),
    )
    guard = (ix.subtract(ix.constant(old.extent - 1), index),) if old.extent % factor else ()
    body = rebind(old.body, {old.symbol: index}, (*place.around, *loops), guard)
    return put(program, place.path, *nest(loops, *body)), outer, inner


def fuse(program: LoopProgram, outer: LoopName, inner: LoopName) -> LoopProgram:
    """Makes one loop of two that are perfectly nested.

        for i in 2: for j in 3: A(i, j)   ->   for i*j in 6: A(i*j // 3, i*j % 3)

    Refused when: `inner` is not the whole body of `outer` (fuse_nesting); one of them is not
    serial (marked_loop); a block has axes of different kinds along them (fuse_kinds).
    """
    return fuse_into(program, outer, inner)[0]


def fuse_into(program: LoopProgram, outer: LoopName, inner: LoopName) -> tuple[LoopProgram, Symbol]:
    """`fuse`, with the symbol of the new loop."""
    a = find.loop(program, outer)
    b = find.loop(program, inner)
    if a.loop.body != (b.loop,):
        raise ScheduleError(
            f"{b.loop.symbol.name!r} is not the whole body of {a.loop.symbol.name!r}",
            None,
            "fuse a loop with the one directly inside it; reorder first if need be",
            code="fuse_nesting",
        )
    _require_serial(a, "fuse")
    _require_serial(b, "fuse")
    for block in find.below(b.loop):
        if len(kinds(block, a.loop.symbol) | kinds(block, b.loop.symbol)) > 1:
            raise ScheduleError(
                f"{a.loop.symbol.name!r} and {b.loop.symbol.name!r} go along axes of different "
                f"kinds of {block.name}",
                block.definition.source,
                "fuse spatial loops with spatial ones, reduce loops with reduce loops",
                code="fuse_kinds",
            )
    taken = _names_around(a)
    symbol = Symbol(fresh(f"{a.loop.symbol.name}*{b.loop.symbol.name}", taken))
    extent = b.loop.extent
    new = For(symbol, a.loop.extent * extent, (), partition=a.loop.partition)
    around = (*a.around, new)
    known = find.ranges(around)
    divisor = max(extent, 1)
    mapping = {
        a.loop.symbol: ix.floor_divide(ix.of(symbol), divisor, known),
        b.loop.symbol: ix.modulo(ix.of(symbol), divisor, known),
    }
    body = rebind(b.loop.body, mapping, around)
    return put(program, a.path, replace(new, body=body)), symbol


def reorder(program: LoopProgram, *order: LoopName) -> LoopProgram:
    """Puts nested loops into the given order, outermost first; loops between them stay in place.

        for i: for j: A(i, j)   ->   for j: for i: A(i, j)

    Refused when: a loop is named twice (reorder_twice); the loops are not perfectly nested in one
    another (reorder_nesting); the exchange carries data the wrong way (reorder_scan,
    ordered_update, carried_dependence) or changes the order of terms of an exact reduction
    (reorder_reduce); a vectorised loop would not be innermost (vector_inner), a parallel one not
    outermost (parallel_nested).
    """
    chosen = [find.loop(program, name) for name in order]
    if len({p.loop.symbol for p in chosen}) < len(chosen):
        raise ScheduleError(
            "reorder names a loop twice", None, "name each loop once", code="reorder_twice"
        )
    if len(chosen) < 2:
        return program
    by_depth = sorted(chosen, key=lambda p: len(p.path))
    top, bottom = by_depth[0], by_depth[-1]
    chain = [top.loop]
    while chain[-1] is not bottom.loop:
        body = chain[-1].body
        if len(body) != 1 or not isinstance(body[0], For):
            raise ScheduleError(
                f"{bottom.loop.symbol.name!r} is not perfectly nested in {top.loop.symbol.name!r}",
                None,
                "loops can be reordered where each is the whole body of the one around it",
                code="reorder_nesting",
            )
        chain.append(body[0])
    wanted = iter(p.loop for p in chosen)
    symbols = {p.loop.symbol for p in chosen}
    new = [next(wanted) if loop.symbol in symbols else loop for loop in chain]
    if [a.symbol for a in new] == [b.symbol for b in chain]:
        return program
    moved = [k for k, (a, b) in enumerate(zip(new, chain, strict=True)) if a is not b]
    first, last = moved[0], moved[-1]
    touched = tuple(
        LoopPlace(chain[k], (*top.path, *(0 for _ in range(k))), (*top.around, *chain[:k]))
        for k in range(first, last + 1)
    )
    require_reorder(touched)
    for block in find.below(bottom.loop):
        require_term_order(block, tuple(chain), tuple(new))
    _require_marks_in_place(new, top, bottom)
    return put(program, top.path, *nest(new, *bottom.loop.body))


def _require_marks_in_place(new: list[For], top: LoopPlace, bottom: LoopPlace) -> None:
    inner = [o for node in bottom.loop.body for o in find.loops_below(node)]
    for number, loop in enumerate(new):
        inside = (*new[number + 1 :], *inner)
        if loop.kind is LoopKind.VECTOR and any(o.kind is not LoopKind.UNROLL for o in inside):
            raise ScheduleError(
                f"{loop.symbol.name!r} is vectorised and would no longer be innermost",
                None,
                "reorder first and vectorise then",
                code="vector_inner",
            )
        if loop.kind is LoopKind.PARALLEL and (number or top.around):
            raise ScheduleError(
                f"{loop.symbol.name!r} is parallel and would no longer be outermost",
                None,
                "reorder first and mark the loop then",
                code="parallel_nested",
            )


def tile(program: LoopProgram, block: str, **sizes: int) -> LoopProgram:
    """Splits loops of a block by the given sizes and puts the inner ones innermost, in that order.

        for i: for j: A   ->   for i.o: for j.o: for i.i: for j.i: A        (tile("A", i=4, j=8))

    Refused when: `split` or `reorder` is.
    """
    outer: list[Symbol] = []
    inner: list[Symbol] = []
    for name, factor in sizes.items():
        program, o, i = split_into(program, f"{block}/{name}", factor)
        outer.append(o)
        inner.append(i)
    return reorder(program, *outer, *inner)


def merge(program: LoopProgram, first: LoopName, second: LoopName) -> LoopProgram:
    """Makes one loop of two neighbours of equal extent and kind; `first` comes before `second`.

        for i: A(i)  for j: B(j)   ->   for i: A(i) B(i)

    Refused when: they are not neighbours (merge_neighbours); extents or kinds differ
    (merge_shape); an iteration of the second uses what another of the first writes, or the reverse
    (carried_dependence).
    """
    a = find.loop(program, first)
    b = find.loop(program, second)
    if a.path[:-1] != b.path[:-1] or b.path[-1] != a.path[-1] + 1:
        raise ScheduleError(
            f"loop {b.loop.symbol.name!r} does not come directly after {a.loop.symbol.name!r}",
            None,
            "merge takes two loops that follow one another in one body",
            code="merge_neighbours",
        )
    if (a.loop.extent, a.loop.kind) != (b.loop.extent, b.loop.kind):
        raise ScheduleError(
            f"{a.loop.symbol.name!r} ({a.loop.kind.value}, {a.loop.extent} turns) and "
            f"{b.loop.symbol.name!r} ({b.loop.kind.value}, {b.loop.extent}) differ",
            None,
            "split or mark them alike first",
            code="merge_shape",
        )
    partition = a.loop.partition or b.loop.partition
    joined = replace(a.loop, body=(), partition=partition)
    around = (*a.around, joined)
    moved = rebind(b.loop.body, {b.loop.symbol: ix.of(a.loop.symbol)}, around)
    moved = rename(moved, around, frozenset(loop.symbol.name for loop in around))
    joined = replace(joined, body=(*a.loop.body, *moved))
    found = carried(LoopPlace(joined, a.path, a.around), private=False)
    if found is not None:
        writer, other, buffer = found
        raise ScheduleError(
            f"{other.name} may use elements of {buffer.name} that {writer.name} writes in another "
            f"iteration of {a.loop.symbol.name!r}",
            other.definition.source,
            "keep the loops apart",
            code="carried_dependence",
        )
    without = put(program, b.path)
    return put(without, a.path, joined)


def _require_serial(place: LoopPlace, what: str) -> None:
    if place.loop.kind is not LoopKind.SERIAL:
        raise ScheduleError(
            f"cannot {what} {place.loop.symbol.name!r}: it is marked {place.loop.kind.value}",
            None,
            f"{what} first and mark the result",
            code="marked_loop",
        )


def _names_around(place: LoopPlace) -> list[str]:
    """Names that loops around and inside have: new ones must differ, the loop's own is free."""
    inside = (loop.symbol.name for node in place.loop.body for loop in find.loops_below(node))
    return [*(loop.symbol.name for loop in place.around), *inside]
