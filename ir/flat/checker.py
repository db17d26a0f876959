"""The rules of the flat level."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from ..errors import InternalError
from ..expr import index as ix
from ..expr.nodes import Buffer, Index, Load, Scope, Symbol, Value
from ..expr.values import indices, postorder
from .nodes import Assign, FlatNode, FlatProgram, Storage


def check(program: FlatProgram) -> None:
    """Raises InternalError unless the program is one that emitters may rely on.

    Buffers are flat and known; indices are over symbols in scope; loops have ordered segments;
    scratch lies within its bytes and no two buffers share a byte.
    """
    known = {s.buffer for s in program.storages}
    for storage in program.storages:
        _storage(storage, program)
    _apart([s for s in program.storages if s.buffer.scope is Scope.SCRATCH])
    _nodes(program.body, frozenset(), known)


def _storage(storage: Storage, program: FlatProgram) -> None:
    buffer = storage.buffer
    if len(buffer.shape) != 1:
        raise InternalError(f"buffer {buffer.name} of shape {buffer.shape} is not flat")
    if buffer.scope is Scope.SCRATCH:
        limit = program.worker_bytes if storage.per_worker else program.shared_bytes
        if storage.position + buffer.shape[0] * buffer.dtype.itemsize > limit:
            raise InternalError(f"scratch buffer {buffer.name} does not fit into {limit} bytes")
    if (buffer.scope is Scope.GLOBAL) != (storage.role is not None):
        raise InternalError(f"buffer {buffer.name}: parameters, and only they, have a role")


def _apart(storages: list[Storage]) -> None:
    ordered = sorted(storages, key=lambda s: (s.per_worker, s.position))
    for a, b in pairwise(ordered):
        end = a.position + a.buffer.shape[0] * a.buffer.dtype.itemsize
        if a.per_worker == b.per_worker and end > b.position:
            raise InternalError(f"scratch buffers {a.buffer.name} and {b.buffer.name} overlap")


def _nodes(nodes: Iterable[FlatNode], scope: frozenset[Symbol], known: set[Buffer]) -> None:
    for node in nodes:
        if isinstance(node, Assign):
            _assign(node, scope, known)
            continue
        if node.symbol in scope:
            raise InternalError(f"loop {node.symbol} is inside itself")
        ends = [edge for segment in node.segments for edge in segment]
        if ends != sorted(ends) or any(low >= high for low, high in node.segments if high):
            raise InternalError(f"loop {node.symbol} has segments {node.segments}")
        inner = scope | {node.symbol}
        for condition in node.tighten:
            _index(condition, inner)
        _nodes(node.body, inner, known)


def _assign(node: Assign, scope: frozenset[Symbol], known: set[Buffer]) -> None:
    for target in node.targets:
        if target not in known or target.scope is Scope.TABLE:
            raise InternalError(f"a statement writes {target.name}, which is not storage")
    for index in (*node.offsets, *node.guard):
        _index(index, scope)
    roots: list[Value] = [*node.values]
    roots += [d.value for i in (*node.offsets, *node.guard) for d in ix.dynamics(i)]
    for value in postorder(roots):
        for index in indices(value):
            _index(index, scope)
        if isinstance(value, Load) and (value.buffer not in known or len(value.index) != 1):
            raise InternalError(f"a load of {value.buffer.name} is not flat")


def _index(index: Index, scope: frozenset[Symbol]) -> None:
    missing = ix.symbols(index) - scope
    if missing:
        names = ", ".join(sorted(s.name for s in missing))
        raise InternalError(f"an index uses {names} outside the loop")
