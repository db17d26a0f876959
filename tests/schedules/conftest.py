"""Small kernels as loop programs, and the law that a schedule keeps their meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from loopwright.ir.errors import ScheduleError
from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import ArrayType, Atom, Equation, Group, Literal, Var
from loopwright.ir.graph.types import result_types
from loopwright.ir.loop.checker import check
from loopwright.ir.loop.interpreter import interpret
from loopwright.ir.loop.nodes import LoopProgram
from loopwright.ir.lowering.loops import build
from loopwright.ir.lowering.tensors import lower_group
from loopwright.ir.tensor.nodes import Role

Array = Any


class Kernel:
    """A kernel under construction: operations in the order of the calls."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []

    def input(self, *shape: int, dtype: Any = "float32") -> Var:
        self.inputs.append(Var(ArrayType(shape, np.dtype(dtype))))
        return self.inputs[-1]

    def op(self, op: Any, *operands: Any) -> Var:
        atoms: tuple[Atom, ...] = tuple(
            a if isinstance(a, Var | Literal) else Literal(a) for a in operands
        )
        types = result_types(op, tuple(a.type for a in atoms))
        self.equations.append(Equation(op, atoms, tuple(Var(t) for t in types)))
        return self.equations[-1].outputs[0]

    def apply(self, name: str, *operands: Any) -> Var:
        """An elementwise operation."""
        return self.op(ops.Elementwise(name), *operands)

    def spread(self, operand: Var, shape: Sequence[int], *axes: int) -> Var:
        """A broadcast: operand axis k is axis `axes[k]` of the shape."""
        return self.op(ops.Broadcast(tuple(shape), axes), operand)

    def dot(self, a: Var, b: Var, transposed: bool = False, batch: int = 0) -> Var:
        """Matrix product over the last axis of `a` and the first (last) after the batch of `b`."""
        shared = tuple(range(batch))
        axes = ((len(a.type.shape) - 1,), (batch + 1 if transposed else batch,))
        return self.op(ops.DotGeneral(axes, (shared, shared), a.type.dtype), a, b)

    def program(self, *outputs: Var, donated: Sequence[tuple[int, int]] = ()) -> LoopProgram:
        group = Group("kernel", tuple(self.inputs), tuple(self.equations), outputs, tuple(donated))
        return build(lower_group(group))


@pytest.fixture(scope="session")
def kernels() -> type[Kernel]:
    """The maker of empty kernels."""
    return Kernel


@pytest.fixture
def kernel() -> Kernel:
    """An empty kernel."""
    return Kernel()


@pytest.fixture
def matmul(kernel: Kernel) -> LoopProgram:
    """matmul[i, j] = sum(k) a[i, k] * b[k, j], extents 7, 9, 10."""
    return kernel.program(kernel.dot(kernel.input(7, 10), kernel.input(10, 9)))


@pytest.fixture
def chain(kernel: Kernel) -> LoopProgram:
    """sum[i] = sum(r) a[i, r] squared, then sub[i, j] = a[i, j] - sum[i]: 5 rows of 12."""
    a = kernel.input(5, 12)
    total = kernel.op(ops.Reduce("sum", (1,)), kernel.apply("mul", a, a))
    return kernel.program(kernel.apply("sub", a, kernel.spread(total, (5, 12), 0)))


def numbers(program: LoopProgram, seed: int = 0) -> list[Array]:
    """Arguments of small whole numbers: sums of them are exact in any order."""
    random = np.random.default_rng(seed)
    found = []
    for param in program.params:
        if param.role is not Role.OUTPUT:
            low = 0 if param.buffer.dtype.kind in "ub" else -4
            values = random.integers(low, 5, param.buffer.shape)
            found.append(values.astype(param.buffer.dtype))
    return found


@pytest.fixture(scope="session")
def arguments() -> Callable[..., list[Array]]:
    """arguments(program): arrays for its inputs."""
    return numbers


@pytest.fixture(scope="session")
def same() -> Callable[..., None]:
    """same(before, after): after obeys the rules and gives the same results."""

    def law(before: LoopProgram, after: LoopProgram, **tolerance: float) -> None:
        check(after)
        arrays = numbers(before)
        shuffle = np.random.default_rng(1)
        wanted = interpret(before, arrays)
        found = interpret(after, arrays, shuffle)
        for a, b in zip(found, wanted, strict=True):
            if tolerance:
                np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), **tolerance)
            else:
                np.testing.assert_array_equal(a, b)

    return law


@pytest.fixture(scope="session")
def refused() -> Callable[..., None]:
    """refused(code, step, program, ...): the step raises ScheduleError with that code."""

    def law(code: str, step: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        with pytest.raises(ScheduleError) as caught:
            step(*arguments, **named)
        assert caught.value.code == code
        assert caught.value.what

    return law
