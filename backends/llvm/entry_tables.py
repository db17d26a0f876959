"""Signatures laid out as the tables that the native entry reads."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .entry_text import (
    ARGUMENT,
    ARRAY,
    AS_BOOL,
    AS_FLOAT,
    AS_INT,
    BOOL,
    CHAIN,
    CONSTANT,
    DICT,
    FLOAT,
    FRESH,
    INT,
    LEAF,
    LIST,
    OBJECT,
    SCALAR,
    TUPLE,
)
from .signature import (
    ArgumentOutput,
    ArrayParameter,
    Container,
    FreshOutput,
    FreshResult,
    ObjectOutput,
    Output,
    Parameter,
    PythonParameter,
    ScalarParameter,
    Signature,
    StaticParameter,
    Tree,
)

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_NUMBERS = {"f": AS_FLOAT, "i": AS_INT, "b": AS_BOOL}
_CONTAINERS: dict[type, int] = {tuple: TUPLE, list: LIST, dict: DICT}
_PYTHON_KINDS: dict[type, int] = {float: FLOAT, int: INT, bool: BOOL}

_word, _address, _half = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32


class EntryTable(ctypes.Structure):
    """`%Entry`: what native code knows of one function."""

    _fields_ = (
        ("count", _word),
        ("chain", _word * CHAIN),
        ("room", _word),
        ("parameters", _word),
        ("nameless", _word),
        ("positional", _word),
        ("names", _address),
        ("defaults", _address),
        ("slow", _address),
        ("raiser", _address),
        ("leaf_room", _word),
    )


class _SignatureTable(ctypes.Structure):
    _fields_ = (
        ("owner", _address),
        ("plan", _address),
        ("arena_bytes", _word),
        ("number", _word),
        ("parameters", _address),
        ("passed", _word),
        ("overlap_count", _word),
        ("overlaps", _address),
        ("fresh_count", _word),
        ("fresh", _address),
        ("constant_count", _word),
        ("constants", _address),
        ("result", _address),
        ("outputs", _address),
        ("release_gil", _word),
        ("leaf_count", _word),
        ("arguments", _address),
    )


class _ParameterTable(ctypes.Structure):
    _fields_ = (
        ("kind", _half),
        ("dtype_number", _half),
        ("object", _address),
        ("dims", _address),
        ("strides", _address),
        ("rank", _half),
        ("flags", _half),
        ("alias", _word),
        ("dtype_size", _word),
        ("dtype_kind", _word),
    )


class _NodeTable(ctypes.Structure):
    _fields_ = (("kind", _word), ("count", _word), ("keys", _address))


class _OverlapTable(ctypes.Structure):
    _fields_ = tuple((name, _word) for name in ("a", "a_low", "a_high", "b", "b_low", "b_high"))


class _FreshTable(ctypes.Structure):
    _fields_ = (
        ("bytes", _word),
        ("dtype", _address),
        ("dims", _address),
        ("rank", _half),
        ("scalar", _half),
        ("strides", _address),
    )


class _OutputTable(ctypes.Structure):
    _fields_ = (("kind", _word), ("number", _word), ("object", _address))


class NativeSignature:
    """The tables of one signature; alive as long as a call may read them.

    `address` is that of the first table, `room` how many addresses its plan takes.
    """

    def __init__(self, signature: Signature):
        self.signature = signature
        self._held: list[Any] = []
        parameters = signature.parameters
        passed = [n for n, p in enumerate(parameters) if not isinstance(p, StaticParameter)]
        leaf = {number: position for position, number in enumerate(passed)}
        overlaps = _overlaps(parameters, leaf) if signature.check_overlap else []
        self.room = len(passed) + len(signature.fresh) + len(signature.constants)
        self._table = _SignatureTable(
            owner=id(self),
            plan=signature.plan,
            arena_bytes=signature.arena_bytes,
            number=signature.number,
            parameters=self._array(_ParameterTable, [self._parameter(p, leaf) for p in parameters]),
            passed=len(passed),
            overlap_count=len(overlaps),
            overlaps=self._array(_OverlapTable, overlaps),
            fresh_count=len(signature.fresh),
            fresh=self._array(_FreshTable, [self._fresh(result) for result in signature.fresh]),
            constant_count=len(signature.constants),
            constants=self._array(_word, signature.constants),
            result=self._array(_NodeTable, self._nodes((signature.result,))),
            outputs=self._array(
                _OutputTable, [_output(output, signature.fresh) for output in signature.outputs]
            ),
            release_gil=signature.release_gil,
            leaf_count=len(parameters),
            arguments=(
                None
                if signature.arguments is None
                else self._array(_NodeTable, self._nodes(signature.arguments))
            ),
        )
        self.address = ctypes.addressof(self._table)

    def _array(self, kind: Any, items: Sequence[Any]) -> int:
        array = (kind * max(len(items), 1))(*items)
        self._held.append(array)
        return ctypes.addressof(array)

    def _nodes(self, trees: tuple[Tree, ...]) -> list[_NodeTable]:
        """Each tree's nodes, a container before its parts."""
        made: list[_NodeTable] = []
        for tree in trees:
            if isinstance(tree, Container):
                keys = self._array(_word, [id(key) for key in tree.keys])
                made.append(_NodeTable(_CONTAINERS[tree.type], len(tree.parts), keys))
                made += self._nodes(tree.parts)
            else:
                made.append(_NodeTable(LEAF, 0, None))
        return made

    def _dtype(self, dtype: np.dtype) -> int:
        one = np.dtype(dtype.type)  # the one that almost every array has
        self._held.append(one)
        return id(one)

    def _parameter(self, parameter: Parameter, leaf: dict[int, int]) -> _ParameterTable:
        match parameter:
            case ArrayParameter(dtype, shape, strides, writable, alias):
                contiguous = strides is None or not all(shape)
                flags = _ALIGNED | (_C_CONTIGUOUS if contiguous else 0)
                return _ParameterTable(
                    kind=ARRAY,
                    dtype_number=dtype.num,
                    object=self._dtype(dtype),
                    dims=self._array(_word, shape),
                    strides=None if contiguous else self._array(_word, strides or ()),
                    rank=len(shape),
                    flags=flags | (_WRITEABLE if writable else 0),
                    alias=-1 if alias is None else leaf[alias],
                    dtype_size=dtype.itemsize,
                    dtype_kind=ord(dtype.kind),
                )
            case PythonParameter(kind):
                return _ParameterTable(kind=_PYTHON_KINDS[kind])
            case ScalarParameter(dtype):
                return _ParameterTable(kind=SCALAR, object=id(dtype.type))
            case StaticParameter(value):
                return _ParameterTable(kind=OBJECT, object=id(value))

    def _fresh(self, result: FreshResult) -> _FreshTable:
        elements = 1
        for extent in result.shape:
            elements *= extent
        return _FreshTable(
            bytes=elements * result.dtype.itemsize,
            dtype=self._dtype(result.dtype),
            dims=self._array(_word, result.shape),
            rank=len(result.shape),
            scalar=not result.shape,
            strides=None if result.strides is None else self._array(_word, result.strides),
        )


