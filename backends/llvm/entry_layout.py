"""Where CPython and NumPy keep the fields that the entry reads, checked on living objects.

The offsets are those of CPython 3.11 to 3.14 with the GIL and of NumPy 2; only a tuple's items
moved (in 3.14). A build where they do not hold is refused before anything is read through them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache

import numpy as np

from ...ir import dtypes
from ...ir.errors import TargetError

SCALAR_VALUE = 16
_ARRAY_DATA, _ARRAY_RANK, _ARRAY_DIMS, _ARRAY_STRIDES = 16, 24, 32, 40
_ARRAY_DTYPE, _ARRAY_FLAGS = 56, 64
_DTYPE_KIND, _DTYPE_ORDER, _DTYPE_NUMBER, _DTYPE_SIZE = 24, 26, 28, 40


@cache
def tuple_items() -> int:
    """The offset of a tuple's items, after a check of all other offsets.

    Raises `TargetError` if this Python or NumPy lays out its objects in another way.
    """
    for what, holds in _facts():
        if not holds:
            raise TargetError(
                f"{what} is not where compiled code expects it in this build of CPython "
                f"and NumPy {np.__version__}",
                None,
                "use CPython 3.11 to 3.14 with the GIL and NumPy 2",
            )
    marker = object()
    holder = (marker, marker)
    for offset in (24, 32):
        if _word(holder, offset) == _word(holder, offset + 8) == id(marker):
            return offset
    raise TargetError("the items of a tuple are not where compiled code expects them")


def _word(value: object, offset: int) -> int:
    return ctypes.c_int64.from_address(id(value) + offset).value


def _int(value: object, offset: int) -> int:
    return ctypes.c_int32.from_address(id(value) + offset).value


def _byte(value: object, offset: int) -> int:
    return ctypes.c_uint8.from_address(id(value) + offset).value


def _facts() -> Iterator[tuple[str, bool]]:
    array = np.zeros((3, 5, 7), np.float32)[:, ::2, 1:]
    yield "the type of an object", _word(array, 8) == id(np.ndarray)
    yield "the data of an array", _word(array, _ARRAY_DATA) == array.ctypes.data
    yield "the rank of an array", _int(array, _ARRAY_RANK) == 3
    for what, offset, expected in (
        ("the shape of an array", _ARRAY_DIMS, array.shape),
        ("the strides of an array", _ARRAY_STRIDES, array.strides),
    ):
        place = _word(array, offset)
        yield what, place % 8 == 0 and place > 4096
        yield what, tuple((ctypes.c_int64 * 3).from_address(place)) == expected
    yield "the dtype of an array", _word(array, _ARRAY_DTYPE) == id(array.dtype)
    locked = np.zeros(2)
    locked.flags.writeable = False
    for one in (array, locked, np.zeros(())):
        yield "the flags of an array", _int(one, _ARRAY_FLAGS) == one.flags.num
    for dtype in (*dtypes.ALL, np.dtype(">i4")):
        name = f"a field of dtype {dtype}"
        yield name, _byte(dtype, _DTYPE_KIND) == ord(dtype.kind)
        yield name, _byte(dtype, _DTYPE_ORDER) == ord(dtype.byteorder)
        yield name, _int(dtype, _DTYPE_NUMBER) == dtype.num
        yield name, _word(dtype, _DTYPE_SIZE) == dtype.itemsize
    for dtype in dtypes.ALL:
        scalar = np.ones((), dtype)[()] if dtype.kind == "b" else dtype.type(3)
        stored = ctypes.string_at(id(scalar) + SCALAR_VALUE, dtype.itemsize)
        yield f"the value of a {dtype} scalar", stored == np.asarray(scalar, dtype).tobytes()
    number = 1.25
    value = ctypes.c_double.from_address(id(number) + SCALAR_VALUE).value
    yield "the value of a float", value == number
    yield "the length of a tuple", _word((1, 2, 3), 16) == 3
