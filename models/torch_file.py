"""Reader of tensor files in PyTorch's format before 1.6, without PyTorch.

Such a file is five pickles (magic number, protocol version, machine, the object, storage keys)
followed by each storage: its element count as 8 bytes and its elements. The pickles are never
handed to `pickle`: a small stack machine runs the few opcodes that a state dict needs, knows four
names, and refuses everything else, so that a file cannot run code or claim memory it does not hold.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from ..ir.errors import DataError

Array: TypeAlias = npt.NDArray[np.generic]
T = TypeVar("T")

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001

ELEMENTS: dict[str, np.dtype[np.generic]] = {
    "DoubleStorage": np.dtype("<f8"),
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("<i1"),
    "ByteStorage": np.dtype("<u1"),
    "BoolStorage": np.dtype("?"),
}
"""Names under `torch.` that stand for the storages of one element type."""

MAPPING = "collections OrderedDict"
TENSOR = "torch._utils _rebuild_tensor_v2"


@dataclass(frozen=True, slots=True)
class Global:
    """A name that the file refers to."""

    name: str


@dataclass(frozen=True, slots=True)
class Storage:
    """A run of elements that stands later in the file."""

    key: str
    dtype: np.dtype[np.generic]
    count: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A strided part of a storage; strides count elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where a group of stack items begins."""


def read_state(path: Path) -> dict[str, Array]:
    """The named tensors of a state dict file, as read-only arrays.

    `DataError` if the file is truncated, of another kind, or holds anything but named tensors.
    """
    data = path.read_bytes()
    try:
        return _state(data)
    except _Refused as refused:
        raise DataError(
            f"{path.name} is not a state dict that can be read: {refused}",
            f'  in "{path}"',
            "install the file again; only tensors saved in PyTorch's format before 1.6 are read",
        ) from None


class _Refused(Exception):
    """Why a file is refused."""


def _state(data: bytes) -> dict[str, Array]:
    stream = io.BytesIO(data)
    if _run(stream) != MAGIC or _run(stream) != PROTOCOL:
        raise _Refused("it does not begin as one")
    machine = _run(stream)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise _Refused("it was written on a big-endian machine")
    state, keys = _run(stream), _run(stream)
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in state.items()
    ):
        raise _Refused("it holds other things than named tensors")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise _Refused("its list of storages is damaged")
    storages = {tensor.storage.key: tensor.storage for tensor in state.values()}
    if any(tensor.storage != storages[tensor.storage.key] for tensor in state.values()):
        raise _Refused("one storage is described in two ways")
    elements = _elements(data, stream.tell(), keys, storages)
    return {name: _view(tensor, elements) for name, tensor in state.items()}


def _elements(
    data: bytes, position: int, keys: list[str], storages: dict[str, Storage]
) -> dict[str, Array]:
    """The storages' elements, which lie one after another from `position`."""
    if set(keys) != set(storages) or len(keys) != len(storages):
        raise _Refused("its storages and its tensors do not match")
    found = {}
    for key in keys:
        storage = storages[key]
        if position + 8 > len(data):
            raise _Refused("it ends early")
        (count,) = struct.unpack_from("<q", data, position)
        position += 8
        end = position + count * storage.dtype.itemsize
        if count != storage.count:
            raise _Refused("a storage has another length than its tensors say")
        if end > len(data):
            raise _Refused("it ends early")
        found[key] = np.frombuffer(data, storage.dtype, count, position)
        position = end
    return found


def _view(tensor: Tensor, elements: dict[str, Array]) -> Array:
    flat = elements[tensor.storage.key][tensor.offset :]
    strides = tuple(stride * flat.itemsize for stride in tensor.strides)
    return as_strided(flat, tensor.shape, strides, writeable=False)


def _tensor(arguments: object) -> Tensor:
    """The call that rebuilds a tensor: (storage, offset, shape, strides, grad, hooks)."""
    match arguments:
        case (Storage() as storage, int(offset), tuple(shape), tuple(strides), _, _):
            pass
        case _:
            raise _Refused("a tensor is described in an unknown way")
    if len(shape) != len(strides) or len(shape) > 32:
        raise _Refused("a tensor has an impossible shape")
    if not all(type(n) is int and n >= 0 for n in (offset, *shape, *strides)):
        raise _Refused("a tensor has an impossible shape")
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    size = math.prod(shape)
    if offset > storage.count or (size and last >= storage.count) or size > storage.count:
        raise _Refused("a tensor reaches outside its storage")
    return Tensor(storage, offset, shape, strides)


def _storage(reference: object) -> Storage:
    """A persistent reference: ("storage", type, key, device, count, view)."""
    match reference:
        case ("storage", Global(name), str(key), str(), int(count), None) if count >= 0:
            element = ELEMENTS.get(name.removeprefix("torch "))
            if element is not None:
                return Storage(key, element, count)
    raise _Refused("a storage is described in an unknown way")


def _call(function: object, arguments: object) -> object:
    if function == Global(TENSOR):
        return _tensor(arguments)
    if function == Global(MAPPING) and arguments == ():
        return {}
    raise _Refused("it calls something that no state dict needs")


def _opcodes(stream: io.BytesIO) -> Iterator[tuple[str, object]]:
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            yield opcode.name, argument
    except (ValueError, UnicodeDecodeError, struct.error) as error:
        raise _Refused("it ends early or is damaged") from error


def _run(stream: io.BytesIO) -> object:
    """The value of the next pickle of the stream."""
    try:
        return _value(stream)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise _Refused("it is damaged") from error


def _value(stream: io.BytesIO) -> object:
    stack: list[object] = []
    memo: dict[object, object] = {}

    def group() -> list[object]:
        """Takes the items above the last mark, and the mark."""
        start = max(i for i, item in enumerate(stack) if isinstance(item, _Mark))
        items = stack[start + 1 :]
        del stack[start:]
        return items

    for name, argument in _opcodes(stream):
        match name:
            case "PROTO":
                pass
            case "STOP":
                return stack.pop()
            case "MARK":
                stack.append(_Mark())
            case "NONE":
                stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                stack.append(name == "NEWTRUE")
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINUNICODE":
                stack.append(argument)
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "EMPTY_TUPLE":
                stack.append(())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(name[-1])
                items = [stack.pop() for _ in range(count)]
                stack.append(tuple(reversed(items)))
            case "TUPLE":
                stack.append(tuple(group()))
            case "APPEND" | "APPENDS":
                items = group() if name == "APPENDS" else [stack.pop()]
                _as(list, stack[-1]).extend(items)
            case "SETITEM" | "SETITEMS":
                items = group() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
                _as(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
            case "GLOBAL":
                stack.append(_known(argument))
            case "REDUCE":
                arguments = stack.pop()
                stack.append(_call(stack.pop(), arguments))
            case "BINPERSID":
                stack.append(_storage(stack.pop()))
            case "BUILD":
                stack.pop()  # attributes of the mapping (format versions), of no use here
                _as(dict, stack[-1])
            case _:
                raise _Refused(f"it uses the pickle opcode {name}")
    raise _Refused("it ends early")


def _as(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise _Refused("it is damaged")
    return value


def _known(name: object) -> Global:
    if name in (MAPPING, TENSOR) or (
        isinstance(name, str) and name.removeprefix("torch ") in ELEMENTS
    ):
        return Global(str(name))
    raise _Refused(f"it refers to {str(name).replace(' ', '.')}")
