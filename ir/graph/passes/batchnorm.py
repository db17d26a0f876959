"""Scales and shifts by channel after a product go into its constant weights.

A batch normalisation with known statistics is `(conv(x, w) - mean) / deviation * gamma + beta`:
one factor and one summand for each output channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ... import dtypes
from ...expr.rounding import Array, convert
from ...visits import visit
from ..constants import ConstantStore
from ..nodes import ArrayType, Atom, Constant, Equation, Graph, Literal, Var
from ..ops import Broadcast, Conv, ConvBlocked, DotGeneral, Elementwise

Channels: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs (axis of the result, axis of the weights)."""


def fold_affine(graph: Graph, store: ConstantStore) -> Graph:
    """`y = product(x, w) * a + b` -> `y = product(x, w * a) + b`, a and b constant by channel.

    The chain may hold any additions, subtractions, multiplications and divisions by constants that
    vary only along channels. Computed in float64 and rounded once to the type of the weights. Only
    for products of precision "default", as the rounding differs; refused where a number would not
    be finite, where something else reads a value inside the chain, or where weights and result
    differ in type.
    """
    if not graph.constants:
        return graph
    folder = _Folder(graph, store)
    equations = tuple(new for e in visit("fold_affine", graph.equations) for new in folder.fold(e))
    if not folder.added:
        return graph
    return Graph(graph.inputs, (*graph.constants, *folder.added), equations, graph.outputs)


@dataclass(frozen=True, slots=True)
class _Affine:
    """v * scale + shift: float64 arrays of the result's rank, extents 1 but along channels."""

    scale: Array
    shift: Array


