"""Random well-typed graphs over every operation and dtype, with arguments for them.

    from random_graphs import arguments, graphs        # a conftest puts tests/ on sys.path

    @given(st.data())
    def test_law(data):
        graph = data.draw(graphs())
        arrays = arguments(data, graph)

`graphs(kinds=("elementwise", "reduce"))` draws from some kinds of operation only (see `KINDS`),
`dtypes=` from some element types, `precision=` fixes that of reductions and products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from loopwright.ir import dtypes as dt
from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import ArrayType, Atom, Constant, Equation, Graph, Literal, Var
from loopwright.ir.graph.types import accepts, result_types

MAX_ELEMENTS = 2048
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 0)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 65504.0, 1e-7)


def fill(rng: np.random.Generator, type_: ArrayType, special: bool = True) -> np.ndarray:
    """An array of random elements, special values and small integers among them."""
    shape, dtype = type_.shape, type_.dtype
    if dtype == dt.BOOL:
        return rng.random(shape) < 0.5
    if dt.is_integer(dtype):
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -9), 10, shape)
        wide = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.7, small.astype(dtype), wide)
    values = rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))
    values = np.where(rng.random(shape) < 0.3, np.round(values), values)
    if special:
        values = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), values)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def arguments(data: st.DataObject, graph: Graph, special: bool = True) -> list[np.ndarray]:
    """Arrays for the inputs of a graph."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    return [fill(rng, v.type, special) for v in graph.inputs]


class Builder:
    """A graph under construction; `draw` is hypothesis's."""

    def __init__(self, draw: Callable[..., Any], dtypes: Sequence[np.dtype], precision: str | None):
        self.draw = draw
        self.dtypes = dtypes
        self.precision = precision
        self.inputs: list[Var] = []
        self.constants: list[Constant] = []
        self.equations: list[Equation] = []
        self.values: list[Var] = []

    # choices

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        shape = tuple(self.pick(EXTENTS) for _ in range(self.number(low, high)))
        return shape if prod(shape) <= MAX_ELEMENTS else tuple(min(n, 3) for n in shape)

    def exactness(self) -> str:
        return self.precision or self.pick(("default", "highest"))

    # atoms

    def input(self, shape: Sequence[int], dtype: np.dtype) -> Var:
        var = Var(ArrayType(tuple(shape), dtype))
        self.inputs.append(var)
        self.values.append(var)
        return var

    def constant(self, array: np.ndarray) -> Var:
        array = np.array(array, order="C")
        array.setflags(write=False)
        var = Var(ArrayType(array.shape, array.dtype))
        self.constants.append(Constant(var, array))
        self.values.append(var)
        return var

    def literal(self, dtype: np.dtype) -> Literal:
        rng = np.random.default_rng(self.number(0, 2**16))
        value = fill(rng, ArrayType((), dtype))
        if self.chance():
            value = np.asarray(self.pick((0, 1, 2, 4))).astype(dtype)
        return Literal(np.asarray(value)[()])

    def op(self, op: Any, *operands: Atom) -> Var:
        types = result_types(op, tuple(a.type for a in operands))
        outputs = tuple(Var(t) for t in types)
        self.equations.append(Equation(op, operands, outputs))
        self.values.extend(outputs)
        return outputs[0]

    def some(self, accept: Callable[[ArrayType], bool] = lambda t: True, rank: int = 0) -> Var:
        """A value that is accepted, or a new input that is."""
        found = [v for v in self.values if accept(v.type) and len(v.type.shape) >= rank]
        if found and self.number(0, 9):
            return self.pick(found)
        choices = [d for d in self.dtypes if accept(ArrayType((2,) * rank, d))]
        return self.input(self.shape(rank), self.pick(choices or [dt.FLOAT32]))

    def like(self, type_: ArrayType, scalar: bool = False) -> Atom:
        """Another atom of that type (or of rank 0, if `scalar`)."""
        if scalar and self.chance():
            return self.literal(type_.dtype)
        found = [v for v in self.values if v.type == type_]
        if found and self.chance():
            return self.pick(found)
        cast = [v for v in self.values if v.type.shape == type_.shape and v.type != type_]
        if cast and self.chance():
            return self.op(ops.Cast(type_.dtype), self.pick(cast))
        if self.chance():
            return self.op(ops.Broadcast(type_.shape, ()), self.literal(type_.dtype))
        return self.input(type_.shape, type_.dtype)


# --- one function a kind of operation -------------------------------------------------------------


