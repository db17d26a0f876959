"""Rules of tensor programs; every pass that makes one is followed by `check`."""

from __future__ import annotations

from ..errors import InternalError
from ..expr import index as ix
from ..expr.checker import check_combiner, check_index, check_values
from ..expr.nodes import Buffer, Guarded, Index, Load, Scope, Symbol
from ..expr.values import loads, postorder
from .nodes import AxisKind, Definition, Param, Role, TensorProgram


def check(program: TensorProgram) -> None:
    """Raises InternalError, naming the definition, where the program breaks a rule.

    Names are unique; types, ranks and symbols fit; what is read is an input or was defined
    before; every output is defined, and no array by two definitions that are no updates.
    """
    written = check_params(program.params)
    owners: dict[Buffer, str] = {}
    names: set[str] = set()
    for definition in program.definitions:
        where = f"in definition {definition.name}"
        if definition.name in names:
            raise InternalError(f"there are two definitions {definition.name}", where)
        names.add(definition.name)
        check_definition(definition)
        own = set(definition.outputs) if reads_itself(definition) else set()
        require_written(definition, written | own)
        for buffer in definition.outputs:
            if not definition.update and owners.setdefault(buffer, definition.name) != (
                definition.name
            ):
                raise InternalError(f"{buffer.name} is defined by {owners[buffer]} already", where)
            written.add(buffer)
    require_outputs(program.params, written)


def check_params(params: tuple[Param, ...]) -> set[Buffer]:
    """The buffers that hold something on entry; raises where parameters clash."""
    names = [p.buffer.name for p in params]
    for name in names:
        if names.count(name) > 1:
            raise InternalError(f"there are two parameters {name}")
    for param in params:
        buffer = param.buffer
        if buffer.scope is not Scope.GLOBAL:
            raise InternalError(f"parameter {buffer.name} is in {buffer.scope.value} memory")
        if buffer.strides is not None and len(buffer.strides) != len(buffer.shape):
            raise InternalError(f"parameter {buffer.name} has strides of another rank")
    return {p.buffer for p in params if p.role is not Role.OUTPUT}


def require_outputs(params: tuple[Param, ...], written: set[Buffer]) -> None:
    """Raises where an output that has elements is never written."""
    for param in params:
        empty = 0 in param.buffer.shape
        if param.role is Role.OUTPUT and not empty and param.buffer not in written:
            raise InternalError(f"output {param.buffer.name} is never written")


def require_written(definition: Definition, written: set[Buffer]) -> None:
    """Raises where a definition reads a buffer that nothing has written."""
    places = (*definition.index, *definition.domain)
    inside = [d.value for i in places for d in ix.dynamics(i)]
    for load in loads((*definition.values, *inside)):
        if load.buffer not in written and load.buffer.scope is not Scope.TABLE:
            raise InternalError(
                f"{load.buffer.name} is read before it is written",
                f"in definition {definition.name}",
            )


def reads_itself(definition: Definition) -> bool:
    """Whether a definition may read its own output: a scan, at earlier positions."""
    return any(a.kind is AxisKind.SCAN for a in definition.axes)


def check_definition(definition: Definition) -> None:
    """Raises InternalError where a definition breaks a rule by itself."""
    where = f"in definition {definition.name}"
    symbols = [a.symbol for a in definition.axes]
    names = [s.name for s in symbols]
    if len(set(names)) != len(names):
        raise InternalError(f"axes share a name: {', '.join(names)}", where)
    if any(a.extent < 0 for a in definition.axes):
        raise InternalError("an axis has a negative extent", where)
    _check_outputs(definition, where)
    _check_reduction(definition, where)
    for index in (*definition.index, *definition.domain):
        check_index(index, symbols, where)
    inside = [d.value for i in (*definition.index, *definition.domain) for d in ix.dynamics(i)]
    check_values((*definition.values, *inside), symbols, (), where)
    _check_bounds(definition, where)


def _check_outputs(definition: Definition, where: str) -> None:
    if not definition.outputs or len(definition.outputs) != len(definition.values):
        raise InternalError("outputs and values differ in number", where)
    for buffer, value in zip(definition.outputs, definition.values, strict=True):
        if buffer.dtype != value.dtype:
            raise InternalError(f"{buffer.name}: {buffer.dtype} is given a {value.dtype}", where)
        if len(buffer.shape) != len(definition.index):
            raise InternalError(
                f"{buffer.name} of rank {len(buffer.shape)} is written with "
                f"{len(definition.index)} indices",
                where,
            )
        if buffer.shape != definition.outputs[0].shape:
            raise InternalError("outputs of one definition differ in shape", where)


def _check_reduction(definition: Definition, where: str) -> None:
    combiner = definition.combiner
    reduces = any(a.kind is AxisKind.REDUCE for a in definition.axes)
    if combiner is None:
        if reduces:
            raise InternalError("a reduce axis without a combiner", where)
        return
    if not reduces and not definition.update:
        raise InternalError(f"{combiner.name} without a reduce axis", where)
    check_combiner(combiner, where)
    if [c.dtype for c in combiner.identity] != [b.dtype for b in definition.outputs]:
        raise InternalError(f"{combiner.name} is of another type than its outputs", where)


def _check_bounds(definition: Definition, where: str) -> None:
    """Raises where an index is certainly outside: intervals that do not meet the axis."""
    if any(a.extent == 0 for a in definition.axes):
        return
    ranges = {a.symbol: (0, a.extent - 1) for a in definition.axes}
    if not definition.domain:
        for axis, extent in zip(definition.index, definition.outputs[0].shape, strict=True):
            _meets(definition.outputs[0], axis, extent, ranges, where)
    guarded = any(isinstance(v, Guarded) for v in postorder(definition.values))
    if guarded or definition.domain:
        return
    for load in loads(definition.values):
        _check_load(load, ranges, where)


def _check_load(load: Load, ranges: dict[Symbol, tuple[int, int]], where: str) -> None:
    for axis, extent in zip(load.index, load.buffer.shape, strict=True):
        _meets(load.buffer, axis, extent, ranges, where)


def _meets(buffer: Buffer, index: Index, extent: int, ranges: ix.Ranges, where: str) -> None:
    low, high = ix.bounds(index, ranges)
    if high < 0 or low >= extent:
        raise InternalError(f"an index of {buffer.name} lies outside its axis of {extent}", where)
