"""What fusion asks before an equation joins the group of its consumers.

A group grows from its results towards its operands. Each question below is one reason to refuse;
an equation joins when no question objects. `Context` says where in the group a value is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import prod

from ..nodes import Equation, Var
from ..ops import (
    ArgReduce,
    Bitcast,
    Broadcast,
    Cast,
    Concatenate,
    Conv,
    ConvBlocked,
    Cumulative,
    DotGeneral,
    Elementwise,
    Gather,
    GraphOp,
    Iota,
    Pad,
    Pool,
    Reduce,
    Reshape,
    Scatter,
    Select,
    Slice,
    Transpose,
    UpdateSlice,
)
from ..views import is_store

MAX_EQUATIONS = 256
"""A kernel with more equations compiles slowly and gains nothing."""
MAX_OUTPUTS = 16
"""More streams of stores than this fight for the same cache sets."""
MAX_CONTEXTS = 16
"""An index-only equation needed at more places than this is materialised."""
ROW_BYTES = 64 << 10
"""A row kept between its reduction and the reduction's consumers must stay close to the core."""
MIN_RUN = 8
"""A blocked convolution reads runs of channels this long or longer from memory only."""

CHEAP = frozenset(
    "neg abs sign floor ceil trunc round square not isnan isinf isfinite signbit add sub mul "
    "maximum minimum fmax fmin copysign and or xor eq ne lt le gt ge".split()
)
"""Elementwise operations that cost less than a load from the second cache level."""


class Kind(Enum):
    """What an equation does, as far as fusion cares."""

    INDEX = "index"  # moves elements, computes none
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    CONTRACTION = "contraction"
    ROOT = "root"  # ordered or in place: starts a group, follows nothing


def kind(op: GraphOp) -> Kind:
    """The kind of an operation."""
    match op:
        case Elementwise() | Select() | Cast() | Bitcast():
            return Kind.ELEMENTWISE
        case Broadcast() | Reshape() | Transpose() | Slice() | Pad() | Concatenate():
            return Kind.INDEX
        case Gather() | Iota():
            return Kind.INDEX
        case Reduce() | ArgReduce():
            return Kind.REDUCTION
        case DotGeneral() | Conv() | ConvBlocked() | Pool():
            return Kind.CONTRACTION
        case _:
            return Kind.ROOT


@dataclass(frozen=True, slots=True)
class Context:
    """Where a value is needed: for each point of `shape`, reached along `path`.

    `arithmetic`: whether a computation may be placed there (not in the inner loop of a
    contraction). `row`: (kept, all) elements when each value serves one whole row of a larger
    iteration. `expands`: a value is needed at several points there.
    """

    shape: tuple[int, ...]
    path: tuple[object, ...] = ()
    arithmetic: bool = True
    row: tuple[int, int] | None = None
    expands: bool = False


Contexts = frozenset[Context]


@dataclass(slots=True, eq=False)
class Forming:
    """A group while it grows: its members (latest first) and where their values are needed."""

    number: int
    root: Equation
    shape: tuple[int, ...]
    view: bool = False
    contraction: bool = False
    rows: tuple[int, int] | None = None
    members: list[Equation] = field(default_factory=list)
    contexts: dict[Var, Contexts] = field(default_factory=dict)
    reads: set[Var] = field(default_factory=set)
    outputs: list[Var] = field(default_factory=list)

    @property
    def updated(self) -> Var | None:
        """The variable whose memory the group updates in place."""
        operand = self.root.inputs[0] if self.root.inputs else None
        in_place = isinstance(self.root.op, UpdateSlice | Scatter)
        return operand if in_place and isinstance(operand, Var) else None

    @property
    def plain(self) -> bool:
        """Whether it computes elementwise results of one shape, as an epilogue does."""
        return not (self.contraction or self.rows) and kind(self.root.op) is Kind.ELEMENTWISE


@dataclass(frozen=True, slots=True)
class Candidate:
    """An equation that might join a group, and the places there that need its result."""

    equation: Equation
    group: Forming
    contexts: Contexts
    exported: bool  # its result is needed outside of the group as well
    rides: bool  # it could be the epilogue of a contraction


