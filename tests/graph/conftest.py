"""Lets the tests of this folder import `random_graphs` and `jax_meaning`."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
