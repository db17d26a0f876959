"""Default schedules keep the meaning at odd sizes, on several targets, and take their template."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from loopwright.backends.llvm import host, runtime
from loopwright.backends.llvm.emit import emit_kernel
from loopwright.backends.llvm.orc import Library
from loopwright.ir.graph import ops
from loopwright.ir.loop.interpreter import interpret
from loopwright.ir.loop.nodes import LoopKind
from loopwright.ir.loop.printer import print_program
from loopwright.ir.lowering.flatten import flatten
from loopwright.ir.target import Target
from loopwright.ir.tensor.nodes import Role
from loopwright.schedules import find
from loopwright.schedules.templates import default
from loopwright.schedules.templates.default import schedule

AVX2 = Target(cpu="x86-64-v3", triple="x86_64-linux-gnu")
TARGETS = {
    "avx2": AVX2,
    "avx512": Target(cpu="x86-64-v4", triple="x86_64-linux-gnu"),
    "tiny": Target(
        cpu="x86-64",
        triple="x86_64-linux-gnu",
        vector_bits=128,
        vector_registers=8,
        l1=512,
        l2=2048,
    ),
}


def softmax(k, *shape):
    x, last = k.input(*shape), len(shape) - 1
    rows = tuple(range(last))
    largest = k.op(ops.Reduce("max", (last,)), x)
    powers = k.apply("exp", k.apply("sub", x, k.spread(largest, shape, *rows)))
    total = k.op(ops.Reduce("sum", (last,)), powers)
    return k.apply("div", powers, k.spread(total, shape, *rows))


def norm(k, *shape):
    x, last = k.input(*shape), len(shape) - 1
    rows, count = tuple(range(last)), np.float32(shape[-1])
    mean = k.apply("div", k.op(ops.Reduce("sum", (last,)), x), count)
    off = k.apply("sub", x, k.spread(mean, shape, *rows))
    square = k.op(ops.Reduce("sum", (last,)), k.apply("mul", off, off))
    scale = k.apply("sqrt", k.apply("add", k.apply("div", square, count), np.float32(1)))
    return k.apply("div", off, k.spread(scale, shape, *rows))


def dense(k, m, n, depth, transposed=False, batch=()):
    a = k.input(*batch, m, depth)
    b = k.input(*batch, *((n, depth) if transposed else (depth, n)))
    return k.dot(a, b, transposed, len(batch))


def layer(k, m, n, depth):
    product = dense(k, m, n, depth)
    biased = k.apply("add", product, k.spread(k.input(n), (m, n), 1))
    return k.apply("maximum", biased, np.float32(0))


def conv_blocked(k, size, inputs, outputs, kernel, stride, block=8, depthwise=False):
    pad = (kernel // 2, kernel // 2)
    x = k.input(2, -(-inputs // block), size, size, block)
    if depthwise:
        w = k.input(-(-inputs // block), kernel, kernel, block)
    else:
        w = k.input(outputs // 8, -(-inputs // block), kernel, kernel, block, 8)
    op = ops.ConvBlocked((stride, stride), (pad, pad), (1, 1), depthwise, np.dtype("float32"))
    made = k.op(op, x, w)
    biased = k.apply("add", made, k.spread(k.input(*made.type.shape[1::3]), made.type.shape, 1, 4))
    return k.apply("minimum", k.apply("maximum", biased, np.float32(0)), np.float32(6))


def conv(k, size, inputs, outputs, kernel, stride, groups=1):
    x = k.input(1, inputs, size, size)
    w = k.input(outputs, inputs // groups, kernel, kernel)
    pads = ((kernel // 2, kernel // 2),) * 2
    op = ops.Conv((stride, stride), pads, (1, 1), (1, 1), groups, np.dtype("float32"))
    return k.op(op, x, w)


def reduce(k, name, shape, axes, dtype="float32", precision="default"):
    return k.op(ops.Reduce(name, axes, precision), k.input(*shape, dtype=dtype))


def pool(k, name, shape, window, strides, pad=0):
    pads = tuple((pad if w > 1 else 0, pad if w > 1 else 0) for w in window)
    op = ops.Pool(name, window, strides, pads, (1,) * len(shape))
    return k.op(op, k.input(*shape))


def elementwise(k, *shape, dtype="float32"):
    x = k.input(*shape, dtype=dtype)
    return k.apply("add", k.apply("mul", x, x), x)


def turned(k, m, n):
    return k.apply("add", k.op(ops.Transpose((1, 0)), k.input(m, n)), np.float32(1))


def outer(k, m, n):
    a, b = k.input(m), k.input(n)
    return k.apply("add", k.spread(a, (m, n), 0), k.spread(b, (m, n), 1))


def distances(k, m, n, depth):
    a, b = k.input(m, depth), k.input(n, depth)
    shape = (m, n, depth)
    off = k.apply("sub", k.spread(a, shape, 0, 2), k.spread(b, shape, 1, 2))
    return k.apply("sqrt", k.op(ops.Reduce("sum", (2,)), k.apply("mul", off, off)))


def cumulative(k, shape, axis):
    return k.op(ops.Cumulative("sum", axis), k.input(*shape))


def gathered(k, rows, columns, count):
    x, at = k.input(rows, columns), k.input(count, dtype="int64")
    return k.op(ops.Gather((0,), "clip"), x, at)


KERNELS = {
    "elementwise": (elementwise, 3, 37),
    "elementwise scalar": (elementwise,),
    "elementwise empty": (elementwise, 0, 5),
    "elementwise short": (elementwise, 3),
    "elementwise int8": (lambda k: elementwise(k, 101, dtype="int8")),
    "elementwise large": (elementwise, 130, 131),
    "outer": (outer, 9, 21),
    "transpose": (turned, 35, 50),
    "softmax": (softmax, 5, 77),
    "softmax short": (softmax, 7, 3),
    "softmax three axes": (softmax, 2, 2, 40),
    "norm": (norm, 4, 65),
    "sum": (lambda k: reduce(k, "sum", (71, 9), (0, 1))),
    "sum long": (lambda k: reduce(k, "sum", (17001,), (0,))),
    "sum rows": (lambda k: reduce(k, "sum", (3, 100), (1,))),
    "sum columns": (lambda k: reduce(k, "sum", (33, 90), (0,))),
    "sum outer and inner": (lambda k: reduce(k, "sum", (5, 6, 40), (0, 2))),
    "sum middle": (lambda k: reduce(k, "sum", (3, 20, 5), (1,))),
    "sum exact": (lambda k: reduce(k, "sum", (5, 40), (1,), precision="highest")),
    "max int": (lambda k: reduce(k, "max", (3, 70), (1,), "int16")),
    "any": (lambda k: reduce(k, "or", (70,), (0,), "bool")),
    "sum empty": (lambda k: reduce(k, "sum", (3, 0), (1,))),
    "argmax": (lambda k: k.op(ops.ArgReduce("max", 1), k.input(4, 50))),
    "product": (dense, 13, 21, 10),
    "product packed": (dense, 70, 45, 40),
    "product transposed": (dense, 20, 19, 33, True),
    "product of batches": (dense, 9, 17, 12, False, (3,)),
    "row times matrix": (dense, 1, 50, 20),
    "matrix times column": (dense, 30, 1, 40),
    "dense layer": (layer, 50, 37, 20),
    "dense layer small": (layer, 2, 5, 3),
    "conv blocked": (conv_blocked, 6, 8, 16, 3, 1),
    "conv blocked stride": (conv_blocked, 7, 8, 24, 3, 2),
    "conv blocked 1x1": (conv_blocked, 7, 16, 32, 1, 1),
    "conv blocked first": (conv_blocked, 12, 3, 16, 3, 2, 3),
    "depthwise blocked": (conv_blocked, 10, 16, 16, 3, 1, 8, True),
    "depthwise blocked stride": (conv_blocked, 9, 8, 8, 5, 2, 8, True),
    "conv": (conv, 11, 3, 8, 3, 1),
    "conv stride": (conv, 12, 4, 6, 3, 2),
    "conv groups": (conv, 9, 6, 6, 3, 1, 3),
    "conv depthwise": (conv, 17, 5, 5, 3, 1, 5),
    "max pool": (lambda k: pool(k, "max", (1, 3, 15, 17), (1, 1, 3, 3), (1, 1, 2, 2), 1)),
    "sum pool": (lambda k: pool(k, "sum", (2, 13, 13, 8), (1, 2, 2, 1), (1, 2, 2, 1))),
    "distances": (distances, 9, 11, 20),
    "cumulative along": (lambda k: cumulative(k, (4, 30), 1)),
    "cumulative across": (lambda k: cumulative(k, (9, 19), 0)),
    "gather": (gathered, 12, 19, 7),
    "sort": (lambda k: k.op(ops.Sort(1), k.input(3, 17))),
}


def make(kernel, name):
    found = KERNELS[name]
    build, *arguments = found if isinstance(found, tuple) else (found,)
    return kernel.program(build(kernel, *arguments))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_template_keeps_meaning(kernel, same, name, target):
    program = make(kernel, name)
    same(program, schedule(program, TARGETS[target]), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_template_refuses_nothing(kernel, monkeypatch, name):
    """No default schedule fails on the way and falls back."""
    monkeypatch.setattr(default, "_attempt", lambda program, step: step(program))
    program = make(kernel, name)
    before = [p.block.definition for p in find.blocks(program)]
    if default.rows.matches(tuple(before)):
        default.rows.schedule(program, AVX2)
    else:
        schedule(program, AVX2)


def run_native(program, arrays):
    """The results of the program's machine code."""
    text = emit_kernel(flatten(program), Target())
    library = Library(
        [host.compile_object(text, Target())], [program.name], runtime.load().addresses
    )
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library[program.name])
    given = iter(arrays)
    buffers = [
        np.full(p.buffer.shape, 77, p.buffer.dtype)
        if p.role is Role.OUTPUT
        else np.ascontiguousarray(next(given)).copy()
        for p in program.params
    ]
    pointers = (ctypes.c_void_p * len(buffers))(*[b.ctypes.data for b in buffers])
    raw = np.zeros(flatten(program).shared_bytes + 64, np.uint8)
    assert call(pointers, raw.ctypes.data + -raw.ctypes.data % 64) == 0
    roles = [p.role for p in program.params]
    return [b for b, role in zip(buffers, roles, strict=True) if role is not Role.INPUT]


