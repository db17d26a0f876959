"""Image filters, colour and geometry of pictures."""

import numpy as np

EXACT = {
    "dilate",
    "equalize_histogram",
    "invert_in_place",
    "gray_from_rgb",
    "median_filter",
    "alpha_blend",
}


def _picture(seed, h=48, w=40, channels=None):
    rng = np.random.default_rng(seed)
    shape = (h, w) if channels is None else (h, w, channels)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def gray_from_rgb(img):
    img = img.astype(np.float64)
    r, g, b = img[..., 0], img[..., 1], img[..., 2]
    return np.clip(np.round(0.299 * r + 0.587 * g + 0.114 * b), 0, 255).astype(np.uint8)


def gray_from_rgb_inputs():
    return (_picture(1, channels=3),)


def box_blur(img, radius):
    k = 2 * radius + 1
    padded = np.pad(img, radius, mode="edge")
    out = np.zeros_like(img)
    for dy in range(k):
        for dx in range(k):
            out += padded[dy : dy + img.shape[0], dx : dx + img.shape[1]]
    return out / (k * k)


def box_blur_inputs():
    return np.random.default_rng(2).random((40, 32)), 2


def convolve2d(img, kernel):
    kh, kw = kernel.shape
    ph, pw = kh // 2, kw // 2
    h, w = img.shape
    padded = np.zeros((h + 2 * ph, w + 2 * pw), dtype=img.dtype)
    padded[ph : ph + h, pw : pw + w] = img
    out = np.zeros_like(img)
    for i in range(kh):
        for j in range(kw):
            out += kernel[kh - 1 - i, kw - 1 - j] * padded[i : i + h, j : j + w]
    return out


def convolve2d_inputs():
    rng = np.random.default_rng(3)
    return rng.random((50, 61)).astype(np.float32), rng.normal(size=(5, 5)).astype(np.float32)


def sobel_edges(img):
    gx = np.zeros(img.shape)
    gy = np.zeros(img.shape)
    gx[1:-1, 1:-1] = (
        img[:-2, 2:] + 2 * img[1:-1, 2:] + img[2:, 2:]
        - img[:-2, :-2] - 2 * img[1:-1, :-2] - img[2:, :-2]
    )  # fmt: skip
    gy[1:-1, 1:-1] = (
        img[2:, :-2] + 2 * img[2:, 1:-1] + img[2:, 2:]
        - img[:-2, :-2] - 2 * img[:-2, 1:-1] - img[:-2, 2:]
    )  # fmt: skip
    mag = np.hypot(gx, gy)
    mag *= 255.0 / mag.max()
    return mag


def sobel_edges_inputs():
    return (np.random.default_rng(4).random((33, 47)),)


def bilinear_resize(img, new_h, new_w):
    h, w = img.shape[:2]
    ys = np.linspace(0, h - 1, new_h)
    xs = np.linspace(0, w - 1, new_w)
    y0 = np.floor(ys).astype(int)
    x0 = np.floor(xs).astype(int)
    y1 = np.minimum(y0 + 1, h - 1)
    x1 = np.minimum(x0 + 1, w - 1)
    fy = (ys - y0)[:, None, None]
    fx = (xs - x0)[None, :, None]
    top = img[y0][:, x0] * (1 - fx) + img[y0][:, x1] * fx
    bottom = img[y1][:, x0] * (1 - fx) + img[y1][:, x1] * fx
    return top * (1 - fy) + bottom * fy


def bilinear_resize_inputs():
    return np.random.default_rng(5).random((20, 30, 3)), 37, 25


def equalize_histogram(img):
    hist = np.bincount(img.ravel(), minlength=256)
    cdf = np.cumsum(hist)
    lowest = cdf[np.argmax(cdf > 0)]
    lut = np.round((cdf - lowest) / (img.size - lowest) * 255).astype(np.uint8)
    return lut[img]


