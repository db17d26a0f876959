"""The blocked layout keeps meaning, and stays blocked through a network."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.graph import ops
from loopwright.ir.graph.checker import check
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import Graph, Literal
from loopwright.ir.graph.passes.layout import block_layout
from loopwright.ir.target import Target

AVX2 = Target(cpu="haswell", triple="x86_64-unknown-linux-gnu")
AVX512 = Target(cpu="skylake-avx512", triple="x86_64-unknown-linux-gnu")


def counts(graph: Graph) -> Counter[str]:
    return Counter(type(e.op).__name__ for e in graph.equations)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def same(graph: Graph, target: Target, **exact: float) -> Graph:
    """The graph in blocked layout, after checking that it means the same.

    The values are small integers, so that sums are exact in any order.
    """
    blocked = block_layout(graph, target)
    check(blocked)
    arrays = [weights(*v.type.shape, seed=k) for k, v in enumerate(graph.inputs)]
    for a, b in zip(interpret(blocked, arrays), interpret(graph, arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    return blocked


@pytest.mark.parametrize("target", [AVX2, AVX512])
@pytest.mark.parametrize("channels", [(3, 16), (16, 24), (40, 10), (1, 8)])
def test_a_convolution(build, target, channels):
    x = build.input(2, channels[0], 5, 6)
    w = build.constant(weights(channels[1], channels[0], 3, 3))
    blocked = same(build.graph(build.conv(x, w)), target)
    assert counts(blocked)["ConvBlocked"] == 1
    assert counts(blocked)["Conv"] == 0


@pytest.mark.parametrize("target", [AVX2, AVX512])
def test_a_block_with_bias_clip_and_residual_stays_blocked(build, target):
    x = build.input(1, 3, 8, 8)
    y = build.conv(x, build.constant(weights(16, 3, 3, 3)), stride=2)
    y = build.do("add", y, build.spread(build.constant(weights(16)), y.type.shape, 1))
    six = build.fill(6.0, *y.type.shape)
    y = build.do("minimum", build.do("maximum", y, build.fill(0.0, *y.type.shape)), six)
    z = build.conv(y, build.constant(weights(16, 1, 3, 3)), groups=16)
    z = build.conv(z, build.constant(weights(16, 16, 1, 1)), pad=0)
    z = build.do("add", z, y)
    mean = build.do("mul", build.sum(z, 2, 3), 0.25)
    blocked = same(build.graph(mean), target)
    assert not any(
        isinstance(e.op, ops.Transpose) and e.op.permutation == (0, 1, 4, 2, 3)
        for e in blocked.equations
    )
    assert counts(blocked)["ConvBlocked"] == 3


def test_an_unknown_value_beyond_the_last_channel_is_not_multiplied(build):
    """1/0 in unused lanes must not reach the next convolution's sums."""
    x = build.input(1, 16, 4, 4)
    y = build.conv(x, build.constant(weights(12, 16, 3, 3)))
    y = build.do("div", build.do("add", build.do("mul", y, y), 1.0), 1.0)
    scale = build.spread(build.constant(np.full(12, 2, np.float32)), y.type.shape, 1)
    y = build.do("div", y, scale)
    y = build.conv(y, build.constant(weights(16, 12, 1, 1)), pad=0)
    blocked = same(build.graph(y), AVX2)
    assert counts(blocked)["ConvBlocked"] == 2


def test_pictures_used_by_other_operations_are_unpacked_once(build):
    x = build.input(1, 8, 4, 4)
    y = build.conv(x, build.constant(weights(8, 8, 3, 3)))
    turned = build.op(ops.Transpose((0, 2, 3, 1)), y)
    total = build.sum(y, 1)
    blocked = same(build.graph(y, turned, total), AVX2)
    unpacking = [
        e for e in blocked.equations
        if isinstance(e.op, ops.Transpose) and e.op.permutation == (0, 1, 4, 2, 3)
    ]  # fmt: skip
    assert len(unpacking) == 1


