"""What NumPy's own functions do with traced values: `__array_ufunc__`, `__array_function__`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays
from .context import refused
from .masked import Masked

_METHODS = ("reduce", "accumulate", "outer", "at")


def namespace() -> Any:
    """The module `loopwright.numpy`."""
    return arrays


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """A NumPy ufunc called with traced values."""
    ours = getattr(arrays, ufunc.__name__, None)
    if ours is None:
        raise refused(f"np.{ufunc.__name__} is not supported on traced values")
    out = kwargs.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        kwargs["out"] = out[0]
    if method == "__call__":
        return ours(*inputs, **kwargs)
    if method not in _METHODS or not hasattr(ours, method):
        raise refused(f"np.{ufunc.__name__}.{method} is not supported on traced values")
    return getattr(ours, method)(*inputs, **kwargs)


def array_function(func: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function called with traced values."""
    ours = replacement(func)
    if ours is None:
        name = getattr(func, "__name__", str(func))
        raise refused(
            f"np.{name} is not supported on traced values",
            "write it with the functions of loopwright.numpy, or compute it outside",
        )
    if args and isinstance(args[0], Masked) and ours.__name__ not in _OF_SELECTIONS:
        raise args[0].refusal()
    return ours(*args, **kwargs)


_OF_SELECTIONS = frozenset(("sum", "mean", "prod", "any", "all", "var", "std", "count_nonzero",
                            "clip"))  # fmt: skip


def replacement(func: Any) -> Any:
    """The function of `loopwright.numpy` that stands for one of NumPy's; None if there is none."""
    name = getattr(func, "__name__", "")
    place = namespace()
    if "linalg" in getattr(func, "__module__", ""):
        place = place.linalg
    return getattr(place, name, None)
