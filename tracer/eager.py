"""Array functions outside of `jit`: traced for known arrays, and evaluated at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .context import Trace, current, entered
from .traced import Traced, atom_of
from .views import Storage

P = ParamSpec("P")
R = TypeVar("R")


def array_function(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function of traced values one of NumPy arrays too, outside of a trace."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if current() is not None:
            return function(*args, **kwargs)
        result: R = run_eagerly(function, args, kwargs)
        return result

    return call


def run_eagerly(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The function's result on NumPy arrays; arrays that it writes into are written."""
    trace = Trace(Traced)
    known: dict[int, tuple[np.ndarray[Any, Any], Traced]] = {}
    with entered(trace):
        result = function(
            *_wrapped(trace, args, known),
            **{key: _wrapped(trace, value, known) for key, value in kwargs.items()},
        )
        for array, traced in known.values():
            if traced.elements.version:
                np.copyto(array, _value(trace, traced))
        originals = {id(traced): array for array, traced in known.values()}
        return _unwrapped(trace, result, originals)


def _wrapped(trace: Trace, x: Any, known: dict[int, tuple[np.ndarray[Any, Any], Traced]]) -> Any:
    if isinstance(x, tuple) and type(x) is tuple:
        return tuple(_wrapped(trace, item, known) for item in x)
    if isinstance(x, list):
        return [_wrapped(trace, item, known) for item in x]
    if not isinstance(x, np.ndarray):
        return x
    if id(x) not in known:
        var = trace.capture(x)
        why = None if x.flags.writeable else "the array is read-only"
        view = Storage(trace, var, var.type.shape, var.type.dtype, read_only=why)
        known[id(x)] = (x, Traced(view))
    return known[id(x)][1]


def _unwrapped(trace: Trace, x: Any, originals: dict[int, np.ndarray[Any, Any]]) -> Any:
    if isinstance(x, Traced):
        original = originals.get(id(x))
        if original is not None:
            return original
        value = _value(trace, x)
        return value[()] if x.scalar else value.copy()
    if isinstance(x, list):
        return [_unwrapped(trace, item, originals) for item in x]
    if isinstance(x, tuple):
        items = [_unwrapped(trace, item, originals) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return x


def _value(trace: Trace, x: Traced) -> np.ndarray[Any, Any]:
    value = trace.known(atom_of(trace, x))
    assert value is not None  # everything that an eager trace reads is a constant
    return value
