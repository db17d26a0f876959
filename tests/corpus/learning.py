"""Layers, losses and training steps of small models."""

import itertools

import numpy as np

EXACT = {"one_hot", "max_pool"}


def softmax_regression_step(X, y, W, b, lr):
    n = X.shape[0]
    scores = X @ W + b
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(n), y]).mean()
    p[np.arange(n), y] -= 1
    W -= lr * (X.T @ p) / n
    b -= lr * p.mean(axis=0)
    return loss


def softmax_regression_step_inputs():
    rng = np.random.default_rng(1)
    return (
        rng.normal(size=(64, 10)),
        rng.integers(0, 4, 64),
        0.1 * rng.normal(size=(10, 4)),
        np.zeros(4),
        0.5,
    )


def mlp_forward(params, x):
    for layer in params[:-1]:
        x = np.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]


def mlp_forward_inputs():
    rng = np.random.default_rng(2)
    sizes = [8, 16, 16, 3]
    params = [
        {"w": rng.normal(size=(m, n)).astype(np.float32), "b": np.zeros(n, np.float32)}
        for m, n in itertools.pairwise(sizes)
    ]
    return params, rng.normal(size=(20, 8)).astype(np.float32)


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def layer_norm_inputs():
    rng = np.random.default_rng(3)
    return (
        rng.normal(size=(12, 48)).astype(np.float32),
        rng.random(48).astype(np.float32),
        rng.random(48).astype(np.float32),
    )


def batch_norm_train(x, state, momentum=0.9):
    mu = x.mean(axis=(0, 2, 3))
    var = x.var(axis=(0, 2, 3))
    state["mean"] *= momentum
    state["mean"] += (1 - momentum) * mu
    state["var"] *= momentum
    state["var"] += (1 - momentum) * var
    xhat = (x - mu[None, :, None, None]) / np.sqrt(var[None, :, None, None] + 1e-5)
    return state["gamma"].reshape(1, -1, 1, 1) * xhat + state["beta"].reshape(1, -1, 1, 1)


def batch_norm_train_inputs():
    rng = np.random.default_rng(4)
    state = {k: rng.random(6) for k in ("mean", "var", "gamma", "beta")}
    return rng.normal(size=(4, 6, 5, 5)), state


def attention(q, k, v, causal=True):
    d = q.shape[-1]
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(d)
    if causal:
        n = scores.shape[-1]
        mask = np.triu(np.ones((n, n), dtype=bool), k=1)
        scores = np.where(mask, -1e9, scores)
    w = np.exp(scores - scores.max(axis=-1, keepdims=True))
    w = w / w.sum(axis=-1, keepdims=True)
    return w @ v


def attention_inputs():
    rng = np.random.default_rng(5)
    return tuple(rng.normal(size=(2, 3, 10, 8)) for _ in range(3))


