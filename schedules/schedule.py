"""A schedule as a value: a loop program and the steps that made it what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.expr.nodes import Scope
from ..ir.loop.nodes import LoopProgram
from ..ir.loop.printer import print_program
from . import axes, inline, loops, marks, memory, placement, reduction


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a primitive: its name and arguments, positional and by name."""

    name: str
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        words = [_text(a) for a in self.arguments]
        words += [f"{name}={_text(value)}" for name, value in self.named]
        return f"{self.name}({', '.join(words)})"


def _text(argument: Any) -> str:
    return repr(argument.value) if isinstance(argument, Scope) else repr(argument)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Each step gives a new schedule and leaves this one as it is.

    Loops are named `block/loop`, or by the bare name where only one loop has it. A step that would
    change what the program computes raises `ScheduleError`. `print(s)` shows the loops;
    `s.python()` gives the steps as the Python that made them.
    """

    program: LoopProgram
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return print_program(self.program)

    def python(self, start: str = "s") -> str:
        """The steps as one chain of calls on `start`."""
        return start + "".join(f"\n    .{step}" for step in self.steps)

    def _do(
        self, name: str, primitive: Callable[..., LoopProgram], *arguments: Any, **named: Any
    ) -> Schedule:
        program = primitive(self.program, *arguments, **named)
        return Schedule(program, (*self.steps, Step(name, arguments, tuple(named.items()))))

    # Loop structure.

    def split(self, loop: str, factor: int) -> Schedule:
        """See `loops.split`."""
        return self._do("split", loops.split, loop, factor)

    def fuse(self, outer: str, inner: str) -> Schedule:
        """See `loops.fuse`."""
        return self._do("fuse", loops.fuse, outer, inner)

    def reorder(self, *order: str) -> Schedule:
        """See `loops.reorder`."""
        return self._do("reorder", loops.reorder, *order)

    def tile(self, block: str, **sizes: int) -> Schedule:
        """See `loops.tile`."""
        return self._do("tile", loops.tile, block, **sizes)

    def merge(self, first: str, second: str) -> Schedule:
        """See `loops.merge`."""
        return self._do("merge", loops.merge, first, second)

    # How loops are carried out.

    def vectorize(self, loop: str) -> Schedule:
        """See `marks.vectorize`."""
        return self._do("vectorize", marks.vectorize, loop)

    def unroll(self, loop: str) -> Schedule:
        """See `marks.unroll`."""
        return self._do("unroll", marks.unroll, loop)

    def parallel(self, loop: str) -> Schedule:
        """See `marks.parallel`."""
        return self._do("parallel", marks.parallel, loop)

    def partition(self, loop: str) -> Schedule:
        """See `marks.partition`."""
        return self._do("partition", marks.partition, loop)

    def stream(self, block: str) -> Schedule:
        """See `marks.stream`."""
        return self._do("stream", marks.stream, block)

    # Where blocks are computed.

    def compute_at(self, block: str, loop: str) -> Schedule:
        """See `placement.compute_at`."""
        return self._do("compute_at", placement.compute_at, block, loop)

    def reverse_compute_at(self, block: str, loop: str) -> Schedule:
        """See `placement.reverse_compute_at`."""
        return self._do("reverse_compute_at", placement.reverse_compute_at, block, loop)

    def inline(self, block: str) -> Schedule:
        """See `inline.compute_inline`."""
        return self._do("inline", inline.compute_inline, block)

    def reverse_inline(self, block: str) -> Schedule:
        """See `inline.reverse_compute_inline`."""
        return self._do("reverse_inline", inline.reverse_compute_inline, block)

    # Where data is kept, and over which axes.

    def cache_read(
        self,
        block: str,
        buffer: str,
        scope: str = "scratch",
        order: Sequence[int] | None = None,
        blocks: Sequence[tuple[int, int]] = (),
    ) -> Schedule:
        """See `memory.cache_read`."""
        return self._do(
            "cache_read",
            memory.cache_read,
            block,
            buffer,
            Scope(scope),
            order=order,
            blocks=tuple(blocks),
        )

    def cache_write(self, block: str, scope: str = "register", at: str | None = None) -> Schedule:
        """See `memory.cache_write`."""
        return self._do("cache_write", memory.cache_write, block, Scope(scope), at=at)

    def set_scope(self, buffer: str, scope: str) -> Schedule:
        """See `memory.set_scope`."""
        return self._do("set_scope", memory.set_scope, buffer, Scope(scope))

    def over_compute(self, block: str, *names: str) -> Schedule:
        """See `axes.over_compute`."""
        return self._do("over_compute", axes.over_compute, block, *names)

    def axes_from_loops(self, block: str) -> Schedule:
        """See `axes.axes_from_loops`."""
        return self._do("axes_from_loops", axes.axes_from_loops, block)

    # Reductions in parts.

    def rfactor(self, *names: str, scope: str = "register", at: str | None = None) -> Schedule:
        """See `reduction.rfactor`."""
        return self._do("rfactor", reduction.rfactor, *names, scope=Scope(scope), at=at)
