"""Puts tests/ on the path, so that the tests of this folder can import `random_graphs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
