"""All 2^32 float32 inputs: minutes, so only with `-m slow`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("exhaustive.py")
NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "cbrt", "sqrt",
    "reciprocal", "square", "pow", "atan2",
)  # fmt: skip


def worst_error(*arguments: str) -> float:
    pytest.importorskip("scipy")
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])


@pytest.fixture
def patience(request: pytest.FixtureRequest) -> None:
    """Skips where nobody asked for the slow tests."""
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("takes minutes: run with -m slow")


@pytest.mark.slow
@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", NAMES)
def test_every_float32_is_within_two_units(name: str) -> None:
    assert worst_error(name) <= 2


@pytest.mark.slow
@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", NAMES)
def test_one_input_of_many_is_within_two_units_of_numpy(name: str) -> None:
    assert worst_error("--numpy", "--every", "61", name) <= 2


def test_the_check_finds_what_is_wrong() -> None:
    assert 0.4 < worst_error("--every", "100003", "sqrt") <= 0.5
