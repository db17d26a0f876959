"""Time steps, stencils and particles; most write into their arrays."""

import numpy as np

EXACT = {"upwind_advection", "heat_step"}


def heat_step(u, alpha, dt, dx):
    u[1:-1, 1:-1] += (
        alpha * dt / dx**2
        * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    )  # fmt: skip


def heat_step_inputs():
    return np.random.default_rng(1).random((40, 50)), 0.1, 0.5, 1.0


def jacobi(p, b, dx, iterations=20):
    for _ in range(iterations):
        pn = p.copy()
        p[1:-1, 1:-1] = 0.25 * (
            pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - dx**2 * b[1:-1, 1:-1]
        )
        p[:, 0] = 0
        p[:, -1] = 1
        p[0, :] = p[1, :]
        p[-1, :] = p[-2, :]
    return p


def jacobi_inputs():
    rng = np.random.default_rng(2)
    return np.zeros((30, 30)), rng.normal(size=(30, 30)), 0.1


def gray_scott(U, V, Du, Dv, F, k, steps):
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for _ in range(steps):
        Lu = U[:-2, 1:-1] + U[1:-1, :-2] - 4 * U[1:-1, 1:-1] + U[1:-1, 2:] + U[2:, 1:-1]
        Lv = V[:-2, 1:-1] + V[1:-1, :-2] - 4 * V[1:-1, 1:-1] + V[1:-1, 2:] + V[2:, 1:-1]
        uvv = u * v * v
        u += Du * Lu - uvv + F * (1 - u)
        v += Dv * Lv + uvv - (F + k) * v
    return V


def gray_scott_inputs():
    rng = np.random.default_rng(3)
    U = np.ones((34, 34))
    V = np.zeros((34, 34))
    U[12:20, 12:20] = 0.5
    V[12:20, 12:20] = 0.25
    V += 0.02 * rng.random(V.shape)
    return U, V, 0.16, 0.08, 0.035, 0.065, 8


def wave_equation(initial, c, n_steps):
    nx = initial.shape[0]
    u = np.zeros((n_steps, nx))
    u[0] = initial
    u[1, 1:-1] = initial[1:-1] + 0.5 * c**2 * (initial[2:] - 2 * initial[1:-1] + initial[:-2])
    for n in range(1, n_steps - 1):
        u[n + 1, 1:-1] = (
            2 * u[n, 1:-1] - u[n - 1, 1:-1]
            + c**2 * (u[n, 2:] - 2 * u[n, 1:-1] + u[n, :-2])
        )  # fmt: skip
    return u


def wave_equation_inputs():
    x = np.linspace(0, 1, 101)
    return np.exp(-200 * (x - 0.5) ** 2), 0.8, 40


def nbody_accelerations(pos, mass, G=1.0, softening=0.01):
    dx = pos[np.newaxis, :, :] - pos[:, np.newaxis, :]
    inv_r3 = ((dx**2).sum(axis=2) + softening**2) ** -1.5
    return G * (dx * (mass * inv_r3)[:, :, np.newaxis]).sum(axis=1)


def nbody_accelerations_inputs():
    rng = np.random.default_rng(4)
    return rng.normal(size=(40, 3)), rng.random(40)


def leapfrog(pos, vel, mass, dt, steps):
    def acceleration(p):
        d = p[None, :, :] - p[:, None, :]
        r2 = np.sum(d * d, axis=-1) + 1e-2
        return np.sum(mass[None, :, None] * d / (r2 * np.sqrt(r2))[..., None], axis=1)

    acc = acceleration(pos)
    for _ in range(steps):
        vel += 0.5 * dt * acc
        pos += dt * vel
        acc = acceleration(pos)
        vel += 0.5 * dt * acc
    kinetic = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
    return kinetic


def leapfrog_inputs():
    rng = np.random.default_rng(5)
    return rng.normal(size=(16, 3)), 0.1 * rng.normal(size=(16, 3)), rng.random(16), 0.01, 5


