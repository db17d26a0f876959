"""Graphs for the tests of fusion and plans: a builder, and random programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import ArrayType, Atom, Constant, Equation, Graph, Literal, Var
from loopwright.ir.graph.types import result_types

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `random_graphs`

FLOAT32 = np.dtype(np.float32)


class GraphBuilder:
    """Collects equations; every method returns the variable that it defines."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.constants: list[Constant] = []
        self.equations: list[Equation] = []

    def input(self, *shape: int, dtype: np.dtype = FLOAT32) -> Var:
        self.inputs.append(Var(ArrayType(shape, dtype)))
        return self.inputs[-1]

    def constant(self, array: np.ndarray) -> Var:
        array = array.copy()
        array.flags.writeable = False
        self.constants.append(Constant(Var(ArrayType(array.shape, array.dtype)), array))
        return self.constants[-1].var

    def op(self, op: ops.GraphOp, *operands: Atom) -> Var:
        (type_,) = result_types(op, [a.type for a in operands])
        self.equations.append(Equation(op, operands, (Var(type_),)))
        return self.equations[-1].outputs[0]

    def do(self, name: str, *operands: Atom | float) -> Var:
        """An elementwise operation; Python numbers become float32 literals."""
        atoms = [a if isinstance(a, Var | Literal) else Literal(np.float32(a)) for a in operands]
        return self.op(ops.Elementwise(name), *atoms)

    def fill(self, value: float, *shape: int) -> Var:
        return self.op(ops.Broadcast(shape, ()), Literal(np.float32(value)))

    def spread(self, var: Var, shape: tuple[int, ...], *axes: int) -> Var:
        return self.op(ops.Broadcast(shape, axes), var)

    def reshape(self, var: Var, *shape: int) -> Var:
        return self.op(ops.Reshape(shape), var)

    def slice(self, var: Var, starts: tuple[int, ...], sizes: tuple[int, ...],
              steps: tuple[int, ...] | None = None) -> Var:  # fmt: skip
        return self.op(ops.Slice(starts, sizes, steps or (1,) * len(starts)), var)

    def update(self, var: Var, value: Var, starts: tuple[int, ...],
               steps: tuple[int, ...] | None = None) -> Var:  # fmt: skip
        return self.op(ops.UpdateSlice(starts, steps or (1,) * len(starts)), var, value)

    def row(self, var: Var, number: int) -> Var:
        """var[number] of a matrix, as a vector."""
        columns = var.type.shape[1]
        return self.reshape(self.slice(var, (number, 0), (1, columns)), columns)

    def set_row(self, var: Var, number: int, value: Var) -> Var:
        """var with var[number] = value."""
        return self.update(var, self.reshape(value, 1, var.type.shape[1]), (number, 0))

    def sum(self, var: Var, *axes: int, name: str = "sum") -> Var:
        return self.op(ops.Reduce(name, axes), var)

    def conv(self, x: Var, w: Var, pad: int = 1, stride: int = 1, groups: int = 1) -> Var:
        op = ops.Conv((stride, stride), ((pad, pad),) * 2, (1, 1), (1, 1), groups, x.type.dtype)
        return self.op(op, x, w)

    def graph(self, *outputs: Atom) -> Graph:
        return Graph(tuple(self.inputs), tuple(self.constants), tuple(self.equations), outputs)


@pytest.fixture
def build() -> GraphBuilder:
    """An empty graph builder."""
    return GraphBuilder()


@pytest.fixture(scope="session")
def builder() -> type[GraphBuilder]:
    """The class, for tests that need several graphs."""
    return GraphBuilder


@pytest.fixture
def arrays() -> Callable[[Graph], list[np.ndarray]]:
    """Random arguments for a graph."""

    def make(graph: Graph, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(v.type.shape).astype(v.type.dtype) for v in graph.inputs]

    return make


@st.composite
def programs(draw: st.DrawFn) -> tuple[Graph, tuple[tuple[int, int], ...]]:
    """A random program on small arrays with updates in place, and its written arguments."""
    b = GraphBuilder()
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    shape = (rows, columns)
    matrices = [b.input(*shape) for _ in range(draw(st.integers(1, 3)))]
    versions = list(matrices)  # the newest version of each argument
    vectors = [b.input(columns)]
    if draw(st.booleans()):
        matrices.append(b.fill(0.5, *shape))
    names = st.sampled_from(["add", "sub", "mul", "maximum"])
    for _ in range(draw(st.integers(1, 14))):
        m = draw(st.sampled_from(matrices))
        v = draw(st.sampled_from(vectors))
        match draw(st.integers(0, 12)):
            case 0:
                matrices.append(b.do(draw(names), m, draw(st.sampled_from(matrices))))
            case 1:
                vectors.append(b.do(draw(names), v, draw(st.sampled_from(vectors))))
            case 2:
                matrices.append(b.do("add", m, b.spread(v, shape, 1)))
            case 3:
                vectors.append(b.sum(m, 0))
            case 4:
                total = b.sum(m, 1, name=draw(st.sampled_from(["sum", "max"])))
                matrices.append(b.do("sub", m, b.spread(total, shape, 0)))
            case 5:
                vectors.append(b.row(m, draw(st.integers(0, rows - 1))))
            case 6 | 7:
                k = draw(st.integers(0, len(versions) - 1))
                row = draw(st.integers(0, rows - 1))
                versions[k] = b.set_row(versions[k], row, v)
                matrices.append(versions[k])
            case 8:
                k = draw(st.integers(0, len(matrices) - 1))
                row = draw(st.integers(0, rows - 1))
                value = b.do(draw(names), b.row(matrices[k], row), v)
                matrices.append(b.set_row(matrices[k], row, value))
            case 9:
                height, width = draw(st.integers(1, rows)), draw(st.integers(1, columns))
                starts = [
                    (draw(st.integers(0, rows - height)), draw(st.integers(0, columns - width)))
                    for _ in range(2)
                ]
                part = b.slice(draw(st.sampled_from(matrices)), starts[0], (height, width))
                k = draw(st.integers(0, len(versions) - 1))
                versions[k] = b.update(versions[k], b.do("mul", part, 2.0), starts[1])
                matrices.append(versions[k])
            case 10:
                matrices.append(b.reshape(b.reshape(m, rows * columns), *shape))
            case 11:
                versions[0] = b.do(draw(names), versions[0], m)
                matrices.append(versions[0])
            case 12:
                flipped = b.slice(m, (0, columns - 1), shape, (1, -1))
                matrices.append(b.op(ops.Transpose((1, 0)), b.op(ops.Transpose((1, 0)), flipped)))
    results: list[Atom] = draw(
        st.lists(st.sampled_from(matrices + vectors), min_size=1, max_size=4)
    )
    if draw(st.booleans()):
        results.append(Literal(np.float32(7)))
    written = []
    for k, version in enumerate(versions):
        if draw(st.booleans()):
            written.append((k, len(results)))
            results.append(version)
    return b.graph(*results), tuple(written)


@pytest.fixture(scope="session")
def random_programs() -> st.SearchStrategy[tuple[Graph, tuple[tuple[int, int], ...]]]:
    """The strategy of random programs."""
    return programs()
