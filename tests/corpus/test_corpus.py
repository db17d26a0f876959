"""Ordinary NumPy functions, unchanged, under `lw.jit`: the results and the written arguments.

Every module beside this file holds functions as their users write them; `NAME_inputs` makes the
arguments of `NAME`. Functions in a module's `EXACT` use only operations whose result NumPy fixes to
the bit; the others may differ by rounding: at most `ULPS` units in the last place of the largest
element of an array (sums are added in another order, exp and its kin are our own).
"""

from __future__ import annotations

import copy
import importlib.util
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ULPS = 64
"""Units in the last place of an array's largest magnitude."""

FAILING: dict[str, str] = {
    "stats.first_above": "Python `if` on a traced value",
    "images.otsu_threshold": "Python `if` on a traced value",
    "physics.relax_until": "Python `while` on a traced value",
    "finance.stop_loss": "Python `if` on a traced value",
    "geometry.julia_complex": "complex numbers",
    "signals.power_spectrum": "complex numbers (np.fft)",
    "signals.envelope": "Python `if` on a traced value",
    "learning.kmeans_masks": "the shape of X[mask] depends on the data",
    "learning.perceptron": "Python `if` on a traced value",
    "dynamic.longest_common_subsequence": "Python `if` on a traced value",
    "dynamic.knapsack": "weights.tolist() decides shapes",
    "dynamic.run_lengths": "the shape of np.flatnonzero depends on the data",
}
"""Functions that do not compile yet, each with its reason. One that passes must leave the list."""

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of the corpus."""

    name: str
    function: Callable[..., object]
    inputs: Callable[[], tuple[object, ...]]
    exact: bool


def load(path: Path) -> types.ModuleType:
    """A corpus module, by its file: the corpus is no package."""
    spec = importlib.util.spec_from_file_location(f"corpus_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries() -> list[Entry]:
    """All functions that have a partner which makes their inputs."""
    found = []
    for path in sorted(HERE.glob("*.py")):
        if path.stem.startswith("test_"):
            continue
        module = load(path)
        names = [n.removesuffix("_inputs") for n in vars(module) if n.endswith("_inputs")]
        found += [
            Entry(
                f"{path.stem}.{name}",
                getattr(module, name),
                getattr(module, f"{name}_inputs"),
                name in module.EXACT,
            )
            for name in names
        ]
    return found


ENTRIES = entries()


def leaves(value: object) -> list[object]:
    """The arrays and scalars of nested tuples, lists and dicts, in order."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def shape_of(value: object) -> object:
    """The nesting without its leaves."""
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(shape_of(item) for item in value)
    return None if value is None else "leaf"


def assert_same(got: object, want: object, exact: bool) -> None:
    """Equal nesting, dtypes and shapes; elements equal to the bit or within `ULPS`."""
    assert shape_of(got) == shape_of(want)
    for g, w in zip(leaves(got), leaves(want), strict=True):
        a, b = np.asarray(g), np.asarray(w)
        assert a.dtype == b.dtype and a.shape == b.shape
        if exact or a.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
            continue
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        scale = np.abs(b[finite]).max(initial=0.0)
        allowed = float(ULPS * np.finfo(b.dtype).eps * scale)
        np.testing.assert_allclose(a[finite], b[finite], rtol=0, atol=allowed)


def marked(entry: Entry) -> object:
    """The entry as a parameter, expected to fail where it is listed."""
    reason = FAILING.get(entry.name)
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(entry, id=entry.name, marks=marks)


def test_inputs_are_repeatable() -> None:
    """Two calls of an input function give the same arrays, and the function runs in NumPy."""
    for entry in ENTRIES:
        first, second = entry.inputs(), entry.inputs()
        assert_same(first, second, exact=True)
        result = entry.function(*first)
        assert leaves(result) or any(
            not np.array_equal(a, b) for a, b in zip(leaves(first), leaves(second), strict=True)
        ), entry.name


def test_list_is_true() -> None:
    """At least 48 functions; every exception names one of them."""
    names = [e.name for e in ENTRIES]
    assert len(names) == len(set(names)) >= 48
    assert set(FAILING) <= set(names)


@pytest.mark.parametrize("entry", [marked(e) for e in ENTRIES])
def test_jit_gives_what_numpy_gives(entry: Entry) -> None:
    """The same result, and the same contents of the arguments afterwards; twice."""
    import loopwright as lw

    compiled = lw.jit(entry.function)
    for _ in range(2):
        theirs, ours = entry.inputs(), copy.deepcopy(entry.inputs())
        with np.errstate(all="ignore"):
            want = entry.function(*theirs)
        got = compiled(*ours)
        assert_same(got, want, entry.exact)
        assert_same(ours, theirs, entry.exact)
