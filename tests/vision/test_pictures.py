"""Photographs of every kind decode; what is none is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loopwright.ir.errors import ArgumentError, DataError
from loopwright.vision import classes, pictures, preprocess

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def rgb() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)


def test_shipped_photograph() -> None:
    assert pictures.read_photograph(pictures.SHIPPED).shape == (300, 451, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(tmp_path: Path, rgb: np.ndarray, orientation: int) -> None:
    """Each of the eight orientations is stored so that it must be undone to see the picture."""
    undo = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, 1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: lambda a: np.rot90(a, -1),
    }[orientation]
    stored = Image.fromarray(np.ascontiguousarray(undo(rgb)))
    exif = stored.getexif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(pictures.read_photograph(tmp_path / "turned.png"), rgb)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(np.full((8, 9), 40000, np.uint16))
    elif mode == "F":
        image = Image.fromarray(np.full((8, 9), 100.0, np.float32))
    else:
        image = Image.new("RGB", (9, 8), (200, 200, 200)).convert(mode)
    path = tmp_path / ("picture.tiff" if mode in ("CMYK", "F") else "picture.png")
    image.save(path)
    got = pictures.read_photograph(path)
    assert got.shape == (8, 9, 3) and got.dtype == np.uint8
    assert got.mean() > 90


def test_transparency_lies_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (pictures.read_photograph(tmp_path / "clear.png") == 255).all()


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.jpg"
    text.write_text("this is not a picture")
    with pytest.raises(DataError, match="not a picture"):
        pictures.read_photograph(text)
    with pytest.raises(DataError, match="no such file"):
        pictures.read_photograph(tmp_path / "missing.jpg")
    with pytest.raises(DataError):
        pictures.read_photograph(tmp_path)
    (tmp_path / "empty.png").touch()
    with pytest.raises(DataError, match="not a picture"):
        pictures.read_photograph(tmp_path / "empty.png")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
def test_a_truncated_picture_is_refused(
    tmp_path: Path, rgb: np.ndarray, suffix: str, kept: float
) -> None:
    path = tmp_path / f"cut.{suffix}"
    Image.fromarray(rgb).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(DataError):
        pictures.read_photograph(path)


def test_too_many_pixels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (100, 101)).save(tmp_path / "large.png")
    monkeypatch.setattr(pictures, "MAX_PIXELS", 10_000)
    with pytest.raises(DataError, match="100 x 101 pixels"):
        pictures.read_photograph(tmp_path / "large.png")


def test_network_input_range_and_layout(rgb: np.ndarray) -> None:
    x = preprocess.network_input(rgb, 64)
    assert x.shape == (1, 3, 64, 64) and x.dtype == np.float32 and x.flags.c_contiguous
    assert x.min() >= -127 / 128 and x.max() <= 1
    grey = preprocess.network_input(np.full((90, 70, 3), 127, np.uint8), 32)
    assert (grey == 0).all()


def test_channels_keep_their_order() -> None:
    red = np.zeros((50, 50, 3), np.uint8)
    red[..., 0] = 255
    x = preprocess.network_input(red, 32)
    assert (x[0, 0] == 1).all() and (x[0, 1:] == -127 / 128).all()


def test_crop_is_central() -> None:
    """A stripe in the middle of a wide picture stays in the middle."""
    wide = np.zeros((100, 300, 3), np.uint8)
    wide[:, 145:155] = 255
    square = preprocess.resized_centre(wide, 64)
    np.testing.assert_array_equal(square, square[:, ::-1])
    assert square[:, 31:33].min() > 200 and square[:, :20].max() == 0


@pytest.mark.parametrize("resolution", [0, -5, 31, 5000])
def test_impossible_resolutions_are_refused(rgb: np.ndarray, resolution: int) -> None:
    with pytest.raises(ArgumentError, match="resolution"):
        preprocess.network_input(rgb, resolution)


def test_arrays_that_are_no_picture_are_refused(rgb: np.ndarray) -> None:
    for wrong in (rgb[..., 0], rgb.astype(np.float32), rgb[..., :2], rgb[:0]):
        with pytest.raises(ArgumentError):
            preprocess.network_input(wrong, 64)


def test_class_names() -> None:
    names = classes.class_names()
    assert len(names) == 1000 and names[281] == "tabby, tabby cat"


def test_best_classes_are_ordered_probabilities() -> None:
    logits = np.zeros(1000, np.float32)
    logits[[281, 7, 500]] = 1000, 999, -1000
    best = classes.best_classes(logits, count=2)
    assert [name for name, _ in best] == ["tabby, tabby cat", "cock"]
    np.testing.assert_allclose(
        [p for _, p in best], [1 / (1 + np.e**-1), 1 / (1 + np.e)], rtol=1e-6
    )
