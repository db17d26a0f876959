"""Points, polygons, meshes and fractals."""

import numpy as np

EXACT = {"points_in_polygon", "mandelbrot", "rasterize_rectangles"}


def pairwise_distances(a, b):
    diff = a[:, None, :] - b[None, :, :]
    return np.sqrt((diff**2).sum(axis=-1))


def pairwise_distances_inputs():
    rng = np.random.default_rng(1)
    return rng.normal(size=(60, 3)), rng.normal(size=(45, 3))


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(np.radians, (lat1, lon1, lat2, lon2))
    a = (
        np.sin((lat2 - lat1) / 2) ** 2
        + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    )
    return 6371.0 * 2 * np.arcsin(np.sqrt(a))


def haversine_inputs():
    rng = np.random.default_rng(2)
    return (
        rng.uniform(-80, 80, 100), rng.uniform(-180, 180, 100),
        rng.uniform(-80, 80, 100), rng.uniform(-180, 180, 100),
    )  # fmt: skip


def polygon_area_centroid(xy):
    x, y = xy[:, 0], xy[:, 1]
    x1, y1 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y1 - x1 * y
    area = 0.5 * cross.sum()
    cx = ((x + x1) * cross).sum() / (6 * area)
    cy = ((y + y1) * cross).sum() / (6 * area)
    return abs(area), np.array([cx, cy])


def polygon_area_centroid_inputs():
    t = np.linspace(0, 2 * np.pi, 33)[:-1]
    r = 2 + np.random.default_rng(3).random(32)
    return (np.column_stack([r * np.cos(t) + 1, r * np.sin(t) - 2]),)


def points_in_polygon(points, poly):
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    n = len(poly)
    j = n - 1
    for i in range(n):
        xi, yi = poly[i]
        xj, yj = poly[j]
        crosses = (yi > y) != (yj > y)
        at = (xj - xi) * (y - yi) / (yj - yi) + xi
        inside ^= crosses & (x < at)
        j = i
    return inside


def points_in_polygon_inputs():
    rng = np.random.default_rng(4)
    t = np.linspace(0, 2 * np.pi, 10)[:-1]
    return rng.uniform(-2, 2, (200, 2)), np.column_stack([np.cos(t), 1.5 * np.sin(t)])


def rotate_about(points, angle, centre):
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, -s], [s, c]])
    return (points - centre) @ rotation.T + centre


def rotate_about_inputs():
    rng = np.random.default_rng(5)
    return rng.normal(size=(50, 2)), np.float64(0.7), np.array([1.0, -1.0])


def vertex_normals(vertices, faces):
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    face_normals = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    np.add.at(normals, faces[:, 0], face_normals)
    np.add.at(normals, faces[:, 1], face_normals)
    np.add.at(normals, faces[:, 2], face_normals)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
    return normals


def vertex_normals_inputs():
    rng = np.random.default_rng(6)
    return rng.normal(size=(30, 3)), rng.integers(0, 30, (50, 3))


def bezier_curve(control, t):
    pts = np.repeat(control[None, :, :], len(t), axis=0)
    u = t[:, None, None]
    while pts.shape[1] > 1:
        pts = (1 - u) * pts[:, :-1] + u * pts[:, 1:]
    return pts[:, 0]


def bezier_curve_inputs():
    return np.random.default_rng(7).random((5, 2)), np.linspace(0, 1, 40)


def ray_sphere(origins, directions, centre, radius):
    oc = origins - centre
    b = np.einsum("ij,ij->i", oc, directions)
    c = np.einsum("ij,ij->i", oc, oc) - radius**2
    disc = b * b - c
    hit = disc > 0
    t = -b - np.sqrt(np.where(hit, disc, 0.0))
    return np.where(hit & (t > 0), t, np.inf)


def ray_sphere_inputs():
    rng = np.random.default_rng(8)
    d = rng.normal(size=(120, 3))
    return rng.normal(size=(120, 3)) - 4, d / np.linalg.norm(d, axis=1)[:, None], np.zeros(3), 2.0