@pytest.mark.parametrize("name", KERNELS)
def test_native_code_keeps_meaning(kernel, arguments, name):
    program = make(kernel, name)
    arrays = arguments(program)
    found = run_native(schedule(program, Target()), arrays)
    for a, b in zip(found, interpret(program, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


def kinds(program):
    return [loop.kind for node in program.body for loop in find.loops_below(node)]


def test_large_work_is_shared_and_small_is_not(kernel, kernels):
    assert LoopKind.PARALLEL not in kinds(schedule(make(kernel, "elementwise"), AVX2))
    large = kernels()
    program = schedule(large.program(elementwise(large, 2048, 2048)), AVX2)
    assert kinds(program)[0] is LoopKind.PARALLEL


def test_results_do_not_depend_on_workers(kernel):
    program = make(kernel, "sum long")
    one, eight = (schedule(program, AVX2.with_threads(n)) for n in (1, 8))
    assert print_program(one) == print_program(eight)


def test_rows_keep_their_scalars_in_registers(kernel):
    program = schedule(make(kernel, "softmax"), AVX2)
    assert len(program.body) == 1
    scopes = {
        output.name: output.scope.value
        for place in find.blocks(program)
        for output in place.block.definition.outputs
    }
    assert scopes["max"] == scopes["sum"] == "register" and scopes["exp"] == "scratch"


def test_exp_and_its_sum_share_a_loop(kernel):
    program = schedule(make(kernel, "softmax"), AVX2)
    exp, part = (find.block(program, name) for name in ("exp", "sum.part"))
    assert exp.around == part.around


def test_epilogues_ride_on_tiles(kernel):
    for name in ("dense layer", "conv blocked", "depthwise blocked"):
        program = schedule(make(type(kernel)(), name), AVX2)
        assert len(find.blocks(program)) - (name == "dense layer") <= 2
