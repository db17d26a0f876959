"""Traces a user's function unchanged: a clone whose names of NumPy mean the tracing namespace.

A clone runs the same code with other globals. These look every name up in the real globals when
it is used (so that later changes are seen) and give what stands for NumPy, and clones of the
functions of the user's own modules. What the function assigns to globals is written back at the
end. Methods are found by attribute, not by a name, so that the classes of the user's own modules
carry clones of their methods while the trace lasts.
"""

from __future__ import annotations

import builtins
import functools
import os
import sysconfig
import threading
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from .context import OWN_FOLDERS, Trace, current
from .modules import MAX, MIN, stand_in
from .traced import Traced, captured

_INSTALLED = (
    *OWN_FOLDERS,
    *(
        os.path.abspath(path) + os.sep
        for key, path in sysconfig.get_paths().items()
        if key in ("stdlib", "platstdlib", "purelib", "platlib")
    ),
)


@functools.cache
def _is_installed(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to this one."""
    return file.startswith("<frozen") or os.path.abspath(file).startswith(_INSTALLED)


def is_users(function: types.FunctionType) -> bool:
    """Whether a function was written in the user's own modules."""
    return not _is_installed(function.__code__.co_filename)


class _OneAtATime:
    """Only one thread traces at a time: while it does, classes carry clones of its trace."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.RLock()


_one_at_a_time = _OneAtATime()


class _Globals(dict[str, Any]):
    """The globals of clones from one module.

    Python looks names up by `__getitem__`, and stores assigned ones in the dict itself.
    """

    def __init__(self, cloner: Cloner, real: dict[str, Any]):
        super().__init__(__builtins__=cloner.builtins)
        self.cloner = cloner
        self.real = real

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return self.cloner.redirect(super().__getitem__(name))
        return self.cloner.redirect(self.real[name])

    def write_back(self) -> None:
        """Hands what the clones assigned to the real globals."""
        for name in [n for n in self if n != "__builtins__"]:
            self.real[name] = self.pop(name)


class _UserModule:
    """A module of the user's: what it holds, redirected."""

    def __init__(self, cloner: Cloner, real: types.ModuleType):
        self.__dict__.update(_cloner=cloner, _real=real)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        return own["_cloner"].redirect(getattr(own["_real"], name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_real"], name, value)


class Cloner:
    """The clones of one trace; use it as a context, which puts everything back at the end."""

    def __init__(self, trace: Trace):
        self._trace = trace
        self._functions: dict[int, tuple[types.FunctionType, types.FunctionType]] = {}
        self._globals: dict[int, _Globals] = {}
        self._modules: dict[int, _UserModule] = {}
        self._arrays: dict[int, tuple[Any, Traced]] = {}
        self._classes: set[type] = set()
        self._seen: dict[int, Any] = {}
        self._replaced: list[tuple[type, str, Any]] = []
        self.builtins = vars(builtins) | {"__import__": self._import, "max": MAX, "min": MIN}

    def __enter__(self) -> Cloner:
        self._lock = _one_at_a_time.lock
        self._lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._restore()
        finally:
            self._lock.release()

    def _restore(self) -> None:
        for cls, name, attribute in reversed(self._replaced):
            setattr(cls, name, attribute)
        for names in self._globals.values():
            names.write_back()

    def _import(self, *args: Any, **kwargs: Any) -> Any:
        return self.redirect(builtins.__import__(*args, **kwargs))

    def redirect(self, value: Any) -> Any:
        """What a name that holds `value` means inside of the trace."""
        if current() is not self._trace:
            return value
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is types.FunctionType:
            found = stand_in(value)
            return found if found is not value else self.function(value)
        if kind is types.MethodType:
            self.adopt(value.__self__)
            return types.MethodType(self.redirect(value.__func__), value.__self__)
        if kind is functools.partial:
            return functools.partial(self.redirect(value.func), *value.args, **value.keywords)
        if kind is np.ndarray:
            return self._array(value)
        found = stand_in(value)
        if found is not value:
            return found
        if kind is types.ModuleType:
            return self._module(value)
        self.adopt(value)
        return value

    def function(self, function: types.FunctionType) -> types.FunctionType:
        """The clone of a function of the user's own; others as they are."""
        found = self._functions.get(id(function))
        if found is not None:
            return found[1]
        if isinstance(function.__globals__, _Globals) or not is_users(function):
            return function
        cells = tuple(self._cell(cell) for cell in function.__closure__ or ())
        clone = types.FunctionType(
            function.__code__, self._namespace(function.__globals__), function.__name__,
            None, cells or None,
        )  # fmt: skip
        self._functions[id(function)] = (function, clone)
        functools.update_wrapper(clone, function)
        del clone.__wrapped__  # type: ignore[attr-defined]
        clone.__defaults__ = tuple(self.redirect(x) for x in function.__defaults__ or ()) or None
        given = function.__kwdefaults__ or {}
        clone.__kwdefaults__ = {k: self.redirect(v) for k, v in given.items()} or None
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            if cell is not old:
                cell.cell_contents = self.redirect(old.cell_contents)
        return clone

    def _cell(self, cell: types.CellType) -> types.CellType:
        """The cell itself, so that assignments are shared, unless its content is redirected."""
        try:
            content = cell.cell_contents
        except ValueError:
            return cell
        if isinstance(content, types.FunctionType):
            own = is_users(content) and not isinstance(content.__globals__, _Globals)
            return types.CellType() if own or stand_in(content) is not content else cell
        return cell if self.redirect(content) is content else types.CellType()

    def _namespace(self, real: dict[str, Any]) -> _Globals:
        if id(real) not in self._globals:
            self._globals[id(real)] = _Globals(self, real)
        return self._globals[id(real)]

    def _module(self, module: types.ModuleType) -> Any:
        file = getattr(module, "__file__", None)
        if file is None or _is_installed(file):
            return module
        if id(module) not in self._modules:
            self._modules[id(module)] = _UserModule(self, module)
        return self._modules[id(module)]

    def _array(self, array: Any) -> Any:
        if array.dtype.kind not in "biuf":
            return array
        if id(array) not in self._arrays:
            self._arrays[id(array)] = (array, captured(self._trace, array))
        return self._arrays[id(array)][1]

    def adopt(self, value: Any) -> None:
        """Lets the methods of an object (or of a class), and of those it holds, be traced."""
        stack = [value]
        while stack:
            x = stack.pop()
            kind = type(x)
            if kind in _PLAIN or kind is np.ndarray or id(x) in self._seen or isinstance(x, Traced):
                continue
            self._seen[id(x)] = x
            if kind is list or kind is tuple:
                stack.extend(x)
            elif kind is dict:
                stack.extend(x.values())
            elif isinstance(x, type):
                self._adopt_class(x)
            elif self._adopt_class(kind):
                stack.extend(_held(x))

    def _adopt_class(self, cls: type) -> bool:
        """Puts clones in the place of a class's own methods; whether it has any."""
        found = False
        for base in cls.__mro__:
            if base in self._classes:
                found = True
                continue
            methods = [(n, a) for n, a in vars(base).items() if _is_method(a)]
            if methods:
                found = True
                self._classes.add(base)
            for name, attribute in methods:
                self._replaced.append((base, name, attribute))
                setattr(base, name, self._method(attribute))
        return found

    def _method(self, attribute: Any) -> Any:
        kind = type(attribute)
        if kind is staticmethod or kind is classmethod:
            return kind(self.function(attribute.__func__))
        if kind is property:
            get, put, drop = (
                self.function(f) if isinstance(f, types.FunctionType) else f
                for f in (attribute.fget, attribute.fset, attribute.fdel)
            )
            return property(get, put, drop, attribute.__doc__)
        return self.function(attribute)


_PLAIN: frozenset[type] = frozenset((
    int, float, str, bool, bytes, type(None), complex, slice, range, type(Ellipsis),
))  # fmt: skip


def _held(x: Any) -> Iterable[Any]:
    try:
        return list(vars(x).values())
    except TypeError:
        return ()


def _is_method(attribute: Any) -> bool:
    match attribute:
        case types.FunctionType():
            return is_users(attribute)
        case staticmethod() | classmethod():
            return _is_method(attribute.__func__)
        case property():
            return _is_method(attribute.fget)
        case _:
            return False
