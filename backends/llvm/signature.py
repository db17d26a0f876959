"""What a compiled signature accepts and returns, as the entry checks and builds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from ...ir import dtypes
from ...ir.errors import InternalError


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """An `np.ndarray` (no subclass), aligned and of native byte order; passed by address.

    `strides` are in bytes, None for C-contiguous (the stride of an axis of one element is free).
    With `writable` read-only arrays do not fit, and neither does one that overlaps another array
    argument. `alias` names an earlier parameter that this one must share its memory with.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    writable: bool = False
    alias: int | None = None


@dataclass(frozen=True, slots=True)
class PythonParameter:
    """A Python float, int or bool; passed by value as float64, int64 or bool.

    An int that int64 does not hold does not fit.
    """

    type: type[float] | type[int] | type[bool]


@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A NumPy scalar of exactly this dtype; passed by value."""

    dtype: np.dtype


@dataclass(frozen=True, slots=True, eq=False)
class StaticParameter:
    """This very object; not passed."""

    value: object


Parameter: TypeAlias = ArrayParameter | PythonParameter | ScalarParameter | StaticParameter


class Leaf(Enum):
    """The place of one parameter or output in a tree of containers."""

    LEAF = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A tuple, list or dict, of exactly that type. The values of a dict stand in its order.

    In an argument, a dict must have these very key objects, in this order.
    """

    type: type[tuple[Any, ...]] | type[list[Any]] | type[dict[Any, Any]]
    parts: tuple[Tree, ...]
    keys: tuple[object, ...] = ()


Tree: TypeAlias = Leaf | Container


def count_leaves(trees: tuple[Tree, ...]) -> int:
    """How many leaves there are."""
    return sum(count_leaves(tree.parts) if isinstance(tree, Container) else 1 for tree in trees)


@dataclass(frozen=True, slots=True)
class FreshResult:
    """Memory that a call allocates: a dense array, or a NumPy scalar where shape is ().

    `strides` are in bytes, None for C-contiguous; they may only put the axes in another order.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class FreshOutput:
    """Fresh result number `result`.

    With `python` a float64, int64 or bool of shape () is returned as a Python number.
    """

    result: int
    python: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentOutput:
    """The object that was given for leaf number `parameter` of the arguments."""

    parameter: int


@dataclass(frozen=True, slots=True, eq=False)
class ObjectOutput:
    """This very object."""

    value: object


Output: TypeAlias = FreshOutput | ArgumentOutput | ObjectOutput


class Structure(Enum):
    """The common trees of outputs: the only one as it is, or all in a tuple or list."""

    SINGLE = "single"
    TUPLE = "tuple"
    LIST = "list"


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """One way to call a function, and the plan that then runs.

    `parameters` describes each leaf of the arguments in order, `arguments` the containers that they
    lie in (None: each argument is a leaf). `outputs` are the leaves of what is returned.

    The plan takes the addresses of all parameters that are passed, then of `fresh`, then
    `constants`. `number` is handed to the raiser with a status that is not 0. `keep` is held as
    long as the plan may run: libraries, constants. `check_overlap` off leaves overlap of written
    arguments to the caller.
    """

    parameters: tuple[Parameter, ...]
    fresh: tuple[FreshResult, ...]
    outputs: tuple[Output, ...]
    structure: Structure | Tree
    plan: int
    arena_bytes: int = 0
    constants: tuple[int, ...] = ()
    release_gil: bool = False
    number: int = 0
    keep: object = None
    check_overlap: bool = True
    arguments: tuple[Tree, ...] | None = None

    @property
    def result(self) -> Tree:
        """The tree of the outputs."""
        match self.structure:
            case Structure.SINGLE:
                return Leaf.LEAF
            case Structure.TUPLE:
                return Container(tuple, (Leaf.LEAF,) * len(self.outputs))
            case Structure.LIST:
                return Container(list, (Leaf.LEAF,) * len(self.outputs))
            case tree:
                return tree

    def __post_init__(self) -> None:
        if count_leaves((self.result,)) != len(self.outputs):
            raise InternalError(f"{len(self.outputs)} outputs do not fill {self.structure}")
        if self.arguments is not None and count_leaves(self.arguments) != len(self.parameters):
            raise InternalError(f"{len(self.parameters)} parameters do not fill the arguments")
        for output in self.outputs:
            match output:
                case FreshOutput(result) if not 0 <= result < len(self.fresh):
                    raise InternalError(f"there is no fresh result {result}")
                case FreshOutput(result, python=True):
                    _check_python(self.fresh[result])
                case ArgumentOutput(number) if not 0 <= number < len(self.parameters):
                    raise InternalError(f"there is no parameter {number}")
        for number, parameter in enumerate(self.parameters):
            if isinstance(parameter, ArrayParameter) and parameter.alias is not None:
                earlier = self.parameters[parameter.alias] if parameter.alias < number else None
                if not isinstance(earlier, ArrayParameter):
                    raise InternalError(f"parameter {number} aliases {parameter.alias}")


def _check_python(result: FreshResult) -> None:
    if result.shape or result.dtype not in (dtypes.FLOAT64, dtypes.INT64, dtypes.BOOL):
        raise InternalError(f"no Python number holds {result}")
