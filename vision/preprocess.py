"""From a photograph to a network's input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.errors import ArgumentError
from .pictures import Picture, pillow

MARGIN = 32
"""A crop of r pixels is taken from a picture whose shorter edge would be r + 32."""

SMALLEST, LARGEST = 32, 4096


def network_input(picture: Picture, resolution: int) -> npt.NDArray[np.float32]:
    """float32[1, 3, r, r] of uint8[H, W, 3]: centre crop, bicubic resize, (byte - 127) / 128.

    `ArgumentError` for a resolution outside 32..4096, or for an array that is no RGB picture.
    """
    if not SMALLEST <= resolution <= LARGEST:
        raise ArgumentError(
            f"a resolution of {resolution} pixels is not possible",
            fix=f"choose one from {SMALLEST} to {LARGEST}",
        )
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        raise ArgumentError(
            f"a picture is uint8[H, W, 3], not {picture.dtype}{list(picture.shape)}",
            fix="read it with vision.pictures.read_photograph",
        )
    if 0 in picture.shape:
        raise ArgumentError("the picture has no pixels")
    square = resized_centre(picture, resolution)
    scaled = (square.astype(np.float32) - np.float32(127)) / np.float32(128)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


def resized_centre(picture: Picture, resolution: int) -> Picture:
    """The centre square of the fraction r / (r + 32) of the shorter edge, resized to r x r."""
    library = pillow()
    height, width = picture.shape[:2]
    edge = min(height, width) * resolution / (resolution + MARGIN)
    left, top = (width - edge) / 2, (height - edge) / 2
    image = library.Image.fromarray(picture)
    resized = image.resize(
        (resolution, resolution),
        library.Image.Resampling.BICUBIC,
        box=(left, top, left + edge, top + edge),
    )
    return np.asarray(resized)
