"""What becomes of guards on the way to the flat level.

Each condition `index >= 0` is, where a statement runs, always true (it vanishes), always false (the
statement vanishes) or open. Two means leave fewer of them open without copying code: a condition
common to a running loop's whole body becomes a bound of the loop, and a loop marked `partition`
is cut where a condition changes state. What stays open is for the emitter: lane masks, selected
addresses, branches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from ..expr import index as ix
from ..expr.index import Ranges
from ..expr.nodes import Guarded, Index, Symbol
from ..expr.values import postorder
from ..flat.nodes import Assign, FlatNode, Loop

# A stretch of mixed state longer than this is left running, its conditions open.
MOST_UNIT_SEGMENTS = 4


def conditions(nodes: Iterable[FlatNode]) -> list[Index]:
    """The distinct conditions of the statements below, those inside values included."""
    found: dict[Index, None] = {}
    for node in nodes:
        if isinstance(node, Loop):
            found.update(dict.fromkeys(node.tighten))
            found.update(dict.fromkeys(conditions(node.body)))
            continue
        found.update(dict.fromkeys(node.guard))
        for value in postorder(node.values):
            if isinstance(value, Guarded):
                found.update(dict.fromkeys(value.conditions))
    return list(found)


def cut(
    symbol: Symbol, extent: int, inside: Iterable[Index], ranges: Ranges
) -> tuple[tuple[int, int], ...]:
    """[0, extent) in segments within which no condition changes state, mixed stretches in ones.

    `ranges` holds every other symbol of the conditions.
    """
    edges = {0, extent}
    mixed: list[tuple[int, int]] = []
    for condition in inside:
        c = ix.coefficient(condition, symbol)
        if not c:
            continue
        rest = ix.subtract(condition, ix.scale(ix.of(symbol), c))
        low, high = ix.bounds(rest, ranges)
        if not (isinstance(low, int) and isinstance(high, int)):
            continue
        # c*s + low >= 0 holds for all inner values; c*s + high >= 0 for some.
        first, last = (
            -(low // c) if c > 0 else low // -c + 1,
            -(high // c) if c > 0 else (high // -c + 1),
        )
        a, b = sorted((min(max(first, 0), extent), min(max(last, 0), extent)))
        edges |= {a, b}
        if b > a:
            mixed.append((a, b))
    for a, b in mixed:
        if b - a <= MOST_UNIT_SEGMENTS:
            edges |= set(range(a, b + 1))
    ordered = sorted(edges)
    return tuple((a, b) for a, b in pairwise(ordered))


def tighten(loop: Loop, outside: frozenset[Symbol]) -> Loop:
    """Moves the conditions that the whole body shares, and that fit a bound, to the loop.

    They fit if their symbols are the loop's own (with a plain coefficient) or outside it.
    """
    shared = _shared(loop.body)
    allowed = outside | {loop.symbol}
    fitting = tuple(
        c
        for c in shared
        if ix.symbols(c) <= allowed
        and ix.coefficient(c, loop.symbol) is not None
        and not ix.dynamics(c)
    )
    if not fitting:
        return loop
    body = tuple(_without(node, frozenset(fitting)) for node in loop.body)
    return Loop(loop.symbol, loop.segments, body, loop.kind, (*loop.tighten, *fitting))


def _shared(nodes: tuple[FlatNode, ...]) -> list[Index]:
    """Conditions on every statement below, in a stable order."""
    common: dict[Index, None] | None = None
    for node in nodes:
        own = list(node.guard) if isinstance(node, Assign) else [*node.tighten, *_shared(node.body)]
        kept = dict.fromkeys(own)
        common = kept if common is None else {c: None for c in common if c in kept}
    return list(common or ())


def _without(node: FlatNode, gone: frozenset[Index]) -> FlatNode:
    if isinstance(node, Assign):
        guard = tuple(c for c in node.guard if c not in gone)
        return replace(node, guard=guard)
    return Loop(
        node.symbol,
        node.segments,
        tuple(_without(n, gone) for n in node.body),
        node.kind,
        tuple(c for c in node.tighten if c not in gone),
    )
