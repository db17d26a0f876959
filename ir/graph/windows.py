"""The geometry of sliding windows, shared by convolution and pooling."""

from __future__ import annotations


def dilated(extent: int, dilation: int) -> int:
    """The extent after `dilation - 1` gaps were put between neighbours."""
    return (extent - 1) * dilation + 1 if extent else 0


def positions(
    extent: int, window: int, stride: int, pads: tuple[int, int], dilation: int = 1, gaps: int = 1
) -> int:
    """How many places a window has along an axis of `extent`; 0 where it does not fit.

    `dilation` spreads the window, `gaps` (input dilation) the axis.
    """
    room = dilated(extent, gaps) + sum(pads) - dilated(window, dilation)
    return room // stride + 1 if room >= 0 else 0


def taken(
    extent: int,
    places: int,
    offset: int,
    stride: int,
    low: int,
    gaps: int = 1,
) -> tuple[range, range]:
    """(places, elements): where one cell of the window meets the axis, paired in order.

    `offset` is the cell's distance from the window's start; `low` the padding before the axis.
    Cells that fall on padding or into gaps are left out.
    """
    # element = (place * stride + offset - low) / gaps, an integer in [0, extent)
    start = offset - low
    first = next((p for p in range(gaps) if (p * stride + start) % gaps == 0), None)
    if first is None or extent == 0:
        return range(0), range(0)
    step = next(p for p in range(1, gaps + 1) if (p * stride) % gaps == 0)
    # the smallest and largest turn q (place = first + q * step) that stay inside
    base, move = (first * stride + start) // gaps, step * stride // gaps
    low_turn = max(0, -(base // move))
    high_turn = min((extent - 1 - base) // move, (places - 1 - first) // step)
    if high_turn < low_turn:
        return range(0), range(0)
    count = high_turn - low_turn + 1
    place, element = first + low_turn * step, base + low_turn * move
    return (
        range(place, place + count * step, step),
        range(element, element + count * move, move),
    )
