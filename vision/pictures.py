"""Photographs as arrays."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

Picture: TypeAlias = npt.NDArray[np.uint8]
"""uint8[H, W, 3], RGB."""

MAX_PIXELS = 100_000_000
MAX_BYTES = 512 * 1024 * 1024
SHIPPED = Path(__file__).parent / "data" / "chelsea.png"
"""A photograph of a cat that comes with the package."""


def pillow() -> Any:
    """The module `PIL`; `DataError` with what to install if it is missing."""
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise DataError(
            "reading photographs needs Pillow", fix="pip install 'loopwright[vision]'"
        ) from None
    return PIL


def read_photograph(path: str | Path) -> Picture:
    """The photograph in a file: RGB uint8[H, W, 3], turned upright as its EXIF data say.

    `DataError` if there is no such file, if it is not a picture or a damaged one, or if it has
    more than `MAX_PIXELS` pixels.
    """
    path = Path(path)
    image = upright(path)
    if image.mode in ("LA", "PA", "RGBA", "P"):
        image = _on_white(image)
    elif image.mode.startswith("I;16") or image.mode in ("I", "F"):
        image = _to_bytes(image)
    return np.asarray(image.convert("RGB"))


def upright(path: Path) -> Image:
    """The decoded image of a file, with its EXIF orientation applied."""
    library = pillow()
    place = f'  in "{path}"'
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"the file is larger than {MAX_BYTES >> 20} MiB", place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the size is checked here, damage raises
            with library.Image.open(path) as opened:
                width, height = opened.size
                if width * height > MAX_PIXELS:
                    raise DataError(
                        f"the picture has {width} x {height} pixels",
                        place,
                        f"scale it down to at most {MAX_PIXELS:,} pixels",
                    )
                opened.load()
                turned: Image = library.ImageOps.exif_transpose(opened)
                return turned
    except FileNotFoundError:
        raise DataError("there is no such file", place) from None
    except library.UnidentifiedImageError:
        raise DataError(
            "the file is not a picture", place, "give a JPEG, PNG, WebP or another photograph"
        ) from None
    except library.Image.DecompressionBombError as error:
        raise DataError(str(error), place) from None
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise DataError(f"the picture cannot be read: {error}", place) from None


def _on_white(image: Image) -> Image:
    """A picture with transparency, on white."""
    rgba = image.convert("RGBA")
    ground: Image = pillow().Image.new("RGBA", rgba.size, "white")
    ground.alpha_composite(rgba)
    return ground


def _to_bytes(image: Image) -> Image:
    """A grey picture of 16 bits or more, with its values scaled to 0..255."""
    values = np.asarray(image, dtype=np.float64)
    top = values.max(initial=0.0)
    scale = 65535.0 if top > 255 else 255.0
    grey = np.clip(np.nan_to_num(values) * (255.0 / scale), 0, 255).astype(np.uint8)
    made: Image = pillow().Image.fromarray(grey)
    return made
