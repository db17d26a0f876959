"""Register tiles of sums of products."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.expr.nodes import Load, Op, Value
from ...ir.tensor.nodes import Definition

LATENCY = 8
"""Accumulators that keep both multiply-add units busy; with fewer, time does not shrink."""

LOAD = 0.25
"""What a load costs beside a multiply-add: two are done in a cycle, but they share the front."""


def factors(definition: Definition) -> tuple[Load, Load] | None:
    """The two loads (below casts) that a sum of products multiplies, if it is one."""
    combiner = definition.combiner
    if combiner is None or combiner.name != "sum" or definition.update:
        return None
    value = definition.values[0]
    if not (isinstance(value, Op) and value.name == "mul" and len(value.args) == 2):
        return None
    left, right = (_below_casts(arg) for arg in value.args)
    if isinstance(left, Load) and isinstance(right, Load):
        return left, right
    return None


def _below_casts(value: Value) -> Value:
    while isinstance(value, Op) and value.name == "cast":
        value = value.args[0]
    return value


def register_tile(
    rows: int, columns: int, lanes: int, registers: int, widths: Iterable[int] = range(1, 9)
) -> tuple[int, int]:
    """(rows, vectors) of the tile that computes a `rows` x `columns` result in least time.

    The tile, one vector for each of its column vectors and a broadcast element fit the registers.
    An exact fit to the rows beats a larger tile with a remainder. `widths` are the numbers of
    vectors to choose from, in increasing order.
    """
    best, least = (1, 1), float("inf")
    for vectors in widths:
        if vectors > 1 and (vectors - 1) * lanes >= columns:
            break
        for height in range(1, min(rows, (registers - 1 - vectors) // vectors) + 1):
            whole, rest = divmod(rows, height)
            cost = whole * _cost(height, vectors) + (_cost(rest, vectors) if rest else 0)
            cost *= -(-columns // (vectors * lanes))
            if cost < least:
                best, least = (height, vectors), cost
    return best


def _cost(height: int, vectors: int) -> float:
    return max(height * vectors, LATENCY) + LOAD * (height + vectors)
