"""Flat programs as text.

program ::= kernel name(buffer, ...) [shared n bytes] [worker n bytes] [storage] ... node ...
storage ::= register buffer | table buffer | scratch buffer at n [per worker]
node    ::= for symbol in low..high, ... [kind] [while index >= 0, ...]: node ... | statement
statement ::= let name = value ... buffer[offset] [combiner]= value [where index >= 0, ...]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..expr.nodes import Index, Scope
from ..expr.printer import print_buffer, print_index, print_together
from ..loop.nodes import LoopKind
from .nodes import Assign, FlatNode, FlatProgram, Loop, Storage


def print_program(program: FlatProgram) -> str:
    """The whole program."""
    parameters = ", ".join(
        f"{s.role.value} {print_buffer(s.buffer)}" for s in program.storages if s.role is not None
    )
    lines = [f"kernel {program.name}({parameters})"]
    for name, size in (("shared", program.shared_bytes), ("worker", program.worker_bytes)):
        if size:
            lines.append(f"  {name} {size} bytes")
    lines += [_storage(s) for s in program.storages if s.role is None]
    lines += _nodes(program.body, 1)
    return "\n".join(lines)


def _storage(storage: Storage) -> str:
    text = f"  {storage.buffer.scope.value} {print_buffer(storage.buffer)}"
    if storage.buffer.scope is Scope.SCRATCH:
        text += f" at {storage.position}" + (" per worker" if storage.per_worker else "")
    return text


def _nodes(nodes: Iterable[FlatNode], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for node in nodes:
        if isinstance(node, Loop):
            yield pad + _loop(node)
            yield from _nodes(node.body, depth + 1)
        else:
            yield from (pad + line for line in _assign(node))


def _loop(loop: Loop) -> str:
    segments = ", ".join(f"{low}..{high}" for low, high in loop.segments)
    kind = "" if loop.kind is LoopKind.SERIAL else f" {loop.kind.value}"
    bounds = f" while {_conditions(loop.tighten)}" if loop.tighten else ""
    return f"for {loop.symbol.name} in {segments}{kind}{bounds}:"


def _conditions(conditions: tuple[Index, ...]) -> str:
    return " and ".join(f"{print_index(c)} >= 0" for c in conditions)


def _assign(node: Assign) -> Iterator[str]:
    text = print_together(node.values, node.offsets)
    for name, value in text.lets:
        yield f"let {name} = {value}"
    combiner = "" if node.combiner is None else node.combiner.name
    sign = {"": "=", "sum": "+="}.get(combiner, f"{combiner}=")
    guard = f" where {_conditions(node.guard)}" if node.guard else ""
    stream = " streamed" if node.stream else ""
    for target, offset, value in zip(node.targets, text.positions, text.values, strict=True):
        yield f"{target.name}[{offset}] {sign} {value}{guard}{stream}"
