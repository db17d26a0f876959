"""One LLVM function under construction: nested frames, value numbering, lazy phis.

A frame is the straight run of code of the function, of a loop body or of a branch. While an inner
frame is open the outer ones still grow: a pure operation goes to the outermost frame that has all
its operands, so loop-invariant code is hoisted as it is made, and is found again by its text.
Register buffers are SSA values; a loop that writes one gets a phi for it on the first read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

import numpy as np

from ...ir.errors import InternalError
from ...ir.expr.nodes import Buffer, Symbol
from .types import scalar_type, with_lanes


@dataclass(frozen=True, slots=True)
class Operand:
    """An SSA name or a literal; `lanes` 0 is a scalar. `depth`: the frame that makes it."""

    name: str
    dtype: np.dtype
    lanes: int = 0
    depth: int = 0

    @property
    def type(self) -> str:
        """The LLVM type."""
        return with_lanes(scalar_type(self.dtype), self.lanes)

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


RegisterKey: TypeAlias = tuple[Buffer, int, int, int]  # buffer, offset, lanes, their step


class FrameKind(Enum):
    """What opened a frame."""

    FUNCTION = auto()
    LOOP = auto()
    BRANCH = auto()


@dataclass(slots=True, eq=False)
class Frame:
    """Code at one nesting depth; see the module."""

    kind: FrameKind
    depth: int
    block: str  # label of the basic block that `lines` ends in
    conditional: bool  # may run zero times although the frame outside runs
    written: frozenset[Buffer] = frozenset()
    symbol: Symbol | None = None
    header: str = ""
    innermost: bool = False
    low: str = "0"
    lines: list[str] = field(default_factory=list)
    numbers: dict[object, Operand | str] = field(default_factory=dict)
    registers: dict[RegisterKey, Operand] = field(default_factory=dict)
    phis: dict[RegisterKey, tuple[str, Operand]] = field(default_factory=dict)
    pointers: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    entry: str = ""  # label of the block before a loop


class FunctionBuilder:
    """Collects the text of one function."""

    def __init__(self, signature: str):
        self.signature = signature
        self.frames: list[Frame] = [Frame(FrameKind.FUNCTION, 0, "entry", False)]
        self.depths: dict[str, int] = {}
        self.fails: dict[int | str, str] = {}
        self.versions: dict[Buffer, int] = {}
        self.intrinsics: set[str] = set()
        self.instructions = 0
        self._count = 0

    @property
    def frame(self) -> Frame:
        """The innermost open frame."""
        return self.frames[-1]

    def fresh(self, prefix: str = "v") -> str:
        """A name not used before in this function."""
        self._count += 1
        return f"%{prefix}{self._count}"

    def label(self, prefix: str) -> str:
        """A block label not used before in this function."""
        self._count += 1
        return f"{prefix}{self._count}"

    # -- instructions -----------------------------------------------------------------------

    def line(self, text: str, depth: int | None = None) -> None:
        """Appends an instruction to a frame (the innermost one by default)."""
        self.instructions += 1
        self.frames[len(self.frames) - 1 if depth is None else depth].lines.append("  " + text)

    def depth_of(self, name: str) -> int:
        """The frame that defines a name; literals and parameters are available everywhere."""
        return self.depths.get(name, 0)

    def pure(self, text: str, *names: str, prefix: str = "v") -> str:
        """The name of `text`'s result, made once, in the outermost frame with its operands."""
        for frame in reversed(self.frames):
            found = frame.numbers.get(text)
            if found is not None:
                return str(found)
        depth = max((self.depth_of(n) for n in names), default=0)
        name = self.fresh(prefix)
        self.line(f"{name} = {text}", depth)
        self.frames[depth].numbers[text] = name
        self.depths[name] = depth
        return name

    def here(self, text: str, prefix: str = "v") -> str:
        """The name of `text`'s result, made in the innermost frame."""
        name = self.fresh(prefix)
        self.line(f"{name} = {text}")
        self.depths[name] = self.frame.depth
        return name

    def lookup(self, key: object) -> Operand | None:
        """A remembered operand, from the innermost frame outwards."""
        for frame in reversed(self.frames):
            found = frame.numbers.get(key)
            if found is not None:
                assert isinstance(found, Operand)
                return found
        return None

    def remember(self, key: object, operand: Operand, depth: int | None = None) -> None:
        """Keeps an operand while the frame is open."""
        self.frames[len(self.frames) - 1 if depth is None else depth].numbers[key] = operand

    def intrinsic(self, declaration: str) -> None:
        """Notes a declaration that the module needs."""
        self.intrinsics.add(declaration)

    # -- control ----------------------------------------------------------------------------

    def fail_unless(self, ok: str, status: int | str) -> None:
        """Ends the function with `status` (a number or an i32 name) where the i1 `ok` is false."""
        target = self.fails.setdefault(status, f"fail{len(self.fails)}")
        go_on = self.label("ok")
        self.line(f"br i1 {ok}, label %{go_on}, label %{target}")
        self.frame.lines.append(f"{go_on}:")
        self.frame.block = go_on

    def open_branch(self, condition: str, written: frozenset[Buffer]) -> None:
        """Code that runs only where the i1 holds; closed by `close_branch`."""
        then = self.label("then")
        parent = self.frame
        frame = Frame(FrameKind.BRANCH, parent.depth + 1, then, True, written)
        frame.header, frame.entry = then, condition
        self.frames.append(frame)

    def close_branch(self) -> None:
        """Joins the branch with the code around it."""
        frame = self.frames.pop()
        parent = self.frame
        join = self.label("join")
        parent.lines.append(f"  br i1 {frame.entry}, label %{frame.header}, label %{join}")
        parent.lines.append(f"{frame.header}:")
        parent.lines.extend(frame.lines)
        parent.lines.append(f"  br label %{join}")
        parent.lines.append(f"{join}:")
        before, parent.block = parent.block, join
        self._join(frame, frame.registers, frame.block, before)
        self._forget(frame.written)

    def open_loop(
        self,
        symbol: Symbol,
        low: str,
        high: str,
        written: frozenset[Buffer],
        innermost: bool,
        may_be_empty: bool,
    ) -> str:
        """A counted loop over [low, high); gives the counter's name. See `close_loop`."""
        self._forget(written)
        header = self.label("loop")
        entry = self.label("pre")
        frame = Frame(FrameKind.LOOP, self.frame.depth + 1, header, may_be_empty, written, symbol)
        frame.header, frame.entry, frame.innermost = header, entry, innermost
        frame.low = low
        counter = self.fresh(symbol_name(symbol))
        self.depths[counter] = frame.depth
        frame.numbers["counter"] = counter
        frame.numbers["high"] = high
        self.frames.append(frame)
        return counter

    def close_loop(self) -> None:
        """Writes the loop into the frame outside: guard if it may be empty, phis, body, latch."""
        frame = self.frames.pop()
        parent = self.frame
        counter, high = str(frame.numbers["counter"]), str(frame.numbers["high"])
        done = self.label("done")
        before = parent.block
        if frame.conditional:
            some = self.fresh("some")
            parent.lines.append(f"  {some} = icmp slt i64 {frame.low}, {high}")
            parent.lines.append(f"  br i1 {some}, label %{frame.entry}, label %{done}")
        else:
            parent.lines.append(f"  br label %{frame.entry}")
        parent.lines.append(f"{frame.entry}:")
        parent.lines.append(f"  br label %{frame.header}")
        parent.lines.append(f"{frame.header}:")
        latch = frame.block
        step = self.fresh("n")
        parent.lines.append(
            f"  {counter} = phi i64 [ {frame.low}, %{frame.entry} ], [ {step}, %{latch} ]"
        )
        advances = []
        for (_, bytes_), (name, start) in frame.pointers.items():
            advanced = self.fresh("ptr")
            parent.lines.append(
                f"  {name} = phi ptr [ {start}, %{frame.entry} ], [ {advanced}, %{latch} ]"
            )
            advances.append(f"  {advanced} = getelementptr i8, ptr {name}, i64 {bytes_}")
        for key, (name, initial) in frame.phis.items():
            last = frame.registers[key]
            parent.lines.append(
                f"  {name} = phi {initial.type} [ {initial.name}, %{frame.entry} ],"
                f" [ {last.name}, %{latch} ]"
            )
        parent.lines.extend(frame.lines)
        parent.lines.extend(advances)
        parent.lines.append(f"  {step} = add nuw nsw i64 {counter}, 1")
        again = self.fresh("again")
        parent.lines.append(f"  {again} = icmp slt i64 {step}, {high}")
        parent.lines.append(f"  br i1 {again}, label %{frame.header}, label %{done}")
        parent.lines.append(f"{done}:")
        parent.block = done
        if frame.conditional:
            self._join(frame, frame.registers, latch, before)
        else:
            for key, operand in frame.registers.items():
                self._define(key, operand)
        self._forget(frame.written)

    def _join(
        self, frame: Frame, inner: dict[RegisterKey, Operand], inner_block: str, before: str
    ) -> None:
        """Phis, in the open frame, for registers that a conditional frame has written."""
        for key, operand in inner.items():
            if key[0] not in frame.written:
                continue
            outer = self._find(key)
            if outer is None:  # written on one side only: nothing may read the other
                outer = Operand("poison", operand.dtype, operand.lanes)
            name = self.fresh("j")
            self.depths[name] = self.frame.depth
            self.frame.lines.append(
                f"  {name} = phi {operand.type} [ {operand.name}, %{inner_block} ],"
                f" [ {outer.name}, %{before} ]"
            )
            self._define(key, Operand(name, operand.dtype, operand.lanes))

    # -- registers --------------------------------------------------------------------------

    def _define(self, key: RegisterKey, operand: Operand) -> None:
        depth = self.frame.depth
        if operand.name.startswith("%") and self.depth_of(operand.name) > depth:
            self.depths[operand.name] = depth
        self.frame.registers[key] = operand

    def write_register(self, key: RegisterKey, operand: Operand) -> None:
        """The register buffer's element (or lanes from it) becomes this value."""
        self._define(key, operand)

    def read_register(self, key: RegisterKey) -> Operand | None:
        """The register's value here; loops that write its buffer get a phi for it."""
        return self._read(key, len(self.frames) - 1)

    def _read(self, key: RegisterKey, depth: int) -> Operand | None:
        frame = self.frames[depth]
        found = frame.registers.get(key)
        if found is not None:
            return found
        if depth == 0:
            return None
        outer = self._read(key, depth - 1)
        if outer is None or frame.kind is not FrameKind.LOOP or key[0] not in frame.written:
            return outer
        name = self.fresh("r")
        self.depths[name] = depth
        frame.phis[key] = (name, outer)
        frame.registers[key] = Operand(name, outer.dtype, outer.lanes)
        return frame.registers[key]

    def _find(self, key: RegisterKey) -> Operand | None:
        """The register's value without making phis in this frame's loops beyond what reads do."""
        return self._read(key, len(self.frames) - 1)

    def keys_of(self, buffer: Buffer) -> list[RegisterKey]:
        """The elements of a register buffer that have values, from the inside outwards."""
        found: dict[RegisterKey, None] = {}
        for frame in reversed(self.frames):
            found.update(dict.fromkeys(k for k in frame.registers if k[0] is buffer))
        return list(found)

    # -- memory versions --------------------------------------------------------------------

    def version(self, buffer: Buffer) -> int:
        """A number that changes whenever the buffer's memory may have."""
        return self.versions.get(buffer, 0)

    def touch(self, buffer: Buffer) -> None:
        """The buffer's memory is written."""
        self.versions[buffer] = self.versions.get(buffer, 0) + 1

    def _forget(self, written: frozenset[Buffer]) -> None:
        for buffer in written:
            self.touch(buffer)

    # -- result -----------------------------------------------------------------------------

    def text(self) -> str:
        """The finished function, returning 0 at its end."""
        if len(self.frames) != 1:
            raise InternalError("a loop or branch is still open")
        fails = "".join(f"{label}:\n  ret i32 {status}\n" for status, label in self.fails.items())
        body = "\n".join(self.frames[0].lines)
        return f"{self.signature} {{\nentry:\n{body}\n  ret i32 0\n{fails}}}\n"


def symbol_name(symbol: Symbol) -> str:
    """A symbol's name with only the characters that LLVM takes unquoted."""
    return "".join(c if c.isalnum() or c in "._" else "_" for c in symbol.name) or "i"
