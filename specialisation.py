"""One compiled signature of a function: traced, compiled, and ready for its entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .backends.llvm import entry
from .backends.llvm.signature import (
    ArgumentOutput,
    ArrayParameter,
    FreshOutput,
    FreshResult,
    ObjectOutput,
    Output,
    Parameter,
    PythonParameter,
    ScalarParameter,
    Signature,
    StaticParameter,
    Structure,
)
from .compiler import Executable, Options, compile_glue, compile_graph
from .ir.errors import InternalError, OverlapError
from .ir.plan.nodes import Place
from .tracer.staging import Argument, ArraySpec, Computed, Staged, Static
from .tracer.trees import LEAF

_FLAT = {tuple: Structure.TUPLE, list: Structure.LIST}


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
        self.executable = compile_graph(staged.graph, staged.written, strides, options, donated)
        written = {k for k, _ in staged.written}
        self.parameters: tuple[Parameter, ...] = tuple(
            _written(d.parameter, k in written, same.get(k)) for k, d in enumerate(self.dynamics)
        )
        self.fresh, self.outputs = _results(staged, self.executable)
        self.weak = tuple(isinstance(o, Computed) and o.weak for o in staged.outputs)
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
        if any(self.weak):
            found = [x.item() if weak else x for x, weak in zip(found, self.weak, strict=True)]
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

    def direct(self, values: Sequence[Any], places: Sequence[int], number: int) -> Signature | None:
        """The signature for calls whose parameters are exactly `values`, leaf k being `places[k]`.

        None if Python must help: where results are nested or Python numbers, or where the trace
        relies on the values of numbers.
        """
        structure = self._structure()
        if structure is None or self.guards or any(self.weak):
            return None
        parameters: list[Parameter] = [StaticParameter(value) for value in values]
        places = [places[d.leaf] for d in self.dynamics]
        for place, parameter in zip(places, self.parameters, strict=True):
            if isinstance(parameter, ArrayParameter) and parameter.alias is not None:
                parameter = replace(parameter, alias=places[parameter.alias])
            parameters[place] = parameter
        outputs = tuple(
            ArgumentOutput(places[o.parameter]) if isinstance(o, ArgumentOutput) else o
            for o in self.outputs
        )
        return self._signature(tuple(parameters), outputs, structure, number)

    def _structure(self) -> Structure | None:
        tree = self.staged.out_tree
        if tree == LEAF:
            return Structure.SINGLE
        assert isinstance(tree, tuple)
        kind, _, parts = tree
        return _FLAT.get(kind) if all(part == LEAF for part in parts) else None

    def _signature(
        self,
        parameters: tuple[Parameter, ...],
        outputs: tuple[Output, ...],
        structure: Structure,
        number: int = 0,
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


def _written(
    parameter: ArrayParameter | PythonParameter | ScalarParameter, writable: bool, same: int | None
) -> Parameter:
    if isinstance(parameter, ArrayParameter) and (writable or same is not None):
        return replace(parameter, writable=writable, alias=same)
    return parameter


def _identical(leaf: Any, value: np.generic) -> bool:
    """Equal bits: 0.0 is not -0.0, and NaN is itself."""
    return np.asarray(leaf, value.dtype).tobytes() == value.tobytes()


def _results(
    staged: Staged, executable: Executable
) -> tuple[tuple[FreshResult, ...], tuple[Output, ...]]:
    """The memory that a call allocates, and what it returns for each leaf of the result."""
    plan = executable.plan
    fresh: dict[int, FreshResult] = {}
    for slot in plan.results:
        if slot.place is Place.RESULT:
            fresh[slot.position] = FreshResult(slot.type.dtype, slot.type.shape)
    outputs: list[Output] = []
    for output in staged.outputs:
        match output:
            case Computed(position):
                slot = plan.results[position]
                if slot.place is not Place.RESULT:
                    raise InternalError("a computed result is not in fresh memory")
                outputs.append(FreshOutput(slot.position))
            case Argument(position):
                outputs.append(ArgumentOutput(position))
            case Static(value):
                outputs.append(ObjectOutput(value))
    return tuple(fresh[k] for k in sorted(fresh)), tuple(outputs)
