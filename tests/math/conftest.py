"""Operations on whole arrays in native code: expanded, emitted and linked as in a kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from loopwright.backends.llvm import emit, host, orc
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.nodes import Buffer, Load, Op, Symbol, Value
from loopwright.ir.flat.nodes import Assign, FlatProgram, Loop, Storage
from loopwright.ir.loop.nodes import LoopKind
from loopwright.ir.lowering.math import expand
from loopwright.ir.target import Target
from loopwright.ir.tensor.nodes import Role

LANES = 8


def flat_program(
    formula: Callable[..., Value],
    dtypes: tuple[np.dtype, ...],
    result: np.dtype,
    chunk: int = 4096,
) -> FlatProgram:
    """out[i] = formula(x0[i], ...) for `chunk` elements, eight at a time."""
    row, lane = Symbol("i"), Symbol("j")
    at = (ix.add(ix.scale(ix.of(row), LANES), ix.of(lane)),)
    inputs = [Buffer(f"x{k}", (chunk,), np.dtype(d)) for k, d in enumerate(dtypes)]
    output = Buffer("out", (chunk,), np.dtype(result))
    (value,) = expand((formula(*(Load(b, at) for b in inputs)),))
    assign = Assign((output,), at, (value,))
    inner = Loop(lane, ((0, LANES),), (assign,), LoopKind.VECTOR)
    outer = Loop(row, ((0, chunk // LANES),), (inner,))
    storages = [Storage(b, k, role=Role.INPUT) for k, b in enumerate(inputs)]
    storages.append(Storage(output, len(inputs), role=Role.OUTPUT))
    return FlatProgram("formula", tuple(storages), (outer,), 0, 0)


def compile_formula(
    formula: Callable[..., Value],
    dtypes: tuple[np.dtype, ...],
    result: np.dtype,
    chunk: int = 4096,
) -> Callable[..., np.ndarray]:
    """formula(*loads) as a function from arrays of those dtypes to an array of `result`."""
    target = Target.host()
    text = emit.emit_kernel(flat_program(formula, dtypes, result, chunk), target)
    library = orc.Library([host.compile_object(text, target)], ["formula"])
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(library["formula"])

    def run(*arrays: np.ndarray) -> np.ndarray:
        size = arrays[0].size
        padded = -(-size // chunk) * chunk
        owned = []
        for array, dtype in zip(arrays, dtypes, strict=True):
            full = np.ones(padded, dtype)
            full[:size] = array
            owned.append(full)
        out = np.empty(padded, result)
        pointers = (ctypes.c_void_p * (len(owned) + 1))()
        for start in range(0, padded, chunk):
            for k, array in enumerate((*owned, out)):
                pointers[k] = array.ctypes.data + start * array.itemsize
            assert call(pointers, None) == 0
        return out[:size]

    run.__dict__["library"] = library  # the code lives as long as the function
    return run


def compile_operation(
    name: str, dtypes: tuple[np.dtype, ...], result: np.dtype, chunk: int = 4096
) -> Callable[..., np.ndarray]:
    """One operation by its graph name."""
    return compile_formula(lambda *x: Op(name, x, np.dtype(result)), dtypes, result, chunk)


@pytest.fixture(scope="session")
def native() -> Callable[..., Callable[..., np.ndarray]]:
    """`compile_operation`."""
    return compile_operation


@pytest.fixture(scope="session")
def native_formula() -> Callable[..., Callable[..., np.ndarray]]:
    """`compile_formula`."""
    return compile_formula


@pytest.fixture(scope="session")
def program() -> Callable[..., FlatProgram]:
    """`flat_program`."""
    return flat_program
