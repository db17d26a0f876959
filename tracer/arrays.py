"""The namespace `loopwright.numpy`: NumPy's functions on traced values, and on NumPy arrays.

Inside a traced function they add to the graph; outside they run at once. Names, arguments and
results are NumPy's. What is not here yet is refused by name when traced values reach it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import linalg
from .creation import (
    arange,
    array,
    asarray,
    ascontiguousarray,
    astype,
    broadcast_to,
    copy,
    diagflat,
    empty,
    empty_like,
    eye,
    fromfunction,
    full,
    full_like,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    vander,
    zeros,
    zeros_like,
)
from .grids import c_, mgrid, ogrid, r_
from .joining import (
    append,
    array_split,
    column_stack,
    concat,
    concatenate,
    delete,
    dsplit,
    dstack,
    hsplit,
    hstack,
    insert,
    pad,
    repeat,
    resize,
    roll,
    row_stack,
    split,
    stack,
    tile,
    unstack,
    vsplit,
    vstack,
)
from .linear import (
    convolve,
    corrcoef,
    correlate,
    cov,
    cross,
    dot,
    ediff1d,
    einsum,
    gradient,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    polyval,
    tensordot,
    vdot,
    vecdot,
    vecmat,
)
from .mapping import apply_along_axis, vectorize
from .nanfunctions import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from .queries import (
    fix,
    imag,
    iscomplex,
    iscomplexobj,
    isneginf,
    isposinf,
    isreal,
    isrealobj,
    isscalar,
    ndim,
    real,
    result_type,
    shape,
    size,
)
from .reductions import (
    all,
    allclose,
    amax,
    amin,
    any,
    argmax,
    argmin,
    array_equal,
    average,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    diff,
    isclose,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    trace,
    trapezoid,
    var,
)
from .scalars import SCALARS
from .selection import (
    choose,
    clip,
    compress,
    copyto,
    extract,
    flatnonzero,
    nan_to_num,
    nonzero,
    piecewise,
    place,
    put,
    put_along_axis,
    putmask,
    ravel_multi_index,
    round,
    sinc,
    take,
    take_along_axis,
    unravel_index,
    where,
)
from .selection import select_from as select
from .shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    diag,
    diag_indices_from,
    diagonal,
    expand_dims,
    fill_diagonal,
    flip,
    fliplr,
    flipud,
    ix_,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    rot90,
    squeeze,
    swapaxes,
    transpose,
    tril_indices_from,
    triu_indices_from,
)
from .sorting import (
    argpartition,
    argsort,
    bincount,
    digitize,
    histogram,
    interp,
    isin,
    lexsort,
    median,
    partition,
    percentile,
    quantile,
    searchsorted,
    sort,
)
from .ufuncs import UFUNCS
from .windows import sliding_window_view

__all__ = [
    "all", "allclose", "amax", "amin", "any", "append", "apply_along_axis", "arange", "argmax",
    "argmin", "argpartition", "argsort", "around", "array", "array_equal", "array_split",
    "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "astype", "atleast_1d",
    "atleast_2d", "atleast_3d", "average", "bincount", "broadcast_arrays", "broadcast_to", "c_",
    "choose", "clip", "column_stack", "compress", "concat", "concatenate", "convolve", "copy",
    "copyto", "corrcoef", "correlate", "count_nonzero", "cov", "cross", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "delete", "diag", "diag_indices_from", "diagflat",
    "diagonal", "diff", "digitize", "dot", "dsplit", "dstack", "e", "ediff1d", "einsum",
    "empty", "empty_like", "euler_gamma", "expand_dims", "extract", "eye", "fill_diagonal",
    "fix", "flatnonzero", "flip", "fliplr", "flipud", "fromfunction", "full", "full_like",
    "gradient", "histogram", "hsplit", "hstack", "identity", "imag", "indices", "inf", "inner",
    "insert", "interp", "isclose", "iscomplex", "iscomplexobj", "isin", "isneginf", "isposinf",
    "isreal", "isrealobj", "isscalar", "ix_", "kron", "lexsort", "linalg", "linspace",
    "logspace", "matmul", "matrix_transpose", "matvec", "max", "mean", "median", "meshgrid",
    "mgrid", "min", "moveaxis", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "ndim",
    "newaxis", "nonzero", "ogrid", "ones", "ones_like", "outer", "pad", "partition",
    "percentile", "permute_dims", "pi", "piecewise", "place", "polyval", "prod", "product",
    "ptp", "put", "put_along_axis", "putmask", "quantile", "r_", "ravel", "ravel_multi_index",
    "real", "repeat", "reshape", "resize", "result_type", "roll", "rollaxis", "rot90", "round",
    "row_stack", "searchsorted", "select", "shape", "sinc", "size", "sliding_window_view",
    "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes", "take", "take_along_axis",
    "tensordot", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "tril_indices_from",
    "triu", "triu_indices_from", "unravel_index", "unstack", "vander", "var", "vdot", "vecdot",
    "vecmat", "vectorize", "vsplit", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip

asanyarray = asarray
asfortranarray = asarray
around = round
product = prod
newaxis = None
pi, e, inf, nan, euler_gamma = np.pi, np.e, np.inf, np.nan, np.euler_gamma

globals().update(UFUNCS)
globals().update(SCALARS)


def __getattr__(name: str) -> Any:
    """What NumPy has beside functions of arrays: dtypes, limits, error states."""
    if name in _PASSED_ON:
        return getattr(np, name)
    raise AttributeError(f"module 'loopwright.numpy' has no attribute {name!r}")


_PASSED_ON = frozenset((
    "broadcast_shapes", "can_cast", "dtype", "errstate", "finfo", "floating", "generic",
    "geterr", "iinfo", "inexact", "integer", "isdtype", "issubdtype", "ndarray",
    "number", "promote_types", "s_", "seterr", "signedinteger", "unsignedinteger",
))  # fmt: skip
