"""What `@jit` makes: a callable that compiles once per signature and then costs little to call."""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ..backends.llvm.locks import fork_safe_lock
from ..backends.llvm.native_callable import NativeCallable, detach
from ..ir import dtypes
from ..ir.errors import ArgumentError
from ..ir.graph.ops import Precision
from ..ir.lowering.relaxed import check_flags
from ..ir.target import Target
from ..tracer import trees
from ..tracer.staging import ArraySpec, call_inline, current_trace, trace
from ..tracer.traced import Traced
from .leaves import Held, describe, leaf_key, native, same_memory, unhashable

if TYPE_CHECKING:
    from ..backends.llvm.entry import Entry
    from ..tracer.staging import Staged
    from .compiler import Options
    from .lowered import Lowered
    from .specialisation import Specialisation

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of `jit`."""

    static: tuple[str, ...] = ()
    donated: tuple[str, ...] = ()
    target: Target = field(default_factory=Target)
    precision: Precision = "default"
    debug: bool = False
    fast_math: frozenset[str] = frozenset()


@functools.cache
def _road() -> Any:
    """The part of the package that loads LLVM, imported by the first compilation."""
    return importlib.import_module(".specialisation", __package__)


# One compilation at a time, for the whole process; a fork waits for it.
_compiling = fork_safe_lock()
_live: weakref.WeakSet[Jit[..., Any]] = weakref.WeakSet()
_disabled = 0
_switch = threading.Lock()


@contextmanager
def disable_jit() -> Iterator[None]:
    """Inside, jitted functions run as plain Python on NumPy arrays, for every thread: for `pdb`."""
    global _disabled
    with _switch:
        _disabled += 1
        for function in list(_live):
            detach(function)
    try:
        yield
    finally:
        with _switch:
            _disabled -= 1
            if not _disabled:
                for function in list(_live):
                    function._attach()


class Jit(NativeCallable, Generic[P, R]):
    """A function that runs as native code, compiled for each new signature of its arguments.

    Made by `jit`. Arguments are NumPy arrays, Python and NumPy numbers, containers of them
    (tuple, list, dict, dataclass, None), and any other objects, which are static: a new value
    compiles anew.
    """

    __wrapped__: Callable[P, R]

    def __init__(self, function: Callable[P, R], settings: Settings):
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial, or an object with __call__
            named = getattr(function, "func", type(function))
            self.__name__ = self.__qualname__ = getattr(named, "__name__", "function")
        self._settings = settings
        self._signature = inspect.signature(function)
        self._names = tuple(self._signature.parameters)
        for name in (*settings.static, *settings.donated):
            if name not in self._signature.parameters:
                raise ArgumentError(
                    f"{self.__qualname__} has no parameter {name!r}",
                    None,
                    "its parameters: " + ", ".join(self._names),
                )
        kinds = [p.kind for p in self._signature.parameters.values()]
        self._plain = not any(k in (k.VAR_POSITIONAL, k.VAR_KEYWORD) for k in kinds)
        self._positional = sum(k in (k.POSITIONAL_ONLY, k.POSITIONAL_OR_KEYWORD) for k in kinds)
        self._specialisations: dict[Any, list[Specialisation]] = {}
        self.specialisations: list[Specialisation] = []
        self._direct: list[Specialisation] = []
        self._entry: Entry | None = None
        _live.add(self)

    # -- calling ----------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls that no compiled signature took: compile, or pass containers' leaves on."""
        if _disabled:
            return self.__wrapped__(*args, **kwargs)
        values = self._bind(args, kwargs)
        leaves, structure = self._flatten(values)
        if current_trace() is not None and any(isinstance(leaf, Traced) for leaf in leaves):
            result: R = call_inline(self.__wrapped__, args, kwargs)
            return result
        result = self._run(leaves, structure)
        return result

    def _run(self, given: list[Any], structure: trees.Structure) -> Any:
        if any(isinstance(leaf, ArraySpec) for leaf in given):
            raise ArgumentError(
                f"{self.__qualname__} is called with the type of an array",
                None,
                "call it with arrays; lower() takes types",
            )
        leaves, copied = native(given, self.__qualname__)
        found = self._find(leaves, structure)
        if self._settings.debug:
            return self._checked(found, leaves)
        result = found.run(leaves)
        for k in copied:
            if any(found.dynamics[position].leaf == k for position, _ in found.staged.written):
                np.copyto(given[k], leaves[k])
        return result

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of all parameters in order."""
        if not kwargs and self._plain and len(args) == len(self._names) == self._positional:
            return args
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(
                f"{self.__qualname__}: {error}", None, f"its signature is {self._signature}"
            ) from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _flatten(self, values: tuple[Any, ...]) -> tuple[list[Any], trees.Structure]:
        static = self._settings.static
        if static:
            values = tuple(
                Held(n, v) if n in static else v for n, v in zip(self._names, values, strict=True)
            )
        return trees.flatten(values)

    # -- signatures -------------------------------------------------------------------------

    def _find(self, leaves: list[Any], structure: trees.Structure) -> Specialisation:
        found = self._look(leaves, structure, {})
        if found.staged.written:
            same = same_memory(leaves)
            if same:
                return self._look(leaves, structure, same)
        return found

    def _look(
        self, leaves: list[Any], structure: trees.Structure, same: Mapping[int, int]
    ) -> Specialisation:
        """The specialisation for these leaves, made if there is none."""
        key = (structure, tuple(map(leaf_key, leaves)), tuple(same.items()))
        try:
            candidates = self._specialisations.get(key, ())
        except TypeError:
            raise unhashable(leaves, self.__qualname__) from None
        for candidate in candidates:
            if candidate.holds(leaves):
                return candidate
        with _compiling:
            for candidate in self._specialisations.get(key, ()):
                if candidate.holds(leaves):
                    return candidate
            made = self._specialise(leaves, structure, same)
            self._specialisations.setdefault(key, []).append(made)
            self.specialisations.append(made)
            self._offer(made, leaves, structure)
            return made

    def _specialise(
        self, leaves: list[Any], structure: trees.Structure, same: Mapping[int, int]
    ) -> Specialisation:
        road = _road()
        dynamics = [d for k, leaf in enumerate(leaves) if (d := road.dynamic(k, leaf)) is not None]
        made: Specialisation = road.Specialisation(
            self._trace(leaves, structure, same),
            dynamics,
            same,
            self._options(),
            self._donated(leaves, structure),
            [describe(leaf) for leaf in leaves],
        )
        return made

    def _options(self) -> Options:
        settings = self._settings
        made: Options = _road().Options(settings.target, settings.precision, settings.fast_math)
        return made

    def _trace(
        self, leaves: Sequence[Any], structure: trees.Structure, same: Mapping[int, int]
    ) -> Staged:
        plain = [leaf.value if isinstance(leaf, Held) else leaf for leaf in leaves]
        values: Any = trees.unflatten(structure, plain)
        arguments = OrderedDict(zip(self._names, values, strict=True))
        bound = inspect.BoundArguments(self._signature, arguments)
        return trace(
            self.__wrapped__,
            bound.args,
            bound.kwargs,
            name=self.__name__,
            precision=self._settings.precision,
            static=self._settings.static,
            same=same,
        )

    def _donated(self, leaves: Sequence[Any], structure: trees.Structure) -> list[int]:
        """The numbers, among the graph's inputs, of those that belong to donated parameters."""
        if not self._settings.donated:
            return []
        marks: Any = trees.unflatten(structure, list(range(len(leaves))))
        donated = {
            leaf
            for name, part in zip(self._names, marks, strict=True)
            if name in self._settings.donated
            for leaf in trees.flatten(part)[0]
        }
        inputs = [k for k, leaf in enumerate(leaves) if _road().dynamic(k, leaf) is not None]
        return [number for number, k in enumerate(inputs) if k in donated]

    def _offer(
        self, made: Specialisation, leaves: Sequence[Any], structure: trees.Structure
    ) -> None:
        """Lets the native entry take further calls like this one by itself, where it can."""
        if not self._plain or self._settings.debug:
            return
        parts: tuple[Any, ...] = structure[2]  # type: ignore[index]
        plain = [leaf.value if isinstance(leaf, Held) else leaf for leaf in leaves]
        signature = made.direct(parts, plain, len(self._direct))
        if signature is None:
            return
        self._direct.append(made)
        if self._entry is None:
            self._entry = self._make_entry()
        self._entry.add(signature)
        self._attach()

    def _make_entry(self) -> Entry:
        parameters = self._signature.parameters.values()
        direct = self._direct

        def raise_status(number: int, status: int) -> None:
            raise direct[number].executable.error(status)

        made: Entry = _road().entry.Entry(
            self.__name__,
            self._names,
            functools.partial(type(self).__call__, self),
            raise_status,
            defaults={p.name: p.default for p in parameters if p.default is not p.empty},
            positional=self._positional,
            positional_only=sum(p.kind is p.POSITIONAL_ONLY for p in parameters),
        )
        return made

    def _attach(self) -> None:
        if self._entry is not None and not _disabled:
            self._entry.attach(self)

    # -- looking ----------------------------------------------------------------------------

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function at every level of the program, for arguments or specs like these."""
        leaves, structure = self._flatten(self._bind(args, kwargs))
        leaves, _ = native(leaves, self.__qualname__)
        staged = self._trace(leaves, structure, {})
        lowered = importlib.import_module(".lowered", __package__)
        made: Lowered = lowered.Lowered(staged, self._options())
        return made

    def explain(self) -> str:
        """The signatures compiled so far, why each was, and the kernels that each runs."""
        if not self.specialisations:
            return f"{self.__qualname__}: not compiled yet"
        lines = [f"{self.__qualname__}: {len(self.specialisations)} signature(s) compiled"]
        before: Specialisation | None = None
        for number, made in enumerate(self.specialisations, 1):
            lines.append(f"{number}. ({', '.join(made.described)})")
            lines.append(f"   why: {made.difference(before)}")
            lines += [f"   {line}" for line in made.executable.describe()]
            before = made
        return "\n".join(lines)

    # -- as a value -------------------------------------------------------------------------

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __deepcopy__(self, memo: object) -> Jit[P, R]:
        return self

    def __copy__(self) -> Jit[P, R]:
        return self

    def __repr__(self) -> str:
        return f"<jit {self.__module__}.{self.__qualname__}>"

    def _checked(self, found: Specialisation, leaves: Sequence[Any]) -> Any:
        """The result by the graph's interpreter, each value checked as it is made."""
        debugging = importlib.import_module(".debugging", __package__)
        return debugging.run(found, leaves)


