"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture(scope="session")
def oracle() -> types.ModuleType:
    """JAX in 64-bit mode on the CPU; a test that asks for it is skipped where JAX is missing."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compares a text with `tests/golden/<folder>/<test name>.txt`.

    A missing file fails; `--update-golden` writes it.
    """
    folder = TESTS / "golden" / request.path.parent.relative_to(TESTS)
    path = folder / f"{request.node.name}.txt"

    def check(text: str) -> None:
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run with --update-golden and review it"
        assert text == path.read_text()

    return check


@pytest.fixture(scope="session")
def photographs() -> list[Path]:
    """The evaluation photographs, from the folder that `LOOPWRIGHT_PHOTOS` names."""
    folder = os.environ.get("LOOPWRIGHT_PHOTOS")
    if not folder:
        pytest.skip("LOOPWRIGHT_PHOTOS does not name a folder of photographs")
    found = sorted(Path(folder).glob("*.jpg"))
    if not found:
        pytest.skip(f"no photographs in {folder}")
    return found
