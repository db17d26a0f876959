"""What `trace` hands on: inputs, outputs, written arguments, guards; and what it refuses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import ArgumentError, DTypeError, ShapeError, TraceError
from loopwright.ir.graph.ops import DotGeneral, Reduce
from loopwright.tracer.staging import (
    Argument,
    ArraySpec,
    Computed,
    Static,
    call_inline,
    current_trace,
    precision,
    spec_of,
    trace,
)
from loopwright.tracer.trees import flatten, unflatten

F32 = np.dtype(np.float32)
SPEC = ArraySpec((2, 3), F32)
Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = None


TREES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Frozen, inner, inner),
        st.dictionaries(st.integers(), inner, max_size=2).map(OrderedDict),
    ),
    max_leaves=12,
)


@given(tree=TREES)
@settings(max_examples=100, deadline=None)
def test_trees_come_back(tree: Any) -> None:
    leaves, structure = flatten(tree)
    again = unflatten(structure, leaves)
    assert again == tree and type(again) is type(tree)
    assert flatten(again)[1] == structure and hash(structure) == hash(flatten(again)[1])
    assert not any(leaf is None for leaf in leaves)


def test_specs_of_arguments() -> None:
    assert spec_of(2) == ArraySpec((), np.dtype(np.int64), weak=True, value=np.int64(2))
    assert spec_of(True).dtype == bool
    assert spec_of(0.5).weak and not spec_of(np.float64(0.5)).weak
    assert spec_of(np.float32(1)).scalar and spec_of(np.float32(1)).dtype == F32
    assert spec_of(np.zeros((2, 3)).T) == ArraySpec((3, 2), np.dtype(float), strides=(1, 3))
    assert spec_of(np.zeros(2, ">f4")).dtype == F32
    assert spec_of("text") is None and spec_of(None) is None and spec_of(2**70) is None
    for bad in (np.zeros(2, complex), np.array(["a"]), np.array([{}]), np.zeros(1, "M8[s]")):
        with pytest.raises(DTypeError):
            spec_of(bad)


def test_outputs_are_described() -> None:
    def f(x: Any, n: Any, name: str, maker: Any) -> Any:
        y = x * n
        return {"same": x, "sum": y.sum(), "twice": (y, y), "name": name, "none": None, "n": n + 1}

    staged = trace(f, (SPEC, 2, "layer", len), {}, name="f")
    assert [type(o) for o in staged.outputs] == [
        Argument, Computed, Computed, Computed, Static, Computed,
    ]  # fmt: skip
    same, total, first, second, name, number = staged.outputs
    assert isinstance(first, Computed) and isinstance(second, Computed)
    assert same == Argument(0) and first.position == second.position and name.value == "layer"
    assert total.scalar and not first.scalar and number.weak
    assert [v.type.shape for v in staged.graph.inputs] == [(2, 3), ()]
    assert not staged.written and not staged.guards
    rebuilt = staged.rebuild([1, 2, 3, 4, 5, 6])
    assert rebuilt == {"same": 1, "sum": 2, "twice": (3, 4), "name": 5, "none": None, "n": 6}


def test_written_arguments_are_extra_outputs() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        x[0] = z[0]
        y += 1
        return y, x[0]

    staged = trace(f, (SPEC, SPEC, SPEC), {})
    assert staged.outputs[0] == Argument(1)
    assert [k for k, _ in staged.written] == [0, 1]
    assert len(staged.graph.outputs) == 3


def test_keyword_and_nested_arguments() -> None:
    def f(params: Any, x: Any, *, flip: bool = False) -> Any:
        return params["w"] @ x if not flip else x

    staged = trace(f, ({"w": SPEC, "skip": None}, ArraySpec((3,), F32)), {"flip": "yes"})
    assert staged.outputs == (Argument(1),)
    assert len(staged.graph.inputs) == 2


def test_static_arguments_are_python_values() -> None:
    def f(x: Any, axes: Any, mode: str = "sum") -> Any:
        return getattr(x, mode)(axis=axes["axis"])

    staged = trace(f, (SPEC, {"axis": 1}), {"mode": "mean"}, static={"axes", "mode"})
    assert staged.graph.outputs[0].type.shape == (2,) and len(staged.graph.inputs) == 1
    with pytest.raises(ArgumentError, match="'axis'"):
        trace(f, (SPEC, 1), {}, static={"axis"})


def test_a_number_that_python_asks_for_becomes_a_guard() -> None:
    def f(x: Any, n: Any, scale: Any) -> Any:
        out = np.zeros(n)
        for k in range(n // 2):
            out[k] = x[0, k] * scale
        return out

    staged = trace(f, (SPEC, 5, 0.5), {})
    assert staged.guards == ((1, np.int64(5)),)
    assert staged.graph.outputs[0].type.shape == (5,)
    bare = ArraySpec((), np.dtype(np.int64), weak=True)
    with pytest.raises(TraceError, match="not known"):
        trace(f, (SPEC, bare, 0.5), {})


def test_only_used_constants_are_kept() -> None:
    table, unused = np.arange(3.0), np.arange(4.0)
    staged = trace(lambda x: (x + table, np.sin(table), unused is None)[0] + table, (SPEC,), {})
    assert len(staged.graph.constants) == 1
    constant = staged.graph.constants[0].array
    assert not constant.flags.writeable and constant is not table


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 if x[0, 0] > 0 else 2,
        lambda x: [0 for _ in range(x.shape[0]) if x.any()],
        lambda x: int(x[0, 0]),
        lambda x: float(x[0, 0]),
        lambda x: bool(x.all()),
        lambda x: list(range(x[0, 0].astype(int))),
        lambda x: x.item(0),
        lambda x: x.tolist(),
        lambda x: len(x[0, 0]),
        lambda x: list(x[0, 0]),
        lambda x: [1, 2][x[0, 0].astype(int)],
        lambda x: x.sum() and 1,
        lambda x: np.zeros(x[0].sum().astype(int)),
        lambda x: np.nonzero(x),
        lambda x: np.unique(x),
        lambda x: 3 in x,
        lambda x: pickle.dumps(x),
        lambda x: {x[0, 0]: 1},
        lambda x: np.fft.fft(x),
        lambda x: x + object(),
        lambda x: x.shape.__class__ and setattr(x, "shape", (3, 2)),
    ],
)
def test_values_that_are_not_known_are_refused_with_the_line(function: Any) -> None:
    with pytest.raises(TypeError) as caught:
        trace(function, (SPEC,), {})
    if isinstance(caught.value, TraceError):
        assert "test_staging.py" in str(caught.value) and "lambda x" in str(caught.value)
        assert caught.value.where is not None


def test_while_names_the_mend() -> None:
    def f(x: Any) -> Any:
        while x.sum() > 1:
            x = x / 2
        return x

    with pytest.raises(TraceError, match=r"np\.where") as caught:
        trace(f, (SPEC,), {})
    assert "while x.sum() > 1:" in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ x,
        lambda x: x + np.ones(4),
        lambda x: x.reshape(4, 2),
        lambda x: x.reshape(-1, -1),
        lambda x: x.sum(axis=2),
        lambda x: np.concatenate([x, x.T]),
        lambda x: np.stack([x, x[0]]),
        lambda x: x.transpose(0, 0),
        lambda x: np.broadcast_to(x, (3, 2)),
        lambda x: np.einsum("ij,jk->ik", x, x),
        lambda x: x[:0].max(),
        lambda x: np.argmin(x[:, :0]),
        lambda x: np.squeeze(x, 0),
        lambda x: np.zeros((2, -1)),
        lambda x: np.split(x, 2, 1),
    ],
)
def test_shapes_that_do_not_fit_are_refused_as_by_numpy(function: Any) -> None:
    with pytest.raises((ValueError, IndexError)):
        function(np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError) as caught:
        trace(function, (SPEC,), {})
    assert "test_staging.py" in str(caught.value)


@pytest.mark.parametrize("value", [1j, np.zeros(2, complex), np.array(["a", "b"]), [{}, {}]])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError):
        trace(lambda x: x[0, :2] + value, (SPEC,), {})


def test_exceptions_of_the_function_pass_and_the_next_trace_works() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trace(f, (SPEC,), {})
    assert current_trace() is None
    assert trace(lambda x: x + 1, (SPEC,), {}).graph.equations


def test_inlined_calls_share_the_graph() -> None:
    def inner(x: Any) -> Any:
        out = np.zeros(3, np.float32)
        out[:] = x[0]
        return out

    staged = trace(lambda x: call_inline(inner, (x,), {}) * 2, (SPEC,), {})
    assert staged.graph.outputs[0].type == staged.graph.inputs[0].type.__class__((3,), F32)


def test_precision_by_function_context_and_operation() -> None:
    def f(x: Any) -> Any:
        a = x.sum()
        with precision("highest"):
            b = x @ x.T
        return a, b

    def found(equations: Any) -> list[str]:
        return [e.op.precision for e in equations if isinstance(e.op, Reduce | DotGeneral)]

    assert found(trace(f, (SPEC,), {}).graph.equations) == ["default", "highest"]
    staged = trace(f, (SPEC,), {}, precision="highest")
    assert found(staged.graph.equations) == ["highest", "highest"]


def test_every_equation_has_its_line() -> None:
    def f(x: Any) -> Any:
        y = np.linalg.norm(x, axis=1)
        return np.percentile(y, 30)

    for equation in trace(f, (SPEC,), {}).graph.equations:
        assert equation.source is not None and equation.source.file == __file__
        assert equation.source.function.endswith("test_every_equation_has_its_line.<locals>.f")


def test_long_programs_and_shared_values_are_linear() -> None:
    def chain(x: Any) -> Any:
        for _ in range(10_000):
            x = x + x
        return x

    assert len(trace(chain, (SPEC,), {}).graph.equations) == 10_000

    def views(x: Any) -> Any:
        y = x
        for k in range(5_000):
            y = y.T[::-1] if k % 2 else y[None][0]
        y += 1
        return y

    assert trace(views, (SPEC,), {}).written == ((0, 1),)


def test_copies_of_traced_values(run: Any) -> None:
    def f(x: Any) -> Any:
        a, b = copy.copy(x), copy.deepcopy([x])[0]
        a += 1
        b += 2
        return a, b

    x = np.zeros((2, 3))
    for g, w in zip(run(f, x), (x + 1, x + 2), strict=True):
        np.testing.assert_array_equal(g, w)
    assert not x.any()
