"""A rough count of the work in a flat program, to decide what is worth a thread."""

from __future__ import annotations

from collections.abc import Iterable

from ..expr.nodes import Load, Op
from ..expr.values import postorder
from ..loop.nodes import LoopKind
from .nodes import Assign, FlatNode, FlatProgram

# One vector operation or access, throughput-bound and from near caches, on a present-day core.
NANOSECONDS_PER_OPERATION = 0.15


def nanoseconds(nodes: Iterable[FlatNode]) -> float:
    """An estimate of the serial time of some nodes, good to a factor of a few."""
    total = 0.0
    for node in nodes:
        if isinstance(node, Assign):
            total += _operations(node) * NANOSECONDS_PER_OPERATION
            continue
        trips: float = sum(high - low for low, high in node.segments)
        if node.kind is LoopKind.VECTOR:
            trips = max(1.0, trips / 8)
        total += trips * nanoseconds(node.body)
    return total


def estimate(program: FlatProgram) -> float:
    """The serial time of the whole kernel in nanoseconds, roughly."""
    return nanoseconds(program.body)


def _operations(node: Assign) -> int:
    inside = sum(isinstance(v, Op | Load) for v in postorder(node.values))
    return inside + len(node.targets) * (2 if node.combiner else 1)
