"""Random steps on random kernels: a refusal, or the same results."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import ScheduleError
from loopwright.ir.expr.nodes import Scope
from loopwright.ir.graph import ops
from loopwright.ir.loop.nodes import For
from loopwright.schedules import find
from loopwright.schedules.axes import axes_from_loops, over_compute
from loopwright.schedules.inline import compute_inline, reverse_compute_inline
from loopwright.schedules.loops import fuse, merge, reorder, split
from loopwright.schedules.marks import parallel, partition, unroll, vectorize
from loopwright.schedules.memory import cache_read, cache_write, set_scope
from loopwright.schedules.placement import compute_at, reverse_compute_at
from loopwright.schedules.reduction import rfactor

STEPS = (
    "split", "fuse", "reorder", "merge", "vectorize", "unroll", "parallel", "partition",
    "compute_at", "reverse_compute_at", "inline", "reverse_inline", "cache_read", "cache_write",
    "set_scope", "over_compute", "axes_from_loops", "rfactor",
)  # fmt: skip
SCOPES = st.sampled_from([Scope.SCRATCH, Scope.REGISTER])


def product(k, draw):
    m, n, depth = draw(st.tuples(*[st.integers(1, 6)] * 3))
    made = k.dot(k.input(m, depth), k.input(depth, n))
    if draw(st.booleans()):
        made = k.apply("maximum", made, np.float32(0))
    return made


def rows(k, draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 7)))
    a = k.input(*shape)
    total = k.op(ops.Reduce("sum", (1,)), k.apply("mul", a, a))
    return k.apply("sub", a, k.spread(total, shape, 0))


def window(k, draw):
    size, pad = draw(st.integers(3, 6)), draw(st.integers(0, 1))
    op = ops.Pool("sum", (1, 3), (1, draw(st.integers(1, 2))), ((0, 0), (pad, pad)), (1, 1))
    return k.op(op, k.input(draw(st.integers(1, 3)), size))


def stencil(k, draw):
    n = draw(st.integers(4, 8))
    made = k.apply("exp", k.input(n, 3))
    parts = [k.op(ops.Slice((d, 0), (n - 2, 3), (1, 1)), made) for d in range(3)]
    return k.apply("add", k.apply("add", *parts[:2]), parts[2])


def scan(k, draw):
    return k.op(ops.Cumulative("sum", draw(st.integers(0, 1))), k.input(4, 5))


def scatter(k, draw):
    at = k.input(5, dtype="int64")
    return k.op(ops.Scatter((0,), "wrap", "sum"), k.input(4, 3), at, k.input(5, 3))


def step(program, draw, counts):
    """The program after one random step, or as it was where the step is refused."""
    loops = [p.loop.symbol for p in find.places(program) if isinstance(p, find.LoopPlace)]
    blocks = [p.block for p in find.blocks(program)]
    if not loops:
        return program
    loop, other = st.sampled_from(loops), st.sampled_from(loops)
    block = draw(st.sampled_from(blocks))
    name = draw(st.sampled_from(STEPS))
    try:
        match name:
            case "split":
                after = split(program, draw(loop), draw(st.integers(1, 4)))
            case "fuse":
                outer = find.loop(program, draw(loop)).loop
                inner = outer.body[0]
                after = fuse(program, outer.symbol, inner.symbol if isinstance(inner, For) else "")
            case "reorder":
                around = [o.symbol for o in find.block(program, block.name).around]
                after = reorder(program, *draw(st.permutations(around)))
            case "merge":
                after = merge(program, draw(loop), draw(other))
            case "vectorize" | "unroll" | "parallel" | "partition":
                mark = {
                    "vectorize": vectorize, "unroll": unroll,
                    "parallel": parallel, "partition": partition,
                }[name]  # fmt: skip
                after = mark(program, draw(loop))
            case "compute_at":
                after = compute_at(program, block.name, draw(loop))
            case "reverse_compute_at":
                after = reverse_compute_at(program, block.name, draw(loop))
            case "inline":
                after = compute_inline(program, block.name)
            case "reverse_inline":
                after = reverse_compute_inline(program, block.name)
            case "cache_read":
                sources = sorted(b.name for b in find.reads(block.definition)) or ["a"]
                tile = ((0, draw(st.integers(1, 3))),) if draw(st.booleans()) else ()
                after = cache_read(
                    program, block.name, draw(st.sampled_from(sources)), draw(SCOPES), None, tile
                )
            case "cache_write":
                at = draw(st.none() | loop)
                after = cache_write(program, block.name, draw(SCOPES), at)
            case "set_scope":
                after = set_scope(program, block.definition.outputs[0].name, draw(SCOPES))
            case "over_compute":
                after = over_compute(program, block.name)
            case "axes_from_loops":
                after = axes_from_loops(program, block.name)
            case _:
                after = rfactor(program, draw(loop), scope=draw(SCOPES))
    except ScheduleError as refusal:
        assert refusal.code != "schedule", "each refusal has a code of its own"
        counts["refused", name] += 1
        return program
    counts["done", name] += 1
    return after


COUNTS: Counter = Counter()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_steps(kernels, same, data):
    build = data.draw(st.sampled_from([product, rows, window, stencil, scan, scatter]))
    kernel = kernels()
    program = after = kernel.program(build(kernel, data.draw))
    for _ in range(data.draw(st.integers(1, 7))):
        after = step(after, data.draw, COUNTS)
    same(program, after, rtol=1e-4, atol=1e-3)


def test_a_good_share_of_steps_was_legal():
    done = sum(n for (outcome, _), n in COUNTS.items() if outcome == "done")
    assert not COUNTS or done >= 0.25 * sum(COUNTS.values())
