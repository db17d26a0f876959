"""Level 4, the flat program: what emitters read.

    program ::= name { storage ... node ... }
    node    ::= loop symbol in segments [kind]: node ... | assign
    assign  ::= buffer[offset] = value [where index >= 0, ...]
              | buffer[offset] = combine(buffer[offset], value) [where ...]

Buffers are flat now (rank 1, one index per access); layouts are applied, reductions have explicit
initialisation, storage is placed and sized. Unrolled loops, lanes and loop segments stay
symbolic: an emitter (and the interpreter) evaluates them as it walks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..expr.nodes import Buffer, Combiner, Index, Symbol, Value
from ..loop.nodes import LoopKind
from ..source import Source
from ..tensor.nodes import Role


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Storage:
    """Where a flat buffer (rank 1) lives.

    GLOBAL: parameter number `position`. SCRATCH: `position` is a byte offset, into the shared
    scratch of the kernel or, with `per_worker`, into that of each worker. REGISTER: SSA values
    (vectors where the lane moves by one element). TABLE: constants.
    """

    buffer: Buffer
    position: int = 0
    per_worker: bool = False
    role: Role | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loop:
    """Runs `body` for each symbol value in `segments` ([low, high) each, in order).

    `tighten`: conditions (each >= 0) common to the body that hold for an interval of `symbol`
    (its coefficient is not zero and other symbols are outside); emitted as bounds.
    """

    symbol: Symbol
    segments: tuple[tuple[int, int], ...]
    body: tuple[FlatNode, ...]
    kind: LoopKind = LoopKind.SERIAL
    tighten: tuple[Index, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assign:
    """Writes `values[k]` (combined with what is there, given a combiner) to `targets[k][offset_k]`.

    `guard`: done only where every condition is >= 0. `contract`: multiply-add may be fused and a
    lane reduction may be made in any order. `stream`: stores should go past the caches.
    """

    targets: tuple[Buffer, ...]
    offsets: tuple[Index, ...]
    values: tuple[Value, ...]
    combiner: Combiner | None = None
    guard: tuple[Index, ...] = ()
    contract: bool = False
    source: Source | None = None
    stream: bool = False


FlatNode: TypeAlias = Loop | Assign


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlatProgram:
    """A kernel ready for emission. Scratch sizes in bytes."""

    name: str
    storages: tuple[Storage, ...]
    body: tuple[FlatNode, ...]
    shared_bytes: int
    worker_bytes: int
