"""Rules of loop programs; checked once after scheduling, and in tests after every step."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ..errors import InternalError
from ..expr import index as ix
from ..expr.checker import check_index
from ..expr.nodes import Buffer, FloorDiv, Index, Mod, Symbol
from ..tensor.checker import (
    check_definition,
    check_params,
    reads_itself,
    require_outputs,
    require_written,
)
from ..tensor.nodes import AxisKind
from .nodes import Block, For, LoopKind, LoopProgram, Node

Path = tuple[For, ...]


def check(program: LoopProgram) -> None:
    """Raises InternalError, naming block and loops, where the program breaks a rule.

    Loop names are unique along a path and block names in the program; every axis is bound over
    the loops around its block and stays within its extent under the guard; blocks read what
    earlier blocks wrote; vector loops are innermost but for unrolled ones; parallel loops carry no
    reduction or scan, vector loops no scan and no reduction in exact order.
    """
    written = check_params(program.params)
    names: set[str] = set()
    for block, path in _walk(program.body, ()):
        where = _where(block, path)
        if block.name in names:
            raise InternalError(f"there are two blocks {block.name}", where)
        names.add(block.name)
        _check_path(path, where)
        _check_block(block, path, where)
        _check_kinds(block, path, where)
        own: set[Buffer] = set(block.definition.outputs)
        require_written(
            block.definition, written | (own if reads_itself(block.definition) else set())
        )
        written |= own
    require_outputs(program.params, written)


def _walk(nodes: Sequence[Node], path: Path) -> list[tuple[Block, Path]]:
    """Every block, in order, with the loops around it."""
    found: list[tuple[Block, Path]] = []
    for node in nodes:
        if isinstance(node, Block):
            found.append((node, path))
        elif not node.body:
            raise InternalError(f"loop {node.symbol.name} is empty")
        else:
            found += _walk(node.body, (*path, node))
    return found


def _check_path(path: Path, where: str) -> None:
    names = [loop.symbol.name for loop in path]
    if len(set(names)) != len(names):
        raise InternalError("loops around the block share a name", where)
    if any(loop.extent < 0 for loop in path):
        raise InternalError("a loop has a negative extent", where)
    kinds = [loop.kind for loop in path]
    if LoopKind.VECTOR in kinds:
        inner = kinds[kinds.index(LoopKind.VECTOR) + 1 :]
        if any(kind is not LoopKind.UNROLL for kind in inner):
            raise InternalError("a vector loop is not innermost", where)


def _check_block(block: Block, path: Path, where: str) -> None:
    definition = block.definition
    check_definition(definition)
    if len(block.bindings) != len(definition.axes):
        raise InternalError("axes and bindings differ in number", where)
    known = {loop.symbol for loop in path}
    ranges = {loop.symbol: (0, max(loop.extent - 1, 0)) for loop in path}
    for index in (*block.bindings, *block.guard):
        check_index(index, known, where)
    if any(loop.extent == 0 for loop in path):
        return
    for axis, binding in zip(definition.axes, block.bindings, strict=True):
        last = ix.subtract(ix.constant(axis.extent - 1), binding)
        if not (follows(binding, block.guard, ranges) and follows(last, block.guard, ranges)):
            raise InternalError(
                f"axis {axis.symbol.name} of extent {axis.extent} can leave it", where
            )


def follows(condition: Index, guard: Sequence[Index], ranges: ix.Ranges) -> bool:
    """Whether condition >= 0 can be shown wherever every guard is >= 0."""
    return _highest(ix.scale(condition, -1), guard, ranges) <= 0


def _highest(index: Index, guard: Sequence[Index], ranges: ix.Ranges) -> ix.Bound:
    """An upper bound of an index wherever every guard is >= 0."""
    high: ix.Bound = index.const
    for atom, c in index.terms:
        if c > 0 and isinstance(atom, FloorDiv):
            inner = _highest(atom.operand, guard, ranges)
            high += c * (inner // atom.divisor)
        else:
            high += ix.bounds(ix.scale(ix.of(atom), c), ranges)[1]
    for known in guard:
        # known >= 0, so m * index <= m * index + k * known; m and k make a term vanish
        taken = dict(known.terms)
        for atom, c in index.terms:
            t = taken.get(atom, 0)
            if c * t < 0:
                m, k = abs(t) // gcd(c, t), abs(c) // gcd(c, t)
                total = ix.add(ix.scale(index, m), ix.scale(known, k))
                for form in (total, _without_quotients(total)):
                    high = min(high, ix.bounds(form, ranges)[1] // m)
    return high


def _without_quotients(index: Index) -> Index:
    """The same index with d * (x // d) written as x - x % d."""
    parts: list[Index | int] = [index.const]
    for atom, c in index.terms:
        if isinstance(atom, FloorDiv) and c % atom.divisor == 0:
            rest = ix.subtract(atom.operand, ix.of(Mod(atom.operand, atom.divisor)))
            parts.append(ix.scale(rest, c // atom.divisor))
        else:
            parts.append(Index(0, ((atom, c),)))
    return ix.add(*parts)


def _check_kinds(block: Block, path: Path, where: str) -> None:
    ordered: set[Symbol] = set()  # loops whose turns must be run in order
    reduced: set[Symbol] = set()
    for axis, binding in zip(block.definition.axes, block.bindings, strict=True):
        if axis.kind is AxisKind.SCAN:
            ordered |= ix.symbols(binding)
        elif axis.kind is AxisKind.REDUCE:
            reduced |= ix.symbols(binding)
    exact = block.definition.exact_order
    for loop in path:
        if loop.kind is LoopKind.PARALLEL and loop.symbol in ordered | reduced:
            raise InternalError(f"loop {loop.symbol.name} is parallel but carries a value", where)
        if loop.kind is LoopKind.VECTOR and (
            loop.symbol in ordered or (exact and loop.symbol in reduced)
        ):
            raise InternalError(f"loop {loop.symbol.name} is ordered but vectorised", where)


def _where(block: Block, path: Path) -> str:
    loops = "/".join(loop.symbol.name for loop in path)
    return f"in block {block.name}" + (f" under {loops}" if loops else "")