def kmeans_step(X, centroids):
    k = centroids.shape[0]
    d = ((X[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
    labels = d.argmin(axis=1)
    sums = np.zeros_like(centroids)
    counts = np.zeros(k)
    np.add.at(sums, labels, X)
    np.add.at(counts, labels, 1)
    new = sums / np.maximum(counts, 1)[:, None]
    return new, labels, d.min(axis=1).sum()


def kmeans_step_inputs():
    rng = np.random.default_rng(6)
    return rng.normal(size=(100, 3)), rng.normal(size=(5, 3))


def kmeans_masks(X, centroids):
    d = np.linalg.norm(X[:, None] - centroids[None], axis=2)
    labels = np.argmin(d, axis=1)
    for j in range(len(centroids)):
        members = X[labels == j]
        if len(members) > 0:
            centroids[j] = members.mean(axis=0)
    return labels


def kmeans_masks_inputs():
    return kmeans_step_inputs()


def power_iteration(X, v0, iterations):
    Xc = X - X.mean(axis=0)
    C = Xc.T @ Xc / (len(X) - 1)
    v = v0 / np.linalg.norm(v0)
    for _ in range(iterations):
        v = C @ v
        v /= np.linalg.norm(v)
    return v @ C @ v, v


def power_iteration_inputs():
    rng = np.random.default_rng(7)
    return rng.normal(size=(80, 6)) * np.arange(1, 7), rng.normal(size=6), 12


def adam_update(param, grad, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    m[:] = beta1 * m + (1 - beta1) * grad
    v[:] = beta2 * v + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    param -= lr * m_hat / (np.sqrt(v_hat) + eps)


def adam_update_inputs():
    rng = np.random.default_rng(8)
    return (*tuple(rng.random((9, 11)).astype(np.float32) for _ in range(4)), 3)


def conv_layer(x, w, b, stride=1, pad=1):
    n, _, h, wd = x.shape
    f, _, hh, ww = w.shape
    xp = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    oh = (h + 2 * pad - hh) // stride + 1
    ow = (wd + 2 * pad - ww) // stride + 1
    out = np.zeros((n, f, oh, ow), dtype=x.dtype)
    for i in range(oh):
        for j in range(ow):
            patch = xp[:, :, i * stride : i * stride + hh, j * stride : j * stride + ww]
            out[:, :, i, j] = np.tensordot(patch, w, axes=([1, 2, 3], [1, 2, 3])) + b
    return out


def conv_layer_inputs():
    rng = np.random.default_rng(9)
    return (
        rng.normal(size=(2, 3, 8, 8)).astype(np.float32),
        rng.normal(size=(4, 3, 3, 3)).astype(np.float32),
        rng.normal(size=4).astype(np.float32),
        2,
    )


def max_pool(x, size):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // size, size, w // size, size).max(axis=(3, 5))


def max_pool_inputs():
    return np.random.default_rng(10).normal(size=(2, 3, 12, 16)), 2


def lstm_cell(x, h, c, W, U, b):
    z = x @ W + h @ U + b
    i, f, g, o = np.split(z, 4, axis=1)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm_cell_inputs():
    rng = np.random.default_rng(11)
    return (
        rng.normal(size=(6, 5)), rng.normal(size=(6, 7)), rng.normal(size=(6, 7)),
        rng.normal(size=(5, 28)), rng.normal(size=(7, 28)), rng.normal(size=28),
    )  # fmt: skip


def gelu_gradient(x, upstream):
    c = np.sqrt(2 / np.pi)
    inner = c * (x + 0.044715 * x**3)
    t = np.tanh(inner)
    left = 0.5 * (1 + t)
    right = 0.5 * x * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2)
    return upstream * (left + right)


def gelu_gradient_inputs():
    rng = np.random.default_rng(12)
    return rng.normal(size=(10, 33)), rng.normal(size=(10, 33))


def one_hot(labels, n_classes):
    out = np.zeros((labels.size, n_classes), dtype=np.float32)
    out[np.arange(labels.size), labels] = 1
    return out


def one_hot_inputs():
    return np.random.default_rng(13).integers(0, 6, 40), 6


def logistic_regression(X, y, lr, epochs):
    w = np.zeros(X.shape[1])
    b = 0.0
    losses = np.zeros(epochs)
    for e in range(epochs):
        p = 1.0 / (1.0 + np.exp(-(X @ w + b)))
        losses[e] = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        err = p - y
        w -= lr * X.T @ err / len(y)
        b -= lr * err.mean()
    return w, b, losses


def logistic_regression_inputs():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(70, 4))
    return X, (X @ np.array([1.0, -2.0, 0.5, 0.0]) > 0).astype(float), 0.3, 15


def gmm_responsibilities(X, means, variances, weights):
    diff = X[:, None, :] - means[None]
    log_p = -0.5 * (diff**2 / variances + np.log(2 * np.pi * variances)).sum(-1) + np.log(weights)
    top = log_p.max(axis=1, keepdims=True)
    log_norm = top + np.log(np.exp(log_p - top).sum(axis=1, keepdims=True))
    return np.exp(log_p - log_norm), log_norm.sum()


def gmm_responsibilities_inputs():
    rng = np.random.default_rng(15)
    return (
        rng.normal(size=(50, 3)),
        rng.normal(size=(4, 3)),
        0.5 + rng.random((4, 3)),
        np.full(4, 0.25),
    )


def skipgram_update(centre, context, pairs, negatives, lr):
    c, o = pairs[:, 0], pairs[:, 1]
    targets = np.concatenate([o[:, None], negatives], axis=1)
    labels = np.zeros(targets.shape)
    labels[:, 0] = 1.0
    vc = centre[c]
    vt = context[targets]
    score = 1 / (1 + np.exp(-np.einsum("bd,bkd->bk", vc, vt)))
    g = (score - labels)[..., None]
    np.subtract.at(centre, c, lr * (g * vt).sum(axis=1))
    np.subtract.at(context, targets, lr * g * vc[:, None, :])


def skipgram_update_inputs():
    rng = np.random.default_rng(16)
    return (
        rng.normal(size=(20, 8)), rng.normal(size=(20, 8)),
        rng.integers(0, 20, (15, 2)), rng.integers(0, 20, (15, 4)), 0.1,
    )  # fmt: skip


def perceptron(X, y, epochs):
    w = np.zeros(X.shape[1])
    for _ in range(epochs):
        for xi, yi in zip(X, y, strict=True):
            if yi * np.dot(w, xi) <= 0:
                w += yi * xi
    return w


def perceptron_inputs():
    X = np.random.default_rng(17).normal(size=(20, 3))
    return X, np.where(X @ np.array([1.0, 1.0, -1.0]) > 0, 1, -1), 3


def ridge_regression(X, y, lam):
    A = X.T @ X + lam * np.eye(X.shape[1])
    return np.linalg.solve(A, X.T @ y)


def ridge_regression_inputs():
    rng = np.random.default_rng(18)
    return rng.normal(size=(60, 5)), rng.normal(size=60), 0.1


def rbf_kernel(X, Y, gamma):
    sq = np.sum(X**2, 1).reshape(-1, 1) + np.sum(Y**2, 1) - 2 * np.dot(X, Y.T)
    return np.exp(-gamma * sq)


def rbf_kernel_inputs():
    rng = np.random.default_rng(19)
    return rng.normal(size=(30, 4)), rng.normal(size=(22, 4)), 0.3