class _Folder:
    def __init__(self, graph: Graph, store: ConstantStore):
        self.store = store
        self.arrays: dict[Atom, Array] = {c.var: c.array for c in graph.constants}
        self.broadcasts: dict[Atom, Equation] = {}
        self.reader: dict[Atom, Equation | None] = {a: None for a in graph.outputs}
        self.absorbed: set[Equation] = set()
        self.last: dict[Equation, tuple[Equation, ...]] = {}
        self.added: list[Constant] = []
        for equation in graph.equations:
            if isinstance(equation.op, Broadcast):
                self.broadcasts[equation.outputs[0]] = equation
            for atom in equation.inputs:
                self.reader[atom] = None if atom in self.reader else equation

    def fold(self, equation: Equation) -> Iterator[Equation]:
        """What stands in the equation's place."""
        if equation in self.last:
            yield from self.last[equation]
        elif equation not in self.absorbed:
            with np.errstate(all="ignore"):
                folded = self.product(equation)
            yield equation if folded is None else folded

    def product(self, equation: Equation) -> Equation | None:
        """The product with the chain after it folded in; plans what replaces the chain's end."""
        found = self.weights(equation)
        if found is None:
            return None
        side, channels = found
        weights = self.arrays[equation.inputs[side]]
        chain, affine = self.chain(equation, channels)
        if not chain or (affine.scale == 1).all():
            return None
        scaled = self.scaled(weights, affine.scale, channels)
        shift = convert(affine.shift, weights.dtype)
        if not (np.isfinite(scaled).all() and np.isfinite(shift).all()):
            return None
        self.absorbed.update(chain)
        inputs = list(equation.inputs)
        inputs[side] = self.constant(scaled)
        final = chain[-1].outputs[0]
        if not shift.any():
            self.last[chain[-1]] = ()
            return replace(equation, inputs=tuple(inputs), outputs=(final,))
        made = Var(final.type)
        self.last[chain[-1]] = self.add(made, shift, chain[-1])
        return replace(equation, inputs=tuple(inputs), outputs=(made,))

    def weights(self, equation: Equation) -> tuple[int, Channels] | None:
        """Which operand is a constant of the result's float type, and its channels."""
        match equation.op:
            case Conv(precision="default"):
                sides: dict[int, Channels] = {1: ((1, 0),)}
            case ConvBlocked(precision="default", depthwise=depthwise):
                sides = {1: ((1, 0), (4, 3 if depthwise else 5))}
            case DotGeneral(precision="default") as op:
                sides = {k: _dot_channels(op, k, equation) for k in (1, 0)}
            case _:
                return None
        result = equation.outputs[0].type.dtype
        for side, channels in sides.items():
            atom = equation.inputs[side]
            if atom in self.arrays and atom.type.dtype == result and dtypes.is_float(result):
                return side, channels
        return None

    def chain(self, product: Equation, channels: Channels) -> tuple[list[Equation], _Affine]:
        """The equations after the product that scale and shift by channel, and what they do."""
        result = product.outputs[0]
        one = np.ones([1] * len(result.type.shape))
        affine = _Affine(one, 0 * one)
        chain: list[Equation] = []
        while True:
            equation = self.reader.get(result)
            if equation is None or not isinstance(equation.op, Elementwise):
                return chain, affine
            further = self.step(affine, equation, result, channels)
            if further is None or not _is_finite(further):
                return chain, affine
            affine, result = further, equation.outputs[0]
            chain.append(equation)

    def step(
        self, affine: _Affine, equation: Equation, value: Var, channels: Channels
    ) -> _Affine | None:
        if len(equation.inputs) != 2 or not isinstance(equation.op, Elementwise):
            return None
        left = equation.inputs[0] is value
        factor = self.by_channel(equation.inputs[left], value.type, channels)
        if factor is None:
            return None
        scale, shift = affine.scale, affine.shift
        match equation.op.name:
            case "add":
                return _Affine(scale, shift + factor)
            case "sub" if left:
                return _Affine(scale, shift - factor)
            case "sub":
                return _Affine(-scale, factor - shift)
            case "mul":
                return _Affine(scale * factor, shift * factor)
            case "div" if left:
                return _Affine(scale / factor, shift / factor)
            case _:
                return None

    def by_channel(self, atom: Atom, type_: ArrayType, channels: Channels) -> Array | None:
        """The operand as float64 with one axis for each of the result's, if it varies so."""
        rank = len(type_.shape)
        if isinstance(atom, Literal):
            return np.full([1] * rank, atom.value, np.float64)
        axes = tuple(range(len(atom.type.shape)))
        maker = self.broadcasts.get(atom)
        if maker is not None and isinstance(maker.op, Broadcast):
            atom, axes = maker.inputs[0], maker.op.axes
            if isinstance(atom, Literal):
                return np.full([1] * rank, atom.value, np.float64)
        if atom not in self.arrays:
            return None
        shape = [1] * rank
        for extent, axis in zip(atom.type.shape, axes, strict=True):
            shape[axis] = extent
        allowed = {axis for axis, _ in channels}
        if any(extent != 1 and axis not in allowed for axis, extent in enumerate(shape)):
            return None
        return self.arrays[atom].astype(np.float64).reshape(shape)

    def scaled(self, weights: Array, scale: Array, channels: Channels) -> Array:
        def compute() -> Array:
            ordered = sorted(channels, key=lambda pair: pair[1])
            kept = [axis for axis, _ in ordered]
            rest = [axis for axis in range(scale.ndim) if axis not in kept]
            shape = [1] * weights.ndim
            for axis, target in ordered:
                shape[target] = scale.shape[axis]
            factor = scale.transpose(*kept, *rest).reshape(shape)
            return convert(np.asarray(weights.astype(np.float64) * factor), weights.dtype)

        return self.store.derive(f"weights scaled along {channels}", (weights, scale), compute)

    def constant(self, array: Array) -> Var:
        var = Var(ArrayType(array.shape, array.dtype))
        self.added.append(Constant(var, array))
        return var

    def add(self, product: Var, shift: Array, last: Equation) -> tuple[Equation, ...]:
        """`last.outputs = product + shift`."""
        axes = tuple(k for k, extent in enumerate(shift.shape) if extent != 1)
        bias = self.constant(self.store.intern(shift.reshape([shift.shape[k] for k in axes])))
        spread = Var(product.type)
        return (
            Equation(Broadcast(product.type.shape, axes), (bias,), (spread,), last.source),
            Equation(Elementwise("add"), (product, spread), last.outputs, last.source),
        )


def _is_finite(affine: _Affine) -> bool:
    return bool(np.isfinite(affine.scale).all() and np.isfinite(affine.shift).all())


def _dot_channels(op: DotGeneral, side: int, equation: Equation) -> Channels:
    """Batch and free axes of the operand, as axes of the result."""
    pairs = list(enumerate(op.batch[side]))
    position = len(pairs)
    for k, atom in enumerate(equation.inputs):
        for axis in range(len(atom.type.shape)):
            if axis in op.batch[k] or axis in op.contract[k]:
                continue
            if k == side:
                pairs.append((position, axis))
            position += 1
    return tuple(pairs)
