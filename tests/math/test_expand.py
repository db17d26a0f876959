"""What `expand` makes: core operations only, sharing kept, no calls into a C library."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from loopwright.backends.llvm import emit, host
from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.elementwise import COMPARISONS, TESTS
from loopwright.ir.expr.nodes import Buffer, Const, FromIndex, Load, Op, Symbol
from loopwright.ir.expr.values import const, postorder
from loopwright.ir.graph.ops import BINARY, UNARY
from loopwright.ir.lowering.math import CORE, expand
from loopwright.ir.target import Target

Native = Callable[..., Callable[..., np.ndarray]]

FLOAT32 = dtypes.FLOAT32
NOT_ON_FLOATS = ("not", "and", "or", "xor", "shift_left", "shift_right")
FLOAT_NAMES = [n for n in (*UNARY, *BINARY) if n not in NOT_ON_FLOATS]


def operand(dtype: np.dtype = FLOAT32, name: str = "x") -> Load:
    return Load(Buffer(name, (8,), dtype), (ix.of(Symbol("i")),))


def operation(name: str, dtype: np.dtype) -> Op:
    args = (operand(dtype),) if name in UNARY else (operand(dtype), operand(dtype, "y"))
    return Op(name, args, dtypes.BOOL if name in (*COMPARISONS, *TESTS) else dtype)


@pytest.mark.parametrize("dtype", dtypes.FLOATS, ids=str)
def test_floats_become_core_operations(dtype: np.dtype) -> None:
    for name in FLOAT_NAMES:
        for value in postorder(expand([operation(name, dtype)])):
            assert not isinstance(value, Op) or value.name in CORE, name
            if isinstance(value, Op) and value.name not in ("bitcast", "cast", "select"):
                assert value.args[0].dtype not in (dtypes.FLOAT16, dtypes.BFLOAT16), name


def test_core_operations_are_kept_as_they_are() -> None:
    x = operand()
    value = Op("add", (Op("sqrt", (x,), FLOAT32), x), FLOAT32)
    assert expand([value])[0] is value


def test_shared_values_stay_shared() -> None:
    exp = Op("exp", (operand(),), FLOAT32)
    once = len(postorder(expand([exp])))
    first, second = expand([Op("add", (exp, exp), FLOAT32), exp])
    assert first.args[0] is first.args[1] is second
    assert len(postorder([first, second])) == once + 1


def test_sixty_doublings_and_long_chains_are_linear() -> None:
    value = operand()
    for _ in range(60):
        value = Op("add", (value, value), FLOAT32)
    assert len(postorder(expand([value]))) == 61
    value = operand()
    for _ in range(20_000):
        value = Op("square", (value,), FLOAT32)
    assert len(postorder(expand([value]))) == 20_001


def test_small_literal_powers_are_products() -> None:
    for exponent, operations in ((2, 1), (3, 2), (4, 2), (1, 0), (-1, 1)):
        power = Op("pow", (operand(), const(exponent, FLOAT32)), FLOAT32)
        found = [v for v in postorder(expand([power])) if isinstance(v, Op)]
        assert len(found) == operations
    (zeroth,) = expand([Op("pow", (operand(), const(0, FLOAT32)), FLOAT32)])
    assert isinstance(zeroth, Const)
    assert zeroth.value == 1


def test_half_powers_are_square_roots_with_the_values_of_pow(native_formula: Native) -> None:
    half = const(0.5, FLOAT32)
    run = native_formula(lambda v: Op("pow", (v, half), FLOAT32), (FLOAT32,), FLOAT32)
    got = run(np.array([4, 2, -0.0, -np.inf, np.inf, -1, np.nan], np.float32))
    want = np.array([2, np.sqrt(2), 0.0, np.inf, np.inf, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(got, want)
    assert not np.signbit(got[2])


def test_indices_as_16_bit_floats_are_rounded_from_integers(native_formula: Native) -> None:
    index = ix.constant(257)
    for dtype, want in ((dtypes.FLOAT16, 257.0), (dtypes.BFLOAT16, 256.0)):
        run = native_formula(lambda v, d=dtype: FromIndex(index, d), (FLOAT32,), dtype)
        assert float(run(np.zeros(1, np.float32))[0]) == want


def test_an_operation_without_a_formula_is_a_fault_of_the_compiler() -> None:
    with pytest.raises(InternalError, match="nonsense"):
        expand([Op("nonsense", (operand(),), FLOAT32)])
    with pytest.raises(InternalError, match="exp"):
        expand([Op("exp", (operand(dtypes.INT32),), dtypes.INT32)])


@pytest.mark.parametrize("cpu", ["znver3", "znver4"])
@pytest.mark.parametrize("dtype", dtypes.FLOATS, ids=str)
def test_vectors_are_computed_without_calls(
    program: Callable[..., object], dtype: np.dtype, cpu: str
) -> None:
    target = Target(triple="x86_64-unknown-linux-gnu", cpu=cpu)
    for name in FLOAT_NAMES:
        result = dtypes.BOOL if name in (*COMPARISONS, *TESTS) else dtype
        count = 1 if name in UNARY else 2
        flat = program(lambda *x, n=name, r=result: Op(n, x, r), (dtype,) * count, result)
        text = host.assembly(emit.emit_kernel(flat, target), target)
        called = re.findall(r"call\w*\s+(\S+)", text)
        assert all(c.startswith((".Lformula", "formula")) for c in called), (name, called)