def _output(output: Output, fresh: tuple[FreshResult, ...]) -> _OutputTable:
    match output:
        case FreshOutput(result, python=True):
            return _OutputTable(_NUMBERS[fresh[result].dtype.kind], result, None)
        case FreshOutput(result):
            return _OutputTable(FRESH, result, None)
        case ArgumentOutput(parameter):
            return _OutputTable(ARGUMENT, parameter, None)
        case ObjectOutput(value):
            return _OutputTable(CONSTANT, 0, id(value))


def _extent(parameter: ArrayParameter) -> tuple[int, int]:
    """First and past-the-end byte of an array, from the address of its first element."""
    strides = parameter.strides
    if strides is None:
        size = parameter.dtype.itemsize
        for extent in parameter.shape:
            size *= extent
        return 0, size
    reach = [(n - 1) * step for n, step in zip(parameter.shape, strides, strict=True)]
    low = sum(step for step in reach if step < 0)
    return low, sum(step for step in reach if step > 0) + parameter.dtype.itemsize


def _overlaps(parameters: tuple[Parameter, ...], leaf: dict[int, int]) -> list[_OverlapTable]:
    """The pairs of array parameters that must not overlap: at least one of them is written."""
    arrays = [
        (number, parameter)
        for number, parameter in enumerate(parameters)
        if isinstance(parameter, ArrayParameter)
        and parameter.alias is None
        and all(parameter.shape)
    ]
    return [
        _OverlapTable(leaf[i], *_extent(a), leaf[j], *_extent(b))
        for (i, a), (j, b) in itertools.combinations(arrays, 2)
        if a.writable or b.writable
    ]