def lorenz_rk4(state, dt, n):
    def f(s):
        x, y, z = s
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    path = np.empty((n + 1, 3))
    path[0] = state
    for i in range(n):
        s = path[i]
        k1 = f(s)
        k2 = f(s + dt / 2 * k1)
        k3 = f(s + dt / 2 * k2)
        k4 = f(s + dt * k3)
        path[i + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


def lorenz_rk4_inputs():
    return np.array([1.0, 1.0, 1.0]), 0.01, 20


def upwind_advection(u, c, dt, dx, nt):
    for _ in range(nt):
        un = u.copy()
        u[1:] = un[1:] - c * dt / dx * (un[1:] - un[:-1])
    return u


def upwind_advection_inputs():
    u = np.ones(81)
    u[20:40] = 2.0
    return u, 1.0, 0.01, 0.025, 25


def burgers_step(u, v, dt, dx, dy, nu):
    un = u.copy()
    vn = v.copy()
    u[1:-1, 1:-1] = (
        un[1:-1, 1:-1]
        - dt / dx * un[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[1:-1, :-2])
        - dt / dy * vn[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[:-2, 1:-1])
        + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
        + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
    )
    u[0, :] = u[-1, :] = 1
    u[:, 0] = u[:, -1] = 1


def burgers_step_inputs():
    rng = np.random.default_rng(6)
    return 1 + rng.random((41, 41)), 1 + rng.random((41, 41)), 0.001, 0.05, 0.05, 0.01


def ising_sweep(spins, uniforms, beta):
    n = spins.shape[0]
    i, j = np.indices((n, n))
    for parity in (0, 1):
        nb = (
            np.roll(spins, 1, 0)
            + np.roll(spins, -1, 0)
            + np.roll(spins, 1, 1)
            + np.roll(spins, -1, 1)
        )
        dE = 2 * spins * nb
        flip = (uniforms[parity] < np.exp(-beta * dE)) & ((i + j) % 2 == parity)
        spins[flip] *= -1
    return spins.mean()


def ising_sweep_inputs():
    rng = np.random.default_rng(7)
    return rng.choice([-1, 1], (24, 24)), rng.random((2, 24, 24)), 0.44


def lattice_boltzmann(F, tau, steps):
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    for _ in range(steps):
        for i, cx, cy in zip(range(9), cxs, cys, strict=True):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(range(9), cxs, cys, weights, strict=True):
            cu = cx * ux + cy * uy
            Feq[:, :, i] = rho * w * (1 + 3 * cu + 9 * cu**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        F += -(1.0 / tau) * (F - Feq)
    return rho


def lattice_boltzmann_inputs():
    rng = np.random.default_rng(8)
    return 1.0 + 0.01 * rng.normal(size=(16, 20, 9)), 0.6, 3


def yee_step(Ez, Hx, Hy, dt):
    Hx[:, :-1] -= dt * (Ez[:, 1:] - Ez[:, :-1])
    Hy[:-1, :] += dt * (Ez[1:, :] - Ez[:-1, :])
    Ez[1:-1, 1:-1] += dt * (Hy[1:-1, 1:-1] - Hy[:-2, 1:-1] - Hx[1:-1, 1:-1] + Hx[1:-1, :-2])
    Ez[Ez.shape[0] // 2, Ez.shape[1] // 2] += 1.0


def yee_step_inputs():
    rng = np.random.default_rng(9)
    return (*tuple(rng.normal(size=(31, 31)).astype(np.float32) for _ in range(3)), 0.5)


def thomas_solve(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def thomas_solve_inputs():
    rng = np.random.default_rng(10)
    return rng.random(25), 3 + rng.random(25), rng.random(25), rng.normal(size=25)


def red_black_sor(u, f, h, omega, sweeps):
    for _ in range(sweeps):
        for colour in (0, 1):
            for start in (1, 2):
                j = 1 + (start + colour) % 2
                new = 0.25 * (
                    u[start - 1 : -2 : 2, j:-1:2] + u[start + 1 :: 2, j:-1:2]
                    + u[start:-1:2, j - 1 : -2 : 2] + u[start:-1:2, j + 1 :: 2]
                    - h * h * f[start:-1:2, j:-1:2]
                )  # fmt: skip
                u[start:-1:2, j:-1:2] += omega * (new - u[start:-1:2, j:-1:2])


def red_black_sor_inputs():
    rng = np.random.default_rng(11)
    return rng.random((22, 22)), rng.normal(size=(22, 22)), 0.05, 1.5, 4


def relax_until(u, tolerance):
    change = 1.0
    while change > tolerance:
        new = 0.5 * (np.roll(u, 1) + np.roll(u, -1))
        change = np.abs(new - u).max()
        u = new
    return u


def relax_until_inputs():
    return np.random.default_rng(12).random(15), 1e-3


def shallow_water_step(h, u, v, g, dt, dx):
    dhdx = (np.roll(h, -1, axis=1) - np.roll(h, 1, axis=1)) / (2 * dx)
    dhdy = (np.roll(h, -1, axis=0) - np.roll(h, 1, axis=0)) / (2 * dx)
    u -= g * dt * dhdx
    v -= g * dt * dhdy
    flux_x = u * h
    flux_y = v * h
    h -= dt * (np.roll(flux_x, -1, 1) - np.roll(flux_x, 1, 1)) / (2 * dx)
    h -= dt * (np.roll(flux_y, -1, 0) - np.roll(flux_y, 1, 0)) / (2 * dx)
    return h.sum()


def shallow_water_step_inputs():
    rng = np.random.default_rng(13)
    return 1 + 0.1 * rng.random((28, 36)), np.zeros((28, 36)), np.zeros((28, 36)), 9.81, 0.01, 1.0


def lennard_jones(pos, box):
    d = pos[:, None] - pos[None]
    d -= box * np.round(d / box)
    r2 = (d**2).sum(-1)
    np.fill_diagonal(r2, np.inf)
    inv6 = 1.0 / r2**3
    energy = 2.0 * (inv6**2 - inv6).sum()
    forces = ((48 * inv6**2 - 24 * inv6) / r2)[..., None] * d
    return energy, forces.sum(axis=1)


def lennard_jones_inputs():
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3) * 1.2
    return grid + 0.05 * np.random.default_rng(14).normal(size=grid.shape), 3.6
