"""NumPy's scalar types as the tracing namespace offers them: types, and casts of traced values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .context import current
from .elementwise import cast
from .traced import Traced, lift


class ScalarType:
    """`numpy.float32` and its like: a dtype wherever one is taken, a cast when it is called."""

    __slots__ = ("__name__", "dtype", "type")

    def __init__(self, scalar: Any):
        self.type = scalar
        self.dtype = np.dtype(scalar)
        self.__name__ = self.dtype.name

    def __call__(self, *args: Any) -> Any:
        """The argument as a value of this type."""
        trace = current()
        if trace is None or not args or not isinstance(args[0], Traced):
            return self.type(*args)
        return cast(trace, lift(trace, args[0]), self.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.type, name)

    def __instancecheck__(self, instance: object) -> bool:
        if isinstance(instance, Traced):
            return bool(instance.scalar and instance.dtype == self.dtype)
        return bool(isinstance(instance, self.type))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScalarType):
            return self.type is other.type
        return other is self.type or (isinstance(other, np.dtype) and bool(self.dtype == other))

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"<type {self.__name__}>"


NAMES = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip

SCALARS: dict[str, ScalarType] = {name: ScalarType(getattr(np, name)) for name in NAMES}
SCALARS["bfloat16"] = ScalarType(ml_dtypes.bfloat16)
SCALARS |= {
    alias: SCALARS[name]
    for alias, name in {
        "bool": "bool_", "byte": "int8", "ubyte": "uint8", "short": "int16", "ushort": "uint16",
        "intc": "int32", "uintc": "uint32", "int_": "int64", "intp": "int64", "longlong": "int64",
        "long": "int64", "uint": "uint64", "uintp": "uint64", "ulonglong": "uint64",
        "ulong": "uint64", "half": "float16", "single": "float32", "double": "float64",
    }.items()
}  # fmt: skip
