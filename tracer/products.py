"""Sums of products: matmul, dot, tensordot, einsum, as `DotGeneral`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, INT64
from ..ir.errors import ShapeError
from ..ir.graph.nodes import Atom
from ..ir.graph.ops import DotGeneral, Precision, Reduce, Slice, Transpose
from .context import Trace, here
from .elementwise import binary
from .promotion import common_of
from .reducing import axis_of
from .traced import Traced, atom_of, converted, fresh, reshaped_atom
from .views import Shape


def dot_general(
    trace: Trace,
    a: Atom,
    b: Atom,
    contract: tuple[Shape, Shape],
    batch: tuple[Shape, Shape],
    dtype: np.dtype,
    precision: Precision | None,
) -> Atom:
    """Batch axes, then the free axes of a, then those of b; extents are known to fit."""
    free = [
        n
        for atom, *axes in ((a, contract[0], batch[0]), (b, contract[1], batch[1]))
        for k, n in enumerate(atom.type.shape)
        if k not in axes[0] and k not in axes[1]
    ]
    shape = (*(a.type.shape[k] for k in batch[0]), *free)
    op = DotGeneral(contract, batch, dtype, precision or trace.precision)
    return trace.emit(op, (a, b), shape, dtype)


def matmul(
    trace: Trace,
    a: Traced,
    b: Traced,
    precision: Precision | None = None,
    dtype: np.dtype | None = None,
) -> Traced:
    """NumPy's `@`: the last axes are matrices (or vectors), the others are broadcast."""
    if not a.shape or not b.shape:
        raise ShapeError("matmul needs arrays of at least one axis", here(), "use * for scalars")
    result = common_of((a, b)) if dtype is None else dtype
    if result == BOOL:
        counts = matmul(trace, _cast(trace, a, INT64), _cast(trace, b, INT64))
        return fresh(trace, converted(trace, counts, BOOL))
    x, y = _operands(trace, a, b, dtype)
    k = len(a.shape) - 1
    j = max(len(b.shape) - 2, 0)
    if a.shape[k] != b.shape[j]:
        raise ShapeError(
            f"matmul: shapes {a.shape} and {b.shape} do not fit: {a.shape[k]} columns meet "
            f"{b.shape[j]} rows",
            here(),
        )
    a_rank, b_rank = len(a.shape) - 2, len(b.shape) - 2
    if a_rank <= 0 and b_rank <= 0:
        return fresh(trace, dot_general(trace, x, y, ((k,), (j,)), ((), ()), result, precision))
    if b_rank <= 0:  # all rows of a as one matrix
        rows = math.prod(a.shape[:-1])
        flat = reshaped_atom(trace, x, (rows, a.shape[-1]))
        product = dot_general(trace, flat, y, ((1,), (j,)), ((), ()), result, precision)
        return fresh(trace, reshaped_atom(trace, product, (*a.shape[:-1], *b.shape[1:])))
    return _batched(trace, x, y, max(a_rank, 0), b_rank, result, precision)


def _operands(trace: Trace, a: Traced, b: Traced, dtype: np.dtype | None) -> tuple[Atom, Atom]:
    """Both in their common type, unless a result type is asked for: then each in its own."""
    if dtype is not None and not (a.weak or b.weak):
        return atom_of(trace, a), atom_of(trace, b)
    common = common_of((a, b))
    return converted(trace, a, common), converted(trace, b, common)


def _cast(trace: Trace, x: Traced, dtype: np.dtype) -> Traced:
    return fresh(trace, converted(trace, x, dtype))