@overload
def jit(function: Callable[P, R], /) -> Jit[P, R]: ...
@overload
def jit(
    *,
    static_argnames: str | Iterable[str] = ...,
    donate_argnames: str | Iterable[str] = ...,
    target: Target | None = ...,
    precision: Precision = ...,
    debug: bool = ...,
    fast_math: Iterable[str] = ...,
) -> Callable[[Callable[P, R]], Jit[P, R]]: ...
def jit(
    function: Callable[P, R] | None = None,
    /,
    *,
    static_argnames: str | Iterable[str] = (),
    donate_argnames: str | Iterable[str] = (),
    target: Target | None = None,
    precision: Precision = "default",
    debug: bool = False,
    fast_math: Iterable[str] = (),
) -> Any:
    """Compiles a function over NumPy arrays, once for each signature of its arguments.

    - `static_argnames`: parameters whose values are part of the signature and stay Python objects.
    - `donate_argnames`: parameters whose arrays the call may overwrite as working memory.
    - `target`: the machine to compile for. - `precision`: "default" (reductions in any order,
      fused multiply-add in them) or "highest" (the program's own order).
    - `fast_math`: relaxations of elementwise code, by name: "contract" (fused multiply-add),
      "reciprocal" (division by a constant as multiplication), "no_nans" (maximum and minimum
      need not keep NaN).
    - `debug`: run through the interpreter; an index outside its axis and a new NaN raise at the
      user's line.
    """
    settings = Settings(
        _names(static_argnames),
        _names(donate_argnames),
        target or Target(),
        precision,
        debug,
        check_flags(tuple(fast_math)),
    )
    if precision not in ("default", "highest"):
        raise ArgumentError(
            f"precision={precision!r} does not exist", None, 'choose "default" or "highest"'
        )
    if function is None:
        return lambda f: jit_with(f, settings)
    return jit_with(function, settings)


def jit_with(function: Callable[P, R], settings: Settings) -> Jit[P, R]:
    """`function` jitted with these settings."""
    if isinstance(function, Jit):
        return function
    if not callable(function):
        raise ArgumentError(
            f"jit needs a function, not {type(function).__name__}",
            None,
            "write @jit above a def, or jit(f)",
        )
    return Jit(function, settings)


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def bind(function: Callable[..., R], params: Any) -> Jit[..., R]:
    """`function(params, ...)` with `params` (arrays in any containers) fixed, as constants.

    They are copied now, folded (packed, transformed) once, and shared by all signatures.
    """
    params = trees.map_leaves(lambda x: x.copy() if isinstance(x, np.ndarray) else x, params)

    def bound(*args: Any, **kwargs: Any) -> R:
        return function(params, *args, **kwargs)

    functools.update_wrapper(bound, function, assigned=("__name__", "__qualname__", "__doc__"))
    del bound.__dict__["__wrapped__"]
    return jit(bound)


def spec(shape: int | Sequence[int], dtype: Any = "float64") -> ArraySpec:
    """The type of an array argument, in place of an array: for `lower` and `compile`."""
    extents = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"a shape with a negative extent: {extents}")
    return ArraySpec(extents, dtypes.canonical(dtype))
