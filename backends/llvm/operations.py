"""The core operations as LLVM instructions: one table of texts.

Every operation here is pure and defined for all operands that the level above lets through.
"""

from __future__ import annotations

import numpy as np

from ...ir import dtypes as dt
from ...ir.errors import InternalError
from .builder import FunctionBuilder, Operand
from .types import mangled, scalar_type, with_lanes

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl",
}  # fmt: skip
_BY_SIGN = {"quotient": "div", "remainder": "rem"}
_FLOAT_UNARY = {
    "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "roundeven",
}  # fmt: skip
_FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INT_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


class Operations:
    """Emits core operations into a function."""

    def __init__(self, builder: FunctionBuilder):
        self.builder = builder

    def emit(self, name: str, args: tuple[Operand, ...], dtype: np.dtype) -> Operand:
        """The result of a core operation on operands of equal lanes."""
        lanes = args[0].lanes
        first = args[0].dtype
        result = with_lanes(scalar_type(dtype), lanes)
        match name:
            case "select":
                text = f"select {args[0]}, {args[1]}, {args[2]}"
            case "cast":
                return self._cast(args[0], dtype)
            case "bitcast":
                if scalar_type(first) == scalar_type(dtype):
                    return Operand(args[0].name, dtype, lanes)
                text = f"bitcast {args[0]} to {result}"
            case _ if name in _FLOAT_COMPARE:
                text = self._compare(name, args)
            case "maximum" | "minimum":
                return self._extremum(name, args, dtype)
            case "not":
                ones = "true" if dtype == dt.BOOL else "-1"
                ones = f"splat ({scalar_type(dtype)} {ones})" if lanes else ones
                text = f"xor {args[0]}, {ones}"
            case "fma":
                return self._intrinsic("fma", args, dtype)
            case _ if dt.is_float(dtype):
                return self._float(name, args, dtype)
            case _:
                return self._integer(name, args, dtype)
        return self._pure(text, args, dtype)

    def _pure(self, text: str, args: tuple[Operand, ...], dtype: np.dtype) -> Operand:
        name = self.builder.pure(text, *(a.name for a in args))
        return Operand(name, dtype, args[0].lanes, self.builder.depth_of(name))

    def _intrinsic(
        self, word: str, args: tuple[Operand, ...], dtype: np.dtype, extra: str = ""
    ) -> Operand:
        element, lanes = scalar_type(dtype), args[0].lanes
        result = with_lanes(element, lanes)
        function = f"@llvm.{word}.{mangled(element, lanes)}"
        types = ", ".join([a.type for a in args] + (["i1"] if extra else []))
        self.builder.intrinsic(f"declare {result} {function}({types})")
        operands = ", ".join(str(a) for a in args) + extra
        return self._pure(f"call {result} {function}({operands})", args, dtype)

    def _float(self, name: str, args: tuple[Operand, ...], dtype: np.dtype) -> Operand:
        if name in _FLOAT:
            text = f"{_FLOAT[name]} {args[0]}, {args[1].name}"
            return self._pure(text, args, dtype)
        if name == "neg":
            return self._pure(f"fneg {args[0]}", args, dtype)
        if name in _FLOAT_UNARY:
            return self._intrinsic(_FLOAT_UNARY[name], args, dtype)
        if name == "copysign":
            return self._intrinsic("copysign", args, dtype)
        raise InternalError(f"{name} on {dtype} is not a core operation")

    def _integer(self, name: str, args: tuple[Operand, ...], dtype: np.dtype) -> Operand:
        signed = dt.is_signed(dtype)
        if name in _INTEGER:
            word = _INTEGER[name]
            if dtype == dt.BOOL:
                word = {"add": "or", "mul": "and"}.get(name, word)
            return self._pure(f"{word} {args[0]}, {args[1].name}", args, dtype)
        if name in _BY_SIGN:
            word = ("s" if signed else "u") + _BY_SIGN[name]
            return self._pure(f"{word} {args[0]}, {args[1].name}", args, dtype)
        if name == "shr":
            return self._pure(
                f"{'ashr' if signed else 'lshr'} {args[0]}, {args[1].name}", args, dtype
            )
        if name == "neg":
            zero = "zeroinitializer" if args[0].lanes else "0"
            return self._pure(f"sub {args[0].type} {zero}, {args[0].name}", args, dtype)
        if name == "abs":
            return self._intrinsic("abs", args, dtype, ", i1 false") if signed else args[0]
        raise InternalError(f"{name} on {dtype} is not a core operation")

    def _compare(self, name: str, args: tuple[Operand, ...]) -> str:
        dtype = args[0].dtype
        if dt.is_float(dtype):
            return f"fcmp {_FLOAT_COMPARE[name]} {args[0]}, {args[1].name}"
        word = _INT_COMPARE[name]
        if word not in ("eq", "ne"):
            word = ("s" if dt.is_signed(dtype) else "u") + word
        return f"icmp {word} {args[0]}, {args[1].name}"

    def _extremum(self, name: str, args: tuple[Operand, ...], dtype: np.dtype) -> Operand:
        a, b = args
        if not dt.is_float(dtype):
            if dtype == dt.BOOL:
                word = "or" if name == "maximum" else "and"
                return self._pure(f"{word} {a}, {b.name}", args, dtype)
            word = ("s" if dt.is_signed(dtype) else "u") + name[:3]
            return self._intrinsic(word, args, dtype)
        # One hardware max (which gives a where either is NaN), then b where b is the NaN.
        compare = "uge" if name == "maximum" else "ule"
        test = self._pure(f"fcmp {compare} {a}, {b.name}", args, dt.BOOL)
        larger = self._pure(f"select {test}, {a}, {b}", (test, a, b), dtype)
        nan = self._pure(f"fcmp uno {b}, {b.name}", (b,), dt.BOOL)
        return self._pure(f"select {nan}, {b}, {larger}", (nan, b, larger), dtype)

    def _cast(self, operand: Operand, dtype: np.dtype) -> Operand:
        source, lanes = operand.dtype, operand.lanes
        if source == dtype:
            return operand
        target = with_lanes(scalar_type(dtype), lanes)
        if dt.BFLOAT16 in (source, dtype):
            return self._widen(operand, dtype)
        if dtype == dt.BOOL:
            zero = "zeroinitializer" if lanes else ("0.0" if dt.is_float(source) else "0")
            word = "fcmp une" if dt.is_float(source) else "icmp ne"
            return self._pure(f"{word} {operand}, {zero}", (operand,), dtype)
        if dt.is_float(source) and dt.is_float(dtype):
            word = "fpext" if dtype.itemsize > source.itemsize else "fptrunc"
        elif dt.is_float(source):
            word = "fptosi" if dt.is_signed(dtype) else "fptoui"
        elif dt.is_float(dtype):
            word = "sitofp" if dt.is_signed(source) else "uitofp"
        elif dtype.itemsize == source.itemsize and source != dt.BOOL:
            return Operand(operand.name, dtype, lanes, operand.depth)
        elif dtype.itemsize < source.itemsize:
            word = "trunc"
        else:
            word = "sext" if dt.is_signed(source) else "zext"
        return self._pure(f"{word} {operand} to {target}", (operand,), dtype)

    def _widen(self, operand: Operand, dtype: np.dtype) -> Operand:
        """bfloat16 to float32: its bits are the upper half of the wider ones."""
        if operand.dtype != dt.BFLOAT16 or dtype != dt.FLOAT32:
            raise InternalError(f"cast of {operand.dtype} to {dtype} is not a core operation")
        wide = self._pure(
            f"zext {operand} to {with_lanes('i32', operand.lanes)}", (operand,), dt.UINT32
        )
        by = "splat (i32 16)" if operand.lanes else "16"
        bits = self._pure(f"shl {wide}, {by}", (wide,), dt.UINT32)
        return self.emit("bitcast", (bits,), dtype)