def _batched(
    trace: Trace,
    a: Atom,
    b: Atom,
    a_rank: int,
    b_rank: int,
    dtype: np.dtype,
    precision: Precision | None,
) -> Traced:
    """Batch axes of both are paired from the right; those of one alone are free axes."""
    rank = max(a_rank, b_rank)
    shapes = (a.type.shape, b.type.shape)
    ranks = (a_rank, b_rank)
    extents: list[list[int]] = []
    for shape, own in zip(shapes, ranks, strict=True):
        extents.append([1] * (rank - own) + list(shape[:own]))
    paired = []
    for p, (m, n) in enumerate(zip(*extents, strict=True)):
        if m != n and 1 not in (m, n):
            raise ShapeError(
                f"matmul: shapes {shapes[0]} and {shapes[1]} do not fit: {m} matrices meet {n}",
                here(),
            )
        paired.append(m == n and p >= rank - a_rank and p >= rank - b_rank)
    # Axes of extent 1 that meet a larger one are dropped: the other's axis is free.
    dropped = [
        {p for p in range(rank) if not paired[p] and own[p] == 1 and other[p] != 1}
        for own, other in (extents, extents[::-1])
    ]
    atoms, places = [], []
    for atom, own, gone in zip((a, b), ranks, dropped, strict=True):
        kept = [p for p in range(rank - own, rank) if p not in gone]
        tail = atom.type.shape[own:]
        shape = (*(atom.type.shape[p - (rank - own)] for p in kept), *tail)
        atoms.append(reshaped_atom(trace, atom, shape))
        places.append(kept)
    batch = tuple(tuple(places[s].index(p) for p in range(rank) if paired[p]) for s in (0, 1))
    k = len(atoms[0].type.shape) - 1
    j = max(len(atoms[1].type.shape) - 2, len(places[1]))
    x, y = atoms
    result = dot_general(trace, x, y, ((k,), (j,)), (batch[0], batch[1]), dtype, precision)
    order: list[int | str] = [p for p in range(rank) if paired[p]]
    order += [p for p in places[0] if not paired[p]]
    order += ["m"] if len(x.type.shape) - len(places[0]) == 2 else []
    order += [p for p in places[1] if not paired[p]]
    order += ["n"] if len(y.type.shape) - len(places[1]) == 2 else []
    wanted: list[int | str] = [*range(rank), *(e for e in ("m", "n") if e in order)]
    final = tuple(max(own) if 0 not in own else 0 for own in zip(*extents, strict=True))
    result = permuted(trace, result, tuple(order.index(e) for e in wanted if e in order))
    tail = result.type.shape[len([e for e in wanted if e in order and isinstance(e, int)]) :]
    return fresh(trace, reshaped_atom(trace, result, (*final, *tail)))


def permuted(trace: Trace, atom: Atom, permutation: Shape) -> Atom:
    """The atom with its axes in another order."""
    if permutation == tuple(range(len(permutation))):
        return atom
    shape = tuple(atom.type.shape[k] for k in permutation)
    return trace.emit(Transpose(permutation), (atom,), shape, atom.type.dtype)


def tensordot(
    trace: Trace, a: Traced, b: Traced, axes: Any, precision: Precision | None = None
) -> Traced:
    """The sum of products over pairs of axes (or the last and first `axes` of them)."""
    if isinstance(axes, tuple | list):
        left, right = ((x,) if not isinstance(x, tuple | list) else x for x in axes)
    else:
        count = int(axes)
        left, right = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    contract = (
        tuple(axis_of(k, a.ndim) for k in left),
        tuple(axis_of(k, b.ndim) for k in right),
    )
    if [a.shape[k] for k in contract[0]] != [b.shape[k] for k in contract[1]]:
        raise ShapeError(
            f"tensordot: shapes {a.shape} and {b.shape} do not fit along {contract[0]} and "
            f"{contract[1]}",
            here(),
        )
    dtype = common_of((a, b))
    counted = INT64 if dtype == BOOL else dtype
    x, y = converted(trace, a, counted), converted(trace, b, counted)
    made = fresh(trace, dot_general(trace, x, y, contract, ((), ()), counted, precision))
    return fresh(trace, converted(trace, made, dtype), scalar=False)


def dot(trace: Trace, a: Traced, b: Traced, precision: Precision | None = None) -> Traced:
    """numpy.dot: the last axis of a with the second last of b (or its only one)."""
    if not a.shape or not b.shape:
        return binary(trace, "mul", a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(trace, a, b, precision)
    return tensordot(trace, a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),)), precision)


class _Term:
    """An operand of an einsum: its atom, and the label of each axis."""

    __slots__ = ("atom", "labels")

    def __init__(self, atom: Atom, labels: str):
        self.atom = atom
        self.labels = labels


