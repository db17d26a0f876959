"""Counting the nodes that passes visit, so that a test can tell linear work from quadratic.

    with counting() as counts:
        optimise(graph)
    counts["fold"]          # how many equations the pass `fold` looked at

Off by default, when `visit` hands back its argument and costs one call a pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_counts: ContextVar[Counter[str] | None] = ContextVar("visit counts", default=None)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Counts visits by name inside the block (in this thread)."""
    counts: Counter[str] = Counter()
    token = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(token)


def visit(name: str, nodes: Iterable[T]) -> Iterable[T]:
    """The nodes, each counted under `name` as it is reached, if someone is counting."""
    counts = _counts.get()
    return nodes if counts is None else _counted(name, nodes, counts)


def _counted(name: str, nodes: Iterable[T], counts: Counter[str]) -> Iterator[T]:
    for node in nodes:
        counts[name] += 1
        yield node
