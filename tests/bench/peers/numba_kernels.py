"""The elementwise and memory-bound workloads as loops, as a Numba user writes them for speed."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange


@njit(parallel=True)
def chain(x):
    out = np.empty_like(x)
    one, two = np.float32(1), np.float32(2)
    for i in prange(x.size):
        v = x[i]
        out[i] = math.tanh(two * v + one) / (one + math.exp(-v)) + math.sqrt(abs(v))
    return out


@njit(parallel=True)
def softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i].max()
        total = np.float32(0)
        for j in range(x.shape[1]):
            e = math.exp(x[i, j] - top)
            out[i, j] = e
            total += e
        scale = np.float32(1) / total
        for j in range(x.shape[1]):
            out[i, j] *= scale
    return out


@njit(parallel=True)
def layer_norm(x, gamma, beta):
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        mean = np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= n
        variance = np.float32(0)
        for j in range(x.shape[1]):
            d = x[i, j] - mean
            variance += d * d
        scale = np.float32(1) / math.sqrt(variance / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * gamma[j] + beta[j]
    return out


@njit(parallel=True)
def affine(x):
    out = np.empty_like(x)
    one, two = np.float32(1), np.float32(2)
    for i in prange(x.size):
        out[i] = two * x[i] + one
    return out


@njit(parallel=True, fastmath=True)
def total(x):
    result = np.float32(0)
    for i in prange(x.size):
        result += x[i]
    return result


@njit
def column_sum(x):
    out = np.zeros(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]
    return out


@njit(parallel=True)
def transposed(x):
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)
    one = np.float32(1)
    for j in prange(x.shape[1]):
        for i in range(x.shape[0]):
            out[j, i] = x[i, j] + one
    return out


@njit(parallel=True)
def stencil(x):
    out = np.empty((x.shape[0] - 2, x.shape[1] - 2), x.dtype)
    ninth = np.float32(1 / 9)
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            s = np.float32(0)
            for di in range(3):
                for dj in range(3):
                    s += x[i + di, j + dj]
            out[i, j] = s * ninth
    return out


@njit(parallel=True)
def distances(a, b):
    out = np.empty((a.shape[0], b.shape[0]), a.dtype)
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            s = np.float32(0)
            for k in range(a.shape[1]):
                d = a[i, k] - b[j, k]
                s += d * d
            out[i, j] = math.sqrt(s)
    return out
