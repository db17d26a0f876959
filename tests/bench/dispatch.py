"""What a call costs, beyond the work: small arrays, many ways to call.

    python tests/bench/dispatch.py [--threads N]

Peers hold their inputs in their own arrays and return their own; results are waited for.
"""

from __future__ import annotations

from typing import Any

import harness
import numpy as np
from harness import Contender, Row

import loopwright as lw


def add(a, b):
    return a + b


def scale(x, s):
    return x * s


def three(x):
    return x + 1, x * 2, x - 3


def total(tree):
    return {name: value + 1 for name, value in tree.items()}


class Model:
    """Something with a method to compile."""

    def add(self, a, b):
        return a + b

    ours = lw.jit(add)


def compilers() -> dict[str, tuple[Any, Any]]:
    """By name: a decorator, and what turns a NumPy array into the library's own."""
    found: dict[str, tuple[Any, Any]] = {
        "loopwright": (lw.jit, lambda a: a),
        "numpy": (lambda f: f, lambda a: a),
    }
    if numba := harness.peer("numba"):
        found["numba"] = (numba.njit, lambda a: a)
    if jax := harness.peer("jax"):
        found["jax"] = (lambda f: jax.jit(f), jax.numpy.asarray)
    if torch := harness.peer("torch"):
        found["torch"] = (lambda f: f, torch.from_numpy)
    return found


def cases() -> list[Row]:
    """One row for each way to call."""
    tools = compilers()
    small = [np.arange(8, dtype=np.float32) + k for k in range(8)]
    longer = np.arange(24, dtype=np.float32)

    def race(
        case: str, goal: str, statement: str, function: Any, without: tuple[str, ...] = ()
    ) -> Row:
        contenders = []
        for name, (decorate, own) in tools.items():
            if name in without:
                continue
            names = {
                "f": decorate(function),
                "a": own(small[0]),
                "b": own(small[1]),
                "c": own(longer),
                "tree": {f"w{k}": own(array) for k, array in enumerate(small)},
            }
            calls = statement.count("f(")
            contenders.append(Contender(name, statement, names, calls))
        return harness.measure(case, contenders, goal=goal)

    rows = [
        race("a + b, 8 floats", "goal 0.2 us, below np.add", "f(a, b)", add),
        race("f(x, 0.5)", "goal 0.35 us", "f(a, 0.5)", scale),
        race("keyword call", "goal 0.35 us", "f(a=a, b=b)", add),
        race("two signatures by turns", "goal 0.35 us", "f(a, a); f(c, c)", add),
        race("three outputs", "goal 0.35 us", "f(a)", three),
        race("dict of 8 arrays", "goal 3 us", "f(tree)", total, without=("numba",)),
    ]
    method = [Contender("loopwright", "m.ours(a, b)", {"m": Model(), "a": small[0], "b": small[1]})]
    for name, (_, own) in tools.items():
        if name in ("numpy", "torch"):  # the others compile no method with an unknown self
            names = {"m": Model(), "a": own(small[0]), "b": own(small[1])}
            method.append(Contender(name, "m.add(a, b)", names))
    rows.insert(3, harness.measure("bound method", method, goal="goal 0.35 us"))
    rows.insert(1, ufunc(small))
    return rows


def ufunc(small: list[np.ndarray]) -> Row:
    """The bare ufunc, which has no Python function around it."""
    names = {"f": lw.jit(add), "add": np.add, "a": small[0], "b": small[1]}
    contenders = [
        Contender("loopwright", "f(a, b)", names),
        Contender("numpy", "add(a, b)", names),
    ]
    return harness.measure("np.add(a, b)", contenders)


def run(threads: int) -> None:
    """Measures and prints the table."""
    lw.set_threads(threads)
    harness.heading(threads)
    harness.table("Cost of a call", cases())


if __name__ == "__main__":
    harness.each_thread_count(run)
