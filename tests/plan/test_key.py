"""Equal kernels have equal keys, different ones do not."""

from __future__ import annotations

import numpy as np

from loopwright.ir.graph.key import canonical, workload_key
from loopwright.ir.graph.passes.fuse import group


def layer(b, width=8, name="exp", factor=2.0, dtype=np.float32):
    x = b.input(4, width, dtype=np.dtype(dtype))
    return b.graph(b.do("mul", b.do(name, x), b.do(name, x)) if not factor else b.do(
        "mul", b.do(name, x), factor))  # fmt: skip


def key(graph, **options):
    (only,) = group(graph).groups
    return workload_key(only, **options)


def test_names_and_identity_do_not_matter(builder):
    assert key(layer(builder())) == key(layer(builder()))


def test_values_of_constants_do_not_matter(builder):
    keys = set()
    for value in (1.0, 2.0):
        b = builder()
        c = b.constant(np.full(8, value, np.float32))
        keys.add(key(b.graph(b.do("add", b.input(8), c))))
    assert len(keys) == 1


def test_shapes_operations_literals_and_wiring_matter(builder):
    different = [
        layer(builder()),
        layer(builder(), width=9),
        layer(builder(), name="sin"),
        layer(builder(), factor=3.0),
        layer(builder(), factor=0),
        layer(builder(), factor=-0.0 + 2.5),
    ]
    assert len({key(g) for g in different}) == len(different)


def test_signs_of_zero_matter(builder):
    assert key(layer(builder(), factor=-0.0)) != key(layer(builder(), factor=1e-45))
    b, c = builder(), builder()
    plus = b.graph(b.do("add", b.input(4), 0.0))
    minus = c.graph(c.do("add", c.input(4), -0.0))
    assert key(plus) != key(minus)


def test_order_of_operands_matters(builder):
    keys = set()
    for flip in (False, True):
        b = builder()
        x, y = b.input(4), b.input(4)
        middle = b.do("exp", x)
        keys.add(key(b.graph(b.do("sub", *((y, middle) if flip else (middle, y))))))
    assert len(keys) == 2


def test_strides_and_donation_matter(build):
    x, v = build.input(8, 8), build.input(8, 6)
    (only,) = group(build.graph(build.update(x, v, (0, 1))), [0]).groups
    free = type(only)(only.name, only.inputs, only.equations, only.outputs)
    strided = {only.inputs[0]: (1, 8)}
    assert len({workload_key(only), workload_key(free), workload_key(only, strided)}) == 3


def test_a_key_is_the_same_in_every_process(build):
    (only,) = group(build.graph(build.do("exp", build.input(3)))).groups
    assert canonical(only) == (
        "ir 1\nin %0 : float32[3]\n%1 : float32[3] = Elementwise[name=exp](%0)\nout %1"
    )