def equalize_histogram_inputs():
    return ((_picture(6) // 3 + 40).astype(np.uint8),)


def rgb_to_hsv(rgb):
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    maxc = rgb.max(axis=-1)
    minc = rgb.min(axis=-1)
    delta = maxc - minc
    safe = np.where(delta == 0, 1.0, delta)
    h = np.zeros_like(maxc)
    red = maxc == r
    green = (maxc == g) & ~red
    blue = ~red & ~green
    h = np.where(red, ((g - b) / safe) % 6, h)
    h = np.where(green, (b - r) / safe + 2, h)
    h = np.where(blue, (r - g) / safe + 4, h)
    h[delta == 0] = 0
    s = np.where(maxc == 0, 0, delta / np.where(maxc == 0, 1, maxc))
    return np.stack([h / 6, s, maxc], axis=-1)


def rgb_to_hsv_inputs():
    return (np.random.default_rng(7).random((16, 20, 3)),)


def median_filter(img):
    p = np.pad(img, 1, mode="reflect")
    h, w = img.shape
    stack = np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)])
    return np.median(stack, axis=0).astype(img.dtype)


def median_filter_inputs():
    return (_picture(8),)


def dilate(mask, footprint):
    fh, fw = footprint.shape
    out = np.zeros_like(mask)
    padded = np.pad(mask, ((fh // 2, fh // 2), (fw // 2, fw // 2)))
    for i in range(fh):
        for j in range(fw):
            out |= footprint[i, j] & padded[i : i + mask.shape[0], j : j + mask.shape[1]]
    return out


def dilate_inputs():
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)
    return np.random.default_rng(9).random((30, 30)) < 0.1, cross


def integral_image_means(img, size):
    ii = np.zeros((img.shape[0] + 1, img.shape[1] + 1))
    ii[1:, 1:] = img.cumsum(axis=0).cumsum(axis=1)
    s = ii[size:, size:] - ii[:-size, size:] - ii[size:, :-size] + ii[:-size, :-size]
    return s / size**2


def integral_image_means_inputs():
    return np.random.default_rng(10).random((30, 41)), 5


def gamma_correct(img, gamma):
    table = ((np.arange(256) / 255.0) ** (1.0 / gamma) * 255).astype("uint8")
    return table[img]


def gamma_correct_inputs():
    return _picture(11, channels=3), 2.2


def alpha_blend(dst, src, alpha):
    a = alpha[..., np.newaxis].astype(np.uint16)
    mixed = (src.astype(np.uint16) * a + dst.astype(np.uint16) * (255 - a) + 127) // 255
    dst[...] = mixed.astype(np.uint8)
    return dst


def alpha_blend_inputs():
    return _picture(12, channels=3), _picture(13, channels=3), _picture(14)


def vignette(img, strength=0.6):
    h, w = img.shape[:2]
    yy, xx = np.mgrid[0:h, 0:w]
    r2 = ((yy - h / 2) / (h / 2)) ** 2 + ((xx - w / 2) / (w / 2)) ** 2
    mask = 1 - strength * np.minimum(r2, 1.0)
    return img * mask[:, :, None]


def vignette_inputs():
    return (np.random.default_rng(15).random((24, 36, 3)),)


def invert_in_place(img):
    np.subtract(255, img, out=img)


def invert_in_place_inputs():
    return (_picture(16, channels=3),)


def otsu_threshold(img):
    hist = np.bincount(img.ravel(), minlength=256).astype(float)
    p = hist / hist.sum()
    omega = np.cumsum(p)
    mu = np.cumsum(p * np.arange(256))
    best, best_var = 0, -1.0
    for t in range(255):
        if omega[t] <= 0 or omega[t] >= 1:
            continue
        var = (mu[-1] * omega[t] - mu[t]) ** 2 / (omega[t] * (1 - omega[t]))
        if var > best_var:
            best, best_var = t, var
    return best


def otsu_threshold_inputs():
    return (_picture(17),)


def bilateral_filter(img, radius, sigma_s, sigma_r):
    padded = np.pad(img, radius, mode="edge")
    h, w = img.shape
    total = np.zeros((h, w))
    norm = np.zeros((h, w))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            weight = np.exp(-(dy * dy + dx * dx) / (2 * sigma_s**2))
            weight = weight * np.exp(-((shifted - img) ** 2) / (2 * sigma_r**2))
            total += weight * shifted
            norm += weight
    return total / norm


def bilateral_filter_inputs():
    return np.random.default_rng(18).random((25, 31)), 2, 1.5, 0.2
