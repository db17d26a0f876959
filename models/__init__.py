"""Networks as pure functions of parameters and inputs, with pretrained weights."""

from .efficientnet import efficientnet_lite
from .network import Network

__all__ = ["Network", "efficientnet_lite"]
