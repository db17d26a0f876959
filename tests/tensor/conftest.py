"""Small groups of equations, and the law that every level gives the graph's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from loopwright.ir.graph.interpreter import interpret_group
from loopwright.ir.graph.nodes import ArrayType, Atom, Equation, Group, Literal, Var
from loopwright.ir.graph.types import result_types
from loopwright.ir.loop import interpreter as loops
from loopwright.ir.loop.checker import check as check_loop
from loopwright.ir.lowering.loops import build
from loopwright.ir.lowering.tensors import lower_group
from loopwright.ir.tensor import interpreter as tensors
from loopwright.ir.tensor.checker import check as check_tensor
from loopwright.ir.tensor.nodes import TensorProgram


class Groups:
    """Builds a group equation by equation."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []

    def input(self, shape: Sequence[int], dtype: Any = "float32") -> Var:
        self.inputs.append(Var(ArrayType(tuple(shape), np.dtype(dtype))))
        return self.inputs[-1]

    def op(self, op: Any, *operands: Any) -> Var:
        atoms: tuple[Atom, ...] = tuple(
            a if isinstance(a, Var | Literal) else Literal(a) for a in operands
        )
        types = result_types(op, tuple(a.type for a in atoms))
        self.equations.append(Equation(op, atoms, tuple(Var(t) for t in types)))
        return self.equations[-1].outputs[0]

    def group(self, *outputs: Var, donated: Sequence[tuple[int, int]] = ()) -> Group:
        return Group("kernel", tuple(self.inputs), tuple(self.equations), outputs, tuple(donated))


@pytest.fixture
def groups() -> Callable[[], Groups]:
    """A maker of empty groups."""
    return Groups


def written_order(group: Group, results: Sequence[Any]) -> list[Any]:
    """The graph's results in the order of the parameters that a kernel writes."""
    donated = dict(group.donated)
    order = [donated[i] for i in range(len(group.inputs)) if i in donated]
    order += [o for o in range(len(group.outputs)) if o not in donated.values()]
    return [results[o] for o in order]


def same(a: Any, b: Any, loose: bool) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape
    wide = np.float64 if a.dtype.kind not in "iub" else a.dtype
    if loose:
        error = 2e-2 if a.dtype.itemsize == 2 else 1e-4
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=error, atol=error)
    else:
        np.testing.assert_array_equal(a.astype(wide), b.astype(wide))


@pytest.fixture
def agree() -> Callable[..., TensorProgram]:
    """agree(group, arrays, loose=False): all three levels give the same; the tensor program."""

    def law(group: Group, arrays: Sequence[Any], loose: bool = False) -> TensorProgram:
        kept = [a.copy() for a in arrays]
        wanted = written_order(group, interpret_group(group, arrays))
        program = lower_group(group)
        check_tensor(program)
        by_tensor = tensors.interpret(program, arrays)
        nests = build(program)
        check_loop(nests)
        by_loop = loops.interpret(nests, arrays)
        for want, tensor, loop in zip(wanted, by_tensor, by_loop, strict=True):
            same(tensor, want, loose)
            same(loop, tensor, False)
        for array, before in zip(arrays, kept, strict=True):
            assert array.tobytes() == before.tobytes()
        return program

    return law
