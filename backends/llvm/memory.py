"""Loads and stores: scalar, contiguous, reversed, gathered; masked where a guard is open."""

from __future__ import annotations

import numpy as np

from ...ir import dtypes as dt
from ...ir.errors import InternalError, ScheduleError
from ...ir.expr.nodes import Buffer, Index, Scope
from .address import Addresses, Environment
from .builder import FunctionBuilder, Operand, RegisterKey
from .types import literal, mangled, memory_type, scalar_type, with_lanes

ZEROS = "@lw.zeros"
ZEROS_BYTES = 1024
NONTEMPORAL = "!0"


class Memory:
    """Accesses of one function to its buffers."""

    def __init__(
        self,
        builder: FunctionBuilder,
        env: Environment,
        addresses: Addresses,
        constant: frozenset[Buffer],
        stream_bytes: int = 0,
    ):
        self.builder = builder
        self.env = env
        self.addresses = addresses
        self.constant = constant  # never written by the kernel: their loads may be hoisted
        # Width of a store past the caches; 0 where parameters may be less aligned than that.
        self.stream_bytes = stream_bytes
        self.uses_zeros = False

    # -- loads ------------------------------------------------------------------------------

    def load(self, buffer: Buffer, offset: Index, mask: Operand | None) -> Operand:
        """The element at `offset`; 0 in lanes (or altogether) where the mask is false."""
        if buffer.scope is Scope.REGISTER:
            return self._register(buffer, offset)
        if buffer.scope is Scope.TABLE:
            return self._table(buffer, offset)
        split = self.addresses.split_lane(offset)
        if split is None or abs(split[1]) > 1:
            return self._gather(buffer, offset, mask)
        uniform, step = split
        lanes = self.env.lanes if step else 0
        if step < 0:
            uniform = Index(uniform.const - (lanes - 1), uniform.terms)
            if mask is not None and mask.lanes:
                return self._gather(buffer, offset, mask)
        pointer, constant = self.addresses.pointer(buffer, uniform)
        result = self._load(buffer, pointer, constant, lanes, mask)
        return self._reversed(result) if step < 0 else result

    def _load(
        self, buffer: Buffer, pointer: str, constant: int, lanes: int, mask: Operand | None
    ) -> Operand:
        key = (
            "load", buffer, pointer, constant, lanes,
            mask.name if mask else None, self.builder.version(buffer),
        )  # fmt: skip
        found = self.builder.lookup(key)
        if found is not None:
            return found
        depth = self._load_depth(buffer, pointer, mask)
        address = self.addresses.element(buffer, pointer, constant, depth)
        if mask is not None and not (lanes and mask.lanes):
            address = self._safe(address, self._any(mask))
            mask = None
            depth = self.builder.frame.depth
        element = memory_type(buffer.dtype)
        type_ = with_lanes(element, lanes)
        align = buffer.dtype.itemsize
        if mask is None:
            text = f"load {type_}, ptr {address}, align {align}"
        else:
            function = f"@llvm.masked.load.{mangled(element, lanes)}.p0"
            bits = f"<{lanes} x i1>"
            self.builder.intrinsic(f"declare {type_} {function}(ptr, {bits}, {type_})")
            operands = f"ptr align {align} {address}, {mask}, {type_} zeroinitializer"
            text = f"call {type_} {function}({operands})"
        name = self.builder.fresh()
        self.builder.line(f"{name} = {text}", depth)
        self.builder.depths[name] = depth
        result = self._from_memory(name, buffer.dtype, lanes)
        self.builder.remember(key, result, depth)
        return result

    def _load_depth(self, buffer: Buffer, pointer: str, mask: Operand | None) -> int:
        """The outermost frame where the load may stand: never above a frame that may not run."""
        here = self.builder.frame.depth
        if mask is not None or buffer not in self.constant:
            return here
        depth = self.builder.depth_of(pointer)
        for frame in self.builder.frames[depth + 1 :]:
            if frame.conditional:
                depth = frame.depth
        return depth

    def _from_memory(self, name: str, dtype: np.dtype, lanes: int) -> Operand:
        if dtype != dt.BOOL:
            return Operand(name, dtype, lanes, self.builder.depth_of(name))
        type_ = with_lanes("i8", lanes)
        zero = "zeroinitializer" if lanes else "0"
        bit = self.builder.pure(f"icmp ne {type_} {name}, {zero}", name)
        return Operand(bit, dtype, lanes, self.builder.depth_of(bit))

    def _reversed(self, operand: Operand) -> Operand:
        order = ", ".join(f"i32 {k}" for k in reversed(range(operand.lanes)))
        name = self.builder.pure(
            f"shufflevector {operand}, {operand.type} poison, <{operand.lanes} x i32> <{order}>",
            operand.name,
        )
        return Operand(name, operand.dtype, operand.lanes, self.builder.depth_of(name))

    def _gather(self, buffer: Buffer, offset: Index, mask: Operand | None) -> Operand:
        lanes = self.env.lanes
        split = self.addresses.split_lane(offset)
        if split is not None and mask is None:
            uniform, step = split
            pointer, constant = self.addresses.pointer(buffer, uniform)
            parts = [
                self._load(buffer, pointer, constant + k * step, 0, None) for k in range(lanes)
            ]
            return self._assemble(parts)
        element = memory_type(buffer.dtype)
        pointers = self._pointers(buffer, offset)
        type_ = with_lanes(element, lanes)
        function = f"@llvm.masked.gather.{mangled(element, lanes)}.v{lanes}p0"
        self.builder.intrinsic(
            f"declare {type_} {function}(<{lanes} x ptr>, <{lanes} x i1>, {type_})"
        )
        bits = self._bits(mask)
        name = self.builder.here(
            f"call {type_} {function}(<{lanes} x ptr> align {buffer.dtype.itemsize} {pointers}, "
            f"{bits}, {type_} zeroinitializer)"
        )
        return self._from_memory(name, buffer.dtype, lanes)

    def _assemble(self, parts: list[Operand]) -> Operand:
        result = Operand("poison", parts[0].dtype, len(parts))
        for k, part in enumerate(parts):
            name = self.builder.pure(
                f"insertelement {result}, {part}, i64 {k}", result.name, part.name
            )
            result = Operand(name, part.dtype, len(parts), self.builder.depth_of(name))
        return result

    def _pointers(self, buffer: Buffer, offset: Index) -> str:
        index = self.addresses.vector(offset)
        base = self.addresses.bases[buffer]
        lanes = self.env.lanes
        return self.builder.pure(
            f"getelementptr {memory_type(buffer.dtype)}, ptr {base}, <{lanes} x i64> {index}",
            base,
            index,
        )

    def _bits(self, mask: Operand | None) -> str:
        lanes = self.env.lanes
        if mask is None:
            return f"<{lanes} x i1> splat (i1 true)"
        return str(self.addresses.splat(mask, lanes))

    def _any(self, mask: Operand) -> str:
        """Whether any lane of a mask is set, as i1."""
        if not mask.lanes:
            return mask.name
        function = f"@llvm.vector.reduce.or.v{mask.lanes}i1"
        self.builder.intrinsic(f"declare i1 {function}(<{mask.lanes} x i1>)")
        return self.builder.pure(f"call i1 {function}({mask})", mask.name)

    def _safe(self, address: str, ok: str) -> str:
        """The address, or that of a line of zeros where it must not be read."""
        self.uses_zeros = True
        return self.builder.pure(f"select i1 {ok}, ptr {address}, ptr {ZEROS}", address, ok)

    # -- registers and tables ---------------------------------------------------------------

    def _register_place(self, buffer: Buffer, offset: Index) -> RegisterKey:
        """The key of a register access; its offset must be known by now."""
        split = self.addresses.split_lane(offset)
        if split is None or split[0].terms:
            raise ScheduleError(
                f"the index of register buffer {buffer.name} is not known when code is made",
                None,
                "unroll the loops that its index runs over, or keep it in scratch",
                code="register-index",
            )
        step = split[1]
        return buffer, split[0].const, self.env.lanes if step else 0, step

    def _register(self, buffer: Buffer, offset: Index) -> Operand:
        key = self._register_place(buffer, offset)
        found = self.builder.read_register(key)
        if found is not None:
            return found
        _, place, lanes, step = key
        if not lanes:
            single = self._lane_of(buffer, place)
            if single is not None:
                return single
        else:
            parts = [self._element_of(buffer, place + k * step) for k in range(lanes)]
            if all(part is not None for part in parts):
                return self._assemble([part for part in parts if part is not None])
        raise InternalError(f"register buffer {buffer.name} is read before it is written")

    def _element_of(self, buffer: Buffer, place: int) -> Operand | None:
        """One element, however it was written."""
        found = self.builder.read_register((buffer, place, 0, 0))
        return found if found is not None else self._lane_of(buffer, place)

    def _lane_of(self, buffer: Buffer, place: int) -> Operand | None:
        """One element out of lanes that were written together."""
        for key in self.builder.keys_of(buffer):
            _, start, lanes, step = key
            lane, uneven = divmod(place - start, step) if lanes else (-1, 0)
            if lanes and not uneven and 0 <= lane < lanes:
                vector = self.builder.read_register(key)
                assert vector is not None
                name = self.builder.pure(f"extractelement {vector}, i64 {lane}", vector.name)
                return Operand(name, buffer.dtype, 0, self.builder.depth_of(name))
        return None

    def _table(self, buffer: Buffer, offset: Index) -> Operand:
        split = self.addresses.split_lane(offset)
        if split is None or split[0].terms or buffer.table is None:
            raise InternalError(f"the index of table {buffer.name} still moves: unroll its loops")
        start, step = split[0].const, split[1]
        if not step:
            return Operand(literal(buffer.table[start], buffer.dtype), buffer.dtype)
        element = scalar_type(buffer.dtype)
        items = [
            f"{element} {literal(buffer.table[start + k * step], buffer.dtype)}"
            for k in range(self.env.lanes)
        ]
        return Operand(f"<{', '.join(items)}>", buffer.dtype, self.env.lanes)

    # -- stores -----------------------------------------------------------------------------

    def store(
        self,
        buffer: Buffer,
        offset: Index,
        value: Operand,
        mask: Operand | None,
        stream: bool = False,
    ) -> None:
        """Writes `value` at `offset` in the lanes of the mask; past the caches if `stream`."""
        if buffer.scope is Scope.REGISTER:
            self._store_register(buffer, offset, value, mask)
            return
        split = self.addresses.split_lane(offset)
        if split is None or abs(split[1]) > 1 or (split[1] < 0 and mask is not None):
            self._scatter(buffer, offset, value, mask)
            return
        uniform, step = split
        if not step:
            if value.lanes:
                raise InternalError(f"lanes of one value all go to one element of {buffer.name}")
            if mask is not None:  # a lane mask on a uniform store: any lane decides
                mask = Operand(self._any(mask), dt.BOOL)
        else:
            value = self.addresses.splat(value, self.env.lanes)
            if step < 0:
                uniform = Index(uniform.const - (self.env.lanes - 1), uniform.terms)
                value = self._reversed(value)
        pointer, constant = self.addresses.pointer(buffer, uniform)
        address = self.addresses.element(buffer, pointer, constant, self.builder.frame.depth)
        aligned = stream and mask is None and self._streams(buffer, uniform, value)
        self._store(buffer, address, value, mask, aligned)
        self.builder.touch(buffer)
        if mask is None:
            key = (
                "load", buffer, pointer, constant, value.lanes, None,
                self.builder.version(buffer),
            )  # fmt: skip
            self.builder.remember(key, value if step >= 0 else self._reversed(value))

    def _streams(self, buffer: Buffer, offset: Index, value: Operand) -> bool:
        """Whether a store fills whole aligned vectors (parameters begin at a cache line)."""
        size = buffer.dtype.itemsize
        width = self.stream_bytes
        if not width or buffer.scope is not Scope.GLOBAL or (value.lanes * size) % width:
            return False
        return all(
            part * size % width == 0 for part in (offset.const, *(c for _, c in offset.terms))
        )

    def _store(
        self,
        buffer: Buffer,
        address: str,
        value: Operand,
        mask: Operand | None,
        stream: bool,
    ) -> None:
        if mask is not None and not value.lanes:
            raise InternalError("a scalar store under an open condition belongs in a branch")
        value_text = self._to_memory(value)
        align = buffer.dtype.itemsize
        if mask is None:
            if stream:
                hint = f"align {self.stream_bytes}, !nontemporal {NONTEMPORAL}"
                self.builder.line(f"store {value_text}, ptr {address}, {hint}")
            else:
                self.builder.line(f"store {value_text}, ptr {address}, align {align}")
            return
        element = memory_type(buffer.dtype)
        type_ = with_lanes(element, value.lanes)
        function = f"@llvm.masked.store.{mangled(element, value.lanes)}.p0"
        self.builder.intrinsic(f"declare void {function}({type_}, ptr, <{value.lanes} x i1>)")
        bits = self.addresses.splat(mask, value.lanes)
        self.builder.line(
            f"call void {function}({value_text}, ptr align {align} {address}, {bits})"
        )

    def _to_memory(self, value: Operand) -> str:
        if value.dtype != dt.BOOL:
            return str(value)
        type_ = with_lanes("i8", value.lanes)
        name = self.builder.pure(f"zext {value} to {type_}", value.name)
        return f"{type_} {name}"

    def _scatter(self, buffer: Buffer, offset: Index, value: Operand, mask: Operand | None) -> None:
        lanes = self.env.lanes
        value = self.addresses.splat(value, lanes)
        element = memory_type(buffer.dtype)
        pointers = self._pointers(buffer, offset)
        type_ = with_lanes(element, lanes)
        function = f"@llvm.masked.scatter.{mangled(element, lanes)}.v{lanes}p0"
        self.builder.intrinsic(f"declare void {function}({type_}, <{lanes} x ptr>, <{lanes} x i1>)")
        text = self._to_memory(value)
        self.builder.line(
            f"call void {function}({text}, <{lanes} x ptr> align {buffer.dtype.itemsize} "
            f"{pointers}, {self._bits(mask)})"
        )
        self.builder.touch(buffer)

    def _store_register(
        self, buffer: Buffer, offset: Index, value: Operand, mask: Operand | None
    ) -> None:
        key = self._register_place(buffer, offset)
        lanes = key[2]
        value = self.addresses.splat(value, lanes)
        if mask is not None:
            old = self.builder.read_register(key)
            if old is not None:
                bits = self.addresses.splat(mask, lanes) if mask.lanes else mask
                name = self.builder.pure(
                    f"select {bits}, {value}, {old}", bits.name, value.name, old.name
                )
                value = Operand(name, value.dtype, value.lanes, self.builder.depth_of(name))
        self.builder.write_register(key, value)
