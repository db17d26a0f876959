"""Lowering of a tensor program to plain loops: each definition a serial nest, in order."""

from __future__ import annotations

from ..expr import index as ix
from ..expr.nodes import Symbol
from ..loop.nodes import Block, For, LoopProgram, Node
from ..tensor.nodes import Definition, TensorProgram


def build(tensor: TensorProgram) -> LoopProgram:
    """One nest a definition, a loop per axis in the order of the axes, named after them."""
    return LoopProgram(tensor.name, tensor.params, tuple(nest(d) for d in tensor.definitions))


def nest(definition: Definition) -> Node:
    """The plain nest of one definition."""
    symbols = [Symbol(axis.symbol.name) for axis in definition.axes]
    node: Node = Block(definition, tuple(ix.of(s) for s in symbols))
    for symbol, axis in reversed(list(zip(symbols, definition.axes, strict=True))):
        node = For(symbol, axis.extent, (node,))
    return node