def row_of(equation: Equation) -> tuple[int, int] | None:
    """(kept, all) elements of a reduction over trailing axes, else None."""
    op, shape = equation.op, equation.inputs[0].type.shape
    axes = op.axes if isinstance(op, Reduce) else (op.axis,) if isinstance(op, ArgReduce) else ()
    kept = len(shape) - len(axes)
    if sorted(axes) != list(range(kept, len(shape))):
        return None
    return prod(shape[:kept]), prod(shape)


def is_full(c: Candidate) -> bool:
    """The group has as many equations or results as one kernel should."""
    if c.exported and len(c.group.outputs) >= MAX_OUTPUTS:
        return True
    return len(c.group.members) >= MAX_EQUATIONS


def needs_memory(c: Candidate) -> bool:
    """A consumer names the value's memory (a view) or reads it in an order of its own."""
    return c.group.view or not c.contexts


def stands_alone(c: Candidate) -> bool:
    """Ordered and in-place operations are loops of their own."""
    return kind(c.equation.op) is Kind.ROOT


def burdens_contraction(c: Candidate) -> bool:
    """Arithmetic in the inner loop of a contraction would be repeated for each product."""
    if all(context.arithmetic for context in c.contexts):
        return False
    match c.equation.op:
        case Cast() | Broadcast() | Reshape() | Transpose() | Slice():
            return False
        case _:
            return True


def recomputes(c: Candidate) -> bool:
    """The value is needed at several places of the group and costs more than an index."""
    if len(c.contexts) > MAX_CONTEXTS:
        return True
    size = c.equation.outputs[0].type.size
    if len(c.contexts) == 1 or size == 1:
        return False
    if c.group.rows is not None and size == c.group.rows[0]:
        return False
    return kind(c.equation.op) is not Kind.INDEX or isinstance(c.equation.op, Gather)


def replicates(c: Candidate) -> bool:
    """A broadcast below would repeat a costly computation at each of its points.

    Values that serve one whole row each are computed once a row.
    """
    if not any(context.expands and context.row is None for context in c.contexts):
        return False
    match c.equation.op:
        case Elementwise(name):
            return name not in CHEAP
        case Select() | Cast() | Bitcast():
            return False
        case op:
            return kind(op) is not Kind.INDEX and kind(op) is not Kind.REDUCTION


def checks_less(c: Candidate) -> bool:
    """A gather that may raise must look at each of its indices, whoever reads the result."""
    op = c.equation.op
    if not isinstance(op, Gather) or op.mode != "raise":
        return False
    return any(context.path for context in c.contexts)


def breaks_row(c: Candidate) -> bool:
    """The reduction's consumers walk other rows than it does, or its row is too long to keep."""
    if kind(c.equation.op) is not Kind.REDUCTION:
        return False
    group, result = c.group, c.equation.outputs[0].type
    if group.contraction or kind(group.root.op) not in (Kind.ELEMENTWISE, Kind.REDUCTION):
        return True
    row = row_of(c.equation)
    own = Context(result.shape)
    if c.contexts == {own} and group.rows is None:  # a mere epilogue reads no row
        several = any(v.type.size != result.size for v in group.outputs)
        return several or kind(group.root.op) is not Kind.ELEMENTWISE
    if row is None or group.rows not in (None, row):
        return True
    kept, everything = row
    if everything // max(kept, 1) * c.equation.inputs[0].type.dtype.itemsize > ROW_BYTES:
        return True
    if any(v.type.size not in row for v in group.outputs):
        return True
    return any(context != own and context.row != row for context in c.contexts)


def leaves_contraction(c: Candidate) -> bool:
    """As the epilogue of a contraction the value is computed while it is still in registers."""
    return c.rides and not _hosts(c)


def spoils_epilogue(c: Candidate) -> bool:
    """A contraction is followed by elementwise work on its own shape only."""
    return kind(c.equation.op) is Kind.CONTRACTION and not _hosts(c)


def _hosts(c: Candidate) -> bool:
    """Whether the group could be the epilogue of a contraction that makes this value."""
    shape = c.equation.outputs[0].type.shape
    same = all(v.type.shape == shape for v in c.group.outputs)
    return c.group.plain and same and c.contexts == {Context(shape)}


