"""A network: a pure function with its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Network:
    """`apply(params, x)` with the parameters that belong to it.

    `resolution` is the edge of the square pictures that it was trained on. Calling the network
    applies it; `loopwright.bind(net.apply, net.params)` compiles it with constant parameters.
    """

    name: str
    apply: Callable[[Any, Any], Any]
    params: Any
    resolution: int

    def __call__(self, x: Any) -> Any:
        """`apply(params, x)`."""
        return self.apply(self.params, x)
