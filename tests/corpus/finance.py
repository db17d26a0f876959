"""Prices, returns and risk."""

import numpy as np

EXACT = {"running_maximum"}


def norm_cdf(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = np.exp(-x * x / 2.0) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(S, K, T, r, sigma):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    call = S * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
    put = call - S + K * np.exp(-r * T)
    return call, put


def black_scholes_inputs():
    rng = np.random.default_rng(1)
    return (
        rng.uniform(80, 120, 256),
        rng.uniform(80, 120, 256),
        rng.uniform(0.1, 2, 256),
        0.03,
        0.25,
    )


def asian_option(normals, S0, K, r, sigma, T):
    n_paths, n_steps = normals.shape
    dt = T / n_steps
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * normals
    paths = S0 * np.exp(np.cumsum(increments, axis=1))
    payoff = np.maximum(paths.mean(axis=1) - K, 0.0)
    price = np.exp(-r * T) * payoff.mean()
    error = np.exp(-r * T) * payoff.std(ddof=1) / np.sqrt(n_paths)
    return price, error


def asian_option_inputs():
    return np.random.default_rng(2).normal(size=(400, 50)), 100.0, 100.0, 0.02, 0.3, 1.0


def cumulative_returns(prices):
    returns = prices[1:] / prices[:-1] - 1
    out = np.zeros_like(prices)
    out[1:] = np.cumprod(1 + returns, axis=0) - 1
    return out


def cumulative_returns_inputs():
    return (100 * np.exp(0.01 * np.random.default_rng(3).normal(size=(120, 4)).cumsum(axis=0)),)


def running_maximum(prices):
    best = np.empty_like(prices)
    best[0] = prices[0]
    for t in range(1, prices.shape[0]):
        best[t] = np.maximum(best[t - 1], prices[t])
    return best


def running_maximum_inputs():
    return (np.random.default_rng(4).normal(size=(60, 8)).cumsum(axis=0),)


def max_drawdown(equity):
    peak = np.maximum.accumulate(equity)
    drawdown = (equity - peak) / peak
    trough = np.argmin(drawdown)
    return drawdown.min(), trough


def max_drawdown_inputs():
    return (np.exp(0.02 * np.random.default_rng(5).normal(size=300).cumsum()),)


def sharpe_ratio(returns, risk_free=0.0, periods=252):
    excess = returns - risk_free / periods
    return np.sqrt(periods) * excess.mean(axis=0) / excess.std(axis=0, ddof=1)


def sharpe_ratio_inputs():
    return np.random.default_rng(6).normal(5e-4, 0.01, (250, 6)), 0.02


def portfolio_risk(weights, returns):
    cov = np.cov(returns, rowvar=False)
    port_var = weights @ cov @ weights
    vol = np.sqrt(port_var)
    marginal = cov @ weights / vol
    return vol, weights * marginal


def portfolio_risk_inputs():
    rng = np.random.default_rng(7)
    w = rng.random(5)
    return w / w.sum(), rng.normal(0, 0.01, (200, 5))


def bollinger(prices, window=20, k=2.0):
    n = prices.shape[0] - window + 1
    idx = np.arange(n)[:, None] + np.arange(window)[None, :]
    frames = prices[idx]
    mid = frames.mean(axis=1)
    sd = frames.std(axis=1)
    return mid - k * sd, mid, mid + k * sd


def bollinger_inputs():
    return (100 + np.random.default_rng(8).normal(size=120).cumsum(),)


def rsi(prices, period=14):
    delta = np.diff(prices)
    gain = np.where(delta > 0, delta, 0.0)
    loss = np.where(delta < 0, -delta, 0.0)
    avg_gain = gain[:period].mean()
    avg_loss = loss[:period].mean()
    out = np.full(prices.shape, np.nan)
    for i in range(period, len(delta)):
        avg_gain = (avg_gain * (period - 1) + gain[i]) / period
        avg_loss = (avg_loss * (period - 1) + loss[i]) / period
        out[i + 1] = 100 - 100 / (1 + avg_gain / avg_loss)
    return out


def rsi_inputs():
    return (100 + np.random.default_rng(9).normal(size=60).cumsum(),)


def american_put(S0, K, r, sigma, T, n):
    dt = T / n
    up = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(r * dt) - 1 / up) / (up - 1 / up)
    disc = np.exp(-r * dt)
    S = S0 * up ** (2.0 * np.arange(n + 1) - n)
    V = np.maximum(K - S, 0)
    for i in range(n - 1, -1, -1):
        V[: i + 1] = disc * (p * V[1 : i + 2] + (1 - p) * V[: i + 1])
        S = S0 * up ** (2.0 * np.arange(i + 1) - i)
        V[: i + 1] = np.maximum(V[: i + 1], K - S)
    return V[0]


def american_put_inputs():
    return np.array([90.0])[0], 100.0, 0.03, 0.3, 1.0, 30


def bond_yield(price, cashflows, times, iterations=8):
    y = np.full_like(price, 0.05)
    for _ in range(iterations):
        df = np.exp(-y[:, None] * times[None, :])
        value = (cashflows * df).sum(axis=1)
        slope = -(times * cashflows * df).sum(axis=1)
        y -= (value - price) / slope
    return y


def bond_yield_inputs():
    rng = np.random.default_rng(10)
    times = np.arange(1.0, 11.0)
    flows = np.full((12, 10), 4.0)
    flows[:, -1] += 100.0
    return rng.uniform(85, 115, 12), flows, times


def garch_variance(returns, omega, alpha, beta):
    sigma2 = np.zeros(returns.shape[0])
    sigma2[0] = np.var(returns)
    for t in range(1, returns.shape[0]):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return -0.5 * np.sum(np.log(2 * np.pi * sigma2) + returns**2 / sigma2)


def garch_variance_inputs():
    return np.random.default_rng(11).normal(0, 0.01, 80), 1e-6, 0.08, 0.9


def historical_var(pnl, level):
    ordered = np.sort(pnl)
    cut = int(np.floor(level * pnl.size))
    return -ordered[cut], -ordered[:cut].mean()


def historical_var_inputs():
    return np.random.default_rng(12).standard_t(4, size=500), 0.05


def stop_loss(prices, limit):
    entry = prices[0]
    for t in range(1, prices.size):
        if prices[t] < entry * (1 - limit):
            return prices[t] / entry - 1
    return prices[-1] / entry - 1


def stop_loss_inputs():
    return 100 + np.random.default_rng(13).normal(size=50).cumsum(), 0.02
