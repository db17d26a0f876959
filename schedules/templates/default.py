"""The default schedule of a kernel: a template chosen by its definitions.

Whatever a primitive refuses is left as the plain loops that it was: slow at worst, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from ...ir.errors import ScheduleError
from ...ir.loop.nodes import LoopKind, LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Definition
from .. import find
from ..find import BlockPlace
from ..marks import stream
from ..placement import bare
from . import conv, depthwise, elementwise, matmul, reduction, rows, scan, window
from .steps import merge_neighbours

Matches: TypeAlias = Callable[[Definition], bool]
Template: TypeAlias = Callable[[LoopProgram, Definition, Target], LoopProgram]

TEMPLATES: tuple[tuple[Matches, Template], ...] = (
    (matmul.matches, matmul.schedule),
    (conv.matches, conv.schedule),
    (depthwise.matches, depthwise.schedule),
    (window.matches, window.schedule),
    (scan.matches, scan.schedule),
    (reduction.matches, reduction.schedule),
    (elementwise.matches, elementwise.schedule),
)
"""For the plain nest of one definition, the first that matches."""

STREAM_BYTES = 32 << 20
"""A kernel that touches this much pushes its results out of the last cache level by itself."""


def schedule(program: LoopProgram, target: Target) -> LoopProgram:
    """The program with the loops that its kind of kernel runs fast in; never fails.

    The number of threads is not asked for: results do not depend on it.
    """
    definitions = tuple(place.block.definition for place in find.blocks(program))
    if rows.matches(definitions):
        done = _attempt(program, lambda p: rows.schedule(p, target))
        if done is not program:
            return _stream_results(done)
    for definition in definitions:
        if _is_plain(program, definition):
            template = next((t for matches, t in TEMPLATES if matches(definition)), None)
            if template is not None:
                program = _attempt(program, _step(template, definition, target))
    return _stream_results(_attempt(program, lambda p: merge_neighbours(p, None)))


def _stream_results(program: LoopProgram) -> LoopProgram:
    """Stores past the caches what could not stay in them until it is read."""
    if sum(prod(p.buffer.shape) * p.buffer.dtype.itemsize for p in program.params) < STREAM_BYTES:
        return program
    for place in find.blocks(program):
        definition = place.block.definition
        if all(not find.readers(program, output) for output in definition.outputs):
            program = _attempt(program, _streaming(definition.name))
    return program


def _step(
    template: Template, definition: Definition, target: Target
) -> Callable[[LoopProgram], LoopProgram]:
    return lambda program: template(program, definition, target)


def _streaming(block: str) -> Callable[[LoopProgram], LoopProgram]:
    return lambda program: stream(program, block)


def _is_plain(program: LoopProgram, definition: Definition) -> bool:
    """Whether the definition's nest is as lowering made it (no other template took it along)."""
    return any(
        place.block.definition is definition and _untouched(place) for place in find.blocks(program)
    )


def _untouched(place: BlockPlace) -> bool:
    return all(
        loop.kind is LoopKind.SERIAL and len(loop.body) == 1 for loop in place.around
    ) and all(bare(binding) is not None for binding in place.block.bindings)


def _attempt(program: LoopProgram, step: Callable[[LoopProgram], LoopProgram]) -> LoopProgram:
    try:
        return step(program)
    except ScheduleError:
        return program