def elementwise(b: Builder) -> None:
    name = b.pick(ops.UNARY + ops.BINARY)
    x = b.some(lambda t: accepts(name, t.dtype))
    if not accepts(name, x.type.dtype):
        return
    if name in ops.UNARY:
        b.op(ops.Elementwise(name), x)
        return
    operands = [x, b.like(x.type, scalar=True)]
    b.op(ops.Elementwise(name), *(operands if b.chance() else reversed(operands)))


def select(b: Builder) -> None:
    x = b.some()
    condition = b.like(ArrayType(x.type.shape, dt.BOOL), scalar=True)
    b.op(ops.Select(), condition, x, b.like(x.type, scalar=True))


def cast(b: Builder) -> None:
    b.op(ops.Cast(b.pick(b.dtypes)), b.some())


def bitcast(b: Builder) -> None:
    x = b.some(lambda t: t.dtype != dt.BOOL)
    width = x.type.dtype.itemsize
    same = [d for d in b.dtypes if d.itemsize == width and d != dt.BOOL]
    if same and x.type.dtype != dt.BOOL:
        b.op(ops.Bitcast(b.pick(same)), x)


def iota(b: Builder) -> None:
    shape = b.shape(1)
    choices = [d for d in b.dtypes if d != dt.BOOL]
    if choices:
        b.op(ops.Iota(shape, b.pick(choices), b.number(0, len(shape) - 1)))


def broadcast(b: Builder) -> None:
    x = b.some()
    shape = [b.pick((2, 3, 5, 8)) if n == 1 and b.chance() else n for n in x.type.shape]
    axes = list(range(len(shape)))
    if len(shape) < 4 and b.chance():
        at = b.number(0, len(shape))
        shape.insert(at, b.pick((1, 2, 3)))
        axes = [k + (k >= at) for k in axes]
    if prod(shape) <= MAX_ELEMENTS:
        b.op(ops.Broadcast(tuple(shape), tuple(axes)), x)


