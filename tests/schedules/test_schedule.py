"""Schedules are values that print as what made them; goldens show each primitive's rewrite."""

from __future__ import annotations

import pytest

from loopwright.errors import ScheduleError
from loopwright.ir.loop.printer import print_program
from loopwright.schedules.schedule import Schedule

STEPS = {
    "split": lambda s: s.split("j", 4),
    "fuse": lambda s: s.fuse("i", "j"),
    "reorder": lambda s: s.reorder("k", "i"),
    "tile": lambda s: s.tile("matmul", i=2, j=3),
    "marks": lambda s: s.tile("matmul", j=8).parallel("i").partition("j.o").unroll("k"),
    "vectorize": lambda s: s.reorder("k", "j").vectorize("j"),
    "cache_read": lambda s: s.cache_read("matmul", "b", order=(1, 0), blocks=((1, 4),)),
    "cache_write": lambda s: s.cache_write("matmul", at="i"),
    "over_compute": lambda s: (
        s.cache_read("matmul", "b", order=(1, 0), blocks=((1, 4),))
        .split("matmul/j", 4)
        .cache_write("matmul", at="matmul/i")
        .over_compute("matmul", "j")
    ),
    "compute_at": lambda s: s.cache_read("matmul", "a").compute_at("a.scratch", "matmul/i"),
    "inline": lambda s: s.cache_read("matmul", "a").inline("a.scratch"),
    "set_scope": lambda s: s.cache_write("matmul", "scratch", "i").set_scope(
        "matmul.scratch", "register"
    ),
    "axes_from_loops": lambda s: s.fuse("i", "j").axes_from_loops("matmul"),
    "rfactor": lambda s: s.split("k", 5).rfactor("k.i"),
    "rfactor at": lambda s: s.split("k", 5).reorder("k.o", "i", "j").rfactor("k.o", at="i"),
}
ROWS = {
    "merge": lambda s: s.merge("sum/i", "sub/i"),
    "reverse_compute_at": lambda s: s.reverse_compute_at("sub", "sum/i"),
    "stream": lambda s: s.stream("sub"),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_on_a_product(matmul, same, golden, name):
    after = STEPS[name](Schedule(matmul))
    same(matmul, after.program)
    golden(str(after))
    replays(after, Schedule(matmul))


@pytest.mark.parametrize("name", ROWS)
def test_step_on_rows(chain, same, golden, name):
    after = ROWS[name](Schedule(chain))
    same(chain, after.program)
    golden(str(after))
    replays(after, Schedule(chain))


def replays(after, start):
    """The printed steps make the same program again."""
    again = eval("(" + after.python("start") + ")", {"start": start})
    assert str(again) == str(after) and again.steps == after.steps


def test_a_schedule_is_a_value(matmul):
    start = Schedule(matmul)
    text = print_program(matmul)
    assert start.split("i", 2).steps and not start.steps
    assert str(start) == text


def test_a_refused_step_says_what_and_how_to_mend(matmul):
    with pytest.raises(ScheduleError) as caught:
        Schedule(matmul).split("q", 2)
    assert "'q'" in str(caught.value) and "matmul/i" in str(caught.value)


def test_a_user_composes_steps_by_functions(matmul, same):
    def register_tile(s, block, rows, columns):
        return (
            s.tile(block, i=rows, j=columns)
            .reorder(f"{block}/k", f"{block}/i.i", f"{block}/j.i")
            .vectorize(f"{block}/j.i")
            .unroll(f"{block}/i.i")
            .cache_write(block, at=f"{block}/j.o")
        )

    after = register_tile(Schedule(matmul), "matmul", 3, 4)
    same(matmul, after.program)
    assert len(after.steps) == 5