def test_weights_that_are_arguments_are_packed_if_there_is_much_to_do(build):
    x = build.input(1, 32, 16, 16)
    y = build.conv(x, build.input(32, 32, 3, 3))
    assert counts(same(build.graph(y), AVX2))["ConvBlocked"] == 1


def test_convolutions_that_it_does_not_help_stay_plain(build):
    x = build.input(1, 16, 6, 6)
    grouped = build.conv(x, build.constant(weights(16, 4, 3, 3)), groups=4)
    argument = build.conv(x, build.input(16, 16, 3, 3))
    narrow = build.conv(x, build.constant(weights(2, 16, 3, 3)))
    exact = build.op(
        ops.Conv((1, 1), ((0, 0),) * 2, (1, 1), (1, 1), 1, np.dtype(np.float32), "highest"),
        x,
        build.constant(weights(16, 16, 3, 3)),
    )
    graph = build.graph(grouped, argument, narrow, exact)
    assert block_layout(graph, AVX2) is graph


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_networks(builder, data):
    b = builder()
    draw = data.draw
    x = b.input(draw(st.integers(1, 2)), draw(st.sampled_from([1, 3, 8, 12, 16])), 5, 4)
    pictures = [x]
    for number in range(draw(st.integers(1, 8))):
        y = draw(st.sampled_from(pictures))
        n, channels, height, width = y.type.shape
        match draw(st.integers(0, 10)):
            case 0 | 1 | 2:
                out = draw(st.sampled_from([4, 8, 12, 16, 20]))
                kernel = draw(st.sampled_from([1, 3]))
                w = b.constant(weights(out, channels, kernel, kernel, seed=number))
                y = b.conv(y, w, pad=kernel // 2, stride=draw(st.sampled_from([1, 2])))
            case 3:
                w = b.constant(weights(channels, 1, 3, 3, seed=number))
                y = b.conv(y, w, groups=channels)
            case 4:
                bias = b.constant(weights(channels, seed=number))
                y = b.do("add", y, b.spread(bias, y.type.shape, 1))
            case 5:
                name = draw(st.sampled_from(["maximum", "add", "mul", "sub", "minimum"]))
                y = b.do(name, y, draw(st.sampled_from([0.0, 1.0, -2.0])))
            case 6:
                others = [p for p in pictures if p.type.shape == y.type.shape]
                y = b.do("add", y, draw(st.sampled_from(others)))
            case 7:
                op = ops.Pool(
                    draw(st.sampled_from(["max", "sum"])),
                    (1, 1, 2, 2), (1, 1, 1, 1), ((0, 0), (0, 0), (0, 1), (1, 0)), (1,) * 4,
                )  # fmt: skip
                y = b.op(op, y)
            case 8:
                pads = ((0, 0, 1, 0), (0, 0, 0, 1), (0,) * 4)
                y = b.op(ops.Pad(*pads), y, Literal(np.float32(draw(st.integers(0, 1)))))
            case 9:
                y = b.slice(y, (0, 0, 0, 0), (n, channels, 1, width), (1, 1, 2, 1))
            case 10:
                others = [
                    p for p in pictures
                    if (p.type.shape[0], *p.type.shape[2:]) == (n, height, width)
                ]  # fmt: skip
                y = b.op(ops.Concatenate(1), y, draw(st.sampled_from(others)))
        # values stay small enough for sums to be exact
        y = b.do("minimum", b.do("maximum", y, -4.0), 4.0)
        pictures.append(y)
    results = draw(st.lists(st.sampled_from(pictures), min_size=1, max_size=2))
    for axes in draw(st.lists(st.sampled_from([(2, 3), (0, 2, 3), (1, 2, 3)]), max_size=2)):
        results.append(b.sum(pictures[-1], *axes))
    same(b.graph(*results), draw(st.sampled_from([AVX2, AVX512])))
