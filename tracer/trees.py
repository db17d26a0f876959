"""Nested arguments and results (pytrees): flattened to leaves, and built again.

    tree ::= None | tuple | list | dict | named tuple | dataclass of trees | leaf

A structure is a nested tuple that can be hashed and compared: (type, names or keys, parts).
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeAlias

Structure: TypeAlias = Hashable

LEAF: Structure = "*"
_NONE: Structure = (type(None), None, ())


class Leaf:
    """Base of dataclasses that are leaves themselves."""

    __slots__ = ()


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure around them."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves.append)


def _flatten(tree: Any, add: Callable[[Any], None]) -> Structure:
    if tree is None:
        return _NONE
    kind = type(tree)
    if kind is tuple or kind is list:
        return (kind, None, tuple([_flatten(x, add) for x in tree]))
    if kind is dict or kind is OrderedDict:
        return (kind, tuple(tree), tuple([_flatten(x, add) for x in tree.values()]))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return (kind, kind._fields, tuple([_flatten(x, add) for x in tree]))
    if dataclasses.is_dataclass(kind) and not issubclass(kind, Leaf):
        names = tuple(f.name for f in dataclasses.fields(kind))
        return (kind, names, tuple([_flatten(getattr(tree, n), add) for n in names]))
    add(tree)
    return LEAF


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of a structure with these leaves, in the order that `flatten` gives them."""
    return _build(structure, iter(leaves))


def _build(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is LEAF or structure == LEAF:
        return next(leaves)
    kind, names, parts = structure
    if structure is _NONE or kind is type(None):
        return None
    values = [_build(part, leaves) for part in parts]
    if kind is tuple:
        return tuple(values)
    if kind is list:
        return values
    if issubclass(kind, dict):
        return kind(zip(names, values, strict=True))
    if issubclass(kind, tuple):
        return kind(*values)
    made = object.__new__(kind)  # a dataclass, frozen or not: its __init__ may do other things
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the function of each leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])