def einsum(
    trace: Trace, subscripts: str, operands: list[Traced], precision: Precision | None = None
) -> Traced:
    """Any sum of products that subscripts can say; pairs are contracted one after another."""
    inputs, output = _parsed(subscripts, [x.ndim for x in operands])
    wanted = common_of(operands)
    dtype = INT64 if wanted == BOOL else wanted
    extents: dict[str, int] = {}
    for labels, x in zip(inputs, operands, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if extents.setdefault(label, n) not in (n, 1) and n != 1:
                raise ShapeError(
                    f"einsum {subscripts!r}: label {label!r} is {extents[label]} and {n}", here()
                )
            extents[label] = max(extents[label], n) if n != 0 else 0
    terms = [
        _simple(trace, _Term(converted(trace, x, dtype), labels), extents)
        for labels, x in zip(inputs, operands, strict=True)
    ]
    while len(terms) > 1:
        a, b, *rest = terms
        needed = set(output).union(*(t.labels for t in rest))
        terms = [_contracted(trace, a, b, needed, dtype, precision), *rest]
    last = _summed(trace, terms[0], set(output), precision)
    order = tuple(last.labels.index(label) for label in output)
    result = fresh(trace, permuted(trace, last.atom, order))
    return fresh(trace, converted(trace, result, wanted))


def _parsed(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result; an ellipsis gets labels of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ShapeError(
            f"einsum {subscripts!r} names {len(inputs)} operands, {len(ranks)} were given", here()
        )
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    longest = max(
        (r - len(t.replace("...", "")) for t, r in zip(inputs, ranks, strict=True) if "..." in t),
        default=0,
    )
    hidden = "".join(spare[:longest])
    full = []
    for labels, rank in zip(inputs, ranks, strict=True):
        count = rank - len(labels.replace("...", ""))
        labels = labels.replace("...", hidden[len(hidden) - count :] if count > 0 else "")
        if len(labels) != rank or (labels and not labels.isalpha()):
            raise ShapeError(
                f"einsum {subscripts!r}: {labels!r} does not label an array of {rank} axes", here()
            )
        full.append(labels)
    if not arrow:
        every = "".join(full)
        once = sorted(c for c in set(every) if every.count(c) == 1 and c not in hidden)
        return full, hidden + "".join(once)
    output = output.replace("...", hidden)
    missing = [c for c in output if c not in "".join(full)]
    if missing or len(set(output)) != len(output):
        raise ShapeError(
            f"einsum {subscripts!r}: the result's labels {output!r} do not fit", here()
        )
    return full, output


def _simple(trace: Trace, term: _Term, extents: dict[str, int]) -> _Term:
    """Without repeated labels (the diagonal is taken), and without axes of extent 1 that stretch.

    A diagonal is every (n + 1)-th element of the two axes made one.
    """
    atom, labels = term.atom, term.labels
    for k in range(len(labels) - 1, -1, -1):
        if atom.type.shape[k] == 1 and extents[labels[k]] != 1:
            shape = (*atom.type.shape[:k], *atom.type.shape[k + 1 :])
            atom, labels = reshaped_atom(trace, atom, shape), labels[:k] + labels[k + 1 :]
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            rest = [k for k in range(len(labels)) if k not in (i, j)]
            atom = permuted(trace, atom, (*rest, i, j))
            atom = diagonal_atom(trace, atom)
            labels = "".join(labels[k] for k in rest) + label
    return _Term(atom, labels)


def diagonal_atom(trace: Trace, atom: Atom) -> Atom:
    """The diagonal of the last two axes, which have one extent."""
    *lead, n, _ = atom.type.shape
    flat = reshaped_atom(trace, atom, (*lead, n * n))
    zeros = (0,) * len(lead)
    ones = (1,) * len(lead)
    op = Slice((*zeros, 0), (*lead, n), (*ones, n + 1 if n > 1 else 1))
    return trace.emit(op, (flat,), (*lead, n), atom.type.dtype)


def _summed(trace: Trace, term: _Term, needed: set[str], precision: Precision | None) -> _Term:
    """The term with the labels that nobody needs summed out."""
    axes = tuple(k for k, label in enumerate(term.labels) if label not in needed)
    if not axes:
        return term
    kept = [k for k in range(len(term.labels)) if k not in axes]
    shape = tuple(term.atom.type.shape[k] for k in kept)
    op = Reduce("sum", axes, precision or trace.precision)
    atom = trace.emit(op, (term.atom,), shape, term.atom.type.dtype)
    return _Term(atom, "".join(term.labels[k] for k in kept))


def _contracted(
    trace: Trace,
    a: _Term,
    b: _Term,
    needed: set[str],
    dtype: np.dtype,
    precision: Precision | None,
) -> _Term:
    a = _summed(trace, a, needed | set(b.labels), precision)
    b = _summed(trace, b, needed | set(a.labels), precision)
    shared = [c for c in a.labels if c in b.labels]
    batch = [c for c in shared if c in needed]
    summed = [c for c in shared if c not in needed]
    free = [c for c in a.labels + b.labels if c not in shared]
    labels = "".join(batch + free)
    if not summed:
        x, y = (fresh(trace, _aligned(trace, t, labels)) for t in (a, b))
        return _Term(atom_of(trace, binary(trace, "mul", x, y)), labels)
    atom = dot_general(
        trace,
        a.atom,
        b.atom,
        (tuple(a.labels.index(c) for c in summed), tuple(b.labels.index(c) for c in summed)),
        (tuple(a.labels.index(c) for c in batch), tuple(b.labels.index(c) for c in batch)),
        dtype,
        precision,
    )
    return _Term(atom, labels)


def _aligned(trace: Trace, term: _Term, labels: str) -> Atom:
    """The term with its axes in the order of `labels`, extent 1 where it lacks one."""
    own = [c for c in labels if c in term.labels]
    atom = permuted(trace, term.atom, tuple(term.labels.index(c) for c in own))
    extents = dict(zip(own, atom.type.shape, strict=True))
    return reshaped_atom(trace, atom, tuple(extents.get(c, 1) for c in labels))
