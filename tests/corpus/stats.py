"""Statistics: moments, ranks, windows, resampling."""

import numpy as np

EXACT = {"bin_counts", "empirical_cdf", "first_above"}


def zscore(x, axis=0, ddof=1):
    mean = np.mean(x, axis=axis, keepdims=True)
    std = np.std(x, axis=axis, ddof=ddof, keepdims=True)
    return (x - mean) / std


def zscore_inputs():
    return (np.random.default_rng(1).normal(3.0, 2.0, (200, 7)),)


def weighted_moments(x, w):
    total = w.sum()
    mean = (w * x).sum() / total
    var = (w * (x - mean) ** 2).sum() / total
    skew = (w * (x - mean) ** 3).sum() / total / var**1.5
    kurt = (w * (x - mean) ** 4).sum() / total / var**2 - 3.0
    return {"mean": mean, "var": var, "skew": skew, "kurtosis": kurt}


def weighted_moments_inputs():
    rng = np.random.default_rng(2)
    return rng.gamma(2.0, 1.5, 500), rng.random(500)


def correlation_matrix(data):
    n_samples, n_features = data.shape
    centred = data - data.mean(axis=0)
    cov = centred.T @ centred / (n_samples - 1)
    std = np.sqrt(np.diag(cov))
    corr = cov / np.outer(std, std)
    corr[np.arange(n_features), np.arange(n_features)] = 1.0
    return corr


def correlation_matrix_inputs():
    rng = np.random.default_rng(3)
    return (rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)),)


def bin_counts(x, n_bins, lo, hi):
    counts = np.zeros(n_bins, dtype=np.int64)
    idx = ((x - lo) / (hi - lo) * n_bins).astype(np.int64)
    idx = np.clip(idx, 0, n_bins - 1)
    np.add.at(counts, idx, 1)
    return counts


def bin_counts_inputs():
    return np.random.default_rng(4).normal(size=1000), 20, -3.0, 3.0


def joint_histogram(x, y, edges):
    n = len(edges) - 1
    hist = np.zeros((n, n))
    i = np.searchsorted(edges, x, side="right") - 1
    j = np.searchsorted(edges, y, side="right") - 1
    ok = (i >= 0) & (i < n) & (j >= 0) & (j < n)
    np.add.at(hist, (np.where(ok, i, 0), np.where(ok, j, 0)), ok.astype(float))
    return hist / hist.sum()


def joint_histogram_inputs():
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    return x, 0.5 * x + rng.normal(size=400), np.linspace(-2.0, 2.0, 9)


def ewma(x, alpha=0.2):
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


def ewma_inputs():
    return np.random.default_rng(6).normal(size=60).cumsum(), 0.3


def bootstrap_interval(sample, picks, level):
    means = sample[picks].mean(axis=1)
    means = np.sort(means)
    n = means.shape[0]
    lo = int((1 - level) / 2 * n)
    hi = n - 1 - lo
    return means[lo], means[hi], means.std()


def bootstrap_interval_inputs():
    rng = np.random.default_rng(7)
    return rng.exponential(2.0, 80), rng.integers(0, 80, (200, 80)), 0.9


def median_absolute_deviation(x):
    med = np.median(x, axis=0)
    return 1.4826 * np.median(np.abs(x - med), axis=0)


def median_absolute_deviation_inputs():
    return (np.random.default_rng(8).standard_t(3, size=(101, 4)),)


def winsorize(x, lower, upper):
    lo, hi = np.percentile(x, [lower, upper])
    y = x.copy()
    y[y < lo] = lo
    y[y > hi] = hi
    return y


def winsorize_inputs():
    return np.random.default_rng(9).standard_cauchy(300), 5, 95


def rolling_mean_std(x, window):
    c1 = np.cumsum(np.insert(x, 0, 0.0))
    c2 = np.cumsum(np.insert(x * x, 0, 0.0))
    mean = (c1[window:] - c1[:-window]) / window
    var = (c2[window:] - c2[:-window]) / window - mean**2
    return mean, np.sqrt(np.maximum(var, 0.0))


def rolling_mean_std_inputs():
    return np.random.default_rng(10).normal(size=250), 20


def gaussian_kde(grid, samples, bandwidth):
    u = (grid[:, None] - samples[None, :]) / bandwidth
    k = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    return k.mean(axis=1) / bandwidth


def gaussian_kde_inputs():
    return np.linspace(-4, 4, 81), np.random.default_rng(11).normal(size=150), 0.4


def autocorrelation(x, max_lag):
    x = x - x.mean()
    denom = np.dot(x, x)
    acf = np.zeros(max_lag + 1)
    for k in range(max_lag + 1):
        acf[k] = np.dot(x[: len(x) - k], x[k:]) / denom
    return acf


def autocorrelation_inputs():
    return np.random.default_rng(12).normal(size=300).cumsum(), 25


def empirical_cdf(sample, points):
    order = np.sort(sample)
    return np.searchsorted(order, points, side="right") / sample.size


def empirical_cdf_inputs():
    rng = np.random.default_rng(13)
    return rng.normal(size=99), rng.normal(size=30)


def welford(x):
    mean = 0.0
    m2 = 0.0
    n = 0
    for value in x:
        n += 1
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
    return mean, m2 / (n - 1)


def welford_inputs():
    return (np.random.default_rng(14).normal(size=50),)


def rejected_outliers(x, m):
    keep = np.abs(x - np.mean(x)) < m * np.std(x)
    return x[keep].mean()


def rejected_outliers_inputs():
    return np.random.default_rng(15).standard_t(2, size=200), 2.0


def spearman(x, y):
    rx = np.argsort(np.argsort(x)).astype(float)
    ry = np.argsort(np.argsort(y)).astype(float)
    rx -= rx.mean()
    ry -= ry.mean()
    return (rx * ry).sum() / np.sqrt((rx**2).sum() * (ry**2).sum())


def spearman_inputs():
    rng = np.random.default_rng(16)
    x = rng.normal(size=90)
    return x, x**3 + rng.normal(size=90)


def first_above(x, threshold):
    for i in range(x.size):
        if x[i] > threshold:
            return i
    return -1


def first_above_inputs():
    return np.random.default_rng(17).normal(size=40).cumsum(), 2.0


def fill_missing(table):
    filled = table.copy()
    missing = np.isnan(filled)
    column_means = np.nanmean(table, axis=0)
    filled[missing] = np.broadcast_to(column_means, table.shape)[missing]
    return filled


def fill_missing_inputs():
    rng = np.random.default_rng(18)
    table = rng.normal(size=(40, 6))
    table[rng.random(table.shape) < 0.1] = np.nan
    return (table,)
