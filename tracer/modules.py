"""What stands for NumPy, its random numbers and `math` inside a traced function.

Functions that `loopwright.numpy` has are taken from there. Others run in NumPy itself, as long as
all their arguments are known while tracing.
"""

from __future__ import annotations

import builtins
import functools
import math
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from . import arrays, windows
from .context import current, refused
from .elementwise import binary, select
from .scalars import SCALARS
from .traced import Traced, active, atom_of, converted, fresh, lift
from .trees import map_leaves
from .ufuncs import UFUNCS


class NumpyModule:
    """`numpy`, or a module of it."""

    def __init__(self, real: ModuleType):
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        return stand_in(getattr(self.__dict__["_real"], name))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise refused("a traced function cannot change the numpy module")

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_real"])


class RandomModule:
    """`numpy.random`, or a generator: no numbers can be drawn in a trace."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise refused(
            f"random.{name} inside of a traced function would draw its numbers only once",
            "draw them outside and pass them as an argument",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """A function of `numpy.random`, imported by its name."""
        raise refused(
            "random numbers inside of a traced function would be drawn only once",
            "draw them outside and pass them as an argument",
        )


class ArrayType:
    """`numpy.ndarray`, of which traced arrays are instances."""

    def __instancecheck__(self, instance: object) -> bool:
        if isinstance(instance, Traced):
            return not (instance.scalar or instance.weak)
        return isinstance(instance, np.ndarray)

    def __getattr__(self, name: str) -> Any:
        return getattr(np.ndarray, name)

    def __call__(self, shape: Any, dtype: Any = float, **kwargs: Any) -> Any:
        """An array to be written into."""
        return arrays.empty(shape, dtype)


class NumpyFunction:
    """A function that only NumPy has: called on known values."""

    def __init__(self, function: Any):
        self._function = function
        functools.update_wrapper(self, function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's result, as part of the trace; raises TraceError for unknown arguments."""
        trace = current()
        if trace is None:
            return self._function(*args, **kwargs)

        def known(x: Any) -> Any:
            if not isinstance(x, Traced):
                return x
            value = trace.demand(atom_of(trace, x))
            if value is None:
                name = getattr(self._function, "__name__", "this function")
                raise refused(
                    f"np.{name} is not supported on traced values",
                    "write it with the functions of loopwright.numpy, or compute it outside",
                )
            return value.item() if x.weak else value[()] if x.scalar else value.copy()

        result = self._function(*map_leaves(known, args), **map_leaves(known, kwargs))
        return map_leaves(_into_trace, result)


def _into_trace(x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        return arrays.array(x)
    return x


class MathModule:
    """`math`: its functions of traced scalars."""

    def __getattr__(self, name: str) -> Any:
        real = getattr(math, name)
        ours = _MATH.get(name)
        if ours is None:
            return real

        @functools.wraps(real)
        def call(*args: Any) -> Any:
            if not any(isinstance(x, Traced) for x in args):
                return real(*args)
            return _scalar_function(name, ours, args)

        return call


_MATH = {
    name: UFUNCS[ours]
    for name, ours in {
        "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
        "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin",
        "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
        "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
        "atanh": "arctanh", "atan2": "arctan2", "hypot": "hypot", "fabs": "fabs", "fmod": "fmod",
        "pow": "power", "copysign": "copysign", "floor": "floor", "ceil": "ceil",
        "trunc": "trunc", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
        "radians": "deg2rad", "degrees": "rad2deg",
    }.items()
}  # fmt: skip
_WHOLE = frozenset(("floor", "ceil", "trunc"))


def _scalar_function(name: str, ours: Any, args: tuple[Any, ...]) -> Traced:
    """A function of `math` on scalars; the result stands for a Python number."""
    trace = active()
    operands = [lift(trace, x) for x in args]
    if any(x.shape for x in operands):
        raise refused(f"math.{name} takes numbers, not arrays", f"use np.{name}")
    wide = [fresh(trace, converted(trace, x, np.dtype(np.float64))) for x in operands]
    if name == "log" and len(wide) == 2:
        result = binary(trace, "div", *(ours(x) for x in wide))
    else:
        result = ours(*wide)
    if name in _WHOLE:
        result = fresh(trace, converted(trace, result, np.dtype(np.int64)))
    result.weak = True
    made: Traced = result
    return made


def _extreme(name: str) -> Any:
    real = getattr(builtins, name)
    comparison = "gt" if name == "max" else "lt"

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        items = args
        if len(args) == 1 and isinstance(args[0], list | tuple | Traced):
            items = tuple(iter(args[0]))  # type: ignore[arg-type]
        scalars = [x for x in items if isinstance(x, Traced) and not x.shape]
        if kwargs or not scalars or len(items) < 2:
            return real(*args, **kwargs)
        trace = active()
        best = lift(trace, items[0])
        for item in items[1:]:
            other = lift(trace, item)
            best = select(trace, binary(trace, comparison, other, best), other, best)
        return best

    return call


MAX, MIN = _extreme("max"), _extreme("min")
"""The builtins `max` and `min`, which also choose between traced scalars."""

_ARRAY_TYPE = ArrayType()
_MATH_MODULE = MathModule()
_RANDOM = RandomModule()


_FUNCTIONS_OF: dict[str, ModuleType | None] = {
    "numpy": arrays,
    "numpy.linalg": arrays.linalg,
    "numpy.fft": None,
    "numpy.lib.stride_tricks": windows,
}
"""Modules of NumPy, and where their functions are found here."""

_WHOLE_MODULES = frozenset((*_FUNCTIONS_OF, "numpy.lib"))
_TYPES = {type_.type: type_ for type_ in SCALARS.values()} | {
    np.ndarray: _ARRAY_TYPE,
    np.vectorize: arrays.vectorize,
}
_found: dict[int, tuple[Any, Any]] = {}


def stand_in(value: Any) -> Any:
    """What stands for an object of NumPy or `math` inside a trace; other objects as they are."""
    found = _found.get(id(value))
    if found is not None and found[0] is value:
        return found[1]
    if type(value).__module__.startswith("numpy.random"):  # a generator of the user's
        return _RANDOM
    made = _find(value)
    if made is not value:
        _found[id(value)] = (value, made)  # objects of NumPy itself, which stay
    return made


def _find(value: Any) -> Any:
    if isinstance(value, ModuleType):
        if value.__name__ in _WHOLE_MODULES:
            return NumpyModule(value)
        return {"math": _MATH_MODULE, "numpy.random": _RANDOM}.get(value.__name__, value)
    if isinstance(value, np.ufunc):
        return getattr(arrays, value.__name__, None) or NumpyFunction(value)
    if isinstance(value, type):
        return _TYPES.get(value, value)
    for name in ("mgrid", "ogrid", "r_", "c_"):
        if value is getattr(np, name):
            return getattr(arrays, name)
    module = getattr(value, "__module__", None)
    if not callable(value) or not isinstance(module, str):
        return value
    if module.startswith("numpy.random"):
        return _RANDOM
    if module not in _FUNCTIONS_OF:
        return value
    return getattr(_FUNCTIONS_OF[module], value.__name__, None) or NumpyFunction(value)
