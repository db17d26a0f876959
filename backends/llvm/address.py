"""Indices and addresses: from index expressions to SSA integers and pointers.

An address is a chain of partial sums, one per loop depth, so that each part is computed where
its last symbol changes; the innermost running loop advances one pointer per chain instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...ir import dtypes as dt
from ...ir.expr import index as ix
from ...ir.expr.nodes import Atom, Buffer, Dynamic, FloorDiv, Index, Mod, Symbol, Value
from .builder import FrameKind, FunctionBuilder, Operand
from .types import memory_type


@dataclass(slots=True, eq=False)
class Environment:
    """What each symbol is at the point of emission."""

    constants: dict[Symbol, Index] = field(default_factory=dict)
    counters: dict[Symbol, str] = field(default_factory=dict)
    ranges: dict[Symbol, tuple[ix.Bound, ix.Bound]] = field(default_factory=dict)
    lane: Symbol | None = None
    lanes: int = 0

    def simplify(self, index: Index) -> Index:
        """The index with unrolled symbols replaced by their values."""
        if not index.terms:
            return index
        return ix.substitute(index, self.constants, self.ranges)

    def bounds(self, index: Index) -> tuple[ix.Bound, ix.Bound]:
        """The interval of a simplified index here."""
        return ix.bounds(index, self.ranges)


class Addresses:
    """Emits indices and pointers of one function."""

    def __init__(
        self,
        builder: FunctionBuilder,
        env: Environment,
        bases: dict[Buffer, str],
        value: Callable[[Value], Operand],
    ):
        self.builder = builder
        self.env = env
        self.bases = bases
        self.value = value

    # -- lanes ------------------------------------------------------------------------------

    def varies(self, index: Index) -> bool:
        """Whether the index differs from lane to lane."""
        lane = self.env.lane
        if lane is None:
            return False
        return any(self._atom_varies(atom, lane) for atom, _ in index.terms)

    def _atom_varies(self, atom: Atom, lane: Symbol) -> bool:
        match atom:
            case Symbol():
                return atom is lane
            case Dynamic(value=value):
                return self.value(value).lanes > 0
            case FloorDiv(operand) | Mod(operand):
                return any(self._atom_varies(a, lane) for a, _ in operand.terms)

    def split_lane(self, index: Index) -> tuple[Index, int] | None:
        """(the uniform part, the lane's coefficient); None if the lane enters in another way."""
        lane = self.env.lane
        if lane is None:
            return index, 0
        step = 0
        rest: list[tuple[Atom, int]] = []
        for atom, c in index.terms:
            if atom is lane:
                step = c
            elif self._atom_varies(atom, lane):
                return None
            else:
                rest.append((atom, c))
        return Index(index.const, tuple(rest)), step

    # -- integers ---------------------------------------------------------------------------

    def scalar(self, index: Index) -> str:
        """A uniform index as an i64."""
        total: str | None = None
        for atom, c in index.terms:
            term = self._scaled(self._atom(atom), c)
            total = term if total is None else self._binary("add", total, term)
        if total is None:
            return str(index.const)
        return self._binary("add", total, str(index.const)) if index.const else total

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Symbol():
                return self.env.counters[atom]
            case Dynamic(value=value):
                return self._as_i64(self.value(value)).name
            case FloorDiv(operand, divisor):
                low, _ = self.env.bounds(operand)
                inner = self.scalar(operand)
                if low >= 0:
                    return self._binary("udiv", inner, str(divisor))
                return self._floor(inner, divisor)
            case Mod(operand, divisor):
                low, _ = self.env.bounds(operand)
                inner = self.scalar(operand)
                if low >= 0:
                    return self._binary("urem", inner, str(divisor))
                quotient = self._floor(inner, divisor)
                return self._binary("sub", inner, self._scaled(quotient, divisor))

    def _floor(self, value: str, divisor: int) -> str:
        """Floor division of an i64 that may be negative: C's quotient, less 1 if it rounded up."""
        quotient = self._binary("sdiv", value, str(divisor))
        remainder = self._binary("srem", value, str(divisor))
        sign = self._binary("ashr", remainder, "63")
        return self._binary("add", quotient, sign)

    def _scaled(self, name: str, factor: int) -> str:
        return name if factor == 1 else self._binary("mul", name, str(factor))

    def _binary(self, operation: str, a: str, b: str) -> str:
        return self.builder.pure(f"{operation} i64 {a}, {b}", a, b, prefix="i")

    def _as_i64(self, operand: Operand) -> Operand:
        if operand.dtype in (dt.INT64, dt.UINT64):
            return operand
        word = "sext" if dt.is_signed(operand.dtype) else "zext"
        wide = Operand("", dt.INT64, operand.lanes).type
        name = self.builder.pure(f"{word} {operand} to {wide}", operand.name)
        return Operand(name, dt.INT64, operand.lanes, self.builder.depth_of(name))

    def vector(self, index: Index) -> str:
        """An index that may vary as a vector of i64."""
        lanes = self.env.lanes
        uniform: list[tuple[Atom, int]] = []
        parts: list[str] = []
        for atom, c in index.terms:
            if self.env.lane is not None and self._atom_varies(atom, self.env.lane):
                parts.append(self._vector_scaled(self._vector_atom(atom), c))
            else:
                uniform.append((atom, c))
        rest = Index(index.const, tuple(uniform))
        if rest.const or rest.terms or not parts:
            parts.append(self.splat(Operand(self.scalar(rest), dt.INT64), lanes).name)
        total = parts[0]
        for part in parts[1:]:
            total = self._vector_binary("add", total, part)
        return total

    def _vector_atom(self, atom: Atom) -> str:
        lanes = self.env.lanes
        match atom:
            case Symbol():
                return "<" + ", ".join(f"i64 {k}" for k in range(lanes)) + ">"
            case Dynamic(value=value):
                return self._as_i64(self.value(value)).name
            case FloorDiv(operand, divisor):
                low, _ = self.env.bounds(operand)
                inner = self.vector(operand)
                if low >= 0:
                    return self._vector_binary("udiv", inner, f"splat (i64 {divisor})")
                return self._vector_floor(inner, divisor)
            case Mod(operand, divisor):
                low, _ = self.env.bounds(operand)
                inner = self.vector(operand)
                if low >= 0:
                    return self._vector_binary("urem", inner, f"splat (i64 {divisor})")
                quotient = self._vector_floor(inner, divisor)
                return self._vector_binary("sub", inner, self._vector_scaled(quotient, divisor))

    def _vector_floor(self, value: str, divisor: int) -> str:
        by = f"splat (i64 {divisor})"
        quotient = self._vector_binary("sdiv", value, by)
        remainder = self._vector_binary("srem", value, by)
        sign = self._vector_binary("ashr", remainder, "splat (i64 63)")
        return self._vector_binary("add", quotient, sign)

    def _vector_scaled(self, name: str, factor: int) -> str:
        return name if factor == 1 else self._vector_binary("mul", name, f"splat (i64 {factor})")

    def _vector_binary(self, operation: str, a: str, b: str) -> str:
        return self.builder.pure(f"{operation} <{self.env.lanes} x i64> {a}, {b}", a, b)

    def splat(self, operand: Operand, lanes: int) -> Operand:
        """A scalar in every lane; vectors as they are."""
        if operand.lanes or not lanes:
            return operand
        result = Operand("", operand.dtype, lanes)
        if not operand.name.startswith("%"):
            if operand.name == "poison":
                return Operand("poison", operand.dtype, lanes)
            return Operand(f"splat ({operand})", operand.dtype, lanes)
        one = self.builder.pure(
            f"insertelement {result.type} poison, {operand}, i64 0", operand.name
        )
        name = self.builder.pure(
            f"shufflevector {result.type} {one}, {result.type} poison, "
            f"<{lanes} x i32> zeroinitializer",
            one,
        )
        return Operand(name, operand.dtype, lanes, self.builder.depth_of(name))

    # -- pointers ---------------------------------------------------------------------------

    def pointer(self, buffer: Buffer, index: Index) -> tuple[str, int]:
        """(pointer, further elements from it) of a uniform offset into memory."""
        builder = self.builder
        element = memory_type(buffer.dtype)
        pointer = self.bases[buffer]
        by_depth: dict[int, list[tuple[Atom, int, str]]] = {}
        for atom, c in index.terms:
            name = self._atom(atom)
            by_depth.setdefault(builder.depth_of(name), []).append((atom, c, name))
        for depth in sorted(by_depth):
            terms = by_depth[depth]
            frame = builder.frames[depth]
            for atom, c, name in terms:
                if (
                    frame.kind is FrameKind.LOOP
                    and frame.innermost
                    and atom is frame.symbol
                    and builder.depth_of(pointer) < depth
                ):
                    pointer = self._advancing(pointer, c, buffer.dtype, depth)
                else:
                    offset = self._scaled(name, c)
                    pointer = builder.pure(
                        f"getelementptr {element}, ptr {pointer}, i64 {offset}",
                        pointer,
                        offset,
                        prefix="q",
                    )
        return pointer, index.const

    def _advancing(self, base: str, coefficient: int, dtype: np.dtype, depth: int) -> str:
        """A pointer that moves with the counter of the loop at `depth`."""
        builder = self.builder
        frame = builder.frames[depth]
        key = (base, coefficient * dtype.itemsize)
        if key not in frame.pointers:
            start = base
            if frame.low != "0":
                step = builder.pure(f"mul i64 {frame.low}, {key[1]}", frame.low, prefix="i")
                start = builder.pure(f"getelementptr i8, ptr {base}, i64 {step}", base, step)
            name = builder.fresh("ptr")
            builder.depths[name] = depth
            frame.pointers[key] = (name, start)
        return frame.pointers[key][0]

    def element(self, buffer: Buffer, pointer: str, offset: int, depth: int) -> str:
        """The pointer moved by a constant number of elements, computed in the frame at `depth`.

        Not hoisted further: an offset folds into the instruction that uses it.
        """
        if not offset:
            return pointer
        text = f"getelementptr {memory_type(buffer.dtype)}, ptr {pointer}, i64 {offset}"
        frame = self.builder.frames[depth]
        found = frame.numbers.get(text)
        if found is None:
            name = self.builder.fresh("q")
            self.builder.line(f"{name} = {text}", depth)
            self.builder.depths[name] = depth
            frame.numbers[text] = found = name
        return str(found)