def reshape(b: Builder) -> None:
    x = b.some()
    shape = list(x.type.shape)
    for _ in range(b.number(1, 3)):
        if len(shape) > 1 and b.chance():
            at = b.number(0, len(shape) - 2)
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif shape and b.chance():
            at = b.number(0, len(shape) - 1)
            factors = [k for k in range(1, shape[at] + 1) if shape[at] % k == 0]
            if factors and len(shape) < 5:
                k = b.pick(factors)
                shape[at : at + 1] = [k, shape[at] // k]
        elif len(shape) < 5:
            shape.insert(b.number(0, len(shape)), 1)
    b.op(ops.Reshape(tuple(shape)), x)


def transpose(b: Builder) -> None:
    x = b.some()
    b.op(ops.Transpose(tuple(b.draw(st.permutations(range(len(x.type.shape)))))), x)


def _box(b: Builder, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    starts, sizes, steps = [], [], []
    for n in shape:
        step = b.pick((1, 1, 2, 3, -1, -2))
        size = b.number(0 if n == 0 or not b.number(0, 9) else 1, n) if n else 0
        size = min(size, (n - 1) // abs(step) + 1 if n else 0)
        span = (size - 1) * abs(step) if size else 0
        low = b.number(0, max(0, n - 1 - span))
        starts.append(low if step > 0 else low + span)
        sizes.append(size)
        steps.append(step)
    return tuple(starts), tuple(sizes), tuple(steps)


def slice_(b: Builder) -> None:
    x = b.some()
    b.op(ops.Slice(*_box(b, x.type.shape)), x)


def update_slice(b: Builder) -> None:
    x = b.some()
    starts, sizes, steps = _box(b, x.type.shape)
    b.op(ops.UpdateSlice(starts, steps), x, b.like(ArrayType(sizes, x.type.dtype)))


def pad(b: Builder) -> None:
    x = b.some()
    low, high, interior = (tuple(b.number(0, 2) for _ in x.type.shape) for _ in range(3))
    interior = interior if b.chance() else tuple(0 for _ in interior)
    shape = [
        a + n + max(n - 1, 0) * gap + c
        for n, a, c, gap in zip(x.type.shape, low, high, interior, strict=True)
    ]
    if prod(shape) <= MAX_ELEMENTS:
        b.op(ops.Pad(low, high, interior), x, b.literal(x.type.dtype))


def concatenate(b: Builder) -> None:
    x = b.some(rank=1)
    axis = b.number(0, len(x.type.shape) - 1)
    parts: list[Atom] = [x]
    for _ in range(b.number(0, 2)):
        shape = list(x.type.shape)
        shape[axis] = b.number(0, 3)
        parts.append(b.like(ArrayType(tuple(shape), x.type.dtype)))
    b.op(ops.Concatenate(axis), *b.draw(st.permutations(parts)))


def _indices(b: Builder, shape: Sequence[int], axes: Sequence[int], mode: str) -> list[Atom]:
    """Index arrays that are inside for mode "raise"."""
    inner = b.shape(0, 2)
    if mode != "fill" and any(shape[a] == 0 for a in axes):
        inner = (0, *inner[1:])
    result: list[Atom] = []
    for axis in axes:
        n = shape[axis]
        rng = np.random.default_rng(b.number(0, 2**16))
        integers = [d for d in b.dtypes if dt.is_integer(d)] or [dt.INT64]
        dtype = b.pick(integers)
        if mode == "raise":
            low = -n if dt.is_signed(dtype) else 0
            indices = rng.integers(low, max(n, low + 1), inner).astype(dtype)
            result.append(b.constant(indices))
        elif b.chance():
            result.append(b.constant(fill(rng, ArrayType(inner, dtype))))
        else:
            result.append(b.like(ArrayType(inner, dtype)))
    return result


def _axes(b: Builder, rank: int) -> tuple[int, ...]:
    return tuple(b.draw(st.permutations(range(rank))))[: b.number(1, min(rank, 2))]


MODES = ("raise", "clip", "wrap", "fill")


def gather(b: Builder) -> None:
    x = b.some(rank=1)
    axes, mode = _axes(b, len(x.type.shape)), b.pick(MODES)
    indices = _indices(b, x.type.shape, axes, mode)
    rest = [n for k, n in enumerate(x.type.shape) if k not in axes]
    if prod(indices[0].type.shape) * prod(rest) <= MAX_ELEMENTS:
        fills = [b.literal(x.type.dtype)] if mode == "fill" else []
        b.op(ops.Gather(axes, mode), x, *indices, *fills)


def scatter(b: Builder) -> None:
    x = b.some(rank=1)
    axes, mode = _axes(b, len(x.type.shape)), b.pick(MODES)
    indices = _indices(b, x.type.shape, axes, mode)
    rest = [n for k, n in enumerate(x.type.shape) if k not in axes]
    shape = (*indices[0].type.shape, *rest)
    combines = [None, "max", "min"] + ["sum", "prod"] * (x.type.dtype != dt.BOOL)
    if prod(shape) <= MAX_ELEMENTS:
        updates = b.like(ArrayType(shape, x.type.dtype))
        b.op(ops.Scatter(axes, mode, b.pick(combines)), x, *indices, updates)


def _reducible(name: str, dtype: np.dtype) -> bool:
    if name in ("sum", "prod"):
        return dtype != dt.BOOL
    return not dt.is_float(dtype) if name in ("and", "or") else True


def reduce(b: Builder) -> None:
    name = b.pick(ops.REDUCTIONS)
    x = b.some(lambda t: _reducible(name, t.dtype))
    rank = len(x.type.shape)
    axes = tuple(b.draw(st.permutations(range(rank))))[: b.number(0, rank)]
    if name in ("max", "min"):
        axes = tuple(a for a in axes if x.type.shape[a])
    if _reducible(name, x.type.dtype):
        b.op(ops.Reduce(name, axes, b.exactness()), x)


def arg_reduce(b: Builder) -> None:
    x = b.some(rank=1)
    axis = b.number(0, len(x.type.shape) - 1)
    if x.type.shape[axis]:
        b.op(ops.ArgReduce(b.pick(("max", "min")), axis), x)


def cumulative(b: Builder) -> None:
    name = b.pick(("sum", "prod", "max", "min"))
    x = b.some(lambda t: _reducible(name, t.dtype), rank=1)
    if _reducible(name, x.type.dtype):
        b.op(ops.Cumulative(name, b.number(0, len(x.type.shape) - 1), b.chance()), x)


def sort(b: Builder) -> None:
    x = b.some(rank=1)
    b.op(ops.Sort(b.number(0, len(x.type.shape) - 1), b.chance()), x)


def _product_types(b: Builder) -> tuple[np.dtype, np.dtype, np.dtype] | None:
    numbers = [d for d in b.dtypes if d != dt.BOOL]
    if not numbers:
        return None
    first = b.pick(numbers)
    if b.chance():
        return first, first, first
    second = b.pick([d for d in numbers if dt.is_float(d) == dt.is_float(first)])
    return first, second, dt.promote(dt.promote(first, second), first)


def dot_general(b: Builder) -> None:
    types = _product_types(b)
    if types is None:
        return
    batch, contract, left, right = (
        [b.pick(EXTENTS[:7]) for _ in range(b.number(0, n))] for n in (2, 2, 1, 1)
    )
    sides, axes = [], []
    for free in (left, right):
        labels = [("b", k) for k in range(len(batch))] + [("c", k) for k in range(len(contract))]
        labels = b.draw(st.permutations(labels + [("f", k) for k in range(len(free))]))
        extents = {"b": batch, "c": contract, "f": free}
        sides.append(tuple(extents[kind][k] for kind, k in labels))
        axes.append({label: k for k, label in enumerate(labels)})
    if max(map(prod, sides)) > MAX_ELEMENTS:
        return
    op = ops.DotGeneral(
        tuple(tuple(a["c", k] for k in range(len(contract))) for a in axes),
        tuple(tuple(a["b", k] for k in range(len(batch))) for a in axes),
        types[2],
        b.exactness(),
    )
    b.op(op, b.like(ArrayType(sides[0], types[0])), b.like(ArrayType(sides[1], types[1])))


def _window(b: Builder, rank: int) -> tuple[Any, ...]:
    strides, dilation = (tuple(b.pick((1, 1, 2, 3)) for _ in range(rank)) for _ in range(2))
    pads = tuple((b.number(-1, 2), b.number(-1, 2)) for _ in range(rank))
    return strides, pads, dilation


def conv(b: Builder) -> None:
    types = _product_types(b)
    if types is None:
        return
    rank, groups = b.number(1, 2), b.pick((1, 1, 2, 3))
    inner, outer = b.number(1, 3), b.number(1, 2)
    x = (b.number(0, 2), groups * inner, *(b.pick((1, 2, 5, 6)) for _ in range(rank)))
    w = (groups * outer, inner, *(b.number(1, 3) for _ in range(rank)))
    strides, pads, dilation = _window(b, rank)
    gaps = tuple(b.pick((1, 1, 2)) for _ in range(rank))
    op = ops.Conv(strides, pads, dilation, gaps, groups, types[2], b.exactness())
    b.op(op, b.like(ArrayType(x, types[0])), b.like(ArrayType(w, types[1])))


def conv_blocked(b: Builder) -> None:
    types = _product_types(b)
    if types is None:
        return
    lanes, blocks = b.pick((2, 4)), b.number(1, 2)
    x = (b.number(1, 2), blocks, b.number(1, 6), b.number(1, 6), lanes)
    depthwise, kernel = b.chance(), (b.number(1, 3), b.number(1, 3))
    w = (blocks, *kernel, lanes) if depthwise else (b.number(1, 2), blocks, *kernel, lanes, 4)
    op = ops.ConvBlocked(*_window(b, 2), depthwise, types[2], b.exactness())
    b.op(op, b.like(ArrayType(x, types[0])), b.like(ArrayType(w, types[1])))


def pool(b: Builder) -> None:
    name = b.pick(("max", "min", "sum"))
    x = b.some(lambda t: _reducible(name, t.dtype), rank=1)
    if _reducible(name, x.type.dtype):
        rank = len(x.type.shape)
        window = tuple(b.number(1, 3) for _ in range(rank))
        b.op(ops.Pool(name, window, *_window(b, rank)), x)


KINDS: dict[str, Callable[[Builder], None]] = {
    "elementwise": elementwise, "select": select, "cast": cast, "bitcast": bitcast, "iota": iota,
    "broadcast": broadcast, "reshape": reshape, "transpose": transpose, "slice": slice_,
    "update_slice": update_slice, "pad": pad, "concatenate": concatenate, "gather": gather,
    "scatter": scatter, "reduce": reduce, "arg_reduce": arg_reduce, "cumulative": cumulative,
    "sort": sort, "dot_general": dot_general, "conv": conv, "conv_blocked": conv_blocked,
    "pool": pool,
}  # fmt: skip


@st.composite
def graphs(
    draw: Callable[..., Any],
    kinds: Sequence[str] = tuple(KINDS),
    dtypes: Sequence[np.dtype] = dt.ALL,
    precision: str | None = None,
    max_equations: int = 10,
) -> Graph:
    """A graph of one to some more than `max_equations` equations, all kinds equally likely."""
    b = Builder(draw, dtypes, precision)
    for _ in range(b.number(1, 2)):
        b.input(b.shape(), b.pick(dtypes))
    if b.chance():
        rng = np.random.default_rng(b.number(0, 2**16))
        b.constant(fill(rng, ArrayType(b.shape(), b.pick(dtypes))))
    for _ in range(b.number(1, max_equations)):
        KINDS[b.pick(kinds)](b)
    made = [v for e in b.equations for v in e.outputs]
    outputs = [*made[-1:], *(b.pick(b.values) for _ in range(b.number(0, 2)))]
    return Graph(tuple(b.inputs), tuple(b.constants), tuple(b.equations), tuple(outputs))
