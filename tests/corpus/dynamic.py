"""Dynamic programming, graphs and automata."""

import numpy as np

EXACT = {
    "bellman_ford", "edit_distance", "floyd_warshall", "floyd_warshall_rows", "game_of_life",
    "knapsack", "life_in_place", "longest_common_subsequence", "pascal", "rule_automaton",
    "run_lengths", "sandpile", "sieve", "sieve_by_tests",
}  # fmt: skip


def floyd_warshall(dist):
    d = dist.copy()
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def _distances(seed, n):
    rng = np.random.default_rng(seed)
    d = np.where(rng.random((n, n)) < 0.3, rng.random((n, n)), np.inf)
    np.fill_diagonal(d, 0.0)
    return d


def floyd_warshall_inputs():
    return (_distances(1, 30),)


def floyd_warshall_rows(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])
    return path


def floyd_warshall_rows_inputs():
    return (_distances(2, 12),)


def bellman_ford(sources, targets, weights, n, rounds):
    dist = np.full(n, np.inf)
    dist[0] = 0.0
    for _ in range(rounds):
        np.minimum.at(dist, targets, dist[sources] + weights)
    return dist


def bellman_ford_inputs():
    rng = np.random.default_rng(3)
    return rng.integers(0, 25, 120), rng.integers(0, 25, 120), rng.random(120), 25, 6


def edit_distance(a, b):
    n = len(b)
    prev = np.arange(n + 1)
    offsets = np.arange(n + 1)
    for i in range(len(a)):
        cur = np.empty_like(prev)
        cur[0] = i + 1
        cur[1:] = np.minimum(prev[:-1] + (b != a[i]), prev[1:] + 1)
        prev = np.minimum.accumulate(cur - offsets) + offsets
    return prev[-1]


def edit_distance_inputs():
    rng = np.random.default_rng(4)
    return rng.integers(0, 4, 30), rng.integers(0, 4, 25)


def longest_common_subsequence(a, b):
    m, n = len(a), len(b)
    L = np.zeros((m + 1, n + 1), dtype=np.int32)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = max(L[i - 1, j], L[i, j - 1])
    return L[m, n]


def longest_common_subsequence_inputs():
    rng = np.random.default_rng(5)
    return rng.integers(0, 3, 12), rng.integers(0, 3, 10)


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1, dtype=values.dtype)
    for v, w in zip(values, weights.tolist(), strict=True):
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + v)
    return best


def knapsack_inputs():
    rng = np.random.default_rng(6)
    return rng.integers(1, 50, 12), rng.integers(1, 10, 12), 40


def viterbi(log_start, log_trans, log_emit, observations):
    T = observations.shape[0]
    n = log_start.shape[0]
    score = np.zeros((T, n))
    back = np.zeros((T, n), dtype=np.int64)
    score[0] = log_start + log_emit[:, observations[0]]
    for t in range(1, T):
        cand = score[t - 1][:, None] + log_trans
        back[t] = np.argmax(cand, axis=0)
        score[t] = np.max(cand, axis=0) + log_emit[:, observations[t]]
    path = np.zeros(T, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


def viterbi_inputs():
    rng = np.random.default_rng(7)
    trans = rng.dirichlet(np.ones(4), 4)
    emit = rng.dirichlet(np.ones(6), 4)
    return np.log(np.full(4, 0.25)), np.log(trans), np.log(emit), rng.integers(0, 6, 20)


def game_of_life(board, generations):
    for _ in range(generations):
        n = np.zeros(board.shape, dtype=int)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if (dy, dx) != (0, 0):
                    n += np.roll(board, (dy, dx), axis=(0, 1))
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(int)
    return board


def game_of_life_inputs():
    return np.random.default_rng(8).integers(0, 2, (24, 32)), 4


def life_in_place(Z):
    N = (
        Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:]
        + Z[1:-1, 0:-2] + Z[1:-1, 2:]
        + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:]
    )  # fmt: skip
    birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


def life_in_place_inputs():
    return (np.random.default_rng(9).integers(0, 2, (20, 26)),)


def rule_automaton(first_row, rule, steps):
    table = np.array([(rule >> i) & 1 for i in range(8)], dtype=np.uint8)
    rows = np.zeros((steps, first_row.size), dtype=np.uint8)
    rows[0] = first_row
    for t in range(1, steps):
        prev = rows[t - 1]
        code = 4 * np.roll(prev, 1) + 2 * prev + np.roll(prev, -1)
        rows[t] = table[code]
    return rows


def rule_automaton_inputs():
    row = np.zeros(41, dtype=np.uint8)
    row[20] = 1
    return row, 110, 20


def sandpile(grid, rounds):
    for _ in range(rounds):
        over = grid >= 4
        grid[over] -= 4
        grid[1:, :] += over[:-1, :]
        grid[:-1, :] += over[1:, :]
        grid[:, 1:] += over[:, :-1]
        grid[:, :-1] += over[:, 1:]
    return grid


def sandpile_inputs():
    return np.random.default_rng(10).integers(0, 8, (21, 21)), 10


def pagerank(adjacency, damping, iterations):
    n = adjacency.shape[0]
    out_degree = adjacency.sum(axis=1)
    M = (adjacency / np.maximum(out_degree, 1)[:, None]).T
    dangling = out_degree == 0
    rank = np.ones(n) / n
    for _ in range(iterations):
        rank = (1 - damping) / n + damping * (M @ rank + (rank * dangling).sum() / n)
    return rank


def pagerank_inputs():
    return (np.random.default_rng(11).random((30, 30)) < 0.1).astype(float), 0.85, 15


def pascal(n):
    t = np.zeros((n, n), dtype=np.int64)
    t[:, 0] = 1
    for i in range(1, n):
        t[i, 1 : i + 1] = t[i - 1, :i] + t[i - 1, 1 : i + 1]
    return t


def pascal_inputs():
    return (20,)


def sieve(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        is_prime[i * i :: i] = False
    return is_prime


def sieve_inputs():
    return (200,)


def sieve_by_tests(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return np.nonzero(is_prime)[0]


def sieve_by_tests_inputs():
    return (200,)


def run_lengths(x):
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    lengths = np.diff(np.append(starts, x.size))
    return x[starts], lengths


def run_lengths_inputs():
    return (np.random.default_rng(12).integers(0, 2, 60),)


def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for j in range(n):
        L[j, j] = np.sqrt(A[j, j] - np.dot(L[j, :j], L[j, :j]))
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def cholesky_inputs():
    X = np.random.default_rng(13).normal(size=(12, 12))
    return (X @ X.T + 12 * np.eye(12),)


def gauss_eliminate(A, b):
    n = len(b)
    for k in range(n - 1):
        factor = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= factor[:, None] * A[k, k:]
        b[k + 1 :] -= factor * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def gauss_eliminate_inputs():
    rng = np.random.default_rng(14)
    return rng.normal(size=(10, 10)) + 10 * np.eye(10), rng.normal(size=10)


def forward_algorithm(start, trans, emit, observations):
    T = len(observations)
    alpha = np.zeros((T, len(start)))
    scale = np.zeros(T)
    alpha[0] = start * emit[:, observations[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, T):
        alpha[t] = (alpha[t - 1] @ trans) * emit[:, observations[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return np.log(scale).sum(), alpha


def forward_algorithm_inputs():
    rng = np.random.default_rng(15)
    return (
        np.full(3, 1 / 3), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(5), 3),
        rng.integers(0, 5, 25),
    )  # fmt: skip
