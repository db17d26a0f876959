"""The default schedule of a kernel: a template chosen by its definitions.

Whatever a template refuses, or would do wrong by the checks of the primitives, is left as the
plain loops that it was: slow at worst, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.errors import ScheduleError
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import AxisKind, Definition
from .. import find
from . import elementwise, reduction, rows
from .steps import merge_neighbours


def schedule(program: LoopProgram, target: Target, threads_hint: int = 2) -> LoopProgram:
    """The program with the loops that its kind of kernel runs fast in; never fails.

    `threads_hint` is the number of workers to expect. Results do not depend on it, only how
    finely the work is cut.
    """
    definitions = tuple(place.block.definition for place in find.blocks(program))
    if rows.matches(definitions):
        done = _attempt(program, lambda p: rows.schedule(p, target))
        if done is not program:
            return done
    for definition in definitions:
        program = _attempt(program, lambda p, d=definition: _nest(p, d, target))
    return _attempt(program, lambda p: merge_neighbours(p, None))


def _nest(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """One plain nest by its own template."""
    if any(axis.kind is AxisKind.REDUCE for axis in definition.axes):
        return reduction.schedule(program, definition.name, target)
    return elementwise.schedule(program, definition.name, target)


def _attempt(program: LoopProgram, step: Callable[[LoopProgram], LoopProgram]) -> LoopProgram:
    try:
        return step(program)
    except ScheduleError:
        return program
