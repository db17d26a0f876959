"""The examples of the README run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_examples_run() -> None:
    """One after another in one namespace; the stencil does what NumPy does."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README example {number}", "exec"), names)
    got = names["u"]
    want = np.random.default_rng(0).random((1000, 1000))
    want[1:-1, 1:-1] += 0.1 * (
        want[2:, 1:-1] + want[:-2, 1:-1] + want[1:-1, 2:] + want[1:-1, :-2] - 4 * want[1:-1, 1:-1]
    )
    np.testing.assert_array_equal(got, want)


def test_commands_exist() -> None:
    """Every `make` target that the pages name is in the Makefile."""
    root = README.parent
    targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.MULTILINE))
    for page in (README, root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        named = re.findall(r"(?:^    |`)make ([\w ]+?)(?:`|  |$)", page.read_text(), re.MULTILINE)
        assert {word for words in named for word in words.split()} <= targets, page.name


def test_links_lead_somewhere() -> None:
    """Relative links of the pages point at files."""
    root = README.parent
    for page in (README, root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