def exports_part(c: Candidate) -> bool:
    """A result made for another kernel must be made at each of its points, once."""
    if not c.exported:
        return False
    result, rows = c.equation.outputs[0].type, c.group.rows
    if rows is not None and result.size in rows:
        return any(x.row is None and x != Context(result.shape) for x in c.contexts)
    if c.group.updated is not None or kind(c.group.root.op) is not Kind.ELEMENTWISE:
        return True
    return c.contexts != {Context(c.group.shape)}


QUESTIONS: tuple[Callable[[Candidate], bool], ...] = (
    needs_memory,
    is_full,
    stands_alone,
    burdens_contraction,
    recomputes,
    replicates,
    checks_less,
    breaks_row,
    leaves_contraction,
    spoils_epilogue,
    exports_part,
)


def objection(candidate: Candidate) -> str | None:
    """The name of the first question that objects, None if the equation may join."""
    return next((q.__name__ for q in QUESTIONS if q(candidate)), None)


def operand_contexts(consumer: Equation, position: int, own: Contexts) -> Contexts:
    """Where operand `position` is needed, given where the consumer's result is.

    Empty if the operand must be in memory.
    """
    operand = consumer.inputs[position].type
    result = consumer.outputs[0].type
    op = consumer.op

    def through(**changes: object) -> Contexts:
        made = (
            Context(
                shape=operand.shape,
                path=(consumer if isinstance(op, Gather) else op, position, *c.path),
                arithmetic=bool(changes.get("arithmetic", c.arithmetic)),
                row=None,
                expands=c.expands or bool(changes.get("expands", False)),
            )
            for c in own
        )
        return frozenset(made)

    match op:
        case Elementwise() | Select() | Cast() | Bitcast():
            if operand.shape == result.shape:
                return own
            row = (1, result.size)
            return frozenset({Context((), (), all(c.arithmetic for c in own), row, True)})
        case Reduce() | ArgReduce():
            return frozenset({Context(operand.shape)})
        case ConvBlocked() if position == 1 or operand.shape[-1] >= MIN_RUN:
            return frozenset()
        case DotGeneral() | Conv() | ConvBlocked() | Pool():
            return frozenset({Context(operand.shape, (op, position), arithmetic=False)})
        case Broadcast(shape, axes):
            spread = operand.size != result.size
            if spread and len(own) == 1 and _is_row(operand.shape, shape, axes):
                (c,) = own
                if not c.path and c.arithmetic:
                    row = (operand.size, result.size)
                    return frozenset({Context((), (), True, row, True)})
            return through(expands=spread)
        case Reshape():
            units = _without_ones(operand.shape) == _without_ones(result.shape)
            if units:
                return frozenset(_reshaped(c, result.shape, operand.shape) for c in own)
            return through()
        case Gather():
            return through(arithmetic=position > 0)
        case UpdateSlice():
            if position == 0 or is_store(consumer):
                return frozenset()
            return frozenset({Context(operand.shape)})
        case Scatter(axes=axes):
            if position == 0:
                return frozenset()
            updates = position == len(axes) + 1
            return frozenset({Context(operand.shape, () if updates else (position,))})
        case Cumulative():
            return frozenset({Context(operand.shape, (op,))})
        case Transpose() | Slice() | Pad() | Concatenate():
            return through()
        case _:
            return frozenset()


def _reshaped(c: Context, result: tuple[int, ...], operand: tuple[int, ...]) -> Context:
    shape = operand if c.shape == result else c.shape
    return Context(shape, c.path, c.arithmetic, c.row, c.expands)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _is_row(operand: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether each operand element serves a run of trailing positions of the result."""
    extents = [1] * len(shape)
    for extent, axis in zip(operand, axes, strict=True):
        extents[axis] = extent
    whole = [k for k, (a, b) in enumerate(zip(extents, shape, strict=True)) if a == b and b != 1]
    spread = [k for k, (a, b) in enumerate(zip(extents, shape, strict=True)) if a != b]
    return not whole or not spread or max(whole) < min(spread)


def describe(equations: tuple[Equation, ...]) -> str:
    """The operations of a group in a few words, for its name."""
    words: list[str] = []
    for equation in equations:
        op = equation.op
        name = getattr(op, "name", None)
        word = name if isinstance(name, str) and name else type(op).__name__.lower()
        if kind(op) is not Kind.INDEX and word not in words:
            words.append(word)
    return "_".join(words[:4]) or type(equations[-1].op).__name__.lower()
