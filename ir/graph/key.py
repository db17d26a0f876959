"""The workload key: one name for all groups that are the same kernel.

Two groups have one key if they differ in names, sources and constants' values only. Literals stay
in the key: they are part of the kernel's code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache

import numpy as np

from .nodes import ArrayType, Equation, Group, Literal, Var
from .ops import GraphOp

IR_VERSION = 1
"""Counted up whenever a group of equal text would be lowered differently."""


def workload_key(group: Group, strides: Mapping[Var, tuple[int, ...]] | None = None) -> str:
    """A hash (32 hexadecimal digits) of the group's canonical text.

    `strides` (in elements) of inputs that are not C-contiguous.
    """
    return hashlib.sha256(canonical(group, strides).encode()).hexdigest()[:32]


def canonical(group: Group, strides: Mapping[Var, tuple[int, ...]] | None = None) -> str:
    """The group as text, its variables numbered in order of appearance."""
    strides = strides or {}
    numbers: dict[Var, int] = {}
    lines = [f"ir {IR_VERSION}"]
    for var in group.inputs:
        numbers[var] = len(numbers)
        layout = f" strides {strides[var]}" if var in strides else ""
        lines.append(f"in %{numbers[var]} : {_type(var.type)}{layout}")
    for equation in group.equations:
        lines.append(_equation(equation, numbers))
    lines.append("out " + " ".join(f"%{numbers[v]}" for v in group.outputs))
    lines.extend(f"donated {a} {b}" for a, b in group.donated)
    return "\n".join(lines)


def _equation(equation: Equation, numbers: dict[Var, int]) -> str:
    operands = []
    for atom in equation.inputs:
        if isinstance(atom, Literal):
            operands.append(f"{atom.value.tobytes().hex()} : {_type(atom.type)}")
        else:
            operands.append(f"%{numbers[atom]}")
    for var in equation.outputs:
        numbers[var] = len(numbers)
    results = " ".join(f"%{numbers[v]} : {_type(v.type)}" for v in equation.outputs)
    return f"{results} = {_op(equation.op)}({', '.join(operands)})"


def _op(op: GraphOp) -> str:
    parts = []
    for field in fields(op):
        value = getattr(op, field.name)
        parts.append(f"{field.name}={value.name if isinstance(value, np.dtype) else value}")
    return f"{type(op).__name__}[{', '.join(parts)}]"


@cache
def _name(dtype: np.dtype) -> str:
    return dtype.name  # NumPy works it out anew each time


def _type(type_: ArrayType) -> str:
    return f"{_name(type_.dtype)}[{','.join(map(str, type_.shape))}]"