def quaternions_to_matrices(q):
    q = q / np.sqrt(np.sum(q**2, axis=1, keepdims=True))
    w, x, y, z = q.T
    R = np.empty((len(q), 3, 3))
    R[:, 0, 0] = 1 - 2 * (y * y + z * z)
    R[:, 0, 1] = 2 * (x * y - z * w)
    R[:, 0, 2] = 2 * (x * z + y * w)
    R[:, 1, 0] = 2 * (x * y + z * w)
    R[:, 1, 1] = 1 - 2 * (x * x + z * z)
    R[:, 1, 2] = 2 * (y * z - x * w)
    R[:, 2, 0] = 2 * (x * z - y * w)
    R[:, 2, 1] = 2 * (y * z + x * w)
    R[:, 2, 2] = 1 - 2 * (x * x + y * y)
    return R


def quaternions_to_matrices_inputs():
    return (np.random.default_rng(9).normal(size=(32, 4)),)


def mandelbrot(xmin, xmax, ymin, ymax, n, max_iter):
    x = np.linspace(xmin, xmax, n)
    y = np.linspace(ymin, ymax, n)
    cx, cy = np.meshgrid(x, y)
    zx = np.zeros_like(cx)
    zy = np.zeros_like(cy)
    count = np.zeros(cx.shape, dtype=np.int32)
    for _ in range(max_iter):
        inside = zx * zx + zy * zy <= 4.0
        count[inside] += 1
        new_x = zx * zx - zy * zy + cx
        new_y = 2 * zx * zy + cy
        zx = np.where(inside, new_x, zx)
        zy = np.where(inside, new_y, zy)
    return count


def mandelbrot_inputs():
    return -2.0, 0.5, -1.2, 1.2, 40, 25


def julia_complex(c, n, max_iter):
    x = np.linspace(-1.5, 1.5, n)
    z = x[None, :] + 1j * x[:, None]
    counts = np.zeros(z.shape, int)
    alive = np.ones(z.shape, bool)
    for _ in range(max_iter):
        z[alive] = z[alive] ** 2 + c
        alive &= np.abs(z) < 2
        counts += alive
    return counts


def julia_complex_inputs():
    return -0.8 + 0.156j, 24, 20


def nearest_neighbours(queries, points, k):
    d2 = (queries**2).sum(1)[:, None] + (points**2).sum(1)[None, :] - 2.0 * queries @ points.T
    order = np.argsort(d2, axis=1)[:, :k]
    return order, np.sqrt(np.maximum(np.take_along_axis(d2, order, axis=1), 0.0))


def nearest_neighbours_inputs():
    rng = np.random.default_rng(10)
    return rng.normal(size=(25, 4)), rng.normal(size=(80, 4)), 3


def rasterize_rectangles(canvas, boxes):
    for k in range(boxes.shape[0]):
        yy = np.arange(canvas.shape[0])[:, None]
        xx = np.arange(canvas.shape[1])[None, :]
        y0, x0, y1, x1 = boxes[k]
        canvas[(yy >= y0) & (yy < y1) & (xx >= x0) & (xx < x1)] = k + 1


def rasterize_rectangles_inputs():
    return np.zeros((20, 24), dtype=np.int16), np.array(
        [[1, 2, 9, 12], [5, 5, 18, 20], [0, 0, 3, 3]]
    )


def box_overlaps(a, b):
    lo = np.maximum(a[:, None, :2], b[None, :, :2])
    hi = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = np.prod(np.clip(hi - lo, 0, None), axis=-1)
    area_a = np.prod(a[:, 2:] - a[:, :2], axis=1)
    area_b = np.prod(b[:, 2:] - b[:, :2], axis=1)
    return inter / (area_a[:, None] + area_b[None, :] - inter)


def box_overlaps_inputs():
    rng = np.random.default_rng(11)
    boxes = []
    for n in (20, 15):
        corner = rng.random((n, 2))
        boxes.append(np.hstack([corner, corner + 0.1 + rng.random((n, 2))]).astype(np.float32))
    return tuple(boxes)


def laplacian_smooth(vertices, neighbours, rounds, step=0.5):
    v = vertices.copy()
    for _ in range(rounds):
        target = v[neighbours].mean(axis=1)
        v[1:-1] += step * (target - v)[1:-1]
    return v


def laplacian_smooth_inputs():
    rng = np.random.default_rng(12)
    i = np.arange(40)
    return rng.normal(size=(40, 3)), np.stack([np.maximum(i - 1, 0), np.minimum(i + 1, 39)], 1), 6
