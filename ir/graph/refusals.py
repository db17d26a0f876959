"""The small questions that type rules ask, each with its refusal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..errors import DTypeError, InternalError, ShapeError
from .nodes import ArrayType

Types = tuple[ArrayType, ...]

_KINDS = {"b": "bool", "i": "integer", "f": "float"}


def kind(dtype: np.dtype) -> str:
    """b(ool), i(nteger) or f(loat)."""
    return "f" if dtypes.is_float(dtype) else "b" if dtype == dtypes.BOOL else "i"


def show(*types: ArrayType) -> str:
    """Types as a user reads them: `float32 (2, 3) and int64 (4,)`."""
    return " and ".join(f"{t.dtype} {t.shape}" for t in types)


def require_count(name: str, types: Types, count: int) -> None:
    """Exactly `count` operands."""
    if len(types) != count:
        raise InternalError(f"{name} takes {count} operands, not {len(types)}")


def require_kind(name: str, type_: ArrayType, kinds: str) -> None:
    """An element type of one of the kinds in `kinds` (see `kind`)."""
    if kind(type_.dtype) not in kinds:
        wanted = " or ".join(_KINDS[k] for k in kinds)
        raise DTypeError(
            f"{name} is not defined for {type_.dtype}",
            fix=f"convert with .astype to a {wanted} type first",
        )


def require_same_dtype(name: str, *types: ArrayType) -> None:
    """One element type."""
    first = types[0].dtype
    for t in types[1:]:
        if t.dtype != first:
            raise DTypeError(
                f"{name}: the element types differ: {show(*types)}",
                fix="convert one of them with .astype",
            )


def require_scalar(name: str, what: str, type_: ArrayType) -> None:
    """Rank 0."""
    if type_.shape:
        raise ShapeError(f"{name}: {what} has to be a scalar, not of shape {type_.shape}")


def require_axis(name: str, axis: int, rank: int) -> None:
    """0 <= axis < rank."""
    if not 0 <= axis < rank:
        raise ShapeError(f"{name}: axis {axis} is out of bounds for an array of rank {rank}")


def require_axes(name: str, axes: Sequence[int], rank: int) -> None:
    """Distinct axes of an array of that rank."""
    for axis in axes:
        require_axis(name, axis, rank)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: axes {tuple(axes)} name one axis twice")


def require_length(name: str, what: str, values: Sequence[object], count: int) -> None:
    """One entry for each of `count` axes."""
    if len(values) != count:
        raise ShapeError(f"{name}: {what} has {len(values)} entries for {count} axes")


def require_positive(name: str, what: str, values: Sequence[int], least: int = 1) -> None:
    """Every value at least `least`."""
    if any(v < least for v in values):
        raise ShapeError(f"{name}: {what} {tuple(values)} has to be at least {least} everywhere")
