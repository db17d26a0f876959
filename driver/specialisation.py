"""One compiled signature of a function: traced, compiled, and ready for its entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backends.llvm import entry, host
from ..backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    Container,
    FreshOutput,
    FreshResult,
    Leaf,
    ObjectOutput,
    Output,
    Parameter,
    PythonParameter,
    ScalarParameter,
    Signature,
    StaticParameter,
    Structure,
    Tree,
)
from ..ir import dtypes
from ..ir.errors import InternalError, OverlapError
from ..ir.graph.nodes import ArrayType
from ..ir.graph.passes.results import Layout
from ..ir.lowering.storage import contiguous
from ..ir.plan.nodes import Place
from ..tracer import trees
from ..tracer.staging import Argument, ArraySpec, Computed, OutputSpec, Staged, Static
from .compiler import Executable, Options, compile_glue, compile_graph

_NUMBERS = (dtypes.FLOAT64, dtypes.INT64, dtypes.BOOL)


@dataclass(frozen=True, slots=True, eq=False)
class Dynamic:
    """What the native code is given for one array or number among the leaves."""

    leaf: int  # its number among all leaves
    parameter: ArrayParameter | PythonParameter | ScalarParameter


def dynamic(leaf: int, value: Any) -> Dynamic | None:
    """How a leaf of the arguments is passed; None for a static one."""
    kind = type(value)
    if kind is ArraySpec:
        return Dynamic(leaf, ArrayParameter(value.dtype, value.shape))
    if kind is np.ndarray:
        strides = None if value.flags.c_contiguous else value.strides
        return Dynamic(leaf, ArrayParameter(value.dtype, value.shape, strides))
    if kind in (float, int, bool):
        return Dynamic(leaf, PythonParameter(kind))
    if isinstance(value, np.generic):
        return Dynamic(leaf, ScalarParameter(value.dtype))
    return None


class Specialisation:
    """A traced and compiled signature.

    `run(leaves)` takes all leaves of the arguments (arrays as the native code wants them) and
    returns the function's result.
    """

    def __init__(
        self,
        staged: Staged,
        dynamics: Sequence[Dynamic],
        same: Mapping[int, int],
        options: Options,
        donated: Sequence[int],
        described: Sequence[str],
    ):
        self.staged = staged
        self.described = tuple(described)
        self.dynamics = tuple(dynamics)
        self.guards = tuple((self.dynamics[k].leaf, value) for k, value in staged.guards)
        strides = {
            k: tuple(s // d.parameter.dtype.itemsize for s in d.parameter.strides)
            for k, d in enumerate(self.dynamics)
            if isinstance(d.parameter, ArrayParameter) and d.parameter.strides is not None
        }
        host.require_runnable(options.target)
        self.executable = compile_graph(staged.graph, staged.written, strides, options, donated)
        written = {k for k, _ in staged.written}
        self.parameters: tuple[Parameter, ...] = tuple(
            _written(d.parameter, k in written, same.get(k)) for k, d in enumerate(self.dynamics)
        )
        self.fresh, self.outputs = _results(staged, self.executable)
        self.finish = tuple(
            _finish(spec, made, self.fresh)
            for spec, made in zip(staged.outputs, self.outputs, strict=True)
        )
        entry.load(compile_glue)
        names = [f"leaf{k}" for k in range(len(self.parameters))]
        self._entry = entry.Entry(
            staged.name, names, self._mismatch, self._raise, positional_only=len(names)
        )
        self._entry.add(self._signature(self.parameters, self.outputs, Structure.TUPLE))
        self._call = self._entry.callable

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for arguments with these leaves."""
        found = self._call(*[leaves[d.leaf] for d in self.dynamics])
        if any(self.finish):
            found = [
                x if finish is None else finish(x)
                for x, finish in zip(found, self.finish, strict=True)
            ]
        return self.staged.rebuild(list(found))

    def difference(self, before: Specialisation | None) -> str:
        """Why this was compiled although `before` was there."""
        if before is None:
            return "the first call"
        if len(before.described) != len(self.described):
            return "another structure of arguments"
        changed = [
            f"argument {k}: {old} before, now {new}"
            for k, (old, new) in enumerate(zip(before.described, self.described, strict=True))
            if old != new
        ]
        if not changed and self.guards:
            changed = [f"argument {leaf} is now {value}" for leaf, value in self.guards]
        return "; ".join(changed) or "arguments share memory in another way"

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether the scalar arguments whose values the trace relied on have those values."""
        return all(_identical(leaves[leaf], value) for leaf, value in self.guards)

    def direct(
        self, structures: Sequence[trees.Structure], leaves: Sequence[Any], number: int
    ) -> Signature | None:
        """The signature for calls whose arguments have these structures and leaves.

        None if Python must help: where an argument or result is built of other than tuples, lists
        and dicts, where a result is an array of rank 0, or where the trace relies on the values of
        numbers.
        """
        if self.guards or any(self.finish):
            return None
        arguments, places, count = _native_trees(structures)
        result, spots, outputs_count = _native_trees((self.staged.out_tree,))
        if arguments is None or result is None:
            return None
        parameters: list[Parameter] = [StaticParameter(None)] * count
        for k, leaf in enumerate(leaves):
            parameters[places[k]] = StaticParameter(leaf)
        moved = [places[d.leaf] for d in self.dynamics]
        for place, parameter in zip(moved, self.parameters, strict=True):
            if isinstance(parameter, ArrayParameter) and parameter.alias is not None:
                parameter = replace(parameter, alias=moved[parameter.alias])
            parameters[place] = parameter
        outputs: list[Output] = [ObjectOutput(None)] * outputs_count
        for spot, output in zip(spots, self.outputs, strict=True):
            if isinstance(output, ArgumentOutput):
                output = ArgumentOutput(moved[output.parameter])
            outputs[spot] = output
        flat = all(tree is Leaf.LEAF for tree in arguments)
        return self._signature(
            tuple(parameters), tuple(outputs), result[0], number, None if flat else arguments
        )

    def _signature(
        self,
        parameters: tuple[Parameter, ...],
        outputs: tuple[Output, ...],
        structure: Structure | Tree,
        number: int = 0,
        arguments: tuple[Tree, ...] | None = None,
    ) -> Signature:
        made = self.executable
        return Signature(
            parameters,
            self.fresh,
            outputs,
            structure,
            made.address,
            made.arena_bytes,
            tuple(array.ctypes.data for array in made.constants),
            made.releases_gil,
            number,
            made,
            arguments=arguments,
        )

    def _mismatch(self, *leaves: Any) -> Any:
        """The native code took none of it: by now that can only be for overlapping memory."""
        written = {k for k, p in enumerate(self.parameters) if getattr(p, "writable", False)}
        for k in sorted(written):
            for j, other in enumerate(leaves):
                if j != k and isinstance(other, np.ndarray):
                    if np.may_share_memory(leaves[k], other):
                        raise OverlapError(
                            f"{self.staged.name} writes into an argument that shares memory with "
                            "another argument",
                            None,
                            "pass a copy of one of them",
                        )
        raise InternalError(f"{self.staged.name}: arguments do not fit their own signature")

    def _raise(self, number: int, status: int) -> None:
        raise self.executable.error(status)


def _finish(
    spec: OutputSpec, made: Output, fresh: Sequence[FreshResult]
) -> Callable[[Any], Any] | None:
    """What Python does to an output: the native entry makes NumPy scalars of all of rank 0."""
    if not (isinstance(spec, Computed) and isinstance(made, FreshOutput)):
        return None
    if spec.weak and not made.python:
        return _number
    if not spec.scalar and not fresh[made.result].shape:
        return np.asarray
    return None


def _number(scalar: Any) -> Any:
    return scalar.item()


def _native_trees(
    structures: Sequence[trees.Structure],
) -> tuple[tuple[Tree, ...] | None, list[int], int]:
    """Structures as the native entry takes them (None: it cannot), where it has each of their
    leaves, and how many leaves it has: None is a leaf there, a static one.
    """
    places: list[int] = []
    count = 0

    def convert(structure: Any) -> Tree | None:
        nonlocal count
        if structure == trees.LEAF:
            places.append(count)
            count += 1
            return Leaf.LEAF
        kind, keys, parts = structure
        if kind is type(None):
            count += 1
            return Leaf.LEAF
        made = tuple([convert(part) for part in parts])
        if kind not in (tuple, list, dict) or None in made:
            return None
        return Container(kind, made, keys or ())  # type: ignore[arg-type]

    made = tuple([convert(structure) for structure in structures])
    return (None if None in made else made), places, count  # type: ignore[return-value]


def _written(
    parameter: ArrayParameter | PythonParameter | ScalarParameter, writable: bool, same: int | None
) -> Parameter:
    if isinstance(parameter, ArrayParameter) and (writable or same is not None):
        return replace(parameter, writable=writable, alias=same)
    return parameter


def _identical(leaf: Any, value: np.generic) -> bool:
    """Equal bits: 0.0 is not -0.0, and NaN is itself."""
    return np.asarray(leaf, value.dtype).tobytes() == value.tobytes()


def _fresh(type_: ArrayType, layout: Layout) -> FreshResult:
    """Memory of this type, seen in the order of axes that the layout tells."""
    if layout is None:
        return FreshResult(type_.dtype, type_.shape)
    strides = [s * type_.dtype.itemsize for s in contiguous(type_.shape)]
    return FreshResult(
        type_.dtype,
        tuple(type_.shape[axis] for axis in layout),
        tuple(strides[axis] for axis in layout),
    )


def _results(
    staged: Staged, executable: Executable
) -> tuple[tuple[FreshResult, ...], tuple[Output, ...]]:
    """The memory that a call allocates, and what it returns for each leaf of the result."""
    plan = executable.plan
    fresh: dict[int, FreshResult] = {}
    for slot, layout in zip(plan.results, executable.layouts, strict=True):
        if slot.place is Place.RESULT:
            fresh[slot.position] = _fresh(slot.type, layout)
    outputs: list[Output] = []
    for output in staged.outputs:
        match output:
            case Computed(position, weak=weak):
                slot = plan.results[position]
                if slot.place is not Place.RESULT:
                    raise InternalError("a computed result is not in fresh memory")
                # Of a weak result of another type (an integer past int64) Python makes the number.
                outputs.append(FreshOutput(slot.position, weak and slot.type.dtype in _NUMBERS))
            case Argument(position):
                outputs.append(ArgumentOutput(position))
            case Static(value):
                outputs.append(ObjectOutput(value))
    return tuple(fresh[k] for k in sorted(fresh)), tuple(outputs)
