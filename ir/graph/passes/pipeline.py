"""The passes over a graph, in order, with the checker between any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from .. import ops
from ..checker import check as check_graph
from ..constants import ConstantStore
from ..nodes import Constant, Equation, Graph
from .algebra import simplify
from .batchnorm import fold_affine
from .clean import clean
from .fold import fold
from .inline import inline
from .tables import tabulate

Pass: TypeAlias = Callable[[Graph], Graph]

MAX_ROUNDS = 4
"""How often simplification, folding and cleaning may follow each other before it is enough."""


def optimise(
    graph: Graph,
    *,
    precision: ops.Precision = "default",
    check: bool = True,
    store: ConstantStore | None = None,
) -> Graph:
    """The graph, computing the same with less.

    With precision "highest" every result keeps its bits, except that constants are folded with
    NumPy's functions. `store` shares folded constants between graphs. With `check`, raises
    InternalError if the graph, or what a pass makes of it, breaks a rule of the level.
    """
    store = ConstantStore() if store is None else store
    trusted: set[Equation] | None = set() if check else None
    if trusted is not None:
        check_graph(graph, trusted)
    simplest = (simplify, partial(fold, store=store), clean)
    graph = _run((inline, partial(share_constants, store=store)), graph, trusted)
    graph = _settle(simplest, graph, trusted)
    if precision == "default":
        before, graph = graph, _run((partial(fold_affine, store=store),), graph, trusted)
        if graph is not before:
            graph = _settle(simplest, graph, trusted)
    return _run((partial(tabulate, store=store),), graph, trusted)


def _settle(passes: Sequence[Pass], graph: Graph, trusted: set[Equation] | None) -> Graph:
    """The passes repeated until the graph stays as it is."""
    for _ in range(MAX_ROUNDS):
        before, graph = graph, _run(passes, graph, trusted)
        if graph is before:
            break
    return graph


def _run(passes: Sequence[Pass], graph: Graph, trusted: set[Equation] | None) -> Graph:
    for transform in passes:
        before, graph = graph, transform(graph)
        if trusted is not None and graph is not before:
            check_graph(graph, trusted)
    return graph


def share_constants(graph: Graph, store: ConstantStore) -> Graph:
    """Constants of equal content hold one array, across all graphs that use the store."""
    arrays = [store.intern(c.array) for c in graph.constants]
    if all(a is c.array for a, c in zip(arrays, graph.constants, strict=True)):
        return graph
    constants = tuple(
        c if a is c.array else Constant(c.var, a)
        for a, c in zip(arrays, graph.constants, strict=True)
    )
    return Graph(graph.inputs, constants, graph.equations, graph.outputs)
