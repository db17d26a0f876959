"""Filters, transforms and features of signals."""

import numpy as np

EXACT = {"zero_crossings", "moving_maximum"}


def fir_filter(x, taps):
    n = len(taps)
    padded = np.concatenate([np.zeros(n - 1, dtype=x.dtype), x])
    y = np.zeros_like(x)
    for k in range(n):
        y += taps[k] * padded[n - 1 - k : n - 1 - k + len(x)]
    return y


def fir_filter_inputs():
    rng = np.random.default_rng(1)
    return rng.normal(size=500).astype(np.float32), rng.normal(size=21).astype(np.float32)


def dct_ii(x):
    n = x.shape[-1]
    k = np.arange(n)[:, None]
    i = np.arange(n)[None, :]
    basis = np.cos(np.pi * (2 * i + 1) * k / (2 * n)) * np.sqrt(2.0 / n)
    basis[0] /= np.sqrt(2.0)
    return x @ basis.T


def dct_ii_inputs():
    return (np.random.default_rng(2).normal(size=(30, 32)),)


def moving_average(x, width):
    return np.convolve(x, np.ones(width) / width, mode="valid")


def moving_average_inputs():
    return np.random.default_rng(3).normal(size=300), 9


def biquad(x, b, a):
    y = np.zeros(x.shape)
    z1 = z2 = 0.0
    for n in range(x.shape[0]):
        y[n] = b[0] * x[n] + z1
        z1 = b[1] * x[n] - a[1] * y[n] + z2
        z2 = b[2] * x[n] - a[2] * y[n]
    return y


def biquad_inputs():
    x = np.random.default_rng(4).normal(size=64)
    return x, np.array([0.2, 0.4, 0.2]), np.array([1.0, -0.3, 0.1])


def spectrogram(x, frame, hop):
    n_frames = 1 + (len(x) - frame) // hop
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)
    idx = np.arange(n_frames)[:, None] * hop + np.arange(frame)
    frames = x[idx] * window
    angle = 2 * np.pi * np.outer(np.arange(frame), np.arange(frame // 2 + 1)) / frame
    real = frames @ np.cos(angle)
    imag = frames @ np.sin(angle)
    return 10 * np.log10(real**2 + imag**2 + 1e-10)


def spectrogram_inputs():
    t = np.arange(1024) / 1024
    return np.sin(2 * np.pi * 60 * t) + 0.3 * np.random.default_rng(5).normal(size=1024), 128, 64


def haar_transform(x, levels):
    out = x.astype(float).copy()
    n = len(out)
    for _ in range(levels):
        even = out[0:n:2].copy()
        odd = out[1:n:2].copy()
        out[: n // 2] = (even + odd) / np.sqrt(2)
        out[n // 2 : n] = (even - odd) / np.sqrt(2)
        n //= 2
    return out


def haar_transform_inputs():
    return np.random.default_rng(6).normal(size=128), 4


def inverse_haar_step(approx, detail):
    out = np.empty(2 * approx.shape[0], dtype=approx.dtype)
    out[::2] = (approx + detail) / np.sqrt(2)
    out[1::2] = (approx - detail) / np.sqrt(2)
    return out


def inverse_haar_step_inputs():
    rng = np.random.default_rng(7)
    return rng.normal(size=50), rng.normal(size=50)


def zero_crossings(x):
    s = np.sign(x)
    s[s == 0] = 1
    return np.sum(s[1:] != s[:-1])


def zero_crossings_inputs():
    return (np.random.default_rng(8).normal(size=200),)


def resample_linear(x, factor):
    n = int(len(x) * factor)
    positions = np.arange(n) / factor
    left = np.minimum(positions.astype(int), len(x) - 2)
    frac = positions - left
    return x[left] * (1 - frac) + x[left + 1] * frac


def resample_linear_inputs():
    return np.random.default_rng(9).normal(size=100), 1.7


def interpolate_track(times, sample_times, values):
    return np.interp(times, sample_times, values)


def interpolate_track_inputs():
    rng = np.random.default_rng(10)
    return np.linspace(-0.5, 10.5, 77), np.sort(rng.random(20) * 10), rng.normal(size=20)


def goertzel(x, k):
    n = x.shape[-1]
    coeff = 2 * np.cos(2 * np.pi * k / n)
    s1 = np.zeros(x.shape[:-1])
    s2 = np.zeros(x.shape[:-1])
    for i in range(n):
        s0 = x[..., i] + coeff * s1 - s2
        s2 = s1
        s1 = s0
    return s1**2 + s2**2 - coeff * s1 * s2


def goertzel_inputs():
    return np.random.default_rng(11).normal(size=(12, 64)), 5


def power_spectrum(x):
    return np.abs(np.fft.rfft(x)) ** 2 / len(x)


def power_spectrum_inputs():
    return (np.random.default_rng(12).normal(size=256),)


def savitzky_golay(y, window, order):
    half = window // 2
    A = np.vander(np.arange(-half, half + 1), order + 1, increasing=True).astype(float)
    coeffs = np.linalg.pinv(A)[0]
    padded = np.pad(y, half, mode="edge")
    out = np.zeros_like(y)
    for i in range(window):
        out += coeffs[i] * padded[i : i + len(y)]
    return out


def savitzky_golay_inputs():
    return np.random.default_rng(13).normal(size=90).cumsum(), 7, 2


def moving_maximum(x, width):
    out = x[: len(x) - width + 1].copy()
    for k in range(1, width):
        np.maximum(out, x[k : k + len(out)], out=out)
    return out


def moving_maximum_inputs():
    return np.random.default_rng(14).normal(size=150), 8


def envelope(x, attack, release):
    level = 0.0
    out = np.zeros_like(x)
    for i, v in enumerate(np.abs(x)):
        rate = attack if v > level else release
        level = level + rate * (v - level)
        out[i] = level
    return out


def envelope_inputs():
    return np.random.default_rng(15).normal(size=40), 0.5, 0.05


def mel_features(power, n_mels, sample_rate):
    n_bins = power.shape[1]
    top = 2595 * np.log10(1 + sample_rate / 2 / 700)
    hz = 700 * (10 ** (np.linspace(0, top, n_mels + 2) / 2595) - 1)
    freqs = np.linspace(0, sample_rate / 2, n_bins)
    bank = np.zeros((n_mels, n_bins))
    for m in range(n_mels):
        rising = (freqs - hz[m]) / (hz[m + 1] - hz[m])
        falling = (hz[m + 2] - freqs) / (hz[m + 2] - hz[m + 1])
        bank[m] = np.maximum(0, np.minimum(rising, falling))
    return np.log(np.dot(power, bank.T) + 1e-6)


def mel_features_inputs():
    return np.random.default_rng(16).random((20, 129)), 16, 16000


def lms_filter(x, desired, n_taps, mu):
    w = np.zeros(n_taps)
    errors = np.zeros(len(x))
    for n in range(n_taps, len(x)):
        window = x[n - n_taps : n][::-1]
        e = desired[n] - w @ window
        w += 2 * mu * e * window
        errors[n] = e
    return w, errors


def lms_filter_inputs():
    rng = np.random.default_rng(17)
    x = rng.normal(size=60)
    return x, np.convolve(x, [0.0, 0.5, -0.2])[:60], 4, 0.05
