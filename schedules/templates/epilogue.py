"""Elementwise work that follows a contraction, done while its tile is in registers."""

from __future__ import annotations

from ...ir.errors import ScheduleError
from ...ir.loop.nodes import LoopProgram
from .. import find
from ..inline import reverse_compute_inline


def ride(program: LoopProgram, block: str) -> LoopProgram:
    """Merges the elementwise blocks that follow `block` into it, one after another, while it goes.

    `block` is the copy out of a tile (`cache_write`). A reader that is no point-by-point reader of
    it stays where it is.
    """
    while True:
        buffer = find.block(program, block).block.definition.outputs[0]
        readers = find.readers(program, buffer)
        if len(readers) != 1:
            return program
        try:
            program = reverse_compute_inline(program, readers[0].block.name)
        except ScheduleError:
            return program
        block = readers[0].block.name
