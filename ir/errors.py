"""The one family of exceptions: what is wrong, where, and how to mend it.

Each class also derives from the built-in exception that a NumPy user would expect, so that
`except ValueError` around a call keeps working when `@jit` is added.
"""

from __future__ import annotations

from .source import Source


class LoopwrightError(Exception):
    """Base of every refusal: `what` is wrong, `where` in the user's code, and the `fix`."""

    def __init__(self, what: str, where: Source | str | None = None, fix: str | None = None):
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        parts = [self.what]
        if isinstance(self.where, Source):
            parts.append(self.where.describe())
        elif self.where:
            parts.append(str(self.where))
        if self.fix:
            parts.append(f"To mend: {self.fix}")
        return "\n".join(parts)


class TraceError(LoopwrightError, TypeError):
    """The function does something with a traced value that cannot be traced."""


class LeakError(TraceError):
    """A traced value was used after its trace had ended."""


class ShapeError(LoopwrightError, ValueError):
    """Shapes, axes or ranks that do not fit each other."""


class DTypeError(LoopwrightError, TypeError):
    """An element type that is not supported, or types that do not fit each other."""


class NotFiniteError(DTypeError, ValueError):
    """NaN or infinity where an integer is needed."""


class ArgumentError(LoopwrightError, TypeError):
    """A call whose arguments the function cannot take."""


class OverlapError(LoopwrightError, ValueError):
    """A written argument shares memory with another argument."""


class ReadOnlyError(LoopwrightError, ValueError):
    """The function writes into an argument whose memory is read-only."""


class BoundsError(LoopwrightError, IndexError):
    """An index outside its axis, found while the compiled function ran."""


class NaNError(LoopwrightError, FloatingPointError):
    """`debug=True` found a NaN that the inputs did not contain."""


class ScheduleError(LoopwrightError, ValueError):
    """A schedule step that would change the program's meaning or cannot be carried out.

    `code` is a short stable name that searches count by.
    """

    def __init__(
        self,
        what: str,
        where: Source | str | None = None,
        fix: str | None = None,
        code: str = "schedule",
    ):
        super().__init__(what, where, fix)
        self.code = code


class TargetError(LoopwrightError, ValueError):
    """A target that does not exist or cannot run here."""


class OutOfMemoryError(LoopwrightError, MemoryError):
    """A result or temporary that does not fit into memory."""


class DataError(LoopwrightError, ValueError):
    """A file (weights, photograph, record) that is damaged or of another kind."""


class InternalError(LoopwrightError, RuntimeError):
    """A program that breaks the rules of its level: a fault of the compiler, never the user's."""


class CacheWarning(UserWarning):
    """The disk cache cannot be used; compilation goes on without it."""
