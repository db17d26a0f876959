"""Keeps the pictures of a convolutional network in blocks of channels, from its first layer on.

`conv(x, w)` -> `unpack(conv_blocked(pack(x), pack(w)))`; and as long as what follows can work on
blocks (elementwise code, pooling, means over the picture, residuals), the pictures stay so:
`f(unpack(x))` -> `unpack(f(x))`. A conversion is made once for each picture that needs it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from ...dtypes import FLOAT32, FLOAT64, is_float
from ...expr.elementwise import apply
from ...target import Target
from ...visits import visit
from ..nodes import Atom, Constant, Equation, Graph, Literal
from ..ops import (
    Broadcast,
    Cast,
    Concatenate,
    Conv,
    ConvBlocked,
    Elementwise,
    Pad,
    Pool,
    Reduce,
    Select,
    Slice,
)
from .relayout import Blocked, Emitter
from .rewrite import literal

MIN_WORK = 1 << 20
"""Multiplications of a convolution for which packing its weights on each call may pay."""


def block_layout(graph: Graph, target: Target) -> Graph:
    """The graph with its suitable 2-D convolutions in the blocked layout of the target.

    Suitable: float32 or float64, precision "default", weights known at compile time (or much more
    work than packing them), and channels enough to fill vectors. The same graph if there is none.
    Folding and cleaning should follow: the packing of weights is left as equations on constants.
    """
    fixed: set[Atom] = {c.var for c in graph.constants}
    for equation in graph.equations:
        if equation.inputs and all(isinstance(a, Literal) or a in fixed for a in equation.inputs):
            fixed.update(equation.outputs)
    if not any(_suits(e, fixed, target) for e in graph.equations):
        return graph
    return _Layout(graph, fixed, target).run()


def _suits(equation: Equation, fixed: set[Atom], target: Target) -> bool:
    """Whether an equation is a convolution that the blocked layout helps."""
    op = equation.op
    if not isinstance(op, Conv) or op.precision != "default" or len(op.strides) != 2:
        return False
    x, w = equation.inputs
    if {x.type.dtype, w.type.dtype, op.dtype} not in ({FLOAT32}, {FLOAT64}):
        return False
    if op.input_dilation != (1, 1) or 0 in x.type.shape + w.type.shape:
        return False
    if w not in fixed and not _pays(equation):
        return False
    lanes = target.lanes(op.dtype.itemsize)
    if lanes == 1:
        return False
    if op.groups == 1:
        return 2 * w.type.shape[0] >= lanes
    channels = x.type.shape[1]
    return op.groups == channels == w.type.shape[0] and 2 * channels >= lanes


def _pays(equation: Equation) -> bool:
    """Whether packing the weights on every call costs little beside the convolution."""
    _, w = equation.inputs
    _, _, *window = w.type.shape
    positions = equation.outputs[0].type.size // w.type.shape[0]
    return prod(window) > 1 and positions * w.type.size >= MIN_WORK and w.type.shape[1] > 1


class _Layout:
    """One run: each old variable's plain and blocked form, made when first asked for."""

    def __init__(self, graph: Graph, fixed: set[Atom], target: Target):
        self.graph = graph
        self.fixed = fixed
        self.target = target
        self.emitter = Emitter()
        self.plain: dict[Atom, Atom] = {v: v for v in graph.inputs}
        self.plain.update((c.var, c.var) for c in graph.constants)
        self.native: dict[Atom, Blocked] = {}  # what was computed in blocks
        self.packings: dict[Atom, dict[int, Blocked]] = {}  # what was converted, by lanes
        self.spreads: dict[Atom, Equation] = {}  # broadcasts to pictures, not made yet

    def run(self) -> Graph:
        for equation in visit("block_layout", self.graph.equations):
            self.emitter.source = equation.source
            if self.rewrite(equation):
                continue
            if isinstance(equation.op, Broadcast) and len(equation.op.shape) == 4:
                self.spreads[equation.outputs[0]] = equation
                continue
            self.keep(equation)
        outputs = tuple(self.get_plain(a) for a in self.graph.outputs)
        constants: tuple[Constant, ...] = self.graph.constants
        return Graph(self.graph.inputs, constants, tuple(self.emitter.equations), outputs)

    def keep(self, equation: Equation) -> None:
        """The equation on plain operands."""
        inputs = tuple(self.get_plain(a) for a in equation.inputs)
        self.emitter.equations.append(replace(equation, inputs=inputs))
        self.plain.update((v, v) for v in equation.outputs)

    # Both forms of a variable.

    def get_plain(self, atom: Atom) -> Atom:
        if isinstance(atom, Literal):
            return atom
        if atom not in self.plain:
            if atom in self.spreads:
                self.keep(self.spreads[atom])
            else:
                self.plain[atom] = self.emitter.unpack(self.native[atom])
        return self.plain[atom]

    def get_blocked(self, atom: Atom, like: Blocked) -> Blocked | None:
        """An operand of elementwise code in the layout of `like`; None if it cannot be."""
        native = self.native.get(atom)
        if native is not None and native.lanes == like.lanes:
            return native
        spread = self.spreads.get(atom)
        if spread is None or not isinstance(spread.op, Broadcast):
            return self.packed(atom, like.lanes)
        return self.emitter.spread(self.get_plain(spread.inputs[0]), spread.op.axes, like)

    def packed(self, atom: Atom, lanes: int) -> Blocked:
        """A picture in blocks, with zeros beyond the last channel."""
        forms = self.packings.setdefault(atom, {})
        if lanes not in forms:
            forms[lanes] = self.emitter.pack(self.get_plain(atom), lanes)
        return forms[lanes]

    def define(self, equation: Equation, picture: Blocked) -> bool:
        self.native[equation.outputs[0]] = picture
        return True

    # One equation.

    def rewrite(self, equation: Equation) -> bool:
        """Whether the equation could be done on blocked pictures."""
        op = equation.op
        if isinstance(op, Conv):
            return _suits(equation, self.fixed, self.target) and self.conv(op, equation)
        pictures = [p for p in map(self.native.get, equation.inputs) if p is not None]
        if not pictures:
            return False
        picture = pictures[0]
        match op:
            case Elementwise() | Select() | Cast():
                return self.elementwise(equation, picture)
            case Reduce():
                return self.reduce(op, equation, picture)
            case Pool():
                return self.pool(op, equation, picture)
            case Pad():
                return self.pad(op, equation, picture)
            case Slice():
                return self.slice(op, equation, picture)
            case Concatenate(axis):
                return self.concatenate(axis, equation)
            case _:
                return False

    def conv(self, op: Conv, equation: Equation) -> bool:
        x, w = equation.inputs
        lanes = self.target.lanes(op.dtype.itemsize)
        depthwise = op.groups != 1
        channels = x.type.shape[1]
        picture = self.native.get(x)
        if picture is not None and picture.padded and not _finite(picture.filling):
            picture = None  # 0 * inf would reach the sums
        if picture is None or (depthwise and picture.lanes != lanes):
            own = lanes if depthwise else min(lanes, channels)
            picture = self.packed(x, own)
        if depthwise:
            weights = self.emitter.pack_depthwise(self.get_plain(w), lanes)
        else:
            blocks = picture.atom.type.shape[1]
            weights = self.emitter.pack_weights(self.get_plain(w), (blocks, picture.lanes), lanes)
        (sy, sx), (py, px), (dy, dx) = op.strides, op.pads, op.dilation
        blocked = ConvBlocked((sy, sx), (py, px), (dy, dx), depthwise, op.dtype)
        zero = literal(0, op.dtype).value
        made = self.emitter.emit(blocked, picture.atom, weights)
        return self.define(equation, Blocked(made, equation.outputs[0].type.shape[1], zero))

    def elementwise(self, equation: Equation, like: Blocked) -> bool:
        operands: list[Atom] = []
        fillings: list[np.generic | None] = []
        for atom in equation.inputs:
            if not atom.type.shape:
                operands.append(self.get_plain(atom))
                fillings.append(atom.value if isinstance(atom, Literal) else None)
                continue
            picture = self.get_blocked(atom, like)
            if picture is None:
                return False
            operands.append(picture.atom)
            fillings.append(picture.filling)
        filling = _filling(equation, fillings) if like.padded else None
        if like.padded and filling is None:
            return False
        made = self.emitter.emit(equation.op, *operands)
        return self.define(equation, Blocked(made, like.channels, filling))

    def reduce(self, op: Reduce, equation: Equation, picture: Blocked) -> bool:
        """Over the picture: one value a channel. Over channels too: if no lane is beyond them."""
        axes = set(op.axes)
        if op.precision != "default" or not axes >= {2, 3}:
            return False
        if 1 in axes and picture.padded:
            return False
        blocked = tuple(sorted(axes | ({4} if 1 in axes else set())))
        made: Atom = self.emitter.emit(Reduce(op.name, blocked), picture.atom)
        if 1 not in axes:
            lead = made.type.shape[:-2]
            made = self.emitter.reshape(made, (*lead, made.type.shape[-2] * picture.lanes))
            if made.type.shape[-1] != picture.channels:
                sizes = (*lead, picture.channels)
                cut = Slice((0,) * len(sizes), sizes, (1,) * len(sizes))
                made = self.emitter.emit(cut, made)
        self.plain[equation.outputs[0]] = made
        return True

    def pool(self, op: Pool, equation: Equation, picture: Blocked) -> bool:
        zero = picture.filling is not None and not picture.filling and op.name == "sum"
        spatial = op.window[:2] == op.strides[:2] == op.dilation[:2] == (1, 1)
        if not spatial or any(low or high for low, high in op.pads[:2]):
            return False
        if picture.padded and not zero:
            return False
        blocked = Pool(
            op.name, (*op.window, 1), (*op.strides, 1), (*op.pads, (0, 0)), (*op.dilation, 1)
        )
        made = self.emitter.emit(blocked, picture.atom)
        return self.define(equation, Blocked(made, picture.channels, picture.filling))

    def pad(self, op: Pad, equation: Equation, picture: Blocked) -> bool:
        if op.low[1] or op.high[1] or op.interior[1] or picture.padded:
            return False
        blocked = Pad((*op.low, 0), (*op.high, 0), (*op.interior, 0))
        fill = self.get_plain(equation.inputs[1])
        made = self.emitter.emit(blocked, picture.atom, fill)
        return self.define(equation, Blocked(made, picture.channels))

    def slice(self, op: Slice, equation: Equation, picture: Blocked) -> bool:
        if (op.starts[1], op.sizes[1], op.steps[1]) != (0, picture.channels, 1):
            return False
        _, blocks, _, _, lanes = picture.atom.type.shape
        n, _, height, width = op.sizes
        blocked = Slice((*op.starts, 0), (n, blocks, height, width, lanes), (*op.steps, 1))
        made = self.emitter.emit(blocked, picture.atom)
        return self.define(equation, Blocked(made, picture.channels, picture.filling))

    def concatenate(self, axis: int, equation: Equation) -> bool:
        pictures = [self.native.get(a) for a in equation.inputs]
        known = [p for p in pictures if p is not None]
        if len(known) != len(pictures) or len({p.lanes for p in known}) != 1:
            return False
        if any(p.padded for p in known):
            return False
        made = self.emitter.emit(Concatenate(axis), *(p.atom for p in known))
        return self.define(equation, Blocked(made, equation.outputs[0].type.shape[1]))


def _finite(filling: np.generic | None) -> bool:
    return filling is not None and bool(np.isfinite(np.asarray(filling, np.float64)))


def _filling(equation: Equation, operands: list[np.generic | None]) -> np.generic | None:
    """What elementwise code makes of the lanes beyond the last channel, None if unknown."""
    known = [o for o in operands if o is not None]
    dtype = equation.outputs[0].type.dtype
    if len(known) != len(operands):
        return None
    match equation.op:
        case Elementwise(name):
            arrays = tuple(np.asarray(o) for o in known)
            return literal(apply(name, arrays, dtype), dtype).value
        case Select():
            return known[1] if known[0] else known[2]
        case Cast() if is_float(dtype) and is_float(known[0].dtype):
            return literal(known[0], dtype).value
        case _:
            return None
