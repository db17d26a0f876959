"""Every array function gives NumPy's values, shapes and dtypes: traced, and outside of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright.tracer.arrays as lnp
from loopwright.tracer.trees import flatten

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(3, 4))
V = RNG.normal(size=7)
S = np.sort(RNG.normal(size=6))
F = RNG.normal(size=(2, 3, 4)).astype(np.float32)
I = RNG.integers(-9, 9, (3, 4))  # noqa: E741
U = RNG.integers(0, 200, (3, 4)).astype(np.uint8)
K = RNG.integers(0, 3, 5)
M = RNG.random((3, 4)) < 0.5
N = np.where(RNG.random((4, 5)) < 0.3, np.nan, RNG.normal(size=(4, 5)))
Q = RNG.normal(size=(4, 4))

CASES: dict[str, tuple[Any, ...]] = {
    # creation
    "array": (lambda xp, x: xp.array([x[0], x[1], [1, 2, 3, 4]]), A),
    "array of scalars": (lambda xp, x: xp.array([x[0, 0], 1, 0.5]), A.astype(np.float32)),
    "array ndmin": (lambda xp, x: xp.array(x, dtype=np.float32, ndmin=4), A),
    "zeros ones full": (lambda xp, x: xp.zeros(3) + xp.ones((3, 1), int) + xp.full(3, x[0, 0]), A),
    "likes": (
        lambda xp, x: (xp.zeros_like(x), xp.ones_like(x, dtype=int), xp.full_like(x, 7.9)), I),
    "arange": (lambda xp, x: (xp.arange(5), xp.arange(2, 9, 3), xp.arange(0, 1, 0.1) + x[0, 0]), A),
    "arange down": (lambda xp: (xp.arange(5, 0, -2), xp.arange(1, 2, 0.25, dtype=np.float32)),),
    "linspace": (lambda xp: (xp.linspace(0, 1, 7), xp.linspace(1, 2, 5, endpoint=False)),),
    "linspace traced": (lambda xp, x: xp.linspace(x[0], x[1], 5), A),
    "linspace step": (lambda xp: xp.linspace(3, 8, 4, retstep=True),),
    "logspace": (lambda xp: xp.logspace(0, 2, 5),),
    "eye": (lambda xp: (xp.eye(3), xp.eye(2, 4, 1), xp.eye(4, k=-1, dtype=int), xp.identity(2)),),
    "tri": (lambda xp, x: (xp.tri(3, 4, 1), xp.tril(x), xp.triu(x, 1), xp.tril(x[0])), A),
    "diag": (lambda xp, x: (xp.diag(x), xp.diag(x[0]), xp.diag(x[0], -2), xp.diagflat(x, 1)), A),
    "meshgrid": (lambda xp, x: xp.meshgrid(x[0], x[:, 0]), A),
    "meshgrid ij": (lambda xp, x: xp.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True), A),
    "indices": (lambda xp: xp.indices((2, 3)),),
    "mgrid": (lambda xp: (xp.mgrid[0:3, 1:5], xp.ogrid[0:2, 0:3]),),
    "fromfunction": (lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3)),),
    "vander": (lambda xp, x: (xp.vander(x, 3), xp.vander(x, 3, increasing=True)), V),
    "r_ c_": (lambda xp, x: (xp.r_[x, 0, 1:4], xp.c_[x, x]), V),
    # elementwise
    "clip": (lambda xp, x: (xp.clip(x, -0.5, 0.5), xp.clip(x, None, 0), x.clip(0)), A),
    "clip integers": (lambda xp, x: (xp.clip(x, 0, 300), xp.clip(x, -5, 100)), U),
    "round": (lambda xp, x: (xp.round(x * 10), xp.round(x, 2), x.round(1), xp.around(x, -1)), A),
    "where": (lambda xp, m, x, y: (xp.where(m, x, y), xp.where(m, x, 0), xp.where(x > 0, 1, 2)),
              M, A, B),
    "where narrow": (lambda xp, m, x: xp.where(m, x, 0.5), M, A.astype(np.float32)),
    "select": (lambda xp, x: xp.select([x > 1, x > 0], [x * 2, -x], 9), A),
    "piecewise": (lambda xp, x: xp.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 2, 5]), A),
    "choose": (lambda xp, k: xp.choose(k, [[1, 2, 3, 4, 5], [10, 20, 30, 40, 50], 7]), K),
    "nan_to_num": (lambda xp, x: (xp.nan_to_num(x), xp.nan_to_num(x / 0, posinf=5)), N),
    "isclose": (lambda xp, x, y: (xp.isclose(x, x + 1e-9), xp.allclose(x, y)), A, B),
    "array_equal": (lambda xp, x, y: (xp.array_equal(x, y), xp.array_equal(x, x)), A, B),
    "logical": (lambda xp, x, m: (xp.logical_and(x, m), xp.logical_not(x), xp.logical_xor(x, m)),
                I, M),
    "divmod": (lambda xp, x: (*xp.divmod(x, 3), *divmod(x, -4), *xp.modf(x / 2)), I),
    "heaviside sinc": (lambda xp, x: (xp.heaviside(x, 0.5), xp.sinc(x)), A),
    "logaddexp": (lambda xp, x, y: (xp.logaddexp(x, y), xp.logaddexp2(x, y)), A, B),
    "degrees": (lambda xp, x: (xp.degrees(x), xp.radians(x), xp.deg2rad(x)), F),
    "power": (lambda xp, x: (x**2, x**3, abs(x) ** 0.5, x**-1, 2**x, xp.power(x, 2)), A),
    "integer power": (lambda xp, x: (x**2, x**3, x**0, xp.power(x, 2), x**2.0), I),
    # reductions
    "sum": (lambda xp, x: (xp.sum(x), x.sum(0), x.sum((0, 2)), xp.sum(x, -1, keepdims=True)), F),
    "sum widens": (lambda xp, x: (xp.sum(x), x.prod(axis=1), x.cumsum(0), x.sum(dtype=int)), U),
    "sum of booleans": (lambda xp, m: (m.sum(), m.mean(), m.max(), m.any(1), m.all(), ~m), M),
    "sum where": (lambda xp, x, m: (xp.sum(x, where=m), xp.max(x, initial=-9, where=m)), A, M),
    "mean": (lambda xp, x: (xp.mean(x), x.mean(1), x.mean((0, 1), keepdims=True)), F),
    "mean of integers": (lambda xp, x: (x.mean(), xp.var(x), xp.std(x, 0, ddof=1)), U),
    "mean of halves": (lambda xp, x: (x.mean(), x.mean(0)), (F * 9000).astype(np.float16)),
    "mean where": (lambda xp, x, m: (xp.mean(x, where=m), xp.var(x, 1, where=m)), A, M),
    "extremes": (lambda xp, x: (x.max(), xp.min(x, 1), xp.ptp(x, 0), xp.amax(x, (0, 1))), A),
    "positions": (lambda xp, x: (x.argmax(), xp.argmin(x, 1), xp.argmax(x, 0, keepdims=True)), A),
    "average": (lambda xp, x: (xp.average(x), xp.average(x, 1, weights=[1, 2, 3, 4])), A),
    "running": (lambda xp, x: (x.cumsum(), xp.cumsum(x, 1), xp.cumprod(x, 0)), A),
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True), A),
    "diff": (lambda xp, x: (xp.diff(x), xp.diff(x, 2, 0), xp.diff(x, prepend=0)), A),
    "diff of booleans": (lambda xp, m: xp.diff(m), M),
    "trapezoid": (lambda xp, x: (xp.trapezoid(x), xp.trapezoid(x, dx=0.1, axis=0)), A),
    "trapezoid x": (lambda xp, y, x: xp.trapezoid(y, x), S, S),
    "count_nonzero": (lambda xp, x: (xp.count_nonzero(x), xp.count_nonzero(x > 0, axis=1)), I),
    "nan": (
        lambda xp, x: (
            xp.nansum(x), xp.nanmean(x, 0), xp.nanmax(x, 1), xp.nanmin(x), xp.nanstd(x, 0),
            xp.nanvar(x, 1, ddof=1), xp.nanprod(x), xp.nanargmax(x, 1), xp.nanargmin(x),
        ),
        N,
    ),
    "trace": (lambda xp, x: (xp.trace(x), x.trace(1)), A),
    # shapes
    "reshape": (lambda xp, x: (x.reshape(4, -1), xp.reshape(x, (2, 6)), x.reshape(-1, order="F")),
                A),
    "ravel": (lambda xp, x: (x.ravel(), xp.ravel(x, "F"), x.flatten(), x.T.flatten("F")), F),
    "transpose": (lambda xp, x: (x.T, x.transpose(1, 2, 0), xp.transpose(x, (2, 0, 1)), x.mT), F),
    "axes": (
        lambda xp, x: (
            xp.swapaxes(x, 0, 2), xp.moveaxis(x, 0, -1), xp.moveaxis(x, (0, 1), (2, 0)),
            xp.rollaxis(x, 2), xp.expand_dims(x, (0, 2)), xp.squeeze(x[None]), x[:, :1].squeeze(1),
        ),
        F,
    ),
    "atleast": (lambda xp, x: (xp.atleast_1d(x[0]), xp.atleast_2d(x), xp.atleast_3d(x)), V),
    "broadcast": (lambda xp, x: (xp.broadcast_to(x, (2, 3, 4)), *xp.broadcast_arrays(x, x[:1])),
                  A),
    "flip": (lambda xp, x: (xp.flip(x), xp.fliplr(x), xp.flipud(x), xp.flip(x, 0)), A),
    "rot90": (lambda xp, x: tuple(xp.rot90(x, k) for k in range(-1, 4)), A),
    "diagonal": (lambda xp, x: (xp.diagonal(x), x.diagonal(1), xp.diagonal(x, -1, 1, 0)), A),
    # joining
    "concatenate": (lambda xp, x, y: (xp.concatenate([x, y]), xp.concatenate((x, y), axis=1),
                                      xp.concatenate([x, y], axis=None)), A, I),
    "stack": (lambda xp, x, y: (xp.stack([x, y]), xp.stack((x, y), axis=-1), xp.vstack([x, y[0]]),
                                xp.hstack([x, y]), xp.dstack([x, y])), A, B),
    "hstack": (lambda xp, x: (xp.hstack([x, x]), xp.column_stack([x, x]), xp.append(x, 1)), V),
    "split": (lambda xp, x: (*xp.split(x, 2, 1), *xp.array_split(x, 3, 1), *xp.split(x, [1, 3], 1)),
              A),
    "splits": (lambda xp, x: (*xp.vsplit(x, 3), *xp.hsplit(x, 2), *xp.unstack(x)), A),
    "tile": (lambda xp, x: (xp.tile(x, 2), xp.tile(x, (2, 1)), xp.tile(x, (2, 1, 3))), A),
    "repeat": (lambda xp, x: (xp.repeat(x, 2), xp.repeat(x, 3, 0), x.repeat([1, 0, 2], 0)), A),
    "roll": (lambda xp, x: (xp.roll(x, 1), xp.roll(x, -2, 1), xp.roll(x, (1, 2), axis=(0, 1))), A),
    "insert": (lambda xp, x: (xp.insert(x, 0, 5.0), xp.insert(x, 2, 7, axis=1)), A),
    "delete": (lambda xp, x: (xp.delete(x, 1, 0), xp.delete(x, [0, 2], 1), xp.delete(x, 3)), A),
    "pad": (
        lambda xp, x: (
            xp.pad(x, 1), xp.pad(x, ((1, 2), (0, 1)), constant_values=9),
            xp.pad(x, ((1, 1), (2, 0)), constant_values=((1, 2), (3, 4))),
            *(xp.pad(x, ((2, 1), (1, 2)), m) for m in ("edge", "reflect", "symmetric", "wrap")),
        ),
        A,
    ),
    "pad far": (lambda xp, x: (xp.pad(x, 9, mode="reflect"), xp.pad(x, 9, mode="wrap")), S),
    "resize": (lambda xp, x: xp.resize(x, (3, 5)), V),
    # selection
    "take": (lambda xp, x, k: (xp.take(x, k, 0), x.take(k, axis=1), xp.take(x, k), x.take(1, 1)),
             A, K),
    "take modes": (lambda xp, x, k: (x.take(k + 9, mode="clip"), x.take(k - 5, mode="wrap")), V, K),
    "take_along_axis": (lambda xp, x: (xp.take_along_axis(x, xp.argsort(x, 1), 1),
                                       xp.take_along_axis(x, x.argmax(0)[None], 0)), A),
    "put": (lambda xp, x, k: _written(xp, x, lambda y: xp.put(y, k, [1, 2])), A, K),
    "put_along_axis": (
        lambda xp, x: _written(xp, x, lambda y: xp.put_along_axis(y, y.argmin(1)[:, None], 99, 1)),
        A),
    "putmask": (lambda xp, x: _written(xp, x, lambda y: xp.putmask(y, y > 0, [1, 2, 3])), A),
    "copyto": (
        lambda xp, x, m: _written(xp, x, lambda y: xp.copyto(y, [1, 2, 3, 4], where=m)), A, M),
    "unravel_index": (lambda xp, k: (*xp.unravel_index(k, (2, 3)),
                                     xp.ravel_multi_index((k, k), (3, 4))), K),
    "compress": (lambda xp, x: xp.compress([True, False, True], x, axis=0), A),
    # order
    "sort": (lambda xp, x: (xp.sort(x), xp.sort(x, 0), xp.sort(x, None), xp.argsort(x, 0)), N),
    "lexsort": (lambda xp, x: xp.lexsort((x, [1, 0, 1, 0, 0, 1, 1])), V),
    "median": (lambda xp, x: (xp.median(x), xp.median(x, 0), xp.median(x, 1, keepdims=True)), A),
    "median of integers": (lambda xp, x: (xp.median(x), xp.median(x, 1)), I),
    "median with nan": (lambda xp, x: xp.median(x, 0), N),
    "percentile": (
        lambda xp, x: (xp.percentile(x, 30), xp.percentile(x, [10, 90], axis=0),
                       xp.quantile(x, 0.7, 1), xp.quantile(x, [0.2, 1], axis=1, keepdims=True)), A),
    "percentile methods": (
        lambda xp, x: tuple(
            xp.percentile(x, 37, method=m) for m in ("lower", "higher", "nearest", "midpoint")), V),
    "searchsorted": (lambda xp, s, v: (xp.searchsorted(s, v), s.searchsorted(v, side="right"),
                                       xp.searchsorted(s, s), xp.searchsorted(s, 0.3)), S, V),
    "searchsorted nan": (lambda xp, s, v: xp.searchsorted(s, v, "right"),
                         np.array([0.0, 1.0, np.nan]), np.array([np.nan, 2.0, -1.0])),
    "digitize": (lambda xp, v: (xp.digitize(v, [-1, 0, 1]), xp.digitize(v, [1, 0, -1], True)), V),
    "bincount": (lambda xp, k: (xp.bincount(k, minlength=4), xp.bincount(k, k, minlength=3)), K),
    "histogram": (lambda xp, v: (*xp.histogram(v, 4), *xp.histogram(v, [-1, 0, 0.5, 2])), V),
    "histogram density": (lambda xp, v: xp.histogram(v, 5, range=(-1, 1), density=True)[0], V),
    "interp": (lambda xp, v, s: (xp.interp(v, s, s * 2 + 1), xp.interp(v, s, s, left=9, right=8)),
               V, S),
    # products
    "dot": (lambda xp, x, y: (xp.dot(x, y.T), x.dot(y[0]), xp.vdot(x, y), xp.inner(x, y)), A, B),
    "matmul": (lambda xp, x, f: (x @ f[0].T, f @ f.mT, f @ x[0], x[0] @ f.mT, f[:, None] @ f.mT),
               A, F),
    "matmul batches": (lambda xp, f: (f[:1] @ f.mT, f[:, None] @ f[None].mT), F),
    "matmul of integers": (lambda xp, x, m: (x @ x.T, m @ m.T, x @ m.T), I, M),
    "outer": (lambda xp, v, s: (xp.outer(v, s), xp.multiply.outer(v, s), xp.kron(v, s)), V, S),
    "kron": (lambda xp, x, y: xp.kron(x, y), A, B),
    "tensordot": (lambda xp, x, f: (xp.tensordot(x, f, ([0, 1], [1, 2])), xp.tensordot(f, f, 3),
                                    xp.tensordot(x, f, 0)), A, F),
    "einsum": (
        lambda xp, x, f, q: (
            xp.einsum("ij,kij->k", x, f), xp.einsum("ij,ij->ij", x, x), xp.einsum("ii", q),
            xp.einsum("ij->ji", x), xp.einsum("ii->i", q), xp.einsum("ij,jk,kl->il", x, q, q),
            xp.einsum("...ij,...kj->...ik", f, f), xp.einsum("i,j", x[0], x[:, 0]),
            xp.einsum("bij,j->bi", f, x[0]),
        ),
        A, F, Q,
    ),
    "matvec": (lambda xp, f, x: (xp.matvec(f, x[0]), xp.vecmat(x[:2, :3], f), xp.vecdot(f, f)),
               F, A),
    "cross": (lambda xp, x: (xp.cross(x[:, :3], x[:, 1:]), xp.cross(x[0, 1:], x[1, 1:])), A),
    "convolve": (
        lambda xp, v, s: tuple(
            f(a, b, m) for f in (xp.convolve, xp.correlate) for a, b in ((v, s), (s, v), (s, s[:2]))
            for m in ("full", "same", "valid")), V, S),
    "cov": (lambda xp, x: (xp.cov(x), xp.cov(x, rowvar=False), xp.cov(x[0], x[1], bias=True),
                           xp.cov(x[0]), xp.corrcoef(x)), A),
    "gradient": (lambda xp, x: (*xp.gradient(x), xp.gradient(x, 0.5, axis=1), xp.gradient(x[0])),
                 A),
    "polyval": (lambda xp, v: xp.polyval([1.0, -2.0, 3.0], v), V),
    "norms": (
        lambda xp, x: (
            xp.linalg.norm(x), xp.linalg.norm(x, axis=1), xp.linalg.norm(x, 1),
            xp.linalg.norm(x, np.inf, axis=0), xp.linalg.norm(x[0], 3), xp.linalg.norm(x, "fro"),
            xp.linalg.norm(x, 1, axis=(0, 1), keepdims=True), xp.linalg.vector_norm(x, axis=0),
        ),
        A,
    ),
    "matrix_power": (lambda xp, q: (xp.linalg.matrix_power(q, 5), xp.linalg.matrix_power(q, 0)), Q),
    "multi_dot": (lambda xp, x, q: xp.linalg.multi_dot([x, q, x.T]), A, Q),
    # NumPy's ufunc methods
    "reduce": (lambda xp, x: (xp.add.reduce(x), xp.maximum.reduce(x, axis=1),
                              xp.logical_or.reduce(x > 1), xp.multiply.accumulate(x, axis=1)), A),
    "out": (lambda xp, x, y: _out(xp, x, y), A, B),
    "solve": (
        lambda xp, q, x: (
            xp.linalg.solve(q, x.T), xp.linalg.solve(q, x[0]), xp.linalg.inv(q), xp.linalg.det(q),
            xp.linalg.solve(q[::-1, ::-1] * [[0], [1], [1], [1]] + xp.eye(4)[::-1], x.T),
            *xp.linalg.slogdet(q), xp.linalg.inv(xp.stack([q, q.T])), xp.linalg.det(q[:1, :1]),
        ),
        Q, A,
    ),
    "cholesky": (lambda xp, q: xp.linalg.cholesky(q @ q.T + xp.eye(4)), Q),
    # questions
    "questions": (
        lambda xp, x: (
            xp.full(2, xp.ndim(x)), xp.full(2, xp.size(x, 1)), xp.zeros(xp.shape(x)), xp.real(x),
            xp.imag(x), xp.isreal(x), xp.isposinf(x / 0), xp.isneginf(x / 0), xp.fix(x),
            xp.zeros(2, xp.result_type(x, np.float64)), xp.zeros(2, xp.result_type(x, 1.0)),
        ),
        F,
    ),
    "isin": (lambda xp, k: (xp.isin(k, [0, 2]), xp.isin(k, [1], invert=True)), K),
    "ix_": (lambda xp, x: x[xp.ix_([0, 2], [True, False, True, True])], A),
    "indices from": (lambda xp, q: (q[xp.triu_indices_from(q)], q[xp.tril_indices_from(q, -1)],
                                    q[xp.diag_indices_from(q)]), Q),
    "triangle indices": (lambda xp, q: (q[xp.triu_indices(4, 1)], q[xp.diag_indices(4)]), Q),
    "apply_along_axis": (
        lambda xp, x: (xp.apply_along_axis(lambda v: v.sum() * v, 1, x),
                       xp.apply_along_axis(lambda v: v.max(), 0, x)), F),
    "vectorize": (lambda xp, x: xp.vectorize(lambda v, w: v * 2 + w, otypes=[float])(x, 1), A),
    "nancumsum": (lambda xp, x: (xp.nancumsum(x, 1), xp.nancumprod(x)), N),
    "cumulative_prod": (lambda xp, x: xp.cumulative_prod(x, axis=0), A),
    "astype": (lambda xp, x: (xp.astype(x, np.float32), xp.astype(x, x.dtype, copy=False)), A),
    # windows
    "sliding_window_view": (
        lambda xp, x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)).sum((-1, -2)), A),
    # scalar types
    "scalar types": (lambda xp, x: (xp.float32(x[0, 0]), xp.int64(x[0] * 3), x.astype(xp.int8)), A),
}  # fmt: skip


def _written(xp: Any, x: Any, write: Any) -> Any:
    y = xp.array(x)
    write(y)
    return y


def _out(xp: Any, x: Any, y: Any) -> Any:
    out = xp.zeros((3, 4))
    xp.multiply(x, y, out=out)
    xp.add(out, 1, out=out, where=x > 0)
    total = xp.empty(4)
    xp.sum(out, axis=0, out=total)
    return out, total


def assert_same(got: Any, want: Any) -> None:
    ours, theirs = flatten(got)[0], flatten(want)[0]
    assert len(ours) == len(theirs)
    for k, (g, w) in enumerate(zip(ours, theirs, strict=True)):
        a, b = np.asarray(g), np.asarray(w)
        assert a.dtype == b.dtype, f"result {k}: {a.dtype}, not {b.dtype}"
        assert a.shape == b.shape, f"result {k}: {a.shape}, not {b.shape}"
        tolerance = {2: 2e-3, 4: 2e-6}.get(b.dtype.itemsize, 1e-12) if b.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"result {k}")
        assert isinstance(g, np.ndarray) == isinstance(w, np.ndarray), f"result {k}: a scalar?"


@pytest.mark.parametrize("name", CASES)
def test_traced_numpy(name: str, run: Any) -> None:
    function, *arrays = CASES[name]
    with np.errstate(all="ignore"):
        want = function(np, *(a.copy() for a in arrays))
    assert_same(run(function, np, *arrays), want)


@pytest.mark.parametrize("name", CASES)
def test_outside_of_a_trace(name: str) -> None:
    function, *arrays = CASES[name]
    if not hasattr(lnp, name) and name not in ("scalar types", "out"):
        return
    with np.errstate(all="ignore"):
        want = function(np, *(a.copy() for a in arrays))
        got = function(lnp, *(a.copy() for a in arrays))
    assert_same(got, want)
