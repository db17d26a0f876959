"""Expressions as text.

    index    ::= 2*i + j//4 + (i + j)%3 - 1 | a dynamic value as `value`, in ` `
    value    ::= number | buffer[index, ...] | (value + value) | name(value, ...) | dtype(value)
             | (value if index >= 0 and ... else value) | check(value, value, code) | name

Shared values are named: `lets` gives them in order, each written in terms of earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import dtypes
from .index import dynamics
from .nodes import (
    Buffer,
    Check,
    Const,
    Dynamic,
    FloorDiv,
    FromIndex,
    Guarded,
    Index,
    Load,
    Mod,
    Op,
    Slot,
    Symbol,
    Value,
)
from .values import children, postorder

_INFIX = {
    "mul": ("*", 6), "div": ("/", 6), "add": ("+", 5), "sub": ("-", 5), "and": ("&", 4),
    "xor": ("^", 3), "or": ("|", 2), "eq": ("==", 1), "ne": ("!=", 1), "lt": ("<", 1),
    "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
}  # fmt: skip
"""Name: (sign, how tightly it binds)."""

_ATOM = 9


@dataclass(slots=True)
class Text:
    """Values printed together: `values` in the order given, over the `lets` (name, text)."""

    values: list[str] = field(default_factory=list)
    lets: list[tuple[str, str]] = field(default_factory=list)
    positions: list[str] = field(default_factory=list)


def print_index(index: Index) -> str:
    """An index as text; its dynamic values are written out."""
    roots = [d.value for d in dynamics(index)]
    return _Printer(roots, share=False).index(index)


def print_value(value: Value) -> str:
    """A value as text, with shared parts repeated: for short values and messages."""
    return _Printer([value], share=False).text(value)


def print_together(values: Sequence[Value], indices: Sequence[Index] = ()) -> Text:
    """Values and indices as text, with what they share named once."""
    inside = [d.value for i in indices for d in dynamics(i)]
    printer = _Printer([*values, *inside], share=True)
    return Text(
        [printer.text(v) for v in values], printer.lets, [printer.index(i) for i in indices]
    )


def print_buffer(buffer: Buffer) -> str:
    """`name: dtype[extents]`, with its strides if it is not contiguous."""
    strides = f" strides {list(buffer.strides)}" if buffer.strides is not None else ""
    return f"{buffer.name}: {buffer.dtype.name}{list(buffer.shape)}{strides}"


class _Printer:
    """The texts of all nodes below some roots, by identity."""

    def __init__(self, roots: Sequence[Value], share: bool):
        self.lets: list[tuple[str, str]] = []
        self._texts: dict[int, tuple[str, int]] = {}
        order = postorder(roots)
        uses = Counter(id(c) for v in order for c in children(v))
        uses.update(id(r) for r in roots)
        for value in order:
            written = self._write(value)
            if share and uses[id(value)] > 1 and not isinstance(value, Const | Load | Slot):
                self.lets.append((f"e{len(self.lets)}", written[0]))
                written = (self.lets[-1][0], _ATOM)
            self._texts[id(value)] = written

    def text(self, value: Value, tighter: int = 0) -> str:
        """The text of a value, in brackets where it binds less tightly than asked for."""
        text, binds = self._texts[id(value)]
        return text if binds >= tighter else f"({text})"

    def _write(self, value: Value) -> tuple[str, int]:
        match value:
            case Const(number, dtype):
                return _number(number, dtype)
            case Load(buffer, index):
                return f"{buffer.name}[{', '.join(self.index(i) for i in index)}]", _ATOM
            case Slot(name, _):
                return name, _ATOM
            case FromIndex(index, dtype):
                return f"{dtype.name}({self.index(index)})", _ATOM
            case Check(ok, inner, code):
                return f"check({self.text(ok)}, {self.text(inner)}, {code})", _ATOM
            case Guarded(conditions, taken, otherwise):
                tests = " and ".join(f"{self.index(i)} >= 0" for i in conditions)
                return f"{self.text(taken, 1)} if {tests} else {self.text(otherwise, 1)}", 0
            case Op("cast", (inner,), dtype):
                return f"{dtype.name}({self.text(inner)})", _ATOM
            case Op("bitcast", (inner,), dtype):
                return f"bits({self.text(inner)}, {dtype.name})", _ATOM
            case Op("neg", (inner,), _):
                return f"-{self.text(inner, 8)}", 7
            case Op(name, (a, b), _) if name in _INFIX:
                sign, binds = _INFIX[name]
                return f"{self.text(a, binds)} {sign} {self.text(b, binds + 1)}", binds
            case Op(name, args, _):
                return f"{name}({', '.join(self.text(a) for a in args)})", _ATOM

    def index(self, index: Index) -> str:
        """An index over values already written."""
        parts = []
        for atom, c in index.terms:
            scale = "" if abs(c) == 1 else f"{abs(c)}*"
            parts.append((scale + self._atom(atom, c != 1), c))
        if index.const or not parts:
            leads = bool(parts) and parts[0][1] < 0 < index.const  # 7 - i, not -i + 7
            parts.insert(0 if leads else len(parts), (str(abs(index.const)), index.const))
        first, *rest = parts
        result = first[0] if first[1] >= 0 else f"-{first[0]}"
        return result + "".join(f" {'+' if c >= 0 else '-'} {text}" for text, c in rest)

    def _atom(self, atom: Symbol | FloorDiv | Mod | Dynamic, scaled: bool) -> str:
        match atom:
            case Symbol(name):
                return name
            case Dynamic(value):
                return f"`{self.text(value)}`"
            case FloorDiv(operand, divisor):
                text = f"{self._inner(operand)}//{divisor}"
            case Mod(operand, divisor):
                text = f"{self._inner(operand)}%{divisor}"
        return f"({text})" if scaled else text

    def _inner(self, index: Index) -> str:
        simple = not index.const and len(index.terms) == 1 and index.terms[0][1] == 1
        text = self.index(index)
        return text if simple and isinstance(index.terms[0][0], Symbol) else f"({text})"


def _number(number: np.generic, dtype: np.dtype) -> tuple[str, int]:
    if dtype == dtypes.BOOL:
        return str(bool(number)), _ATOM
    if dtypes.is_integer(dtype):
        text = str(int(number))
    else:
        text = str(number) if np.isfinite(number.astype(np.float64)) else f"{float(number)}"
    return text, 7 if text.startswith("-") else _ATOM
